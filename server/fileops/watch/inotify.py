"""Directory watches on inotify, not recursive, through watchdog's private inotify reader.

watchdog's Observer is not used on Linux: it delays every event for half a second after a file was moved away, keeps a
thread for each directory, reports no overflow to handlers, and ends if a handler raises. `tests/unit/watch/
test_watchdog_seam.py` checks the private names. watchdog is imported when the first directory is watched.

Watch events are only hints: the tracking room decides whether a file has changed.
"""

import errno
import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fileops.model.internal_errors import WatchError
from fileops.watch.limits import max_inotify_folders
from fileops.watch.stat_scan import Identity, identity_of, is_where_it_was

if TYPE_CHECKING:
    from watchdog.observers.inotify_c import InotifyEvent, InotifyFD, WatchDescriptor

# One of our commits makes eight events, in less time than this. The debounce of hints is three times as long.
BURST_S = 0.005
# See fs/local/own_files.py. Nothing else has such a name, and such a file is there for milliseconds.
_OWN_FILE = re.compile(rb"\.fileops-\d+-[0-9a-z]+-[0-9a-f]{12}\.(?:tmp|journal)")

OnHint = Callable[[str, str], None]
OnLost = Callable[[str | None], None]


class InotifyWatch:
    """One inotify queue and one thread for all directories. `add` and `remove` take microseconds and never wait."""

    def __init__(self, on_hint: OnHint, on_rename: OnHint, on_lost: OnLost) -> None:
        from watchdog.observers.inotify_c import InotifyConstants as Flag
        from watchdog.observers.inotify_c import Mask

        self._mask = Mask(
            Flag.IN_MODIFY
            | Flag.IN_ATTRIB
            | Flag.IN_CLOSE_WRITE
            | Flag.IN_MOVE
            | Flag.IN_CREATE
            | Flag.IN_DELETE
            | Flag.IN_DELETE_SELF
            | Flag.IN_MOVE_SELF
            | Flag.IN_ONLYDIR
            | Flag.IN_DONT_FOLLOW
        )
        self._on_hint = on_hint
        self._on_rename = on_rename
        self._on_lost = on_lost
        self._lock = threading.Lock()
        self._watches: dict[str, _InotifyCallbacks] = {}
        self._queue = _burst_reader()
        self._queue.start()

    def add(self, folder: str) -> None:
        from watchdog.observers.inotify_c import CallbackId

        watch = _InotifyCallbacks(self, folder, identity_of(folder))
        with self._lock:
            if self._watches.setdefault(folder, watch) is not watch:
                return
        try:
            watch.descriptor = self._queue.add_callback(os.fsencode(folder), self._mask, watch, CallbackId(id(watch)))
        except OSError as error:
            self.remove(folder)
            raise WatchError(
                folder=folder,
                reason=error.strerror or str(error),
                is_missing=error.errno in {errno.ENOENT, errno.ENOTDIR},
                is_full=error.errno == errno.ENOSPC,
            ) from error
        if watch.descriptor == -1:  # watchdog swallows EACCES
            self.remove(folder)
            raise WatchError(folder=folder, reason=os.strerror(errno.EACCES))
        with self._lock:
            is_kept = self._watches.get(folder) is watch
        if not is_kept:  # removed before the descriptor was known
            self._release(watch)
            raise WatchError(folder=folder, reason=os.strerror(errno.ENOENT), is_missing=True)

    def remove(self, folder: str) -> None:
        with self._lock:
            watch = self._watches.pop(folder, None)
        if watch is not None:
            self._release(watch)

    def is_in_place(self, folder: str) -> bool:
        with self._lock:
            watch = self._watches.get(folder)
        return watch is not None and is_where_it_was(folder, watch.identity)

    def max_folders(self) -> int:
        return max_inotify_folders()

    def is_alive(self) -> bool:
        return self._queue.is_alive()

    def close(self) -> None:
        with self._lock:
            self._watches.clear()
        self._queue.stop()
        self._queue.join(timeout=2)

    def on_event(self, folder: str, name: str, *, is_move: bool) -> None:
        (self._on_rename if is_move else self._on_hint)(folder, name)

    def on_lost(self, watch: "_InotifyCallbacks | None") -> None:
        """Report a lost watch; None means that the queue overflowed."""
        if watch is None:
            self._on_lost(None)
            return
        with self._lock:
            is_current = self._watches.get(watch.folder) is watch
            if is_current:
                del self._watches[watch.folder]
        if is_current:
            self._release(watch)
            self._on_lost(watch.folder)

    def _release(self, watch: "_InotifyCallbacks") -> None:
        from watchdog.observers.inotify_c import CallbackId

        if watch.descriptor is not None:
            self._queue.remove_callbacks([(watch.descriptor, CallbackId(id(watch)))])


def _burst_reader() -> "InotifyFD":
    """Return a reader that waits a moment between the first event and the read, because events arrive in bursts.

    So a commit wakes the thread twice, after the commit has ended in most cases, and is handled at once.
    """
    from watchdog.observers.inotify_c import InotifyFD

    class BurstReader(InotifyFD):
        def __init__(self) -> None:
            super().__init__()
            # watchdog takes a new thread for one that reads, and leaves it to that thread to close the descriptors. A
            # thread that is stopped before its first read would never close them.
            self._is_reading = False

        def _check_inotify_fd(self) -> bool:
            is_readable = super()._check_inotify_fd()
            if is_readable:
                time.sleep(BURST_S)
            return is_readable

        def read_events(self, **options: int) -> "list[InotifyEvent]":
            return without_noise(super().read_events(**options))

    return BurstReader()


def without_noise(events: "Sequence[InotifyEvent]") -> "list[InotifyEvent]":
    """Return the events of one read without those that say nothing, in their order.

    These are the events of our own temp files, most of those that a commit makes, and all renames of a name but the
    last: what is at the name is looked at after the read, so an earlier one would find the same.
    """
    kept: list[InotifyEvent] = []
    renamed: set[tuple[int, bytes]] = set()
    for event in reversed(events):
        if _OWN_FILE.fullmatch(event.name):
            continue
        if event.is_move:
            if (event.wd, event.name) in renamed:
                continue
            renamed.add((event.wd, event.name))
        kept.append(event)
    kept.reverse()
    return kept


class _InotifyCallbacks:
    """watchdog's callbacks of one watch. They run in the reader's thread and must neither raise nor wait."""

    __slots__ = ("_owner", "descriptor", "folder", "identity")

    def __init__(self, owner: InotifyWatch, folder: str, identity: Identity) -> None:
        self._owner = owner
        self.folder = folder
        self.identity = identity
        self.descriptor: WatchDescriptor | None = None

    def on_event(self, event: "InotifyEvent") -> None:
        if event.is_delete_self or event.is_move_self:
            self._owner.on_lost(self)
        elif event.name:
            self._owner.on_event(self.folder, os.fsdecode(event.name), is_move=event.is_move)

    def on_watch_deleted(self, wd: "WatchDescriptor") -> None:
        """The kernel removed the watch: the directory was removed or unmounted."""
        self.descriptor = None
        self._owner.on_lost(self)

    def on_queue_overflow(self) -> None:
        self._owner.on_lost(None)
