"""What waits to be written to the record: its order, and what a lock, a fault or a full disk does to it."""

import math
import sqlite3
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from fileops.model.digest import content_digest
from fileops.model.record import Known, LogQuery
from fileops.record.command_windows import CommandWindows
from fileops.record.entries import EntryWriter, Observed
from fileops.record.folder import FolderRecording
from fileops.record.git_contents import GitContents
from fileops.record.store import FILE_NAME, RecordStore
from fileops.record.turns import TurnRegistry
from fileops.record.write_queue import WRITTEN_AT_ONCE, WriteQueue
from support.clock import Clock

LONG_S = 10.0  # a lock of another program that lasts so long is not waited for


class Desk:
    """A queue of a record in a folder. done: what its transactions did, in order."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.path = folder / FILE_NAME
        self.store = RecordStore(str(folder))
        self.writer = EntryWriter(self.store, CommandWindows(), TurnRegistry(), lambda _entries: None)
        self.faults: list[str] = []
        self.warnings: list[str] = []
        self.done: list[object] = []
        self.queue = WriteQueue(
            self.store,
            self.writer,
            GitContents(lambda _root, _repository, _sizes: {}, lambda _path, data: data),
            on_fault=self.faults.append,
            warn=lambda text, _root: self.warnings.append(text),
            now=clock,
        )

    def put(self, *names: object, root: str | None = None) -> None:
        for name in names:
            self.queue.put(root, lambda name=name: self.done.append(name))

    def put_fault(self, root: str | None, error: Exception) -> None:
        def fail() -> None:
            raise error

        self.queue.put(root, fail)

    def entries(self) -> list[str]:
        """The paths of the record's entries, oldest first."""
        return [entry.path for entry in self.store.entries(LogQuery())[0]][::-1]

    def lock(self) -> sqlite3.Connection:
        """Another program that writes until this connection is closed."""
        other = sqlite3.connect(self.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        return other


@pytest.fixture
def desk(tmp_path: Path, clock: Clock) -> Generator[Desk]:
    made = Desk(tmp_path, clock)
    yield made
    made.store.close()


def created(path: str, text: bytes, at: float) -> Observed:
    after = Known(content="kept", digest=content_digest(text), inode=1, mtime_ns=1, size_bytes=len(text))
    return Observed(
        path=path, root="/p", before=None, after=after, before_data=None, after_data=text, began=at, read=at, time=at,
        commands=(),
    )  # fmt: skip


def test_work_is_done_in_order_and_no_more_than_asked_for(desk: Desk) -> None:
    names = list(range(WRITTEN_AT_ONCE + 2))
    desk.put(*names)
    desk.queue.write()
    assert (desk.done, len(desk.queue)) == (names[:WRITTEN_AT_ONCE], 2)
    assert desk.queue.write_all()
    assert (desk.done, len(desk.queue)) == (names, 0)


def test_changes_are_entries_in_order_and_their_bytes_wait_until_then(desk: Desk, clock: Clock) -> None:
    folder = FolderRecording("/p", None, None)
    desk.queue.put_change(folder, created("/p/b", b"12345", clock.now))
    desk.put("between")
    desk.queue.put_change(folder, created("/p/a", b"123", clock.now))
    assert (desk.queue.n_waiting_bytes, desk.entries()) == (8, [])
    desk.queue.write(1)
    assert (desk.queue.n_waiting_bytes, desk.entries(), desk.done) == (3, ["/p/b"], [])
    assert desk.queue.write_all()
    assert (desk.queue.n_waiting_bytes, desk.entries(), desk.done) == (0, ["/p/b", "/p/a"], ["between"])


@pytest.mark.parametrize(("root", "ended"), [("/p", ["/p"]), (None, [])])
def test_fault_ends_the_recording_of_its_folder_alone(desk: Desk, root: str | None, ended: list[str]) -> None:
    desk.put("before")
    desk.put_fault(root, ValueError("a fault of ours"))
    desk.put("after")
    assert desk.queue.write_all()
    assert (desk.faults, desk.done) == (ended, ["before", "after"])


def test_error_of_the_system_loses_its_part_alone(desk: Desk) -> None:
    desk.put_fault("/p", OSError(5, "Input/output error"))
    desk.put("after")
    assert desk.queue.write_all()
    assert (desk.faults, desk.warnings, desk.done) == ([], [], ["after"])


def test_work_that_finds_a_lock_stays_first_and_is_due_again_soon(desk: Desk, clock: Clock) -> None:
    assert desk.queue.due_at == math.inf
    with closing(desk.lock()):
        desk.put("first", "second")
        assert not desk.queue.write_all()
        assert (desk.done, len(desk.queue), desk.queue.is_delayed) == ([], 2, True)
        assert clock.now < desk.queue.due_at < clock.now + 1
        assert not desk.queue.write_all()  # it is not due yet
    clock.now = desk.queue.due_at
    assert desk.queue.write_all()
    assert (desk.done, desk.queue.is_delayed, desk.queue.due_at) == (["first", "second"], False, math.inf)
    assert not desk.warnings


def test_lock_that_lasts_moves_the_record_to_memory_until_the_file_can_be_written(desk: Desk, clock: Clock) -> None:
    change = created("/p/a", b"1", clock.now)
    with closing(desk.lock()):
        desk.queue.put_change(FolderRecording("/p", None, None), change)
        assert not desk.queue.write_all()
        clock.now += LONG_S
        assert desk.queue.write_all()
        assert (desk.store.is_in_memory, desk.queue.is_delayed, desk.entries()) == (True, True, ["/p/a"])
        (warning,) = desk.warnings
        assert warning.startswith("The record of changes cannot be written: database is locked.")
        returns_at = desk.queue.due_at
        assert clock.now < returns_at < math.inf
    desk.queue.return_to_disk()  # too early
    assert desk.store.is_in_memory
    clock.now = returns_at
    desk.queue.return_to_disk()
    assert (desk.store.is_in_memory, desk.queue.is_delayed, desk.entries()) == (False, False, ["/p/a"])
    assert desk.warnings[1:] == ["The record of changes can be written again. Nothing of it was lost."]


def test_authors_are_settled_once_nothing_waits(desk: Desk, clock: Clock) -> None:
    change = replace(created("/p/a", b"1", clock.now), is_open=True)  # whose save may be reported yet
    desk.queue.put_change(FolderRecording("/p", None, None), change)
    desk.queue.write_all()
    desk.queue.settle()
    due_at = desk.queue.due_at
    assert clock.now < due_at < math.inf
    clock.now = due_at
    desk.put("waits")
    desk.queue.settle()
    assert desk.writer.is_due(clock.now)
    desk.queue.write_all()
    desk.queue.settle()
    assert not desk.writer.is_due(clock.now)
