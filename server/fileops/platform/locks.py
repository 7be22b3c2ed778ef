"""Locks for writing files: per path and per inode in this process, and flock(2) between processes.

The inode's lock covers aliases (hard links, bind mounts). A rename puts a new inode in place; its lock is taken before
the rename, so that writers that resolve the new inode wait too. The path's lock covers files that do not exist. The
order is always path, old inode, new inode. No other thread knows the new inode yet, so there is no deadlock
(`fs/local/write_target.py` has the whole argument).

flock is on the file itself: no lock file can be left behind, and the kernel releases it when a process dies.
"""

import errno
import fcntl
import random
import threading
import time
from collections.abc import Hashable
from contextlib import suppress

from msgspec import Struct, field

LOCK_WAIT_S = 10.0  # a commit takes milliseconds; a longer lock is foreign
READ_WAIT_S = 0.5
_LONGEST_PAUSE_S = 0.02
_NO_LOCKS_HERE = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS, errno.EBADF}


class _Counted(Struct):
    """A lock and the number of threads that hold it or wait for it."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    n_users: int = 0


class LockTable:
    """Reentrant locks by key. A lock exists only while a thread uses it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[Hashable, _Counted] = {}

    def of(self, key: Hashable, *, waits: bool = True) -> "Held":
        """Return a context manager for a key's lock.

        Its value is False if `waits` is False and another thread holds the lock.
        """
        return Held(self, key, waits)

    def enter(self, key: Hashable, *, waits: bool = True) -> bool:
        """Return whether the lock was taken; if so, call `leave` later."""
        with self._guard:
            counted = self._locks.get(key)
            if counted is None:
                counted = self._locks[key] = _Counted()
            counted.n_users += 1
        is_held = False
        try:
            is_held = counted.lock.acquire(blocking=waits)
        finally:
            if not is_held:
                self._release(key, counted)
        return is_held

    def leave(self, key: Hashable) -> None:
        counted = self._locks[key]
        counted.lock.release()
        self._release(key, counted)

    def _release(self, key: Hashable, counted: _Counted) -> None:
        with self._guard:
            counted.n_users -= 1
            if counted.n_users == 0:
                del self._locks[key]

    def __len__(self) -> int:
        return len(self._locks)


class Held(Struct):
    """See `LockTable.of`. A class, because it is faster than a generator and edits take three."""

    table: LockTable
    key: Hashable
    waits: bool
    is_held: bool = False

    def __enter__(self) -> bool:
        self.is_held = self.table.enter(self.key, waits=self.waits)
        return self.is_held

    def __exit__(self, *exc: object) -> None:
        if self.is_held:
            self.table.leave(self.key)


def lock_between_processes(fd: int, wait_s: float = LOCK_WAIT_S) -> None:
    """Lock the file until `fd` is closed.

    Returns without a lock if the filesystem has none. Raises: OSError (EAGAIN) after `wait_s`.
    """
    deadline = None
    pause_s = 0.0005
    while True:
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _NO_LOCKS_HERE:
                return None
            if error.errno not in {errno.EWOULDBLOCK, errno.EAGAIN, errno.EINTR}:
                raise
        now = time.monotonic()
        deadline = deadline or now + wait_s
        if now >= deadline:
            raise OSError(errno.EAGAIN, "locked by another process")
        time.sleep(pause_s * random.uniform(0.5, 1.5))  # desynchronises two waiters
        pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)


def wait_for_writers(fd: int, *, is_kept: bool, wait_s: float = READ_WAIT_S) -> None:
    """Wait until no daemon is committing the file. `is_kept` keeps the shared lock until `fd` is closed.

    The wait is limited: a lock that is held longer belongs to a foreign program, and its file is read all the same.
    """
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in {errno.EWOULDBLOCK, errno.EAGAIN, errno.EINTR} or time.monotonic() > deadline:
                return
        else:
            break
        time.sleep(0.0005)
    if not is_kept:
        with suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_UN)


def try_share(fd: int) -> bool:
    """Try to take the shared lock, which keeps writers out until `fd` is closed. True if locks are not supported."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in _NO_LOCKS_HERE
    return True


def try_lock(fd: int) -> bool:
    """Try to take the exclusive lock until `fd` is closed. False if it is held; True if locks are not supported."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in _NO_LOCKS_HERE
    return True
