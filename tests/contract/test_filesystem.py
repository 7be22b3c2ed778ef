"""What every FileSystem promises (fileops/ports/files.py), on all of them."""

import threading
from typing import Any

import pytest

from contract.recording import RecordingHooks
from contract.worlds import FileSystemWorld
from fileops.core.stamps import same_stamp
from fileops.model.edits import Splice
from fileops.model.errors import AlreadyExists, FileMissing, FileOpsError, IoFailure, IsDirectory, NotAbsolute
from fileops.model.internal_errors import Cancelled, PathMoved, Stale

# --- resolve --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("{}/f", "{}/f"),
        ("{}//f", "{}/f"),
        ("/{}/f/", "{}/f"),
        ("{}/./a/../f", "{}/f"),
        ("{}/missing/below/x", "{}/missing/below/x"),
        ("{}/missing/../f", "{}/f"),
        ("{}/link", "{}/f"),
        ("{}/chain", "{}/f"),
        ("{}/tolink/x", "{}/a/x"),
        ("{}/tolink/../f", "{}/f"),
        ("{}/dangling", "{}/nowhere/x"),
        ("{}/absolute", "{}/a"),
        ("{}/n\udcff\udcfe", "{}/n\udcff\udcfe"),
        ("/../../..{}/f", "{}/f"),
        ("/", "/"),
        ("//", "/"),
    ],
)
def test_resolve_returns_the_canonical_path(world: FileSystemWorld, given: str, expected: str) -> None:
    world.put(f"{world.folder}/f", b"x")
    world.make_folder(f"{world.folder}/a")
    links = {
        "link": "f",
        "chain": "link",
        "tolink": "a",
        "dangling": "nowhere/x",
        "absolute": f"{world.folder}/a",
    }
    for name, target in links.items():
        if any(word in given for word in links):
            world.link(f"{world.folder}/{name}", target)
    assert world.fs.resolve(given.format(world.folder)) == expected.format(world.folder)


@pytest.mark.parametrize("name", ["a\0b", "\0", "n" * 300, "\ud800"])
def test_file_with_impossible_name_is_missing(world: FileSystemWorld, name: str) -> None:
    with pytest.raises(FileMissing):
        world.fs.resolve(f"{world.folder}/{name}")


@pytest.mark.parametrize("path", ["", "f", "./f", "~/f"])
def test_relative_path_is_refused(world: FileSystemWorld, path: str) -> None:
    with pytest.raises(NotAbsolute):
        world.fs.resolve(path)


def test_resolve_follows_at_most_forty_links(world: FileSystemWorld) -> None:
    world.put(f"{world.folder}/l0", b"x")
    for i in range(1, 42):
        world.link(f"{world.folder}/l{i}", f"l{i - 1}")
    assert world.fs.resolve(f"{world.folder}/l40") == f"{world.folder}/l0"
    with pytest.raises(IoFailure):
        world.fs.resolve(f"{world.folder}/l41")
    world.link(f"{world.folder}/loop", "loop")
    with pytest.raises(IoFailure):
        world.fs.resolve(f"{world.folder}/loop")


# --- looking and reading --------------------------------------------------------------------------------------


def test_read_returns_bytes_and_stamp(world: FileSystemWorld) -> None:
    path = f"{world.folder}/f"
    data = bytes(range(256)) * 5000
    world.put(path, data)
    snapshot = world.fs.read(path)
    assert (snapshot.data, snapshot.path, snapshot.source, snapshot.exists) == (data, path, world.source, True)
    assert snapshot.stamp is not None
    assert snapshot.stamp == world.fs.stat(path)
    assert snapshot.stamp.size_bytes == len(data)


def test_open_streams_from_one_handle(world: FileSystemWorld) -> None:
    path = f"{world.folder}/f"
    world.put(path, b"0123456789")
    with world.fs.open(path) as stream:
        assert stream.stamp == world.fs.stat(path)
        assert stream.read(4) == b"0123"
        assert stream.read(100) == b"456789"
        assert stream.read(1) == b""
        stream.seek(8)
        assert stream.read(100) == b"89"
        assert stream.source == world.source
        assert (stream.version is None) == (world.source == "disk")


def test_missing_file_has_no_stamp_and_cannot_be_opened(world: FileSystemWorld) -> None:
    path = f"{world.folder}/no/such"
    assert world.fs.stat(path) is None
    snapshot = world.fs.read(path)
    assert (snapshot.stamp, snapshot.data, snapshot.exists) == (None, b"", False)
    with pytest.raises(FileMissing):
        world.fs.open(path)


