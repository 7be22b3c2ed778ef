"""Index of the states of open documents: by URI, by the path that they were opened with, and by canonical path.

Only this table replaces states. `update` is a compare-and-swap on the serial, so a result that was computed from an
older state is dropped. The canonical path is not part of the state, because the disk decides it and not the client.
Not thread-safe: the owner's lock guards the table.
"""

from collections.abc import Callable

from fileops.fs.overlay.state import OpenDocument

Uris = dict[str, None]  # a set in the order of insertion


class DocumentTable:
    def __init__(self) -> None:
        self._states: dict[str, OpenDocument] = {}
        self._by_path: dict[str, Uris] = {}
        self._files: dict[str, str] = {}  # URI -> canonical path, once resolved
        self._by_file: dict[str, Uris] = {}
        self._unsaved: Uris = {}  # may have a text that is not on disk
        self._unresolved: Uris = {}  # of these, those opened through a link or never resolved

    def __contains__(self, uri: str) -> bool:
        return uri in self._states

    def uris(self) -> list[str]:
        return list(self._states)

    def get(self, uri: str) -> OpenDocument | None:
        return self._states.get(uri)

    def at_given(self, path: str) -> OpenDocument | None:
        """Return a document that was opened with this path."""
        uris = self._by_path.get(path)
        return self._states[next(iter(uris))] if uris else None

    def put(self, document: OpenDocument) -> None:
        """Put a document that was opened, or its state after a message of the client."""
        previous = self._states.get(document.uri)
        if previous is not None and previous.path != document.path:
            self.remove(document.uri)
        self._states[document.uri] = document
        self._by_path.setdefault(document.path, {})[document.uri] = None
        self._reindex(document)

    def update(self, uri: str, serial: int, change: Callable[[OpenDocument], OpenDocument]) -> OpenDocument | None:
        """Replace the state by what `change` returns for it. None, and no effect, if its serial is another one."""
        document = self._states.get(uri)
        if document is None or document.serial != serial:
            return None
        document = self._states[uri] = change(document)
        self._reindex(document)
        return document

    def remove(self, uri: str) -> None:
        document = self._states.pop(uri)
        self._put_at(uri, None)
        _discard(self._by_path, document.path, uri)
        self._unsaved.pop(uri, None)
        self._unresolved.pop(uri, None)

    # --- canonical paths -------------------------------------------------------------------------------------

    def file_of(self, uri: str) -> str | None:
        return self._files.get(uri)

    def locate(self, uri: str, given_path: str, canonical_path: str | None) -> None:
        """Note the canonical path that the given path resolves to now. None: resolve it again."""
        document = self._states.get(uri)
        if document is not None and document.path == given_path:
            self._put_at(uri, canonical_path)
            self._reindex(document)

    def at(self, path: str) -> list[OpenDocument]:
        """Return the documents that last resolved to a canonical path."""
        return [self._states[uri] for uri in self._by_file.get(path, ())]

    def may_be_at(self, path: str) -> bool:
        """Return False if no document with unsaved text is open there; True is only a guess."""
        return path in self._by_file or bool(self._unresolved)

    def to_resolve(self, path: str, *, thoroughly: bool) -> list[OpenDocument]:
        """Return the documents to resolve before it is known which of them are at this path and matter.

        A clean document that was opened through a link may be overlooked, because the file on disk has the same text.
        Args: thoroughly: also those that were opened with their canonical path, a folder of which may be a link by now.
        """
        uris = {uri: None for uri in self._by_file.get(path, ()) if self._states[uri].path != path}
        return [self._states[uri] for uri in uris | (self._unsaved if thoroughly else self._unresolved)]

    def _put_at(self, uri: str, canonical_path: str | None) -> None:
        old_path = self._files.pop(uri, None)
        if old_path is not None:
            _discard(self._by_file, old_path, uri)
        if canonical_path is not None:
            self._files[uri] = canonical_path
            self._by_file.setdefault(canonical_path, {})[uri] = None

    def _reindex(self, document: OpenDocument) -> None:
        uri, file = document.uri, self._files.get(document.uri)
        is_unsaved = file is None or document.is_user_modified is not False or document.doubt is not None
        _put_if(self._unsaved, uri, is_in=is_unsaved)
        _put_if(self._unresolved, uri, is_in=is_unsaved and file != document.path)


def _put_if(uris: Uris, uri: str, *, is_in: bool) -> None:
    if is_in:
        uris[uri] = None
    else:
        uris.pop(uri, None)


def _discard(index: dict[str, Uris], key: str, uri: str) -> None:
    uris = index[key]
    del uris[uri]
    if not uris:
        del index[key]
