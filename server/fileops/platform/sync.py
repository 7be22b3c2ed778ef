"""Complete writes, reservation of space, and fsync. An OSError is raised only if bytes may be lost."""

import errno
import fcntl
import os
import sys

_CHUNK_BYTES = 1 << 20
_CANNOT_SYNC = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EBADF, errno.EROFS}
_CANNOT_RESERVE = {errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS, errno.ENODEV}


def write_all(fd: int, data: bytes | memoryview) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def write_at(fd: int, data: bytes | memoryview, offset_bytes: int) -> None:
    rest = memoryview(data)
    while rest:
        n_bytes = os.pwrite(fd, rest, offset_bytes)
        rest = rest[n_bytes:]
        offset_bytes += n_bytes


def read_at(fd: int, offset_bytes: int, n_bytes: int) -> bytes:
    """Read `n_bytes`, or fewer at the end of the file."""
    pieces: list[bytes] = []
    while n_bytes > 0 and (piece := os.pread(fd, min(n_bytes, 1 << 24), offset_bytes)):
        pieces.append(piece)
        offset_bytes += len(piece)
        n_bytes -= len(piece)
    return b"".join(pieces)


def is_content(fd: int, data: bytes) -> bool:
    """Return whether the open file has exactly this content. Stops reading at the first difference."""
    at = 0
    while True:
        wanted = min(_CHUNK_BYTES, len(data) - at + 1)  # one more, so a short read is the end
        piece = os.pread(fd, wanted, at)
        if not data.startswith(piece, at):
            return False
        at += len(piece)
        if not piece or len(piece) < wanted:
            return at == len(data)


def reserve(fd: int, start: int, n_bytes: int) -> None:
    """Allocate blocks in advance, if the filesystem can. Grows the file."""
    if n_bytes > 0 and sys.platform == "linux":
        try:
            os.posix_fallocate(fd, start, n_bytes)
        except OSError as error:
            if error.errno not in _CANNOT_RESERVE:
                raise


def sync(fd: int) -> bool:
    """Sync the file. Return False if the filesystem does not support it."""
    try:
        _write_out(fd)
    except OSError as error:
        if error.errno in _CANNOT_SYNC:
            return False
        raise
    return True


def sync_folder(dir_fd: int) -> str | None:
    """Sync a directory. Return why it failed, or None: a committed rename stays, so a failure is not raised."""
    try:
        _write_out(dir_fd)
    except OSError as error:
        is_path_only = error.errno == errno.EBADF  # opened with O_PATH
        reason = "no permission to list it" if is_path_only else os.strerror(error.errno or 0)
        return f"the directory could not be synced: {reason}"
    return None


def _write_out(fd: int) -> None:
    """Write the file to the medium. Raises: OSError.

    fsync(2) of macOS leaves the data in the drive's cache, which a power failure empties; F_FULLFSYNC of fcntl(2)
    flushes that cache to the medium. Network volumes and some drives do not support it.
    """
    if sys.platform == "darwin":
        try:
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        except OSError as error:
            if error.errno not in _CANNOT_SYNC | {errno.ENOTTY, errno.ENODEV}:
                raise
        else:
            return
    os.fsync(fd)
