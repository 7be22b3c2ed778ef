"""What a session knows of a notebook's cells, by digests, and whether an edit may be made on the present cells.

An edit of one cell needs only that cell to be as the session knows it, whatever others did to the rest of the file.
"""

import json
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from fileops.core.notebook.cell_page import lines_of_cell
from fileops.core.notebook.cell_plan import cell_of
from fileops.core.notebook.cells import Cell, Notebook, parse
from fileops.model.digest import content_digest
from fileops.model.edits import LineRange, Relevance
from fileops.model.errors import ModifiedExternally, NotebookInvalid, NotRead
from fileops.model.notebooks import (
    CellChange,
    CellEdit,
    ClearOutputs,
    DeleteCell,
    EditInCell,
    InsertCell,
    KnownCell,
    KnownCells,
    MoveCell,
    SetSource,
    SetType,
)


def cells_of_read(notebook: Notebook, shown: Collection[str]) -> KnownCells:
    """Return what a read shows that has shown the source of these cells whole."""
    return {cell.name: _to_known(cell, is_shown=cell.name in shown) for cell in notebook.cells}


def after_read(known: KnownCells | None, read: KnownCells) -> KnownCells:
    """Return what the session knows after a read: of a cell that was shown only before, what was shown then."""
    kept = {name: cell for name, cell in (known or {}).items() if cell.is_shown}
    return {name: kept[name] if name in kept and not cell.is_shown else cell for name, cell in read.items()}


def after_write(known: KnownCells, old: bytes, new: bytes, changes: Sequence[CellChange] = ()) -> KnownCells:
    """Return what the session knows after its own write, which replaced the old content with the new.

    A cell that was as the session knew it is known as it is now, and a new one is the session's. A name that is a place
    keeps its meaning only if no cell was added, removed or moved; otherwise the session has to read the notebook again.
    changes: those of an edit of cells; of another write, such as an undo, they are found by the ids and sources.
    """
    try:
        before, after = parse(old), parse(new)
    except NotebookInvalid:
        return known
    old_cells = {cell.name: cell for cell in before.cells}
    has_same_places = not any(change.shifts_places for change in changes) and _has_same_places(before, after)
    inserted = changes[0].cell_id if len(changes) == 1 and changes[0].kind == "insert" else None
    cells = dict[str, KnownCell]()
    for cell in after.cells:
        was, known_cell = old_cells.get(cell.name), known.get(cell.name)
        if cell.name == inserted:
            cells[cell.name] = _to_known(cell, is_shown=True)
        elif known_cell is None:
            if was is None:
                cells[cell.name] = _to_known(cell, is_shown=True)
        elif was is not None and (cell.has_own_id or has_same_places) and _is_same(known_cell, was):
            now = _to_known(cell, is_shown=known_cell.is_shown)
            # Outputs of a run since the last read are still unseen: they must not be thrown away with the cell.
            has_seen_outputs = known_cell.outputs == _outputs_digest(was)
            cells[cell.name] = now if has_seen_outputs else replace(now, outputs=known_cell.outputs)
        else:
            cells[cell.name] = known_cell
    return cells


def after_host_write(
    known: KnownCells | None, old: bytes, new: bytes, changes: Sequence[CellChange]
) -> KnownCells | None:
    """Return what the session knows after a host's own tool has made these changes: the cells that it wrote, too.

    known: None if the session has read no cells; then the others are there, but were not shown.
    """
    try:
        before, after = parse(old), parse(new)
    except NotebookInvalid:
        return known
    cells = after_write(cells_of_read(before, ()) if known is None else known, old, new, changes)
    written = {change.cell_id for change in changes if change.kind not in {"delete", "move"}}
    return {**cells, **{cell.name: _to_known(cell, is_shown=True) for cell in after.cells if cell.name in written}}


def _has_same_places(before: Notebook, after: Notebook) -> bool:
    if [cell.values.get("id") for cell in before.cells] != [cell.values.get("id") for cell in after.cells]:
        return False
    old, new = [cell.source for cell in before.cells], [cell.source for cell in after.cells]
    return old == new or sorted(old) != sorted(new)


