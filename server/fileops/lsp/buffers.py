"""EditorBuffers: the files as the person sees them. Open documents stacked over another filesystem.

An open document is the truth while it is open (docs/PROTOCOL.md, "Open documents"):
- it reads the same as the disk: clean. The disk's own bytes serve, and edits go to disk;
- the person changed it: dirty. Its text serves, and edits go through the editor;
- it differs, and not by the person's hand (the disk moved, or our own edit is not reloaded yet): the disk stands.

What the client says arrives on the event loop (`opened`, `changed`, `saved`, `closed`) and only replaces immutable
states; everything that touches the disk happens in the worker threads that call the port.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Literal, Protocol

from fileops.core import splices as splice_lists
from fileops.core import text as texts
from fileops.core.stamps import is_racy
from fileops.errors import AlreadyExists, ApplyRefused, FileMissing, FileOpsError, PathMoved, Stale
from fileops.lsp.documents import DocumentText, Position, PositionEncoding
from fileops.lsp.textedits import DocumentEdit, document_edits, encode_document
from fileops.model import CommitReport, Committed, Snapshot, Source, Splice, Stamp, TextFormat
from fileops.ports import CommitHooks, ContentStream, FileSystem
from fileops.wire.uris import path_of

REGULAR_FILE = 0o100644  # mode of a document that has no file yet
VERIFY_S = 5.0  # an editor may collect changes for some 150 ms (Neovim) before it tells of them

Kind = Literal["clean", "dirty", "disk"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDocument:
    """State of one open document. serial: grows with every change of state, of any document.

    is_touched: changed by the person since open or save; None until the first look at the disk. synced: the text
    at the last moment when it read the same as the disk. is_foreign: the disk holds bytes that are no text to us,
    so the editor reads it in another encoding.
    """

    uri: str
    path: str
    version: int
    text: DocumentText
    serial: int
    changed_ns: int
    canonical: str | None = None
    is_touched: bool | None = None
    synced: str | None = None
    is_foreign: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferEdit:
    """What the editor is asked to do, for exactly this version of the document."""

    uri: str
    version: int
    edits: tuple[DocumentEdit, ...]


class Editor(Protocol):
    """The other side of `workspace/applyEdit`."""

    def apply(self, edit: BufferEdit) -> None:
        """Called in a worker thread. Raises: ApplyRefused."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """What a document is beside a disk of this stamp. data, format: of a dirty one."""

    serial: int
    kind: Kind
    disk_stamp: Stamp | None
    taken_ns: int
    data: bytes = b""
    format: TextFormat


@dataclass(frozen=True, slots=True)
class _Truth:
    """The document that counts at a path. serials: of all documents that are open there."""

    document: OpenDocument
    judged: _Judged
    serials: frozenset[int]


@dataclass(slots=True, kw_only=True)
class _Expected:
    """A text that the editor said it would bring about. seen: the state that showed it."""

    text: str
    seen: OpenDocument | None = None


class EditorBuffers:
    """A FileSystem. on_change: told, on any thread, that the truth at a canonical path may be another one now."""

    def __init__(
        self,
        delegate: FileSystem,
        editor: Editor,
        encoding: Callable[[], PositionEncoding],
        *,
        verify_s: float = VERIFY_S,
    ) -> None:
        self._delegate, self._editor, self._encoding, self._verify_s = delegate, editor, encoding, verify_s
        self.on_change: Callable[[str], None] = lambda _path: None
        self._state = threading.Condition()
        # Guarded by _state:
        self._serial = 0
        self._documents: dict[str, OpenDocument] = {}
        self._judged: dict[str, _Judged] = {}
        self._expected: dict[str, _Expected] = {}

    # --- what the client says (event loop) ---------------------------------------------------------------------

    def opened(self, uri: str, path: str, version: int, text: str) -> None:
        """Also for a document that is open already: then this is its text now."""
        with self._state:
            document = OpenDocument(
                uri=uri, path=path, version=version, text=DocumentText(text), serial=self._next_serial(),
                changed_ns=time.time_ns(),
            )  # fmt: skip
            self._put(document)

    def changed(self, uri: str, version: int, changes: Sequence[tuple[Position, Position, str] | str]) -> bool:
        """changes: each a range and its new text, or a whole text. False: no such document is open."""
        with self._state:
            document = self._named(uri)
            if document is None:
                return False
            text, encoding = document.text, self._encoding()
            for change in changes:
                if isinstance(change, str):
                    text = DocumentText(change)
                else:
                    start, end, new = change
                    text = text.replaced(start, end, new, encoding)
            is_back = document.synced is not None and _is_text(text, document.synced)
            touched = None if document.is_touched is None else not is_back
            document = replace(
                document, version=version, text=text, serial=self._next_serial(), changed_ns=time.time_ns(),
                is_touched=touched,
            )  # fmt: skip
            self._put(document)
        self.on_change(document.canonical or document.path)
        return True

    def saved(self, uri: str) -> None:
        with self._state:
            document = self._named(uri)
            if document is None:
                return
            path = document.canonical or document.path
            document = replace(
                document, serial=self._next_serial(), canonical=None, is_touched=document.is_foreign,
                synced=document.text.text,
            )  # fmt: skip
            self._put(document)
        self.on_change(path)

    def closed(self, uri: str) -> None:
        with self._state:
            document = self._named(uri)
            if document is None:
                return
            del self._documents[document.uri]
            self._judged.pop(document.uri, None)
            self._state.notify_all()
        self.on_change(document.canonical or document.path)

    def settle(self) -> None:
        """Look at newly opened documents beside their files. For a worker thread, soon after `opened`."""
        for document in self._all():
            if document.is_touched is None:
                with suppress(FileOpsError, PathMoved):  # who asks for the file is told then
                    self._look(document)
                self.on_change(document.canonical or document.path)

    # --- what others may ask -----------------------------------------------------------------------------------

    def is_open(self, canonical_path: str) -> bool:
        return bool(self._at(canonical_path))

    def document(self, uri: str) -> OpenDocument | None:
        with self._state:
            return self._named(uri)

    # --- FileSystem --------------------------------------------------------------------------------------------

    def resolve(self, path: str) -> str:
        return self._delegate.resolve(path)

    def stat(self, path: str) -> Stamp | None:
        truth = self._truth(path)
        if truth is None or truth.judged.kind != "dirty":
            return self._delegate.stat(path)
        return _stamp_of(truth.document, truth.judged)

    def open(self, path: str) -> ContentStream:
        truth = self._truth(path)
        if truth is None or truth.judged.kind == "disk":
            return self._delegate.open(path)
        snapshot = self.read(path)
        if snapshot.stamp is None:
            raise FileMissing
        return _BufferStream(snapshot, snapshot.stamp)

    def read(self, path: str) -> Snapshot:
        while True:
            truth = self._truth(path)
            if truth is not None and truth.judged.kind == "dirty":
                return _snapshot_of(path, truth.document, truth.judged)
            disk = self._delegate.read(path)
            if truth is None or truth.judged.kind == "disk":
                return disk
            if disk.stamp == truth.judged.disk_stamp:
                return replace(disk, source="buffer", version=truth.document.version)
            # It moved between the look and the reading: look again.

    def replace(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        path = snapshot.path
        truth = self._truth(path)
        if truth is not None and truth.judged.kind == "dirty":
            if not snapshot.exists:
                raise AlreadyExists
            with self._delegate.hold(path):
                return self._replace_in_editor(snapshot, splices, hooks)
        return self._delegate.replace(_disk_form(snapshot), splices, _DiskHooks(self, path, truth, hooks))

    def remove(self, snapshot: Snapshot, hooks: CommitHooks) -> Committed:
        path = snapshot.path
        truth = self._truth(path)
        if truth is not None and truth.judged.kind == "dirty":
            raise ApplyRefused(reason="the document has unsaved changes")
        return self._delegate.remove(_disk_form(snapshot), _DiskHooks(self, path, truth, hooks))

    def hold(self, path: str) -> AbstractContextManager[None]:
        return self._delegate.hold(path)

    # --- to disk -----------------------------------------------------------------------------------------------

    def require_same_truth(self, path: str, truth: _Truth | None) -> None:
        """Raises: Stale, where the person opened or changed a document since `truth` was looked at."""
        serials = frozenset(document.serial for document in self._at(path))
        if serials != (truth.serials if truth is not None else frozenset()):
            raise Stale(path=path)

    # --- through the editor ------------------------------------------------------------------------------------

    def _replace_in_editor(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        """The file's lock is held: whoever judges the change that we cause waits until it is noted as ours."""
        path = snapshot.path
        document, judged = self._require_current(snapshot)
        wanted = splice_lists.apply(snapshot.data, splices)
        expected = _Expected(text=comparable(texts.decode(wanted, judged.format)))
        hooks.before()
        if wanted == snapshot.data:
            committed = Committed(snapshot=snapshot, report=CommitReport(method="none", durability="editor"))
        else:
            edits = document_edits(document.text, snapshot.data, judged.format, splices, self._encoding())
            after = self._apply(BufferEdit(uri=document.uri, version=document.version, edits=edits), expected)
            now = replace(judged, serial=after.serial, data=encode_document(after.text.text, judged.format))
            report = CommitReport(method="buffer", durability="editor")
            committed = Committed(snapshot=_snapshot_of(path, after, now), report=report)
        hooks.after(committed)
        return committed

    def _require_current(self, snapshot: Snapshot) -> tuple[OpenDocument, _Judged]:
        """Raises: Stale; ApplyRefused (two windows with different unsaved texts of one file)."""
        looked = (self._look(document) for document in self._at(snapshot.path))
        dirty = [found for found in looked if found is not None and found[1].kind == "dirty"]
        if len({judged.data for _, judged in dirty}) > 1:
            raise ApplyRefused(reason="the file is open twice, with different unsaved changes")
        for document, judged in dirty:
            if document.version == snapshot.version and judged.data == snapshot.data:
                return document, judged
        raise Stale(path=snapshot.path)

    def _apply(self, edit: BufferEdit, expected: _Expected) -> OpenDocument:
        """The document's state in which the edit shows. Raises: ApplyRefused."""
        with self._state:
            self._expected[edit.uri] = expected
        try:
            self._editor.apply(edit)
            with self._state:  # editors tell of changes when they like: before their answer, or well behind it
                self._state.wait_for(
                    lambda: expected.seen is not None or edit.uri not in self._documents, timeout=self._verify_s
                )
        except ApplyRefused:
            if expected.seen is None:  # else it was done all the same, and that is the truth
                raise
        finally:
            with self._state:
                self._expected.pop(edit.uri, None)
        if expected.seen is None:
            raise ApplyRefused(reason="the editor reported success, but the document does not show the change")
        return expected.seen

    # --- judging -----------------------------------------------------------------------------------------------

    def _truth(self, path: str) -> _Truth | None:
        """The document changed last; of those that are dirty if any is."""
        found = [looked for document in self._at(path) if (looked := self._look(document)) is not None]
        if not found:
            return None
        rank: dict[Kind, int] = {"dirty": 2, "disk": 1, "clean": 0}
        document, judged = max(found, key=lambda one: (rank[one[1].kind], one[0].changed_ns, one[0].serial))
        return _Truth(document, judged, frozenset(one.serial for one, _ in found))

    def _look(self, document: OpenDocument) -> tuple[OpenDocument, _Judged] | None:
        """None where the document is closed meanwhile."""
        while True:
            path = document.canonical
            if path is None:
                return None
            with self._state:
                known = self._judged.get(document.uri)
            if known is not None and known.serial == document.serial and not self._has_moved(path, known):
                return document, known
            judged, settled = _judge(document, self._delegate.read(path))
            with self._state:
                current = self._documents.get(document.uri)
                if current is None:
                    return None
                if current.serial == document.serial:
                    self._documents[document.uri] = settled
                    self._judged[document.uri] = judged
                    return settled, judged
            document = self._resolved(current)

    def _has_moved(self, path: str, known: _Judged) -> bool:
        if known.disk_stamp is not None and is_racy(known.disk_stamp, known.taken_ns):
            return True
        return self._delegate.stat(path) != known.disk_stamp

    def _at(self, path: str) -> list[OpenDocument]:
        return [document for document in self._all() if document.canonical == path]

    def _all(self) -> list[OpenDocument]:
        with self._state:
            documents = list(self._documents.values())
        return [self._resolved(document) for document in documents]

    def _resolved(self, document: OpenDocument) -> OpenDocument:
        """With its canonical path. A document that came by a link is resolved anew each time: links are moved."""
        if document.canonical == document.path:
            return document
        try:
            canonical = self._delegate.resolve(document.path)
        except FileOpsError:
            return document
        if canonical == document.canonical:
            return document
        with self._state:
            current = self._documents.get(document.uri)
            if current is None or current.serial != document.serial:
                return replace(document, canonical=canonical)
            document = self._documents[document.uri] = replace(document, canonical=canonical)
            return document

    # --- under the lock ----------------------------------------------------------------------------------------

    def _named(self, uri: str) -> OpenDocument | None:
        """Clients should, but do not always, write a URI as they wrote it at first."""
        document = self._documents.get(uri)
        if document is None and (path := path_of(uri)) is not None:
            document = next((one for one in self._documents.values() if one.path == path), None)
        return document

    def _next_serial(self) -> int:
        self._serial += 1
        return self._serial

    def _put(self, document: OpenDocument) -> None:
        self._documents[document.uri] = document
        expected = self._expected.get(document.uri)
        if expected is not None and expected.seen is None and comparable(document.text.text) == expected.text:
            expected.seen = document
        self._state.notify_all()


