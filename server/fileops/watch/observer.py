"""Directory watches through watchdog's Observer, for systems without inotify.

It has no barrier: an event may come long after its change, and nothing shows that all events have come. Nor does it
report when it has dropped some. A caller that needs certainty has to compare the files.
"""

import os
import threading
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from fileops.model.files import FolderEvent, FolderEvents
from fileops.model.internal_errors import WatchError
from fileops.watch.inotify import OnHint, OnLost
from fileops.watch.limits import MAX_EMITTERS
from fileops.watch.stat_scan import Identity, identity_of, is_where_it_was

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers.api import BaseObserver, ObservedWatch

    Watched = tuple[Identity, FileSystemEventHandler, ObservedWatch]


class ObserverStreams:
    """One Observer for all subscribers. A folder that several of them watch has one emitter. Any thread."""

    def __init__(self, make_observer: "Callable[[], BaseObserver] | None" = None) -> None:
        """Args: make_observer: of watchdog; by default the one for this system (FSEvents or kqueue on macOS)."""
        self._make_observer = make_observer
        # The Observer holds its own lock while it calls a handler. So what a handler calls must not take a lock that is
        # held while the Observer is called; handlers only ever add to the set `_dead`.
        self._lock = threading.RLock()
        self._observer: BaseObserver | None = None
        self._n_subscriptions = 0
        self._n_handlers: Counter[ObservedWatch] = Counter()
        self._dead: set[str] = set()  # folders that are gone, and whose emitters have ended with them

    def watch(self, on_hint: OnHint, on_rename: OnHint, on_lost: OnLost) -> "ObserverWatch":
        """See ports.DirectoryWatch. Renames are hints like others."""
        del on_rename
        self._join()
        return ObserverWatch(self, on_hint, on_lost)

    def events(self, on_event: Callable[[], None]) -> "ObserverEvents":
        """See ports.EventStream."""
        self._join()
        return ObserverEvents(self, on_event)

    def _join(self) -> None:
        from watchdog.observers import Observer

        with self._lock:
            if self._observer is None or not self._observer.is_alive():
                self._observer = (self._make_observer or Observer)()
                self._observer.start()
                self._n_handlers.clear()
            self._n_subscriptions += 1

    def leave(self) -> None:
        with self._lock:
            self._n_subscriptions -= 1
            ended = self._observer if self._n_subscriptions == 0 else None
            if ended is not None:
                self._observer = None
        if ended is not None:
            ended.stop()
            ended.join(timeout=2)

    def schedule(self, handler: "FileSystemEventHandler", folder: str) -> "ObservedWatch":
        """Raises: OSError."""
        with self._lock:
            assert self._observer is not None
            if folder in self._dead:  # otherwise nothing would happen: the Observer already knows the path
                self._dead.discard(folder)
                for watch in [watch for watch in self._n_handlers if watch.path == folder]:
                    self._unschedule(watch)
            watch = self._observer.schedule(handler, folder, recursive=False)
            self._n_handlers[watch] += 1
            return watch

    def release(self, handler: "FileSystemEventHandler", watch: "ObservedWatch") -> None:
        with self._lock:
            if self._observer is None or watch not in self._n_handlers:
                return
            self._n_handlers[watch] -= 1
            if self._n_handlers[watch] > 0:
                self._observer.remove_handler_for_watch(handler, watch)
            else:
                self._unschedule(watch)

    def note_end(self, folder: str) -> None:
        """Note that a watched folder is gone. Called by handlers."""
        self._dead.add(folder)

    def _unschedule(self, watch: "ObservedWatch") -> None:
        assert self._observer is not None
        del self._n_handlers[watch]
        with suppress(KeyError):  # its emitter has ended, since the folder is gone
            self._observer.unschedule(watch)

    def is_alive(self) -> bool:
        observer = self._observer
        return observer is not None and observer.is_alive()


