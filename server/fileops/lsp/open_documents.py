"""The documents that are open at the client, and which of them counts at a path.

What the client says (`opened`, `changed`, `saved`, `closed`) arrives on the event loop and only replaces immutable
states. What looks at the disk (`truth`, `look`, `at`, `unlooked`) is for worker threads. One lock guards the states.
"""

import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from msgspec.structs import replace

from fileops.core.stamps import is_racy
from fileops.errors import FileOpsError, Stale
from fileops.lsp.documents import DocumentText, Position, PositionEncoding
from fileops.lsp.judging import Judged, Kind, OpenDocument, Truth, comparable, is_text, judge
from fileops.ports import FileSystem
from fileops.wire.uris import path_of


@dataclass(slots=True, kw_only=True)
class Expected:
    """A text that the editor said it would bring about. seen: the state that showed it."""

    text: str
    seen: OpenDocument | None = None


class OpenDocuments:
    """disk: what the documents are compared with. encoding: of positions, as negotiated."""

    def __init__(self, disk: FileSystem, encoding: Callable[[], PositionEncoding]) -> None:
        self._disk, self._encoding = disk, encoding
        self._state = threading.Condition()
        # Guarded by _state:
        self._serial = 0
        self._documents: dict[str, OpenDocument] = {}
        self._judged: dict[str, Judged] = {}
        self._expected: dict[str, Expected] = {}

    # --- what the client says (event loop) ---------------------------------------------------------------------
    # Each gives the path where the truth may be another one now, None where no such document is open.

    def opened(self, uri: str, path: str, version: int, text: str) -> None:
        """Also for a document that is open already: then this is its text now."""
        with self._state:
            document = OpenDocument(
                uri=uri, path=path, version=version, text=DocumentText(text), serial=self._next_serial(),
                changed_ns=time.time_ns(),
            )  # fmt: skip
            self._put(document)

    def changed(self, uri: str, version: int, changes: Sequence[tuple[Position, Position, str] | str]) -> str | None:
        """changes: each a range and its new text, or a whole text."""
        with self._state:
            document = self._named(uri)
            if document is None:
                return None
            text, encoding = document.text, self._encoding()
            for change in changes:
                if isinstance(change, str):
                    text = DocumentText(change)
                else:
                    start, end, new = change
                    text = text.replaced(start, end, new, encoding)
            is_back = document.synced is not None and is_text(text, document.synced)
            touched = None if document.is_touched is None else not is_back
            document = replace(
                document, version=version, text=text, serial=self._next_serial(), changed_ns=time.time_ns(),
                is_touched=touched,
            )  # fmt: skip
            self._put(document)
        return _place_of(document)

    def saved(self, uri: str) -> str | None:
        with self._state:
            document = self._named(uri)
            if document is None:
                return None
            path = _place_of(document)
            document = replace(
                document, serial=self._next_serial(), canonical=None, is_touched=document.is_foreign,
                synced=document.text.text,
            )  # fmt: skip
            self._put(document)
        return path

    def closed(self, uri: str) -> str | None:
        with self._state:
            document = self._named(uri)
            if document is None:
                return None
            del self._documents[document.uri]
            self._judged.pop(document.uri, None)
            self._state.notify_all()
        return _place_of(document)

    def may_be_open(self, canonical_path: str) -> bool:
        """False is certain; to know more, one has to look where each document lies: links are moved."""
        with self._state:
            documents = self._documents.values()
            return any(one.canonical != one.path or one.path == canonical_path for one in documents)

    # --- which document counts (worker threads) ----------------------------------------------------------------

    def truth(self, path: str) -> Truth | None:
        """The document changed last; of those that are dirty if any is."""
        found = [looked for document in self.at(path) if (looked := self.look(document)) is not None]
        if not found:
            return None
        rank: dict[Kind, int] = {"dirty": 2, "disk": 1, "clean": 0}
        document, judged = max(found, key=lambda one: (rank[one[1].kind], one[0].changed_ns, one[0].serial))
        return Truth(document, judged, frozenset(one.serial for one, _ in found))

    def require_same(self, path: str, truth: Truth | None) -> None:
        """Raises: Stale, where the person opened or changed a document since `truth` was looked at."""
        serials = frozenset(document.serial for document in self.at(path))
        if serials != (truth.serials if truth is not None else frozenset()):
            raise Stale(path=path)

    def look(self, document: OpenDocument) -> tuple[OpenDocument, Judged] | None:
        """None where the document is closed meanwhile."""
        while True:
            path = document.canonical
            if path is None:
                return None
            with self._state:
                known = self._judged.get(document.uri)
            if known is not None and known.serial == document.serial and not self._has_moved(path, known):
                return document, known
            judged, settled = judge(document, self._disk.read(path))
            with self._state:
                current = self._documents.get(document.uri)
                if current is None:
                    return None
                # Else it changed, or another look was the first, and has said what the document held when it came.
                if (current.serial, current.is_touched) == (document.serial, document.is_touched):
                    self._documents[document.uri] = settled
                    self._judged[document.uri] = judged
                    return settled, judged
            document = self._resolved(current)

    def at(self, path: str) -> list[OpenDocument]:
        """The documents open at a canonical path."""
        return [document for document in self._all() if document.canonical == path]

    def unlooked(self) -> list[OpenDocument]:
        """Those that were opened and never looked at beside their files."""
        return [document for document in self._all() if document.is_touched is None]

    def _has_moved(self, path: str, known: Judged) -> bool:
        if known.disk_stamp is not None and is_racy(known.disk_stamp, known.taken_ns):
            return True
        return self._disk.stat(path) != known.disk_stamp

    def _all(self) -> list[OpenDocument]:
        with self._state:
            documents = list(self._documents.values())
        return [self._resolved(document) for document in documents]

    def _resolved(self, document: OpenDocument) -> OpenDocument:
        """With its canonical path. A document that came by a link is resolved anew each time: links are moved."""
        if document.canonical == document.path:
            return document
        try:
            canonical = self._disk.resolve(document.path)
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
            self._state.wait_for(lambda: expected.seen is not None or uri not in self._documents, timeout=timeout_s)

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


def _place_of(document: OpenDocument) -> str:
    return document.canonical or document.path
