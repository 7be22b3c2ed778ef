"""For every failure of the system: one of our classes, the old bytes, no temp file."""

import errno
import os
import resource
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contract.recording import RecordingHooks
from fileops.concurrency import deferred
from fileops.fs.local.filesystem import LocalFileSystem
from fileops.fs.os_errors import translate
from fileops.model.edits import Splice
from fileops.model.errors import (
    DiskFull,
    FileMissing,
    FileOpsError,
    IoFailure,
    IsDirectory,
    NotRegularFile,
    PermissionRefused,
)
from fileops.model.internal_errors import PathMoved
from fileops.platform import syscalls
from support.abilities import needs_proc
from support.children import as_root, in_child, mount, own_mounts

OLD = b"old content\n" * 500


@pytest.mark.parametrize(
    ("number", "failure"),
    [
        (errno.ENOENT, FileMissing),
        (errno.ENOTDIR, FileMissing),
        (errno.ENAMETOOLONG, FileMissing),
        (errno.EISDIR, IsDirectory),
        (errno.EACCES, PermissionRefused),
        (errno.EPERM, PermissionRefused),
        (errno.EROFS, PermissionRefused),
        (errno.ENOSPC, DiskFull),
        (errno.EDQUOT, DiskFull),
        (errno.EIO, IoFailure),
        (errno.ESTALE, IoFailure),
        (errno.EMFILE, IoFailure),
        (errno.EFBIG, IoFailure),
        (errno.EAGAIN, IoFailure),
        (errno.ELOOP, PathMoved),
        (errno.ENXIO, NotRegularFile),
    ],
)
def test_error_numbers_have_classes(number: int, failure: type[Exception]) -> None:
    made = translate(OSError(number, "whatever"), "/p")
    assert type(made) is failure
    assert getattr(made, "reason", os.strerror(number)) == os.strerror(number)
    if failure is IoFailure:
        assert isinstance(made, IoFailure)
        assert made.hint


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG])
def test_creation_never_fails_because_the_file_is_missing(number: int) -> None:
    assert type(translate(OSError(number, ""), "/p", is_creating=True)) is IoFailure


def failing_at(n_call: int, number: int, names: tuple[str, ...], patch: pytest.MonkeyPatch) -> list[str]:
    """The n-th of these calls fails; the names of the calls so far."""
    calls: list[str] = []

    def wrap(name: str) -> Callable[..., Any]:
        call = getattr(os, name)

        def wrapped(*arguments: Any, **named: Any) -> Any:
            calls.append(name)
            if len(calls) == n_call:
                raise OSError(number, os.strerror(number))
            return call(*arguments, **named)

        return wrapped

    for name in names:
        patch.setattr(os, name, wrap(name))
    return calls


SWAP_CALLS = ("write", "fsync", "rename", "fchmod", "listxattr", "pread", "access")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE, errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("calls", [SWAP_CALLS, ("open",), ("pwrite", "posix_fallocate", "ftruncate", "write", "fsync")])
@pytest.mark.parametrize("linked", [False, True])
def test_failure_at_any_call_leaves_old_or_new_content_and_no_temp_files(
    folder: str, state: str, number: int, calls: tuple[str, ...], linked: Any
) -> None:
    path = f"{folder}/f"
    n_call = 0
    while True:
        n_call += 1
        Path(path).write_bytes(OLD)
        if linked and not os.path.exists(f"{folder}/twin"):
            os.link(path, f"{folder}/twin")
        fs = LocalFileSystem(state_folder=state)
        snapshot = fs.read(path)
        failure: BaseException | None = None
        with pytest.MonkeyPatch.context() as patch:
            made = failing_at(n_call, number, calls, patch)
            try:
                fs.replace(snapshot, [Splice(4, 11, b"stuff"), Splice(60, 60, b"more" * 300)], RecordingHooks())
            except (FileOpsError, PathMoved) as error:
                failure = error
        content = fs.read(path).data
        assert sorted(os.listdir(folder)) == (["f", "twin"] if linked else ["f"])
        assert (content == OLD) is (failure is not None)
        if len(made) < n_call:
            assert failure is None
            break
    assert n_call > 1


