"""Watching folders, not recursively, and the cheap look that stands behind it. The only room that knows watchdog.

On Linux it sits on watchdog's inotify reader and not on its Observer: the Observer holds every event back for half a
second after a file was moved away, keeps a thread for each folder, tells no handler of an overflow, and dies of an
exception in one. Elsewhere the Observer is what there is. watchdog is imported when the first folder is watched.

What is reported are hints. Nothing here decides whether a file changed.
"""

import errno
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from fileops.errors import WatchRefused
from fileops.model import Stamp
from fileops.ports import FolderWatch

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import ObservedWatch
    from watchdog.observers.inotify_c import InotifyEvent, InotifyFD, WatchDescriptor

BURST_S = 0.005  # a save of ours makes eight events, and each wakes a thread; hints wait four times as long anyway

OnHint = Callable[[str, str], None]
OnLost = Callable[[str | None], None]
Identity = tuple[int, int]


def open_folder_watch(on_hint: OnHint, on_move: OnHint, on_lost: OnLost) -> FolderWatch:
    """Raises: WatchRefused (no watching to be had here)."""
    try:
        if sys.platform == "linux":
            return InotifyFolders(on_hint, on_move, on_lost)
        return ObservedFolders(on_hint, on_lost)
    except (ImportError, OSError) as error:
        raise WatchRefused(folder="", reason=str(error)) from error


def moved(files: Iterable[tuple[str, Stamp | None]]) -> list[str]:
    """Which of these canonical paths no longer hold a file with that stamp (None: hold one at all).

    One lstat each. A look this cheap misses what happens behind a folder that became a symlink, and a file that is
    no regular file counts as none.
    """
    lstat, paths = os.lstat, list[str]()
    for path, stamp in files:
        try:
            now = lstat(path)
        except OSError:
            if stamp is not None:
                paths.append(path)
            continue
        if stamp is None:
            if stat.S_ISREG(now.st_mode):
                paths.append(path)
        elif (
            now.st_ctime_ns != stamp.ctime_ns
            or now.st_mtime_ns != stamp.mtime_ns
            or now.st_size != stamp.size_bytes
            or now.st_ino != stamp.ino
        ):
            paths.append(path)
    return paths


def _identity(folder: str) -> Identity:
    """Raises: WatchRefused."""
    try:
        status = os.stat(folder, follow_symlinks=False)
    except OSError as error:
        is_missing = error.errno in {errno.ENOENT, errno.ENOTDIR}
        raise WatchRefused(folder=folder, reason=error.strerror or str(error), is_missing=is_missing) from error
    if not stat.S_ISDIR(status.st_mode):
        raise WatchRefused(folder=folder, reason=os.strerror(errno.ENOTDIR), is_missing=True)
    return status.st_dev, status.st_ino


def _stands(folder: str, identity: Identity | None) -> bool:
    try:
        return identity is not None and _identity(folder) == identity
    except WatchRefused:
        return False


class InotifyFolders:
    """One kernel queue and one thread for all folders. `add` and `remove` take microseconds and never wait."""

    def __init__(self, on_hint: OnHint, on_move: OnHint, on_lost: OnLost) -> None:
        from watchdog.observers.inotify_c import InotifyConstants as Flag
        from watchdog.observers.inotify_c import Mask

        self._mask = Mask(
            Flag.IN_MODIFY | Flag.IN_ATTRIB | Flag.IN_CLOSE_WRITE | Flag.IN_MOVE | Flag.IN_CREATE | Flag.IN_DELETE
            | Flag.IN_DELETE_SELF | Flag.IN_MOVE_SELF | Flag.IN_ONLYDIR | Flag.IN_DONT_FOLLOW
        )  # fmt: skip
        self._on_hint, self._on_move, self._on_lost = on_hint, on_move, on_lost
        self._lock = threading.Lock()
        self._watches: dict[str, _InotifyWatch] = {}
        self._queue = _burst_reader()
        self._queue.start()

    def add(self, folder: str) -> None:
        from watchdog.observers.inotify_c import CallbackId

        watch = _InotifyWatch(folder, _identity(folder), self._on_hint, self._on_move, self._lost)
        with self._lock:
            if self._watches.setdefault(folder, watch) is not watch:
                return
        try:
            watch.descriptor = self._queue.add_callback(os.fsencode(folder), self._mask, watch, CallbackId(id(watch)))
        except OSError as error:
            self.remove(folder)
            is_missing = error.errno in {errno.ENOENT, errno.ENOTDIR}
            raise WatchRefused(folder=folder, reason=error.strerror or str(error), is_missing=is_missing) from error
        if watch.descriptor == -1:  # watchdog swallows EACCES
            self.remove(folder)
            raise WatchRefused(folder=folder, reason=os.strerror(errno.EACCES))
        with self._lock:
            is_kept = self._watches.get(folder) is watch
        if not is_kept:  # the folder went away before we knew the watch's descriptor
            self._release(watch)
            raise WatchRefused(folder=folder, reason=os.strerror(errno.ENOENT), is_missing=True)

    def remove(self, folder: str) -> None:
        with self._lock:
            watch = self._watches.pop(folder, None)
        if watch is not None:
            self._release(watch)

    def is_in_place(self, folder: str) -> bool:
        with self._lock:
            watch = self._watches.get(folder)
        return watch is not None and _stands(folder, watch.identity)

    def is_alive(self) -> bool:
        return self._queue.is_alive()

    def close(self) -> None:
        with self._lock:
            self._watches.clear()
        self._queue.stop()
        self._queue.join(timeout=2)

    def _lost(self, watch: "_InotifyWatch | None") -> None:
        if watch is None:
            self._on_lost(None)
            return
        with self._lock:
            is_known = self._watches.get(watch.folder) is watch
            if is_known:
                del self._watches[watch.folder]
        if is_known:
            self._release(watch)
            self._on_lost(watch.folder)

    def _release(self, watch: "_InotifyWatch") -> None:
        from watchdog.observers.inotify_c import CallbackId

        if watch.descriptor is not None:
            self._queue.remove_callbacks([(watch.descriptor, CallbackId(id(watch)))])


