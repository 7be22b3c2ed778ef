"""The layers of the server: which room may import which, executed on the parsed imports of every module.

A room is a folder of `server/fileops` (of `fs`, each folder in it), or one of the few modules beside these folders.
docs/internals/ARCHITECTURE.md explains each of them.
"""

import ast
import subprocess
import sys
from collections import Counter
from functools import cache

from architecture.imports import (
    CLIENT,
    GROUP,
    SERVER,
    circles,
    floors,
    imports_of,
    modules,
    name_of,
    server_graph,
    server_modules,
    tree_of,
)

pytestmark = GROUP

DISK_MAY_IMPORT = {
    "model", "ports", "core.globs", "core.text", "core.splices", "core.stamps", "core.uris", "core.roots",
    "concurrency.deferred", "concurrency.shares",
}  # fmt: skip
# What a room may import of our code besides itself: a whole room, or one module of it.
MAY_IMPORT: dict[str, set[str]] = {
    "model": set(),
    "rpc": {"concurrency.delivery"},
    "core": {"model"},
    "ports": {"model"},
    "concurrency": {"model"},
    "platform": {"concurrency.deferred"},
    "telemetry": {"model"},
    "shell": {"model", "ports"},
    "fs": {*DISK_MAY_IMPORT, "platform"},
    "fs.local": {*DISK_MAY_IMPORT, "fs", "platform"},
    "fs.remote": {*DISK_MAY_IMPORT, "fs", "platform"},
    "fs.overlay": {
        *DISK_MAY_IMPORT, "fs", "core.diff", "core.notebook", "core.whole_text", "platform.steady_clock",
    },
    "fs.encoded": {*DISK_MAY_IMPORT, "core.legacy_text", "core.globs"},
    "watch": {"model", "ports"},
    "tracking": {"model", "ports", "core", "platform.locks"},
    "languages": {"model", "core", "platform"},
    "record": {"model", "ports", "core", "platform"},
    "wire": {
        "model", "core.presentation", "core.matching", "core.globs", "core.legacy_text", "core.roots", "rpc.decode",
    },
    "service": {
        "model", "ports", "core", "concurrency", "tracking", "telemetry", "platform.memory", "platform.umask",
        # Entries and contents are reached through ports; see ADR 0038.
        "record.announced_writes", "record.command_windows", "record.git", "record.git_process", "record.history",
        "record.lost_lines", "record.recorder", "record.turns",
    },
    "api": {"model", "core.presentation", "wire", "service", "rpc.decode"},
    "lsp": {
        "model", "ports", "core.presentation.diffs", "core.uris", "concurrency.delivery", "rpc", "wire", "api",
        "service",
    },
    "mcp": {
        "model", "ports", "core.presentation", "core.roots", "core.uris", "platform", "rpc", "wire", "api", "service",
        "attach.control",  # `mcp config --check` asks the daemon
    },
    "schema": {
        "model", "core.presentation", "rpc.errors", "wire", "api", "lsp", "service.companion.answers",
        "service.companion.report",
    },
    "attach": {
        "model.sessions", "core.presentation.record_texts", "core.presentation.hook_texts",
        "platform.page",  # `status` is fitted to the terminal
    },
    "daemon": {"rpc", "attach", "concurrency.delivery"},
    "terminal": {
        "attach", "core.presentation.phrases", "core.text", "platform.page", "platform.programs",
        "platform.regular_files",
    },
    "arguments": set(),
    "demo": {"fileops"},
}  # fmt: skip
# These see everything: the composition roots, their parts, and the command line above them.
COMPOSITION = {"compose", "cli", "__main__"}
# The only places that may name a library.
ONLY_IN = {
    "pygls": (
        "fileops/lsp/",
        "fileops/languages/",
    ),
    "lsprotocol": ("fileops/lsp/", "fileops/languages/", "fileops/schema/messages.py"),
    "cattrs": (
        "fileops/lsp/",
        "fileops/languages/",
    ),
    "watchdog": ("fileops/watch/",),
    "rich": ("fileops/demo/", "fileops/terminal/"),
    "textual": ("fileops/terminal/screen.py", "fileops/terminal/changes_screen.py", "fileops/terminal/widgets.py"),
    "PIL": ("fileops/service/reading/images.py",),
    "re2": ("fileops/core/matching/",),
    "fsspec": ("fileops/fs/remote/",),
    "asyncssh": ("fileops/fs/remote/",),
    "ctypes": ("fileops/platform/",),
    "opentelemetry": ("fileops/telemetry/otel.py",),
    "pathspec": ("fileops/core/ignore.py", "fileops/record/ignore_rules.py"),
    "tomlkit": ("fileops/mcp/config/",),
    "fileops_client": ("fileops/demo/", "fileops/terminal/", "fileops_client/"),
}
IMPURE = {
    "asyncio", "ctypes", "fcntl", "mmap", "os", "pathlib", "resource", "select", "selectors", "shutil", "signal",
    "socket", "stat", "subprocess", "tempfile", "threading", "time",
}  # fmt: skip
MAX_FLOORS = 10  # of rooms


