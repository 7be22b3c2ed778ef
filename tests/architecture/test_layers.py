"""The layers of the server: which room may import which, executed on the parsed imports of every module.

A room is a folder of `server/fileops` (of `fs`, each folder in it), or one of the few modules beside these folders.
docs/internals/ARCHITECTURE.md explains each of them.
"""

import ast
import pathlib
import subprocess
import sys
from collections import Counter

import pytest

from architecture.imports import (
    CLIENT,
    SERVER,
    circles,
    dotted_name_of,
    floors,
    imports_of,
    modules,
    name_of,
    server_graph,
)

DISK_MAY_IMPORT = {
    "model", "ports", "core.text", "core.splices", "core.stamps", "core.uris", "concurrency.deferred",
    "concurrency.shares",
}  # fmt: skip
# What a room may import of ours besides itself: a whole room, or one module of it.
MAY_IMPORT: dict[str, set[str]] = {
    "model": set(),
    "rpc": set(),
    "core": {"model"},
    "ports": {"model"},
    "concurrency": {"model"},
    "platform": {"concurrency.deferred"},
    "telemetry": {"model"},
    "shell": {"model", "ports"},
    "fs": {*DISK_MAY_IMPORT, "platform"},
    "fs.local": {*DISK_MAY_IMPORT, "fs", "platform"},
    "fs.remote": {*DISK_MAY_IMPORT, "fs", "platform"},
    "fs.overlay": {*DISK_MAY_IMPORT, "fs"},
    "fs.encoded": {*DISK_MAY_IMPORT, "core.legacy_text", "core.globs"},
    "watch": {"model", "ports"},
    "tracking": {"model", "ports", "core"},
    "history": {"model", "ports", "core", "platform"},
    "wire": {"model", "core.presentation", "core.matching", "core.globs", "core.legacy_text", "rpc.decode"},
    "service": {"model", "ports", "core", "concurrency", "tracking", "history", "telemetry"},
    "api": {"model", "core.presentation", "wire", "service", "rpc.decode"},
    "lsp": {"model", "ports", "core.uris", "rpc", "wire", "api", "service"},
    "mcp": {"model", "ports", "core.presentation", "core.uris", "rpc", "wire", "api", "service"},
    "schema": {"model", "rpc.errors", "wire", "api", "lsp"},
    "attach": {"model.host_names"},
    "daemon": {"rpc", "attach"},
    "arguments": set(),
    "demo": {"fileops"},
}  # fmt: skip
# These see everything: the composition roots, their parts, and the command line above them.
COMPOSITION = {"compose", "cli", "__main__"}
# The only places that may name a library.
ONLY_IN = {
    "pygls": ("fileops/lsp/",),
    "lsprotocol": ("fileops/lsp/",),
    "cattrs": ("fileops/lsp/",),
    "watchdog": ("fileops/watch/",),
    "rich": ("fileops/demo/",),
    "PIL": ("fileops/service/images.py",),
    "re2": ("fileops/core/matching/",),
    "fsspec": ("fileops/fs/remote/",),
    "asyncssh": ("fileops/fs/remote/",),
    "ctypes": ("fileops/platform/", "fileops/service/images.py"),
    "opentelemetry": ("fileops/telemetry/otel.py",),
    "tomlkit": ("fileops/mcp/config/",),
    "fileops_client": ("fileops/demo/", "fileops_client/"),
}
IMPURE = {"asyncio", "os", "pathlib", "shutil", "socket", "subprocess", "tempfile", "threading", "time"}
MAX_MODULES = 20  # of a folder, `__init__` apart
MAX_FLOORS_IN_A_ROOM = 6
MAX_FLOORS = 10  # of rooms


def room_of(dotted: str) -> str:
    """The room of a module: its first folder below `fileops`, or, beside these folders, the module itself."""
    folders = folders_of(dotted)
    return ".".join(folders[: 2 if folders[:1] == ["fs"] else 1]) or dotted.removeprefix("fileops.")


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


def test_every_room_is_named_in_the_table() -> None:
    rooms = {room_of(name) for name in server_graph()} - {"fileops"}
    assert rooms == {*MAY_IMPORT, *COMPOSITION}


@pytest.mark.parametrize("path", sorted(SERVER.rglob("*.py")), ids=name_of)
def test_module_imports_only_what_the_table_allows_its_room(path: pathlib.Path) -> None:
    room = room_of(dotted_name_of(path))
    forbidden = [
        f"{name_of(path)}:{line} imports {dotted}"
        for line, dotted in imports_of(path)
        if room not in {*COMPOSITION, "fileops"}
        and dotted.split(".")[0] == "fileops"
        and room_of(dotted) != room
        and not is_allowed(room, dotted)
    ]
    assert forbidden == []


def test_modules_import_each_other_in_no_circle() -> None:
    assert circles(server_graph()) == []


def test_rooms_import_each_other_in_no_circle() -> None:
    assert circles(room_graph()) == []


def test_rooms_are_no_more_than_ten_floors_high() -> None:
    assert max(floors(room_graph()).values()) <= MAX_FLOORS


def test_no_folder_is_crowded() -> None:
    n_modules = Counter(
        ".".join(folders_of(name)) for name in server_graph() if folders_of(name) != name.split(".")[1:]
    )
    assert {folder: n for folder, n in n_modules.items() if n > MAX_MODULES} == {}


@pytest.mark.parametrize("room", sorted({room_of(name) for name in server_graph()}))
def test_room_is_no_more_than_six_floors_high_inside(room: str) -> None:
    inside = {
        name: frozenset(other for other in imported if room_of(other) == room)
        for name, imported in server_graph().items()
        if room_of(name) == room
    }
    heights = floors(inside)
    assert {name: n for name, n in heights.items() if n > MAX_FLOORS_IN_A_ROOM} == {}


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_library_is_named_only_where_the_table_says(path: pathlib.Path) -> None:
    forbidden = [
        f"{name_of(path)}:{line} imports {dotted}"
        for line, dotted in imports_of(path)
        for library, places in ONLY_IN.items()
        if dotted.split(".")[0] == library and not name_of(path).startswith(places)
    ]
    assert forbidden == []


@pytest.mark.parametrize("path", sorted((SERVER / "core").rglob("*.py")), ids=name_of)
def test_core_reads_no_clock_and_no_disk(path: pathlib.Path) -> None:
    assert [dotted for _, dotted in imports_of(path) if dotted.split(".")[0] in IMPURE] == []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    assert calls.isdisjoint({"open", "print", "input"})


@pytest.mark.parametrize("path", sorted(CLIENT.rglob("*.py")), ids=name_of)
def test_client_imports_nothing_of_the_server(path: pathlib.Path) -> None:
    foreign = {dotted.split(".")[0] for _, dotted in imports_of(path)} - set(sys.stdlib_module_names)
    served_here = {"fileops"} if name_of(path) == "fileops_client/_in_process.py" else set[str]()
    assert foreign <= {"fileops_client", "msgspec", *served_here}


def test_client_without_the_server_is_importable() -> None:
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
