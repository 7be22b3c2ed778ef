"""Resolving paths some of which hang."""

import threading
from collections import Counter
from collections.abc import Generator
from typing import Self

import pytest

from fileops.concurrency import shares
from fileops.fs.overlay import bounded_resolution
from fileops.fs.overlay.bounded_resolution import BoundedResolution
from fileops.model.errors import FileMissing, IoFailure
from support.patience import PATIENCE_S


class Disk:
    """`/hung/…` does not answer before `answers` is set; `/link` leads to `/file`."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.asked: Counter[str] = Counter()

    def resolve(self, path: str) -> str:
        self.asked[path] += 1
        if path.startswith("/hung"):
            assert self.answers.wait(PATIENCE_S)
        if path == "/missing":
            raise FileMissing
        if path == "/mapped":
            shares.require("mapped /mapped", lambda: IoFailure(reason="full"))
        return "/file" if path == "/link" else path


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Generator[Disk]:
    monkeypatch.setattr(bounded_resolution, "STEP_S", 0.05)
    made = Disk()
    yield made
    made.answers.set()


def test_hung_path_is_late_and_the_others_are_resolved(disk: Disk) -> None:
    resolution = BoundedResolution(disk.resolve)
    assert resolution.outcomes(["/a", "/hung/f", "/link"]) == {"/a": "/a", "/link": "/file"}
    assert resolution.outcomes(["/hung/f", "/b"]) == {"/b": "/b"}
    assert disk.asked["/hung/f"] == 1  # it is not asked again, and no caller waits for it
    late = [thread for thread in threading.enumerate() if thread.name == "fileops-resolution"]
    disk.answers.set()
    for thread in late:
        thread.join(PATIENCE_S)
    assert resolution.outcomes(["/hung/f"]) == {"/hung/f": "/hung/f"}


def test_time_for_all_paths_is_bounded(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_resolution, "WAIT_S", 0.2)
    resolution = BoundedResolution(disk.resolve)
    paths = [f"/hung/{n}" for n in range(100)]
    assert resolution.outcomes(paths) == {}
    assert 0 < len(disk.asked) < 100


def test_failures_are_outcomes_and_the_callers_share_applies(disk: Disk) -> None:
    resolution = BoundedResolution(disk.resolve)
    outcomes = resolution.outcomes(["/missing", "/mapped"])
    assert isinstance(outcomes["/missing"], FileMissing)
    assert outcomes["/mapped"] == "/mapped"
    with shares.wait_for_disk_only():
        outcomes = resolution.outcomes(["/mapped", "/a"])
    assert isinstance(outcomes["/mapped"], shares.NeedsShare)
    assert outcomes["/a"] == "/a"


class AnnouncedStep(float):
    """A timeout that sets an event when a thread begins to wait for so long: `Condition.wait` compares it with 0.

    It asks whether the timeout is more, or since Python 3.14, whether it is not.
    """

    is_awaited: threading.Event

    def __new__(cls, seconds: float) -> Self:
        step = super().__new__(cls, seconds)
        step.is_awaited = threading.Event()
        return step

    def __gt__(self, other: float) -> bool:
        self.is_awaited.set()
        return super().__gt__(other)

    def __le__(self, other: float) -> bool:
        self.is_awaited.set()
        return super().__le__(other)


def test_path_that_is_late_for_another_call_leaves_the_paths_after_it(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = AnnouncedStep(PATIENCE_S)
    monkeypatch.setattr(bounded_resolution, "STEP_S", step)
    other_call = list[object]()

    def resolve(path: str) -> str:
        if path == "/slow" and not other_call:
            other_call.append("begins")
            assert step.is_awaited.wait(PATIENCE_S)  # the first call is patient, the other one is not
            monkeypatch.setattr(bounded_resolution, "STEP_S", 0.05)
            other_call.append(resolution.outcomes(["/slow"]))
        elif path == "/slow":
            disk.resolve("/hung/in the other call")
        return disk.resolve(path)

    resolution = BoundedResolution(resolve)
    assert resolution.outcomes(["/slow", "/after"]) == {"/slow": "/slow", "/after": "/after"}
    assert other_call == ["begins", {}]
    assert resolution.outcomes(["/after"]) == {"/after": "/after"}
