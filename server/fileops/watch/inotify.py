"""Directory watches on inotify, not recursive, through watchdog's private inotify reader.

This is the only place where inotify is opened. The folders of one filesystem have one reader, with one queue of the
kernel and one thread, for all that watch them: the monitor of tracked files (`InotifyWatch`) and the recorder
(`InotifyEvents`) share each watch. A filesystem that hangs delays its own reader only.

watchdog's Observer is not used on Linux: it delays every event for half a second after a file was moved away, keeps a
thread for each directory, reports no overflow to handlers, and ends if a handler raises. `tests/unit/watch/
test_watchdog_seam.py` checks the private names. watchdog is imported when the first directory is watched.

Watch events are only hints: who is notified decides whether a file has changed.
"""

import errno
import os
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from fileops.model.files import FolderEvent, FolderEvents
from fileops.model.internal_errors import WatchError
from fileops.watch.limits import max_inotify_folders
from fileops.watch.stat_scan import identity_of, is_where_it_was

if TYPE_CHECKING:
    from watchdog.observers.inotify_c import InotifyEvent, WatchDescriptor

# One of our commits makes eight events, in less time than this. The debounce of hints is three times as long.
BURST_S = 0.005
READ_WITHIN_S = 2.0  # adding a watch takes microseconds, unless its filesystem hangs
_READ_BYTES = 1 << 16
# See fs/local/own_files.py. Nothing else has such a name, and such a file exists for milliseconds.
_OWN_FILE = re.compile(rb"\.fileops-\d+-[0-9a-z]+-[0-9a-f]{12}\.(?:tmp|journal)")

OnHint = Callable[[str, str], None]
OnLost = Callable[[str | None], None]


class _QueueReader(Protocol):
    """The queue of one filesystem, and the thread that reads it."""

    dispatching: threading.RLock  # held while events are read and handled, and while a watch is added

    def read_now(self, within_s: float = -1) -> bool:
        """Handle all events that the kernel has queued so far.

        Any thread. Return False if another thread takes too long.

        Args: within_s: how long to wait for another thread; -1 for ever.
        """
        ...

    def add(self, watch: "_FolderWatch") -> "WatchDescriptor": ...
    def remove(self, watch: "_FolderWatch") -> None: ...
    def is_alive(self) -> bool: ...
    def end(self) -> None: ...


class InotifyStreams:
    """The readers of all filesystems, each from its first watch to the end of its last subscription. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers: dict[int, _QueueReader] = {}  # by device
        self._users: dict[int, set[_Subscription]] = {}

    def watch(self, on_hint: OnHint, on_rename: OnHint, on_lost: OnLost) -> "InotifyWatch":
        """See ports.DirectoryWatch."""
        return InotifyWatch(self, on_hint, on_rename, on_lost)

    def events(self, on_event: Callable[[], None]) -> "InotifyEvents":
        """See ports.EventStream. Args: on_event: called in a reader's thread when there is something to read."""
        return InotifyEvents(self, on_event)

    def reader_for(self, user: "_Subscription", device: int) -> _QueueReader:
        """Return the reader. Raises: OSError, if no further queue can be opened."""
        with self._lock:
            reader = self._readers.get(device)
            if reader is None or not reader.is_alive():
                reader = self._readers[device] = _open_reader(lambda: self._on_overflow(device))
                self._users[device] = set()
            self._users[device].add(user)
            return reader

    def leave(self, user: "_Subscription") -> None:
        """End the readers that no other subscription uses."""
        with self._lock:
            unused: list[_QueueReader] = []
            for device, users in tuple(self._users.items()):
                users.discard(user)
                if not users:
                    unused.append(self._readers.pop(device))
                    del self._users[device]
        for reader in unused:
            reader.end()

    def _on_overflow(self, device: int) -> None:
        with self._lock:
            users = tuple(self._users.get(device, ()))
        for user in users:
            user.note_overflow()


