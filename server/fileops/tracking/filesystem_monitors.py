"""Monitors the tracked files of several filesystems, each with its own FileMonitor and thread.

So a mount that hangs delays only the checks of its own files. A file belongs to the filesystem on which it was when it
was last tracked. The monitors share only the health that they report, which is that of the worst.
"""

import threading
import time
from collections.abc import Callable, Mapping

from fileops.model.events import WatcherHealth
from fileops.model.files import Stamp
from fileops.tracking.monitor import FileMonitor

MAX_MONITORS = 32  # threads and inotify instances; other filesystems share the first
END_S = 5.0  # for the threads to end; one that waits for a mount will not

OnHealth = Callable[[WatcherHealth], None]
Device = int  # st_dev
MonitorMaker = Callable[[Device, OnHealth], FileMonitor]

_OK = WatcherHealth(state="ok", reason="")


class FilesystemMonitors:
    """Finds the monitor of each path. Any thread.

    make: creates a monitor for one filesystem, given what to call with its health. Called under a lock, so it must not
    touch any file.
    """

    def __init__(self, make: MonitorMaker, on_health: OnHealth) -> None:
        self._make = make
        self._on_health = on_health
        self._lock = threading.Lock()
        # Guarded by _lock; replaced and never mutated, so that `hint` needs no lock:
        self._monitors: Mapping[Device, FileMonitor] = {}
        self._first: FileMonitor | None = None
        self._mounted: dict[str, FileMonitor] = {}  # path -> its monitor, if it is not on the first filesystem
        self._health: dict[Device, WatcherHealth] = {}
        self._published = _OK

    def has(self, device: Device, path: str) -> bool:
        """Return whether the path is on this filesystem. Touches no file."""
        return self._of(path) is self._monitors.get(device)

    def track(self, path: str, stamp: Stamp) -> Stamp | None:
        """See FileMonitor.track."""
        with self._lock:
            monitor, before = self._monitor_for(stamp.dev), self._of(path)
            if monitor is self._first:
                self._mounted.pop(path, None)
            else:
                self._mounted[path] = monitor
        if before is not None and before is not monitor:
            before.untrack(path)  # something was mounted or unmounted there
        return monitor.track(path, stamp)

    def untrack(self, path: str) -> None:
        with self._lock:
            monitor = self._of(path)
            self._mounted.pop(path, None)
        if monitor is not None:
            monitor.untrack(path)

    def hint(self, path: str) -> None:
        """See FileMonitor.hint. Never waits."""
        if (monitor := self._of(path)) is not None:
            monitor.hint(path)

    def check(self, path: str) -> None:
        """See FileMonitor.check. No effect before a file is tracked."""
        if (monitor := self._of(path)) is not None:
            monitor.check(path)

    def sweep_now(self) -> None:
        """Check the files of all filesystems that answer, in the calling thread."""
        for monitor in self._monitors.values():
            if not monitor.is_waiting_for_disk:
                monitor.sweep_now()

    def close(self) -> None:
        deadline = time.monotonic() + END_S
        with self._lock:
            monitors = tuple(self._monitors.values())
        for monitor in monitors:
            monitor.begin_close()
        for monitor in monitors:
            monitor.close(max(deadline - time.monotonic(), 0.0))

    def _of(self, path: str) -> FileMonitor | None:
        return self._mounted.get(path, self._first)

    def _monitor_for(self, device: Device) -> FileMonitor:
        """Called under the lock."""
        monitor = self._monitors.get(device)
        if monitor is None and self._first is not None and len(self._monitors) >= MAX_MONITORS:
            return self._first
        if monitor is None:
            monitor = self._make(device, lambda health: self._note_health(device, health))
            self._monitors = {**self._monitors, device: monitor}
            self._first = self._first or monitor
        return monitor

    def _note_health(self, device: Device, health: WatcherHealth) -> None:
        """Called in the threads of the monitors."""
        with self._lock:
            self._health[device] = health
            worst = next((health for health in self._health.values() if health.state != "ok"), _OK)
            if worst == self._published:
                return
            self._published = worst
            self._on_health(worst)
