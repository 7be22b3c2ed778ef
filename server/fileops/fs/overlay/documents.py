"""Store of the documents that are open in all editors. Decides which of them counts at a path.

What an editor reports (`opened`, `changed`, `saved`, `closed`, `mark_unknown`) arrives on the event loop and only
replaces immutable states. What reads the disk (`effective`, `state_of`, `at`, `classify_pending`) is for worker
threads. One lock guards the states; only DocumentTable replaces one. It is never held while the disk is read.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from fileops.core import splices as splicing
from fileops.core.stamps import is_racy
from fileops.core.uris import path_of
from fileops.fs.overlay.bounded_resolution import BoundedResolution, Outcome
from fileops.fs.overlay.document_table import DocumentTable
from fileops.fs.overlay.open_cells import OpenCell, text_of
from fileops.fs.overlay.open_cells import after_changes as cells_after_changes
from fileops.fs.overlay.pending_edits import PendingEdits
from fileops.fs.overlay.state import (
    DiskFacts,
    DocumentState,
    Doubt,
    EffectiveDocument,
    OpenDocument,
    after_changes,
    after_comparison,
    after_notebook_changes,
    classify,
    effective_of,
    facts_of,
    is_text,
    text_digest,
    with_file_text,
)
from fileops.fs.overlay.text_document import TextDocument, encode_document
from fileops.fs.overlay.typed_text import TypedText, byte_splices
from fileops.model.documents import (
    CellsReplaced,
    DocumentChange,
    DocumentKey,
    NotebookChange,
    PositionEncoding,
    ReportedCell,
)
from fileops.model.edits import Splice
from fileops.model.errors import FileMissing, FileOpsError, NotAbsolute
from fileops.model.files import Snapshot
from fileops.model.internal_errors import PathMoved, Stale
from fileops.platform.steady_clock import steady_ns
from fileops.ports import FileSystem

OnTyped = Callable[[str, bytes, tuple[Splice, ...], bytes], None]  # path, content before, splices, content after
MAX_TYPED_CHARS = 1 << 20  # of a text whose changes are noted; edits of larger files are not rebased
Classified = tuple[OpenDocument, DocumentState | None]  # None if the document's text is not known


class DocumentStore:
    """The open documents of all editors, with their files in `disk`.

    `encoding` returns the encoding of positions that the editor of this name has negotiated. `on_typed` is called, in
    a worker thread, with what was typed in a document since its text was last looked at: the canonical path, the
    content before, the splices and the content after.
    """

    def __init__(
        self,
        disk: FileSystem,
        encoding: Callable[[str], PositionEncoding],
        on_typed: OnTyped,
    ) -> None:
        self._disk = disk
        self._encoding = encoding
        self._on_typed = on_typed
        self._resolution = BoundedResolution(disk.resolve)
        self._lock = threading.RLock()
        self._noting = threading.Lock()  # held while it is noted what was typed; taken before _lock
        self._changed = threading.Condition(self._lock)
        # Guarded by _lock:
        self._serial = 0
        self._table = DocumentTable()
        self._classified: dict[DocumentKey, DocumentState] = {}
        self._unclassified: dict[DocumentKey, None] = {}  # opened or changed since they were classified
        self._unlocated: dict[DocumentKey, None] = {}  # of these, the opened ones
        self._typed: dict[DocumentKey, TypedText] = {}
        self.pending = PendingEdits(self._changed, self._table.__contains__)

    # --- what the editors say (event loop) ---------------------------------------------------------------------
    # Each returns the path at which another text may be effective now; None if no such document is open.

    def did_open(self, key: DocumentKey, path: str, version: int, text: str) -> None:
        """Add a document; if it is already open, this is its new text."""
        self._open(key, path, version, TextDocument(text), None)

    def did_open_notebook(self, key: DocumentKey, path: str, version: int, reported: Sequence[ReportedCell]) -> None:
        """Add a notebook; if it is already open, these are its new cells."""
        replaced = CellsReplaced(start=0, delete_count=0, cells=tuple(reported))
        cells = cells_after_changes((), [replaced], self._encoding(key.editor))
        self._open(key, path, version, text_of(cells), None, cells)

    def did_open_unknown(self, key: DocumentKey, path: str, reason: str) -> None:
        """Add a document whose text could not be decoded."""
        self._open(key, path, 0, TextDocument(""), Doubt(reason=reason))

    def _open(
        self,
        key: DocumentKey,
        path: str,
        version: int,
        text: TextDocument,
        doubt: Doubt | None,
        cells: tuple[OpenCell, ...] | None = None,
    ) -> None:
        with self._lock:
            document = OpenDocument(
                key=key,
                path=path,
                version=version,
                text=text,
                serial=self._next_serial(),
                changed_ns=steady_ns(),
                doubt=doubt,
                cells=cells,
            )
            self._put(document)
            self._table.locate(key, path, None)
            self._unlocated[key] = None
            self._typed[key] = TypedText(document.text)

    def did_change(self, key: DocumentKey, version: int, changes: Sequence[DocumentChange]) -> str | None:
        """Apply changes. One that does not fit the text that we have puts the document in doubt."""
        with self._lock:
            document = self._find(key)
            if document is None:
                return None
            changed = after_changes(document, version, changes, self._encoding(key.editor))
            self._typed[document.key].add(changed.typed)
            return self._change(replace(document, version=version, text=changed.text, doubt=changed.doubt))

    def did_change_notebook(self, key: DocumentKey, version: int, changes: Sequence[NotebookChange]) -> str | None:
        """Apply changes of cells. One that does not fit the cells that we have puts the notebook in doubt."""
        with self._lock:
            document = self._find(key)
            if document is None:
                return None
            cells, doubt = after_notebook_changes(document, version, changes, self._encoding(key.editor))
            text = document.text if doubt is not None else text_of(cells)
            self._typed[document.key].add(None)  # the text stands for the cells, and is not the file's
            return self._change(replace(document, version=version, text=text, doubt=doubt, cells=cells))

    def _change(self, document: OpenDocument) -> str:
        """Put a document that the editor has changed. The lock is held."""
        is_back = document.synced is not None and is_text(document.text, document.synced)
        is_user_modified = None if document.is_user_modified is None else not is_back
        document = replace(
            document,
            serial=self._next_serial(),
            changed_ns=steady_ns(),
            is_user_modified=is_user_modified,
            reported="change",
        )
        self._put(document)
        return self._table.place_of(document)

    def mark_unknown(self, editor: str, uri: str | None, reason: str) -> list[str]:
        """Put a document of this editor in doubt, or all if `uri` is None. Return their paths."""
        with self._lock:
            keys = self._table.keys(editor) if uri is None else [DocumentKey(editor, uri)]
            documents = [document for key in keys if (document := self._find(key)) is not None]
            for document in documents:
                self._put(replace(document, serial=self._next_serial(), doubt=Doubt(reason=reason)))
            return [self._table.place_of(document) for document in documents]

    def did_save(self, key: DocumentKey) -> str | None:
        with self._lock:
            document = self._find(key)
            if document is None:
                return None
            path = self._table.place_of(document)
            document = replace(
                document,
                serial=self._next_serial(),
                is_user_modified=document.is_foreign,
                reported="save",
                synced=document.text.text,
                synced_cells=() if document.cells is None else tuple(cell.uri for cell in document.cells),
            )
            self._put(document)
            self._table.locate(document.key, document.path, None)
        return path

    def find(self, key: DocumentKey) -> OpenDocument | None:
        """Return the open document that an editor means by this key."""
        with self._lock:
            return self._find(key)

    def did_close(self, key: DocumentKey) -> str | None:
        with self._lock:
            document = self._find(key)
            if document is None:
                return None
            path = self._table.place_of(document)
            self._table.remove(document.key)
            for by_key in (self._classified, self._unclassified, self._unlocated, self._typed):
                by_key.pop(document.key, None)
            self._changed.notify_all()
        return path

    def close_all_of(self, editor: str) -> dict[str, bool]:
        """Close all documents of an editor that is gone.

        Return their paths, and which may have had text that was not saved, or saved without a report.
        """
        with self._lock:
            keys = self._table.keys(editor)
        dropped: dict[str, bool] = {}
        for key in keys:
            document = self.find(key)
            path = self.did_close(key)
            if document is not None and path is not None:
                is_unsaved = document.reported == "change" or document.is_user_modified is not False
                dropped[path] = dropped.get(path, False) or is_unsaved
        return dropped

    def may_be_open(self, canonical_path: str) -> bool:
        """Return False if no document with unsaved text is open on the file. Reads no disk, so True is only a guess."""
        with self._lock:
            return self._table.may_be_at(canonical_path)

    def last_at(self, path: str) -> "list[OpenDocument]":
        """Return the documents that are open at this path, as last resolved or as given. Reads no disk."""
        with self._lock:
            return self._table.last_at(path)

    def is_open_in(self, editor: str, path: str) -> bool:
        """Return whether the editor has a document open at this path, as last resolved or as given. Reads no disk."""
        with self._lock:
            known = self._table.at(path)
            return (
                any(document.editor == editor for document in known) or self._table.at_given(editor, path) is not None
            )

    def has_unclassified(self, editor: str) -> bool:
        with self._lock:
            return any(key.editor == editor for key in self._unclassified)

    # --- which document counts (worker threads) ----------------------------------------------------------------

    def effective(self, path: str) -> EffectiveDocument | None:
        """Choose the document that counts: one in doubt, or a dirty one, or any; the last changed of several."""
        documents = self.at(path)
        if not documents:
            return None
        classified = [pair for document in documents if (pair := self.state_of(document.key, path)) is not None]
        return effective_of(classified)

    def require_same(self, path: str, effective: EffectiveDocument | None) -> None:
        """Raises: Stale, if a document was opened, changed or closed since `effective` was computed."""
        serials = frozenset(document.serial for document in self.at(path, thoroughly=True))
        expected = frozenset[int]() if effective is None else effective.serials
        if serials != expected:
            raise Stale(path=path)

    def wrote(self, disk: Snapshot) -> None:
        """Record that the daemon wrote the file: documents that show this text later were reloaded. Must not raise."""
        with self._lock:
            kinds = {document.cells is not None for document in self._table.at(disk.path)}
        # Reads the whole text, so not under the lock.
        digests = {is_notebook: facts_of(disk, as_notebook=is_notebook).digest for is_notebook in kinds}
        with self._lock:
            for document in self._table.at(disk.path):
                digest = digests.get(document.cells is not None)
                self._table.update(
                    document.key, document.serial, lambda now, digest=digest: with_file_text(now, digest)
                )

    def state_of(self, key: DocumentKey, path: str) -> Classified | None:
        """Classify a document against the file at its canonical path. None if it was closed in the meantime."""
        # The disk is read and the text is digested without the lock, while the editor may report changes. So the result
        # is stored by two compare-and-swaps:
        #
        # - `update` compares the serial. If the editor has reported something since, the comparison is dropped, and the
        #   loop begins again with the new text. A comparison by another thread keeps the serial; both are applied.
        # - The cache compares the state itself. If another thread has compared again, its result is cached, not this
        #   one. If the document was closed, nothing is: no other event would remove that entry.
        #
        # A cached result is used only with its serial, and as long as the file is the one that it was compared with. So
        # it may be missing or old, and never makes another document count.
        while True:
            with self._lock:
                document, cached = self._table.get(key), self._classified.get(key)
            if document is None:
                return None
            if document.doubt is not None:
                return document, None
            is_notebook = document.cells is not None
            is_comparable = cached is not None and (cached.disk.notebook is not None or not is_notebook)
            if cached is not None and is_comparable and cached.disk.path == path and not self._has_changed(cached.disk):
                if cached.serial == document.serial:
                    return document, cached
                disk = cached.disk
            else:
                disk = facts_of(self._disk.read(path), as_notebook=is_notebook)
            digest = text_digest(document.text.text)
            with self._lock:
                compared = self._table.update(
                    key,
                    document.serial,
                    lambda now, disk=disk, digest=digest: after_comparison(now, disk, digest),
                )
            if compared is None:
                continue  # the document changed
            state = classify(compared, disk, digest)
            self._note_typed(compared, state)
            with self._lock:
                if self._table.get(key) is compared:
                    self._classified[key] = state
            return compared, state

    def _note_typed(self, document: OpenDocument, state: DocumentState) -> None:
        """Report what was typed up to this state, and begin anew with its text.

        A document that now has the text of its file, and has not reported a save, may have been reloaded, which is no
        typing, or its report of the save is on the way. The next report shows which.
        """
        with self._noting:  # so that no request goes on before this is known
            with self._lock:
                typed = self._typed.get(document.key)
                if typed is None or self._table.get(document.key) is not document or typed.since is document.text:
                    return
                if document.reported != "save" and (state.kind != "dirty" or typed.doubtful is document.text):
                    typed.doubtful = document.text
                    return
                self._typed[document.key] = TypedText(document.text)
            if typed.changes is None or document.text.n_chars > MAX_TYPED_CHARS:
                return
            fmt, path = state.disk.format, state.disk.path
            before, after = (encode_document(text.text, fmt) for text in (typed.since, document.text))
            found = byte_splices(typed.since, typed.changes, fmt)
            if found and splicing.apply(before, found) == after:
                self._on_typed(path, before, found, after)

    def at(self, path: str, *, thoroughly: bool = False) -> list[OpenDocument]:
        """Return the documents that are open at a canonical path: see DocumentTable.to_resolve."""
        with self._lock:
            if not self._table:
                return []
            unsure = self._table.to_resolve(path, thoroughly=thoroughly)
            if not unsure:
                return self._table.at(path)
        files = self._resolve_all(unsure)
        with self._lock:
            certain = [document for document in self._table.at(path) if document.key not in files]
            resolved = (self._table.get(key) for key, file in files.items() if file == path)
            return [*certain, *(document for document in resolved if document is not None)]

    def classify_pending(self, editor: str) -> list[str]:
        """Classify what was opened or changed in one editor. Return the paths of what was opened."""
        with self._lock:
            due = [key for key in self._unclassified if key.editor == editor]
            opened = {key for key in due if key in self._unlocated}
            for key in due:
                del self._unclassified[key]
                self._unlocated.pop(key, None)
        paths: list[str] = []
        for key in due:
            with self._lock:
                document = self._table.get(key)
            if document is None:
                continue
            path = self._resolve(document) or document.path
            with suppress(FileOpsError, PathMoved):  # a request for the file reports it
                self.state_of(key, path)
            if key in opened:
                paths.append(path)
        return paths

    def _has_changed(self, disk: DiskFacts) -> bool:
        """Return whether the file is, or may be, different from these facts."""
        if disk.stamp is not None and is_racy(disk.stamp, disk.taken_ns):
            return True
        return self._disk.stat(disk.path) != disk.stamp

    # --- where the files of the documents are (worker threads) ---------------------------------------------------
    # A document is resolved again whenever a link may have changed since its path was resolved last.

    def _resolve_all(self, documents: Sequence[OpenDocument]) -> dict[DocumentKey, str | None]:
        """Resolve as `_resolve`.

        The mount of one of several editors' documents may hang, and must not delay others' requests.

        If it does not answer soon, the last canonical path counts, or the path as given.
        """
        of_many = [document.path for document in documents if document.editor]
        outcomes: Mapping[str, Outcome] = self._resolution.outcomes(of_many) if of_many else {}
        files: dict[DocumentKey, str | None] = {}
        for document in documents:
            if not document.editor:
                files[document.key] = self._resolve(document)
            elif (outcome := outcomes.get(document.path)) is None:
                files[document.key] = self._last_place_of(document)
            else:
                files[document.key] = self._locate(document, outcome)
        return files

    def _resolve(self, document: OpenDocument) -> str | None:
        """Return the document's canonical path; None for a name that no file can have.

        If it cannot be resolved, the last canonical path counts, or the path as given: it is better to refuse an edit
        than to overlook a document.
        """
        try:
            file = self._disk.resolve(document.path)
        except FileOpsError as failure:
            return self._locate(document, failure)
        return self._locate(document, file)

    def _locate(self, document: OpenDocument, outcome: Outcome) -> str | None:
        match outcome:
            case str():
                with self._lock:
                    self._table.locate(document.key, document.path, outcome)
                return outcome
            case FileMissing() | NotAbsolute():
                return None
            case FileOpsError():
                return self._last_place_of(document)
            case _:
                raise outcome

    def _last_place_of(self, document: OpenDocument) -> str:
        with self._lock:
            return self._table.place_of(document)

    # --- what the editor was asked to do (worker threads): see `pending` also ------------------------------------

    def is_at(self, key: DocumentKey, serial: int) -> bool:
        """Return whether the client has reported no change since this state."""
        with self._lock:
            document = self._table.get(key)
            return document is not None and document.serial == serial

    def await_change(self, key: DocumentKey, serial: int, reason: str) -> OpenDocument | None:
        """Put the document in doubt until the editor reports its text.

        Return None if it has done so since this state.
        """
        with self._lock:
            new_serial = self._next_serial()
            return self._table.update(
                key,
                serial,
                lambda now: replace(
                    now, serial=new_serial, changed_ns=steady_ns(), doubt=Doubt(reason=reason, is_lost=False)
                ),
            )

    # --- under the lock ----------------------------------------------------------------------------------------

    def _find(self, key: DocumentKey) -> OpenDocument | None:
        """Find a document by URI, or by path: not every editor always writes a URI in the same way."""
        document = self._table.get(key)
        if document is None and (path := path_of(key.uri)) is not None:
            document = self._table.at_given(key.editor, path)
            if document is not None and document.cells is not None:
                return None  # the editor means a text
        return document

    def _next_serial(self) -> int:
        self._serial += 1
        return self._serial

    def _put(self, document: OpenDocument) -> None:
        self._table.put(document)
        self._unclassified[document.key] = None
        if self.pending.note(document):
            self._typed[document.key] = TypedText(document.text)  # what is typed later is no part of our edit
        self._changed.notify_all()
