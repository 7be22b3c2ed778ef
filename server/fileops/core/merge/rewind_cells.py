"""Rewinds one author's part of a notebook cell by cell, where its bytes have gone. Pure.

Jupyter and VS Code write the whole file anew when they save. A cell that still has the source that a change left gets
the old one back, in the file's present form, and an inserted cell is removed. All else is left alone and listed:
outputs and deleted cells are not in the sources, and a part of JSON is never undone on its own.
"""

from collections.abc import Sequence

from msgspec import Struct

from fileops.core import splices as splicing
from fileops.core.notebook.cell_changes import changes_between
from fileops.core.notebook.cell_plan import plan_cells
from fileops.core.notebook.cells import fault_of, parse
from fileops.model.edits import LineRange
from fileops.model.errors import NotebookInvalid
from fileops.model.notebooks import CellChange, CellEdit, DeleteCell, SetSource


class CellLeft(Struct, frozen=True, kw_only=True):
    """A cell whose change is left alone. ranges: its lines in the current content."""

    step_id: str
    cell_id: str
    ranges: tuple[LineRange, ...]


class CellsRewound(Struct, frozen=True, kw_only=True):
    """partly: steps of which some cells are undone and others left."""

    content: bytes
    left: tuple[CellLeft, ...]
    partly: frozenset[str]


class StepContents(Struct, frozen=True, kw_only=True):
    """The contents before and after one change; None if they are not known."""

    step_id: str
    before: bytes | None
    after: bytes | None


def is_notebook(data: bytes | None) -> bool:
    return data is not None and b'"nbformat"' in data and fault_of(data) is None


def rewind_cells(newest_first: Sequence[StepContents], present: bytes) -> CellsRewound | None:
    """Undo the steps as far as possible; None if a content is unknown, or is no notebook."""
    content, left, partly = present, list[CellLeft](), set[str]()
    for step in newest_first:
        if step.before is None or step.after is None:
            return None
        try:
            changes = changes_between(parse(step.before), parse(step.after))
        except NotebookInvalid:
            return None
        n_left = len(left)
        for change in reversed(changes):
            undone = _without(content, change)
            if undone is None:
                left.append(CellLeft(step_id=step.step_id, cell_id=change.cell_id, ranges=_lines(content, change)))
            content = content if undone is None else undone
        if not changes:  # outputs, or the form
            left.append(CellLeft(step_id=step.step_id, cell_id="", ranges=()))
        elif n_left < len(left) < n_left + len(changes):
            partly.add(step.step_id)
    return CellsRewound(content=content, left=tuple(left), partly=frozenset(partly))


def _without(data: bytes, change: CellChange) -> bytes | None:
    """Return the notebook without the change of one cell; None if the cell is not as the change left it."""
    notebook = parse(data)
    cell = notebook.find(change.cell_id)
    edit: CellEdit
    if change.kind == "insert":
        if cell is None:
            return data
        edit = DeleteCell(cell_id=change.cell_id)
    elif change.kind == "source" and cell is not None and change.old is not None:
        if cell.source == change.old:
            return data
        edit = SetSource(cell_id=change.cell_id, source=change.old)
    else:
        return None
    if not cell.has_own_id or cell.source != change.new:
        return None
    return splicing.apply(data, plan_cells(data, [edit], _no_literal_edit).splices)


def _no_literal_edit(text: object, edit: object) -> tuple[()]:
    raise TypeError(f"{edit} in {text}: whole sources are set here")


def _lines(data: bytes, change: CellChange) -> tuple[LineRange, ...]:
    cell = parse(data).find(change.cell_id)
    if cell is None:
        return ()
    first = data.count(b"\n", 0, cell.start) + 1
    return (LineRange(start_line=first, end_line=first + data.count(b"\n", cell.start, cell.end)),)
