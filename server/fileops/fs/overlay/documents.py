"""The documents that are open at the client, and which of them counts at a path.

What the client says (`opened`, `changed`, `saved`, `closed`, `doubted`) arrives on the event loop and only replaces
immutable states. What looks at the disk (`truth`, `look`, `at`, `settle`) is for worker threads. One lock guards the
states, and none of them is written back but by DocumentTable.
"""

import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from msgspec.structs import replace

from fileops.core.stamps import is_racy
from fileops.core.uris import path_of
from fileops.fs.overlay.document_table import DocumentTable
from fileops.fs.overlay.state import (
    DiskFacts,
    DocumentState,
    Doubt,
    Kind,
    OpenDocument,
    Truth,
    after_look,
    comparable,
    facts_of,
    is_text,
    judge,
)
from fileops.fs.overlay.text_document import TextDocument
from fileops.model.documents import Position, PositionEncoding
from fileops.model.errors import FileMissing, FileOpsError, NotAbsolute, PathMoved, Stale
from fileops.ports import FileSystem

Change = tuple[Position, Position, str] | str  # a range and its new text, or a whole text
Looked = tuple[OpenDocument, DocumentState | None]  # None where the document's text is not known

_RANK: dict[Kind, int] = {"unknown": 3, "dirty": 2, "disk": 1, "clean": 0}


@dataclass(slots=True, kw_only=True)
class Expected:
    """A text that the editor is asked to bring about. seen: the state that showed it."""

    text: str
    seen: OpenDocument | None = None


