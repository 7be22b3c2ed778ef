"""What is opened is what was decided about: never a device, never through a link that was put in between."""

import fcntl
import os
import signal
import socket
import stat
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from contract.recording import RecordingHooks
from fileops.core.roots import Roots
from fileops.fs.local import nofollow
from fileops.fs.local.filesystem import LocalFileSystem
from fileops.fs.local.write_target import WriteTargets
from fileops.model.edits import Splice
from fileops.model.errors import FileMissing, FileOpsError, IsDirectory, NotRegularFile, OutsideRoots
from fileops.model.internal_errors import PathMoved, Stale
from fileops.platform import syscalls
from support.abilities import needs_proc
from support.children import as_root, in_child

VERBS = ["stat", "open", "read"]


@pytest.fixture(params=["openat2", "walk"])  # the third only narrows the window (see its docstring)
def racing_fs(request: pytest.FixtureRequest, state: str) -> LocalFileSystem:
    if request.param == "openat2" and not syscalls.has_open_without_links():
        pytest.skip("this kernel has no openat2")
    return LocalFileSystem(opener=nofollow.OPENERS[request.param], state_folder=state)


@pytest.fixture(params=sorted(nofollow.OPENERS))
def any_fs(request: pytest.FixtureRequest, state: str) -> LocalFileSystem:
    if request.param == "openat2" and not syscalls.has_open_without_links():
        pytest.skip("this kernel has no openat2")
    return LocalFileSystem(opener=nofollow.OPENERS[request.param], state_folder=state)


def kind_of(call: Callable[[], object]) -> str:
    with pytest.raises(NotRegularFile) as caught:
        call()
    return caught.value.kind


@pytest.mark.parametrize("verb", VERBS)
def test_fifo_is_never_opened(any_fs: LocalFileSystem, folder: str, verb: str) -> None:
    path = f"{folder}/fifo"
    os.mkfifo(path)
    assert kind_of(lambda: getattr(any_fs, verb)(path)) == "fifo"
    with pytest.raises(OSError, match="No such device or address"):  # no reader is there, nor ever was
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))


@pytest.mark.parametrize("verb", VERBS)
def test_socket_is_refused(any_fs: LocalFileSystem, folder: str, verb: str) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{folder}/s")
        assert kind_of(lambda: getattr(any_fs, verb)(f"{folder}/s")) == "socket"


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero", "/dev/tty"])
def test_device_is_refused(any_fs: LocalFileSystem, path: str, verb: str) -> None:
    assert kind_of(lambda: getattr(any_fs, verb)(path)) == "character device"


@as_root
@pytest.mark.parametrize("verb", VERBS)
def test_device_under_an_ordinary_name_is_refused(any_fs: LocalFileSystem, folder: str, verb: str) -> None:
    os.mknod(f"{folder}/tty", 0o020666, os.makedev(5, 0))
    assert kind_of(lambda: getattr(any_fs, verb)(f"{folder}/tty")) == "character device"


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("path", ["/proc/self/status", "/proc/kmsg", "/proc/meminfo", "/sys/kernel/uevent_seqnum"])
def test_kernel_streams_are_refused(any_fs: LocalFileSystem, path: str, verb: str) -> None:
    if not os.access(path, os.R_OK):
        pytest.skip("not mounted here, or not for this user")
    assert kind_of(lambda: getattr(any_fs, verb)(any_fs.resolve(path))) == "kernel stream"


@pytest.mark.parametrize("size", [0, 3])
def test_small_and_empty_files_are_no_kernel_streams(any_fs: LocalFileSystem, folder: str, size: int) -> None:
    Path(f"{folder}/f").write_bytes(b"x" * size)
    assert any_fs.read(f"{folder}/f").data == b"x" * size


@needs_proc
def test_other_names_of_a_file_resolve_to_its_canonical_path(any_fs: LocalFileSystem, folder: str) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(b"x")
    fd = os.open(path, os.O_RDONLY)
    try:
        for name in (
            f"/dev/fd/{fd}",
            f"/proc/self/fd/{fd}",
            f"/proc/self/root{path}",
            f"/proc/{os.getpid()}/cwd/{path}",
        ):
            assert any_fs.resolve(name) in {path, os.path.realpath(name)}
        assert any_fs.resolve(f"/dev/fd/{fd}") == path
        os.unlink(path)
        with pytest.raises(FileMissing):
            any_fs.open(any_fs.resolve(f"/dev/fd/{fd}"))
    finally:
        os.close(fd)
    reading, writing = os.pipe()
    try:
        with pytest.raises(FileOpsError):
            any_fs.open(any_fs.resolve(f"/dev/fd/{reading}"))
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize(
    "given", ["{}/in/../out/f", "{}/in/link", "{}/in/tolink/f", "{}/inn/f", "/proc/self/root{}/out/f"]
)
def test_no_name_leads_outside_the_roots(any_fs: LocalFileSystem, folder: str, given: str) -> None:
    for name in ("in", "inn", "out"):
        os.mkdir(f"{folder}/{name}")
        Path(f"{folder}/{name}/f").write_bytes(b"x")
    os.symlink("../out/f", f"{folder}/in/link")
    os.symlink(f"{folder}/out", f"{folder}/in/tolink")
    roots = Roots((f"{folder}/in",))
    roots.require_inside(any_fs.resolve(f"{folder}/in/../in/f"), "")
    with pytest.raises(OutsideRoots):
        roots.require_inside(any_fs.resolve(given.format(folder)), given)


