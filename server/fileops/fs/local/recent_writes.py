"""The last writes of files: whether another process also writes a file, or may be writing it now."""

import math
import os
import time

from fileops.fs.local.write_target import WriteTarget

_LATELY_NS = 2_000_000_000  # a formatter after a save, or an agent's next turn
_CONTESTED_S = 60.0  # a process that wrote once is likely to write again
_MAX_WRITES_KNOWN = 4096
_MAX_WAITED_FOR_BYTES = 64_000_000  # reading more would block writers too long


class RecentWrites:
    """The last writes of files, by this process and by others.

    Limited in size. Threads share it without a lock, because a lost entry costs only a needless exchange.
    """

    def __init__(self) -> None:
        self._own_writes: dict[str, tuple[int, int, int]] = {}
        self._foreign_writes: dict[str, float] = {}  # when last seen, monotonic

    def is_contested(self, target: WriteTarget) -> bool:
        """Return whether another process has changed the file so recently that it may still be writing."""
        status = target.status
        age_ns = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns)
        if age_ns < _LATELY_NS and self._own_writes.get(target.path) != _moment(status):
            if len(self._foreign_writes) >= _MAX_WRITES_KNOWN:
                self._foreign_writes.clear()
            self._foreign_writes[target.path] = time.monotonic()
            return True
        return time.monotonic() - self._foreign_writes.get(target.path, -math.inf) < _CONTESTED_S

    def note(self, path: str, status: os.stat_result) -> None:
        """Record a write by this process."""
        if len(self._own_writes) >= _MAX_WRITES_KNOWN:
            self._own_writes.clear()  # costs only a few needless exchanges
        self._own_writes[path] = _moment(status)


def may_be_written_now(status: os.stat_result, now_ns: int) -> bool:
    """Return whether a daemon may be in the middle of a write in place, or about to revert an exchange."""
    is_young = now_ns - max(status.st_mtime_ns, status.st_ctime_ns) < _LATELY_NS
    return (is_young or status.st_nlink > 1) and status.st_size <= _MAX_WAITED_FOR_BYTES


def _moment(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns
