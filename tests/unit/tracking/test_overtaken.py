"""Checks and edits that overlap with reads and writes: a newer record wins, and our own write never looks foreign."""

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager

import pytest
from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken, CommitGuard
from fileops.core.tracker import ReadRecord
from fileops.fs.memory import BytesStream, MemoryFileSystem
from fileops.model.edits import Splice
from fileops.model.files import Committed, ReadProof, Stamp
from fileops.model.sessions import SessionName
from fileops.tracking.filesystem_monitors import FilesystemMonitors, OnHealth
from fileops.tracking.freshness import Freshness
from fileops.tracking.monitor import CheckReport, FileMonitor
from fileops.tracking.registry import TrackerRegistry
from support.events import EventRecorder
from support.patience import PATIENCE_S
from support.session import AgentSession, WallClock

NEVER_S = 3600.0
FILE, MARKER = "/w/f", "/w/marker"
OLD = Stamp(dev=1, ino=1, size_bytes=3, mtime_ns=1, ctime_ns=1, mode=0o644, uid=0, gid=0, n_links=1)
OBSERVED, NEWER = replace(OLD, mtime_ns=2, ctime_ns=2), replace(OLD, mtime_ns=3, ctime_ns=3)


def record_of(stamp: Stamp, given_path: str = FILE) -> ReadRecord:
    return ReadRecord(given_path=given_path, stamp=stamp, taken_ns=stamp.mtime_ns, read_ns=stamp.mtime_ns)


# --- a check that a read overtakes ----------------------------------------------------------------------------


class Registry:
    """A registry with monitors that find no change by themselves."""

    def __init__(self) -> None:
        self.notices = EventRecorder()
        self.monitors = FilesystemMonitors(self.make_monitor, self.notices.publish)
        self.registry = TrackerRegistry(self.monitors, self.notices, WallClock())

    def make_monitor(self, device: int, on_health: OnHealth) -> FileMonitor:
        return FileMonitor(
            check=lambda path: CheckReport(is_observed=False),
            each_sweep=lambda: None,
            on_health=on_health,
            open_watch=None,
            changed_paths=lambda files: [],
            debounce_s=0,
            sweep_s=NEVER_S,
        )

    def apply_after_read(self, stamp: Stamp) -> bool:
        """Enter the verdict "modified" on OLD after the session has read the file again, under `stamp`."""
        old = record_of(OLD)
        self.registry.record_read(SessionName("a"), FILE, old)
        self.registry.record_read(SessionName("a"), FILE, record_of(stamp))
        return self.registry.apply_verdicts(FILE, {SessionName("a"): (old, "modified")}, OBSERVED, OBSERVED.mtime_ns)


@pytest.fixture
def registry() -> Iterator[Registry]:
    registry = Registry()
    yield registry
    registry.monitors.close()


@pytest.mark.parametrize("stamp", [OBSERVED, NEWER])
def test_read_during_a_check_stays_fresh(registry: Registry, stamp: Stamp) -> None:
    registry.apply_after_read(stamp)
    record = registry.registry.record_of(SessionName("a"), FILE)
    assert record is not None
    assert (record.stamp, record.stale) == (stamp, None)
    assert registry.notices.stale() == []


def test_check_is_due_again_if_a_read_of_another_state_has_overtaken_it(registry: Registry) -> None:
    assert registry.apply_after_read(NEWER)
    assert not registry.apply_after_read(OBSERVED)


def test_record_that_was_replaced_is_not_renewed_by_an_edit_that_found_the_old_one(registry: Registry) -> None:
    old = record_of(OLD)
    registry.registry.record_read(SessionName("a"), FILE, old)
    registry.registry.record_read(SessionName("a"), FILE, record_of(NEWER))
    registry.registry.confirm(SessionName("a"), FILE, old, OBSERVED, OBSERVED.mtime_ns, b"")
    record = registry.registry.record_of(SessionName("a"), FILE)
    assert record is not None
    assert record.stamp == NEWER


def test_change_between_a_read_and_its_record_is_noticed_without_watch_and_sweep() -> None:
    fs, notices = MemoryFileSystem(), EventRecorder()
    fs.put(FILE, b"one\n")
    freshness = Freshness(fs, notices, WallClock(), debounce_s=0, sweep_s=NEVER_S)
    read = fs.read(FILE)
    assert read.stamp is not None
    fs.put(FILE, b"two\n")
    freshness.note_read(
        ReadProof(
            session_id=SessionName("a"),
            given_path=FILE,
            path=FILE,
            stamp=read.stamp,
            taken_ns=read.taken_ns,
            digest=read.digest,
        )
    )
    notices.wait_for(lambda: [path for _, path, _, _ in notices.stale()] == [FILE])
    freshness.close()


