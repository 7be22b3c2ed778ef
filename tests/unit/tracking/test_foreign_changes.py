"""What others changed in a file that a session has read: by diff, and what is known if there is no text to compare."""

from collections.abc import Iterator

import pytest

from fileops.fs.memory import MemoryFileSystem
from fileops.model.digest import content_digest
from fileops.model.sessions import SessionName
from fileops.tracking.freshness import Freshness
from support.events import EventRecorder
from support.session import AgentSession, WallClock

NEVER_S = 3600.0
PATH = "/w/f"


class ForeignWorld:
    def __init__(self) -> None:
        self.fs = MemoryFileSystem()
        self.freshness = Freshness(
            self.fs, EventRecorder(), WallClock(), mode="content", debounce_s=NEVER_S, sweep_s=NEVER_S
        )
        self.changes = self.freshness.foreign_changes
        self.fs.put(PATH, b"one\ntwo\n")
        AgentSession(self.freshness, self.fs, "a").read(PATH)

    def replace_by(self, data: bytes) -> None:
        """As another program does. The session's record turns stale."""
        self.fs.put(PATH, data)
        self.freshness.check(PATH)


@pytest.fixture
def world() -> Iterator[ForeignWorld]:
    world = ForeignWorld()
    yield world
    world.freshness.close()


def test_change_of_a_file_that_was_read_has_a_diff(world: ForeignWorld) -> None:
    assert world.changes.paths(SessionName("a")) == ()
    assert world.changes.at(SessionName("a"), PATH) is None
    world.replace_by(b"one\n2\n")
    assert world.changes.paths(SessionName("a")) == (PATH,)
    change = world.changes.at(SessionName("a"), PATH)
    assert change is not None
    assert (change.changed_by, change.digest) == ("external", content_digest(b"one\n2\n"))
    assert change.diff is not None
    assert "-two\n+2\n" in change.diff


def test_missing_file_has_no_digest(world: ForeignWorld) -> None:
    world.fs.delete(PATH)
    world.freshness.check(PATH)
    change = world.changes.at(SessionName("a"), PATH)
    assert change is not None
    assert (change.digest, change.diff, change.snapshot) == (None, None, None)
    assert world.changes.stamp_at(PATH) is None


def test_unreadable_file_counts_as_changed(world: ForeignWorld) -> None:
    world.replace_by(b"one\n2\n")
    world.fs.delete(PATH)
    world.fs.make_folder(PATH)
    change = world.changes.at(SessionName("a"), PATH)
    assert change is not None
    assert (change.digest, change.diff) == (b"", None)


def test_file_below_a_link_is_not_compared(world: ForeignWorld) -> None:
    world.replace_by(b"one\n2\n")
    world.fs.delete(PATH)
    world.fs.link(PATH, "/w/other")
    assert world.changes.at(SessionName("a"), PATH) is None
    assert world.changes.stamp_at(PATH) is None


def test_reverted_change_is_no_change(world: ForeignWorld) -> None:
    world.replace_by(b"one\n2\n")
    world.fs.put(PATH, b"one\ntwo\n")
    assert world.changes.at(SessionName("a"), PATH) is None


def test_change_that_was_shown_is_the_new_base_unless_the_session_has_read_since(world: ForeignWorld) -> None:
    world.replace_by(b"one\n2\n")
    first = world.changes.at(SessionName("a"), PATH)
    assert first is not None
    world.changes.note_shown(SessionName("a"), first)
    assert world.changes.paths(SessionName("a")) == ()
    world.replace_by(b"one\n3\n")
    world.changes.note_shown(SessionName("a"), first)  # too late: it is not what the session knows
    assert world.changes.paths(SessionName("a")) == (PATH,)
    second = world.changes.at(SessionName("a"), PATH)
    assert second is not None
    assert second.diff is not None
    assert "-2\n+3\n" in second.diff
