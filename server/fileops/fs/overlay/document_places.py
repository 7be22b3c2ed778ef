"""Where the files of open documents are: canonical paths, resolved again whenever a link may have changed.

For worker threads.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from fileops.fs.overlay.bounded_resolution import BoundedResolution, Outcome
from fileops.fs.overlay.state import OpenDocument
from fileops.model.documents import DocumentKey
from fileops.model.errors import FileMissing, FileOpsError, NotAbsolute


class Table(Protocol):
    """What is needed of DocumentTable."""

    def locate(self, key: DocumentKey, given_path: str, canonical_path: str | None) -> None: ...

    def place_of(self, document: OpenDocument) -> str: ...


class DocumentPlaces:
    def __init__(self, resolve: Callable[[str], str], table: Table, lock: AbstractContextManager[object]) -> None:
        """Args: resolve: of the disk. lock: guards the table."""
        self._resolve, self._table, self._lock = resolve, table, lock
        self._resolution = BoundedResolution(resolve)

    def resolve_all(self, documents: Sequence[OpenDocument]) -> dict[DocumentKey, str | None]:
        """See `resolve`. The mount of a document of one of several editors may hang, and delays no request of others.

        If it does not answer soon, the last canonical path counts, or the path as given.
        """
        of_many = [document.path for document in documents if document.editor]
        outcomes: Mapping[str, Outcome] = self._resolution.outcomes(of_many) if of_many else {}
        files: dict[DocumentKey, str | None] = {}
        for document in documents:
            if not document.editor:
                files[document.key] = self.resolve(document)
            elif (outcome := outcomes.get(document.path)) is None:
                files[document.key] = self._last_place_of(document)
            else:
                files[document.key] = self._located(document, outcome)
        return files

    def resolve(self, document: OpenDocument) -> str | None:
        """Return the document's canonical path; None for a name that no file can have.

        If it cannot be resolved, the last canonical path counts, or the path as given: rather refuse an edit than
        overlook a document.
        """
        try:
            file = self._resolve(document.path)
        except FileOpsError as failure:
            return self._located(document, failure)
        return self._located(document, file)

    def _located(self, document: OpenDocument, outcome: Outcome) -> str | None:
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
