"""Values of open documents: positions, what an editor reports, and what it is asked to do."""

from typing import Literal, NamedTuple

from msgspec import Struct

from fileops.model.notebooks import CellsReplacement, CellType

PositionEncoding = Literal["utf-8", "utf-16", "utf-32"]


class DocumentPosition(Struct, frozen=True, order=True):
    """An LSP position: 0-based, `character` in units of the position encoding."""

    line: int
    character: int


# What an editor reports: a range and its new text, or a whole text. Each applies to the result of the previous one.
DocumentChange = tuple[DocumentPosition, DocumentPosition, str] | str


class DocumentEdit(Struct, frozen=True):
    """Replace the text between two positions of the document as it is before all edits of the list."""

    start: DocumentPosition
    end: DocumentPosition
    new_text: str


NOTEBOOK = "notebook:"  # before the URI in the key of a notebook, which may be open as a text, too


class DocumentKey(NamedTuple):
    """An open document. editor: the connection that opened it, "" if there is only one. uri: see NOTEBOOK."""

    editor: str
    uri: str


class ReportedCell(Struct, frozen=True, kw_only=True):
    """A cell of an open notebook, as an editor reports it.

    uri: of its document. cell_type: None if it is as before. text, version: None if they are as before. cell_id: its id
    in the file, if the editor knows one.
    """

    uri: str
    cell_type: CellType | None
    cell_id: str | None = None
    text: str | None = None
    version: int | None = None


class CellsReplaced(Struct, frozen=True, kw_only=True):
    """The editor replaced `delete_count` cells from the index `start` on."""

    start: int
    delete_count: int
    cells: tuple[ReportedCell, ...]


class CellTextChanged(Struct, frozen=True, kw_only=True):
    """The text of a cell has changed."""

    uri: str
    version: int
    changes: tuple[DocumentChange, ...]


NotebookChange = CellsReplaced | ReportedCell | CellTextChanged


class NotebookBufferEdit(Struct, frozen=True, kw_only=True):
    """Replacements of cells that the editor is asked to make in exactly this version of the notebook.

    cell_versions: of the texts of its cells, by their URIs.
    """

    uri: str
    path: str
    version: int
    cell_versions: dict[str, int]
    edits: tuple[CellsReplacement, ...]


class BufferEdit(Struct, frozen=True, kw_only=True):
    """Edits that the editor is asked to apply to exactly this version of the document."""

    uri: str
    version: int
    edits: tuple[DocumentEdit, ...]
