"""Chooses the watcher for this system: inotify on Linux, watchdog's Observer elsewhere.

A separate module, because no watcher imports another.
"""

import sys
from collections.abc import Callable

from fileops.model.internal_errors import WatchError
from fileops.ports import DirectoryWatch, EventStream
from fileops.watch.inotify import InotifyStreams, OnHint, OnLost
from fileops.watch.observer import ObserverStreams


class FolderStreams:
    """The changes in watched folders, read once for all subscribers. A daemon has one; nothing is opened here."""

    def __init__(self) -> None:
        self._streams = InotifyStreams() if sys.platform == "linux" else ObserverStreams()

    def watch(self, on_hint: OnHint, on_rename: OnHint, on_lost: OnLost) -> DirectoryWatch:
        """Start to watch, for a monitor. Raises: WatchError, if directories cannot be watched on this system."""
        try:
            return self._streams.watch(on_hint, on_rename, on_lost)
        except (ImportError, OSError) as error:
            raise WatchError(folder="", reason=str(error)) from error

    def events(self, on_event: Callable[[], None]) -> EventStream:
        """Start to watch, for the recorder.

        Raises: WatchError. Args: on_event: called when there is something to read.
        """
        try:
            return self._streams.events(on_event)
        except (ImportError, OSError) as error:
            raise WatchError(folder="", reason=str(error)) from error
