"""Cells as an editor shows them: compared with a file, spliced into its bytes, and changed by an edit of these bytes.

An editor reports the type and the source of each cell, and no outputs or metadata of the file. Pure.
"""

import hashlib
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from fileops.core import splices as splicing
from fileops.core.notebook.cell_plan import format_cell, source_splices
from fileops.core.notebook.cell_style import cell_list_style
from fileops.core.notebook.cells import Cell, Notebook, is_cell_id, parse
from fileops.model.edits import Splice
from fileops.model.errors import NotebookInvalid
from fileops.model.notebooks import CellsReplacement, CellType, EditorCell, ShownCell

WITHOUT_CELLS = b'{\n "cells": [],\n "metadata": {},\n "nbformat": 4,\n "nbformat_minor": 5\n}\n'

_MARK = "\0notebook\0"  # no text file begins with it
_N_ID_DIGITS = 8


# --- the text with which a notebook is compared -----------------------------------------------------------------------


def cells_text(cells: Iterable[tuple[CellType, str]]) -> str:
    """Return one text for the cells. Two lists of cells with the same types and sources have the same text."""
    sources = ((kind, _with_newlines(source)) for kind, source in cells)
    return _MARK + "".join([f"{kind} {len(source)}\n{source}\n" for kind, source in sources])


def cells_text_of(data: bytes) -> str | None:
    """Return `cells_text` of a file; None if it has a fault."""
    try:
        notebook = parse(data)
    except NotebookInvalid:
        return None
    return cells_text((cell.cell_type, cell.source) for cell in notebook.cells)


def is_shown_as(content: str, shown: str) -> bool:
    """Return whether an editor that has loaded a file with this content shows this: a text, or `cells_text`."""
    if shown.startswith(_MARK):
        return cells_text_of(content.encode("utf-8", "surrogatepass")) == shown
    return _with_newlines(content.removeprefix("\ufeff")) == _with_newlines(shown.removeprefix("\ufeff"))


def _with_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


# --- from the editor to bytes -----------------------------------------------------------------------------------------


def with_cells(data: bytes, shown: Sequence[ShownCell]) -> bytes:
    """Return the file with the editor's cells. Raises: NotebookInvalid.

    Cells of the file keep their outputs and metadata, and bytes that the editor has not changed. Cells that the file
    does not have are written as inserted ones.
    """
    notebook = parse(data)
    cells = _cells_in_file(notebook, shown)
    if [None if cell is None else cell.index for cell in cells] == list(range(len(notebook.cells))):
        changes = [_changes(notebook, cell, one) for cell, one in zip(notebook.cells, shown, strict=True)]
        return splicing.apply(data, [splice for change in changes for splice in change])
    taken = {cell.name for cell in notebook.cells}
    elements = list[bytes]()
    for at, (cell, one) in enumerate(zip(cells, shown, strict=True)):
        if cell is not None:
            elements.append(splicing.apply_within(data, _changes(notebook, cell, one), cell.start, cell.end))
        else:
            cell_id = _id_of_new(one, taken) if notebook.has_ids else None
            elements.append(format_cell(notebook, at, one.cell_type, one.source, cell_id))
    interior = cell_list_style(notebook).interior(elements)
    return data[: notebook.cells_start + 1] + interior + data[notebook.cells_end - 1 :]


def _changes(notebook: Notebook, cell: Cell, shown: ShownCell) -> Sequence[Splice]:
    is_same = _with_newlines(cell.source) == _with_newlines(shown.source)
    return source_splices(notebook, cell, cell.source if is_same else shown.source, shown.cell_type)


def _id_of_new(shown: ShownCell, taken: set[str]) -> str:
    """Return the id that the editor knows, else one that stays the same while the user types in the cell."""
    seed = hashlib.sha256(shown.key.encode("utf-8", "surrogatepass")).digest()
    cell_id = shown.cell_id if shown.cell_id is not None and is_cell_id(shown.cell_id) else seed.hex()[:_N_ID_DIGITS]
    while cell_id in taken:
        seed = hashlib.sha256(seed).digest()
        cell_id = seed.hex()[:_N_ID_DIGITS]
    taken.add(cell_id)
    return cell_id


