"""The cells of a notebook that is open in an editor: immutable values, changed as the editor reports."""

from collections.abc import Sequence
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from fileops.core.notebook.editor_cells import cells_text
from fileops.fs.overlay.text_document import TextDocument
from fileops.model.documents import (
    CellsReplaced,
    CellTextChanged,
    NotebookChange,
    PositionEncoding,
    ReportedCell,
)
from fileops.model.notebooks import CellType, ShownCell


class OpenCell(Struct, frozen=True):
    """A cell: the version of its document, and its text as known to the daemon."""

    uri: str
    version: int
    cell_type: CellType
    cell_id: str | None
    text: TextDocument


class UnfitChange(Exception):
    """A reported change does not fit the cells that are known. The message says why."""


def text_of(cells: Sequence[OpenCell]) -> TextDocument:
    """Return the text that stands for the cells wherever the text of a document is compared."""
    return TextDocument(cells_text((cell.cell_type, cell.text.text) for cell in cells))


def to_shown_cells(cells: Sequence[OpenCell], uris_in_file: Sequence[str]) -> list[ShownCell]:
    """Return the cells as the file is compared with them. uris_in_file: of the cells that the file has, in order."""
    places = {uri: place for place, uri in enumerate(uris_in_file)}
    return [
        ShownCell(
            key=cell.uri,
            cell_id=cell.cell_id,
            cell_type=cell.cell_type,
            source=cell.text.text,
            place=places.get(cell.uri),
        )
        for cell in cells
    ]


def after_changes(
    cells: tuple[OpenCell, ...], changes: Sequence[NotebookChange], encoding: PositionEncoding
) -> tuple[OpenCell, ...]:
    """Return the cells after the changes. Raises: UnfitChange."""
    for change in changes:
        match change:
            case CellsReplaced():
                cells = _replace(cells, change)
            case ReportedCell():
                at = _index_of(cells, change.uri)
                cells = (*cells[:at], _cell(change, cells[at]), *cells[at + 1 :])
            case CellTextChanged():
                at = _index_of(cells, change.uri)
                cells = (*cells[:at], _with_text(cells[at], change, encoding), *cells[at + 1 :])
            case _:
                assert_never(change)
    return cells


def _replace(cells: tuple[OpenCell, ...], change: CellsReplaced) -> tuple[OpenCell, ...]:
    end = change.start + change.delete_count
    if not 0 <= change.start <= end <= len(cells):
        raise UnfitChange("the editor replaced cells that the notebook does not have")
    known = {cell.uri: cell for cell in cells}
    new = tuple(_cell(reported, known.get(reported.uri)) for reported in change.cells)
    return (*cells[: change.start], *new, *cells[end:])


def _cell(reported: ReportedCell, known: OpenCell | None) -> OpenCell:
    """Return the cell with what is reported, and else what is known of it."""
    cell_type = reported.cell_type or (None if known is None else known.cell_type)
    text = TextDocument(reported.text) if reported.text is not None else None if known is None else known.text
    if cell_type is None or text is None:
        raise UnfitChange("the editor reported a cell without its text")
    version = reported.version if reported.version is not None else 0 if known is None else known.version
    return OpenCell(reported.uri, version, cell_type, reported.cell_id, text)


def _with_text(cell: OpenCell, change: CellTextChanged, encoding: PositionEncoding) -> OpenCell:
    text = cell.text
    if change.version <= cell.version:
        raise UnfitChange("the editor reported a change with a version of a cell that it had passed")
    for one in change.changes:
        if isinstance(one, str):
            text = TextDocument(one)
            continue
        start, end, new = one
        if not text.has_range(start, end):
            raise UnfitChange("the editor reported a change at a place that a cell does not have")
        text = text.splice(*text.offsets_of(start, end, encoding), new)
    return replace(cell, version=change.version, text=text)


def _index_of(cells: Sequence[OpenCell], uri: str) -> int:
    found = next((at for at, cell in enumerate(cells) if cell.uri == uri), None)
    if found is None:
        raise UnfitChange("the editor reported a change of a cell that the notebook does not have")
    return found