class DocumentStore:
    """disk: what the documents are compared with. encoding: of positions, as negotiated."""

    def __init__(self, disk: FileSystem, encoding: Callable[[], PositionEncoding]) -> None:
        self._disk, self._encoding = disk, encoding
        self._state = threading.Condition()
        # Guarded by _state:
        self._serial = 0
        self._table = DocumentTable()
        self._judged: dict[str, DocumentState] = {}
        self._expected: dict[str, Expected] = {}
        self._unsettled: dict[str, None] = {}  # opened or changed, and not looked at since
        self._untold: dict[str, None] = {}  # opened, and nobody was told where

    # --- what the client says (event loop) ---------------------------------------------------------------------
    # Each gives the path where the truth may be another one now, None where no such document is open.

    def opened(self, uri: str, path: str, version: int, text: str) -> None:
        """Also for a document that is open already: then this is its text now."""
        self._open(uri, path, version, text, None)

    def opened_unknown(self, uri: str, path: str, reason: str) -> None:
        """As `opened`, where the text that came could not be taken."""
        self._open(uri, path, 0, "", Doubt(reason=reason))

    def _open(self, uri: str, path: str, version: int, text: str, doubt: Doubt | None) -> None:
        with self._state:
            document = OpenDocument(
                uri=uri, path=path, version=version, text=TextDocument(text), serial=self._next_serial(),
                changed_ns=time.time_ns(), doubt=doubt,
            )  # fmt: skip
            self._put(document)
            self._table.locate(uri, path, None)
            self._untold[uri] = None

    def changed(self, uri: str, version: int, changes: Sequence[Change]) -> str | None:
        """A change that cannot be made to the text that we have leaves the document in doubt."""
        with self._state:
            document = self._named(uri)
            if document is None:
                return None
            text, doubt = _after_changes(document, version, changes, self._encoding())
            is_back = document.synced is not None and is_text(text, document.synced)
            touched = None if document.is_user_modified is None else not is_back
            document = replace(
                document, version=version, text=text, serial=self._next_serial(), changed_ns=time.time_ns(),
                is_user_modified=touched, doubt=doubt,
            )  # fmt: skip
            self._put(document)
            return self._place_of(document)

    def doubted(self, uri: str | None, reason: str) -> list[str]:
        """What the client said of this document, or None: of one of all, could not be taken. Gives the paths."""
        with self._state:
            uris = self._table.uris() if uri is None else [uri]
            documents = [document for one in uris if (document := self._named(one)) is not None]
            for document in documents:
                self._put(replace(document, serial=self._next_serial(), doubt=Doubt(reason=reason)))
            return [self._place_of(document) for document in documents]

    def saved(self, uri: str) -> str | None:
        with self._state:
            document = self._named(uri)
            if document is None:
                return None
            path = self._place_of(document)
            document = replace(
                document, serial=self._next_serial(), is_user_modified=document.is_foreign, synced=document.text.text
            )
            self._put(document)
            self._table.locate(document.uri, document.path, None)
        return path

    def closed(self, uri: str) -> str | None:
        with self._state:
            document = self._named(uri)
            if document is None:
                return None
            path = self._place_of(document)
            self._table.remove(document.uri)
            for of_uris in (self._judged, self._unsettled, self._untold):
                of_uris.pop(document.uri, None)
            self._state.notify_all()
        return path

    def may_be_open(self, canonical_path: str) -> bool:
        """False is certain where the person has no unsaved text; to know more, one has to see where documents lie."""
        with self._state:
            return self._table.may_be_at(canonical_path)

    def has_unsettled(self) -> bool:
        with self._state:
            return bool(self._unsettled)

    # --- which document counts (worker threads) ----------------------------------------------------------------

    def truth(self, path: str) -> Truth | None:
        """The document changed last; of those that are dirty if any is. One in doubt goes before all."""
        found = [looked for document in self.at(path) if (looked := self.look(document.uri, path)) is not None]
        if not found:
            return None
        truths = [Truth(document, judged, frozenset(one.serial for one, _ in found)) for document, judged in found]
        return max(truths, key=lambda one: (_RANK[one.kind], one.document.changed_ns, one.document.serial))

    def require_same(self, path: str, truth: Truth | None) -> None:
        """Raises: Stale, where the person opened or changed a document since `truth` was looked at."""
        serials = frozenset(document.serial for document in self.at(path, thoroughly=True))
        if serials != (truth.serials if truth is not None else frozenset()):
            raise Stale(path=path)

    def look(self, uri: str, path: str) -> Looked | None:
        """At a document and the file at its canonical path. None where it is closed meanwhile."""
        while True:
            with self._state:
                document, known = self._table.get(uri), self._judged.get(uri)
            if document is None:
                return None
            if document.doubt is not None:
                return document, None
            if known is not None and known.disk.path == path and not self._has_moved(known.disk):
                if known.serial == document.serial:
                    return document, known
                disk = known.disk
            else:
                disk = facts_of(self._disk.read(path))
            is_same = disk.shows(document.text.text)
            with self._state:
                settled = self._table.update(
                    uri, document.serial, lambda now, disk=disk, is_same=is_same: after_look(now, disk, is_same=is_same)
                )
            if settled is None:
                continue  # it changed
            judged = judge(settled, disk, is_same=is_same)
            with self._state:
                if self._table.get(uri) is settled:
                    self._judged[uri] = judged
            return settled, judged

    def at(self, path: str, *, thoroughly: bool = False) -> list[OpenDocument]:
        """The documents open at a canonical path: see DocumentTable.to_resolve."""
        with self._state:
            unsure = self._table.to_resolve(path, thoroughly=thoroughly)
        files = {document.uri: self._resolve(document) for document in unsure}
        with self._state:
            certain = [document for document in self._table.at(path) if document.uri not in files]
            here = (self._table.get(uri) for uri, file in files.items() if file == path)
            return [*certain, *(document for document in here if document is not None)]

    def settle(self) -> list[str]:
        """Look at what was opened or changed, beside its file; the paths of what was opened."""
        with self._state:
            due, self._unsettled = self._unsettled, {}
            untold, self._untold = self._untold, {}
        paths: list[str] = []
        for uri in due:
            with self._state:
                document = self._table.get(uri)
            if document is None:
                continue
            path = self._resolve(document) or document.path
            with suppress(FileOpsError, PathMoved):  # who asks for the file is told then
                self.look(uri, path)
            if uri in untold:
                paths.append(path)
        return paths

    def _has_moved(self, known: DiskFacts) -> bool:
        if known.stamp is not None and is_racy(known.stamp, known.taken_ns):
            return True
        return self._disk.stat(known.path) != known.stamp

    def _resolve(self, document: OpenDocument) -> str | None:
        """Where the document lies now; None for a name that no file can have.

        Where that cannot be found out it lies where it lay, or by its letters: rather refuse than overlook it.
        """
        uri, given_path = document.uri, document.path
        try:
            file = self._disk.resolve(given_path)
        except (FileMissing, NotAbsolute):
            return None
        except FileOpsError:
            with self._state:
                return self._table.file_of(uri) or given_path
        with self._state:
            self._table.locate(uri, given_path, file)
        return file

    # --- waiting for what the editor was asked to do (worker threads) -------------------------------------------

    @contextmanager
    def expecting(self, uri: str, text: str) -> Generator[Expected]:
        """text: comparable. A state of the document that shows it meanwhile is noted."""
        expected = Expected(text=text)
        with self._state:
            self._expected[uri] = expected
        try:
            yield expected
        finally:
            with self._state:
                self._expected.pop(uri, None)

    def wait_for(self, uri: str, expected: Expected, timeout_s: float) -> None:
        """Until the text shows or the document is closed."""
        with self._state:
            self._state.wait_for(lambda: expected.seen is not None or uri not in self._table, timeout=timeout_s)

    def is_at(self, uri: str, serial: int) -> bool:
        """Whether the client has told of nothing since this state."""
        with self._state:
            document = self._table.get(uri)
            return document is not None and document.serial == serial

    def await_change(self, uri: str, serial: int, reason: str) -> OpenDocument | None:
        """The editor may show another text by now: nothing is known until it tells of it. None: it has, meanwhile."""
        with self._state:
            serial_then = self._next_serial()
            return self._table.update(
                uri,
                serial,
                lambda now: replace(
                    now, serial=serial_then, changed_ns=time.time_ns(), doubt=Doubt(reason=reason, is_lost=False)
                ),
            )

    # --- under the lock ----------------------------------------------------------------------------------------

    def _named(self, uri: str) -> OpenDocument | None:
        """Clients should, but do not always, write a URI as they wrote it at first."""
        document = self._table.get(uri)
        if document is None and (path := path_of(uri)) is not None:
            document = self._table.at_given(path)
        return document

    def _place_of(self, document: OpenDocument) -> str:
        return self._table.file_of(document.uri) or document.path

    def _next_serial(self) -> int:
        self._serial += 1
        return self._serial

    def _put(self, document: OpenDocument) -> None:
        self._table.put(document)
        self._unsettled[document.uri] = None
        expected = self._expected.get(document.uri)
        if (
            expected is not None
            and expected.seen is None
            and document.doubt is None
            and comparable(document.text.text) == expected.text
        ):
            expected.seen = document
        self._state.notify_all()


def _after_changes(
    document: OpenDocument, version: int, changes: Sequence[Change], encoding: PositionEncoding
) -> tuple[TextDocument, Doubt | None]:
    """The text and whether it can be relied upon. A whole text ends every doubt; LSP lets versions skip numbers."""
    text = document.text
    doubt = document.doubt if document.doubt is not None and document.doubt.is_lost else None
    for change in changes:
        if isinstance(change, str):
            text, doubt = TextDocument(change), None
        elif doubt is None:
            start, end, new = change
            if version <= document.version:
                doubt = Doubt(reason="the editor told of a change with a version that it had passed")
            elif not text.has_range(start, end):
                doubt = Doubt(reason="the editor told of a change at a place that the text does not have")
            else:
                text = text.replaced(start, end, new, encoding)
    return text, doubt
