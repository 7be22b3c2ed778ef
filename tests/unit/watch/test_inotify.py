"""Hints of the folder watches, on the real thing. What counts is that a hint comes, not how many."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from watchdog.observers.inotify_c import InotifyConstants, InotifyEvent, Mask, WatchDescriptor
from watchdog.observers.polling import PollingObserver

from contract.recording import RecordingHooks
from fileops.fs.local.filesystem import LocalFileSystem
from fileops.fs.local.nofollow import stamp_of
from fileops.model.edits import Splice
from fileops.model.internal_errors import WatchError
from fileops.ports import DirectoryWatch
from fileops.watch.factory import FolderStreams
from fileops.watch.inotify import InotifyStreams, InotifyWatch, without_noise
from fileops.watch.observer import ObserverStreams
from fileops.watch.stat_scan import find_changed_paths
from support.abilities import needs_inotify
from support.patience import PATIENCE_S, wait_until


class Told:
    """What a watch reported, and a bounded wait for it."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.hints: list[tuple[str, str]] = []
        self.lost: list[str | None] = []
        self.gate = threading.Event()
        self.gate.set()

    def on_hint(self, folder: str, name: str) -> None:
        self.gate.wait(PATIENCE_S)
        with self.changed:
            self.hints.append((folder, name))
            self.changed.notify_all()

    def on_lost(self, folder: str | None) -> None:
        with self.changed:
            self.lost.append(folder)
            self.changed.notify_all()

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(is_so, PATIENCE_S), (self.hints, self.lost)

    def wait_for_hint(self, folder: Path, name: str) -> None:
        self.wait_for(lambda: (str(folder), name) in self.hints)


@pytest.fixture
def told() -> Told:
    return Told()


def inotify_folders(told: Told) -> DirectoryWatch:
    return InotifyStreams().watch(told.on_hint, told.on_hint, told.on_lost)


def observed_folders(told: Told) -> DirectoryWatch:
    return ObserverStreams().watch(told.on_hint, told.on_hint, told.on_lost)


def polled_folders(told: Told) -> DirectoryWatch:
    """By an Observer of watchdog that is not inotify's, as on macOS."""
    streams = ObserverStreams(lambda: PollingObserver(timeout=0.02))
    return streams.watch(told.on_hint, told.on_hint, told.on_lost)


WITH_INOTIFY = [pytest.param(make, marks=needs_inotify) for make in (inotify_folders, observed_folders)]


@pytest.fixture(params=[*WITH_INOTIFY, polled_folders])
def watch(request: pytest.FixtureRequest, told: Told) -> Iterator[DirectoryWatch]:
    watch: DirectoryWatch = request.param(told)
    yield watch
    watch.close()


@pytest.fixture
def inotify(told: Told) -> Iterator[InotifyWatch]:
    watch = InotifyStreams().watch(told.on_hint, told.on_hint, told.on_lost)
    yield watch
    watch.close()


def append(path: Path) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("more")


def swap(path: Path) -> None:
    path.with_name("temporary").write_text("new", encoding="utf-8")
    path.with_name("temporary").rename(path)


def touch(path: Path) -> None:
    os.utime(path, (1, 1))


@pytest.mark.parametrize("act", [append, swap, touch, Path.unlink])
def test_change_of_a_file_is_a_watch_event(
    watch: DirectoryWatch, told: Told, tmp_path: Path, act: Callable[[Path], None]
) -> None:
    (tmp_path / "f").write_text("old", encoding="utf-8")
    watch.add(str(tmp_path))
    act(tmp_path / "f")
    told.wait_for_hint(tmp_path, "f")


def test_new_file_is_a_watch_event(watch: DirectoryWatch, told: Told, tmp_path: Path) -> None:
    watch.add(str(tmp_path))
    (tmp_path / "f").write_text("new", encoding="utf-8")
    told.wait_for_hint(tmp_path, "f")


