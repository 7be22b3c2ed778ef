"""The states of open documents: by URI, by the path that they were opened by, and by the file where they lie.

The one place where a state is put in place of another: who has looked at a state changes the *present* one, and only
while it still is the one that was looked at. Where a document lies is no part of its state, for the disk says it and
not the client. Not thread-safe: the owner's lock guards it.
"""

from collections.abc import Callable

from fileops.fs.overlay.state import OpenDocument

Uris = dict[str, None]  # a set in the order of insertion


class DocumentTable:
    def __init__(self) -> None:
        self._states: dict[str, OpenDocument] = {}
        self._by_path: dict[str, Uris] = {}
        self._files: dict[str, str] = {}  # URI -> canonical path, once it was found out
        self._by_file: dict[str, Uris] = {}
        self._unsaved: Uris = {}  # may hold a text that is nowhere on disk
        self._adrift: Uris = {}  # of these, the ones that came by a link or were never resolved

    def __contains__(self, uri: str) -> bool:
        return uri in self._states

    def uris(self) -> list[str]:
        return list(self._states)

    def get(self, uri: str) -> OpenDocument | None:
        return self._states.get(uri)

    def at_given(self, path: str) -> OpenDocument | None:
        """One that was opened by this path."""
        uris = self._by_path.get(path)
        return self._states[next(iter(uris))] if uris else None

    def put(self, document: OpenDocument) -> None:
        """A document that was opened, or what the client made of it."""
        before = self._states.get(document.uri)
        if before is not None and before.path != document.path:
            self.remove(document.uri)
        self._states[document.uri] = document
        self._by_path.setdefault(document.path, {})[document.uri] = None
        self._reindex(document)

    def update(self, uri: str, serial: int, change: Callable[[OpenDocument], OpenDocument]) -> OpenDocument | None:
        """What `change` makes of the present state; None, and nothing happens, where it is not of this serial."""
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
        self._adrift.pop(uri, None)

    # --- where they lie --------------------------------------------------------------------------------------

    def file_of(self, uri: str) -> str | None:
        return self._files.get(uri)

    def locate(self, uri: str, given_path: str, canonical_path: str | None) -> None:
        """The given path leads there now. None: it is to be found out anew."""
        document = self._states.get(uri)
        if document is not None and document.path == given_path:
            self._put_at(uri, canonical_path)
            self._reindex(document)

    def at(self, path: str) -> list[OpenDocument]:
        """Those that were last found at a canonical path."""
        return [self._states[uri] for uri in self._by_file.get(path, ())]

    def may_be_at(self, path: str) -> bool:
        """False is certain."""
        return path in self._by_file or bool(self._adrift)

    def to_resolve(self, path: str, *, thoroughly: bool) -> list[OpenDocument]:
        """Those of which one has to find out where they lie, to know which are at this path and matter.

        A document that reads as the disk does can be overlooked where a link brought it: the disk serves in its place.
        thoroughly: also those that lay where they were opened, in a folder that may be a link by now.
        """
        uris = {uri: None for uri in self._by_file.get(path, ()) if self._states[uri].path != path}
        return [self._states[uri] for uri in uris | (self._unsaved if thoroughly else self._adrift)]

    def _put_at(self, uri: str, canonical_path: str | None) -> None:
        before = self._files.pop(uri, None)
        if before is not None:
            _discard(self._by_file, before, uri)
        if canonical_path is not None:
            self._files[uri] = canonical_path
            self._by_file.setdefault(canonical_path, {})[uri] = None

    def _reindex(self, document: OpenDocument) -> None:
        uri, file = document.uri, self._files.get(document.uri)
        is_unsaved = file is None or document.is_user_modified is not False or document.doubt is not None
        _put_if(self._unsaved, uri, is_in=is_unsaved)
        _put_if(self._adrift, uri, is_in=is_unsaved and file != document.path)


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
