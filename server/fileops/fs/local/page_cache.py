"""Files that can be had without waiting: name, inode and bytes are in the kernel's memory. For the event loop.

Only what lies in a folder in which a worker thread has opened a file before (`note`), on a filesystem of this machine
whose calls come back at once when what they want is in memory. Whatever would have to wait, or is in any way out of
the ordinary, is left to the worker: `load` says None, and nothing has happened.
"""

import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass

from fileops.fs.local.nofollow import LOOK, READ, is_unwritten, stamp_of
from fileops.fs.streams import BytesStream
from fileops.platform import descriptors, locks, syscalls

MAX_BYTES = 256 * 1024  # more holds up the loop for longer than a thread's start does
_MAX_FOLDERS = 65536
_NOWAIT = getattr(os, "RWF_NOWAIT", 0)


@dataclass(frozen=True, slots=True)
class _Disk:
    """is_memory: a filesystem that has nothing behind the memory, so that no read of it waits."""

    dev: int
    is_memory: bool


class PageCacheReader:
    """may_be_at_work: whether a daemon may be in the middle of writing a file with this status, now (ns)."""

    def __init__(self, may_be_at_work: Callable[[os.stat_result, int], bool]) -> None:
        self._may_be_at_work = may_be_at_work
        self._folders: dict[str, _Disk | None] = {}  # canonical path -> None where it has to be left to the workers
        self._is_there = bool(_NOWAIT) and syscalls.has_open_cached()

    def note(self, folder: str, fd: int, dev: int) -> None:
        """A file of this canonical folder is open as `fd`. In a worker thread."""
        if not self._is_there or folder in self._folders:
            return
        if len(self._folders) >= _MAX_FOLDERS:
            self._folders.clear()
        kind = syscalls.kind_of_filesystem(fd)
        self._folders[folder] = None if kind == "other" else _Disk(dev, is_memory=kind == "memory")

    def load(self, path: str) -> BytesStream | None:
        """The content of a regular file. path: any; it is canonical where something is given."""
        folder, slash, name = path.rpartition("/")
        folder = folder or slash  # nothing, of a relative path
        disk = self._folders.get(folder)
        if disk is None or name in {"", ".", ".."} or "\0" in name:
            return None
        try:
            raw = os.fsencode(path)
            if not self._may_be_opened(raw, folder, disk):
                return None
            taken_ns = time.time_ns()
            fd = syscalls.try_open_cached(raw, READ)
            try:
                return self._loaded(fd, taken_ns, disk)
            finally:
                descriptors.close(fd)
        except (OSError, UnicodeEncodeError):  # not in memory, or something that a worker has to tell of
            return None

    def _may_be_opened(self, raw_path: bytes, folder: str, disk: _Disk) -> bool:
        """Opening alone may do something to a pipe or a device, or wait for what was mounted over the folder."""
        fd = syscalls.try_open_cached(raw_path, LOOK)
        try:
            status = os.fstat(fd)
        finally:
            descriptors.close(fd)
        if status.st_dev != disk.dev:
            self._folders.pop(folder, None)
            return False
        return stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES

    def _loaded(self, fd: int, taken_ns: int, disk: _Disk) -> BytesStream | None:
        status = os.fstat(fd)
        if self._may_be_at_work(status, taken_ns):
            if not locks.try_share(fd):  # until it is closed
                return None
            status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or not status.st_nlink or status.st_size > MAX_BYTES:
            return None
        buffer = bytearray(status.st_size + 1)
        n_bytes = os.preadv(fd, [buffer], 0, 0 if disk.is_memory else _NOWAIT)
        is_whole = n_bytes == status.st_size  # else a part is not in memory, or it grows
        if not is_whole or not is_unwritten(status, os.fstat(fd)):
            return None
        del buffer[n_bytes:]
        return BytesStream(bytes(buffer), stamp_of(status), taken_ns)
