"""Commits edits to dirty documents: the editor makes them, and its next report of each text confirms them."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace as with_changes
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from fileops.concurrency import shares
from fileops.core import splices as splice_lists
from fileops.core import text as texts
from fileops.core.diff.contents import splices_between
from fileops.core.notebook.cells import parse
from fileops.core.notebook.editor_cells import cells_after, cells_text, find_changed_sources, replacements
from fileops.core.whole_text import splices_to_text
from fileops.fs.os_errors import at_path
from fileops.fs.overlay.documents import DocumentStore
from fileops.fs.overlay.open_cells import OpenCell
from fileops.fs.overlay.pending_edits import PendingEdit
from fileops.fs.overlay.state import DocumentState, OpenDocument, comparable, content_of, snapshot_of
from fileops.fs.overlay.text_document import encode_document
from fileops.fs.overlay.text_edits import document_edits
from fileops.model.changes import FilePlan
from fileops.model.documents import BufferEdit, DocumentEdit, NotebookBufferEdit, PositionEncoding
from fileops.model.edits import Splice
from fileops.model.errors import ApplyRefused, DocumentUnknown, FileOpsError, NotebookInvalid, SetConflict
from fileops.model.files import CommitReport, Committed, Snapshot, Text, TextFormat
from fileops.model.internal_errors import Cancelled, Stale
from fileops.ports import CommitHooks, Editor


class _EditorWrite(Struct, frozen=True, kw_only=True):
    """A write to a document that is as the write expects it.

    edits: of the text, or of the texts of a notebook's cells. of_cells: instead of these, the cells of a notebook to
    replace. new_text: comparable.
    """

    snapshot: Snapshot
    document: OpenDocument
    state: DocumentState
    edits: tuple[BufferEdit, ...]
    of_cells: NotebookBufferEdit | None = None
    new_data: bytes
    new_text: str

    @property
    def has_effect(self) -> bool:
        return self.new_data != self.snapshot.data and bool(self.edits or self.of_cells)

    @property
    def request(self) -> tuple[str, str]:
        """Return what is the same for writes that are one request to the editor."""
        return self.document.editor, "" if self.of_cells is None else self.snapshot.path


class EditorCommit(Struct, frozen=True, kw_only=True):
    """Commits through editors, see the module.

    `find_editor` returns a connected editor and its encoding of positions.
    """

    documents: DocumentStore
    find_editor: Callable[[str], tuple[Editor, PositionEncoding] | None]
    verify_s: float

    def replace(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        """See FileSystem.replace. The caller holds the file's lock: no check sees our change before it is recorded."""
        writes = self.plan([FilePlan(snapshot=snapshot, splices=tuple(splices))])
        hooks.before()
        (committed,) = self.commit(writes, hooks.on_cancel)
        hooks.after(committed)
        return committed

    def plan(self, wanted: Sequence[FilePlan]) -> "tuple[_EditorWrite, ...]":
        """Return what `commit` takes. The caller holds the files' locks until then. Raises: Stale, ApplyRefused."""
        writes: list[_EditorWrite] = []
        for file in wanted:
            with at_path(file.snapshot.path):
                writes.append(self._plan(file))
        for write in writes:
            share = shares.of_editor(write.document.editor)
            shares.require(share, lambda: ApplyRefused(reason="too many edits wait for the editor already"))
        return tuple(writes)

    def commit(
        self, writes: "Sequence[_EditorWrite]", on_cancel: Callable[[Callable[[], None]], None]
    ) -> tuple[Committed, ...]:
        """Let the editors make all edits, or none: each editor is asked once for all of its documents.

        Raises: ApplyRefused, DocumentUnknown, Cancelled; SetConflict, if some edits could not be reverted.
        """
        by_path = {
            write.snapshot.path: Committed(
                snapshot=write.snapshot, report=CommitReport(method="none", durability="editor")
            )
            for write in writes
        }
        made: list[tuple[_EditorWrite, Committed]] = []
        asked = sorted((write for write in writes if write.has_effect), key=lambda write: write.request)
        for _, batch in groupby(asked, key=lambda write: write.request):
            made += self._make(list(batch), made, on_cancel)
        by_path |= {write.snapshot.path: committed for write, committed in made}
        return tuple(by_path[write.snapshot.path] for write in writes)

    def put_back(self, made: Sequence[tuple[Snapshot, Committed]]) -> tuple[str, ...]:
        """Revert edits that editors have made, given with what was before. Return the paths of those that stay.

        One by one, so that a document in which the user has typed since does not keep others from being reverted.
        """
        left: list[str] = []
        for before, committed in reversed(made):
            after = committed.snapshot
            splices = splices_between(after.data, before.data, texts.detect_format(after.data))
            try:
                self.commit(self.plan([FilePlan(snapshot=after, splices=splices)]), _never_cancelled)
            except (FileOpsError, Stale):
                left.append(before.path)
        return tuple(left)

    # --- before the editor is asked --------------------------------------------------------------------------------

    def _plan(self, wanted: FilePlan) -> _EditorWrite:
        """Raises: Stale, ApplyRefused."""
        snapshot = wanted.snapshot
        document, state = self._require_left(snapshot) if snapshot.is_left else self._require_current(snapshot)
        fmt = state.disk.format
        new_data = splice_lists.apply(snapshot.data, wanted.splices)
        _, encoding = self._editor_of(document)
        if document.cells is not None:
            return _plan_in_cells(wanted, document, document.cells, state, new_data, encoding)
        edits = document_edits(document.text, snapshot.data, fmt, wanted.splices, encoding)
        return _EditorWrite(
            snapshot=snapshot,
            document=document,
            state=state,
            edits=(BufferEdit(uri=document.uri, version=document.version, edits=edits),),
            new_data=new_data,
            new_text=comparable(texts.decode(new_data, fmt)),
        )

    def _require_current(self, snapshot: Snapshot) -> tuple[OpenDocument, DocumentState]:
        """Raises: Stale; ApplyRefused (two windows with different unsaved texts of one file)."""
        path = snapshot.path
        dirty: list[tuple[OpenDocument, DocumentState]] = []
        for open_document in self.documents.at(path, thoroughly=True):
            document, state = self.documents.state_of(open_document.key, path) or (open_document, None)
            if state is not None and state.kind == "dirty":
                dirty.append((document, state))
        if len({state.data for _, state in dirty}) > 1:
            raise ApplyRefused(reason=_open_twice([document.editor for document, _ in dirty]))
        for document, state in dirty:
            if document.version == snapshot.version and state.data == snapshot.data:
                return document, state
        raise Stale(path=path)

    def _require_left(self, snapshot: Snapshot) -> tuple[OpenDocument, DocumentState]:
        """Return the document that still has what a commit left in it, unsaved or not. Raises: Stale."""
        for open_document in self.documents.at(snapshot.path, thoroughly=True):
            document, state = self.documents.state_of(open_document.key, snapshot.path) or (open_document, None)
            if state is not None and document.version == snapshot.version:
                data = content_of(document, state.disk)
                if data == snapshot.data:
                    return document, replace(state, data=data)
        raise Stale(path=snapshot.path)

    def _editor_of(self, document: OpenDocument) -> tuple[Editor, PositionEncoding]:
        """Raises: Stale, if the editor is gone, since its documents then no longer count."""
        connected = self.find_editor(document.editor)
        if connected is None:
            raise Stale(path=document.path)
        return connected

    # --- one request to one editor ---------------------------------------------------------------------------------

    def _make(
        self,
        batch: Sequence[_EditorWrite],
        made_before: Sequence[tuple[_EditorWrite, Committed]],
        on_cancel: Callable[[Callable[[], None]], None],
    ) -> list[tuple[_EditorWrite, Committed]]:
        """Let one editor make these edits. If it does not make all, revert those that were made, in other editors too.

        Raises: as `commit`.
        """
        made, fault = self._ask_editor(batch, on_cancel)
        if fault is None:
            return made
        left = self.put_back([(write.snapshot, committed) for write, committed in (*made_before, *made)])
        if left:
            raise SetConflict(files=left, reason=_STAYED) from fault
        raise fault

    def _ask_editor(
        self, batch: Sequence[_EditorWrite], on_cancel: Callable[[Callable[[], None]], None]
    ) -> tuple[list[tuple[_EditorWrite, Committed]], FileOpsError | Cancelled | None]:
        """Return the edits that were made, and why others were not."""
        # The editor's answer and its reports of the changed texts are several messages. LSP does not order them, and
        # any may be missing. A report counts more than the answer. For each document:
        #
        # - The report shows the edit. It was made, even if the answer is a refusal or the request was cancelled: the
        #   answer may be late, or lost. `begin` precedes the request, so a report before the answer is not missed.
        # - Refused or cancelled, and no such report. It was not made.
        # - DocumentUnknown (withdrawn, perhaps made), and no such report. The document is in doubt until the editor
        #   reports its text.
        # - Accepted, and a report of another text: the user typed at the same moment, or the editor did something else.
        #   `await_change` compares the serial and finds a newer state, so the edit is refused.
        # - Accepted, and no report in time. `await_change` puts the document in doubt. If the editor compares the
        #   version, it has made the edit on the text that we know, so the new text is known too. Otherwise it may have
        #   made it on another one.
        #
        # `is_current` is checked last before the request is sent. What the user types after that is found by the
        # version, if the editor compares it, and otherwise by the report. An editor may make some edits of a request
        # and not the others (`failureHandling` of LSP), so the answer for all says little about each.
        try:
            editor, _ = self._editor_of(batch[0].document)
        except Stale:
            return [], ApplyRefused(reason="the editor is gone")
        answer: ApplyRefused | Cancelled | DocumentUnknown | None = None
        with ExitStack() as held:
            pending = [
                held.enter_context(self.documents.pending.begin(write.document.key, write.new_text)) for write in batch
            ]
            try:
                _ask(editor, batch, is_current=lambda: self._are_at(batch), on_cancel=on_cancel)
                deadline = time.monotonic() + self.verify_s
                for write, edit in zip(batch, pending, strict=True):
                    self.documents.pending.wait_for(write.document.key, edit, max(0.0, deadline - time.monotonic()))
            except (ApplyRefused, Cancelled, DocumentUnknown) as failure:
                answer = failure
        made: list[tuple[_EditorWrite, Committed]] = []
        fault: FileOpsError | Cancelled | None = None
        for write, edit in zip(batch, pending, strict=True):
            try:
                made.append((write, self._outcome(write, edit, answer, checks_version=editor.checks_version)))
            except (ApplyRefused, DocumentUnknown) as failure:
                failure.failed_path = failure.failed_path or write.snapshot.path  # one answer is for all documents
                fault = fault or failure
            except Cancelled as failure:
                fault = fault or failure
        return made, fault

    def _are_at(self, batch: Sequence[_EditorWrite]) -> bool:
        return all(self.documents.is_at(write.document.key, write.document.serial) for write in batch)

    def _outcome(
        self,
        write: _EditorWrite,
        pending: PendingEdit,
        answer: ApplyRefused | Cancelled | DocumentUnknown | None,
        *,
        checks_version: bool,
    ) -> Committed:
        """Return what became of one document. Raises: ApplyRefused, DocumentUnknown, Cancelled."""
        key, serial = write.document.key, write.document.serial
        if pending.shown_by is not None:
            data = content_of(pending.shown_by, write.state.disk)
            return self._to_committed(write, pending.shown_by, data, None)
        if answer is not None:
            if isinstance(answer, DocumentUnknown):
                self.documents.await_change(key, serial, answer.reason)
            raise answer
        reason = f"the editor said that it made an edit, and did not send the new text within {self.verify_s:g} s"
        unconfirmed = self.documents.await_change(key, serial, reason)
        if unconfirmed is None:
            raise ApplyRefused(reason="the editor reported success, but the document shows another text")
        if not checks_version and write.of_cells is None:
            raise DocumentUnknown(reason=reason)
        return self._to_committed(write, unconfirmed, write.new_data, reason)

    def _to_committed(self, write: _EditorWrite, after: OpenDocument, data: bytes, reason: str | None) -> Committed:
        snapshot = snapshot_of(write.snapshot.path, after, replace(write.state, serial=after.serial, data=data))
        report = CommitReport(method="buffer", durability="editor", reason=reason)
        return Committed(snapshot=with_changes(snapshot, is_left=True), report=report)


