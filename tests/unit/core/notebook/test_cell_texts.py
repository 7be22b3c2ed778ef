"""Notebooks as texts of their cells for people, and back."""

import pytest

from fileops.core import splices as splicing
from fileops.core.notebook.cell_plan import plan_notebook
from fileops.core.notebook.cell_texts import texts_of, view_of, with_text
from fileops.core.notebook.cells import Notebook, parse
from fileops.core.review.changes import changes_of
from fileops.model.internal_errors import NotTheCells
from fileops.model.notebooks import Beside, CellEdit, ClearOutputs, InsertCell, MoveCell, SetSource
from fileops.model.settings import Limits
from unit.core.notebook.test_cell_changes import PATH, notebook
from unit.core.review.plans import snapshot_of

SOURCES = [
    "",
    "x",
    "x\n",
    "\n",
    "\n\n",
    "x\n\ny",
    "# %% a · code\nx",
    "# %%% b",
    "x\r\ny\r\n",
    "x\ry",
    "é\u2028☃",
    "\ud800",
]


def of(*sources: str, outputs: int = 0) -> Notebook:
    cells = [(f"c{number}", "code", source) for number, source in enumerate(sources)]
    return parse(notebook(*cells, outputs=outputs))


def _anything(_notebook: Notebook, _edit: CellEdit) -> None:
    """Every cell may be changed."""


@pytest.mark.parametrize("source", SOURCES)
def test_text_of_a_notebook_is_the_notebook(source: str) -> None:
    before, after = of("a", source, "b"), of(source, "b\n", source)
    _, text = texts_of(before, after)
    assert with_text((before, after), after, text) == after.data


@pytest.mark.parametrize("typed", [source for source in SOURCES if not source.startswith("# %% ")])
def test_typed_source_is_the_cells_source(typed: str) -> None:
    before, after = of("a", "OLD", "b", outputs=2), of("a", "TYPED", "b", outputs=2)
    _, text = texts_of(before, after)
    shown = typed.encode("utf-8", "replace").decode()
    written = parse(with_text((before, after), after, text.replace("TYPED\n", f"{shown}\n" if shown else "")))
    lines = shown.replace("\r\n", "\n").replace("\r", "\n")
    assert [cell.source for cell in written.cells] == ["a", lines, "b"]
    assert [len(cell.outputs) for cell in written.cells] == [2, 2, 2]


def test_lines_above_cells_are_the_proposals() -> None:
    before = after = of("a", "b")
    text, _ = texts_of(before, after)
    head, other = "# %% c0 · code", "# %% c1 · code"
    wrongs = (f"x\n{text}", text.replace(head, "# %% c9 · code"), text.replace(other, head), text + text)
    for wrong in wrongs:
        with pytest.raises(NotTheCells):
            with_text((before, after), after, wrong)
    assert [cell.name for cell in parse(with_text((before, after), after, text.partition(other)[0])).cells] == ["c0"]


@pytest.mark.parametrize(
    "edits",
    [
        [SetSource(cell_id="c0", source="x\ny"), SetSource(cell_id="c2", source="")],
        [ClearOutputs(cell_id=None)],
        [InsertCell(cell_type="code", source="new", place=Beside(cell_id="c0", is_after=True))],
        [MoveCell(cell_id="c2", place=Beside(cell_id="c0", is_after=False)), SetSource(cell_id="c1", source="z")],
    ],
)
def test_parts_turn_one_text_into_the_other(edits: list[CellEdit]) -> None:
    before = of("a\nb", "b", "c\n\nd", outputs=1)
    plan = plan_notebook(snapshot_of(before.data, PATH), edits, _anything, limits=Limits(), file_path=PATH)
    after = parse(splicing.apply(before.data, plan.splices))
    view = view_of(before, after, changes_of(plan))
    assert view is not None
    lines, made = view.original_text.split("\n"), view.proposed_text.split("\n")
    for part in reversed(view.changes):
        old, new = part.old_start - bool(part.old_lines), part.new_start - bool(part.new_lines)
        lines[old : old + part.old_lines] = made[new : new + part.new_lines]
    assert lines == made
