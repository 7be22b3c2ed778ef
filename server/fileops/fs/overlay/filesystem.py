"""OverlayFileSystem: the files as the user sees them, open documents overlaid on another filesystem.

`documents.py` decides which text is effective, `editor_commit.py` changes unsaved text.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace as with_changes

from fileops.fs.os_errors import at_path
from fileops.fs.overlay.documents import DocumentStore, OnTyped
from fileops.fs.overlay.editor_commit import EditorCommit
from fileops.fs.overlay.state import text_digest
from fileops.fs.streams import BytesStream
from fileops.model.changes import FilePlan
from fileops.model.documents import DocumentKey
from fileops.model.edits import Splice
from fileops.model.errors import (
    AlreadyExists,
    ApplyRefused,
    DocumentUnknown,
    FileMissing,
    SetConflict,
)
from fileops.model.files import Committed, Snapshot, Stamp
from fileops.ports import CommitHooks, ContentStream, DocumentSink, Editor, FileSystem, SetHooks

if TYPE_CHECKING:
    from fileops.fs.overlay.state import DocumentState, EffectiveDocument, OpenDocument
    from fileops.model.documents import DocumentChange, NotebookChange, PositionEncoding, ReportedCell

log = logging.getLogger(__name__)

VERIFY_S = 5.0  # Neovim collects changes for 150 ms before it sends them; a busy editor may need longer


class OverlayFileSystem:
    """A FileSystem to which editors connect.

    `on_change` is called, on any thread, with a canonical path at which another text may now be effective.
    """

    def __init__(self, delegate: FileSystem, *, verify_s: float = VERIFY_S) -> None:
        self._delegate = delegate
        self.on_change: Callable[[str], None] = lambda _path: None
        # Called with the editor's name, the path, and what was saved; on_closed also when an editor has gone.
        self.on_saved: Callable[[str, str, str], None] = lambda _editor, _path, _text: None
        self.on_closed: Callable[[str, str], None] = lambda _editor, _path: None
        self.on_left_unsaved: Callable[[str, str], None] = lambda _editor, _path: None  # comes before `on_closed`
        self.on_typed: OnTyped = lambda _path, _before, _splices, _after: None  # see DocumentStore
        self._editors: dict[str, _ConnectedEditor] = {}  # changed only on the event loop
        self._documents = DocumentStore(
            delegate,
            lambda name: self._editors[name].encoding(),
            lambda path, before, splices, after: self.on_typed(path, before, splices, after),  # noqa: PLW0108  # set later
        )
        self._editor_commit = EditorCommit(documents=self._documents, find_editor=self._find_editor, verify_s=verify_s)

    def connect(self, editor: Editor, encoding: "Callable[[], PositionEncoding]", name: str = "") -> DocumentSink:
        """Add an editor and return the sink of its messages.

        `encoding` returns its negotiated encoding of positions.
        """
        self._editors[name] = _ConnectedEditor(editor, encoding)
        return _EditorDocuments(self, name)

    def disconnect(self, name: str) -> None:
        """Forget an editor and its documents. Called on any thread."""
        self._editors.pop(name, None)
        dropped = self._documents.close_all_of(name)
        paths = list(dropped)
        self._report_all(paths)
        for path in paths:
            if dropped[path]:
                self.on_left_unsaved(name, path)
            self.on_closed(name, path)

    def _find_editor(self, name: str) -> "tuple[Editor, PositionEncoding] | None":
        connected = self._editors.get(name)
        return None if connected is None else (connected.editor, connected.encoding())

    # --- what editors say (event loop): see ports.DocumentSink --------------------------------------------------

    def did_open(self, key: DocumentKey, path: str, version: int, text: str) -> None:
        self._documents.did_open(key, path, version, text)

    def did_open_unknown(self, key: DocumentKey, path: str, reason: str) -> None:
        self._documents.did_open_unknown(key, path, reason)

    def did_change(self, key: DocumentKey, version: int, changes: "Sequence[DocumentChange]") -> bool:
        return self._report(self._documents.did_change(key, version, changes))

    def did_open_notebook(self, key: DocumentKey, path: str, version: int, cells: "Sequence[ReportedCell]") -> None:
        self._documents.did_open_notebook(key, path, version, cells)

    def did_change_notebook(self, key: DocumentKey, version: int, changes: "Sequence[NotebookChange]") -> bool:
        return self._report(self._documents.did_change_notebook(key, version, changes))

    def mark_unknown(self, editor: str, uri: str | None, reason: str) -> None:
        self._report_all(self._documents.mark_unknown(editor, uri, reason))

    def did_save(self, key: DocumentKey) -> None:
        path = self._documents.did_save(key)
        self._report(path)
        document = self._documents.find(key)
        if path is not None and document is not None:
            self.on_saved(key.editor, path, document.text.text)

    def did_close(self, key: DocumentKey) -> None:
        path = self._documents.did_close(key)
        self._report(path)
        if path is not None:
            self.on_closed(key.editor, path)

    def _report(self, path: str | None) -> bool:
        if path is not None:
            self.on_change(path)
        return path is not None

    def _report_all(self, paths: Sequence[str]) -> None:
        for path in paths:
            self.on_change(path)

    def classify_pending(self, editor: str = "") -> None:
        self._report_all(self._documents.classify_pending(editor))

    def has_unclassified(self, editor: str) -> bool:
        return self._documents.has_unclassified(editor)

    def is_open_in(self, editor: str, path: str) -> bool:
        """Return whether the editor has a document open there, as last resolved or as given. Waits for nothing."""
        return self._documents.is_open_in(editor, path)

    def last_open_at(self, canonical_path: str) -> "Sequence[OpenDocument]":
        """Return the documents that are open there, as last resolved or as given. Waits for nothing."""
        return self._documents.last_at(canonical_path)

    def saveable_at(self, canonical_path: str) -> "OpenDocument | None":
        """Return the unsaved document that counts there, if its file is the one on which it is based.

        Blocks. Raises: as `read`.
        """
        effective = self._documents.effective(canonical_path)
        if effective is None or effective.state is None or effective.kind != "dirty":
            return None
        base = effective.document.synced
        return None if base is None or text_digest(base) != effective.state.disk.digest else effective.document

    def is_open(self, canonical_path: str) -> bool:
        return bool(self._documents.at(canonical_path))

    # --- FileSystem --------------------------------------------------------------------------------------------

    def resolve(self, path: str) -> str:
        return self._delegate.resolve(path)

    def stat(self, path: str) -> Stamp | None:
        effective, state = self._effective(path)
        if effective is None or state is None or state.kind != "dirty":
            return self._delegate.stat(path)
        return effective.snapshot(path).stamp

    def open(self, path: str) -> ContentStream:
        _, state = self._effective(path)
        if state is None or state.kind == "superseded":
            return self._delegate.open(path)
        snapshot = self.read(path)
        if snapshot.stamp is None:
            raise FileMissing
        return BytesStream(
            snapshot.data,
            snapshot.stamp,
            snapshot.taken_ns,
            snapshot.source,
            snapshot.version,
            snapshot.encoding,
            is_unsaved=snapshot.is_unsaved,
        )

    def try_open_cached(self, path: str) -> ContentStream | None:
        """Return a stream only if no document can be open on the file: classifying one would read the disk."""
        return None if self._documents.may_be_open(path) else self._delegate.try_open_cached(path)

    def read(self, path: str) -> Snapshot:
        while True:
            effective, state = self._effective(path)
            if effective is not None and state is not None and state.kind == "dirty":
                return effective.snapshot(path)
            disk = self._delegate.read(path)
            if effective is None or state is None or state.kind == "superseded":
                return disk
            if disk.stamp == state.disk.stamp:
                document = effective.document
                return replace(disk, source="buffer", version=document.version, is_loaded=document.reported != "save")
            # The file changed after the document was classified: classify it again.

    def replace(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        path = snapshot.path
        effective, state = self._effective(path)
        is_unsaved = snapshot.is_left or (state is not None and state.kind == "dirty")
        if is_unsaved:
            if not snapshot.exists:
                raise AlreadyExists
            with self._delegate.lock(path):
                return self._editor_commit.replace(snapshot, splices, hooks)
        guarded = _GuardedHooks(lambda: self._require_same(path, effective), self._wrote, hooks)
        return self._delegate.replace(_disk_form(snapshot), splices, guarded)

    def remove(self, snapshot: Snapshot, hooks: CommitHooks) -> Committed:
        path = snapshot.path
        effective, state = self._effective(path)
        if state is not None and state.kind == "dirty":
            raise ApplyRefused(reason="the document has unsaved changes")
        guarded = _GuardedHooks(lambda: self._require_same(path, effective), self._wrote, hooks)
        return self._delegate.remove(_disk_form(snapshot), guarded)

    def replace_set(
        self, set_id: str, files: Sequence[FilePlan], hooks: SetHooks, *, is_strict: bool = True
    ) -> tuple[Committed, ...]:
        """Let editors change unsaved documents right before the first file changes, and back if that fails.

        So an editor's refusal leaves the files as they are, and a full disk is found before any editor is asked.
        """
        known: dict[str, EffectiveDocument | None] = {}
        unsaved = set[str]()
        paths = sorted({path for file in files for path in (file.snapshot.path, file.new_path) if path})
        for path in paths:
            with at_path(path):
                known[path], state = self._effective(path)
            if state is not None and state.kind == "dirty":
                unsaved.add(path)
        for file in files:
            if unsaved & {file.snapshot.path, file.new_path}:
                with at_path(file.snapshot.path):
                    _require_edit(file)
        with ExitStack() as locked:
            for path in paths if unsaved else ():
                locked.enter_context(self._delegate.lock_path(path))
            return self._replace_files(set_id, files, unsaved, known, hooks, is_strict=is_strict)

    def _replace_files(
        self,
        set_id: str,
        files: Sequence[FilePlan],
        unsaved: set[str],
        known: "Mapping[str, EffectiveDocument | None]",
        hooks: SetHooks,
        *,
        is_strict: bool,
    ) -> tuple[Committed, ...]:
        """Raises: as `replace_set`."""
        editor_commit = self._editor_commit
        in_documents = [file for file in files if file.snapshot.path in unsaved]
        on_disk = [file for file in files if file.snapshot.path not in unsaved]
        by_editor: list[tuple[Snapshot, Committed]] = []
        writes = editor_commit.plan(in_documents)

        def before() -> None:
            for path, effective in known.items():
                with at_path(path):
                    self._require_same(path, effective)
            hooks.before()
            if writes:
                made = editor_commit.commit(writes, hooks.on_cancel)
                by_editor.extend(zip((file.snapshot for file in in_documents), made, strict=True))

        def after(committed: tuple[Committed, ...]) -> None:
            for file, outcome in zip(on_disk, committed, strict=True):
                self._wrote(outcome)  # before editors are notified and reload them
                if file.new_path is not None:
                    gone = Snapshot(path=file.snapshot.path, stamp=None, data=b"", taken_ns=outcome.snapshot.taken_ns)
                    self._wrote(Committed(snapshot=gone, report=outcome.report))
            hooks.after(in_order(committed))

        def in_order(committed: Sequence[Committed]) -> tuple[Committed, ...]:
            by_path = {file.snapshot.path: outcome for file, outcome in zip(on_disk, committed, strict=True)}
            by_path |= {snapshot.path: outcome for snapshot, outcome in by_editor}
            return tuple(by_path[file.snapshot.path] for file in files)

        if not on_disk:
            before()
            after(())
            return in_order(())
        disk_forms = [with_changes(file, snapshot=_disk_form(file.snapshot)) for file in on_disk]
        guarded = _GuardedSetHooks(before, after, hooks)
        try:
            return in_order(self._delegate.replace_set(set_id, disk_forms, guarded, is_strict=is_strict))
        except BaseException as error:
            left = editor_commit.put_back(by_editor)
            if left:
                raise _with_left(error, left) from error
            raise

    def lock_path(self, path: str) -> AbstractContextManager[object]:
        return self._delegate.lock_path(path)

    def lock(self, path: str, *, waits: bool = True) -> AbstractContextManager[bool]:
        return self._delegate.lock(path, waits=waits)

    # --- between the documents and the disk --------------------------------------------------------------------

    def _effective(self, path: str) -> "tuple[EffectiveDocument, DocumentState] | tuple[None, None]":
        """Return the document that counts and its state. Raises: DocumentUnknown, and as `read`."""
        effective = self._documents.effective(path)
        if effective is None:
            return None, None
        if effective.state is None:
            doubt = effective.document.doubt
            raise DocumentUnknown(reason="" if doubt is None else doubt.reason)
        return effective, effective.state

    def _wrote(self, committed: Committed) -> None:
        self._documents.wrote(committed.snapshot)

    def _require_same(self, path: str, effective: "EffectiveDocument | None") -> None:
        """Raises: Stale, DocumentUnknown."""
        self._documents.require_same(path, effective)


class _ConnectedEditor(Struct, frozen=True):
    """An editor that opens documents. `encoding` returns its negotiated encoding of positions."""

    editor: Editor
    encoding: "Callable[[], PositionEncoding]"


class _EditorDocuments:
    """See ports.DocumentSink: passes on what one editor reports, with the editor's name."""

    def __init__(self, overlay: OverlayFileSystem, editor: str) -> None:
        self._overlay = overlay
        self._editor = editor

    def did_open(self, uri: str, path: str, version: int, text: str) -> None:
        self._overlay.did_open(DocumentKey(self._editor, uri), path, version, text)

    def did_open_unknown(self, uri: str, path: str, reason: str) -> None:
        self._overlay.did_open_unknown(DocumentKey(self._editor, uri), path, reason)

    def did_change(self, uri: str, version: int, changes: "Sequence[DocumentChange]") -> bool:
        return self._overlay.did_change(DocumentKey(self._editor, uri), version, changes)

    def did_open_notebook(self, uri: str, path: str, version: int, cells: "Sequence[ReportedCell]") -> None:
        self._overlay.did_open_notebook(DocumentKey(self._editor, uri), path, version, cells)

    def did_change_notebook(self, uri: str, version: int, changes: "Sequence[NotebookChange]") -> bool:
        return self._overlay.did_change_notebook(DocumentKey(self._editor, uri), version, changes)

    def mark_unknown(self, uri: str | None, reason: str) -> None:
        self._overlay.mark_unknown(self._editor, uri, reason)

    def did_save(self, uri: str) -> None:
        self._overlay.did_save(DocumentKey(self._editor, uri))

    def did_close(self, uri: str) -> None:
        self._overlay.did_close(DocumentKey(self._editor, uri))

    @property
    def has_unclassified(self) -> bool:
        return self._overlay.has_unclassified(self._editor)

    def classify_pending(self) -> None:
        self._overlay.classify_pending(self._editor)