class CellGuard:
    """Checks the edits of one request, in order, against what the session knows.

    known: None if the session has read the file, but not its cells. shows_cells: whether reads show cells, and number
    their lines.
    """

    def __init__(self, known: KnownCells | None, *, shows_cells: bool) -> None:
        self._known = known or {}
        self._shows_cells = shows_cells
        self._last: tuple[Notebook, CellEdit] | None = None
        self._own = set[str]()  # names that earlier edits have made, changed or removed

    def __call__(self, notebook: Notebook, edit: CellEdit) -> None:
        """Take the next edit, and the notebook to which it applies.

        Raises: CellNotFound, NotRead, ModifiedExternally (with the cell in its relevance).
        """
        if self._last is not None:
            self._own |= _own_names(*self._last, notebook)
        self._last = notebook, edit
        match edit:
            case EditInCell():
                self._require(notebook, edit.cell_id)
            case SetSource():
                self._require(notebook, edit.cell_id, shown=True)
            case DeleteCell() | SetType():
                self._require(notebook, edit.cell_id, shown=True, outputs=True)
            case ClearOutputs():
                for name in _with_outputs(notebook) if edit.cell_id is None else [edit.cell_id]:
                    self._require(notebook, name, shown=True, outputs=True)
            case MoveCell():
                self._require_place(notebook, edit.cell_id)
                self._require_place(notebook, edit.place.cell_id)
            case InsertCell(place=place):
                if place is not None:
                    self._require_place(notebook, place.cell_id)

    def _require_place(self, notebook: Notebook, name: str) -> None:
        """Require that the cell is there, and if its name is its place, that it is as the session knows it."""
        if (cell := notebook.find(name)) is None or not cell.has_own_id:
            self._require(notebook, name)

    def _require(self, notebook: Notebook, name: str, *, shown: bool = False, outputs: bool = False) -> None:
        cell, known = notebook.find(name), self._known.get(name)
        if name in self._own:
            cell_of(notebook, name)
        elif cell is None:
            if known is not None:
                raise to_modified(name)
            cell_of(notebook, name)
        elif known is None or (shown and not known.is_shown):
            if known is not None and not _is_same(known, cell):
                raise to_modified(name)
            if shown:
                raise NotRead(cell_id=name, cell_lines=self._lines(notebook, name))
            if known is None and self._known:  # another program has added it
                raise to_modified(name)
        elif not _is_same(known, cell, with_outputs=outputs):
            raise to_modified(name)

    def _lines(self, notebook: Notebook, name: str) -> LineRange | None:
        start, end = lines_of_cell(notebook, name)
        return LineRange(start_line=start, end_line=max(start, end)) if self._shows_cells else None


def _with_outputs(notebook: Notebook) -> list[str]:
    return [
        cell.name
        for cell in notebook.cells
        if cell.cell_type == "code" and (cell.outputs or cell.values.get("execution_count") is not None)
    ]


def _own_names(before: Notebook, edit: CellEdit, after: Notebook) -> set[str]:
    """Return the names that mean a cell which the edit has made or changed, or one that it has removed."""
    old = {id(cell.values) for cell in before.cells}  # a cell that stayed as it was has the very same values
    match edit:
        case DeleteCell() | MoveCell():
            return {cell.name for cell in before.cells if cell.has_own_id} - {cell.name for cell in after.cells}
        case InsertCell() | EditInCell() | SetSource() | SetType() | ClearOutputs():
            return {cell.name for cell in after.cells if id(cell.values) not in old}


def to_modified(name: str) -> ModifiedExternally:
    return ModifiedExternally(changed_by="external", relevance=Relevance(reason="cell", cell_id=name))


def _to_known(cell: Cell, *, is_shown: bool) -> KnownCell:
    return KnownCell(_source_digest(cell), _outputs_digest(cell), is_id=cell.has_own_id, is_shown=is_shown)


def _is_same(known: KnownCell, cell: Cell, *, with_outputs: bool = False) -> bool:
    has_same_source = known.is_id == cell.has_own_id and known.source == _source_digest(cell)
    return has_same_source and (not with_outputs or known.outputs == _outputs_digest(cell))


def _source_digest(cell: Cell) -> bytes:
    return content_digest(f"{cell.cell_type}\0{cell.source}".encode("utf-8", "surrogatepass"))


def _outputs_digest(cell: Cell) -> bytes:
    """Return the digest of what the outputs are, however they are written."""
    outputs = json.dumps(cell.outputs, sort_keys=True, separators=(",", ":")) if cell.outputs else ""
    return content_digest(outputs.encode())
