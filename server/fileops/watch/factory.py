"""Choice of the watcher for this system: inotify on Linux, watchdog's Observer elsewhere.

A separate module, because no watcher imports another.
"""

import sys

from fileops.model.internal_errors import WatchError
from fileops.ports import DirectoryWatch
from fileops.watch.inotify import InotifyWatch, OnHint, OnLost
from fileops.watch.observer import ObserverWatch


def open_directory_watch(on_hint: OnHint, on_rename: OnHint, on_lost: OnLost) -> DirectoryWatch:
    """Start a watcher. Raises: WatchError, if directories cannot be watched on this system."""
    try:
        if sys.platform == "linux":
            return InotifyWatch(on_hint, on_rename, on_lost)
        return ObserverWatch(on_hint, on_lost)
    except (ImportError, OSError) as error:
        raise WatchError(folder="", reason=str(error)) from error
