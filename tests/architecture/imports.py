"""The import graph of our packages: every import of every module, also inside functions and under TYPE_CHECKING."""

import ast
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVER = ROOT / "server" / "fileops"
CLIENT = ROOT / "clients" / "python" / "fileops_client"
GROUP = pytest.mark.xdist_group("architecture")  # one process parses each module once


def modules() -> list[pathlib.Path]:
    """All modules of the server and of the Python client."""
    return sorted(SERVER.rglob("*.py")) + sorted(CLIENT.rglob("*.py"))


def name_of(path: pathlib.Path) -> str:
    """The path of a module below the folder that holds its package: `fileops/core/plan.py`."""
    base = SERVER.parent if path.is_relative_to(SERVER) else CLIENT.parent
    return path.relative_to(base).as_posix()


def dotted_name_of(path: pathlib.Path) -> str:
    return name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def tree_of(path: pathlib.Path) -> ast.Module:
    """A module, parsed once for all tests."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def imports_of(path: pathlib.Path) -> Sequence[tuple[int, str]]:
    """Line and dotted name of every import. A name that is itself a module is returned as that module."""
    return tuple(_imports_in(path))


def _imports_in(path: pathlib.Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree_of(path)):
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


def server_modules() -> dict[str, pathlib.Path]:
    """The modules of the server by their dotted names."""
    return {dotted_name_of(path): path for path in SERVER.rglob("*.py")}


@cache
def server_graph() -> Mapping[str, frozenset[str]]:
    """Each module of the server with the modules of the server that it imports."""
    paths = server_modules()
    return {
        name: frozenset(dotted for _, dotted in imports_of(path) if dotted in paths and dotted not in {name, "fileops"})
        for name, path in paths.items()
    }


def circles(graph: Mapping[str, frozenset[str]]) -> list[list[str]]:
    """The import circles of a graph: each a list of modules that reach each other."""
    reached = {name: _reachable(graph, name) for name in graph}
    rings = {frozenset(other for other in reached[name] if name in reached[other]) for name in graph}
    return sorted(sorted(ring) for ring in rings if ring)


def _reachable(graph: Mapping[str, frozenset[str]], start: str) -> set[str]:
    found: set[str] = set()
    pending = list(graph[start])
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(graph[name])
    return found


def floors(graph: Mapping[str, frozenset[str]]) -> dict[str, int]:
    """The floor of each module: 1 if it imports nothing of the graph, else one above the highest that it imports.

    Raises: RecursionError if the graph has a circle.
    """
    known: dict[str, int] = {}

    def floor_of(name: str) -> int:
        if name not in known:
            known[name] = 1 + max((floor_of(other) for other in graph[name]), default=0)
        return known[name]

    return {name: floor_of(name) for name in graph}
