"""Writing all of it, having room for it, and having it on the disk. Raises OSError only where bytes may be lost."""

import errno
import os

_CHUNK_BYTES = 1 << 20
_CANNOT_SYNC = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF, errno.EROFS}
_CANNOT_RESERVE = {errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.ENODEV}


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
    """Fewer only at the file's end."""
    pieces: list[bytes] = []
    while n_bytes > 0 and (piece := os.pread(fd, min(n_bytes, 1 << 24), offset_bytes)):
        pieces.append(piece)
        offset_bytes += len(piece)
        n_bytes -= len(piece)
    return b"".join(pieces)


def is_content(fd: int, data: bytes) -> bool:
    """Whether the open file holds exactly these bytes. Reads in pieces, stops at the first difference."""
    at = 0
    while True:
        wanted = min(_CHUNK_BYTES, len(data) - at + 1)  # one more than there should be: a short read is the end
        piece = os.pread(fd, wanted, at)
        if not data.startswith(piece, at):
            return False
        at += len(piece)
        if not piece or len(piece) < wanted:
            return at == len(data)


def reserve(fd: int, start: int, n_bytes: int) -> None:
    """Have the blocks before they are needed, where the filesystem can. Grows the file."""
    if n_bytes <= 0 or not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(fd, start, n_bytes)
    except OSError as error:
        if error.errno not in _CANNOT_RESERVE:
            raise


def sync(fd: int) -> bool:
    """False where the filesystem has no such thing."""
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno in _CANNOT_SYNC:
            return False
        raise
    return True


def sync_folder(dir_fd: int) -> str | None:
    """None, or why not: a name that is in place stays there, so a failure is told and not raised."""
    try:
        os.fsync(dir_fd)
    except OSError as error:
        why = "it may not be listed" if error.errno == errno.EBADF else os.strerror(error.errno or 0)  # EBADF: O_PATH
        return f"the folder could not be synced: {why}"
    return None
