"""Power loss in the middle of a change set, as far as it can be simulated: what was not synced is lost (R-SET-8).

A child commits a set with recorded calls and stops at each of them. Before it ends it loses what a disk may lose:
files have the content of their last fsync, or none, and changes of names that no fsync of their folder has
made durable are undone, from the last one backwards: all of them, half of them, or none. This is a model in Python,
not a disk: it knows no order between folders, no torn sectors, and no disk that acknowledges a sync and loses it.
"""

import os
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from faults.set_runner import AFTER, BEFORE, SET_ID, Hooks, contents, planned, recover, write_all
from fileops.fs.local.filesystem import LocalFileSystem
from fileops.platform import syscalls

Undo = Callable[[], object]
Call = Callable[..., Any]


class Disk:
    """Calls of the present process that change files, and what a loss of power takes of them.

    Before the call number `stop_at` a share (0 to 1) of the changes of names that are not durable is undone, and the
    process ends.
    """

    def __init__(self, stop_at: int, share: float, shadow: str) -> None:
        self._stop_at, self._share, self._shadow = stop_at, share, shadow
        self._n_calls = 0
        self._dirty: dict[int, int] = {}  # inode -> a descriptor of it
        self._names: list[tuple[set[int], Undo]] = []  # folders in which it is not durable, and how to undo it
        self._synced: dict[int, bytes] = {}  # inode -> its content at the last fsync
        names = ("write", "pwrite", "fsync", "rename", "link", "unlink", "mkdir", "open")
        self._os: dict[str, Call] = {name: getattr(os, name) for name in names}
        self._exchange, self._rename_exclusive = syscalls.exchange, syscalls.rename_exclusive

    def install(self) -> None:
        """Record from now on, in this process."""
        for name in ("write", "pwrite"):
            setattr(os, name, self._writing(self._os[name]))
        os.fsync = self._fsync  # pyrefly: ignore[bad-assignment]
        os.open = self._open
        os.rename, os.link, os.unlink, os.mkdir = self._rename, self._link, self._unlink, self._mkdir  # pyrefly: ignore[bad-assignment]
        syscalls.exchange, syscalls.rename_exclusive = self._exchanged, self._renamed_exclusively

    def _count(self) -> None:
        self._n_calls += 1
        if self._n_calls == self._stop_at:
            self._lose()
            os._exit(9)

    def _lose(self) -> None:
        os.open, os.write = self._os["open"], self._os["write"]
        n_lost = round(len(self._names) * self._share)
        for _, undo in self._names[::-1][:n_lost]:
            undo()
        for inode, fd in self._dirty.items():
            Path(f"/proc/self/fd/{fd}").write_bytes(self._synced.get(inode, b""))

    def _inode(self, dir_fd: int) -> int:
        return os.fstat(dir_fd).st_ino

    def _writing(self, call: Call) -> Call:
        def write(fd: int, *args: Any) -> Any:
            self._count()
            status = os.fstat(fd)
            if stat.S_ISREG(status.st_mode):
                self._dirty.setdefault(status.st_ino, os.dup(fd))
            return call(fd, *args)

        return write

    def _fsync(self, fd: int) -> None:
        self._count()
        self._os["fsync"](fd)
        status = os.fstat(fd)
        inode = status.st_ino
        if stat.S_ISREG(status.st_mode):
            self._synced[inode] = Path(f"/proc/self/fd/{fd}").read_bytes()
        self._dirty.pop(inode, None)
        for folders, _ in self._names:
            folders.discard(inode)
        self._names = [(folders, undo) for folders, undo in self._names if folders]

    def _open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if not flags & os.O_CREAT:
            return self._os["open"](path, flags, mode, dir_fd=dir_fd)
        self._count()
        fd = self._os["open"](path, flags, mode, dir_fd=dir_fd)
        if dir_fd is not None:
            kept = os.dup(dir_fd)
            self._names.append(({self._inode(kept)}, lambda: self._os["unlink"](path, dir_fd=kept)))
        return fd

    def _rename(self, source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        self._count()
        from_fd, to_fd = os.dup(src_dir_fd), os.dup(dst_dir_fd)
        self._os["rename"](source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

        def undo() -> None:
            self._os["rename"](target, source, src_dir_fd=to_fd, dst_dir_fd=from_fd)

        self._names.append(({self._inode(from_fd), self._inode(to_fd)}, undo))

    def _link(self, source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int, **more: Any) -> None:
        self._count()
        to_fd = os.dup(dst_dir_fd)
        self._os["link"](source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd, **more)
        self._names.append(({self._inode(to_fd)}, lambda: self._os["unlink"](target, dir_fd=to_fd)))

    def _unlink(self, name: str, *, dir_fd: int) -> None:
        self._count()
        kept_fd, kept = os.dup(dir_fd), f"{self._shadow}/{self._n_calls}"
        with suppress(FileNotFoundError):
            self._os["link"](name, kept, src_dir_fd=dir_fd)
        self._os["unlink"](name, dir_fd=dir_fd)
        self._names.append(({self._inode(kept_fd)}, lambda: self._os["rename"](kept, name, dst_dir_fd=kept_fd)))

    def _mkdir(self, name: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        self._os["mkdir"](name, mode, dir_fd=dir_fd)
        if dir_fd is not None:
            kept = os.dup(dir_fd)
            self._names.append(({self._inode(kept)}, lambda: os.rmdir(name, dir_fd=kept)))

    def _exchanged(self, last_moved_to: str, name: str, dir_fd: int) -> bool:
        self._count()
        kept = os.dup(dir_fd)
        done = self._exchange(last_moved_to, name, dir_fd)
        self._names.append(({self._inode(kept)}, lambda: self._exchange(last_moved_to, name, kept)))
        return done

    def _renamed_exclusively(self, source: str, target: str, dir_fd: int, target_dir_fd: int | None = None) -> bool:
        self._count()
        from_fd, to_fd = os.dup(dir_fd), os.dup(dir_fd if target_dir_fd is None else target_dir_fd)
        done = self._rename_exclusive(source, target, dir_fd, target_dir_fd)
        undo: Undo = lambda: self._os["rename"](target, source, src_dir_fd=to_fd, dst_dir_fd=from_fd)  # noqa: E731
        self._names.append(({self._inode(from_fd), self._inode(to_fd)}, undo))
        return done


def ended(work: Callable[[], object]) -> int:
    """How a child that does this work ends."""
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_set_that_loses_power_anywhere_is_whole_or_not_made(tmp_path: Path, share: float) -> None:
    folder, state, shadow = tmp_path / "work", tmp_path / "state", tmp_path / "shadow"
    stop_at, ends = 0, list[str]()
    while True:
        stop_at += 1
        for place in (folder, state, shadow):
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
        write_all(folder)
        fs = LocalFileSystem(state_folder=f"{state}/journals")
        files = planned(fs, str(folder))
        disk = Disk(stop_at, share, str(shadow))

        def commit(disk: Disk = disk, fs: LocalFileSystem = fs, files: Any = files) -> None:
            disk.install()
            fs.replace_set(SET_ID, files, Hooks())

        code = ended(commit)
        assert code in {0, 9}
        assert ended(lambda: recover(str(folder), f"{state}/journals")) == 0
        present = contents(folder)
        assert present in (BEFORE, AFTER), f"call {stop_at}: {present}"
        ends.append("before" if present == BEFORE else "after")
        assert code or present == AFTER  # it was answered
        if not code:
            break
    assert ends == sorted(ends, reverse=True), "before, and from some call on after"
    assert min(ends.count("before"), ends.count("after")) > 5
