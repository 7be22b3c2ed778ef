"""The digest by which two contents are compared.

A separate module, because values of several modules contain a digest.
"""

from collections.abc import Callable

import xxhash

CHUNK_BYTES = 256 * 1024  # read at a time: a file of the default size at once, larger ones at the speed of the disk


def content_digest(data: bytes | memoryview) -> bytes:
    """Return 16 bytes. The hash is not cryptographic: it detects changes, not forgeries."""
    return xxhash.xxh3_128_digest(data)


class Hasher:
    """`content_digest` of content that comes in pieces."""

    __slots__ = ("_state",)

    def __init__(self) -> None:
        self._state = xxhash.xxh3_128()

    def update(self, data: bytes) -> None:
        self._state.update(data)

    def update_from(self, read: Callable[[int], bytes], check: Callable[[], None] = lambda: None) -> None:
        """Take all that `read` (of a stream) still returns. `check` is called before each piece and may raise."""
        check()
        while chunk := read(CHUNK_BYTES):
            self._state.update(chunk)
            check()

    def digest(self) -> bytes:
        return self._state.digest()