class _DiskHooks:
    """Around a write of the disk: no document may have been opened or changed since the truth was looked at."""

    def __init__(
        self,
        buffers: EditorBuffers,
        path: str,
        truth: _Truth | None,
        hooks: CommitHooks,
    ) -> None:
        self._buffers, self._path, self._truth, self._hooks = buffers, path, truth, hooks

    def before(self) -> None:
        self._buffers.require_same_truth(self._path, self._truth)
        self._hooks.before()

    def after(self, committed: Committed) -> None:
        self._hooks.after(committed)


class _BufferStream:
    """See ports.ContentStream."""

    def __init__(self, snapshot: Snapshot, stamp: Stamp) -> None:
        self._file = BytesIO(snapshot.data)
        self.stamp = stamp
        self.taken_ns: int = snapshot.taken_ns
        self.source: Source = snapshot.source
        self.version: int | None = snapshot.version

    def read(self, max_bytes: int) -> bytes:
        return self._file.read(max_bytes)

    def seek(self, offset_bytes: int) -> None:
        self._file.seek(offset_bytes)

    def __enter__(self) -> "_BufferStream":
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()


def _disk_form(snapshot: Snapshot) -> Snapshot:
    """For the disk's own compare, which sees by the content whether this still is what stands there."""
    return replace(snapshot, source="disk", version=None)


