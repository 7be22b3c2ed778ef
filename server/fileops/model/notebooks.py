"""Cells of notebooks: the edits of them, what these did, what a read shows, and what a session knows, as frozen values.

A cell is named by its id, or by its place if that is not possible; the name is unique in its notebook.
"""

from typing import ClassVar, Literal

import msgspec
from msgspec import Struct

CellType = Literal["code", "markdown", "raw"]
CellEditKind = Literal["edit", "source", "insert", "delete", "move", "type", "clear_outputs"]
NotebookFault = Literal["json", "encoding", "no_notebook", "version", "cell", "too_large"]
OutputsMode = Literal["summary", "full", "none"]

# What differs between two versions whose cells have the same sources, types and order: outputs and counts, or nothing
# that is shown.
OtherChange = Literal["outputs only", "form only"]

MENDED_AS_TEXT: tuple[NotebookFault, ...] = ("json", "encoding")  # such as a merge conflict, or a torn file


class Beside(Struct, frozen=True, kw_only=True, gc=False):
    """The place after or before another cell."""

    cell_id: str
    is_after: bool


class EditInCell(Struct, frozen=True, kw_only=True, gc=False):
    """Replaces a text in the source of a cell, by the rules of an edit."""

    kind: ClassVar[CellEditKind] = "edit"
    cell_id: str
    old_string: str
    new_string: str
    replace_all: bool = False
    expected_replacements: int | None = None


class SetSource(Struct, frozen=True, kw_only=True, gc=False):
    """Replaces the whole source of a cell, and its type unless that is None."""

    kind: ClassVar[CellEditKind] = "source"
    cell_id: str
    source: str
    cell_type: CellType | None = None


class InsertCell(Struct, frozen=True, kw_only=True):
    """Adds a cell. place: None is only for a notebook without cells."""

    kind: ClassVar[CellEditKind] = "insert"
    cell_type: CellType
    source: str
    place: Beside | None = None


class DeleteCell(Struct, frozen=True, kw_only=True, gc=False):
    """Removes a cell with its outputs."""

    kind: ClassVar[CellEditKind] = "delete"
    cell_id: str


class MoveCell(Struct, frozen=True, kw_only=True):
    """Moves a cell, with its outputs, beside another."""

    kind: ClassVar[CellEditKind] = "move"
    cell_id: str
    place: Beside


class SetType(Struct, frozen=True, kw_only=True, gc=False):
    """Makes a cell one of another type."""

    kind: ClassVar[CellEditKind] = "type"
    cell_id: str
    cell_type: CellType


class ClearOutputs(Struct, frozen=True, kw_only=True, gc=False):
    """Removes the outputs and the execution count of a code cell; without `cell_id` those of all."""

    kind: ClassVar[CellEditKind] = "clear_outputs"
    cell_id: str | None = None


CellEdit = EditInCell | SetSource | InsertCell | DeleteCell | MoveCell | SetType | ClearOutputs


class CellChange(Struct, frozen=True, kw_only=True):
    """What an edit did to one cell.

    cell_id: its name after the edit; "" for `clear_outputs` of all cells, whose index is -1. index: after the edit, of
    a deleted cell before it. old, new: the source; None if there was or is no cell. has_old_outputs: whether the cell
    has outputs of the source before. shifts_places: whether cells that are named by their place have other names now.
    """

    kind: CellEditKind
    cell_id: str
    index: int
    cell_type: CellType
    old: str | None
    new: str | None
    old_index: int | None = None
    has_old_outputs: bool = False
    outputs_removed: int = 0
    shifts_places: bool = False


# How the cells of two versions differ, or what else does; empty if one of them is no notebook.
Compared = tuple[CellChange, ...] | OtherChange


class ComparedCells(Struct, frozen=True, kw_only=True):
    """What others changed in a notebook that a session has read. file_path: as the session gave it."""

    file_path: str
    compared: Compared


class CellPlace(Struct, frozen=True, kw_only=True, gc=False):
    """A change of a cell, for a list."""

    kind: CellEditKind
    """What happened to the cell."""
    cell_id: str
    """The name of the cell after it; of all cells together empty."""
    index: int
    """Its 0-based index after it; of a deleted one, before it; of all cells together -1."""
    cell_type: CellType
    """Its type after it."""


def place_of(change: CellChange) -> CellPlace:
    return CellPlace(kind=change.kind, cell_id=change.cell_id, index=change.index, cell_type=change.cell_type)


class OutputView(Struct, frozen=True, kw_only=True):
    """An output of a cell, summed up."""

    output_type: str
    """As in the file."""
    name: str | msgspec.UnsetType = msgspec.UNSET
    """Of a stream its name, of an error the exception's."""
    value: str | msgspec.UnsetType = msgspec.UNSET
    """Of an error: the exception's text, in one line."""
    mime_types: dict[str, int] | msgspec.UnsetType = msgspec.UNSET
    """Other outputs: each MIME type, and how many bytes its data has."""
    text: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Its first lines, cut."""
    n_lines: int | msgspec.UnsetType = msgspec.UNSET
    """How many lines it has in all."""


class CellView(Struct, frozen=True, kw_only=True):
    """A cell that a read shows."""

    cell_id: str
    """Its name: its id, or its place if that is not possible."""
    index: int
    """Its 0-based place."""
    cell_type: CellType
    """Its type."""
    start_line: int
    """The number of the first line of its source, counted through all sources."""
    end_line: int
    """The number of its last line; less than `start_line` if its source is empty."""
    execution_count: int | None
    """The number of its last run; null if it has none."""
    outputs: tuple[OutputView, ...]
    """Its outputs, in order."""


class CellsPage(Struct, frozen=True, kw_only=True):
    """What a read shows of a notebook. Lines are those of all sources, one after the other.

    text: for the model, without the reminder. is_whole: whether all sources are shown, with nothing cut. shown: names
    of the cells whose source is shown whole.
    """

    text: str
    cells: tuple[CellView, ...]
    start_line: int
    end_line: int
    total_lines: int
    next_offset: int | None
    n_chars: int
    is_whole: bool
    shown: frozenset[str]


class KnownCell(Struct, frozen=True, gc=False):
    """What a session knows of a cell: digests of its source with its type, and of its outputs.

    is_id: whether the cell's name is its own id. is_shown: whether the session was shown all of the source.
    """

    source: bytes
    outputs: bytes
    is_id: bool
    is_shown: bool


KnownCells = dict[str, KnownCell]  # by name; never changed after it was made


class ShownCell(Struct, frozen=True, kw_only=True):
    """A cell as an editor shows it. It has no outputs, because LSP does not carry them.

    key: what the editor calls it by. cell_id: its id in the file, None if the editor knows none. place: the index in
    the file, None if that is not known.
    """

    key: str
    cell_id: str | None
    cell_type: CellType
    source: str
    place: int | None = None


class EditorCell(Struct, frozen=True, kw_only=True):
    """A cell that an editor is asked to show.

    moved_from: the index of the cell that it is now; None for a new one. outputs: "keep" those of that cell, or of a
    new one those of the cell with its id and source that an earlier edit removed.
    """

    cell_id: str | None
    cell_type: CellType
    source: str
    outputs: Literal["keep", "none"]
    moved_from: int | None = None


class CellsReplacement(Struct, frozen=True, kw_only=True):
    """Replaces `delete_count` cells from the index `start` on. Indexes are those before all edits of a request."""

    start: int
    delete_count: int
    cells: tuple[EditorCell, ...]
