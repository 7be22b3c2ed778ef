"""Open directories, so that later operations apply to the directory that was checked."""

import errno
import fcntl
import os
import struct
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress

from fileops.core.roots import folder_of
from fileops.fs.local import nofollow
from fileops.fs.local.nofollow import Opener
from fileops.platform import descriptors, sync, umask

NO_PLACE = {errno.EACCES, errno.EPERM, errno.EROFS}  # no file can be created in the folder
_FS_IOC_GETFLAGS = 0x80006601 | struct.calcsize("l") << 16  # ioctl_iflags(2): _IOR('f', 1, long)
_FS_APPEND_FL = 0x20


def open_folder(folder: str, opener: Opener) -> int:
    """Open a directory. Raises: OSError."""
    try:
        return opener(folder, nofollow.FOLDER)
    except PermissionError:
        if not nofollow.O_PATH:
            raise
        return opener(folder, nofollow.PATH_ONLY | os.O_DIRECTORY)  # can be neither listed nor synced


def is_append_only(dir_fd: int) -> bool:
    """Return whether the folder is append-only (chattr +a): files in it can be neither renamed nor removed."""
    if sys.platform != "linux":
        return False
    flags = bytearray(struct.calcsize("l"))
    try:
        fcntl.ioctl(dir_fd, _FS_IOC_GETFLAGS, flags)
    except OSError:  # no such flags on this filesystem
        return False
    return bool(int.from_bytes(flags, sys.byteorder) & _FS_APPEND_FL)


def require_room_for_temp(dir_fd: int) -> None:
    """Raise PermissionError if a temp file could not be removed from the folder."""
    if is_append_only(dir_fd):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


@contextmanager
def ensure_directory(folder: str, opener: Opener, prepare: Callable[[], None]) -> Generator[int]:
    """Yield the open folder, created with its parents if missing. If the body fails, created folders are removed.

    prepare: called before each folder is created; it may raise. Raises: OSError.
    """
    with ExitStack() as stack:
        missing: list[str] = []
        while True:
            try:
                dir_fd = open_folder(folder, opener)
                break
            except FileNotFoundError:
                missing.append(folder.rpartition("/")[2])
                folder = folder_of(folder)
        stack.callback(descriptors.close, dir_fd)
        made: list[tuple[int, str]] = []
        try:
            for name in reversed(missing):
                parent_fd = dir_fd
                prepare()
                with suppress(FileExistsError):
                    umask.make_folder(name, parent_fd)
                    made.append((parent_fd, name))
                dir_fd = os.open(name, nofollow.FOLDER | os.O_NOFOLLOW, dir_fd=parent_fd)
                stack.callback(descriptors.close, dir_fd)
                sync.sync_folder(parent_fd)
            yield dir_fd
        except BaseException:
            for parent_fd, name in reversed(made):
                with suppress(OSError):  # it is no longer empty, so it stays
                    os.rmdir(name, dir_fd=parent_fd)
            raise
