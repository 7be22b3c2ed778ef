"""Who may write a file now: one lock per path and per inode in this process, and flock(2) between processes.

The inode's lock serves aliases (hard links, bind mounts). A swap puts a new inode in place; its lock is taken
before the rename, so that whoever comes by the new inode waits as well. The path's lock serves files that do not
exist. The order is always path, old inode, new inode; the last is known to nobody yet, so none can wait in a ring.

flock is on the file itself: there is no lock file to forget, and the kernel lets go when a process dies.
"""

import errno
import fcntl
import random
import threading
import time
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass, field

LOCK_WAIT_S = 10.0  # a commit takes milliseconds; who holds the file longer is a foreign program
READ_WAIT_S = 0.5
_LONGEST_PAUSE_S = 0.02
_NO_LOCKS_HERE = {errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.EBADF}


@dataclass(slots=True)
class _Counted:
    lock: threading.RLock = field(default_factory=threading.RLock)
    n_users: int = 0


class LockTable:
    """Reentrant locks by key, kept only while somebody uses them."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[Hashable, _Counted] = {}

    def of(self, key: Hashable) -> "Held":
        return Held(self, key)

    def enter(self, key: Hashable) -> None:
        with self._guard:
            counted = self._locks.get(key)
            if counted is None:
                counted = self._locks[key] = _Counted()
            counted.n_users += 1
        try:
            counted.lock.acquire()
        except BaseException:
            self._done_with(key, counted)
            raise

    def leave(self, key: Hashable) -> None:
        counted = self._locks[key]
        counted.lock.release()
        self._done_with(key, counted)

    def _done_with(self, key: Hashable, counted: _Counted) -> None:
        with self._guard:
            counted.n_users -= 1
            if counted.n_users == 0:
                del self._locks[key]

    def __len__(self) -> int:
        return len(self._locks)


@dataclass(frozen=True, slots=True)
class Held:
    """The lock of a key, for a `with`. A class and no generator: an edit takes three, and they are mostly free."""

    table: LockTable
    key: Hashable

    def __enter__(self) -> None:
        self.table.enter(self.key)

    def __exit__(self, *exc: object) -> None:
        self.table.leave(self.key)


def lock_between_processes(fd: int, wait_s: float = LOCK_WAIT_S) -> None:
    """Until `fd` is closed. Goes without where the filesystem has no locks. Raises OSError (EAGAIN) after wait_s."""
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
        time.sleep(pause_s * random.uniform(0.5, 1.5))  # only to keep two waiters out of step
        pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)


def wait_for_writers(fd: int, *, is_kept: bool, wait_s: float = READ_WAIT_S) -> None:
    """Have no other daemon, nor this one, in the middle of a commit; until `fd` is closed where the lock is kept.

    A courtesy with a bound: whoever keeps the lock longer is a foreign program, and its file is read all the same.
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
    """Whether nobody is writing, nor begins to until `fd` is closed. True where there are no locks."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in _NO_LOCKS_HERE
    return True


def try_lock(fd: int) -> bool:
    """Take the lock now, until `fd` is closed; False where somebody holds it. True where there are no locks."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in _NO_LOCKS_HERE
    return True
