"""Finds the folders that a journal names: a folder is known by its inode, because a path may name nothing for a while.

A folder that was renamed, unmounted or not yet mounted is away, and so is one whose mount point is empty. What is
or is not at its path then proves nothing about its files. So a journal waits for it.
"""

import errno
import os
from collections.abc import Iterable

from msgspec import Struct

from fileops.fs.local.directories import open_folder
from fileops.fs.local.nofollow import Opener
from fileops.platform import descriptors

_NOT_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENOTCONN, errno.ENODEV, errno.ENXIO, errno.ESTALE}


class NamedFolder(Struct, frozen=True):
    """A folder. ino: 0 if it is not known."""

    path: str
    ino: int = 0


class AwayError(Exception):
    """The folder is not there now."""

    def __init__(self, folder: NamedFolder) -> None:
        super().__init__(folder)
        self.folder = folder


class Unsettled(Struct, frozen=True, kw_only=True):
    """A journal that cannot be ended yet.

    journal: its path. reason: a clause. folders: folders whose use is a reason to try again. n_files: that are not
    settled; 0 if that is not known. is_applied: only hidden files of ours have to be removed.
    """

    journal: str
    reason: str
    folders: tuple[NamedFolder, ...] = ()
    n_files: int = 0
    is_applied: bool = False


def open_named(
    folder: NamedFolder, opener: Opener, used: NamedFolder | None, own_names: Iterable[str] = ()
) -> tuple[int, str]:
    """Return the open folder and its path.

    used: a folder that is being used; it may be this one under another path. own_names: files of ours. A folder with
    another inode that has one of them is a copy of the folder. Raises: AwayError, OSError.
    """
    try:
        fd = open_folder(folder.path, opener)
    except OSError as error:
        if error.errno not in _NOT_THERE:
            raise
    else:
        if folder.ino in {0, os.fstat(fd).st_ino} or any(_has(name, fd) for name in own_names):
            return fd, folder.path
        descriptors.close(fd)
    if used is not None and used.ino == folder.ino and used.path != folder.path:
        return open_folder(used.path, opener), used.path
    raise AwayError(folder)


def is_there(folder: NamedFolder, opener: Opener, used: NamedFolder | None) -> bool:
    """Return whether the folder can be opened now."""
    try:
        fd, _ = open_named(folder, opener, used)
    except (AwayError, OSError):
        return False
    descriptors.close(fd)
    return True


def _has(name: str, dir_fd: int) -> bool:
    try:
        os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
