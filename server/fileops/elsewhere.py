"""A file that an agent saw by other means: its whole content, as it stands now, counts as seen. In a worker thread."""

import xxhash

from fileops.cancellation import CancelToken
from fileops.core.roots import Roots
from fileops.errors import FileMissing, FileOpsError, PathMoved
from fileops.freshness import Freshness
from fileops.ports import FileSystem
from fileops.reading import CHUNK_BYTES, MAX_PATH_TRIES, canonical_path
from fileops.requests import ReadOutcome, ReadRequest


def record_read(
    fs: FileSystem, freshness: Freshness, request: ReadRequest, roots: Roots | None, token: CancelToken
) -> ReadOutcome:
    """Without an output. Of the content a digest is kept, whatever the size. Raises: Cancelled."""
    try:
        for _ in range(MAX_PATH_TRIES):
            token.check()
            path = canonical_path(fs, request.file_path, roots)
            try:
                return _record(fs, freshness, request, path, token)
            except PathMoved:
                continue
            except FileMissing:
                freshness.note_missing(request.session_id, path)
                raise
        raise FileMissing
    except FileOpsError as error:
        return ReadOutcome(output="", error=error)


def _record(fs: FileSystem, freshness: Freshness, request: ReadRequest, path: str, token: CancelToken) -> ReadOutcome:
    with fs.open(path) as stream:
        digest = xxhash.xxh3_128()
        first = chunk = stream.read(CHUNK_BYTES)
        while chunk:
            token.check()
            digest.update(chunk)
            chunk = stream.read(CHUNK_BYTES)
        stamp = stream.stamp
        freshness.note_read(
            request.session_id, request.file_path, path, stamp, stream.taken_ns, digest.digest(),
            source=stream.source, version=stream.version, content=first if len(first) == stamp.size_bytes else None,
        )  # fmt: skip
        return ReadOutcome(output="", size_bytes=stamp.size_bytes, mtime_ns=stamp.mtime_ns, source=stream.source)
