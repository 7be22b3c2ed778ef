"""The digest with which two contents are compared.

A separate module, because values in several modules contain a digest.
"""

from collections.abc import Callable

import xxhash

CHUNK_BYTES = 256 * 1024  # read at a time: most files at once, larger ones at disk speed


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
        """Take everything that `read` (of a stream) still returns.

        `check` is called before each piece and may raise.
        """
        check()
        while chunk := read(CHUNK_BYTES):
            self._state.update(chunk)
            check()

    def digest(self) -> bytes:
        return self._state.digest()
