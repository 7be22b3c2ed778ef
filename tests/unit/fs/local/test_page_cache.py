"""What is in memory is read at once; a read that would wait, or is out of the ordinary, is left to the workers."""

import contextlib
import ctypes
import fcntl
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fileops.fs.local.filesystem import LocalFileSystem
from fileops.fs.local.page_cache import MAX_BYTES, PageCacheReader
from fileops.fs.streams import BytesStream
from fileops.model.files import Stamp
from fileops.platform import syscalls
from support.children import as_root, in_child, own_mounts
from support.patience import PATIENCE_S

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or not syscalls.has_open_cached(), reason="openat2 with RESOLVE_CACHED"
)


@pytest.fixture
def fs(tmp_path: Path) -> LocalFileSystem:
    with open(tmp_path / "f", "w+b") as file:
        if syscalls.kind_of_filesystem(file.fileno()) == "other":
            pytest.skip("the temporary folder is on no filesystem that is read at once")
    os.utime(tmp_path / "f", (1, 1))
    return LocalFileSystem(state_folder=str(tmp_path / ".state"))


def known(fs: LocalFileSystem, tmp_path: Path, data: bytes = b"one\ntwo\n") -> str:
    """A file whose folder a worker has been in."""
    path = os.path.realpath(tmp_path / "f")
    Path(path).write_bytes(data)
    with fs.open(path):
        pass
    return path


def opened_at_once(fs: LocalFileSystem, path: str) -> BytesStream:
    """The file as the cache has it.

    A miss is tried again, as the kernel asks on EAGAIN: a mount made anywhere on the machine, or memory running short,
    makes it give up a lookup that it could have made.
    """
    until = time.monotonic() + PATIENCE_S
    while (cached := fs.try_open_cached(path)) is None:
        assert time.monotonic() < until, f"{path} does not get into the cache"
        Path(path).read_bytes()  # brings it into memory; `fs` does not hear of it
    return cached


@pytest.mark.parametrize(
    "data", [b"", b"one\n", b"\xff\x00" * 1000, b"x" * MAX_BYTES], ids=["empty", "text", "binary", "largest"]
)
def test_cached_open_equals_an_open(fs: LocalFileSystem, tmp_path: Path, data: bytes) -> None:
    path = known(fs, tmp_path, data)
    with opened_at_once(fs, path) as cached, fs.open(path) as opened:
        assert cached.stamp == opened.stamp
        assert (cached.source, cached.version) == (opened.source, opened.version)
        assert cached.read(MAX_BYTES + 1) == data
        assert cached.read(1) == b""
        cached.seek(2)
        assert cached.read(2) == data[2:4]


def test_cached_open_returns_the_present_content(fs: LocalFileSystem, tmp_path: Path) -> None:
    path = known(fs, tmp_path)
    Path(path).write_bytes(b"three\n")
    assert opened_at_once(fs, path).read(100) == b"three\n"


def wait_for_stamp(fs: LocalFileSystem, path: str, stamp: Stamp) -> None:
    """Wait until the file is known to have the stamp: a miss is tried again, as in `opened_at_once`."""
    until = time.monotonic() + PATIENCE_S
    while not fs.has_stamp_at_once(path, stamp):
        assert time.monotonic() < until, f"{path} does not get into the cache"


def write_again(path: Path) -> None:
    path.write_bytes(b"three\n")


def touch(path: Path) -> None:
    os.utime(path, (5, 5))


def swap(path: Path) -> None:
    path.with_name("new").write_bytes(path.read_bytes())
    path.with_name("new").replace(path)


