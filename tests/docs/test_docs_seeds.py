"""docs/internals/SEEDS.md: no empty cells; every named test exists; a row without a test says that it is not done."""

import ast
import functools
import pathlib
import re
from collections.abc import Iterator

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
    if not (ROOT / path).is_file():
        return frozenset()
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )  # fmt: skip


def test_every_document_has_its_table() -> None:
    assert re.findall(r"^## (\d+):", PAGE, re.MULTILINE) == ["000", "001", "002", "003"]
    assert len(rows()) > 100


def test_rows_are_complete_and_their_tests_exist() -> None:
    assert [f"{row[0]}: {fault}" for row in rows() for fault in faults_of(row)] == []


def faults_of(row: list[str]) -> Iterator[str]:
    if len(row) != 4 or not all(row):
        yield f"not four cells with content: {row}"
        return
    is_promised = not row[3].startswith("not done")
    if is_promised == (row[2] == "none"):
        yield "a row has proofs, or it is not done"
    for proof in re.findall(r"`[^`]+`", row[2]) if is_promised else []:
        if not is_test(proof):
            yield f"{proof} names no test"


def is_test(proof: str) -> bool:
    """proof: in back quotes, as a cell has it."""
    if (test := TEST.fullmatch(proof)) is not None:
        return test[2] in named_in(test[1])
    story = STORY.fullmatch(proof)
    if story is None or not (ROOT / story[1]).is_file():
        return False
    return story[2] in re.findall(r"^=== (.*)$", (ROOT / story[1]).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_row_that_is_done_names_a_test() -> None:
    assert [row[0] for row in rows() if row[2] != "none" and "`tests/" not in row[2]] == []


def test_requests_that_the_table_names_are_on_the_protocol_pages() -> None:
    protocol = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "protocol").glob("*.md"))
    assert {name for name in re.findall(r"`(fileops/\w+)`", PAGE) if name not in protocol} == set()
