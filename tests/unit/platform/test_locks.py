"""Two daemons on one folder do not lose each other's edits; a dead one blocks no other."""

import errno
import fcntl
import os
import signal
import threading
from contextlib import nullcontext
from pathlib import Path

import pytest

from contract.recording import RecordingHooks
from fileops.concurrency import deferred
from fileops.fs.local.filesystem import LocalFileSystem
from fileops.model.edits import Splice
from fileops.model.errors import AlreadyExists
from fileops.model.internal_errors import Stale
from fileops.platform import descriptors
from fileops.platform.locks import LockTable, lock_between_processes, try_lock
from support.children import as_root, in_child, mount, own_mounts


def add_lines(path: str, state: str, name: str, n_lines: int) -> None:
    fs = LocalFileSystem(state_folder=state)
    n_done = 0
    while n_done < n_lines:
        snapshot = fs.read(path)
        try:
            at = len(snapshot.data)
            fs.replace(snapshot, [Splice(at, at, b"%s %d\n" % (name.encode(), n_done))], RecordingHooks())
        except (Stale, AlreadyExists):
            continue
        n_done += 1


@pytest.mark.parametrize("kind", ["swap", "in place", "created"])
def test_processes_do_not_lose_each_others_edits(folder: str, state: str, kind: str) -> None:
    path = f"{folder}/f"
    paths = [path, path, path]
    if kind != "created":
        Path(path).write_bytes(b"")
    if kind == "in place":
        os.link(path, f"{folder}/twin")
        paths[2] = f"{folder}/twin"
    n_lines = 40
    ended: list[object] = []

    def run(i: int) -> None:
        ended.append(in_child(lambda: add_lines(paths[i], state, f"child{i}", n_lines)).value)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended == [None, None, None]
    lines = Path(path).read_text("ascii").splitlines()
    assert sorted(lines) == sorted(f"child{i} {n}" for i in range(3) for n in range(n_lines))
    for i in range(3):
        assert [line for line in lines if line.startswith(f"child{i} ")] == [f"child{i} {n}" for n in range(n_lines)]
    assert sorted(os.listdir(folder)) == (["f", "twin"] if kind == "in place" else ["f"])


def test_lock_of_a_dead_process_is_released(fs: LocalFileSystem, folder: str, state: str) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(b"x")

    def die_with_the_lock() -> None:
        other = LocalFileSystem(state_folder=state)
        hooks = RecordingHooks(before=lambda: os.kill(os.getpid(), signal.SIGKILL))
        other.replace(other.read(path), [Splice(0, 0, b"never")], hooks)

    assert in_child(die_with_the_lock).is_killed
    assert len(os.listdir(folder)) == 2  # its temporary file
    fs.replace(fs.read(path), [Splice(0, 0, b"y")], RecordingHooks())
    assert Path(path).read_bytes() == b"yx"
    assert os.listdir(folder) == ["f"]


def test_lock_held_for_long_is_awaited_with_a_bound(folder: str) -> None:
    Path(f"{folder}/f").write_bytes(b"x")
    mine, theirs = (os.open(f"{folder}/f", os.O_RDONLY) for _ in range(2))
    try:
        fcntl.flock(theirs, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError):
            lock_between_processes(mine, wait_s=0.05)
        threading.Timer(0.05, lambda: fcntl.flock(theirs, fcntl.LOCK_UN)).start()
        lock_between_processes(mine, wait_s=30)
        with pytest.raises(BlockingIOError):
            fcntl.flock(theirs, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(mine)
        os.close(theirs)


def test_aliases_share_a_lock(fs: LocalFileSystem, folder: str) -> None:
    Path(f"{folder}/f").write_bytes(b"x")
    os.link(f"{folder}/f", f"{folder}/twin")
    got_it = threading.Event()

    def hold_twin() -> None:
        with fs.lock(f"{folder}/twin"):
            got_it.set()

    thread = threading.Thread(target=hold_twin)
    with fs.lock(f"{folder}/f"):
        thread.start()
        assert not got_it.wait(0.1)
    thread.join()
    assert got_it.is_set()


def test_lock_of_an_alias_is_not_taken_without_waiting(fs: LocalFileSystem, folder: str) -> None:
    Path(f"{folder}/f").write_bytes(b"x")
    os.link(f"{folder}/f", f"{folder}/twin")
    answers: list[bool] = []

    def ask() -> None:
        with fs.lock(f"{folder}/twin", waits=False) as is_held:
            answers.append(is_held)

    for context in (fs.lock(f"{folder}/f"), nullcontext()):
        with context:
            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()
    assert answers == [False, True]


def test_locks_do_not_accumulate() -> None:
    table = LockTable()
    with table.of("a"), table.of("a"), table.of("b"):
        assert len(table) == 2
    assert len(table) == 0
    with pytest.raises(KeyError), table.of("a"):
        raise KeyError
    assert len(table) == 0


@as_root
def test_lock_through_another_mount_waits_for_the_new_inode(folder: str, state: str) -> None:
    os.mkdir(f"{folder}/d")
    os.mkdir(f"{folder}/alias")
    Path(f"{folder}/d/f").write_bytes(b"x")

    def work() -> object:
        own_mounts()
        mount("--bind", f"{folder}/d", f"{folder}/alias")
        fs = LocalFileSystem(state_folder=state)
        noted = threading.Event()
        looked: list[bool] = []

        def look() -> None:
            with fs.lock(f"{folder}/alias/f"):
                looked.append(noted.is_set())

        looker = threading.Thread(target=look)

        def after() -> None:
            looker.start()
            looker.join(0.1)
            noted.set()

        fs.replace(fs.read(f"{folder}/d/f"), [Splice(0, 0, b"y")], RecordingHooks(after=after))
        looker.join()
        return looked

    assert in_child(work).value == [True]


def test_lock_that_cannot_be_released_does_not_outlive_the_edit(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a worker, whose files are closed after the answer."""
    held = os.open(f"{folder}/f", os.O_CREAT | os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)

    def fail(fd: int, operation: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def unlock_and_close_later() -> None:
        deferred.enable()
        descriptors.unlock_and_close_later(held)

    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", fail)
        worker = threading.Thread(target=unlock_and_close_later)
        worker.start()
        worker.join()
    other = os.open(f"{folder}/f", os.O_RDONLY)
    try:
        assert try_lock(other)
    finally:
        os.close(other)