# A commit to disk and a user who types are not ordered by a lock, because the editor is another process. These are the
# cases of a report (a document is opened, changed or closed), by the moment at which it arrives:
#
# 1. Before `_effective` reads the documents. It decides where the edit is made.
# 2. Between that and `before`, the last step at which the commit can end without effect. The serials differ, so the
#    commit is Stale, and the edit is made again on the text that counts then.
# 3. After `before`. The file gets the edit, and the document keeps what was typed: it differs from both texts that the
#    file has had, so it is dirty, and the next request reads and edits that text. Both texts exist then, and the editor
#    asks its user which to keep when they save.
#
# `wrote` is called before any editor is notified and reloads the file. Else the text of a reload would be unknown as
# one of the file's texts, and would be taken for typing.


class _GuardedHooks:
    """CommitHooks of a commit to disk: the last precondition is that no document was opened or changed since."""

    def __init__(self, require: Callable[[], None], wrote: Callable[[Committed], None], hooks: CommitHooks) -> None:
        self._require = require
        self._wrote = wrote
        self._hooks = hooks

    def prepare(self) -> None:
        self._hooks.prepare()

    def before(self) -> None:
        self._require()
        self._hooks.before()

    def on_cancel(self, withdraw: Callable[[], None]) -> None:
        self._hooks.on_cancel(withdraw)

    def after(self, committed: Committed) -> None:
        self._wrote(committed)  # before editors are notified and reload it
        self._hooks.after(committed)


