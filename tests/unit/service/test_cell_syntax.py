"""Syntax errors of the cells of a Python notebook (R-NB-35), as the parser in the child process finds them."""

import json

import pytest

from fileops.core.notebook.cells import parse
from fileops.core.notebook.python_cells import find_changed_code, is_python
from fileops.core.presentation.suggestion_texts import syntax_text
from fileops.model.notebooks import CellChange, SetSource
from fileops.model.requests import EditRequest
from fileops.model.suggestions import SyntaxReport
from fileops.service.plugins.syntax_parsers import faults_of
from support.in_process import Workbench
from support.patience import PATIENCE_S

PATH = "/w/study.ipynb"
ROUNDS = 100  # an answer waits 0.2 s for the parser at most


def faults(*cells: tuple[int, str, str]) -> list[list[object]]:
    return json.loads(faults_of("python_cells", json.dumps(cells)))


@pytest.mark.parametrize(
    "source",
    [
        "%matplotlib inline\nx = 1",
        "!pip install x\nx = 1",
        "!echo a \\\n  b )\nx = 1",
        "if x:\n    !ls\nelse:\n    %pwd",
        "files = !ls\nt = %timeit -o f()",
        "a, b = !ls",
        "?print",
        "print?",
        "x.y??",
        "%%bash\nfor x in 1; do",
        "\n%%time\nx = (",
        "await task",
        "async with a as b:\n    pass",
        "x = (1\n  % 2)",
        's = """\n% not a magic\n!neither\n"""',
    ],
)
def test_what_ipython_runs_is_no_fault(source: str) -> None:
    assert faults((1, "x = 1", source)) == []


@pytest.mark.parametrize(
    ("source", "line"),
    [("x = (", 1), ("%pwd\nx = (", 2), ("!ls \\\n  -l\ndef f(:\n    pass", 3), ("if x:\n    !ls\n  y", 3)],
)
def test_fault_beside_magics_is_found_at_its_line_in_the_notebook(source: str, line: int) -> None:
    assert [place for place, *_ in faults((11, "x = 1", source))] == [line + 10]


def test_each_cell_is_compared_with_itself() -> None:
    assert [line for line, *_ in faults((1, "x = (", "y = ("), (2, "", "z = ("), (3, "a", "b"))] == [2]
    assert len(faults(*[(n, "", "(") for n in range(9)])) == 3


def notebook_of(language: str, source: str) -> bytes:
    cells: list[dict[str, object]] = [
        {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Title\n", "text"]},
        {"cell_type": "code", "id": "c1", "metadata": {}, "execution_count": None, "outputs": [], "source": [source]},
    ]
    metadata = {"kernelspec": {"display_name": language, "language": language, "name": language}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1).encode()


async def report_of(bench: Workbench, language: str, new: str) -> SyntaxReport | None:
    """Return the report of an edit of the code cell, which is tried again if the answer did not wait for it."""
    for _ in range(ROUNDS):
        bench.disk.put(PATH, notebook_of(language, "x = 1"))
        await bench.read(PATH)
        bench.workspace.syntax.wait_until_started(PATIENCE_S)
        step = SetSource(cell_id="c1", source=new)
        result = await bench.service.edit(EditRequest(file_path=PATH, cells=(step,), tool="edit_notebook"))
        assert result.error is None, result.output
        if result.syntax is not None:
            return result.syntax
    return None


async def test_edit_that_breaks_a_cell_is_reported_with_the_cell_and_the_line_of_a_read() -> None:
    bench = Workbench()
    try:
        report = await report_of(bench, "python", "%pwd\nx = (")
        assert report is not None
        (fault,) = report.errors
        assert (fault.line, fault.cell_id) == (4, "c1")
        assert syntax_text("study.ipynb", report).startswith("study.ipynb no longer parses: line 4 in cell c1: ")
    finally:
        bench.close()


def test_cells_of_another_language_and_text_cells_are_not_checked() -> None:
    change = CellChange(kind="source", cell_id="c1", index=1, cell_type="code", old="x = 1", new="x = (")
    for language, is_checked in (("python", True), ("R", False)):
        notebook = parse(notebook_of(language, "x = ("))
        assert is_python(notebook) is is_checked
        (code,) = find_changed_code(notebook, [change])
        assert (code.cell_id, code.first_line, code.before, code.after) == ("c1", 3, "x = 1", "x = (")
        text = CellChange(kind="source", cell_id="intro", index=0, cell_type="markdown", old="", new="# Title\ntext")
        assert find_changed_code(notebook, [text]) == []
