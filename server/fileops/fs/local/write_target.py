"""The file that a commit writes: open, named relative to its open folder, and locked against other writers."""

import os
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from fileops.fs.local import nofollow
from fileops.fs.local.directories import open_folder
from fileops.fs.local.nofollow import Opener
from fileops.model.internal_errors import Stale
from fileops.platform import descriptors
from fileops.platform.locks import LockTable, lock_between_processes

Inode = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Target:
    """A locked file. `fd` is for reading; `status` is from the time of locking."""

    path: str
    name: str
    dir_fd: int
    fd: int
    status: os.stat_result


def inode_of(status: os.stat_result) -> Inode:
    return status.st_dev, status.st_ino


class WriteTargets:
    """Opens and locks targets. Locks are taken in the order path, inode, flock; see `platform/locks.py`."""

    def __init__(self, opener: Opener) -> None:
        self._opener = opener
        self._locks = LockTable()

    @property
    def n_locks(self) -> int:
        return len(self._locks)

    @contextmanager
    def lock(self, path: str, *, waits: bool) -> Generator[bool]:
        """Hold the locks of a path within this process, even if no file exists. See ports.FileSystem.lock."""
        with self._locks.of(path, waits=waits) as has_path:
            while has_path:
                inode = self._inode_if_any(path)
                if inode is None:
                    yield True
                    return
                with self._locks.of(inode, waits=waits) as has_inode:
                    if not has_inode:
                        break
                    if self._inode_if_any(path) == inode:  # else it was replaced while we waited
                        yield True
                        return
            yield False

    def hold_name(self, path: str) -> AbstractContextManager[bool]:
        return self._locks.of(path)

    def hold_new(self, status: os.stat_result) -> AbstractContextManager[bool]:
        """Hold the lock of a file that has no name yet, or a temporary one. No other thread can be waiting for it."""
        return self._locks.of(inode_of(status))

    @contextmanager
    def locked(self, path: str) -> Generator[Target]:
        """Yield the file at the path, locked. The commit has to check that it is still there.

        Raises: OSError, PathMoved; Stale, if there is no file.
        """
        folder, _, name = path.rpartition("/")
        with self._locks.of(path):
            while True:
                with self._opened(folder or "/", path) as dir_fd:
                    try:
                        fd, status = nofollow.open_regular_in(dir_fd, name, path)
                    except FileNotFoundError as error:
                        raise Stale(path=path) from error
                    try:
                        with self._locks.of(inode_of(status)):
                            lock_between_processes(fd)
                            status = os.fstat(fd)
                            if status.st_nlink == 0 and self.inode_at(path) != inode_of(status):
                                continue  # it was replaced while we waited for its lock
                            yield Target(path, name, dir_fd, fd, status)
                            return
                    finally:
                        descriptors.unlock_and_close_later(fd)

    @contextmanager
    def _opened(self, folder: str, path: str) -> Generator[int]:
        try:
            dir_fd = open_folder(folder, self._opener)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise Stale(path=path) from error
        try:
            yield dir_fd
        finally:
            descriptors.close(dir_fd)

    def inode_at(self, path: str) -> Inode | None:
        """Return the inode of the file at the path, None if there is none. Raises: OSError."""
        try:
            return inode_of(nofollow.status_of(path, self._opener))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _inode_if_any(self, path: str) -> Inode | None:
        try:
            return self.inode_at(path)
        except OSError:  # then it cannot be committed either
            return None
