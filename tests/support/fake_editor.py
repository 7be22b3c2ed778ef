"""An editor without a screen: documents, typing, saving, and the answer to a buffer edit. For OverlayFileSystem.

It reports its changes as LSP specifies, in its own position encoding, with an own notion of lines.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fileops.core.text import n_units
from fileops.core.uris import uri_of
from fileops.fs.overlay.filesystem import OverlayFileSystem
from fileops.model.documents import BufferEdit, DocumentPosition, NotebookBufferEdit
from fileops.model.errors import ApplyRefused
from fileops.ports import FileSystem


@dataclass
class Document:
    path: str
    version: int
    text: str


class FakeEditor:
    """before_apply: what happens between the question and the doing; it may raise ApplyRefused.

    after_one: what happens after each document of a request; it may raise ApplyRefused, which leaves the others.
    """

    @property
    def applied(self) -> list[BufferEdit]:
        """The edits of all requests that were made."""
        return [edit for request in self.requests for edit in request]

    def __init__(self, disk: FileSystem, write: Callable[[str, bytes], None]) -> None:
        self._disk = disk
        self._write = write
        self.buffers = OverlayFileSystem(disk, verify_s=0.05)
        self.said = self.buffers.connect(self, lambda: "utf-16")
        self.documents: dict[str, Document] = {}
        self.requests: list[tuple[BufferEdit, ...]] = []
        self.before_apply: Callable[[], None] = lambda: None
        self.after_one: Callable[[], None] = lambda: None
        self.tells = True
        self.checks_version = True

    def open(self, path: str, text: str | None = None, *, uri: str | None = None) -> str:
        """text: by default what the file holds, as an editor that knows UTF-8 shows it."""
        uri = uri or uri_of(path)
        shown = self._disk.read(path).data.decode("utf-8-sig", "replace") if text is None else text
        self.documents[uri] = Document(path, 1, shown)
        self.said.did_open(uri, path, 1, shown)
        self.said.classify_pending()
        return uri

    def type(self, uri: str, old: str, new: str) -> None:
        """Replace the first `old` by `new`, reported as one incremental change."""
        document = self.documents[uri]
        at = document.text.index(old)
        self.splice(uri, at, at + len(old), new)

    def splice(self, uri: str, start: int, end: int, new: str) -> None:
        document = self.documents[uri]
        change = (position_of(document.text, start), position_of(document.text, end), new)
        document.text = document.text[:start] + new + document.text[end:]
        document.version += 1
        self.said.did_change(uri, document.version, [change])

    def set_text(self, uri: str, text: str) -> None:
        """As a reload from disk is reported."""
        document = self.documents[uri]
        document.text = text
        document.version += 1
        self.said.did_change(uri, document.version, [text])

    def reload(self, uri: str) -> None:
        self.set_text(uri, self._disk.read(self.documents[uri].path).data.decode("utf-8-sig", "replace"))

    def save(self, uri: str) -> None:
        document = self.documents[uri]
        self._write(document.path, document.text.encode())
        self.said.did_save(uri)

    def close(self, uri: str) -> None:
        del self.documents[uri]
        self.said.did_close(uri)

    # --- the Editor port -----------------------------------------------------------------------------------

    def apply(
        self,
        edits: Sequence[BufferEdit],
        *,
        is_current: Callable[[], bool],
        on_cancel: Callable[[Callable[[], None]], None],
    ) -> None:
        """Make all edits, or none if one is of another version."""
        if not is_current():
            raise ApplyRefused(reason="the document has changed")
        self.before_apply()
        if self.checks_version and any(self.documents[edit.uri].version != edit.version for edit in edits):
            raise ApplyRefused(reason="the document has changed")
        self.requests.append(tuple(edits))
        for edit in edits:
            self.make(edit)
            self.after_one()

    def apply_to_notebook(
        self,
        edit: NotebookBufferEdit,
        *,
        is_current: Callable[[], bool],
        on_cancel: Callable[[Callable[[], None]], None],
    ) -> None:
        """Refuse, as an editor without notebooks."""
        raise ApplyRefused(reason="it has no notebooks")

    def make(self, edit: BufferEdit) -> None:
        document = self.documents[edit.uri]
        starts = line_starts(document.text)
        pieces: list[str] = []
        at = 0
        for one in edit.edits:
            start, end = offset_of(document.text, starts, one.start), offset_of(document.text, starts, one.end)
            pieces += [document.text[at:start], one.new_text]
            at = end
        text = "".join([*pieces, document.text[at:]])
        if self.tells:
            self.set_text(edit.uri, text)


def line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in re.finditer(r"\r\n|\n|\r", text))]


def position_of(text: str, offset: int) -> DocumentPosition:
    starts = line_starts(text)
    line = max(at for at, start in enumerate(starts) if start <= offset)
    return DocumentPosition(line, n_units(text[starts[line] : offset], "utf-16"))


def offset_of(text: str, starts: list[int], position: DocumentPosition) -> int:
    at = starts[position.line]
    while n_units(text[starts[position.line] : at], "utf-16") < position.character:
        at += 1
    return at
