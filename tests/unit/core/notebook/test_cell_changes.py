"""How two versions of a notebook differ by cells."""

import json
from typing import Any

import pytest

from fileops.core import splices as splicing
from fileops.core.notebook.cell_changes import changes_of_contents, compare
from fileops.core.notebook.cell_source import Region, splices_in
from fileops.core.notebook.cell_style import ListStyle
from fileops.core.notebook.cells import parse

PATH = "/p/study.ipynb"
Cell = tuple[str | None, str, str]  # id, type, source


def notebook(*cells: Cell, outputs: int = 0, indent: int = 1) -> bytes:
    members: list[dict[str, Any]] = []
    for cell_id, cell_type, source in cells:
        cell: dict[str, Any] = {"cell_type": cell_type, "metadata": {}, "source": source}
        if cell_id is not None:
            cell["id"] = cell_id
        if cell_type == "code":
            cell |= {
                "execution_count": None,
                "outputs": [{"output_type": "stream", "name": "stdout", "text": ""}] * outputs,
            }
        members.append(cell)
    document: dict[str, object] = {"cells": members, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=indent).encode()


A, B, C = ("a", "code", "x = 1"), ("b", "markdown", "# B"), ("c", "code", "z")
CASES: dict[str, tuple[bytes, bytes, list[tuple[str, str, int]]]] = {
    "source": (notebook(A, B), notebook(("a", "code", "x = 2"), B), [("source", "a", 0)]),
    "inserted": (notebook(A, B), notebook(A, C, B), [("insert", "c", 1)]),
    "deleted": (notebook(A, C, B), notebook(A, B), [("delete", "c", 1)]),
    "moved": (notebook(A, B, C), notebook(C, A, B), [("move", "c", 0)]),
    "moved and changed": (
        notebook(A, B, C), notebook(("c", "code", "y"), A, B), [("move", "c", 0), ("source", "c", 0)],
    ),
    "retyped": (notebook(A, B), notebook(A, ("b", "raw", "# B")), [("type", "b", 1)]),
    "cleared": (notebook(A, outputs=2), notebook(A), [("clear_outputs", "a", 0)]),
    "by source, without ids": (
        notebook((None, "code", "x"), (None, "code", "y")),
        notebook((None, "raw", "new"), (None, "code", "x"), (None, "code", "y")),
        [("insert", "cell-0", 0)],
    ),
    "other form": (notebook(A, B), notebook(A, B, indent=4), []),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "expected"), CASES.values(), ids=CASES)
def test_changes_are_those_of_the_cells(before: bytes, after: bytes, expected: list[tuple[str, str, int]]) -> None:
    changes = changes_of_contents(PATH, before, after)
    assert [(change.kind, change.cell_id, change.index) for change in changes] == expected


# R-NB-33
def test_change_of_no_cell_is_summed_up() -> None:
    assert compare(PATH, notebook(A, outputs=1), notebook(A, outputs=2)) == "outputs only"
    assert compare(PATH, notebook(A), notebook(A, indent=3)) == "form only"


def test_other_files_have_no_cells() -> None:
    assert compare("/p/a.json", notebook(A), notebook(B)) == ()
    assert compare(PATH, notebook(A), b"{") == ()
    assert compare(PATH, None, notebook(A)) == ()


def test_lines_that_lose_all_their_newlines_are_one_element() -> None:
    cell: dict[str, Any] = {"cell_type": "raw", "id": "a", "metadata": {}}
    cell["source"] = ["one\n", "\n", "two\n", "three"]
    data = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
    notebook = parse(data)
    regions = [Region(3, 4, ""), Region(4, 5, "")]
    splices = splices_in(notebook, notebook.cells[0], regions, ListStyle(b"", b", ", b""), as_ascii=False)
    assert parse(splicing.apply(data, splices)).cells[0].texts == ["onetwo\n", "three"]
