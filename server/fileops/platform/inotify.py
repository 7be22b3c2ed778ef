"""The kernel's queue of changes in folders (inotify(7)), read without waiting and without a thread.

watchdog's reader has a thread, and no way to learn that the queue is empty. The record needs just that: what a command
wrote before its end is in the queue then.
"""

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterator

from msgspec import Struct

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_ONLYDIR, _DONT_FOLLOW, _EXCL_UNLINK = 0x1000000, 0x2000000, 0x4000000
_ISDIR, _IGNORED, _OVERFLOW = 0x40000000, 0x8000, 0x4000
_MASK = (
    _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _ONLYDIR | _DONT_FOLLOW
    | _EXCL_UNLINK
)  # fmt: skip
_HEAD = struct.Struct("iIII")  # watch, mask, cookie, length of the name
_READ_BYTES = 1 << 18

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class InotifyEvent(Struct, frozen=True, gc=False):
    """A change of a name in a watched folder.

    is_complete: the writer has closed the file, or the name is another file now; nothing more follows at once.
    appeared, vanished: the name is new there, or gone from there.
    """

    folder: str
    name: str
    is_folder: bool
    is_complete: bool
    appeared: bool
    vanished: bool


class EventsLost(Exception):
    """The kernel's queue was full, and events were dropped."""


class Inotify:
    """Not thread-safe, apart from `fileno`. Raises (of `__init__`): OSError, where there is no inotify."""

    def __init__(self) -> None:
        if _libc is None:
            raise OSError(errno.ENOSYS, "this system has no inotify")
        self._fd: int = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise _last_error()
        self._folders: dict[int, str] = {}
        self._watches: dict[str, int] = {}

    def fileno(self) -> int:
        """Readable when there are events."""
        return self._fd

    @property
    def n_watches(self) -> int:
        return len(self._watches)

    def has(self, folder: str) -> bool:
        return folder in self._watches

    def add(self, folder: str) -> None:
        """Watch a folder. Raises: OSError (ENOSPC: too many watches; ENOENT, ENOTDIR: there is no folder any more)."""
        assert _libc is not None
        watch: int = _libc.inotify_add_watch(self._fd, os.fsencode(folder), ctypes.c_uint32(_MASK))
        if watch < 0:
            raise _last_error()
        # The kernel returns the watch of a folder that is watched already: it was renamed.
        before = self._folders.get(watch)
        if before is not None:
            self._watches.pop(before, None)
        self._folders[watch], self._watches[folder] = folder, watch

    def remove_below(self, folder: str) -> None:
        """Watch neither the folder nor what was in it."""
        assert _libc is not None
        inside = folder + "/"
        for path in [path for path in self._watches if path == folder or path.startswith(inside)]:
            watch = self._watches.pop(path)
            self._folders.pop(watch, None)
            _libc.inotify_rm_watch(self._fd, watch)

    def events(self) -> Iterator[InotifyEvent]:
        """Yield what is queued now, until the queue is empty. Raises: EventsLost."""
        while True:
            try:
                data = os.read(self._fd, _READ_BYTES)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                watch, mask, _, n_bytes = _HEAD.unpack_from(data, at)
                name = data[at + _HEAD.size : at + _HEAD.size + n_bytes].rstrip(b"\0")
                at += _HEAD.size + n_bytes
                if mask & _OVERFLOW:
                    raise EventsLost
                folder = self._folders.get(watch)
                if mask & _IGNORED:  # the folder is gone
                    if folder is not None and self._watches.get(folder) == watch:
                        del self._watches[folder]
                    self._folders.pop(watch, None)
                elif folder is not None and name:
                    yield InotifyEvent(
                        folder=folder,
                        name=os.fsdecode(name),
                        is_folder=bool(mask & _ISDIR),
                        is_complete=bool(mask & (_CLOSE_WRITE | _MOVED_TO | _MOVED_FROM | _DELETE | _ATTRIB)),
                        appeared=bool(mask & (_CREATE | _MOVED_TO)),
                        vanished=bool(mask & (_MOVED_FROM | _DELETE)),
                    )

    def close(self) -> None:
        os.close(self._fd)


def _last_error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