def _plan_in_cells(
    wanted: FilePlan,
    document: OpenDocument,
    cells: Sequence[OpenCell],
    state: DocumentState,
    new_data: bytes,
    encoding: PositionEncoding,
) -> _EditorWrite:
    """Return the write of a notebook: new texts of cells if it does nothing else. Raises: ApplyRefused."""
    snapshot = wanted.snapshot
    if state.is_without_file:
        raise ApplyRefused(reason="the file on the disk is no notebook any more, so its cells cannot be edited")
    try:
        before, after = parse(snapshot.data), parse(new_data)
    except NotebookInvalid as invalid:
        raise ApplyRefused(reason=f"the edit would leave no notebook: {invalid.reason}") from invalid
    edited = cells_after(before, after, wanted.splices)
    sources = find_changed_sources(before, edited)
    edits = [
        BufferEdit(uri=cell.uri, version=cell.version, edits=_edits_of_cell(cell, source, encoding))
        for index, source in (sources or {}).items()
        for cell in (cells[index],)
    ]
    of_cells = None
    if sources is None and (runs := replacements(before, edited)):
        of_cells = NotebookBufferEdit(
            uri=document.uri,
            path=document.path,
            version=document.version,
            cell_versions={cell.uri: cell.version for cell in cells},
            edits=runs,
        )
    return _EditorWrite(
        snapshot=snapshot,
        document=document,
        state=state,
        edits=tuple(edits),
        of_cells=of_cells,
        new_data=new_data,
        new_text=cells_text((cell.cell_type, cell.source) for cell in edited),
    )


