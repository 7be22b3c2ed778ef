"""LocalStream: an open file of the local disk, read from start to end."""

import os

from fileops.fs.os_errors import translate
from fileops.model.files import Source, Stamp
from fileops.platform import descriptors


class LocalStream:
    """See ports.ContentStream."""

    source: Source = "disk"
    version: int | None = None
    encoding: str | None = None
    is_unsaved: bool = False

    def __init__(self, path: str, fd: int, stamp: Stamp, taken_ns: int) -> None:
        self._path = path
        self._fd = fd
        self.stamp = stamp
        self.taken_ns = taken_ns

    def read(self, max_bytes: int) -> bytes:
        try:
            return os.read(self._fd, max_bytes)
        except OSError as error:
            raise translate(error, self._path) from error

    def seek(self, offset_bytes: int) -> None:
        os.lseek(self._fd, offset_bytes, os.SEEK_SET)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            descriptors.close(fd)

    def __enter__(self) -> "LocalStream":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