def test_non_utf8_name_is_reported_unchanged(watch: DirectoryWatch, told: Told, tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff")
    watch.add(str(tmp_path))
    (tmp_path / name).write_text("new", encoding="utf-8")
    told.wait_for_hint(tmp_path, name)


def test_folder_below_is_not_watched(watch: DirectoryWatch, told: Told, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    watch.add(str(tmp_path))
    (tmp_path / "below" / "f").write_text("new", encoding="utf-8")
    (tmp_path / "marker").write_text("new", encoding="utf-8")
    told.wait_for_hint(tmp_path, "marker")
    assert all(name != "f" for _, name in told.hints)


def test_reading_a_file_is_no_watch_event(watch: DirectoryWatch, told: Told, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old", encoding="utf-8")
    watch.add(str(tmp_path))
    assert (tmp_path / "f").read_text(encoding="utf-8") == "old"
    (tmp_path / "marker").write_text("new", encoding="utf-8")
    told.wait_for_hint(tmp_path, "marker")
    assert all(name != "f" for _, name in told.hints)


def test_removed_watch_is_silent(watch: DirectoryWatch, told: Told, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        watch.add(str(tmp_path / name))
    watch.remove(str(tmp_path / "a"))
    watch.remove(str(tmp_path / "a"))
    (tmp_path / "a" / "f").write_text("new", encoding="utf-8")
    (tmp_path / "b" / "f").write_text("new", encoding="utf-8")
    told.wait_for_hint(tmp_path / "b", "f")
    assert (str(tmp_path / "a"), "f") not in told.hints


def test_folder_removed_and_created_again_can_be_watched_again(
    watch: DirectoryWatch, told: Told, tmp_path: Path
) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    watch.add(str(folder))
    folder.rename(tmp_path / "away")
    folder.mkdir()
    assert not watch.is_in_place(str(folder))
    watch.remove(str(folder))
    watch.add(str(folder))
    assert watch.is_in_place(str(folder))
    (folder / "f").write_text("new", encoding="utf-8")
    told.wait_for_hint(folder, "f")


def test_missing_folder_is_refused_as_missing(watch: DirectoryWatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for name in ("missing", "file", "file/below"):
        with pytest.raises(WatchError) as refusal:
            watch.add(str(tmp_path / name))
        assert refusal.value.is_missing
        assert not watch.is_in_place(str(tmp_path / name))


def test_closed_watch_is_dead(watch: DirectoryWatch) -> None:
    assert watch.is_alive()
    watch.close()
    assert not watch.is_alive()


@needs_inotify
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_watch_that_is_opened_after_a_reader_died_hears_of_changes(told: Told, tmp_path: Path) -> None:
    """A watch that another subscriber has not closed yet keeps nobody else from a new reader."""

    def fail(folder: str, name: str) -> None:
        raise RuntimeError(f"{folder}/{name}")

    streams = InotifyStreams()
    dying = streams.watch(fail, fail, told.on_lost)
    dying.add(str(tmp_path))
    (tmp_path / "f").write_text("old", encoding="utf-8")
    wait_until(lambda: not dying.is_alive())
    again = streams.watch(told.on_hint, told.on_hint, told.on_lost)
    again.add(str(tmp_path))
    assert again.is_alive()
    append(tmp_path / "f")
    told.wait_for_hint(tmp_path, "f")
    dying.close()
    assert again.is_alive()
    again.close()


@needs_inotify
def test_closed_watch_leaves_no_descriptor(told: Told) -> None:
    """Not even if it is closed before its thread has read: users have 128 inotify queues, for all their programs."""
    n_before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        inotify_folders(told).close()
    assert len(os.listdir("/proc/self/fd")) == n_before


@needs_inotify
def test_file_moved_away_is_a_watch_event_without_its_counterpart(
    inotify: InotifyWatch, told: Told, tmp_path: Path
) -> None:
    (tmp_path / "f").write_text("old", encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    inotify.add(str(tmp_path))
    (tmp_path / "f").rename(tmp_path / "elsewhere" / "f")
    (tmp_path / "marker").write_text("new", encoding="utf-8")
    told.wait_for_hint(tmp_path, "marker")
    names = [name for _, name in told.hints]
    assert names.index("f") < names.index("marker")


def move_away(path: Path) -> None:
    path.rename(path.with_name("away"))


# watchdog's observer of Linux does not report a folder that is moved away; there `is_in_place` finds it.
@pytest.mark.parametrize(
    ("watch", "act"),
    [
        *(pytest.param(inotify_folders, act, marks=needs_inotify) for act in (Path.rmdir, move_away)),
        pytest.param(observed_folders, Path.rmdir, marks=needs_inotify),
        *((polled_folders, act) for act in (Path.rmdir, move_away)),
    ],
    indirect=["watch"],
)
def test_lost_folder_is_reported_once_and_can_be_watched_again(
    watch: DirectoryWatch, told: Told, tmp_path: Path, act: Callable[[Path], None]
) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    watch.add(str(folder))
    act(folder)
    told.wait_for(lambda: bool(told.lost))
    folder.mkdir()
    watch.add(str(folder))
    (folder / "f").write_text("new", encoding="utf-8")
    told.wait_for_hint(folder, "f")
    assert told.lost == [str(folder)]


@needs_inotify
@pytest.mark.parametrize("changed_by", ["us", "another"])
def test_own_commit_is_reported_as_a_move_only(told: Told, tmp_path: Path, changed_by: str) -> None:
    fs, path, moves = LocalFileSystem(state_folder=f"{tmp_path}.state"), tmp_path / "f", Told()
    watch = InotifyStreams().watch(told.on_hint, moves.on_hint, told.on_lost)
    try:
        if changed_by == "another":
            path.write_text("text", encoding="utf-8")  # just now: it is exchanged
        watch.add(str(tmp_path))
        for _ in range(3):
            fs.replace(fs.read(str(path)), [Splice(0, 0, b"ours")], RecordingHooks())
        moves.wait_for_hint(tmp_path, "f")
        (tmp_path / "marker").touch()
        told.wait_for_hint(tmp_path, "marker")
        assert (str(tmp_path), "f") not in told.hints
    finally:
        watch.close()


@needs_inotify
def test_dropped_events_are_reported(inotify: InotifyWatch, told: Told, tmp_path: Path) -> None:
    with open("/proc/sys/fs/inotify/max_queued_events", encoding="ascii") as file:
        n_queued = int(file.read())
    inotify.add(str(tmp_path))
    told.gate.clear()
    # Two names in turn, because the kernel merges equal events that follow each other.
    (tmp_path / "a").touch()
    (tmp_path / "b").touch()
    for i in range(n_queued + 5000):
        os.utime(tmp_path / "ab"[i % 2])
    told.gate.set()
    told.wait_for(lambda: None in told.lost)


@needs_inotify
def test_every_folder_shares_one_thread(inotify: InotifyWatch, tmp_path: Path) -> None:
    inotify.add(str(tmp_path))
    before = threading.active_count()
    for i in range(50):
        (tmp_path / str(i)).mkdir()
        inotify.add(str(tmp_path / str(i)))
    assert threading.active_count() == before


@needs_inotify
def test_watch_of_this_system_is_inotify(told: Told) -> None:
    watch = FolderStreams().watch(told.on_hint, told.on_hint, told.on_lost)
    watch.close()
    assert isinstance(watch, InotifyWatch)


def test_moved_names_the_files_whose_stamps_have_changed(tmp_path: Path) -> None:
    kept, written, gone, new, folder = (tmp_path / name for name in ("kept", "written", "gone", "new", "folder"))
    for path in (kept, written, gone):
        path.write_text("old", encoding="utf-8")
    files = [(str(path), stamp_of(path.stat())) for path in (kept, written, gone)]
    append(written)
    gone.unlink()
    new.write_text("new", encoding="utf-8")
    folder.mkdir()
    missing = [(str(path), None) for path in (new, folder, tmp_path / "missing")]
    assert find_changed_paths([*files, *missing]) == [str(written), str(gone), str(new)]


@pytest.mark.parametrize("field", ["ino", "size_bytes", "mtime_ns", "ctime_ns"])
def test_file_whose_stamp_differs_in_one_thing_has_changed(tmp_path: Path, field: str) -> None:
    """A rename changes the time of the inode in most filesystems, and in others only the inode differs."""
    path = tmp_path / "file"
    path.write_text("text", encoding="utf-8")
    stamp = stamp_of(path.stat())
    assert find_changed_paths([(str(path), stamp)]) == []
    other = replace(stamp, **{field: getattr(stamp, field) + 1})
    assert find_changed_paths([(str(path), other)]) == [str(path)]


# --- our own commits --------------------------------------------------------------------------------------------


@needs_inotify
def test_commit_is_reported_by_its_file_and_not_by_temp_files(told: Told, tmp_path: Path) -> None:
    fs, watch = LocalFileSystem(), inotify_folders(told)
    path = tmp_path / "f"
    path.write_bytes(b"seen")
    try:
        watch.add(str(tmp_path))
        fs.replace(fs.read(str(path)), [Splice(0, 0, b"ours ")], RecordingHooks())
        (tmp_path / ".fileops-notes.tmp").touch()  # not a name that we give
        told.wait_for_hint(tmp_path, ".fileops-notes.tmp")  # after all events of the commit
    finally:
        watch.close()
    assert {name for _, name in told.hints} == {"f", ".fileops-notes.tmp"}


def test_only_events_of_our_own_temp_files_are_left_out() -> None:
    def event(flag: int, name: bytes) -> InotifyEvent:
        return InotifyEvent(WatchDescriptor(1), Mask(flag), 0, name)

    moved_to = event(InotifyConstants.IN_MOVED_TO, b"f")
    changed = event(InotifyConstants.IN_MODIFY, b"f")
    ours = event(InotifyConstants.IN_CREATE, b".fileops-12-3ab-0123456789ab.tmp")
    lost = event(InotifyConstants.IN_Q_OVERFLOW, b"")
    assert without_noise([ours, moved_to, changed, lost, moved_to]) == [moved_to, changed, lost, moved_to]


@needs_inotify
def test_each_rename_over_a_file_is_a_write_of_its_own(tmp_path: Path) -> None:
    """Between two of a command a person may save: who counts the writes would take the first one for the person's."""
    stream = InotifyStreams().events(lambda: None)
    path = tmp_path / "f"
    try:
        stream.add(str(tmp_path))
        for n in range(3):
            (tmp_path / f"new{n}").write_text(f"{n}")
            (tmp_path / f"new{n}").rename(path)
            path.write_text("saved")
        assert [event.is_written for event in stream.read().events if event.name == "f" and event.is_complete] == [
            True
        ] * 6
    finally:
        stream.close()
