"""docs/internals/ARCHITECTURE.md: each module that it names exists, and so does each name in it."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "server" / "fileops"
PAGE = (ROOT / "docs" / "internals" / "ARCHITECTURE.md").read_text(encoding="utf-8")
MODULES = sorted(set(re.findall(r"`(\w[\w/]*\.py)(?:::\w+)?`", PAGE)))
NAMES = sorted(set(re.findall(r"`(\w[\w/]*\.py)::(\w+)`", PAGE)))
ROOMS = {folder.name for folder in SERVER.iterdir() if (folder / "__init__.py").is_file()}


@cache
def _names_in(module: str) -> set[str]:
    tree = ast.parse((SERVER / module).read_text(encoding="utf-8"))
    return {n.name for n in ast.walk(tree) if isinstance(n, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)}


def _exists(module: str) -> bool:
    is_path = (SERVER / module).is_file() or (ROOT / module).is_file()
    return is_path or ("/" not in module and any(SERVER.rglob(module)))


def test_named_modules_exist() -> None:
    assert [module for module in MODULES if not _exists(module)] == []


def test_names_are_defined_in_their_modules() -> None:
    assert [f"{module}::{name}" for module, name in NAMES if _exists(module) and name not in _names_in(module)] == []


def test_table_of_threads_matches_the_code() -> None:
    section = PAGE.split("## Threads")[1].split("\n## ")[0]
    described = set(re.findall(r"`(fileops-[a-z]+(?:-[a-z]+)*)", section))
    source = "\n".join(path.read_text(encoding="utf-8") for path in SERVER.rglob("*.py"))
    named = set(re.findall(r"name(?:_prefix)? ?= ?f?\"(fileops-[a-z]+(?:-[a-z]+)*)", source))
    assert {name for name in described if not name.startswith("fileops-worker")} == named - {"fileops-worker"}


def test_table_of_locks_names_every_owner() -> None:
    section = PAGE.split("## Locks")[1].split("\n## ")[0]
    lock = re.compile(r"threading\.(?:R?Lock|Condition)(?:\(|\b.*default_factory)")
    owners = {
        path.relative_to(SERVER).as_posix()
        for path in SERVER.rglob("*.py")
        if lock.search(path.read_text(encoding="utf-8"))
    }
    assert owners - set(re.findall(r"`(\w[\w/]*\.py)`", section)) == set()


def test_every_room_is_described() -> None:
    section = PAGE.split("## Rooms from the bottom up")[1].split("\n## ")[0]
    described = set(re.findall(r"^\*\*`(\w+)`\*\*", section, re.MULTILINE))
    assert ROOMS - described == {"demo", "terminal"}
