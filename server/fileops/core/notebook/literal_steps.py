"""The literal edits of one cell among the steps of a request, to find out why one of them fails."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from fileops.core.notebook.cell_page import lines_of_cell
from fileops.core.notebook.cell_plan import literal, text_of
from fileops.core.notebook.cells import Notebook
from fileops.model.edits import Edit
from fileops.model.files import Text
from fileops.model.notebooks import CellEdit, DeleteCell, EditInCell, SetSource


class StepsInCell(Struct, frozen=True, kw_only=True):
    """source: of the cell in the file. first_line: its number in reads. edits: by their index in the request."""

    cell_id: str
    source: Text
    first_line: int
    edits: Mapping[int, Edit]


def steps_in_cell(notebook: Notebook, steps: Sequence[CellEdit], index: int) -> StepsInCell | None:
    """Return the literal edits of the cell that the step with this index edits.

    None if that step edits another text than the one in the file: that of a cell which an earlier step has made or
    replaced.
    """
    failing = steps[index]
    cell = notebook.find(failing.cell_id) if isinstance(failing, EditInCell) else None
    if cell is None:
        return None
    edits = dict[int, Edit]()
    for number, step in enumerate(steps):
        if isinstance(step, SetSource | DeleteCell) and step.cell_id == cell.name:
            break
        if isinstance(step, EditInCell) and step.cell_id == cell.name:
            edits[number] = literal(step)
    if index not in edits:
        return None
    first_line, _ = lines_of_cell(notebook, cell.name)
    return StepsInCell(cell_id=cell.name, source=text_of(cell.source), first_line=first_line, edits=edits)
