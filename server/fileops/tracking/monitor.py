"""When to look again at a file: watcher hints, a sweep behind them, and the health of both.

Owns the set of files that matter and the one thread in which files are looked at again. It does not know what a look
finds: `look(path)` is given to it. All watches (folder_watches.py) are set and removed in that thread, so a slow system
call never holds up a request.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator

from fileops.model.events import WatcherHealth
from fileops.model.files import Stamp
from fileops.tracking.watches import DirectoryWatches, FolderWatchMaker

DEBOUNCE_S = 0.02  # an editor's save (truncate and write, unlink and create) is over by then
SWEEP_S = 0.5  # what only the sweep can see is told within a second
SWEEP_SHARE = 0.009  # of a core, so that an idle daemon stays below a hundredth; many files are swept less often
SWEEP_SLICE = 256  # files between two chances for a hint to be served
REPAIR_EVERY = 4  # sweeps between two checks of all watches
MAX_FOLDERS = 1000  # far below the kernel's own limit, which all programs of the user share

Moved = Callable[[Iterable[tuple[str, Stamp | None]]], list[str]]


class FileMonitor:
    """`look` and `each_sweep` are called in the monitor's thread (and in `sweep_now`'s) without any lock held."""

    def __init__(
        self,
        *,
        look: Callable[[str], None],
        each_sweep: Callable[[], None],
        on_health: Callable[[WatcherHealth], None],
        open_watch: FolderWatchMaker | None,
        moved: Moved,
        debounce_s: float = DEBOUNCE_S,
        sweep_s: float = SWEEP_S,
        max_folders: int = MAX_FOLDERS,
    ) -> None:
        self._look, self._each_sweep, self._on_health = look, each_sweep, on_health
        self._moved, self._debounce_s, self._sweep_s = moved, debounce_s, sweep_s
        self._wake = threading.Condition()
        # Guarded by _wake:
        self._files: dict[str, Stamp | None] = {}
        self._folders: dict[str, set[str]] = {}
        self._hinted: dict[str, float] = {}  # path -> when to look, in the order of the hints
        self._unsettled: dict[str, None] = {}  # folders whose watch is to be set or removed
        self._missing: set[str] = set()  # folders that were not there when they were to be watched
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

    # --- what matters (any thread) ---------------------------------------------------------------------------

    def track(self, path: str, stamp: Stamp) -> Stamp | None:
        """From now on changes against `stamp` lead to a look; gives what was compared with before.

        Touches no file. Follow it with `check` where the path was not tracked before.
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
                self._unsettled[folder] = None
                self._start()
                self._wake.notify()
        return before

    def check(self, path: str) -> None:
        """Have the file looked at if it moved since its stamp was taken, before it was tracked and watched."""
        with self._wake:
            if path not in self._files or os.path.dirname(path) in self._unsettled:
                return  # it is compared as soon as its watch is set
            stamp = self._files[path]
        if self._moved(((path, stamp),)):
            self.hint(path)

    def observed(self, path: str, stamp: Stamp | None) -> None:
        """What stands there has been looked at and judged; the sweep compares with it from now on."""
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
                self._unsettled[folder] = None
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
        """Serve what is hinted and compare every file once, in the calling thread."""
        with self._wake:
            hinted, self._hinted = tuple(self._hinted), {}
        for path in hinted:
            self._look(path)
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
        """Another file has another stamp, so one that stands as tracked was put there by a commit of ours."""
        path = os.path.join(folder, name)
        if path in self._files and self._moved(((path, self._files.get(path)),)):
            self.hint(path)

    def _on_lost(self, folder: str | None) -> None:
        with self._wake:
            if folder is None:
                self._dropped_events = True
                self._next_sweep = 0.0
            elif folder in self._folders:
                self._unsettled[folder] = None
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
                folders, self._unsettled = tuple(self._unsettled), {}
                paths = self._due()
            for folder in folders:
                self._settle(folder)
            for path in paths:
                self._look(path)
            if sweep is None and self._files and time.monotonic() >= self._next_sweep:
                sweep = self._sweep()
            if sweep is not None and next(sweep, self) is self:
                sweep = None
            if folders or sweep is None:
                self._report()
        self._watches.close()

    def _idle_s(self) -> float | None:
        if self._unsettled:
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
                self._look(path)
                self._doubt(os.path.dirname(path))
            yield

    # --- watches ---------------------------------------------------------------------------------------------

    def _doubt(self, folder: str) -> None:
        """The sweep saw what the watch should have told: have the watch checked."""
        with self._wake:
            if folder in self._folders and folder not in self._unsettled:
                self._unsettled[folder] = None
                self._wake.notify()

    def _settle(self, folder: str) -> None:
        """Bring the watch of one folder in line with what is tracked, then look at what went unobserved."""
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
        with self._wake:  # again: what came since then was tracked before the watch was there
            files = [(path, self._files[path]) for path in self._folders.get(folder, ())]
        for path in self._moved(files):
            self.hint(path)

    def _repair(self) -> None:
        """Set every watch that is missing, misplaced or dead. The sweep has just looked at all files."""
        if self._watches.is_dead():
            self._report()
            self._watches.close()
        self._watches.try_again()
        with self._wake:
            folders = tuple(self._folders)
        for folder in folders:
            self._settle(folder)

    # --- health ----------------------------------------------------------------------------------------------

    def _report(self) -> None:
        catching_up = "events were dropped: all files are being compared"
        reason = catching_up if self._catching_up else self._watches.problem
        health = WatcherHealth(state="degraded" if reason else "ok", reason=reason)
        if health != self._health:
            self._health = health
            self._on_health(health)
