"""Who may import whom: the table of docs/ARCHITECTURE.md, executed on the parsed imports of every module."""

import ast
import pathlib
import sys
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
SERVER = ROOT / "server" / "fileops"
CLIENT = ROOT / "clients" / "python" / "fileops_client"

VALUES = {f"fileops.{name}" for name in ("errors", "events", "model", "questions", "settings")}
# What each room may import of ours, apart from itself. Rooms are named by their first folder below fileops, or
# "service" for the modules beside them.
MAY_IMPORT = {
    "core": VALUES,
    "fs": {*VALUES, "fileops.ports", "fileops.core", "fileops.afterwards", "fileops.shares"},
    "executors": VALUES,
    "demo": {"fileops"},
    "wire": {*VALUES, "fileops.requests", "fileops.core"},
    "lsp": {
        *VALUES,
        "fileops",
        "fileops.ports",
        "fileops.core",
        "fileops.wire",
        "fileops.requests",
        "fileops.service",
        "fileops.shares",
    },
    "service": {*VALUES, "fileops.ports", "fileops.core"},
}
# The only places that may name a library. Every other module must not.
ONLY_IN = {
    "pygls": ("fileops/lsp/",),
    "lsprotocol": ("fileops/lsp/",),
    "watchdog": ("fileops/fs/watcher.py",),
    "rich": ("fileops/demo/",),
    "opentelemetry": ("fileops/telemetry.py",),
    "fileops_client": ("fileops/demo/", "fileops_client/"),
}
IMPURE = {"asyncio", "os", "pathlib", "shutil", "socket", "subprocess", "tempfile", "threading", "time"}


def modules() -> list[pathlib.Path]:
    return sorted(SERVER.rglob("*.py")) + sorted(CLIENT.rglob("*.py"))


def name_of(path: pathlib.Path) -> str:
    base = SERVER.parent if path.is_relative_to(SERVER) else CLIENT.parent
    return path.relative_to(base).as_posix()


def imports_of(path: pathlib.Path) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of every import, also inside functions and under TYPE_CHECKING."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}:{node.lineno}: imports are absolute"
            assert node.module is not None
            for alias in node.names:
                dotted = f"{node.module}.{alias.name}"
                is_module = (SERVER.parent / (dotted.replace(".", "/") + ".py")).exists()
                yield node.lineno, dotted if is_module else node.module


def room_of(dotted: str) -> str:
    """The room of one of our modules, given by its dotted name."""
    parts = dotted.split(".")
    return parts[1] if len(parts) > 1 and (SERVER / parts[1]).is_dir() else "service"


def allows(allowed: set[str], dotted: str) -> bool:
    return any(dotted == name or (name != "fileops" and dotted.startswith(name + ".")) for name in allowed)


def is_composition(path: pathlib.Path) -> bool:
    return path == SERVER / "__main__.py"


@pytest.mark.parametrize("path", sorted(SERVER.rglob("*.py")), ids=name_of)
def test_room_imports_only_what_the_table_allows(path: pathlib.Path) -> None:
    if is_composition(path):
        return
    room = room_of(name_of(path).removesuffix(".py").replace("/", "."))
    forbidden = [
        f"{name_of(path)}:{line} imports {dotted}"
        for line, dotted in imports_of(path)
        if dotted.split(".")[0] == "fileops" and room_of(dotted) != room and not allows(MAY_IMPORT[room], dotted)
    ]
    assert forbidden == []


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
def test_client_knows_nothing_of_the_server(path: pathlib.Path) -> None:
    foreign = {dotted.split(".")[0] for _, dotted in imports_of(path)} - set(sys.stdlib_module_names)
    assert foreign <= {"fileops_client", "msgspec"}


def test_only_the_composition_root_names_concrete_adapters() -> None:
    adapters = ("fileops.fs.local", "fileops.fs.memory", "fileops.fs.watcher", "fileops.executors.shell")
    named = {
        name_of(path)
        for path in modules()
        if not name_of(path).startswith("fileops/fs/")
        for _, dotted in imports_of(path)
        if dotted.startswith(adapters)
    }
    assert named <= {"fileops/__main__.py"}