def room_of(dotted: str) -> str:
    """The room of a module: its first folder below `fileops`, or, beside these folders, the module itself."""
    folders = folders_of(dotted)
    return ".".join(folders[: 2 if folders[:1] == ["fs"] else 1]) or dotted.removeprefix("fileops.")


@cache
def folders_of(dotted: str) -> list[str]:
    parts = dotted.split(".")[1:]
    return [part for n, part in enumerate(parts) if (SERVER / "/".join(parts[: n + 1])).is_dir()]


def room_graph() -> dict[str, frozenset[str]]:
    rooms: dict[str, set[str]] = {room_of(name): set() for name in server_graph()}
    for name, imported in server_graph().items():
        rooms[room_of(name)] |= {room_of(other) for other in imported} - {room_of(name)}
    return {room: frozenset(others) for room, others in rooms.items()}


def is_allowed(room: str, dotted: str) -> bool:
    if room_of(dotted) in MAY_IMPORT[room] or dotted == "fileops":
        return True
    below = dotted.removeprefix("fileops.")
    return any(below == allowed or below.startswith(allowed + ".") for allowed in MAY_IMPORT[room] if "." in allowed)


def test_every_room_is_in_the_table() -> None:
    rooms = {room_of(name) for name in server_graph()} - {"fileops"}
    assert rooms == {*MAY_IMPORT, *COMPOSITION}


def test_modules_import_only_what_the_table_allows() -> None:
    complaints = [
        f"{name_of(path)}:{line} imports {dotted}"
        for name, path in server_modules().items()
        for room in [room_of(name)]
        for line, dotted in imports_of(path)
        if room not in {*COMPOSITION, "fileops"}
        and dotted.split(".")[0] == "fileops"
        and room_of(dotted) != room
        and not is_allowed(room, dotted)
    ]
    assert complaints == []


def test_class_names_are_unique() -> None:
    """A name in a traceback or a search means one class."""
    named = Counter(
        node.name
        for path in server_modules().values()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, n in named.items() if n > 1] == []


def test_modules_have_no_import_cycle() -> None:
    assert circles(server_graph()) == []


def test_rooms_have_no_import_cycle() -> None:
    assert circles(room_graph()) == []


def test_rooms_form_at_most_ten_floors() -> None:
    assert max(floors(room_graph()).values()) <= MAX_FLOORS


def test_libraries_are_imported_only_where_the_table_allows() -> None:
    complaints = [
        f"{name_of(path)}:{line} imports {dotted}"
        for path in modules()
        for line, dotted in imports_of(path)
        for library, places in ONLY_IN.items()
        if dotted.split(".")[0] == library and not name_of(path).startswith(places)
    ]
    assert complaints == []


def test_core_and_model_read_no_clock_and_no_disk() -> None:
    """So they are the same on every system: `.ci/run` has no types of them checked for macOS."""
    complaints: list[str] = []
    for path in sorted(path for room in ("core", "model") for path in (SERVER / room).rglob("*.py")):
        complaints += [
            f"{name_of(path)}:{line} imports {dotted}"
            for line, dotted in imports_of(path)
            if dotted.split(".")[0] in IMPURE
        ]
        complaints += [
            f"{name_of(path)}:{node.lineno} calls {node.func.id}"
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if node.func.id in {"open", "print", "input"}
        ]
    assert complaints == []


def test_client_imports_nothing_of_the_server() -> None:
    known = {"fileops_client", "msgspec", *sys.stdlib_module_names}
    complaints = [
        f"{name_of(path)}:{line} imports {dotted}"
        for path in sorted(CLIENT.rglob("*.py"))
        for line, dotted in imports_of(path)
        for allowed in [{*known, "fileops"} if name_of(path) == "fileops_client/_in_process.py" else known]
        if dotted.split(".")[0] not in allowed
    ]
    assert complaints == []


def test_client_is_importable_without_the_server() -> None:
    hidden = "import sys; sys.modules['fileops'] = None; import fileops_client; print(fileops_client.__name__)"
    done = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("fileops_client\n", "")


def test_only_the_composition_root_names_concrete_adapters() -> None:
    adapters = ("fileops.fs.local.filesystem", "fileops.fs.memory", "fileops.watch.", "fileops.shell.process")
    rooms_of_adapters = ("fileops/fs/", "fileops/watch/", "fileops/shell/")
    named = {
        name_of(path)
        for path in modules()
        if not name_of(path).startswith(rooms_of_adapters)
        for _, dotted in imports_of(path)
        if dotted.startswith(adapters)
    }
    assert {name for name in named if not name.startswith("fileops/compose/")} == set()
