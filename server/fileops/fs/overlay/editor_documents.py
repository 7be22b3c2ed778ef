"""What one editor says of its open documents, passed on with the editor's name."""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from fileops.model.documents import DocumentChange, DocumentKey, PositionEncoding
from fileops.ports import Editor


class ConnectedEditor(Struct, frozen=True):
    """An editor that opens documents. encoding: of its positions, as negotiated."""

    editor: Editor
    encoding: Callable[[], PositionEncoding]


class Documents(Protocol):
    """The documents of all editors: as ports.DocumentSink, with keys."""

    def opened(self, key: DocumentKey, path: str, version: int, text: str) -> None: ...

    def opened_unknown(self, key: DocumentKey, path: str, reason: str) -> None: ...

    def changed(self, key: DocumentKey, version: int, changes: Sequence[DocumentChange]) -> bool: ...

    def doubted(self, editor: str, uri: str | None, reason: str) -> None: ...

    def saved(self, key: DocumentKey) -> None: ...

    def closed(self, key: DocumentKey) -> None: ...

    def has_unclassified(self, editor: str) -> bool: ...

    def classify_pending(self, editor: str) -> None: ...


class EditorDocuments:
    """See ports.DocumentSink."""

    def __init__(self, documents: Documents, editor: str) -> None:
        self._documents, self._editor = documents, editor

    def opened(self, uri: str, path: str, version: int, text: str) -> None:
        self._documents.opened(DocumentKey(self._editor, uri), path, version, text)

    def opened_unknown(self, uri: str, path: str, reason: str) -> None:
        self._documents.opened_unknown(DocumentKey(self._editor, uri), path, reason)

    def changed(self, uri: str, version: int, changes: Sequence[DocumentChange]) -> bool:
        return self._documents.changed(DocumentKey(self._editor, uri), version, changes)

    def doubted(self, uri: str | None, reason: str) -> None:
        self._documents.doubted(self._editor, uri, reason)

    def saved(self, uri: str) -> None:
        self._documents.saved(DocumentKey(self._editor, uri))

    def closed(self, uri: str) -> None:
        self._documents.closed(DocumentKey(self._editor, uri))

    @property
    def has_unclassified(self) -> bool:
        return self._documents.has_unclassified(self._editor)

    def classify_pending(self) -> None:
        self._documents.classify_pending(self._editor)
