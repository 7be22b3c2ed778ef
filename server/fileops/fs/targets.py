"""A file held for writing: open, named by its folder's handle, and locked, here and against other processes."""

import os
from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

from fileops.errors import PathMoved, Stale
from fileops.fs import descriptors, opening
from fileops.fs.folders import folder_of, open_folder
from fileops.fs.locks import LockTable, lock_between_processes
from fileops.fs.opening import Opener

Inode = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Target:
    """fd: for reading. status: what stood when it was locked."""

    path: str
    name: str
    dir_fd: int
    fd: int
    status: os.stat_result


def inode_of(status: os.stat_result) -> Inode:
    return status.st_dev, status.st_ino


class Targets:
    """Locks are taken in the order path, inode, flock; see `locks.py`."""

    def __init__(self, opener: Opener) -> None:
        self._opener = opener
        self._locks = LockTable()

    @property
    def n_locks(self) -> int:
        return len(self._locks)

    @contextmanager
    def hold(self, path: str) -> Generator[None]:
        """Within this process; also where nothing stands."""
        with self._locks.of(path):
            while True:
                inode = self._inode_if_any(path)
                if inode is None:
                    yield
                    return
                with self._locks.of(inode):
                    if self._inode_if_any(path) == inode:  # else it was swapped while we waited
                        yield
                        return

    def hold_name(self, path: str) -> AbstractContextManager[None]:
        return self._locks.of(path)

    def hold_new(self, status: os.stat_result) -> AbstractContextManager[None]:
        """A file that has no name yet, or a temporary one: nobody else can be waiting for it."""
        return self._locks.of(inode_of(status))

    @contextmanager
    def locked(self, path: str) -> Generator[Target]:
        """Raises OSError, PathMoved, and Stale where nothing stands."""
        with self._locks.of(path):
            while True:
                with ExitStack() as held:
                    target = self._lock(path, held)
                    if self.inode_at(path) != inode_of(target.status):
                        continue  # it was swapped while we waited for the lock of the old one
                    if not _names(target):
                        raise PathMoved(path=path)  # the folder was swapped between the two openings
                    yield target
                    return

    def _lock(self, path: str, held: ExitStack) -> Target:
        try:
            dir_fd = open_folder(folder_of(path), self._opener)
            held.callback(descriptors.close, dir_fd)
            fd, status = opening.open_regular(path, self._opener)
            held.callback(descriptors.close, fd)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise Stale(path=path) from error
        held.enter_context(self._locks.of(inode_of(status)))
        lock_between_processes(fd)
        return Target(path, path.rpartition("/")[2], dir_fd, fd, os.fstat(fd))

    def inode_at(self, path: str) -> Inode | None:
        """None where nothing stands. Raises OSError."""
        try:
            return inode_of(opening.look(path, self._opener))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _inode_if_any(self, path: str) -> Inode | None:
        try:
            return self.inode_at(path)
        except OSError:  # what cannot be looked at cannot be committed to either
            return None


def _names(target: Target) -> bool:
    try:
        found = os.stat(target.name, dir_fd=target.dir_fd, follow_symlinks=False)
    except OSError:
        return False
    return os.path.samestat(found, target.status)
