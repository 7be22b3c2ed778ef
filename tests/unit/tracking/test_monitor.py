"""When files are looked at, which folders are watched, and how the watcher is said to be."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from fileops.model.events import WatcherHealth
from fileops.model.files import Stamp
from fileops.model.internal_errors import WatchError
from fileops.tracking.monitor import CheckReport, FileMonitor
from support.patience import PATIENCE_S

NEVER_S = 3600.0
SOON_S = 0.01
STAMP = Stamp(dev=1, ino=1, size_bytes=1, mtime_ns=1, ctime_ns=1, mode=0o100644, uid=1, gid=1, n_links=1)


class ToyWatch:
    """A DirectoryWatch whose folders, refusals and death are in the hand of the test."""

    def __init__(self, world: "MonitorWorld") -> None:
        self.world = world
        self.is_closed = False

    def add(self, folder: str) -> None:
        refusal = self.world.refusals.get(folder)
        if refusal is not None:
            raise refusal
        if self.world.n_watches_left == 0:
            raise WatchError(folder=folder, reason="inotify watch limit reached", is_full=True)
        self.world.n_watches_left -= 1
        self.world.watched.append(folder)
        self.world.misplaced.discard(folder)
        self.world.tell()

    def remove(self, folder: str) -> None:
        if folder in self.world.watched:
            self.world.watched.remove(folder)
            self.world.n_removed += 1
            self.world.n_watches_left += 1
            self.world.tell()

    def is_in_place(self, folder: str) -> bool:
        return folder in self.world.watched and folder not in self.world.misplaced

    def max_folders(self) -> int:
        return self.world.max_folders

    def is_alive(self) -> bool:
        return not self.world.is_dead

    def close(self) -> None:
        self.is_closed = True


@dataclass
class MonitorWorld:
    sweep_s: float = NEVER_S
    max_folders: int = 1000
    sweep_files: int = 1000

    def __post_init__(self) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.looked: list[str] = []
        self.answers: list[CheckReport] = []
        self.health: list[WatcherHealth] = []
        self.n_sweeps = 0
        self.n_opened = self.n_removed = 0
        self.n_watches_left = 100_000
        self.changed_paths: set[str] = set()
        self.compared: Counter[str] = Counter()
        self.watched: list[str] = []
        self.misplaced: set[str] = set()
        self.refusals: dict[str, WatchError] = {}
        self.is_dead = False
        self.cannot_open = False
        self.on_hint: Callable[[str, str], None] = lambda folder, name: None
        self.on_rename: Callable[[str, str], None] = lambda folder, name: None
        self.on_lost: Callable[[str | None], None] = lambda folder: None
        self.monitor = FileMonitor(
            check=self.look,
            each_sweep=self.each_sweep,
            on_health=self.on_health,
            open_watch=self.open_watch,
            changed_paths=self.find_changed,
            debounce_s=SOON_S,
            sweep_s=self.sweep_s,
            sweep_files=self.sweep_files,
        )

    def look(self, path: str) -> CheckReport:
        with self.changed:
            self.looked.append(path)
            self.changed_paths.discard(path)
            self.changed.notify_all()
            return self.answers.pop(0) if self.answers else CheckReport(is_observed=False)

    def each_sweep(self) -> None:
        with self.changed:
            self.n_sweeps += 1
            self.changed.notify_all()

    def on_health(self, health: WatcherHealth) -> None:
        with self.changed:
            self.health.append(health)
            self.changed.notify_all()

    def open_watch(
        self,
        on_hint: Callable[[str, str], None],
        on_rename: Callable[[str, str], None],
        on_lost: Callable[[str | None], None],
    ) -> ToyWatch:
        if self.cannot_open:
            raise WatchError(folder="", reason="no inotify here")
        self.on_hint = on_hint
        self.on_rename = on_rename
        self.on_lost = on_lost
        self.n_opened += 1
        self.is_dead = False
        return ToyWatch(self)

    def find_changed(self, files: Iterable[tuple[str, Stamp | None]]) -> list[str]:
        with self.changed:
            paths = [path for path, _ in files]
            self.compared.update(paths)
            return [path for path in paths if path in self.changed_paths]

    def tell(self) -> None:
        with self.changed:
            self.changed.notify_all()

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(is_so, PATIENCE_S), vars(self)

    def track(self, *paths: str) -> None:
        for path in paths:
            self.monitor.track(path, STAMP)

    def wait_for_sweeps(self, n: int) -> None:
        enough = self.n_sweeps + n
        self.wait_for(lambda: self.n_sweeps >= enough)


@pytest.fixture
def quiet() -> Iterator[MonitorWorld]:
    world = MonitorWorld()
    yield world
    world.monitor.close()


@pytest.fixture
def sweeping() -> Iterator[MonitorWorld]:
    world = MonitorWorld(sweep_s=SOON_S)
    yield world
    world.monitor.close()


def test_threads_are_not_started_before_a_file_is_tracked(quiet: MonitorWorld) -> None:
    n_threads = threading.active_count()
    quiet.monitor.hint("/a/f")
    quiet.monitor.untrack("/a/f")
    assert (quiet.n_opened, threading.active_count()) == (0, n_threads)


def test_folder_is_watched_once_until_its_last_file_is_untracked(quiet: MonitorWorld) -> None:
    quiet.track("/a/f", "/a/g", "/b/f", "/a/f")
    quiet.wait_for(lambda: sorted(quiet.watched) == ["/a", "/b"])
    quiet.monitor.untrack("/a/f")
    quiet.monitor.untrack("/b/f")
    quiet.wait_for(lambda: quiet.watched == ["/a"])
    quiet.monitor.untrack("/a/g")
    quiet.wait_for(lambda: quiet.watched == [])


def test_watch_events_of_one_file_lead_to_one_check(quiet: MonitorWorld) -> None:
    quiet.track("/a/f", "/a/g")
    quiet.wait_for(lambda: quiet.watched == ["/a"])
    for _ in range(50):
        quiet.on_hint("/a", "f")
    quiet.on_hint("/a", "other")
    quiet.on_hint("/a", "g")
    quiet.wait_for(lambda: "/a/g" in quiet.looked)
    assert quiet.looked[-1] == "/a/g"
    assert set(quiet.looked) == {"/a/f", "/a/g"}


def test_move_is_checked_if_another_file_is_in_place(quiet: MonitorWorld) -> None:
    quiet.track("/a/f", "/a/g")
    quiet.wait_for(lambda: quiet.watched == ["/a"])
    quiet.on_rename("/a", "f")
    quiet.on_rename("/a", "other")
    quiet.changed_paths.add("/a/g")
    quiet.on_rename("/a", "g")
    quiet.wait_for(lambda: bool(quiet.looked))
    assert quiet.looked == ["/a/g"]


def test_change_before_the_watch_was_set_is_checked(quiet: MonitorWorld) -> None:
    quiet.changed_paths.add("/a/f")
    quiet.track("/a/f")
    quiet.wait_for(lambda: quiet.looked == ["/a/f"])


def test_check_that_is_due_again_is_repeated(quiet: MonitorWorld) -> None:
    quiet.answers = [
        CheckReport(is_observed=False, is_due_again=True),
        CheckReport(is_observed=True, is_due_again=True),
    ]
    quiet.track("/a/f")
    quiet.monitor.hint("/a/f")
    quiet.wait_for(lambda: quiet.looked == ["/a/f"] * 3)


def test_checked_file_is_compared_with_the_stamp_that_was_observed(quiet: MonitorWorld) -> None:
    observed = replace(STAMP, mtime_ns=2)
    quiet.answers = [CheckReport(is_observed=False), CheckReport(is_observed=True, stamp=observed)]
    quiet.track("/a/f")
    quiet.monitor.check("/a/f")
    assert quiet.monitor.track("/a/f", STAMP) == STAMP
    quiet.monitor.check("/a/f")
    assert quiet.monitor.track("/a/f", STAMP) == observed


def test_sweep_finds_changes_without_watch_events(sweeping: MonitorWorld) -> None:
    sweeping.track(*(f"/a/f{i}" for i in range(600)))
    sweeping.wait_for_sweeps(1)
    with sweeping.changed:
        sweeping.changed_paths |= {"/a/f3", "/a/f599"}
    sweeping.wait_for(lambda: sorted(sweeping.looked) == ["/a/f3", "/a/f599"])


def test_sweep_pauses_without_tracked_files(sweeping: MonitorWorld) -> None:
    sweeping.track("/a/f")
    sweeping.wait_for_sweeps(1)
    sweeping.monitor.untrack("/a/f")
    sweeping.wait_for(lambda: sweeping.watched == [])
    n_sweeps = sweeping.n_sweeps
    sweeping.track("/a/g")
    sweeping.wait_for(lambda: sweeping.watched == ["/a"])
    assert sweeping.n_sweeps <= n_sweeps + 2  # the one under way, and the one that is due


@pytest.fixture
def crowded() -> Iterator[MonitorWorld]:
    """Two folders may be watched; /a, /b and /c are used, /a and /c last."""
    world = MonitorWorld(sweep_s=SOON_S, max_folders=2)
    world.track("/a/f", "/b/f")
    world.wait_for(lambda: len(world.watched) == 2)
    world.track("/a/g", "/c/f")
    world.wait_for(lambda: "/c" in world.watched)
    yield world
    world.monitor.close()


def test_folder_beyond_the_cap_replaces_the_least_recently_used_watch(crowded: MonitorWorld) -> None:
    assert sorted(crowded.watched) == ["/a", "/c"]
    crowded.track("/b/g")
    crowded.wait_for(lambda: sorted(crowded.watched) == ["/b", "/c"])
    crowded.wait_for_sweeps(10)
    assert sorted(crowded.watched) == ["/b", "/c"]


def test_folder_beyond_the_cap_is_swept_and_reported_in_the_health(crowded: MonitorWorld) -> None:
    crowded.wait_for(lambda: len(crowded.health) == 1)
    assert crowded.health[0].state == "degraded"
    assert "no more than 2 folders are watched" in crowded.health[0].reason
    crowded.changed_paths.add("/b/f")
    crowded.wait_for(lambda: crowded.looked == ["/b/f"])
    crowded.wait_for_sweeps(10)
    assert sorted(crowded.watched) == ["/a", "/c"]  # a change by others is no use of the folder
    assert len(crowded.health) == 1


def test_freed_watch_goes_to_the_folder_beyond_the_cap(crowded: MonitorWorld) -> None:
    crowded.monitor.untrack("/c/f")
    crowded.wait_for(lambda: bool(crowded.health) and crowded.health[-1].state == "ok")
    assert sorted(crowded.watched) == ["/a", "/b"]


def test_cap_is_read_again_at_run_time(crowded: MonitorWorld) -> None:
    crowded.max_folders = 3
    crowded.wait_for(lambda: bool(crowded.health) and crowded.health[-1].state == "ok")
    assert sorted(crowded.watched) == ["/a", "/b", "/c"]


def test_watch_over_the_system_limit_replaces_the_oldest(quiet: MonitorWorld) -> None:
    quiet.track("/a/f", "/b/f")
    quiet.wait_for(lambda: len(quiet.watched) == 2)
    quiet.n_watches_left = 0
    quiet.track("/c/f")
    quiet.wait_for(lambda: sorted(quiet.watched) == ["/b", "/c"])
    quiet.wait_for(lambda: len(quiet.health) == 1)
    assert quiet.health[0].reason == "a folder cannot be watched: inotify watch limit reached"


def test_sweep_of_many_files_compares_the_last_used_folders_each_time_and_forgets_none() -> None:
    world = MonitorWorld(sweep_s=SOON_S, sweep_files=64)
    paths = [f"/folder-{n}/f" for n in range(400)]
    world.track(*paths)
    world.wait_for(lambda: len(world.watched) == len(paths))
    newest, oldest = paths[-1], paths[0]
    with world.changed:
        world.compared.clear()
        n_sweeps = world.n_sweeps
    world.wait_for(lambda: set(world.compared) == set(paths))
    with world.changed:
        assert world.compared[newest] >= world.n_sweeps - n_sweeps - 1
        assert world.compared.total() <= 64 * (world.n_sweeps - n_sweeps + 1)
        world.compared.clear()
        n_sweeps = world.n_sweeps
    world.track(oldest)
    world.wait_for_sweeps(5)
    with world.changed:
        assert world.compared[oldest] >= 4
    world.monitor.close()


def test_sweep_of_many_files_compares_those_without_a_watch_first() -> None:
    world = MonitorWorld(sweep_s=SOON_S, sweep_files=64)
    world.refusals["/refused"] = WatchError(folder="/refused", reason="Permission denied")
    world.track("/refused/f", *(f"/folder-{n}/f" for n in range(1000)))
    world.wait_for(lambda: len(world.watched) == 1000)
    with world.changed:
        world.compared.clear()
    world.wait_for_sweeps(5)
    with world.changed:
        assert world.compared["/refused/f"] >= 4
    world.monitor.close()


def test_refused_folder_is_reported_once_and_tried_again(sweeping: MonitorWorld) -> None:
    sweeping.refusals["/a"] = WatchError(folder="/a", reason="inotify watch limit reached")
    sweeping.track("/a/f")
    sweeping.wait_for(lambda: len(sweeping.health) == 1)
    assert sweeping.health[0] == WatcherHealth(
        state="degraded", reason="a folder cannot be watched: inotify watch limit reached"
    )
    sweeping.wait_for_sweeps(10)
    assert len(sweeping.health) == 1
    del sweeping.refusals["/a"]
    sweeping.wait_for(lambda: sweeping.health[-1].state == "ok")
    assert sweeping.watched == ["/a"]


def test_missing_folder_is_no_watcher_failure(sweeping: MonitorWorld) -> None:
    sweeping.refusals["/a"] = WatchError(folder="/a", reason="No such file or directory", is_missing=True)
    sweeping.track("/a/f")
    sweeping.wait_for_sweeps(5)
    del sweeping.refusals["/a"]
    sweeping.wait_for(lambda: sweeping.watched == ["/a"])
    assert sweeping.health == []


def test_dropped_events_lead_to_a_sweep_and_are_reported(quiet: MonitorWorld) -> None:
    quiet.track("/a/f")
    quiet.wait_for(lambda: quiet.watched == ["/a"])
    quiet.changed_paths.add("/a/f")
    quiet.on_lost(None)
    quiet.wait_for(lambda: len(quiet.health) == 2)
    assert [health.state for health in quiet.health] == ["degraded", "ok"]
    assert quiet.looked == ["/a/f"]


def test_lost_folder_is_watched_again_and_its_files_compared(quiet: MonitorWorld) -> None:
    quiet.track("/a/f")
    quiet.wait_for(lambda: quiet.watched == ["/a"])
    quiet.changed_paths.add("/a/f")
    quiet.watched.clear()
    quiet.on_lost("/a")
    quiet.wait_for(lambda: quiet.watched == ["/a"])
    quiet.wait_for(lambda: quiet.looked == ["/a/f"])


def test_folder_that_was_missing_is_watched_with_the_next_file_in_it(quiet: MonitorWorld) -> None:
    quiet.refusals["/a"] = WatchError(folder="/a", reason="No such file or directory", is_missing=True)
    quiet.track("/a/f", "/b/f")
    quiet.wait_for(lambda: quiet.watched == ["/b"])
    del quiet.refusals["/a"]
    quiet.track("/a/g")
    quiet.wait_for(lambda: quiet.watched == ["/b", "/a"])


def test_watch_of_a_moved_folder_is_set_again(sweeping: MonitorWorld) -> None:
    sweeping.track("/a/f")
    sweeping.wait_for(lambda: sweeping.watched == ["/a"])
    with sweeping.changed:
        sweeping.misplaced.add("/a")
    sweeping.wait_for(lambda: sweeping.n_removed == 1 and sweeping.watched == ["/a"])


def test_dead_watcher_is_reported_and_replaced(sweeping: MonitorWorld) -> None:
    sweeping.track("/a/f")
    sweeping.wait_for(lambda: sweeping.watched == ["/a"])
    with sweeping.changed:
        sweeping.watched.clear()
        sweeping.is_dead = True
    sweeping.wait_for(lambda: len(sweeping.health) == 2)
    assert [health.state for health in sweeping.health] == ["degraded", "ok"]
    assert (sweeping.watched, sweeping.n_opened) == (["/a"], 2)


def test_sweep_continues_without_a_watcher(sweeping: MonitorWorld) -> None:
    sweeping.cannot_open = True
    sweeping.track("/a/f")
    sweeping.wait_for(lambda: len(sweeping.health) == 1)
    assert sweeping.health[0].reason == "folders cannot be watched: no inotify here"
    sweeping.changed_paths.add("/a/f")
    sweeping.wait_for(lambda: sweeping.looked == ["/a/f"])
    sweeping.cannot_open = False
    sweeping.wait_for(lambda: sweeping.health[-1].state == "ok")


def test_closed_monitor_accepts_no_files(quiet: MonitorWorld) -> None:
    quiet.track("/a/f")
    quiet.monitor.close()
    quiet.monitor.close()
    quiet.track("/a/g")
    quiet.monitor.hint("/a/f")
    assert quiet.looked == []
