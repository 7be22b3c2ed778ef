"""The file that a commit writes: open, named relative to its open folder, and locked against other writers."""

import os
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from msgspec import Struct

from fileops.fs.local import nofollow
from fileops.fs.local.directories import open_folder
from fileops.fs.local.nofollow import Opener
from fileops.fs.os_errors import at_path
from fileops.model.errors import SetUnsupported
from fileops.model.internal_errors import Stale
from fileops.platform import descriptors
from fileops.platform.locks import LockTable, lock_between_processes

_HAS_EFFECTIVE_IDS = os.access in os.supports_effective_ids
_FOLLOWS_ANYWAY = os.access not in os.supports_follow_symlinks

Inode = tuple[int, int]


class WriteTarget(Struct, frozen=True):
    """A locked file. `fd` is for reading; `status` is from the time of locking."""

    path: str
    name: str
    dir_fd: int
    fd: int
    status: os.stat_result


def inode_of(status: os.stat_result) -> Inode:
    return status.st_dev, status.st_ino


def require_writable(target: WriteTarget) -> None:
    """Raise OSError if the file is not writable. A rename would not need that permission, so it is checked here."""
    if os.access(
        target.name,
        os.W_OK,
        dir_fd=target.dir_fd,
        effective_ids=_HAS_EFFECTIVE_IDS,
        follow_symlinks=_FOLLOWS_ANYWAY,
    ):
        return
    flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptors.close(os.open(target.name, flags, dir_fd=target.dir_fd))  # raises with the reason


# The order of locks is: path, inode of the file, flock of the file, inode of the file that replaces it. Each covers a
# case that the others do not:
#
# - Path: two creations, when there is no inode yet. It also keeps our own threads from replacing the file at this path
#   while one of them waits for its inode. Only an alias or another process can do that, so the loops below are short.
# - Inode: two paths of one file (a hard link, a bind mount), whose path locks differ.
# - flock: other daemons. It is taken after the locks of this process, because its waiters poll and give up after some
#   seconds: threads of one process queue at the inode instead, and one of them at a time competes with the others.
# - New inode (`hold_new`): after the rename, an alias of the folder leads to the new inode, which no lock above covers.
#   So it is locked while the temp name is its only one, and until the commit is recorded.
#
# No deadlock is possible:
#
# - A thread holds the locks of one path at a time. It takes them in this order and releases all before the next path.
#   Locks are reentrant, so `replace` inside `lock` of the same path takes them again.
# - No other thread waits for a new inode, because none has found it. One exception is harmless: `lock` may hold the
#   number of a deleted file that the new file has got again. That thread then finds that the inode is not at its path,
#   and releases it without waiting for anything.
# - A process that holds a flock waits for no other flock: that of its temp file is only tried, and always free.
#
# A change set holds the locks of several files at once (`open_targets`). It takes them in rounds: all paths, in their
# order as strings; then all inodes, in their order as numbers; then all flocks, in the order of the inodes. Consider a
# circle of threads, each of which waits for a lock that the next one holds:
#
# - No thread in it waits for a path. Who holds a path and waits is in the round of inodes or of flocks, where no path
#   is waited for any more; or it is a set in the round of paths, which holds smaller paths only than the one it waits
#   for.
# - So all wait for inodes or flocks. A single file's writer waits for one inode and holds none. A set holds smaller
#   inodes only than the one it waits for. The same holds for flocks, which are waited for after all inodes.
#
# In other processes the same order of inodes holds; if it does not (device numbers in containers), the wait for a flock
# ends after some seconds. That two paths of a set lead to one inode is noticed before the second round.
#
# The wait for an inode or for the flock may be long, and the file may be replaced in that time. Then the lock is on a
# file that is not at the path. `lock` compares the inode at the path once more. `open_target` leaves this to the
# commit, whose last compare raises Stale if the path leads to another inode. Only in the usual case, a file that
# another daemon has just replaced and that has no name any more, it begins again itself: many writers of one file
# would otherwise use up the attempts of their callers.


class WriteTargets:
    """Opens and locks targets. Locks are taken in the order path, inode, flock, new inode (see above)."""

    def __init__(self, opener: Opener) -> None:
        self._opener = opener
        self._locks = LockTable()

    @property
    def n_locks(self) -> int:
        return len(self._locks)

    def lock_path(self, path: str) -> AbstractContextManager[object]:
        return self._locks.of(path)

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
                    if self._inode_if_any(path) == inode:  # otherwise it was replaced while we waited
                        yield True
                        return
            yield False

    def hold_name(self, path: str) -> AbstractContextManager[bool]:
        return self._locks.of(path)

    def hold_new(self, status: os.stat_result) -> AbstractContextManager[bool]:
        """Hold the lock of a file that has no name yet, or a temporary one. No other thread can be waiting for it."""
        return self._locks.of(inode_of(status))

    @contextmanager
    def open_target(self, path: str) -> Generator[WriteTarget]:
        """Yield the file at the path, locked. The commit has to check that it is still there.

        Raises: OSError, PathMoved; Stale, if there is no file.
        """
        folder, _, name = path.rpartition("/")
        with self._locks.of(path):
            while True:
                with self._open(folder or "/", path) as dir_fd:
                    try:
                        fd, named = nofollow.open_regular_in(dir_fd, name, path)
                    except FileNotFoundError as error:
                        raise Stale(path=path) from error
                    try:
                        with self._locks.of(inode_of(named)):
                            lock_between_processes(fd)
                            status = os.fstat(fd)
                            nofollow.require_regular(status, fd)
                            if inode_of(status) != inode_of(named):
                                continue  # it was replaced before it was opened, so another lock is held
                            if status.st_nlink == 0 and self.inode_at(path) != inode_of(status):
                                continue  # it was replaced while we waited for its lock
                            yield WriteTarget(path, name, dir_fd, fd, status)
                            return
                    finally:
                        descriptors.unlock_and_close_later(fd)

    @contextmanager
    def open_targets(self, paths: Sequence[str], free_paths: Sequence[str]) -> Generator[dict[str, WriteTarget]]:
        """Yield the files at the paths, all locked. `free_paths`, at which no file should exist, are locked too.

        Raises: as `open_target`.
        """
        with ExitStack() as held:
            for path in sorted({*paths, *free_paths}):
                held.enter_context(self._locks.of(path))
            opened: list[tuple[Inode, str, int, int]] = []
            folders: dict[str, int] = {}  # a descriptor of each: with one for each file, 400 files would be too many
            for path in paths:
                folder, _, name = path.rpartition("/")
                with at_path(path):
                    if folder not in folders:
                        folders[folder] = held.enter_context(self._open(folder or "/", path))
                    try:
                        fd, _ = nofollow.open_regular_in(folders[folder], name, path)
                    except FileNotFoundError as error:
                        raise Stale(path=path) from error
                    held.callback(descriptors.unlock_and_close_later, fd)
                    status = os.fstat(fd)
                    nofollow.require_regular(status, fd)
                opened.append((inode_of(status), path, folders[folder], fd))
            if len({inode for inode, *_ in opened}) < len(opened):
                raise SetUnsupported(reason="two of the paths lead to one file")
            opened.sort()
            for inode, *_ in opened:
                held.enter_context(self._locks.of(inode))
            for _, _, _, fd in opened:
                lock_between_processes(fd)
            yield {
                path: WriteTarget(path, path.rpartition("/")[2], dir_fd, fd, os.fstat(fd))
                for _, path, dir_fd, fd in opened
            }

    @contextmanager
    def _open(self, folder: str, path: str) -> Generator[int]:
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