def test_read_by_one_session_makes_the_other_stale_without_watch_and_sweep() -> None:
    fs, notices = MemoryFileSystem(), EventRecorder()
    fs.put(FILE, b"one\n")
    freshness = Freshness(fs, notices, WallClock(), changed_paths=lambda files: [], debounce_s=0, sweep_s=NEVER_S)
    a, b = (AgentSession(freshness, fs, name) for name in "ab")
    a.read(FILE)
    fs.put(FILE, b"two\n")
    b.read(FILE)
    notices.wait_for(lambda: notices.stale() == [("a", FILE, "modified", "external")])
    freshness.close()


class _SlowlyRead(MemoryFileSystem):
    """One thread reads slowly: until the other's check is over, or waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.slow_thread = 0
        self.is_reading, self.is_checked = threading.Event(), threading.Event()

    def open(self, path: str) -> BytesStream:
        if threading.get_ident() == self.slow_thread:
            self.is_reading.set()
            self.is_checked.wait(0.3)
        return super().open(path)


def test_check_by_a_request_waits_for_that_by_a_monitor() -> None:
    fs = _SlowlyRead()
    freshness = Freshness(fs, EventRecorder(), WallClock(), mode="content", debounce_s=NEVER_S, sweep_s=NEVER_S)
    fs.put(FILE, b"one\n")
    AgentSession(freshness, fs, "a").read(FILE)
    fs.put(FILE, b"two\n")

    def check_slowly() -> None:
        fs.slow_thread = threading.get_ident()
        freshness.check(FILE)

    thread = threading.Thread(target=check_slowly)
    thread.start()
    assert fs.is_reading.wait(PATIENCE_S)
    freshness.check(FILE)
    found = freshness.foreign_changes.paths(SessionName("a"))
    fs.is_checked.set()
    thread.join(PATIENCE_S)
    freshness.close()
    assert found == (FILE,)


# --- a file that another thread keeps locked, for example while it waits for an editor -------------------------


def test_check_of_a_locked_file_delays_no_other_and_is_repeated() -> None:
    fs, notices = MemoryFileSystem(), EventRecorder()
    freshness = Freshness(fs, notices, WallClock(), sweep_s=NEVER_S)
    session = AgentSession(freshness, fs, "a")
    for path in (FILE, MARKER):
        fs.put(path, b"one\n")
        session.read(path)
    with fs.lock(FILE):
        for path in (FILE, MARKER):
            fs.put(path, b"two\n")
            freshness.hint(path)
        notices.wait_for(lambda: [path for _, path, _, _ in notices.stale()] == [MARKER])
    notices.wait_for(lambda: [path for _, path, _, _ in notices.stale()] == [MARKER, FILE])
    freshness.close()


# --- our own write between its commit and its record ----------------------------------------------------------


class SlowlyRecordedWrite:
    """A commit whose hooks wait, inside the file's lock, until `meanwhile` (in another thread) waits for that lock."""

    def __init__(self) -> None:
        self.fs = _LockReporting()
        self.notices = EventRecorder()
        self.fs.put(FILE, b"one\n")
        self.freshness = Freshness(self.fs, self.notices, WallClock(), debounce_s=NEVER_S, sweep_s=NEVER_S)
        AgentSession(self.freshness, self.fs, "a").read(FILE)

    def write(self, meanwhile: Callable[[], None]) -> None:
        failures: list[BaseException] = []

        def run() -> None:
            self.fs.watched_thread = threading.get_ident()
            try:
                meanwhile()
            except BaseException as failure:  # noqa: BLE001 - raised again below, in the thread of the test
                failures.append(failure)
            finally:
                self.fs.is_waiting.set()

        thread = threading.Thread(target=run)

        def after(committed: Committed) -> None:
            thread.start()
            assert self.fs.is_waiting.wait(PATIENCE_S)
            self.freshness.note_write(SessionName("a"), FILE, committed)

        snapshot = self.fs.read(FILE)
        self.fs.replace(snapshot, [Splice(0, len(snapshot.data), b"two\n")], CommitGuard(CancelToken(), after))
        thread.join(PATIENCE_S)
        for failure in failures:
            raise failure


class _LockReporting(MemoryFileSystem):
    """Sets `is_waiting` when the watched thread asks for a lock."""

    def __init__(self) -> None:
        super().__init__()
        self.watched_thread = 0
        self.is_waiting = threading.Event()

    def lock(self, path: str, *, waits: bool = True) -> AbstractContextManager[bool]:
        if threading.get_ident() == self.watched_thread:
            self.is_waiting.set()
        return super().lock(path, waits=waits)


@pytest.fixture
def writing() -> Generator[SlowlyRecordedWrite]:
    writing = SlowlyRecordedWrite()
    yield writing
    writing.freshness.close()


def test_check_during_an_own_write_reports_no_external_change(writing: SlowlyRecordedWrite) -> None:
    writing.write(lambda: writing.freshness.check(FILE))
    assert writing.notices.stale() == []


def test_edit_during_an_own_write_is_not_refused(writing: SlowlyRecordedWrite) -> None:
    writing.write(lambda: writing.freshness.require_fresh(SessionName("a"), writing.fs.read(FILE)))
    assert writing.notices.events == []
