"""Decides when tracked files are checked: shortly after a watch event, and periodically in a sweep. Reports its health.

Owns the set of tracked files and the one thread in which they are checked. It does not know what a check finds:
`check(path)` is passed to it. All watches (watches.py) are added and removed in that thread, so that a slow system
call never delays a request.

If there are more folders than may be watched, those that were used last have the watches. A sweep has a bounded size:
of many files it compares those without a watch and those that were used last most often (rounds.py).
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from fileops.model.events import WatcherHealth
from fileops.model.files import Stamp
from fileops.tracking.debounce import DEBOUNCE_S, Debouncer
from fileops.tracking.health import MonitorHealth
from fileops.tracking.pace import SWEEP_S, SweepPace
from fileops.tracking.rounds import RecencyRounds
from fileops.tracking.tracked_files import TrackedFiles
from fileops.tracking.watches import DirectoryWatches, FolderWatchMaker

SWEEP_FILES = 2000  # compared in one sweep, 2 us each
SWEEP_SLICE = 256  # files, or watches, between two chances for a hint to be served
REPAIR_FOLDERS = 1000  # whose watches are checked at a time, 3 us each

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
        sweep_files: int = SWEEP_FILES,
    ) -> None:
        self._check, self._each_sweep = check, each_sweep
        self._moved, self._sweep_s = moved, sweep_s
        self._wake = threading.Condition()
        # Guarded by _wake:
        self._files = TrackedFiles()
        self._hints = Debouncer(debounce_s)
        # Folders whose watch is to be added or removed, and whether it may displace another one:
        self._unsynced: dict[str, bool] = {}
        self._dropped_events = False
        self._closing = False
        self._thread: threading.Thread | None = None
        # Only touched in the thread:
        self._watches = DirectoryWatches(open_watch, self._on_hint, self._on_move, self._on_lost)
        self._file_rounds = RecencyRounds(sweep_files)
        self._folder_rounds = RecencyRounds(REPAIR_FOLDERS)
        self._catching_up = False  # events were dropped and not all files have been compared since
        self._health = MonitorHealth(on_health)
        self._next_sweep = 0.0
        self._pace = SweepPace(sweep_s)

    # --- tracked files (any thread) ---------------------------------------------------------------------------

    def track(self, path: str, stamp: Stamp) -> Stamp | None:
        """Check the file from now on when its stamp is no longer `stamp`. Returns the stamp that was compared so far.

        Touches no file. If the path was not tracked before, call `hint_if_changed` next.
        """
        folder = os.path.dirname(path)
        with self._wake:
            if self._closing:
                return None
            before = self._files.put(path, stamp)
            if not self._files.is_watched(folder):
                self._unsynced[folder] = True
                self._start()
                self._wake.notify()
        return before

    def hint_if_changed(self, path: str) -> None:
        """Have the file checked if it has changed between its stamp and the beginning of its watch."""
        with self._wake:
            if path not in self._files:
                return
            stamp = self._files.stamp(path)
        if self._moved(((path, stamp),)):
            self.hint(path)

    def set_baseline(self, path: str, stamp: Stamp | None) -> None:
        """Compare with this stamp from now on: it has been checked."""
        with self._wake:
            self._files.set_stamp(path, stamp)

    def untrack(self, path: str) -> None:
        folder = os.path.dirname(path)
        with self._wake:
            if not self._files.remove(path):
                return
            self._hints.discard(path)
            if not self._files.has_folder(folder):
                self._unsynced[folder] = False
                self._wake.notify()

    def hint(self, path: str) -> None:
        """Something may have happened to the file. Never waits."""
        if path not in self._files:  # most hints are about other files of the folder
            return
        with self._wake:
            if path in self._files and self._hints.add(path, time.monotonic()):
                self._wake.notify()

    def sweep_now(self) -> None:
        """Check the hinted files and compare every file once, in the calling thread."""
        with self._wake:
            hinted = self._hints.take_all()
            paths = list(self._files.newest_first())
        for path in hinted:
            self._check(path)
        for _ in self._compare(paths):
            pass
        self._each_sweep()

    @property
    def is_waiting_for_disk(self) -> bool:
        """Whether the thread has been in one step for so long that its filesystem must be slow, or hang."""
        return self._health.is_stuck

    def begin_close(self) -> None:
        with self._wake:
            self._closing = True
            self._wake.notify()

    def close(self, timeout_s: float = 5.0) -> None:
        self.begin_close()
        with self._wake:
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(timeout_s)

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
        if path in self._files and self._moved(((path, self._files.stamp(path)),)):
            self.hint(path)

    def _on_lost(self, folder: str | None) -> None:
        with self._wake:
            if folder is None:
                self._dropped_events = True
                self._next_sweep = 0.0
            elif self._files.has_folder(folder):
                self._files.set_watched(folder, is_watched=False)
                self._unsynced.setdefault(folder, False)
            self._wake.notify()

    # --- the thread ------------------------------------------------------------------------------------------

    def _run(self) -> None:
        sweep: Iterator[None] | None = None
        while True:
            with self._wake:
                self._health.end_step()
                if not self._closing and sweep is None:
                    self._wake.wait(self._idle_s())
                if self._closing:
                    break
                self._health.begin_step()
                unsynced = list(islice(self._unsynced, SWEEP_SLICE))
                folders = [(folder, self._unsynced.pop(folder)) for folder in unsynced]
                paths = self._hints.take_due(time.monotonic())
            for folder, may_displace in folders:
                self._sync_watch(folder, may_displace=may_displace)
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
        next_sweep = self._next_sweep if self._files else None
        times = [time_s for time_s in (self._hints.next_s, next_sweep) if time_s is not None]
        return max(0.0, min(times) - time.monotonic()) if times else None

    # --- the sweep -------------------------------------------------------------------------------------------

    def _sweep(self) -> Iterator[None]:
        began = time.thread_time()
        with self._wake:
            self._catching_up, self._dropped_events = self._dropped_events, False
            newest = self._files.newest_first
            paths = list(newest()) if self._catching_up else self._file_rounds.turn(len(self._files), newest)
        self._report()
        yield from self._compare(paths)
        self._each_sweep()
        if self._pace.repairs_watches():
            yield
            yield from self._repair()
        self._catching_up = False
        pause_s = self._pace.pause_s(time.thread_time() - began)
        with self._wake:
            if not self._dropped_events:
                self._next_sweep = time.monotonic() + pause_s

    def _compare(self, paths: list[str]) -> Iterator[None]:
        for start in range(0, len(paths), SWEEP_SLICE):
            with self._wake:
                files = self._files.stamps_of(paths[start : start + SWEEP_SLICE])
            for path in self._moved(files):
                self._check(path)
                self._recheck_watch(os.path.dirname(path))
            yield

    # --- watches ---------------------------------------------------------------------------------------------

    def _recheck_watch(self, folder: str) -> None:
        """The sweep found a change that had no watch event: have the watch checked."""
        with self._wake:
            if self._files.has_folder(folder):
                self._unsynced.setdefault(folder, False)
                self._wake.notify()

    def _sync_watch(self, folder: str, *, may_displace: bool) -> bool:
        """Add or remove the watch of one folder. Hint at the files that changed while it had none, or with it.

        Returns False if there was no room for the watch.
        """
        with self._wake:
            is_wanted, is_watched = self._files.has_folder(folder), self._files.is_watched(folder)
        if not is_wanted:
            self._watches.drop(folder)
            return True
        if self._watches.is_in_place(folder):
            added = "watched"
            if is_watched:
                return True
        else:
            added = self._watches.add(folder)
            if added == "full" and may_displace and self._displace_for(folder):
                added = self._watches.add(folder)
        with self._wake:  # again: files may have been tracked since
            self._files.set_watched(folder, is_watched=added == "watched")
            files = self._files.stamps_of(self._files.files_in(folder)) if added in {"watched", "missing"} else []
        for path in self._moved(files):
            self.hint(path)
        return added != "full"

    def _displace_for(self, folder: str) -> bool:
        """Drop the watch of the folder that was used longest ago. Returns False if there is none."""
        with self._wake:
            if (oldest := self._files.least_recently_watched()) is not None:
                self._files.set_watched(oldest, is_watched=False)
        if oldest is not None:
            self._watches.displace(oldest, by=folder)
        return oldest is not None

    def _repair(self) -> Iterator[None]:
        """Add watches that are missing, misplaced or dead. The sweep has just compared the files."""
        is_dead = self._watches.is_dead()
        if is_dead:
            self._report()
            self._watches.close()
        self._watches.allow_retry()
        with self._wake:
            n_turn, newest_first = self._files.n_folders, self._files.folders_newest_first
            folders = list(newest_first()) if is_dead else self._folder_rounds.turn(n_turn, newest_first)
        has_room = True
        for n, folder in enumerate(folders):
            if has_room or self._watches.has(folder):
                has_room = self._sync_watch(folder, may_displace=False) and has_room
            if n % SWEEP_SLICE == SWEEP_SLICE - 1:
                yield

    # --- health ----------------------------------------------------------------------------------------------

    def _report(self) -> None:
        catching_up = "events were dropped: all files are being compared"
        self._health.report(catching_up if self._catching_up else self._watches.problem)
