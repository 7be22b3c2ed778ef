"""OverlayFileSystem: the files as the person sees them. Open documents stacked over another filesystem.

Which text counts is decided in open_documents.py, a change of unsaved text is made by editor_writes.py; both are
loaded at `initialize` for an editor, else with the first document: an agent without an editor never opens one. A
document that came while they could not be loaded is not taken for closed: until they are, its file is refused.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING

from fileops.model.edits import Splice
from fileops.model.errors import AlreadyExists, ApplyRefused, DocumentUnknown, FileMissing, FileOpsError
from fileops.model.files import Committed, Snapshot, Source, Stamp
from fileops.ports import CommitHooks, ContentStream, FileSystem

if TYPE_CHECKING:
    from fileops.fs.overlay.documents import Change, DocumentStore
    from fileops.fs.overlay.editor_commit import EditorWrites
    from fileops.fs.overlay.state import DocumentState, Truth
    from fileops.model.documents import PositionEncoding
    from fileops.ports import Editor

log = logging.getLogger(__name__)

VERIFY_S = 5.0  # an editor may collect changes for some 150 ms (Neovim) before it tells of them


class OverlayFileSystem:
    """A FileSystem. on_change: told, on any thread, that the truth at a canonical path may be another one now."""

    def __init__(
        self,
        delegate: FileSystem,
        editor: "Editor",
        encoding: "Callable[[], PositionEncoding]",
        *,
        verify_s: float = VERIFY_S,
    ) -> None:
        self._delegate, self._editor, self._encoding, self._verify_s = delegate, editor, encoding, verify_s
        self.on_change: Callable[[str], None] = lambda _path: None
        self._documents: DocumentStore | None = None  # until `load`, on the event loop
        self._writes: EditorWrites | None = None  # with them
        self._unloaded: Mapping[str, str] = {}  # until then: URI -> path of what was opened; never mutated

    def load(self) -> "DocumentStore":
        """Raises: ImportError, OSError."""
        if self._documents is None:
            from fileops.fs.overlay.documents import DocumentStore
            from fileops.fs.overlay.editor_commit import EditorWrites

            documents = DocumentStore(self._delegate, self._encoding)
            for uri, path in self._unloaded.items():
                documents.opened_unknown(uri, path, _NOT_KEPT)
            self._writes = EditorWrites(
                documents=documents, editor=self._editor, encoding=self._encoding, verify_s=self._verify_s
            )
            self._documents = documents
        return self._documents

    # --- what the client says (event loop) ---------------------------------------------------------------------

    def opened(self, uri: str, path: str, version: int, text: str) -> None:
        """Also for a document that is open already: then this is its text now."""
        if (documents := self._loaded({uri: path})) is not None:
            documents.opened(uri, path, version, text)

    def opened_unknown(self, uri: str, path: str, reason: str) -> None:
        """As `opened`, where the text that came could not be taken."""
        if (documents := self._loaded({uri: path})) is not None:
            documents.opened_unknown(uri, path, reason)

    def changed(self, uri: str, version: int, changes: "Sequence[Change]") -> bool:
        """changes: each a range and its new text, or a whole text. False: no such document is open."""
        if (documents := self._loaded({})) is None:
            return uri in self._unloaded
        return self._told(documents.changed(uri, version, changes))

    def doubted(self, uri: str | None, reason: str) -> None:
        """What the client said of a document could not be taken: until its text is known again it is refused.

        uri: None for one that is not named, which may be any.
        """
        for path in [] if self._documents is None else self._documents.doubted(uri, reason):
            self.on_change(path)

    def saved(self, uri: str) -> None:
        self._told(None if self._documents is None else self._documents.saved(uri))

    def closed(self, uri: str) -> None:
        self._unloaded = {known: path for known, path in self._unloaded.items() if known != uri}
        self._told(None if self._documents is None else self._documents.closed(uri))

    def _loaded(self, opened: Mapping[str, str]) -> "DocumentStore | None":
        """None where it cannot be had now; then what is opened is remembered."""
        if self._documents is None and not opened and not self._unloaded:
            return None  # a change of nothing
        try:
            return self.load()
        except (ImportError, OSError) as fault:
            self._unloaded = {**self._unloaded, **opened}
            log.error("open documents cannot be kept, and their files are refused: %s", fault)
            return None

    def _told(self, path: str | None) -> bool:
        if path is not None:
            self.on_change(path)
        return path is not None

    def settle(self) -> None:
        """Look at what was opened or changed, beside its file. For a worker thread, soon after."""
        for path in [] if self._documents is None else self._documents.settle():
            self.on_change(path)

    @property
    def has_unsettled(self) -> bool:
        return self._documents is not None and self._documents.has_unsettled()

    def is_open(self, canonical_path: str) -> bool:
        if self._documents is None:
            return self._is_unloaded(canonical_path)
        return bool(self._documents.at(canonical_path))

    # --- FileSystem --------------------------------------------------------------------------------------------

    def resolve(self, path: str) -> str:
        return self._delegate.resolve(path)

    def stat(self, path: str) -> Stamp | None:
        truth, judged = self._truth(path)
        if truth is None or judged is None or judged.kind != "dirty":
            return self._delegate.stat(path)
        return truth.snapshot(path).stamp

    def open(self, path: str) -> ContentStream:
        _, judged = self._truth(path)
        if judged is None or judged.kind == "disk":
            return self._delegate.open(path)
        snapshot = self.read(path)
        if snapshot.stamp is None:
            raise FileMissing
        return _BufferStream(snapshot, snapshot.stamp)

    def try_open_cached(self, path: str) -> ContentStream | None:
        """Only where no document can be open on the file: judging one takes a look at the disk."""
        if self._unloaded if self._documents is None else self._documents.may_be_open(path):
            return None
        return self._delegate.try_open_cached(path)

    def read(self, path: str) -> Snapshot:
        while True:
            truth, judged = self._truth(path)
            if truth is not None and judged is not None and judged.kind == "dirty":
                return truth.snapshot(path)
            disk = self._delegate.read(path)
            if truth is None or judged is None or judged.kind == "disk":
                return disk
            if disk.stamp == judged.disk.stamp:
                return replace(disk, source="buffer", version=truth.document.version)
            # It moved between the look and the reading: look again.

    def replace(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        path = snapshot.path
        truth, judged = self._truth(path)
        if judged is not None and judged.kind == "dirty" and self._writes is not None:
            if not snapshot.exists:
                raise AlreadyExists
            with self._delegate.hold(path):
                return self._writes.replace(snapshot, splices, hooks)
        return self._delegate.replace(_disk_form(snapshot), splices, self._disk_hooks(path, truth, hooks))

    def remove(self, snapshot: Snapshot, hooks: CommitHooks) -> Committed:
        path = snapshot.path
        truth, judged = self._truth(path)
        if judged is not None and judged.kind == "dirty":
            raise ApplyRefused(reason="the document has unsaved changes")
        return self._delegate.remove(_disk_form(snapshot), self._disk_hooks(path, truth, hooks))

    def hold(self, path: str) -> AbstractContextManager[None]:
        return self._delegate.hold(path)

    # --- between the documents and the disk --------------------------------------------------------------------

    def _truth(self, path: str) -> "tuple[Truth, DocumentState] | tuple[None, None]":
        """The document that counts and what it is beside the disk. Raises: DocumentUnknown, and as `read`."""
        if self._documents is None:
            self._require_loaded(path)
            return None, None
        truth = self._documents.truth(path)
        if truth is None:
            return None, None
        if truth.judged is None:
            raise DocumentUnknown(reason="" if truth.document.doubt is None else truth.document.doubt.reason)
        return truth, truth.judged

    def _require_loaded(self, path: str) -> None:
        if self._is_unloaded(path):
            raise DocumentUnknown(reason=_NOT_KEPT)

    def _is_unloaded(self, path: str) -> bool:
        return any(self._may_lie_at(given_path, path) for given_path in self._unloaded.values())

    def _may_lie_at(self, given_path: str, path: str) -> bool:
        try:
            return self._delegate.resolve(given_path) == path
        except FileOpsError:
            return given_path == path

    def _disk_hooks(self, path: str, truth: "Truth | None", hooks: CommitHooks) -> CommitHooks:
        def require_same_truth() -> None:
            if self._documents is not None:  # it may have come since
                self._documents.require_same(path, truth)
            else:
                self._require_loaded(path)

        return _DiskHooks(require_same_truth, hooks)


class _DiskHooks:
    """Around a write of the disk: no document may have been opened or changed since the truth was looked at."""

    def __init__(self, require_same_truth: Callable[[], None], hooks: CommitHooks) -> None:
        self._require_same_truth, self._hooks = require_same_truth, hooks

    def prepare(self) -> None:
        self._hooks.prepare()

    def before(self) -> None:
        self._require_same_truth()
        self._hooks.before()

    def on_cancel(self, withdraw: Callable[[], None]) -> None:
        self._hooks.on_cancel(withdraw)

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


_NOT_KEPT = "a part of the server could not be loaded when the editor opened it"


def _disk_form(snapshot: Snapshot) -> Snapshot:
    """For the disk's own compare, which sees by the content whether this still is what stands there."""
    return snapshot if snapshot.source == "disk" else replace(snapshot, source="disk", version=None)
