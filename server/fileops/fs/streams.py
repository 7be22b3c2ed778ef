"""A content stream over bytes in memory.

A separate module, because the disk, the overlay and the memory filesystem return it, and do not import each other.
"""

from io import BytesIO

from fileops.model.files import Source, Stamp


class BytesStream:
    """See ports.ContentStream. The whole content is in memory."""

    def __init__(
        self,
        data: bytes,
        stamp: Stamp,
        taken_ns: int,
        source: Source = "disk",
        version: int | None = None,
        encoding: str | None = None,
        *,
        is_unsaved: bool = False,
    ) -> None:
        self._file = BytesIO(data)
        self.stamp = stamp
        self.taken_ns = taken_ns
        self.source: Source = source
        self.version = version
        self.encoding = encoding
        self.is_unsaved = is_unsaved

    def read(self, max_bytes: int) -> bytes:
        return self._file.read(max_bytes)

    def seek(self, offset_bytes: int) -> None:
        self._file.seek(offset_bytes)

    def __enter__(self) -> "BytesStream":
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()