class _ObserverSubscription:
    """The watches of one subscriber. `add` and `remove` may wait for the Observer's threads."""

    def __init__(self, streams: ObserverStreams) -> None:
        self._streams = streams
        self._watches: dict[str, Watched] = {}
        self._is_closed = False

    def add(self, folder: str) -> None:
        """Watch a folder, unless it is already watched and still the same. Raises: WatchError."""
        from watchdog.events import FileSystemEventHandler

        identity = identity_of(folder)
        if folder in self._watches:
            if self._watches[folder][0] == identity:
                return
            self.remove(folder)
        forward = self._forward

        class Handler(FileSystemEventHandler):
            def dispatch(self, event: "FileSystemEvent") -> None:
                forward(folder, event)

        handler = Handler()
        try:
            self._watches[folder] = identity, handler, self._streams.schedule(handler, folder)
        except OSError as error:
            raise WatchError(folder=folder, reason=error.strerror or str(error)) from error

    def _forward(self, folder: str, event: "FileSystemEvent") -> None:
        """Forward an event by its names, and do nothing else: an exception here would end the Observer."""
        if event.event_type in {"opened", "closed_no_write"}:
            return
        for path, is_source in ((event.src_path, True), (event.dest_path, False)):
            parent, name = os.path.split(os.fsdecode(path))
            if parent == folder and name:
                self.note_change(folder, name, event, is_source=is_source)
            elif os.fsdecode(path) == folder and event.event_type in {"deleted", "moved"}:
                self._lose(folder)

    def _lose(self, folder: str) -> None:
        if self._watches.pop(folder, None) is not None:  # otherwise it was removed or lost before
            self._streams.note_end(folder)
            self.note_end(folder)

    def remove(self, folder: str) -> None:
        entry = self._watches.pop(folder, None)
        if entry is not None:
            _, handler, watch = entry
            self._streams.release(handler, watch)

    def is_in_place(self, folder: str) -> bool:
        entry = self._watches.get(folder)
        return entry is not None and is_where_it_was(folder, entry[0])

    def is_alive(self) -> bool:
        return not self._is_closed and self._streams.is_alive()

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            for folder in tuple(self._watches):
                self.remove(folder)
            self._streams.leave()

    def note_change(self, folder: str, name: str, event: "FileSystemEvent", *, is_source: bool) -> None:
        raise NotImplementedError

    def note_end(self, folder: str) -> None:
        raise NotImplementedError


class ObserverWatch(_ObserverSubscription):
    """The watches of a monitor, see ports.DirectoryWatch."""

    def __init__(self, streams: ObserverStreams, on_hint: OnHint, on_lost: OnLost) -> None:
        super().__init__(streams)
        self._on_hint, self._on_lost = on_hint, on_lost

    def max_folders(self) -> int:
        return MAX_EMITTERS

    def note_change(self, folder: str, name: str, event: "FileSystemEvent", *, is_source: bool) -> None:
        del event, is_source
        self._on_hint(folder, name)

    def note_end(self, folder: str) -> None:
        self._on_lost(folder)


class ObserverEvents(_ObserverSubscription):
    """The watches of the recorder, see ports.EventStream."""

    has_barrier = False

    def __init__(self, streams: ObserverStreams, on_event: Callable[[], None]) -> None:
        super().__init__(streams)
        self._on_event = on_event
        self._events: deque[FolderEvent] = deque()

    def read(self) -> FolderEvents:
        return FolderEvents([self._events.popleft() for _ in range(len(self._events))])

    def add(self, folder: str) -> None:
        if len(self._watches) >= MAX_EMITTERS:  # each is a thread
            raise WatchError(folder=folder, reason=f"no more than {MAX_EMITTERS} folders are watched", is_full=True)
        super().add(folder)

    def remove_below(self, folder: str) -> None:
        inside = folder + "/"
        for path in [path for path in self._watches if path == folder or path.startswith(inside)]:
            self.remove(path)

    def note_change(self, folder: str, name: str, event: "FileSystemEvent", *, is_source: bool) -> None:
        kind = event.event_type
        self._events.append(
            FolderEvent(
                folder=folder,
                name=name,
                is_folder=event.is_directory,
                is_complete=kind != "modified",
                is_written=kind == "closed" or (kind == "moved" and not is_source),
                appeared=kind == "created" or (kind == "moved" and not is_source),
                vanished=kind == "deleted" or (kind == "moved" and is_source),
            )
        )
        self._on_event()

    def note_end(self, folder: str) -> None:
        """Do nothing: the next comparison finds that the folder's files are gone."""
