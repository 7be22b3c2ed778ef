"""docs/internals/SEEDS.md: no empty cells; every named test exists; a row without a test says that it is not done."""

import ast
import functools
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "internals" / "SEEDS.md").read_text(encoding="utf-8")
TEST = re.compile(r"`(tests/[^:`]+\.py)::(\w+)`")
STORY = re.compile(r"`(tests/scenarios/\w+\.txt): ([^`]+)`")


def rows() -> list[list[str]]:
    """The cells of every row, the tables' heads apart."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| feature ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


@functools.cache
def named_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )  # fmt: skip


def test_every_document_has_its_table() -> None:
    assert re.findall(r"^## (\d+):", PAGE, re.MULTILINE) == ["000", "001", "002", "003"]
    assert len(rows()) > 100


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_row_is_complete_and_its_test_exists(row: list[str]) -> None:
    assert len(row) == 4
    assert all(row)
    is_promised = not row[3].startswith("not done")
    assert is_promised == (row[2] != "none"), "a row has proofs, or it is not done"
    for proof in re.findall(r"`[^`]+`", row[2]) if is_promised else []:
        require_test(proof)


def require_test(proof: str) -> None:
    """proof: in back quotes, as a cell has it."""
    if (test := TEST.fullmatch(proof)) is not None:
        assert test[2] in named_in(test[1])
    else:
        story = STORY.fullmatch(proof)
        assert story is not None, f"{proof} names no test"
        titles = re.findall(r"^=== (.*)$", (ROOT / story[1]).read_text(encoding="utf-8"), re.MULTILINE)
        assert story[2] in titles


def test_every_row_that_is_done_names_a_test() -> None:
    assert [row[0] for row in rows() if row[2] != "none" and "`tests/" not in row[2]] == []


def test_requests_that_the_table_names_are_on_the_protocol_page() -> None:
    protocol = (ROOT / "docs" / "PROTOCOL.md").read_text(encoding="utf-8")
    assert {name for name in re.findall(r"`(fileops/\w+)`", PAGE) if name not in protocol} == set()
