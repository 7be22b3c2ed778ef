"""The daemon's private files: opened without waiting, and trusted only if no other user can have written them.

Opening a FIFO would block forever, a link may lead elsewhere, and a file that others can write has untrusted content.
"""

import errno
import os
import stat
from contextlib import suppress

from fileops.platform import descriptors
from fileops.platform.locks import lock_between_processes

_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class NotPrivate(Exception):
    """The file is not trusted. `reason` is the end of a sentence that begins with "it"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def open_private(name: str, dir_fd: int | None = None, *, writes: bool = False) -> int:
    """Open a private file for reading, or also for writing. Raises: NotPrivate, OSError."""
    try:
        status = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
        require_private(status)  # before opening: it may be a device
        fd = os.open(name, _OPEN | (os.O_RDWR if writes else os.O_RDONLY), dir_fd=dir_fd)
        try:
            require_private(os.fstat(fd))
        except BaseException:
            descriptors.close(fd)
            raise
    except UnicodeEncodeError as error:
        raise NotPrivate("has a name that no file can have") from error
    return fd


def create_locked(name: str, dir_fd: int) -> int:
    """Create a private file and lock it, so that no recovery takes it for one that a dead process has left.

    Between the creation and the lock another process may lock the file and remove it. So the name is checked after the
    lock, and the file is created again if it has gone. Raises: OSError.
    """
    while True:
        fd = os.open(name, _CREATE, 0o600, dir_fd=dir_fd)
        try:
            lock_between_processes(fd)
            if _is_at(name, dir_fd, fd):
                return fd
        except BaseException:
            _remove(name, dir_fd, fd)
            raise
        _remove(name, dir_fd, fd)


def _remove(name: str, dir_fd: int, fd: int) -> None:
    """Leave nothing of a file that could not be had locked; its name is of no other file."""
    descriptors.close(fd)
    with suppress(OSError):
        os.unlink(name, dir_fd=dir_fd)


def _is_at(name: str, dir_fd: int, fd: int) -> bool:
    try:
        return os.path.samestat(os.stat(name, dir_fd=dir_fd, follow_symlinks=False), os.fstat(fd))
    except FileNotFoundError:
        return False


def require_private(status: os.stat_result) -> None:
    """Raise NotPrivate unless this is a regular file that only this user can read and write."""
    if not stat.S_ISREG(status.st_mode):
        raise NotPrivate("is not a regular file")
    if status.st_uid != os.geteuid():
        raise NotPrivate("belongs to another user")
    if status.st_mode & 0o077:
        raise NotPrivate(f"is open to other users (mode {stat.S_IMODE(status.st_mode):04o})")


def require_private_folder(folder: str) -> None:
    """Require a folder of this user in which no other user can create files. Raises: OSError."""
    status = os.stat(folder)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if status.st_uid != os.geteuid() or status.st_mode & 0o002:
        raise PermissionError(errno.EPERM, "the folder belongs to another user, or others may write there")
