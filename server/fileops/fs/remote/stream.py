"""RemoteStream: an open file of another machine, read front to back."""

from contextlib import suppress

from fileops.fs.os_errors import translating
from fileops.fs.remote.backend import Reader
from fileops.model.errors import ConnectionFailed
from fileops.model.files import Source, Stamp


class RemoteStream:
    """See ports.ContentStream."""

    source: Source = "disk"
    version: int | None = None
    encoding: str | None = None

    def __init__(self, path: str, reader: Reader, stamp: Stamp) -> None:
        self._path, self._reader = path, reader
        self.stamp = stamp
        self.taken_ns = stamp.mtime_ns

    def read(self, max_bytes: int) -> bytes:
        with translating(self._path):
            return self._reader.read(max_bytes)

    def seek(self, offset_bytes: int) -> None:
        self._reader.seek(offset_bytes)

    def __enter__(self) -> "RemoteStream":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        with suppress(OSError, ConnectionFailed):  # nothing was written
            self._reader.close()
