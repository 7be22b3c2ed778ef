"""Contents of a record, looked up by their digests for one view of one file."""

from itertools import islice
from typing import Protocol

MAX_STORED_BYTES = 8 << 20  # of one file, kept to build other contents from them


class ContentStore(Protocol):
    """Where contents are kept; see RecordedChanges, which core does not know."""

    def content(self, digest: bytes, known: dict[bytes, bytes] | None = None) -> bytes | None: ...


class StoredContents:
    """Looks up contents of a record by their digests, for one view of one file. Keeps the last ones, within a bound."""

    def __init__(self, store: ContentStore) -> None:
        self._store = store
        self._known: dict[bytes, bytes] = {}
        self._found: dict[bytes, bytes] = {}  # those of them that were asked for
        self._n_bytes = 0  # of them

    def __call__(self, digest: bytes) -> bytes | None:
        if self._n_bytes > MAX_STORED_BYTES:
            self._known.clear()
            self._found.clear()
            self._n_bytes = 0
        if (found := self._found.get(digest)) is not None:
            return found
        n_known = len(self._known)
        content = self._store.content(digest, self._known)
        self._n_bytes += sum(map(len, islice(reversed(self._known.values()), len(self._known) - n_known)))
        if content is not None:
            self._found[digest] = content
        return content
