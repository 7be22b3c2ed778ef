"""Classifies an open document: clean, dirty, superseded by the file on disk, or unknown.

Values and pure functions only: no lock, no disk, no client. docs/PROTOCOL.md, "Open documents", gives the rules:
- clean: the document reads the same as the file. The file's bytes are served, and edits go to disk.
- dirty: the user changed it. Its text is served, and edits go through the editor.
- superseded: it differs, and not because of the user: the file changed, or the editor has not reloaded our own edit
  yet. The file is served.
- unknown: its text is in doubt. Neither its text nor the file is served.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from fileops.core import text as texts
from fileops.core.notebook.editor_cells import WITHOUT_CELLS, cells_text_of, with_cells
from fileops.fs.overlay.open_cells import OpenCell, UnfitChange, to_shown_cells
from fileops.fs.overlay.open_cells import after_changes as cells_after_changes
from fileops.fs.overlay.text_document import TextDocument, encode_document
from fileops.fs.overlay.typed_text import Change, is_certain
from fileops.model.digest import content_digest
from fileops.model.documents import NOTEBOOK, DocumentChange, DocumentKey, NotebookChange, PositionEncoding
from fileops.model.files import Snapshot, Stamp, TextFormat

REGULAR_FILE = 0o100644  # mode of a document that has no file yet
MAX_FILE_TEXTS = 16  # agents' edits between a change of the file and the report of its reload

Kind = Literal["clean", "dirty", "superseded", "unknown"]
_RANK: dict[Kind, int] = {"unknown": 3, "dirty": 2, "superseded": 1, "clean": 0}


class Doubt(Struct, frozen=True, kw_only=True):
    """Why the text in the editor is not known.

    is_lost: our text is not the one to which the next change applies, so only a whole text ends the doubt; otherwise
    any change does.
    """

    reason: str
    is_lost: bool = True


class OpenDocument(Struct, frozen=True, kw_only=True):
    """State of one open document: a text, or a notebook, whose `text` stands for its cells in comparisons."""

    key: DocumentKey
    path: str
    version: int
    text: TextDocument
    serial: int  # grows with every change of state, of any document
    changed_ns: int
    is_user_modified: bool | None = None  # since open or save; None until the first comparison with the file
    synced: str | None = None  # the text when it last read the same as the file
    file_texts: tuple[bytes, ...] = ()  # digests of the file's texts since then, as far as we know, oldest first
    # What the editor reported last. After a save the file has this text, and the user made it; a change may be a
    # reload, and may be saved already.
    reported: Literal["open", "change", "save"] = "open"
    is_foreign: bool = False  # we cannot decode the file, so the editor uses another encoding
    doubt: Doubt | None = None  # None while the text is known
    cells: tuple[OpenCell, ...] | None = None  # of a notebook
    synced_cells: tuple[str, ...] = ()  # their URIs when they were last those of the file

    @property
    def uri(self) -> str:
        return self.key.uri.removeprefix(NOTEBOOK)

    @property
    def editor(self) -> str:
        return self.key.editor


class DiskFacts(Struct, frozen=True, kw_only=True):
    """What is known about the file at a path."""

    path: str
    stamp: Stamp | None
    taken_ns: int
    format: TextFormat
    digest: bytes | None  # of the text, or of the cells of a notebook; None if there is no file, or it has no cells
    is_text: bool
    encoding: str | None  # see Snapshot
    notebook: bytes | None = None  # the content, for a document that is a notebook


class DocumentState(Struct, frozen=True, kw_only=True):
    """How the document with this serial relates to this file."""

    serial: int
    kind: Kind
    disk: DiskFacts
    data: bytes = b""  # the text as a file; of a dirty document only

    @property
    def is_without_file(self) -> bool:
        """Return whether the cells are those of an editor alone, because the file has a fault."""
        return self.kind == "dirty" and self.disk.notebook is not None and self.disk.digest is None


class EffectiveDocument(Struct, frozen=True):
    """The document that counts at a path, if several are open there."""

    document: OpenDocument
    state: DocumentState | None  # None if its text is not known
    serials: frozenset[int]  # of all documents that are open at the path

    @property
    def kind(self) -> Kind:
        return "unknown" if self.state is None else self.state.kind

    def snapshot(self, path: str) -> Snapshot:
        """Return the content of a dirty document."""
        assert self.state is not None
        return snapshot_of(path, self.document, self.state)


def effective_of(classified: Sequence[tuple[OpenDocument, DocumentState | None]]) -> EffectiveDocument | None:
    """Choose the document that counts: one in doubt, or a dirty one, or any; the last changed of several."""
    serials = frozenset(document.serial for document, _ in classified)
    return max(
        (EffectiveDocument(document, state, serials) for document, state in classified),
        key=lambda candidate: (_RANK[candidate.kind], candidate.document.changed_ns, candidate.document.serial),
        default=None,
    )


def facts_of(disk: Snapshot, *, as_notebook: bool = False) -> DiskFacts:
    """Return what a document is compared with. as_notebook: the document is a notebook."""
    fmt = texts.detect_format(disk.data)
    text = cells_text_of(disk.data) if as_notebook else texts.decode(disk.data, fmt) if disk.exists else None
    return DiskFacts(
        path=disk.path,
        stamp=disk.stamp,
        taken_ns=disk.taken_ns,
        format=fmt,
        digest=None if text is None else text_digest(text),
        is_text=_is_text_file(disk.data, fmt),
        encoding=disk.encoding,
        notebook=disk.data if as_notebook and disk.exists else None,
    )


def after_comparison(document: OpenDocument, disk: DiskFacts, digest: bytes) -> OpenDocument:
    """Return the document with the result of a comparison with its file. `digest` is that of its text.

    An editor may report a reload after the file has changed again. So a text that the file has had is not the user's.
    """
    if digest == disk.digest:
        return replace(_sync(document), is_user_modified=False, file_texts=())
    if digest in document.file_texts:
        later = document.file_texts[document.file_texts.index(digest) + 1 :]
        reloaded = replace(_sync(document), is_user_modified=False, file_texts=later)
        return with_file_text(reloaded, disk.digest)
    is_first = document.is_user_modified is None
    compared = replace(
        document,
        # A document that is opened with a text other than the file's contains changes of an earlier session.
        is_user_modified=is_first or document.is_user_modified,
        is_foreign=document.is_foreign or (is_first and disk.stamp is not None and not disk.is_text),
    )
    return with_file_text(compared, disk.digest)


def _sync(document: OpenDocument) -> OpenDocument:
    cells = () if document.cells is None else tuple(cell.uri for cell in document.cells)
    return replace(document, synced=document.text.text, synced_cells=cells)


def with_file_text(document: OpenDocument, digest: bytes | None) -> OpenDocument:
    """Return the document with a text that its file has had since they were last equal. None: no file."""
    known = document.file_texts
    if digest is None or known[-1:] == (digest,):
        return document
    return replace(document, file_texts=(*known, digest)[-MAX_FILE_TEXTS:])


class Changed(Struct, frozen=True, kw_only=True):
    """The text after changes, its doubt, and the changes one after another; None if they are not certain."""

    text: TextDocument
    doubt: Doubt | None
    typed: Sequence[Change] | None


def after_changes(
    document: OpenDocument, version: int, changes: Sequence[DocumentChange], encoding: PositionEncoding
) -> Changed:
    """Return the text and its doubt. A whole text ends every doubt. LSP allows versions to skip numbers."""
    text = document.text
    doubt = document.doubt if document.doubt is not None and document.doubt.is_lost else None
    typed: list[Change] = []
    is_certain_all = True
    for change in changes:
        if isinstance(change, str):
            text, doubt, is_certain_all = TextDocument(change), None, False
        elif doubt is None:
            start, end, new = change
            if version <= document.version:
                doubt = Doubt(reason="the editor reported a change with a version that it had passed")
            elif not text.has_range(start, end):
                doubt = Doubt(reason="the editor reported a change at a place that the text does not have")
            else:
                first, last = text.offsets_of(start, end, encoding)
                has_lines = start.line != end.line
                is_certain_all = is_certain_all and is_certain(text, first, last, new, has_lines=has_lines)
                n_expected = text.n_chars - (last - first) + len(new)
                text = text.splice(first, last, new)
                is_certain_all = is_certain_all and text.n_chars == n_expected  # else halves of a character were joined
                typed.append((first, last, new))
    return Changed(text=text, doubt=doubt, typed=typed if is_certain_all and doubt is None else None)


def after_notebook_changes(
    document: OpenDocument, version: int, changes: Sequence[NotebookChange], encoding: PositionEncoding
) -> tuple[tuple[OpenCell, ...], Doubt | None]:
    """Return the cells and their doubt. Unless it is about one edit, it lasts until the notebook is reopened."""
    cells = document.cells
    if cells is None:
        return (), Doubt(reason="the editor reported a change of cells in a text")
    if document.doubt is not None and document.doubt.is_lost:
        return cells, document.doubt
    if version < document.version:  # VS Code counts texts of cells alone: the notebook's version may stay
        return cells, Doubt(reason="the editor reported a change with a version that it had passed")
    try:
        return cells_after_changes(cells, changes, encoding), None
    except UnfitChange as unfit:
        return cells, Doubt(reason=str(unfit))


def classify(document: OpenDocument, disk: DiskFacts, digest: bytes) -> DocumentState:
    """Classify a document that `after_comparison` returned."""
    kind = _kind_of(document, is_same=digest == disk.digest)
    data = content_of(document, disk) if kind == "dirty" else b""
    return DocumentState(serial=document.serial, kind=kind, disk=disk, data=data)


def content_of(document: OpenDocument, disk: DiskFacts) -> bytes:
    """Return the document as a file: a text in the file's format, or the file's notebook with the editor's cells."""
    if document.cells is None:
        return encode_document(document.text.text, disk.format)
    is_synced = document.synced is not None and text_digest(document.synced) == disk.digest
    shown = to_shown_cells(document.cells, document.synced_cells if is_synced else ())
    return with_cells(WITHOUT_CELLS if disk.digest is None or disk.notebook is None else disk.notebook, shown)


