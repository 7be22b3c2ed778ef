"""Files that the daemon keeps for itself: opened without waiting, believed only if nobody else can have made them.

A FIFO would hold an opener for ever, a link leads elsewhere, and what another user may write is another user's word.
"""

import os
import stat

from fileops.platform import descriptors

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class NotPrivate(Exception):
    """reason: why it is not believed, as the end of a sentence that begins with "it"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def open_private(name: str, dir_fd: int | None = None) -> int:
    """A descriptor for reading. Raises: NotPrivate, OSError."""
    try:
        status = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
        require_private(status)  # first, so that no device is opened
        fd = os.open(name, _OPEN, dir_fd=dir_fd)
        try:
            require_private(os.fstat(fd))
        except BaseException:
            descriptors.close(fd)
            raise
    except UnicodeEncodeError as error:
        raise NotPrivate("has a name that no file can have") from error
    return fd


def require_private(status: os.stat_result) -> None:
    """Raises: NotPrivate."""
    if not stat.S_ISREG(status.st_mode):
        raise NotPrivate("is no regular file")
    if status.st_uid != os.geteuid():
        raise NotPrivate("belongs to another user")
    if status.st_mode & 0o077:
        raise NotPrivate(f"is open to other users (mode {stat.S_IMODE(status.st_mode):04o})")
