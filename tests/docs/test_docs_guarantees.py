"""docs/internals/GUARANTEES.md: each promise names its proof, and the proof exists."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "internals" / "GUARANTEES.md").read_text(encoding="utf-8")
PROOFS = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))


@cache
def _tests_in(path: str) -> set[str]:
    if not (ROOT / path).is_file():
        return set()
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_named_tests_exist() -> None:
    assert [f"{path}::{name}" for path, name in PROOFS if name not in _tests_in(path)] == []


def test_every_guarantee_names_a_test() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("|") and not line.startswith(("|---", "| promise"))]
    assert len(rows) > 25
    assert [row for row in rows if "::test_" not in row] == []
