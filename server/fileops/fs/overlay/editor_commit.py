"""Commits an edit to a dirty document: the editor makes it, and its next report of the text confirms it."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fileops.concurrency import shares
from fileops.core import splices as splice_lists
from fileops.core import text as texts
from fileops.fs.overlay.documents import DocumentStore
from fileops.fs.overlay.state import DocumentState, OpenDocument, comparable, snapshot_of
from fileops.fs.overlay.text_document import encode_document
from fileops.fs.overlay.text_edits import document_edits
from fileops.model.documents import BufferEdit, PositionEncoding
from fileops.model.edits import Splice
from fileops.model.errors import ApplyRefused, DocumentUnknown
from fileops.model.files import CommitReport, Committed, Snapshot
from fileops.model.internal_errors import Cancelled, Stale
from fileops.ports import CommitHooks, Editor


class EditorCommit(Struct, frozen=True, kw_only=True):
    """See the module. `find_editor` returns a connected editor and the encoding of its positions, by its name."""

    documents: DocumentStore
    find_editor: Callable[[str], tuple[Editor, PositionEncoding] | None]
    verify_s: float

    def replace(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        """See FileSystem.replace. The caller holds the file's lock: no check sees our change before it is recorded."""
        path = snapshot.path
        document, state = self._require_current(snapshot)
        editor, encoding = self._editor_of(document)
        share = shares.of_editor(document.editor)
        shares.require(share, lambda: ApplyRefused(reason="too many edits wait for the editor already"))
        new_data = splice_lists.apply(snapshot.data, splices)
        fmt = state.disk.format
        new_text = comparable(texts.decode(new_data, fmt))
        hooks.before()
        if new_data == snapshot.data:
            committed = Committed(snapshot=snapshot, report=CommitReport(method="none", durability="editor"))
        else:
            edits = document_edits(document.text, snapshot.data, fmt, splices, encoding)
            edit = BufferEdit(uri=document.uri, version=document.version, edits=edits)
            after, reason = self._apply(edit, editor, document, new_text, hooks)
            data = new_data if reason is not None else encode_document(after.text.text, fmt)
            new_state = replace(state, serial=after.serial, data=data)
            report = CommitReport(method="buffer", durability="editor", reason=reason)
            committed = Committed(snapshot=snapshot_of(path, after, new_state), report=report)
        hooks.after(committed)
        return committed

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

    def _editor_of(self, document: OpenDocument) -> tuple[Editor, PositionEncoding]:
        """Raises: Stale, if the editor is gone: its documents do not count any more."""
        connected = self.find_editor(document.editor)
        if connected is None:
            raise Stale(path=document.path)
        return connected

    def _apply(
        self, edit: BufferEdit, editor: Editor, document: OpenDocument, new_text: str, hooks: CommitHooks
    ) -> tuple[OpenDocument, str | None]:
        """Return the state that shows the edit; or the last state, and why the edit is confirmed by the answer only.

        Raises: ApplyRefused, DocumentUnknown, Cancelled.
        """
        # The editor's answer and its report of the changed text are two messages. LSP does not order them, and either
        # may be missing. The report counts more than the answer:
        #
        # - The report shows the edit. It was made, also if the answer is a refusal or the request was cancelled: the
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
        # version, if the editor compares it, and otherwise by the report.
        key, serial = document.key, document.serial
        with self.documents.pending.begin(key, new_text) as pending:
            try:
                editor.apply(edit, is_current=lambda: self.documents.is_at(key, serial), on_cancel=hooks.on_cancel)
                self.documents.pending.wait_for(key, pending, self.verify_s)
            except (ApplyRefused, Cancelled):
                if pending.shown_by is None:  # else it was made nevertheless
                    raise
            except DocumentUnknown as unknown:
                if pending.shown_by is None:
                    self.documents.await_change(key, serial, unknown.reason)
                    raise
        if pending.shown_by is not None:
            return pending.shown_by, None
        reason = f"the editor said that it made an edit, and did not send the new text within {self.verify_s:g} s"
        unconfirmed = self.documents.await_change(key, serial, reason)
        if unconfirmed is None:
            raise ApplyRefused(reason="the editor reported success, but the document shows another text")
        if not editor.checks_version:
            raise DocumentUnknown(reason=reason)
        return unconfirmed, reason


def _open_twice(editors: Sequence[str]) -> str:
    names = sorted({name for name in editors if name})
    if len(names) < 2:
        return "the file is open twice, with different unsaved changes"
    return f"it has different unsaved changes in {' and '.join(names)}; save or discard them in one"