def swapping(stop: threading.Event, place: str, aside: str, outside: str) -> None:
    """A folder and a link to the outside take turns at one name."""
    while not stop.is_set():
        os.rename(place, aside)
        os.symlink(outside, place)
        os.unlink(place)
        os.rename(aside, place)


def test_swapped_link_never_leads_outside(racing_fs: LocalFileSystem, folder: str) -> None:
    for name in ("in/d", "out"):
        os.makedirs(f"{folder}/{name}")
        Path(f"{folder}/{name}/f").write_bytes(name.encode())
    path = f"{folder}/in/d/f"
    stop = threading.Event()
    swapper = threading.Thread(target=swapping, args=(stop, f"{folder}/in/d", f"{folder}/in/aside", f"{folder}/out"))
    swapper.start()
    try:
        for _ in range(2000):
            try:
                with racing_fs.open(path) as stream:
                    assert stream.read(100) == b"in/d"
                assert racing_fs.read(path).data in {b"in/d", b""}
            except (PathMoved, FileMissing):
                continue
    finally:
        stop.set()
        swapper.join()
    assert racing_fs.read(path).data == b"in/d"


def test_write_never_follows_a_swapped_link(racing_fs: LocalFileSystem, folder: str) -> None:
    for name in ("in/d", "out"):
        os.makedirs(f"{folder}/{name}")
        Path(f"{folder}/{name}/f").write_bytes(b"0")
    path = f"{folder}/in/d/f"
    stop = threading.Event()
    swapper = threading.Thread(target=swapping, args=(stop, f"{folder}/in/d", f"{folder}/in/aside", f"{folder}/out"))
    swapper.start()
    n_written = 0
    try:
        for _ in range(300):
            try:
                snapshot = racing_fs.read(path)
                if snapshot.exists:
                    racing_fs.replace(snapshot, [Splice(0, 0, b"1")], RecordingHooks())
                    n_written += 1
            except (PathMoved, Stale):
                continue
    finally:
        stop.set()
        swapper.join()
    assert Path(f"{folder}/out/f").read_bytes() == b"0"
    assert os.listdir(f"{folder}/out") == ["f"]
    assert not [name for name in os.listdir(f"{folder}/in/d") if name.startswith(".fileops")]
    assert racing_fs.read(path).data.count(b"1") >= n_written


def test_link_created_at_the_last_moment_is_not_written_through(any_fs: LocalFileSystem, folder: str) -> None:
    os.makedirs(f"{folder}/in/d")
    os.mkdir(f"{folder}/out")
    for place in ("in/d", "out"):
        Path(f"{folder}/{place}/f").write_bytes(b"same")

    def swap_folder() -> None:
        os.rename(f"{folder}/in/d", f"{folder}/aside")
        os.symlink(f"{folder}/out", f"{folder}/in/d")

    snapshots = [any_fs.read(f"{folder}/in/d/{name}") for name in ("f", "created")]
    any_fs.replace(snapshots[0], [Splice(0, 0, b"x")], RecordingHooks(before=swap_folder))
    assert Path(f"{folder}/out/f").read_bytes() == b"same"
    assert Path(f"{folder}/aside/f").read_bytes() == b"xsame"  # the requested file, at its new place
    for snapshot in snapshots:
        with pytest.raises(PathMoved):
            any_fs.replace(snapshot, [Splice(0, 0, b"x")], RecordingHooks())
    assert os.listdir(f"{folder}/out") == ["f"]
    assert os.listdir(f"{folder}/aside") == ["f"]


def test_repeatedly_swapped_file_is_read_whole(fs: LocalFileSystem, folder: str) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(b"a" * 9000)
    stop = threading.Event()

    def swap() -> None:
        letters = b"ab"
        i = 0
        while not stop.is_set():
            i += 1
            Path(f"{folder}/t").write_bytes(letters[i % 2 : i % 2 + 1] * (9000 + i % 2))
            os.rename(f"{folder}/t", path)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for _ in range(3000):
            snapshot: Any = fs.read(path)
            assert len(set(snapshot.data)) == 1
            assert snapshot.stamp.size_bytes == len(snapshot.data)
            assert snapshot.stamp.n_links <= 1  # none, if it was replaced after it was opened
    finally:
        stop.set()
        swapper.join()