@pytest.mark.parametrize("change", [write_again, touch, swap, Path.unlink])
def test_stamp_is_known_at_once_until_the_file_changes(
    fs: LocalFileSystem, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    path = known(fs, tmp_path)
    os.utime(path, (1, 1))
    stamp = fs.stat(path)
    assert stamp is not None
    wait_for_stamp(fs, path, stamp)
    change(Path(path))
    assert not fs.has_stamp_at_once(path, stamp)


def test_stamp_is_not_known_through_a_link_or_in_a_folder_that_was_not_used(
    fs: LocalFileSystem, tmp_path: Path
) -> None:
    path = known(fs, tmp_path)
    stamp = fs.stat(path)
    assert stamp is not None
    wait_for_stamp(fs, path, stamp)
    folder = os.path.dirname(path)
    (tmp_path / "link").symlink_to(path)
    (tmp_path / "other").mkdir()
    os.link(path, tmp_path / "other" / "f")
    linked = fs.stat(path)
    assert linked is not None
    assert not fs.has_stamp_at_once(f"{folder}/link", linked)
    assert not fs.has_stamp_at_once(f"{folder}/other/f", linked)


def test_first_use_of_a_folder_is_left_to_the_workers(fs: LocalFileSystem, tmp_path: Path) -> None:
    if sys.platform != "linux":
        raise pytest.skip.Exception("the page cache is asked on Linux only")
    path = os.path.realpath(tmp_path / "f")
    assert fs.try_open_cached(path) is None


@pytest.mark.parametrize(
    "name", ["link", "../{}/f", "./f", "f/", "/f", "missing", "sub", "pipe", "large", "n\0", "\ud800", ""]
)
def test_links_folders_fifos_and_large_files_are_left_to_the_workers(
    fs: LocalFileSystem, tmp_path: Path, name: str
) -> None:
    folder = os.path.dirname(known(fs, tmp_path))
    os.symlink("f", f"{folder}/link")
    os.mkdir(f"{folder}/sub")
    os.mkfifo(f"{folder}/pipe")
    Path(f"{folder}/large").write_bytes(b"x" * (MAX_BYTES + 1))
    assert fs.try_open_cached(f"{folder}/" + name.format(os.path.basename(folder))) is None


def test_relative_name_is_not_resolved_in_the_root(fs: LocalFileSystem, tmp_path: Path) -> None:
    files, path = PageCacheReader(lambda _status, _now_ns: False), known(fs, tmp_path)
    with open(path, "rb") as file:
        files.note("/", file.fileno(), os.fstat(file.fileno()).st_dev)
    with contextlib.chdir(tmp_path):
        assert files.load("f") is None


def test_link_in_place_of_the_folder_is_not_followed(fs: LocalFileSystem, tmp_path: Path) -> None:
    inside, elsewhere = tmp_path / "inside", tmp_path / "elsewhere"
    for folder, data in ((inside, b"ours"), (elsewhere, b"theirs")):
        folder.mkdir()
        (folder / "f").write_bytes(data)
    path = os.path.realpath(inside / "f")
    with fs.open(path):
        pass
    assert opened_at_once(fs, path).read(100) == b"ours"
    os.rename(inside, tmp_path / "away")
    os.symlink(elsewhere, inside)
    assert fs.try_open_cached(path) is None


def test_file_open_for_writing_is_left_to_the_workers(fs: LocalFileSystem, tmp_path: Path) -> None:
    if sys.platform != "linux":
        raise pytest.skip.Exception("the page cache is asked on Linux only")
    path = known(fs, tmp_path)
    with open(path, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert fs.try_open_cached(path) is None
    assert opened_at_once(fs, path).read(100) == b"one\ntwo\n"


def test_file_written_in_place_during_the_read_is_left_to_the_workers(
    fs: LocalFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, preadv = known(fs, tmp_path), os.preadv
    os.utime(path, (1, 1))

    def read_behind_half_a_write(fd: int, buffers: list[bytearray], *where: int) -> int:
        with open(path, "r+b") as file:
            file.write(b"ONE\n")
        return preadv(fd, buffers, *where)

    with monkeypatch.context() as patched:
        patched.setattr(os, "preadv", read_behind_half_a_write)
        assert fs.try_open_cached(path) is None


def test_content_outside_the_page_cache_is_left_to_the_workers(fs: LocalFileSystem, tmp_path: Path) -> None:
    if sys.platform != "linux":
        raise pytest.skip.Exception("the page cache is asked on Linux only")
    path = known(fs, tmp_path, b"x" * 100_000)
    with open(path, "r+b") as file:
        fd = file.fileno()
        if syscalls.kind_of_filesystem(fd) == "memory":
            pytest.skip("nothing is behind this memory")
        os.fsync(fd)
        assert opened_at_once(fs, path).read(1) == b"x"
        until = time.monotonic() + PATIENCE_S
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        while fs.try_open_cached(path) is not None:  # each look makes the kernel read ahead, and may find it there
            assert time.monotonic() < until, "the kernel keeps it"
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


@as_root
@pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="no FUSE here")
def test_hung_filesystem_mounted_over_a_known_folder_is_not_awaited(fs: LocalFileSystem, tmp_path: Path) -> None:
    path = known(fs, tmp_path)

    def work() -> object:
        own_mounts()
        fuse = os.open("/dev/fuse", os.O_RDWR)  # requests through it are not answered
        options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0".encode()
        assert ctypes.CDLL(None).mount(b"none", os.fsencode(os.path.dirname(path)), b"fuse", 0, options) == 0
        loop = threading.Thread(target=fs.try_open_cached, args=(path,), daemon=True)
        loop.start()
        loop.join(PATIENCE_S)
        return "waits" if loop.is_alive() else "done"

    assert in_child(work).value == "done"


def test_kernel_files_are_left_to_the_workers() -> None:
    files = PageCacheReader(lambda _status, _now_ns: False)
    with open("/proc/self/status", "rb") as file:
        files.note("/proc/self", file.fileno(), os.fstat(file.fileno()).st_dev)
        assert syscalls.kind_of_filesystem(file.fileno()) == "other"
    assert files.load("/proc/self/status") is None


def test_folders_are_recorded_by_threads_while_the_loop_reads(fs: LocalFileSystem, tmp_path: Path) -> None:
    path = known(fs, tmp_path)
    folders = [tmp_path / f"d{n}" for n in range(50)]
    for folder in folders:
        folder.mkdir()
        (folder / "f").write_bytes(b"there")

    def note(some: list[Path]) -> None:
        for folder in some:
            with fs.open(os.path.realpath(folder / "f")):
                pass

    threads = [threading.Thread(target=note, args=(folders[n::2],)) for n in range(2)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert opened_at_once(fs, path).read(100) == b"one\ntwo\n"
    for folder in folders:
        assert opened_at_once(fs, os.path.realpath(folder / "f")).read(100) == b"there"