def _edits_of_cell(cell: OpenCell, source: str, encoding: PositionEncoding) -> tuple[DocumentEdit, ...]:
    fmt = TextFormat()
    data = encode_document(cell.text.text, fmt)
    splices = splices_to_text(Text(data=data, format=fmt), source)
    return document_edits(cell.text, data, fmt, splices, encoding)


def _ask(
    editor: Editor,
    batch: Sequence[_EditorWrite],
    *,
    is_current: Callable[[], bool],
    on_cancel: Callable[[Callable[[], None]], None],
) -> None:
    """Raises: as `Editor.apply`."""
    if batch[0].of_cells is not None:
        editor.apply_to_notebook(batch[0].of_cells, is_current=is_current, on_cancel=on_cancel)
    else:
        editor.apply([edit for write in batch for edit in write.edits], is_current=is_current, on_cancel=on_cancel)


_STAYED = "an editor did not take the changes back"


def _never_cancelled(withdraw: Callable[[], None]) -> None:
    """Take nothing: a reversal is not withdrawn, since its request has already failed."""


def _open_twice(editors: Sequence[str]) -> str:
    names = sorted({name for name in editors if name})
    if len(names) < 2:
        return "the file is open twice, with different unsaved changes"
    return f"it has different unsaved changes in {' and '.join(names)}; save or discard them in one"
