"""Directory watches through watchdog's Observer, for systems without inotify."""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from fileops.model.internal_errors import WatchError
from fileops.watch.inotify import OnHint, OnLost
from fileops.watch.limits import MAX_EMITTERS
from fileops.watch.stat_scan import Identity, identity_of, is_where_it_was

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver, ObservedWatch


class ObserverWatch:
    """Watches of directories by an Observer. `add` and `remove` may wait for its threads."""

    def __init__(
        self, on_hint: OnHint, on_lost: OnLost, make_observer: "Callable[[], BaseObserver] | None" = None
    ) -> None:
        """Args: make_observer: of watchdog; by default the one of this system (FSEvents or kqueue on macOS)."""
        from watchdog.observers import Observer

        self._on_hint = on_hint
        self._on_lost = on_lost
        self._watches: dict[str, tuple[Identity, ObservedWatch]] = {}
        self._observer = (make_observer or Observer)()
        self._observer.start()

    def add(self, folder: str) -> None:
        from watchdog.events import FileSystemEventHandler

        if folder in self._watches:
            return

        forward = self._forward

        class Handler(FileSystemEventHandler):
            def dispatch(self, event: "FileSystemEvent") -> None:
                forward(folder, event)

        identity = identity_of(folder)
        try:
            self._watches[folder] = identity, self._observer.schedule(Handler(), folder, recursive=False)
        except OSError as error:
            raise WatchError(folder=folder, reason=error.strerror or str(error)) from error

    def _forward(self, folder: str, event: "FileSystemEvent") -> None:
        """Forward an event as hints. It does nothing else, because an exception here would end the Observer."""
        if event.event_type in {"opened", "closed_no_write"}:
            return
        for path in (event.src_path, event.dest_path):
            parent, name = os.path.split(os.fsdecode(path))
            if parent == folder and name:
                self._on_hint(folder, name)
            elif os.fsdecode(path) == folder and event.event_type in {"deleted", "moved"}:
                self._lose(folder)

    def _lose(self, folder: str) -> None:
        entry = self._watches.pop(folder, None)
        if entry is not None:  # else it was removed or lost before
            self._end(entry[1])
            self._on_lost(folder)

    def remove(self, folder: str) -> None:
        entry = self._watches.pop(folder, None)
        if entry is not None:
            self._end(entry[1])

    def _end(self, watch: "ObservedWatch") -> None:
        with suppress(KeyError):  # its emitter has ended, since the folder is gone
            self._observer.unschedule(watch)

    def is_in_place(self, folder: str) -> bool:
        entry = self._watches.get(folder)
        return entry is not None and is_where_it_was(folder, entry[0])

    def max_folders(self) -> int:
        return MAX_EMITTERS

    def is_alive(self) -> bool:
        return self._observer.is_alive()

    def close(self) -> None:
        self._watches.clear()
        self._observer.stop()
        self._observer.join(timeout=2)