def _burst_reader() -> "InotifyFD":
    """Events come in bursts: the first is taken at once, what follows a few at a time."""
    from watchdog.observers.inotify_c import InotifyFD

    class BurstReader(InotifyFD):
        def read_events(self, **options: int) -> "list[InotifyEvent]":
            time.sleep(BURST_S)
            return super().read_events(**options)

    return BurstReader()


class _InotifyWatch:
    """Called in the reader's thread: what it calls must neither raise nor wait."""

    __slots__ = ("_lost", "_on_hint", "_on_move", "descriptor", "folder", "identity")

    def __init__(
        self,
        folder: str,
        identity: Identity,
        on_hint: OnHint,
        on_move: OnHint,
        lost: "Callable[[_InotifyWatch | None], None]",
    ) -> None:
        self.folder, self.identity = folder, identity
        self.descriptor: WatchDescriptor | None = None
        self._on_hint, self._on_move, self._lost = on_hint, on_move, lost

    def on_event(self, event: "InotifyEvent") -> None:
        if event.is_delete_self or event.is_move_self:
            self._lost(self)
        elif event.name:
            tell = self._on_move if event.is_move else self._on_hint
            tell(self.folder, os.fsdecode(event.name))

    def on_watch_deleted(self, wd: "WatchDescriptor") -> None:
        """The kernel took the watch away: the folder was removed or unmounted."""
        self.descriptor = None
        self._lost(self)

    def on_queue_overflow(self) -> None:
        self._lost(None)


class ObservedFolders:
    """watchdog's Observer, for systems without inotify. `add` and `remove` may wait for its threads."""

    def __init__(self, on_hint: OnHint, on_lost: OnLost) -> None:
        from watchdog.observers import Observer

        self._on_hint, self._on_lost = on_hint, on_lost
        self._watches: dict[str, tuple[Identity, ObservedWatch]] = {}
        self._observer = Observer()
        self._observer.start()

    def add(self, folder: str) -> None:
        from watchdog.events import FileSystemEventHandler

        if folder in self._watches:
            return

        hand_on = self._hand_on

        class Handler(FileSystemEventHandler):
            def dispatch(self, event: "FileSystemEvent") -> None:
                hand_on(folder, event)

        identity = _identity(folder)
        try:
            self._watches[folder] = identity, self._observer.schedule(Handler(), folder, recursive=False)
        except OSError as error:
            raise WatchRefused(folder=folder, reason=error.strerror or str(error)) from error

    def _hand_on(self, folder: str, event: "FileSystemEvent") -> None:
        """An exception here would end the Observer, so it does nothing but hand on."""
        if event.event_type in {"opened", "closed_no_write"}:
            return
        for path in (event.src_path, event.dest_path):
            parent, name = os.path.split(os.fsdecode(path))
            if parent == folder and name:
                self._on_hint(folder, name)
            elif os.fsdecode(path) == folder and event.event_type in {"deleted", "moved"}:
                self._on_lost(folder)

    def remove(self, folder: str) -> None:
        known = self._watches.pop(folder, None)
        if known is not None and known[1] in {emitter.watch for emitter in self._observer.emitters}:
            self._observer.unschedule(known[1])

    def is_in_place(self, folder: str) -> bool:
        known = self._watches.get(folder)
        return known is not None and _stands(folder, known[0])

    def is_alive(self) -> bool:
        return self._observer.is_alive()

    def close(self) -> None:
        self._watches.clear()
        self._observer.stop()
        self._observer.join(timeout=2)
