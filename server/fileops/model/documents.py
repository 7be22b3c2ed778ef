"""Values of open documents: positions, what an editor reports, and what it is asked to do."""

from typing import Literal, NamedTuple

from msgspec import Struct

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


class DocumentKey(NamedTuple):
    """An open document. editor: the connection that opened it, "" if there is only one."""

    editor: str
    uri: str


class BufferEdit(Struct, frozen=True, kw_only=True):
    """Edits that the editor is asked to apply to exactly this version of the document."""

    uri: str
    version: int
    edits: tuple[DocumentEdit, ...]
