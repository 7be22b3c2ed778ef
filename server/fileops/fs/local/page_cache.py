"""Non-blocking reads for the event loop: they succeed only if path lookup and data are in the kernel's caches.

They cover folders in which a worker thread has opened a file before (`note`), on a local filesystem whose calls return
at once if the data is in memory. `load` returns None for a file that would have to wait or is unusual in any way; a
worker thread then reads it. `has_stamp` only checks the status.
"""

import os
import stat
import time
from collections.abc import Callable

from msgspec import Struct

from fileops.core.stamps import same_stamp
from fileops.fs.local.nofollow import PATH_ONLY, READ, is_unwritten, stamp_of
from fileops.fs.streams import BytesStream
from fileops.model.files import Stamp
from fileops.platform import descriptors, locks, syscalls

MAX_BYTES = 256 * 1024  # reading more takes longer than starting a thread
_MAX_FOLDERS = 65536
_NOWAIT = getattr(os, "RWF_NOWAIT", 0)


class _Disk(Struct, frozen=True):
    """The filesystem of a folder. `is_memory`: it exists only in memory, so no read of it waits."""

    dev: int
    is_memory: bool


class PageCacheReader:
    """Reads small cached files. `may_be_written`: whether a daemon may be writing a file, by status and time."""

    def __init__(self, may_be_written: Callable[[os.stat_result, int], bool]) -> None:
        self._may_be_written = may_be_written
        self._folders: dict[str, _Disk | None] = {}  # by canonical path; None: only workers
        self._is_available = bool(_NOWAIT) and syscalls.has_open_cached()

    def note(self, folder: str, fd: int, dev: int) -> None:
        """Record that a worker thread has opened a file of this canonical folder as `fd`."""
        if not self._is_available or folder in self._folders:
            return
        if len(self._folders) >= _MAX_FOLDERS:
            self._folders.clear()
        kind = syscalls.kind_of_filesystem(fd)
        self._folders[folder] = None if kind == "other" else _Disk(dev, is_memory=kind == "memory")

    def load(self, path: str) -> BytesStream | None:
        """Return the content of a regular file, or None. If it is returned, the path is canonical."""
        folder, slash, name = path.rpartition("/")
        folder = folder or slash  # "" for a relative path
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
                return self._load(fd, taken_ns, disk)
            finally:
                descriptors.close(fd)
        except (OSError, UnicodeEncodeError):  # not cached, or for a worker to report
            return None

    def has_stamp(self, path: str, stamp: Stamp) -> bool:
        """Return whether the file has this stamp; False as well if that cannot be known at once.

        As with `load`, True also means that the path is canonical.
        """
        if self._folders.get(path.rpartition("/")[0] or "/") is None:
            return False
        try:
            fd = syscalls.try_open_cached(os.fsencode(path), PATH_ONLY)
        except (OSError, UnicodeEncodeError):  # not cached, or gone
            return False
        try:
            return same_stamp(stamp, stamp_of(os.fstat(fd)))
        except OSError:
            return False
        finally:
            descriptors.close(fd)

    def _may_be_opened(self, raw_path: bytes, folder: str, disk: _Disk) -> bool:
        """Check the file before it is opened, because opening may act on a device or wait for a mount on the folder."""
        fd = syscalls.try_open_cached(raw_path, PATH_ONLY)
        try:
            status = os.fstat(fd)
        finally:
            descriptors.close(fd)
        if status.st_dev != disk.dev:
            self._folders.pop(folder, None)
            return False
        return stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES

    def _load(self, fd: int, taken_ns: int, disk: _Disk) -> BytesStream | None:
        status = os.fstat(fd)
        if self._may_be_written(status, taken_ns):
            if not locks.try_share(fd):  # until it is closed
                return None
            status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or not status.st_nlink or status.st_size > MAX_BYTES:
            return None
        buffer = bytearray(status.st_size + 1)
        n_bytes = os.preadv(fd, [buffer], 0, 0 if disk.is_memory else _NOWAIT)
        is_whole = n_bytes == status.st_size  # otherwise partly uncached, or growing
        if not is_whole or not is_unwritten(status, os.fstat(fd)):
            return None
        del buffer[n_bytes:]
        return BytesStream(bytes(buffer), stamp_of(status), taken_ns)