def _cells_in_file(notebook: Notebook, shown: Sequence[ShownCell]) -> list[Cell | None]:
    """Return for each shown cell that of the file: by its place, else by its id, else by its source."""
    found: list[Cell | None] = [None] * len(shown)
    free = dict(enumerate(notebook.cells))
    by_id = {cell.name: cell.index for cell in notebook.cells if cell.has_own_id}
    for at, one in enumerate(shown):
        index = by_id.get(one.cell_id) if one.cell_id is not None else None
        if index is None:
            index = one.place
        if index is not None:
            found[at] = free.pop(index, None)
    left = [at for at, cell in enumerate(found) if cell is None]
    knows_ids = any(one.cell_id is not None for one in shown)
    rest = list(free.values())
    keys_of_file = [(cell.cell_type, _with_newlines(cell.source)) for cell in rest]
    keys_of_shown = [(shown[at].cell_type, _with_newlines(shown[at].source)) for at in left]
    for tag, a, a_end, b, b_end in SequenceMatcher(None, keys_of_file, keys_of_shown, autojunk=False).get_opcodes():
        if tag in {"equal", "replace"}:
            for cell, at in zip(rest[a:a_end], left[b:b_end], strict=False):
                if tag == "equal" or not (cell.has_own_id and knows_ids):
                    found[at] = cell
    return found


# --- from an edit of the bytes to the editor --------------------------------------------------------------------------


def cells_after(before: Notebook, after: Notebook, splices: Sequence[Splice]) -> tuple[EditorCell, ...]:
    """Return the cells after an edit. splices: those that turn the bytes of `before` into those of `after`."""
    origins = _origins(before, after, splices)
    return tuple(_editor_cell(cell, origins.get(cell.index), before) for cell in after.cells)


def find_changed_sources(before: Notebook, cells: Sequence[EditorCell]) -> dict[int, str] | None:
    """Return the new source of each cell that has one, by its index; None if the edit does something else, too."""
    changed = dict[int, str]()
    if [cell.moved_from for cell in cells] != list(range(len(before.cells))):
        return None
    for old, new in zip(before.cells, cells, strict=True):
        if old.cell_type != new.cell_type or new.outputs == "none":
            return None
        if old.source != new.source:
            changed[old.index] = new.source
    return changed or None


def replacements(before: Notebook, cells: Sequence[EditorCell]) -> tuple[CellsReplacement, ...]:
    """Return the runs of cells that an edit replaces, the last one first."""
    old = [(cell.index, cell.cell_type, cell.source, "keep") for cell in before.cells]
    new = [(cell.moved_from, cell.cell_type, cell.source, cell.outputs) for cell in cells]
    found = [
        CellsReplacement(start=a, delete_count=a_end - a, cells=tuple(cells[b:b_end]))
        for tag, a, a_end, b, b_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if tag != "equal"
    ]
    return tuple(reversed(found))


def _origins(before: Notebook, after: Notebook, splices: Sequence[Splice]) -> dict[int, int]:
    """Return which cell of `before` each cell of `after` is: where its bytes are now, else by its id or its bytes."""
    by_span = {(cell.start, cell.end): cell.index for cell in after.cells}
    origins = dict[int, int]()
    for cell in before.cells:
        start = _shift(splices, cell.start, at_start=True)
        end = _shift(splices, cell.end, at_start=False)
        index = None if start is None or end is None else by_span.get((start, end))
        if index is not None:
            origins[index] = cell.index
    taken = set(origins.values())
    free = [cell for cell in before.cells if cell.index not in taken]
    for cell in after.cells:
        if cell.index in origins:
            continue
        content = after.data[cell.start : cell.end]
        for old in free:
            is_same = old.name == cell.name and old.has_own_id and cell.has_own_id
            if is_same or before.data[old.start : old.end] == content:
                origins[cell.index] = old.index
                free.remove(old)
                break
    return origins


def _shift(splices: Sequence[Splice], at: int, *, at_start: bool) -> int | None:
    """Return where an end of a cell is after the splices; None if it is inside one of them."""
    shift = 0
    for splice in splices:
        is_before = splice.end <= at if at_start else splice.end <= at and splice.start < at
        if not is_before:
            return None if splice.start < at < splice.end else at + shift
        shift += len(splice.new) - (splice.end - splice.start)
    return at + shift


def _editor_cell(cell: Cell, origin: int | None, before: Notebook) -> EditorCell:
    old = None if origin is None else before.cells[origin]
    has_lost = old is not None and bool(old.outputs) and not cell.outputs
    has_outputs = bool(cell.outputs) if old is None else not has_lost
    return EditorCell(
        cell_id=cell.name if cell.has_own_id else None,
        cell_type=cell.cell_type,
        source=cell.source,
        outputs="keep" if has_outputs else "none",
        moved_from=origin,
    )