def _kind_of(document: OpenDocument, *, is_same: bool) -> Kind:
    if is_same:
        return "clean"
    return "dirty" if document.is_user_modified else "superseded"


def comparable(text: str) -> str:
    """Return the form in which texts of editors and files are compared: without BOM, with LF line ends."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def is_text(document: TextDocument, text: str) -> bool:
    return document.n_chars == len(text) and document.text == text


def snapshot_of(path: str, document: OpenDocument, state: DocumentState) -> Snapshot:
    """Return the content of a dirty document."""
    stamp = _stamp_of(document, state)
    return Snapshot(
        path=path,
        stamp=stamp,
        data=state.data,
        taken_ns=stamp.mtime_ns,
        source="buffer",
        version=document.version,
        encoding=state.disk.encoding,
        is_unsaved=True,
    )


def _stamp_of(document: OpenDocument, state: DocumentState) -> Stamp:
    """Return the file's stamp, with the size of the dirty document and the time of its last change."""
    disk = state.disk.stamp
    return Stamp(
        dev=disk.dev if disk else 0,
        ino=disk.ino if disk else 0,
        size_bytes=len(state.data),
        mtime_ns=document.changed_ns,
        ctime_ns=document.changed_ns,
        mode=disk.mode if disk else REGULAR_FILE,
        uid=disk.uid if disk else 0,
        gid=disk.gid if disk else 0,
        n_links=disk.n_links if disk else 1,
    )


def text_digest(text: str) -> bytes:
    return content_digest(comparable(text).encode("utf-8", "surrogatepass"))


def _is_text_file(data: bytes, fmt: TextFormat) -> bool:
    try:
        str(memoryview(data)[len(fmt.bom) :], fmt.encoding)
    except UnicodeDecodeError:
        return False
    return True