class _Subscription:
    """The watches of one subscriber. `add` and `remove` take microseconds, unless many events are being handled."""

    def __init__(self, streams: InotifyStreams) -> None:
        self._streams = streams
        self._lock = threading.Lock()
        self._watches: dict[str, _FolderWatch] = {}
        self._readers: set[_QueueReader] = set()
        self._is_closed = False

    def add(self, folder: str) -> None:
        """Watch a folder, unless it is already watched and still the same. Raises: WatchError."""
        device, inode = identity_of(folder)
        with self._lock:
            before = self._watches.get(folder)
        if before is not None:
            if before.identity == (device, inode):
                return
            self.remove(folder)
        try:
            reader = self._streams.reader_for(self, device)
            watch = _FolderWatch(self, reader, folder, device, inode)
            # An event between the kernel's watch and our table would be lost.
            with reader.dispatching:
                watch.descriptor = reader.add(watch)
                with self._lock:
                    self._watches[folder] = watch
                    self._readers.add(reader)
        except OSError as error:
            raise WatchError(
                folder=folder,
                reason=error.strerror or str(error),
                is_missing=error.errno in {errno.ENOENT, errno.ENOTDIR},
                is_full=error.errno == errno.ENOSPC,
            ) from error
        if watch.descriptor == -1:  # watchdog swallows EACCES
            watch.descriptor = None
            self.remove(folder)
            raise WatchError(folder=folder, reason=os.strerror(errno.EACCES))

    def remove(self, folder: str) -> None:
        with self._lock:
            watch = self._watches.pop(folder, None)
        if watch is not None:
            watch.release()

    def is_in_place(self, folder: str) -> bool:
        with self._lock:
            watch = self._watches.get(folder)
        return watch is not None and is_where_it_was(folder, watch.identity)

    def is_alive(self) -> bool:
        with self._lock:
            return not self._is_closed and all(reader.is_alive() for reader in self._readers)

    def close(self) -> None:
        with self._lock:
            watches = tuple(self._watches.values())
            self._watches.clear()
            self._is_closed = True
        for watch in watches:
            watch.release()
        self._streams.leave(self)

    def drop(self, watch: "_FolderWatch") -> bool:
        """Forget a watch that has ended. Return False if it was not its folder's current one."""
        with self._lock:
            is_current = self._watches.get(watch.folder) is watch
            if is_current:
                del self._watches[watch.folder]
        return is_current

    def note_event(self, watch: "_FolderWatch", event: "InotifyEvent") -> None:
        raise NotImplementedError

    def note_end(self, watch: "_FolderWatch") -> None:
        raise NotImplementedError

    def note_overflow(self) -> None:
        raise NotImplementedError


class InotifyWatch(_Subscription):
    """The watches of a monitor, see ports.DirectoryWatch."""

    def __init__(self, streams: InotifyStreams, on_hint: OnHint, on_rename: OnHint, on_lost: OnLost) -> None:
        super().__init__(streams)
        self._on_hint, self._on_rename, self._on_lost = on_hint, on_rename, on_lost

    def max_folders(self) -> int:
        return max_inotify_folders()

    def note_event(self, watch: "_FolderWatch", event: "InotifyEvent") -> None:
        if event.is_delete_self or event.is_move_self:
            self.note_end(watch)
        elif event.name:
            (self._on_rename if event.is_move else self._on_hint)(watch.folder, os.fsdecode(event.name))

    def note_end(self, watch: "_FolderWatch") -> None:
        if self.drop(watch):
            watch.release()
            self._on_lost(watch.folder)

    def note_overflow(self) -> None:
        self._on_lost(None)


class InotifyEvents(_Subscription):
    """The watches of the recorder, see ports.EventStream."""

    has_barrier = True

    def __init__(self, streams: InotifyStreams, on_event: Callable[[], None]) -> None:
        super().__init__(streams)
        self._on_event = on_event
        self._events: deque[FolderEvent] = deque()
        self._is_lost = False
        self._late: set[_QueueReader] = set()  # on filesystems that do not answer; used by the reading thread

    def read(self) -> FolderEvents:
        with self._lock:
            readers = tuple(self._readers)
        for reader in readers:
            if not reader.read_now(within_s=0 if reader in self._late else READ_WITHIN_S):
                self._late.add(reader)
            elif reader in self._late:
                self._late.discard(reader)
                self._is_lost = True  # its events belong to no read
        events = [self._events.popleft() for _ in range(len(self._events))]
        is_lost, self._is_lost = self._is_lost, False
        return FolderEvents(events, is_lost=is_lost)

    def remove_below(self, folder: str) -> None:
        inside = folder + "/"
        with self._lock:
            found = [path for path in self._watches if path == folder or path.startswith(inside)]
        for path in found:
            self.remove(path)

    def note_event(self, watch: "_FolderWatch", event: "InotifyEvent") -> None:
        if not event.name:
            return
        self._events.append(
            FolderEvent(
                folder=watch.folder,
                name=os.fsdecode(event.name),
                is_folder=event.is_directory,
                is_complete=event.is_close_write or event.is_move or event.is_delete or event.is_attrib,
                is_written=event.is_close_write or event.is_moved_to,
                appeared=event.is_create or event.is_moved_to,
                vanished=event.is_delete or event.is_moved_from,
            )
        )
        if len(self._events) == 1:
            self._on_event()

    def note_end(self, watch: "_FolderWatch") -> None:
        self.drop(watch)

    def note_overflow(self) -> None:
        self._is_lost = True
        self._on_event()


