"""A change of a document with unsaved changes, made by the editor that holds it."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fileops.concurrency import shares
from fileops.core import splices as splice_lists
from fileops.core import text as texts
from fileops.fs.overlay.documents import DocumentStore
from fileops.fs.overlay.state import DocumentState, OpenDocument, comparable, snapshot_of
from fileops.fs.overlay.text_edits import document_edits, encode_document
from fileops.model.documents import BufferEdit, PositionEncoding
from fileops.model.edits import Splice
from fileops.model.errors import ApplyRefused, Cancelled, DocumentUnknown, Stale
from fileops.model.files import CommitReport, Committed, Snapshot
from fileops.ports import CommitHooks, Editor


class EditorWrites(Struct, frozen=True, kw_only=True):
    documents: DocumentStore
    editor: Editor
    encoding: Callable[[], PositionEncoding]
    verify_s: float

    def replace(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        """The file's lock is held: whoever judges the change that we cause waits until it is noted as ours."""
        path = snapshot.path
        shares.require(shares.EDITOR, lambda: ApplyRefused(reason="too many edits wait for the editor already"))
        document, judged = self._require_current(snapshot)
        wanted = splice_lists.apply(snapshot.data, splices)
        fmt = judged.disk.format
        expected = comparable(texts.decode(wanted, fmt))
        hooks.before()
        if wanted == snapshot.data:
            committed = Committed(snapshot=snapshot, report=CommitReport(method="none", durability="editor"))
        else:
            edits = document_edits(document.text, snapshot.data, fmt, splices, self.encoding())
            edit = BufferEdit(uri=document.uri, version=document.version, edits=edits)
            after, reason = self._apply(edit, document, expected, hooks)
            data = wanted if reason is not None else encode_document(after.text.text, fmt)
            now = replace(judged, serial=after.serial, data=data)
            report = CommitReport(method="buffer", durability="editor", reason=reason)
            committed = Committed(snapshot=snapshot_of(path, after, now), report=report)
        hooks.after(committed)
        return committed

    def _require_current(self, snapshot: Snapshot) -> tuple[OpenDocument, DocumentState]:
        """Raises: Stale; ApplyRefused (two windows with different unsaved texts of one file)."""
        path = snapshot.path
        looked = [self.documents.look(document.uri, path) for document in self.documents.at(path, thoroughly=True)]
        judged_ones = [(found[0], found[1]) for found in looked if found is not None and found[1] is not None]
        dirty = [(document, judged) for document, judged in judged_ones if judged.kind == "dirty"]
        if len({judged.data for _, judged in dirty}) > 1:
            raise ApplyRefused(reason="the file is open twice, with different unsaved changes")
        for document, judged in dirty:
            if document.version == snapshot.version and judged.data == snapshot.data:
                return document, judged
        raise Stale(path=path)

    def _apply(
        self, edit: BufferEdit, document: OpenDocument, wanted: str, hooks: CommitHooks
    ) -> tuple[OpenDocument, str | None]:
        """The document's state in which the edit shows; or the last one, and why there is only the editor's word.

        Raises: ApplyRefused, DocumentUnknown, Cancelled.
        """
        uri, serial = edit.uri, document.serial
        with self.documents.expecting(uri, wanted) as expected:
            try:
                self.editor.apply(edit, is_current=lambda: self.documents.is_at(uri, serial), on_cancel=hooks.on_cancel)
                # Editors tell of changes when they like: before their answer, or well behind it.
                self.documents.wait_for(uri, expected, self.verify_s)
            except (ApplyRefused, Cancelled):
                if expected.seen is None:  # else it was done all the same, and that is the truth
                    raise
            except DocumentUnknown as unknown:
                if expected.seen is None:
                    self.documents.await_change(uri, serial, unknown.reason)
                    raise
        if expected.seen is not None:
            return expected.seen, None
        untold = f"the editor said that it made an edit, and has not told of the new text within {self.verify_s:g} s"
        unsure = self.documents.await_change(uri, serial, untold)
        if unsure is None:
            raise ApplyRefused(reason="the editor reported success, but the document shows another text")
        if not self.editor.checks_version:
            raise DocumentUnknown(reason=untold)
        return unsure, untold
