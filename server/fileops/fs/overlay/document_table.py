"""Index of the states of open documents: by key, by the path with which they were opened, and by canonical path.

Only this table replaces states. `update` is a compare-and-swap on the serial, so a result that was computed from an
older state is dropped. The canonical path is not part of the state, because the disk decides it, not the client. Not
thread-safe: the owner's lock guards the table.
"""

from collections.abc import Callable
from typing import TypeVar

from fileops.fs.overlay.state import OpenDocument
from fileops.model.documents import DocumentKey

T = TypeVar("T")
Keys = dict[DocumentKey, None]  # a set in the order of insertion


class DocumentTable:
    def __init__(self) -> None:
        self._states: dict[DocumentKey, OpenDocument] = {}
        self._by_given: dict[tuple[str, str], Keys] = {}  # by editor and given path
        self._files: dict[DocumentKey, str] = {}  # -> canonical path, once resolved
        self._by_file: dict[str, Keys] = {}
        self._unsaved: Keys = {}  # may have a text that is not on disk
        self._unresolved: Keys = {}  # of these, those opened through a link or never resolved

    def __len__(self) -> int:
        return len(self._states)

    def __contains__(self, key: DocumentKey) -> bool:
        return key in self._states

    def keys(self, editor: str) -> list[DocumentKey]:
        """Return the documents of one editor."""
        return [key for key in self._states if key.editor == editor]

    def get(self, key: DocumentKey) -> OpenDocument | None:
        return self._states.get(key)

    def at_given(self, editor: str, path: str) -> OpenDocument | None:
        """Return a document that this editor opened with this path."""
        keys = self._by_given.get((editor, path))
        return self._states[next(iter(keys))] if keys else None

    def put(self, document: OpenDocument) -> None:
        """Add a document that was opened, or its state after a message from the client."""
        previous = self._states.get(document.key)
        if previous is not None and previous.path != document.path:
            self.remove(document.key)
        self._states[document.key] = document
        self._by_given.setdefault((document.editor, document.path), {})[document.key] = None
        self._reindex(document)

    def update(
        self, key: DocumentKey, serial: int, change: Callable[[OpenDocument], OpenDocument]
    ) -> OpenDocument | None:
        """Replace the state with what `change` returns for it. Return None, without effect, if its serial differs."""
        document = self._states.get(key)
        if document is None or document.serial != serial:
            return None
        document = self._states[key] = change(document)
        self._reindex(document)
        return document

    def remove(self, key: DocumentKey) -> None:
        document = self._states.pop(key)
        self._put_at(key, None)
        _discard(self._by_given, (document.editor, document.path), key)
        self._unsaved.pop(key, None)
        self._unresolved.pop(key, None)

    # --- canonical paths -------------------------------------------------------------------------------------

    def file_of(self, key: DocumentKey) -> str | None:
        return self._files.get(key)

    def locate(self, key: DocumentKey, given_path: str, canonical_path: str | None) -> None:
        """Record the canonical path to which the given path now resolves. None: resolve it again."""
        document = self._states.get(key)
        if document is not None and document.path == given_path:
            self._put_at(key, canonical_path)
            self._reindex(document)

    def at(self, path: str) -> list[OpenDocument]:
        """Return the documents that last resolved to a canonical path."""
        return [self._states[key] for key in self._by_file.get(path, ())]

    def last_at(self, path: str) -> list[OpenDocument]:
        """Return the documents that last resolved to this path, or were given it and must be resolved."""
        keys = dict(self._by_file.get(path, {}))
        keys |= {key: None for key in self._unresolved if key not in self._files and self._states[key].path == path}
        return [self._states[key] for key in keys]

    def may_be_at(self, path: str) -> bool:
        """Return False if no document with unsaved text is open there; True is only a guess."""
        return path in self._by_file or bool(self._unresolved)

    def place_of(self, document: OpenDocument) -> str:
        """Return the last known canonical path of the document's file, or its path as given."""
        return self.file_of(document.key) or document.path

    def to_resolve(self, path: str, *, thoroughly: bool) -> list[OpenDocument]:
        """Return the documents to resolve before it is known which of them are at this path and matter.

        A clean document that was opened through a link may be overlooked, because the file on disk has the same text.
        With `thoroughly`, also return documents that were opened with their canonical path: a folder in it may be a
        link by now.
        """
        keys = {key: None for key in self._by_file.get(path, ()) if self._states[key].path != path}
        return [self._states[key] for key in keys | (self._unsaved if thoroughly else self._unresolved)]

    def _put_at(self, key: DocumentKey, canonical_path: str | None) -> None:
        old_path = self._files.pop(key, None)
        if old_path is not None:
            _discard(self._by_file, old_path, key)
        if canonical_path is not None:
            self._files[key] = canonical_path
            self._by_file.setdefault(canonical_path, {})[key] = None

    def _reindex(self, document: OpenDocument) -> None:
        key, file = document.key, self._files.get(document.key)
        is_unsaved = file is None or document.is_user_modified is not False or document.doubt is not None
        _put_if(self._unsaved, key, is_in=is_unsaved)
        _put_if(self._unresolved, key, is_in=is_unsaved and file != document.path)


def _put_if(keys: Keys, key: DocumentKey, *, is_in: bool) -> None:
    if is_in:
        keys[key] = None
    else:
        keys.pop(key, None)


def _discard(index: dict[T, Keys], name: T, key: DocumentKey) -> None:
    keys = index[name]
    del keys[key]
    if not keys:
        del index[name]
