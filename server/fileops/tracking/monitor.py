"""Decides when the tracked files of one filesystem are checked: shortly after a watch event, and in periodic sweeps.

Owns the set of tracked files and the thread in which they are checked. The check itself is a function that is passed
in; it publishes what it finds, and the monitor only learns the stamp to compare with from now on (`CheckReport`). All
watches (watches.py) are added and removed in the monitor's thread, so that a slow system call never delays a request.

If there are more folders than may be watched, the most recently used ones have the watches. A sweep is limited in size:
of many files it most often compares those without a watch and the recently used ones (`schedule.RecencyRounds`).
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from msgspec import Struct

from fileops.core.roots import folder_of
from fileops.model.events import WatcherHealth
from fileops.model.files import Stamp
from fileops.tracking.schedule import DEBOUNCE_S, SWEEP_S, Debouncer, RecencyRounds, SweepPace
from fileops.tracking.tracked_files import TrackedFiles
from fileops.tracking.watches import DirectoryWatches, FolderWatchMaker

SWEEP_FILES = 2000  # compared in one sweep, 2 us each
SWEEP_SLICE = 256  # files or watches until hints are served again
REPAIR_FOLDERS = 1000  # folders whose watches are checked at a time, 3 us each
SLOW_STEP_S = 2.0  # for one step, which compares SWEEP_SLICE files
CATCHING_UP = "events were dropped: all files are being compared"

# Returns the paths whose stamps are no longer the given ones. The stamp of a missing file is None.
ChangedPaths = Callable[[Iterable[tuple[str, Stamp | None]]], list[str]]


class CheckReport(Struct, frozen=True):
    """What a check of one file reports to the monitor.

    is_observed: whether `stamp` was observed (None: there is no file); the monitor then compares with it from now on.
    is_due_again: whether the file must be checked once more, after another debounce.
    """

    is_observed: bool
    stamp: Stamp | None = None
    is_due_again: bool = False


class FileMonitor:
    """Calls `check` and `each_sweep` in its own thread (and in that of `sweep_now`), without holding a lock."""

    def __init__(
        self,
        *,
        check: Callable[[str], CheckReport],
        each_sweep: Callable[[], None],
        on_health: Callable[[WatcherHealth], None],
        open_watch: FolderWatchMaker | None,
        changed_paths: ChangedPaths,
        debounce_s: float = DEBOUNCE_S,
        sweep_s: float = SWEEP_S,
        sweep_files: int = SWEEP_FILES,
    ) -> None:
        self._check = check
        self._each_sweep = each_sweep
        self._on_health = on_health
        self._changed_paths = changed_paths
        self._sweep_s = sweep_s
        self._wake = threading.Condition()
        # Guarded by _wake:
        self._files = TrackedFiles()
        self._hints = Debouncer(debounce_s)
        # Folders whose watch must be added or removed, and whether it may displace another one:
        self._unsynced: dict[str, bool] = {}
        self._dropped_events = False
        self._closing = False
        self._thread: threading.Thread | None = None
        # Only touched in the thread:
        self._watches = DirectoryWatches(open_watch, self._on_hint, self._on_rename, self._on_lost)
        self._file_rounds = RecencyRounds(sweep_files)
        self._folder_rounds = RecencyRounds(REPAIR_FOLDERS)
        self._catching_up = False  # events were dropped and not all files have been compared since
        self._published = WatcherHealth(state="ok", reason="")
        self._next_sweep = 0.0
        self._pace = SweepPace(sweep_s)
        # Set in the thread, read in any: monotonic; None while the thread waits for work.
        self._step_began: float | None = None

    # --- tracked files (any thread) ---------------------------------------------------------------------------

    def track(self, path: str, stamp: Stamp) -> Stamp | None:
        """Check the file from now on when its stamp is no longer `stamp`. Return the stamp that was compared so far.

        Touches no file: if the folder was already watched, the next sweep finds a change since `stamp`, unless the
        caller checks for one.
        """
        folder = folder_of(path)
        with self._wake:
            if self._closing:
                return None
            before = self._files.put(path, stamp)
            if not self._files.is_watched(folder):
                self._unsynced[folder] = True
                self._start()
                self._wake.notify()
        return before

    def untrack(self, path: str) -> None:
        folder = folder_of(path)
        with self._wake:
            if not self._files.remove(path):
                return
            self._hints.discard(path)
            if not self._files.has_folder(folder):
                self._unsynced[folder] = False
                self._wake.notify()

    def hint(self, path: str) -> None:
        """Take a hint that something may have happened to the file. Never waits."""
        if path not in self._files:  # most hints are about other files of the folder
            return
        with self._wake:
            if path in self._files and self._hints.add(path, time.monotonic()):
                self._wake.notify()

    def check(self, path: str) -> None:
        """Check the file, in the calling thread."""
        checked = self._check(path)
        if checked.is_observed:
            with self._wake:
                self._files.set_stamp(path, checked.stamp)
        if checked.is_due_again:
            self.hint(path)

    def sweep_now(self) -> None:
        """Check the hinted files and compare every file once, in the calling thread."""
        with self._wake:
            hinted = self._hints.take_all()
            paths = list(self._files.newest_first())
        for path in hinted:
            self.check(path)
        for _ in self._compare(paths):
            pass
        self._each_sweep()

    @property
    def is_waiting_for_disk(self) -> bool:
        """Return whether the thread has been in one step for so long that its filesystem must be slow or hang."""
        began = self._step_began
        return began is not None and time.monotonic() - began > SLOW_STEP_S

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

    def _on_rename(self, folder: str, name: str) -> None:
        """Hint at the file unless it has the tracked stamp, which means that our own commit renamed it to this name."""
        path = os.path.join(folder, name)
        if path in self._files and self._changed_paths(((path, self._files.stamp(path)),)):
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
    #
    # The thread works in rounds. Each round does a bounded step of all three kinds of work, in this order:
    #
    # 1. Watches that requests or the watcher asked for. They are first because until a folder has its watch its
    #    changes are found by sweeps only, 25 times later than by an event. Setting one may hint at files.
    # 2. The hinted files whose debounce is over. They are what users wait for.
    # 3. One slice of the sweep, if one is under way or due. A sweep is a generator so that it can be left after each
    #    slice: while it runs over thousands of files, a hint waits for one slice and not for all of them.
    #
    # The thread waits only between sweeps, and then until the earliest of what is due. What another thread adds
    # under the lock wakes it. A round takes its work from the shared state under one hold of the lock, and does it
    # without, since all of it may wait for the disk: a request that tracks a file must not wait for a mount.
    #
    # Nothing can be lost between taking work and doing it. A hint that arrives after its path was taken is a new hint.
    # A folder that is marked after it was taken is synced again. And a stamp that is compared was read under the lock
    # together with its path: if it has been replaced since, the comparison hints or checks once too often, at worst.

    def _run(self) -> None:
        sweep: Iterator[None] | None = None
        while True:
            with self._wake:
                self._step_began = None
                if not self._closing and sweep is None:
                    self._wake.wait(self._idle_s())
                if self._closing:
                    break
                self._step_began = time.monotonic()
                unsynced = list(islice(self._unsynced, SWEEP_SLICE))
                folders = [(folder, self._unsynced.pop(folder)) for folder in unsynced]
                paths = self._hints.take_due(time.monotonic())
            for folder, may_displace in folders:
                self._sync_watch(folder, may_displace=may_displace)
            for path in paths:
                self.check(path)
            if sweep is None and self._files and time.monotonic() >= self._next_sweep:
                sweep = self._sweep()
            if sweep is not None and next(sweep, self) is self:
                sweep = None
            if folders or sweep is None:
                self._report_health()
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
            # Taken together: events that are dropped from now on are caught up with by the next sweep.
            self._catching_up = self._dropped_events
            self._dropped_events = False
            newest_first = self._files.newest_first
            if self._catching_up:
                paths = list(newest_first())
            else:
                paths = self._file_rounds.turn(len(self._files), newest_first)
        self._report_health()
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
            for path in self._changed_paths(files):
                self.check(path)
                self._recheck_watch(folder_of(path))
            yield

    # --- watches ---------------------------------------------------------------------------------------------

    def _recheck_watch(self, folder: str) -> None:
        """Have the watch checked: the sweep found a change without a watch event."""
        with self._wake:
            if self._files.has_folder(folder):
                self._unsynced.setdefault(folder, False)
                self._wake.notify()

    def _sync_watch(self, folder: str, *, may_displace: bool) -> bool:
        """Add, keep or remove the watch of one folder as needed, and hint at files that changed without a watch.

        Returns False if there was no room for the watch.
        """
        # No lock is held around the system calls, so files of the folder may be tracked and untracked during them. The
        # cases, by what is wanted and what is there:
        #
        # - No file of the folder is tracked: the watch goes. If a file is tracked after the look, `track` finds the
        #   folder unwatched and marks it, so it is synced again and gets its watch in the next round.
        # - The watch is where it should be, and the files know that: nothing to do. `is_in_place` has removed a watch
        #   whose folder was replaced by another one of its name, which falls into the next case.
        # - There is none: it is added. If there is no room, and a request uses the folder now (`may_displace`), the
        #   folder that was used longest ago gives up its watch. A repair never displaces, or the folders that have no
        #   room would take their watches from one another for ever.
        # - There is one and the files do not know it: the last file of the folder was untracked and another tracked
        #   before this thread removed the watch, or the watcher reported the folder as lost. It is only noted.
        #
        # The watch is set before the stamps are compared, because only that order has no gap: a change before the
        # watch differs from its stamp and is found by the comparison, a change after it has an event. For the same
        # reason the files are listed after the watch is set: for a file that is tracked later, `track` finds the
        # folder watched and leaves the comparison to its caller. The files of a missing folder are compared too, since
        # they are gone.
        with self._wake:
            is_wanted = self._files.has_folder(folder)
            is_watched = self._files.is_watched(folder)
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
        for path in self._changed_paths(files):
            self.hint(path)
        return added != "full"

    def _displace_for(self, folder: str) -> bool:
        """Drop the watch of the least recently used folder. Return False if there is none."""
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
            self._report_health()
            self._watches.close()
        self._watches.allow_retry()
        with self._wake:
            n_folders = self._files.n_folders
            newest_first = self._files.folders_newest_first
            folders = list(newest_first()) if is_dead else self._folder_rounds.turn(n_folders, newest_first)
        has_room = True
        for n, folder in enumerate(folders):
            if has_room or self._watches.has(folder):
                has_room = self._sync_watch(folder, may_displace=False) and has_room
            if n % SWEEP_SLICE == SWEEP_SLICE - 1:
                yield

    # --- health ----------------------------------------------------------------------------------------------

    def _report_health(self) -> None:
        """Publish why changes may be noticed late, if the reason has changed."""
        reason = CATCHING_UP if self._catching_up else self._watches.problem
        health = WatcherHealth(state="degraded" if reason else "ok", reason=reason)
        if health != self._published:
            self._published = health
            self._on_health(health)
