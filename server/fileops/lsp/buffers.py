"""EditorBuffers: the files as the person sees them. Open documents stacked over another filesystem.

Which text counts is decided in open_documents.py, a change of unsaved text is made by editor_writes.py; both are
loaded with the first document: an agent without an editor never opens one.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING

from fileops.errors import AlreadyExists, ApplyRefused, FileMissing, FileOpsError, PathMoved
from fileops.model import Committed, Snapshot, Source, Splice, Stamp
from fileops.ports import CommitHooks, ContentStream, FileSystem

if TYPE_CHECKING:
    from fileops.lsp.documents import Position, PositionEncoding
    from fileops.lsp.editor_writes import Editor, EditorWrites
    from fileops.lsp.open_documents import OpenDocuments, Truth

VERIFY_S = 5.0  # an editor may collect changes for some 150 ms (Neovim) before it tells of them


class EditorBuffers:
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
        self._documents: OpenDocuments | None = None  # until the first one is opened, on the event loop

    # --- what the client says (event loop) ---------------------------------------------------------------------

    def opened(self, uri: str, path: str, version: int, text: str) -> None:
        """Also for a document that is open already: then this is its text now."""
        if self._documents is None:
            from fileops.lsp.open_documents import OpenDocuments

            self._documents = OpenDocuments(self._delegate, self._encoding)
        self._documents.opened(uri, path, version, text)

    def changed(self, uri: str, version: int, changes: "Sequence[tuple[Position, Position, str] | str]") -> bool:
        """changes: each a range and its new text, or a whole text. False: no such document is open."""
        return self._told(None if self._documents is None else self._documents.changed(uri, version, changes))

    def saved(self, uri: str) -> None:
        self._told(None if self._documents is None else self._documents.saved(uri))

    def closed(self, uri: str) -> None:
        self._told(None if self._documents is None else self._documents.closed(uri))

    def _told(self, path: str | None) -> bool:
        if path is not None:
            self.on_change(path)
        return path is not None

    def settle(self) -> None:
        """Look at newly opened documents beside their files. For a worker thread, soon after `opened`."""
        if self._documents is None:
            return
        for document in self._documents.unlooked():
            with suppress(FileOpsError, PathMoved):  # who asks for the file is told then
                self._documents.look(document)
            self.on_change(document.canonical or document.path)

    def is_open(self, canonical_path: str) -> bool:
        return self._documents is not None and bool(self._documents.at(canonical_path))

    # --- FileSystem --------------------------------------------------------------------------------------------

    def resolve(self, path: str) -> str:
        return self._delegate.resolve(path)

    def stat(self, path: str) -> Stamp | None:
        truth = self._truth(path)
        if truth is None or truth.judged.kind != "dirty":
            return self._delegate.stat(path)
        return truth.stamp

    def open(self, path: str) -> ContentStream:
        truth = self._truth(path)
        if truth is None or truth.judged.kind == "disk":
            return self._delegate.open(path)
        snapshot = self.read(path)
        if snapshot.stamp is None:
            raise FileMissing
        return _BufferStream(snapshot, snapshot.stamp)

    def open_cached(self, path: str) -> ContentStream | None:
        """Only where no document can be open on the file: judging one takes a look at the disk."""
        if self._documents is not None and self._documents.may_be_open(path):
            return None
        return self._delegate.open_cached(path)

    def read(self, path: str) -> Snapshot:
        while True:
            truth = self._truth(path)
            if truth is not None and truth.judged.kind == "dirty":
                return truth.snapshot(path)
            disk = self._delegate.read(path)
            if truth is None or truth.judged.kind == "disk":
                return disk
            if disk.stamp == truth.judged.disk_stamp:
                return replace(disk, source="buffer", version=truth.document.version)
            # It moved between the look and the reading: look again.

    def replace(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        path = snapshot.path
        truth = self._truth(path)
        if truth is not None and self._documents is not None and truth.judged.kind == "dirty":
            if not snapshot.exists:
                raise AlreadyExists
            with self._delegate.hold(path):
                return self._writes(self._documents).replace(snapshot, splices, hooks)
        return self._delegate.replace(_disk_form(snapshot), splices, self._disk_hooks(path, truth, hooks))

    def remove(self, snapshot: Snapshot, hooks: CommitHooks) -> Committed:
        path = snapshot.path
        truth = self._truth(path)
        if truth is not None and truth.judged.kind == "dirty":
            raise ApplyRefused(reason="the document has unsaved changes")
        return self._delegate.remove(_disk_form(snapshot), self._disk_hooks(path, truth, hooks))

    def hold(self, path: str) -> AbstractContextManager[None]:
        return self._delegate.hold(path)

    # --- between the documents and the disk --------------------------------------------------------------------

    def _truth(self, path: str) -> "Truth | None":
        return None if self._documents is None else self._documents.truth(path)

    def _writes(self, documents: "OpenDocuments") -> "EditorWrites":
        from fileops.lsp.editor_writes import EditorWrites

        return EditorWrites(documents=documents, editor=self._editor, encoding=self._encoding, verify_s=self._verify_s)

    def _disk_hooks(self, path: str, truth: "Truth | None", hooks: CommitHooks) -> CommitHooks:
        def require_same_truth() -> None:
            if self._documents is not None:  # it may have come since
                self._documents.require_same(path, truth)

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
    return snapshot if snapshot.source == "disk" else replace(snapshot, source="disk", version=None)