def test_failure_during_a_creation_leaves_no_file(folder: str, state: str) -> None:
    n_call = 0
    while True:
        n_call += 1
        fs = LocalFileSystem(state_folder=state)
        failure: BaseException | None = None
        with pytest.MonkeyPatch.context() as patch:
            made = failing_at(n_call, errno.ENOSPC, ("write", "mkdir", "open", "fsync"), patch)
            try:
                fs.replace(fs.read(f"{folder}/a/b/f"), [Splice(0, 0, OLD)], RecordingHooks())
            except DiskFull as error:
                failure = error
        if failure is None:
            assert Path(f"{folder}/a/b/f").read_bytes() == OLD
            os.unlink(f"{folder}/a/b/f")
            os.rmdir(f"{folder}/a/b")
            os.rmdir(f"{folder}/a")
        assert os.listdir(folder) == []
        if len(made) < n_call:
            break
    assert n_call > 4


def test_bytes_are_synced_before_the_rename(fs: LocalFileSystem, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(OLD)
    monkeypatch.setattr(syscalls, "exchange", lambda one, other, dir_fd: False)  # pyrefly: ignore[implicit-any-lambda]
    calls = failing_at(-1, 0, ("write", "fsync", "rename", "pwrite"), monkeypatch)
    committed = fs.replace(fs.read(path), [Splice(0, 0, b"x")], RecordingHooks())
    assert calls == ["write", "fsync", "rename", "fsync"]
    assert committed.report.durability == "synced"
    os.link(path, f"{folder}/twin")
    calls.clear()
    fs.replace(fs.read(path), [Splice(0, 1, b"y")], RecordingHooks())
    assert [name for name in calls if name != "write"] == ["fsync", "fsync", "pwrite", "fsync", "fsync"]


def test_readers_keep_the_old_file(fs: LocalFileSystem, folder: str) -> None:
    path, old = f"{folder}/f", OLD * 50  # more than is read at once
    Path(path).write_bytes(old)
    with fs.open(path) as stream:
        fs.replace(fs.read(path), [Splice(0, len(old), b"new")], RecordingHooks())
        assert stream.read(1 << 20) == old
    assert fs.read(path).data == b"new"


def _opened(fs: LocalFileSystem, path: str) -> bytes:
    with fs.open(path) as stream:
        return stream.read(1 << 20)


def _read(fs: LocalFileSystem, path: str) -> bytes:
    return fs.read(path).data


@pytest.mark.parametrize("content_of", [_opened, _read])
def test_readers_see_no_partial_write_in_place(
    fs: LocalFileSystem,
    folder: str,
    monkeypatch: pytest.MonkeyPatch,
    content_of: Callable[[LocalFileSystem, str], bytes],
) -> None:
    path, read = f"{folder}/f", os.read
    Path(path).write_bytes(b"one\ntwo\n")
    os.utime(path, (1, 1))

    halves = [(0, b"ONE\n"), (4, b"TWO\n")]

    def read_among_writes(fd: int, n_bytes: int) -> bytes:
        if halves:
            at, data = halves.pop(0)
            with open(path, "r+b") as file:
                file.seek(at)
                file.write(data)
        return read(fd, n_bytes)

    with monkeypatch.context() as patched:
        patched.setattr(os, "read", read_among_writes)
        assert content_of(fs, path) == b"ONE\nTWO\n"


def test_folder_that_cannot_be_synced_is_reported(
    fs: LocalFileSystem, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(OLD)
    failing_at(2, errno.EINVAL, ("fsync",), monkeypatch)
    report = fs.replace(fs.read(path), [Splice(0, 0, b"x")], RecordingHooks()).report
    assert (report.method, report.durability) == ("swap", "file_synced")
    assert report.reason


@as_root
def test_edit_on_a_full_filesystem_keeps_the_old_file(folder: str, state: str) -> None:
    disk = f"{folder}/disk"
    os.mkdir(disk)

    def work() -> object:
        own_mounts()
        mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", disk)
        path = f"{disk}/f"
        Path(path).write_bytes(OLD)
        os.link(path, f"{disk}/twin")
        Path(f"{disk}/ballast").write_bytes(b"x" * 40_000)
        fs = LocalFileSystem(state_folder=state)
        outcomes: list[object] = []
        for n_links in (2, 1):
            before = os.stat(path).st_mtime_ns
            for target in (path, f"{disk}/a/new"):
                try:
                    fs.replace(fs.read(target), [Splice(0, 0, b"x" * 30_000)], RecordingHooks())
                except FileOpsError as failure:
                    outcomes.append(type(failure).__name__)
            assert os.stat(path).st_mtime_ns == before
            assert Path(path).read_bytes() == OLD
            assert len(os.listdir(disk)) == n_links + 1
            if n_links == 2:
                os.unlink(f"{disk}/twin")
        os.unlink(f"{disk}/ballast")
        fs.replace(fs.read(path), [Splice(0, 0, b"x" * 30_000)], RecordingHooks())
        return outcomes

    assert in_child(work).value == ["DiskFull"] * 4


@as_root
def test_edit_on_a_read_only_filesystem_is_refused(folder: str, state: str) -> None:
    disk = f"{folder}/disk"
    os.mkdir(disk)

    def work() -> object:
        own_mounts()
        mount("-t", "tmpfs", "tmpfs", disk)
        Path(f"{disk}/f").write_bytes(OLD)
        mount("-o", "remount,ro", disk)
        fs = LocalFileSystem(state_folder=state)
        outcomes: list[object] = []
        for path in (f"{disk}/f", f"{disk}/a/new"):
            try:
                fs.replace(fs.read(path), [Splice(0, 0, b"x")], RecordingHooks())
            except PermissionRefused as failure:
                outcomes.append(failure.reason)
        assert Path(f"{disk}/f").read_bytes() == OLD
        return outcomes, os.listdir(disk)

    assert in_child(work).value == (["Read-only file system"] * 2, ["f"])


def test_edit_over_the_file_size_limit_keeps_the_old_file(folder: str, state: str) -> None:
    Path(f"{folder}/f").write_bytes(OLD)
    os.link(f"{folder}/f", f"{folder}/twin")
    Path(f"{folder}/g").write_bytes(OLD)

    def work() -> object:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        fs = LocalFileSystem(state_folder=state)
        outcomes: list[str] = []
        for name in ("f", "g", "new"):
            try:
                fs.replace(fs.read(f"{folder}/{name}"), [Splice(0, 0, b"x" * 30_000)], RecordingHooks())
            except IoFailure as failure:
                outcomes.append(failure.reason)
        return outcomes

    assert in_child(work).value == [os.strerror(errno.EFBIG)] * 3
    assert sorted(os.listdir(folder)) == ["f", "g", "twin"]
    assert Path(f"{folder}/f").read_bytes() == Path(f"{folder}/g").read_bytes() == OLD


def test_folder_removed_during_a_creation_is_created_again(fs: LocalFileSystem, folder: str) -> None:
    os.mkdir(f"{folder}/d")
    stop = threading.Event()

    def remove() -> None:
        while not stop.is_set():
            try:
                os.rmdir(f"{folder}/d")
            except OSError:
                continue

    remover = threading.Thread(target=remove)
    remover.start()
    try:
        for i in range(50):
            path = f"{folder}/d/f{i}"
            try:
                fs.replace(fs.read(path), [Splice(0, 0, b"x")], RecordingHooks())
            except (IoFailure, PathMoved):
                continue
            assert Path(path).read_bytes() == b"x"
            os.unlink(path)
    finally:
        stop.set()
        remover.join()


def test_edit_without_free_descriptors_keeps_the_old_file(fs: LocalFileSystem, folder: str) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(OLD)
    snapshot = fs.read(path)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    def work() -> object:
        n_failed = 0
        for n_free in range(512):  # many of these numbers may be taken
            lowest = os.dup(0)
            os.close(lowest)
            resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + n_free, hard))
            try:
                fs.replace(snapshot, [Splice(0, 0, b"x")], RecordingHooks())
            except IoFailure:
                n_failed += 1
                continue
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
            break
        return n_failed > 0

    assert in_child(work).value is True
    assert Path(path).read_bytes() == b"x" + OLD
    assert os.listdir(folder) == ["f"]


@needs_proc
def test_worker_that_writes_many_files_keeps_few_open(fs: LocalFileSystem, folder: str) -> None:
    """As an undo does, in one go: what it replaces is let go of after the answer."""
    for n in range(100):
        Path(f"{folder}/{n}").write_bytes(OLD)

    def work() -> object:
        deferred.enable()
        n_before = len(os.listdir("/dev/fd"))
        for n in range(100):
            fs.replace(fs.read(f"{folder}/{n}"), [Splice(0, 0, b"x")], RecordingHooks())
        return len(os.listdir("/dev/fd")) - n_before

    assert in_child(work).value < 20