class _FolderWatch:
    """watchdog's callbacks of one watch. They run in the thread that reads and must neither raise nor wait."""

    __slots__ = ("_device", "_inode", "_reader", "_subscription", "descriptor", "folder")

    def __init__(self, subscription: _Subscription, reader: _QueueReader, folder: str, device: int, inode: int) -> None:
        self._subscription, self._reader = subscription, reader
        self.folder = folder
        self._device, self._inode = device, inode
        self.descriptor: WatchDescriptor | None = None

    @property
    def identity(self) -> tuple[int, int]:
        return self._device, self._inode

    def release(self) -> None:
        if self.descriptor is not None:
            self._reader.remove(self)
            self.descriptor = None

    def on_event(self, event: "InotifyEvent") -> None:
        self._subscription.note_event(self, event)

    def on_watch_deleted(self, wd: "WatchDescriptor") -> None:
        """The kernel removed the watch: the directory was removed or unmounted."""
        self.descriptor = None
        self._subscription.note_end(self)

    def on_queue_overflow(self) -> None:
        """The reader reports an overflow to each subscription, once."""


def _open_reader(on_overflow: Callable[[], None]) -> _QueueReader:
    """Open a queue and start its thread. Raises: OSError."""
    import fcntl  # not on Windows, where this module is imported as well
    import termios

    from watchdog.observers.inotify_c import CallbackId, InotifyEvent, InotifyFD, Mask
    from watchdog.observers.inotify_c import InotifyConstants as Flag

    def n_queued_bytes(fd: int) -> int:
        return int.from_bytes(fcntl.ioctl(fd, termios.FIONREAD, bytes(4)), sys.byteorder)

    # Each subscription has the same mask, because the kernel keeps one mask for a watch: the last one that was given.
    mask = Mask(
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
        | Flag.IN_EXCL_UNLINK
    )

    class Reader(InotifyFD):
        """A thread that reads, the reader's own or one at a barrier, holds `dispatching` until everything is handled.

        So when `read_now` returns, every event that was queued before has been handled, whichever thread has read it.
        """

        def __init__(self) -> None:
            super().__init__()
            self.dispatching = threading.RLock()

        def run(self) -> None:
            # The thread waits between the first event and the read, because events arrive in bursts. So a commit wakes
            # it twice, after the commit has ended in most cases, and is handled at once.
            while not self._closed:
                if self._check_inotify_fd():
                    time.sleep(BURST_S)
                    self.read_now()
            with self.dispatching, self._lock:  # `close` holds it until it has written to the pipe that is closed here
                self._close_resources()

        def read_now(self, within_s: float = -1) -> bool:
            if not self.dispatching.acquire(timeout=within_s):
                return False
            try:
                n_left = 0 if self._closed else n_queued_bytes(self._inotify_fd)
                while n_left > 0:  # not until the queue is empty, since a program may refill it as fast
                    data = os.read(self._inotify_fd, _READ_BYTES)
                    n_left -= len(data)
                    self._handle(data)
            finally:
                self.dispatching.release()
            return True

        def _handle(self, data: bytes) -> None:
            events = [InotifyEvent(*fields) for fields in self._parse_event_buffer(data)]
            for event in without_noise(events):
                if event.is_queue_overflow:
                    on_overflow()
                else:
                    self.handle_event(event)

        def add(self, watch: _FolderWatch) -> "WatchDescriptor":
            return self.add_callback(os.fsencode(watch.folder), mask, watch, CallbackId(id(watch)))

        def remove(self, watch: _FolderWatch) -> None:
            assert watch.descriptor is not None
            self.remove_callbacks([(watch.descriptor, CallbackId(id(watch)))])

        def end(self) -> None:
            self.stop()
            if threading.current_thread() is not self:
                self.join(timeout=2)

    reader = Reader()
    reader.start()
    return reader


def without_noise(events: "Sequence[InotifyEvent]") -> "list[InotifyEvent]":
    """Return the events of one read without those of our own temp files, which are most of a commit's events.

    Several renames to one name stay: each is a separate write, and their authors may differ.
    """
    return [event for event in events if not _OWN_FILE.fullmatch(event.name)]