def test_path_through_a_file_is_missing(world: FileSystemWorld) -> None:
    world.put(f"{world.folder}/f", b"x")
    assert world.fs.stat(f"{world.folder}/f/x") is None


@pytest.mark.parametrize("verb", ["stat", "open", "read"])
def test_folder_is_refused(world: FileSystemWorld, verb: str) -> None:
    world.make_folder(f"{world.folder}/d")
    with pytest.raises(IsDirectory):
        getattr(world.fs, verb)(f"{world.folder}/d")


@pytest.mark.parametrize("verb", ["stat", "open", "read"])
@pytest.mark.parametrize("place", ["link", "tolink/f"])
def test_link_is_followed_only_by_resolve(world: FileSystemWorld, verb: str, place: str) -> None:
    world.put(f"{world.folder}/d/f", b"x")
    world.link(f"{world.folder}/link", "d/f")
    world.link(f"{world.folder}/tolink", "d")
    with pytest.raises(PathMoved):
        getattr(world.fs, verb)(f"{world.folder}/{place}")


def test_write_changes_the_stamp(world: FileSystemWorld) -> None:
    path = f"{world.folder}/f"
    world.put(path, b"one")
    before = world.fs.stat(path)
    assert before is not None
    world.touch(path)
    after = world.fs.stat(path)
    assert after is not None
    assert not same_stamp(before, after)


# --- replacing ------------------------------------------------------------------------------------------------


def test_replace_applies_splices(world: FileSystemWorld) -> None:
    path = f"{world.folder}/f"
    world.put(path, b"0123456789")
    hooks = RecordingHooks()
    splices = [Splice(0, 0, b"<"), Splice(2, 4, b""), Splice(8, 10, b">>>")]
    committed = world.fs.replace(world.fs.read(path), splices, hooks)
    assert world.get(path) == b"<014567>>>"
    assert committed.snapshot.data == b"<014567>>>"
    assert committed.snapshot.stamp == world.fs.stat(path)
    assert hooks.calls == ["before", "after"]
    assert hooks.committed == [committed]
    assert world.names(world.folder) == ["f"]


def test_snapshot_of_a_commit_is_the_base_of_the_next(world: FileSystemWorld) -> None:
    path = f"{world.folder}/f"
    world.put(path, b"a")
    snapshot = world.fs.read(path)
    for i in range(5):
        snapshot = world.fs.replace(snapshot, [Splice(0, 0, b"%d" % i)], RecordingHooks()).snapshot
    assert world.get(path) == b"43210a"


def test_replace_without_net_effect_writes_nothing(world: FileSystemWorld) -> None:
    path = f"{world.folder}/f"
    world.put(path, b"abc")
    before = world.fs.stat(path)
    for splices in ([], [Splice(1, 2, b"b")]):
        hooks = RecordingHooks()
        committed = world.fs.replace(world.fs.read(path), splices, hooks)
        assert committed.report.method == "none"
        assert hooks.calls == ["before", "after"]
    assert world.fs.stat(path) == before


def test_replace_of_a_changed_file_is_refused(world: FileSystemWorld) -> None:
    path = f"{world.folder}/f"
    world.put(path, b"seen")
    snapshot = world.fs.read(path)
    world.put(path, b"SEEN")
    before = world.fs.stat(path)
    hooks = RecordingHooks()
    with pytest.raises(Stale):
        world.fs.replace(snapshot, [Splice(0, 0, b"x")], hooks)
    assert (world.get(path), hooks.calls, world.fs.stat(path)) == (b"SEEN", [], before)
    assert world.names(world.folder) == ["f"]


def test_replace_after_a_touch_succeeds(world: FileSystemWorld) -> None:
    path = f"{world.folder}/f"
    world.put(path, b"seen")
    snapshot = world.fs.read(path)
    world.touch(path)
    world.fs.replace(snapshot, [Splice(4, 4, b"!")], RecordingHooks())
    assert world.get(path) == b"seen!"


def test_replace_of_a_deleted_file_is_stale(world: FileSystemWorld) -> None:
    path = f"{world.folder}/f"
    world.put(path, b"seen")
    snapshot = world.fs.read(path)
    world.delete(path)
    with pytest.raises(Stale):
        world.fs.replace(snapshot, [Splice(0, 0, b"x")], RecordingHooks())
    assert world.get(path) is None


