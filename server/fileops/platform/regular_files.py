"""Reads a file that another program may have created: a limited number of bytes, of a regular file, without waiting."""

import os
import stat


class NotReadable(Exception):
    """There is no regular file at the path, or it is too large. The message says what is there."""


def read_regular(path: str, max_bytes: int, *, follows_links: bool = True) -> bytes:
    """Return all bytes of a regular file, or raise.

    A FIFO, a device or a socket is opened without waiting for its other end, and is not read. Raises: NotReadable,
    OSError.
    """
    data = read_start(path, max_bytes + 1, follows_links=follows_links)
    if len(data) > max_bytes:
        raise NotReadable(f"it has more than {max_bytes:,} bytes")
    return data


def read_start(path: str, n_bytes: int, *, follows_links: bool = True) -> bytes:
    """Return at most the first `n_bytes` bytes of a regular file. Raises: NotReadable, OSError."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | (0 if follows_links else os.O_NOFOLLOW)
    fd = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise NotReadable("it is not a regular file")
        pieces: list[bytes] = []
        n_left = n_bytes
        while n_left and (piece := os.read(fd, min(n_left, 1 << 20))):
            pieces.append(piece)
            n_left -= len(piece)
        return b"".join(pieces)
    finally:
        os.close(fd)