class _GuardedSetHooks:
    """SetHooks of the files of a change set that are on the disk."""

    def __init__(
        self, before: Callable[[], None], after: Callable[[tuple[Committed, ...]], None], hooks: SetHooks
    ) -> None:
        self.before, self.after = before, after
        self.prepare, self.on_cancel = hooks.prepare, hooks.on_cancel


def _require_edit(file: FilePlan) -> None:
    """Require that a document with unsaved changes is edited, nothing else. Raises: ApplyRefused, AlreadyExists."""
    if not file.snapshot.exists:
        raise AlreadyExists
    if file.removes or file.new_path is not None or file.permissions is not None:
        raise ApplyRefused(reason=f"the document {file.snapshot.path} has unsaved changes")


def _with_left(error: BaseException, left: tuple[str, ...]) -> SetConflict:
    """Return the failure of a set that leaves documents changed."""
    if isinstance(error, SetConflict):
        return SetConflict(files=(*error.files, *left), reason=error.reason, kept=error.kept)
    reason = "a file could not be written, and an editor did not take its part of the changes back"
    return SetConflict(files=left, reason=reason)


def _disk_form(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot as the delegate compares it: by content, without the document's version."""
    return (
        snapshot
        if snapshot.source == "disk"
        else replace(snapshot, source="disk", version=None, is_loaded=False, is_left=False, is_unsaved=False)
    )