@pytest.mark.parametrize("error", [Cancelled(), KeyError("mine"), TimeoutError("mine"), KeyboardInterrupt()])
def test_error_of_a_hook_is_raised_and_leaves_the_file_unchanged(world: FileSystemWorld, error: BaseException) -> None:
    def refuse() -> None:
        raise error

    path = f"{world.folder}/f"
    world.put(path, b"seen")
    before = world.fs.stat(path)
    hooks = RecordingHooks(before=refuse)
    with pytest.raises(type(error)) as caught:
        world.fs.replace(world.fs.read(path), [Splice(0, 0, b"x")], hooks)
    assert caught.value is error
    with pytest.raises(type(error)):
        world.fs.remove(world.fs.read(path), RecordingHooks(before=refuse))
    with pytest.raises(type(error)):
        world.fs.replace(world.fs.read(f"{world.folder}/a/b"), [Splice(0, 0, b"x")], RecordingHooks(before=refuse))
    assert (world.get(path), world.fs.stat(path), hooks.calls) == (b"seen", before, ["before"])
    assert world.names(world.folder) == ["f"]
    world.fs.replace(world.fs.read(path), [Splice(0, 0, b"next ")], RecordingHooks())
    assert world.get(path) == b"next seen"


def test_parallel_replaces_lose_no_write(world: FileSystemWorld) -> None:
    path = f"{world.folder}/f"
    world.put(path, b"")
    errors: list[BaseException] = []

    def add(i: int) -> None:
        try:
            while True:
                snapshot = world.fs.read(path)
                try:
                    world.fs.replace(snapshot, [Splice(0, 0, b"%02d\n" % i)], RecordingHooks())
                except (Stale, AlreadyExists):
                    continue
                return
        except BaseException as error:  # noqa: BLE001  # a thread's failure has to reach the test
            errors.append(error)

    threads = [threading.Thread(target=add, args=(i,)) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted((world.get(path) or b"").splitlines()) == [b"%02d" % i for i in range(20)]
    assert world.names(world.folder) == ["f"]


# --- creating -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"new\n"])
def test_replace_of_a_missing_snapshot_creates_file_and_folders(world: FileSystemWorld, data: bytes) -> None:
    path = f"{world.folder}/a/b/f"
    hooks = RecordingHooks()
    committed = world.fs.replace(world.fs.read(path), [Splice(0, 0, data)], hooks)
    assert world.get(path) == data
    assert committed.report.method == "create"
    assert committed.snapshot.stamp is not None
    assert committed.snapshot.stamp == world.fs.stat(path)
    assert hooks.calls == ["before", "after"]
    assert world.names(f"{world.folder}/a/b") == ["f"]


def test_creation_does_not_overwrite_a_file_that_appeared(world: FileSystemWorld) -> None:
    path = f"{world.folder}/f"
    for when in ("early", "late"):
        snapshot = world.fs.read(path)
        assert not snapshot.exists
        if when == "early":
            world.put(path, b"theirs")
        hooks = RecordingHooks(before=lambda: world.put(path, b"theirs"))
        with pytest.raises(AlreadyExists):
            world.fs.replace(snapshot, [Splice(0, 0, b"ours")], hooks)
        assert world.get(path) == b"theirs"
        assert world.names(world.folder) == ["f"]
        world.delete(path)


def test_failed_creation_removes_its_folders(world: FileSystemWorld) -> None:
    path = f"{world.folder}/a/b/f"

    def refuse() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        world.fs.replace(world.fs.read(path), [Splice(0, 0, b"x")], RecordingHooks(before=refuse))
    assert world.names(world.folder) == []


def test_failed_creation_keeps_others_files_in_its_folders(world: FileSystemWorld) -> None:
    def refuse() -> None:
        world.put(f"{world.folder}/a/theirs", b"x")
        raise Cancelled

    with pytest.raises(Cancelled):
        world.fs.replace(world.fs.read(f"{world.folder}/a/b/f"), [Splice(0, 0, b"x")], RecordingHooks(before=refuse))
    assert world.names(f"{world.folder}/a") == ["theirs"]


def test_creation_below_a_file_is_refused(world: FileSystemWorld) -> None:
    world.put(f"{world.folder}/f", b"x")
    with pytest.raises(FileOpsError):
        world.fs.replace(world.fs.read(f"{world.folder}/f/g/h"), [Splice(0, 0, b"x")], RecordingHooks())
    assert world.get(f"{world.folder}/f") == b"x"
    assert world.names(world.folder) == ["f"]


# --- removing -------------------------------------------------------------------------------------------------


def test_remove_deletes_an_unchanged_file(world: FileSystemWorld) -> None:
    path = f"{world.folder}/f"
    world.put(path, b"seen")
    hooks = RecordingHooks()
    committed = world.fs.remove(world.fs.read(path), hooks)
    assert world.get(path) is None
    assert committed.report.method == "delete"
    assert not committed.snapshot.exists
    assert hooks.calls == ["before", "after"]
    assert world.names(world.folder) == []


def test_remove_of_a_changed_file_is_refused(world: FileSystemWorld) -> None:
    path = f"{world.folder}/f"
    world.put(path, b"seen")
    snapshot = world.fs.read(path)
    world.put(path, b"SEEN")
    with pytest.raises(Stale):
        world.fs.remove(snapshot, RecordingHooks())
    assert world.get(path) == b"SEEN"


# --- holding --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exists", [True, False])
def test_lock_excludes_other_threads_and_is_reentrant(world: FileSystemWorld, exists: Any) -> None:
    path = f"{world.folder}/f"
    if exists:
        world.put(path, b"")
    snapshot = world.fs.read(path)
    done = threading.Event()

    def write() -> None:
        world.fs.replace(snapshot, [Splice(0, 0, b"x")], RecordingHooks())
        done.set()

    thread = threading.Thread(target=write)
    with world.fs.lock(path), world.fs.lock(path):
        thread.start()
        assert not done.wait(0.1)
        assert not world.get(path)
    thread.join()
    assert world.get(path) == b"x"


@pytest.mark.parametrize("exists", [True, False])
def test_lock_holder_never_sees_a_commit_before_it_is_recorded(world: FileSystemWorld, exists: Any) -> None:
    path = f"{world.folder}/f"
    if exists:
        world.put(path, b"old")
    snapshot = world.fs.read(path)
    noted = threading.Event()
    looked: list[bool] = []

    def look() -> None:
        with world.fs.lock(path):
            looked.append(noted.is_set())

    looker = threading.Thread(target=look)

    def after() -> None:
        looker.start()
        looker.join(0.1)
        noted.set()

    world.fs.replace(snapshot, [Splice(0, 0, b"x")], RecordingHooks(after=after))
    looker.join()
    assert looked == [True]


@pytest.mark.parametrize("exists", [True, False])
def test_lock_without_waiting_reports_whether_another_thread_holds_it(world: FileSystemWorld, exists: Any) -> None:
    path = f"{world.folder}/f"
    if exists:
        world.put(path, b"")
    answers: list[bool] = []

    def ask() -> None:
        with world.fs.lock(path, waits=False) as is_held:
            answers.append(is_held)

    def ask_in_another_thread() -> None:
        asking = threading.Thread(target=ask)
        asking.start()
        asking.join()

    with world.fs.lock(path) as is_held:
        answers.append(is_held)
        ask()
        ask_in_another_thread()
    ask_in_another_thread()
    assert answers == [True, True, False, True]


# --- for the event loop ---------------------------------------------------------------------------------------


def test_try_open_cached_returns_what_open_returns(world: FileSystemWorld) -> None:
    path = f"{world.folder}/f"
    world.put(path, b"one\n")
    with world.fs.open(path) as opened:  # a first use may be needed
        stamp = opened.stamp
    cached = world.fs.try_open_cached(path)
    if cached is not None:
        with cached:
            assert (cached.stamp, cached.read(100), cached.read(100)) == (stamp, b"one\n", b"")
            assert cached.source == world.source


@pytest.mark.parametrize("name", ["missing", "folder", "link", "./f", "f/", "../{}/f"])
def test_try_open_cached_returns_nothing_for_other_than_a_canonical_file(world: FileSystemWorld, name: str) -> None:
    world.put(f"{world.folder}/f", b"one\n")
    world.make_folder(f"{world.folder}/folder")
    if "link" in name:
        world.link(f"{world.folder}/link", "f")
    with world.fs.open(f"{world.folder}/f"):
        pass
    assert world.fs.try_open_cached(f"{world.folder}/{name.format(world.folder.rpartition('/')[2])}") is None
