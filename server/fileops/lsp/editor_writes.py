"""A change of a document with unsaved changes, made by the editor that holds it."""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from fileops import shares
from fileops.core import splices as splice_lists
from fileops.core import text as texts
from fileops.errors import ApplyRefused, Stale
from fileops.lsp.documents import PositionEncoding
from fileops.lsp.judging import Judged, OpenDocument, comparable, snapshot_of
from fileops.lsp.open_documents import OpenDocuments
from fileops.lsp.textedits import DocumentEdit, document_edits, encode_document
from fileops.model import CommitReport, Committed, Snapshot, Splice
from fileops.ports import CommitHooks


class BufferEdit(Struct, frozen=True, kw_only=True):
    """What the editor is asked to do, for exactly this version of the document."""

    uri: str
    version: int
    edits: tuple[DocumentEdit, ...]


class Editor(Protocol):
    """The other side of `workspace/applyEdit`."""

    def apply(self, edit: BufferEdit) -> None:
        """Called in a worker thread. Raises: ApplyRefused."""
        ...


class EditorWrites(Struct, frozen=True, kw_only=True):
    documents: OpenDocuments
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
            after = self._apply(BufferEdit(uri=document.uri, version=document.version, edits=edits), expected)
            now = replace(judged, serial=after.serial, data=encode_document(after.text.text, fmt))
            report = CommitReport(method="buffer", durability="editor")
            committed = Committed(snapshot=snapshot_of(path, after, now), report=report)
        hooks.after(committed)
        return committed

    def _require_current(self, snapshot: Snapshot) -> tuple[OpenDocument, Judged]:
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

    def _apply(self, edit: BufferEdit, wanted: str) -> OpenDocument:
        """The document's state in which the edit shows. Raises: ApplyRefused."""
        with self.documents.expecting(edit.uri, wanted) as expected:
            try:
                self.editor.apply(edit)
                # Editors tell of changes when they like: before their answer, or well behind it.
                self.documents.wait_for(edit.uri, expected, self.verify_s)
            except ApplyRefused:
                if expected.seen is None:  # else it was done all the same, and that is the truth
                    raise
        if expected.seen is None:
            raise ApplyRefused(reason="the editor reported success, but the document does not show the change")
        return expected.seen
