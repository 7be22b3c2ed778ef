"""Decides when tracked files are checked: shortly after a watch event, and periodically in a sweep. Reports its health.

Owns the set of tracked files and the one thread in which they are checked. It does not know what a check finds:
`check(path)` is passed to it. All watches (watches.py) are added and removed in that thread, so that a slow system
call never delays a request.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator

from fileops.model.events import WatcherHealth
from fileops.model.files import Stamp
from fileops.tracking.watches import DirectoryWatches, FolderWatchMaker

DEBOUNCE_S = 0.02  # an editor's save takes less
SWEEP_S = 0.5  # a change without a watch event is published within 1 s
SWEEP_SHARE = 0.009  # of a core, so that an idle daemon stays below a hundredth; many files are swept less often
SWEEP_SLICE = 256  # files between two chances for a hint to be served
REPAIR_EVERY = 4  # sweeps between two checks of all watches
MAX_FOLDERS = 1000  # far below the kernel's own limit, which all programs of the user share

Moved = Callable[[Iterable[tuple[str, Stamp | None]]], list[str]]


class FileMonitor:
    """Calls `check` and `each_sweep` in its own thread (and in that of `sweep_now`) while it holds no lock."""

    def __init__(
        self,
        *,
        check: Callable[[str], None],
        each_sweep: Callable[[], None],
        on_health: Callable[[WatcherHealth], None],
        open_watch: FolderWatchMaker | None,
        moved: Moved,
        debounce_s: float = DEBOUNCE_S,
        sweep_s: float = SWEEP_S,
        max_folders: int = MAX_FOLDERS,
    ) -> None:
        self._check, self._each_sweep, self._on_health = check, each_sweep, on_health
        self._moved, self._debounce_s, self._sweep_s = moved, debounce_s, sweep_s
        self._wake = threading.Condition()
        # Guarded by _wake:
        self._files: dict[str, Stamp | None] = {}
        self._folders: dict[str, set[str]] = {}
        self._hinted: dict[str, float] = {}  # path -> time of the check, oldest hint first
        self._unsynced: dict[str, None] = {}  # folders whose watch is to be added or removed
        self._missing: set[str] = set()  # folders that did not exist yet
        self._dropped_events = False
        self._closing = False
        self._thread: threading.Thread | None = None
        # Only touched in the thread:
        self._watches = DirectoryWatches(
            open_watch, self._on_hint, self._on_move, self._on_lost, max_folders=max_folders
        )
        self._catching_up = False  # events were dropped and not all files have been compared since
        self._health = WatcherHealth(state="ok", reason="")
        self._next_sweep = 0.0
        self._n_sweeps = 0
        self._sweep_cost_s = 0.0

    # --- tracked files (any thread) ---------------------------------------------------------------------------

    def track(self, path: str, stamp: Stamp) -> Stamp | None:
        """Check the file from now on when its stamp is no longer `stamp`. Returns the stamp that was compared so far.

        Touches no file. If the path was not tracked before, call `hint_if_changed` next.
        """
        folder = os.path.dirname(path)
        with self._wake:
            if self._closing:
                return None
            before = self._files.get(path)
            self._files[path] = stamp
            paths = self._folders.get(folder)
            is_new = paths is None
            if paths is None:
                paths = self._folders[folder] = set()
            paths.add(path)
            if is_new or folder in self._missing:
                self._unsynced[folder] = None
                self._start()
                self._wake.notify()
        return before

    def hint_if_changed(self, path: str) -> None:
        """Have the file checked if it has changed between its stamp and the beginning of its watch."""
        with self._wake:
            if path not in self._files or os.path.dirname(path) in self._unsynced:
                return  # compared when its watch is added
            stamp = self._files[path]
        if self._moved(((path, stamp),)):
            self.hint(path)

    def set_baseline(self, path: str, stamp: Stamp | None) -> None:
        """Compare with this stamp from now on: it has been checked."""
        with self._wake:
            if path in self._files:
                self._files[path] = stamp

    def untrack(self, path: str) -> None:
        with self._wake:
            if self._files.pop(path, self) is self:
                return
            self._hinted.pop(path, None)
            folder = os.path.dirname(path)
            paths = self._folders[folder]
            paths.discard(path)
            if not paths:
                del self._folders[folder]
                self._unsynced[folder] = None
                self._wake.notify()

    def hint(self, path: str) -> None:
        """Something may have happened to the file. Never waits."""
        if path not in self._files:  # most hints are about other files of the folder
            return
        with self._wake:
            if path in self._files and path not in self._hinted:
                self._hinted[path] = time.monotonic() + self._debounce_s
                self._wake.notify()

    def sweep_now(self) -> None:
        """Check the hinted files and compare every file once, in the calling thread."""
        with self._wake:
            hinted, self._hinted = tuple(self._hinted), {}
        for path in hinted:
            self._check(path)
        for _ in self._compare_all():
            pass
        self._each_sweep()

    def close(self) -> None:
        with self._wake:
            self._closing = True
            thread, self._thread = self._thread, None
            self._wake.notify()
        if thread is not None:
            thread.join(timeout=5)

    def _start(self) -> None:
        if self._thread is None:
            self._next_sweep = time.monotonic() + self._sweep_s
            self._thread = threading.Thread(target=self._run, name="fileops-monitor", daemon=True)
            self._thread.start()

    # --- callbacks of the watch (its thread) -----------------------------------------------------------------

    def _on_hint(self, folder: str, name: str) -> None:
        self.hint(os.path.join(folder, name))

    def _on_move(self, folder: str, name: str) -> None:
        """Another file has another stamp; so a file with the tracked stamp was moved here by our own commit."""
        path = os.path.join(folder, name)
        if path in self._files and self._moved(((path, self._files.get(path)),)):
            self.hint(path)

    def _on_lost(self, folder: str | None) -> None:
        with self._wake:
            if folder is None:
                self._dropped_events = True
                self._next_sweep = 0.0
            elif folder in self._folders:
                self._unsynced[folder] = None
            self._wake.notify()

    # --- the thread ------------------------------------------------------------------------------------------

    def _run(self) -> None:
        sweep: Iterator[None] | None = None
        while True:
            with self._wake:
                if not self._closing and sweep is None:
                    self._wake.wait(self._idle_s())
                if self._closing:
                    break
                folders, self._unsynced = tuple(self._unsynced), {}
                paths = self._due()
            for folder in folders:
                self._sync_watch(folder)
            for path in paths:
                self._check(path)
            if sweep is None and self._files and time.monotonic() >= self._next_sweep:
                sweep = self._sweep()
            if sweep is not None and next(sweep, self) is self:
                sweep = None
            if folders or sweep is None:
                self._report()
        self._watches.close()

    def _idle_s(self) -> float | None:
        if self._unsynced:
            return 0.0
        times = [next(iter(self._hinted.values()))] if self._hinted else []
        if self._files:
            times.append(self._next_sweep)
        return max(0.0, min(times) - time.monotonic()) if times else None

    def _due(self) -> list[str]:
        now, due = time.monotonic(), list[str]()
        for path, when in self._hinted.items():
            if when > now:
                break
            due.append(path)
        for path in due:
            del self._hinted[path]
        return due

    # --- the sweep -------------------------------------------------------------------------------------------

    def _sweep(self) -> Iterator[None]:
        began = time.thread_time()
        with self._wake:
            self._catching_up, self._dropped_events = self._dropped_events, False
        self._report()
        yield from self._compare_all()
        self._each_sweep()
        self._n_sweeps += 1
        if self._n_sweeps % REPAIR_EVERY == 0:
            yield
            self._repair()
        self._catching_up = False
        self._sweep_cost_s += (time.thread_time() - began - self._sweep_cost_s) / 4  # one slow sweep is no rule
        with self._wake:
            if not self._dropped_events:
                self._next_sweep = time.monotonic() + max(self._sweep_s, self._sweep_cost_s / SWEEP_SHARE)

    def _compare_all(self) -> Iterator[None]:
        with self._wake:
            files = tuple(self._files.items())
        for start in range(0, len(files), SWEEP_SLICE):
            for path in self._moved(files[start : start + SWEEP_SLICE]):
                self._check(path)
                self._recheck_watch(os.path.dirname(path))
            yield

    # --- watches ---------------------------------------------------------------------------------------------

    def _recheck_watch(self, folder: str) -> None:
        """The sweep found a change that had no watch event: have the watch checked."""
        with self._wake:
            if folder in self._folders and folder not in self._unsynced:
                self._unsynced[folder] = None
                self._wake.notify()

    def _sync_watch(self, folder: str) -> None:
        """Add or remove the watch of one folder, then hint at the files that changed while it had none."""
        with self._wake:
            is_wanted = folder in self._folders
            self._missing.discard(folder)
        if not is_wanted:
            self._watches.drop(folder)
            return
        if self._watches.is_in_place(folder):
            return
        if not self._watches.add(folder):
            self._missing.add(folder)
        with self._wake:  # again: files may have been tracked since
            files = [(path, self._files[path]) for path in self._folders.get(folder, ())]
        for path in self._moved(files):
            self.hint(path)

    def _repair(self) -> None:
        """Add every watch that is missing, misplaced or dead. The sweep has just compared all files."""
        if self._watches.is_dead():
            self._report()
            self._watches.close()
        self._watches.allow_retry()
        with self._wake:
            folders = tuple(self._folders)
        for folder in folders:
            self._sync_watch(folder)

    # --- health ----------------------------------------------------------------------------------------------

    def _report(self) -> None:
        catching_up = "events were dropped: all files are being compared"
        reason = catching_up if self._catching_up else self._watches.problem
        health = WatcherHealth(state="degraded" if reason else "ok", reason=reason)
        if health != self._health:
            self._health = health
            self._on_health(health)
