"""Several filesystems, one of which hangs: the files of the others are checked, and reported once."""

import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterable

import pytest

from fileops.model.events import WatcherHealth
from fileops.model.files import Stamp
from fileops.tracking.filesystem_monitors import MAX_MONITORS, FilesystemMonitors
from fileops.tracking.monitor import CheckReport, FileMonitor
from support.patience import PATIENCE_S

LOCAL, HUNG = 1, 2


def stamp(device: int) -> Stamp:
    return Stamp(dev=device, ino=1, size_bytes=1, mtime_ns=1, ctime_ns=1, mode=0o100644, uid=0, gid=0, n_links=1)


class World:
    """Files of several filesystems; comparing those below /hung takes until `answers` is set."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.changed = threading.Condition()
        self.checked: Counter[str] = Counter()
        self.waiting = threading.Event()
        self.health: list[WatcherHealth] = []
        self.report: dict[int, Callable[[WatcherHealth], None]] = {}
        self.monitors = FilesystemMonitors(self.make, self.health.append)

    def make(self, device: int, on_health: Callable[[WatcherHealth], None]) -> FileMonitor:
        self.report[device] = on_health
        return FileMonitor(
            check=self.check,
            each_sweep=lambda: None,
            on_health=on_health,
            open_watch=None,
            changed_paths=self.find_changed,
            debounce_s=0.001,
            sweep_s=0.01,
        )

    def check(self, path: str) -> CheckReport:
        with self.changed:
            self.checked[path] += 1
            self.changed.notify_all()
        return CheckReport(is_observed=False)

    def find_changed(self, files: Iterable[tuple[str, Stamp | None]]) -> list[str]:
        paths = [path for path, _ in files]
        if any(path.startswith("/hung") for path in paths):
            self.waiting.set()
            assert self.answers.wait(PATIENCE_S)
        return []

    def until_checked(self, path: str, n: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.checked[path] >= n, PATIENCE_S), f"{path} was not checked"


@pytest.fixture
def world() -> Generator[World]:
    made = World()
    try:
        yield made
    finally:
        made.answers.set()
        made.monitors.close()


def test_hung_filesystem_delays_no_check_of_another(world: World) -> None:
    world.monitors.track("/hung/f", stamp(HUNG))  # the first one, too
    world.monitors.track("/here/f", stamp(LOCAL))
    assert world.waiting.wait(PATIENCE_S)
    for n in range(1, 4):
        world.monitors.hint("/here/f")
        world.until_checked("/here/f", n)
    world.monitors.hint("/hung/f")
    assert world.checked["/hung/f"] == 0
    world.answers.set()
    world.until_checked("/hung/f", 1)


def test_file_under_a_new_mount_belongs_to_the_mounted_filesystem(world: World) -> None:
    world.monitors.track("/f", stamp(LOCAL))
    assert world.monitors.has(LOCAL, "/f")
    assert world.monitors.track("/f", stamp(3)) is None  # nothing of it is known there
    assert (world.monitors.has(LOCAL, "/f"), world.monitors.has(3, "/f")) == (False, True)
    world.monitors.track("/f", stamp(LOCAL))
    assert (world.monitors.has(LOCAL, "/f"), world.monitors.has(3, "/f")) == (True, False)
    world.monitors.untrack("/f")
    assert world.monitors.track("/f", stamp(LOCAL)) is None


def test_health_is_that_of_the_worst_filesystem_and_reported_once(world: World) -> None:
    for device in (LOCAL, HUNG):
        world.monitors.track(f"/{device}", stamp(device))
    degraded, ok = WatcherHealth(state="degraded", reason="full"), WatcherHealth(state="ok", reason="")
    world.report[HUNG](degraded)
    world.report[LOCAL](ok)
    world.report[HUNG](ok)
    assert world.health == [degraded, ok]


def test_number_of_threads_is_bounded(world: World) -> None:
    for device in range(MAX_MONITORS + 10):
        world.monitors.track(f"/{device}/f", stamp(device))
    assert len(world.report) == MAX_MONITORS
    last = f"/{MAX_MONITORS + 9}/f"
    world.monitors.hint(last)
    world.until_checked(last, 1)