def test_folders_and_devices_are_refused_by_replace_too(fs: LocalFileSystem, folder: str) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(b"x")
    snapshot = fs.read(path)
    os.unlink(path)
    os.mkdir(path)
    with pytest.raises(IsDirectory):
        fs.replace(snapshot, [Splice(0, 0, b"y")], RecordingHooks())
    os.rmdir(path)
    os.mkfifo(path)
    with pytest.raises(NotRegularFile):
        fs.replace(snapshot, [Splice(0, 0, b"y")], RecordingHooks())


@needs_proc
def test_descriptors_are_not_leaked(fs: LocalFileSystem, folder: str) -> None:
    def n_open() -> int:
        return len(os.listdir("/proc/self/fd"))

    path = f"{folder}/f"
    Path(path).write_bytes(b"x")
    os.mkfifo(f"{folder}/fifo")
    os.symlink("f", f"{folder}/link")
    before = n_open()
    for _ in range(20):
        snapshot = fs.replace(fs.read(path), [Splice(0, 0, b"y")], RecordingHooks()).snapshot
        with fs.open(path) as stream:
            stream.read(1)
        for bad in (f"{folder}/fifo", f"{folder}/link", folder, f"{folder}/none/x", "/dev/null", "/proc/meminfo"):
            with pytest.raises((FileOpsError, PathMoved)):
                fs.open(bad)
        with fs.lock(path):
            Path(path).write_bytes(b"z")
        with pytest.raises(Stale):
            fs.replace(snapshot, [Splice(0, 0, b"y")], RecordingHooks())
        fs.resolve(f"{folder}/link")
    assert n_open() == before
    assert fs.n_locks == 0


def test_file_with_a_lease_is_awaited(fs: LocalFileSystem, folder: str) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(b"x")

    def work() -> object:
        fd = os.open(path, os.O_RDWR)
        asked: list[int] = []

        def give_back(number: int, frame: object) -> None:
            asked.append(number)
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)

        signal.signal(signal.SIGIO, give_back)
        try:
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except OSError:
            return "no leases here"
        return fs.read(path).data, tuple(asked)

    assert in_child(work).value in {(b"x", (int(signal.SIGIO),)), "no leases here"}


# --- between the stat of a name and its opening -------------------------------------------------------------------


def test_file_that_is_replaced_before_it_is_opened_is_locked_itself(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a writer that comes by another name of it would not wait."""
    path, alias = f"{folder}/f", f"{folder}/alias"
    Path(path).write_text("old")
    targets, look, is_replaced = WriteTargets(nofollow.best_opener()), os.stat, list[bool]()

    def replaced_after(name: Any, **options: Any) -> os.stat_result:
        status = look(name, **options)
        if name == "f" and not is_replaced:
            is_replaced.append(True)
            Path(alias).write_text("new")
            os.replace(alias, path)
            os.link(path, alias)
        return status

    monkeypatch.setattr(os, "stat", replaced_after)
    with targets.open_target(path) as target, ThreadPoolExecutor(1) as other:
        assert os.path.samestat(target.status, look(path))

        def lock_alias() -> bool:
            with targets.lock(alias, waits=False) as is_locked:
                return is_locked

        assert not other.submit(lock_alias).result()
    assert is_replaced


@pytest.mark.parametrize("other", ["fifo", "folder"])
def test_name_that_leads_elsewhere_when_it_is_opened_is_no_target(
    folder: str, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    path, look = f"{folder}/f", os.stat
    Path(path).write_text("old")

    def replaced_after(name: Any, **options: Any) -> os.stat_result:
        status = look(name, **options)
        if name == "f" and os.path.isfile(path):
            os.unlink(path)
            os.mkfifo(path) if other == "fifo" else os.mkdir(path)
        return status

    monkeypatch.setattr(os, "stat", replaced_after)
    with pytest.raises((NotRegularFile, IsDirectory)), WriteTargets(nofollow.best_opener()).open_target(path):
        pass


def test_reader_waits_for_a_writer_that_begins_after_the_stat(
    any_fs: LocalFileSystem, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, look, lock = f"{folder}/f", os.lstat, fcntl.flock
    Path(path).write_text("old")
    os.utime(path, (1, 1))
    any_fs.read(path)  # the folder is recovered
    old = with_change_time(look(path), 1)
    asked = list[int]()

    def noting(fd: int, operation: int) -> None:
        asked.append(operation)
        lock(fd, operation)

    def written_after(name: str, **options: Any) -> os.stat_result:
        if name != path:
            return look(name, **options)
        Path(path).write_text("new")
        return old

    monkeypatch.setattr(os, "lstat", written_after)
    monkeypatch.setattr(fcntl, "flock", noting)
    assert any_fs.read(path).data == b"new"
    assert fcntl.LOCK_SH | fcntl.LOCK_NB in asked


def with_change_time(status: os.stat_result, time_s: int) -> os.stat_result:
    """The status that the file had if it was last changed then."""
    fields = list(status)
    fields[stat.ST_CTIME] = time_s
    return os.stat_result(fields, {"st_mtime_ns": time_s * 10**9, "st_ctime_ns": time_s * 10**9})