def comparable(text: str) -> str:
    """As texts of editors and files are compared: without BOM, line ends as LF."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _judge(document: OpenDocument, disk: Snapshot) -> tuple[_Judged, OpenDocument]:
    """What the document is beside this disk, and its state with what the look has taught about it."""
    fmt = texts.detect_format(disk.data)
    is_same = disk.exists and comparable(texts.decode(disk.data, fmt)) == comparable(document.text.text)
    kind: Kind
    if is_same:
        kind = "clean"
        document = replace(document, is_touched=False, synced=document.text.text)
    else:
        is_first_look = document.is_touched is None
        # A document that is opened with another text than the file's holds changes of an earlier session.
        touched = is_first_look or bool(document.is_touched)
        is_foreign = document.is_foreign or (is_first_look and disk.exists and not _is_text_file(disk.data, fmt))
        document = replace(document, is_touched=touched, is_foreign=is_foreign)
        kind = "dirty" if touched else "disk"
    data = encode_document(document.text.text, fmt) if kind == "dirty" else b""
    judged = _Judged(
        serial=document.serial, kind=kind, disk_stamp=disk.stamp, taken_ns=disk.taken_ns, data=data, format=fmt
    )
    return judged, document


def _is_text_file(data: bytes, fmt: TextFormat) -> bool:
    try:
        str(memoryview(data)[len(fmt.bom) :], fmt.encoding)
    except UnicodeDecodeError:
        return False
    return True


def _is_text(document: DocumentText, text: str) -> bool:
    return document.n_chars == len(text) and document.text == text


def _snapshot_of(path: str, document: OpenDocument, judged: _Judged) -> Snapshot:
    stamp = _stamp_of(document, judged)
    return Snapshot(
        path=path, stamp=stamp, data=judged.data, taken_ns=stamp.mtime_ns, source="buffer", version=document.version
    )


def _stamp_of(document: OpenDocument, judged: _Judged) -> Stamp:
    """Of a dirty document: the file's, with the buffer's size and the time of its last change."""
    disk = judged.disk_stamp
    return Stamp(
        dev=disk.dev if disk else 0,
        ino=disk.ino if disk else 0,
        size_bytes=len(judged.data),
        mtime_ns=document.changed_ns,
        ctime_ns=document.changed_ns,
        mode=disk.mode if disk else REGULAR_FILE,
        uid=disk.uid if disk else 0,
        gid=disk.gid if disk else 0,
        n_links=disk.n_links if disk else 1,
    )
