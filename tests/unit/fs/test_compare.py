"""What happens between the compare and the commit, and what a commit costs."""

import errno
import os
import tracemalloc
from collections.abc import Callable
from dataclasses import replace as with_changes
from pathlib import Path
from typing import Any

import pytest

from contract.recording import RecordingHooks
from fileops.core.stamps import is_unmoved
from fileops.errors import AlreadyExists, Stale
from fileops.fs import syscalls
from fileops.fs.local import LocalFileSystem
from fileops.model import Splice


def after_call(name: str, then: Callable[[], None], patch: pytest.MonkeyPatch) -> None:
    """An outsider acts directly after the first such call."""
    call = getattr(os, name)
    n_calls = 0

    def wrapped(*arguments: Any, **named: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        answer = call(*arguments, **named)
        if n_calls == 1:
            then()
        return answer

    patch.setattr(os, name, wrapped)


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("how", ["in place", "swap", "same size and time"])
def test_a_write_while_ours_is_prepared_is_not_lost(
    fs: LocalFileSystem, folder: str, monkeypatch: pytest.MonkeyPatch, how: str, linked: Any
) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(b"seen")
    if linked:
        os.link(path, f"{folder}/twin")
    snapshot = fs.read(path)

    def interfere() -> None:
        status = os.stat(path)
        if how == "swap":
            Path(f"{folder}/t").write_bytes(b"THEM")
            os.rename(f"{folder}/t", path)
        else:
            Path(path).write_bytes(b"THEM")
        if how == "same size and time":
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    after_call("fsync", interfere, monkeypatch)
    with pytest.raises(Stale):
        fs.replace(snapshot, [Splice(0, 0, b"ours ")], RecordingHooks())
    assert Path(path).read_bytes() == b"THEM"
    assert sorted(os.listdir(folder)) == (["f", "twin"] if linked else ["f"])


def test_a_store_that_no_stamp_tells_is_not_lost(fs: LocalFileSystem, folder: str) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(b"THEM")
    now = fs.read(path)
    seen = with_changes(now, data=b"seen", taken_ns=now.taken_ns + 10**12)  # as through mmap: the stamp did not move
    with pytest.raises(Stale):
        fs.replace(seen, [Splice(0, 0, b"ours ")], RecordingHooks())
    assert Path(path).read_bytes() == b"THEM"


@pytest.mark.parametrize("linked", [False, True])
def test_what_is_written_right_behind_a_commit_does_not_pass_for_ours(
    fs: LocalFileSystem, folder: str, monkeypatch: pytest.MonkeyPatch, linked: Any
) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(b"seen")
    if linked:
        os.link(path, f"{folder}/twin")

    def append() -> None:
        with open(path, "ab") as file:
            file.write(b" and theirs")

    after_call("unlink" if linked else "rename", append, monkeypatch)
    committed = fs.replace(fs.read(path), [Splice(0, 0, b"ours ")], RecordingHooks())
    stands = fs.stat(path)
    assert stands is not None
    assert committed.snapshot.stamp is not None
    assert not is_unmoved(committed.snapshot.stamp, stands)


@pytest.mark.parametrize("has_links", [True, False])
def test_creation_is_exclusive_without_the_newest_call(
    fs: LocalFileSystem, folder: str, monkeypatch: pytest.MonkeyPatch, has_links: Any
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    def unknown(source: str, target: str, dir_fd: int) -> bool:
        return False

    monkeypatch.setattr(syscalls, "rename_exclusive", unknown)
    if not has_links:
        monkeypatch.setattr(os, "link", refused)
    path = f"{folder}/f"
    snapshot = fs.read(path)
    fs.replace(snapshot, [Splice(0, 0, b"ours")], RecordingHooks())
    assert Path(path).read_bytes() == b"ours"
    assert os.stat(path).st_nlink == 1

    def appear() -> None:
        Path(f"{folder}/g").write_bytes(b"theirs")

    hooks = RecordingHooks(before=appear)
    with pytest.raises(AlreadyExists):
        fs.replace(fs.read(f"{folder}/g"), [Splice(0, 0, b"ours")], hooks)
    assert Path(f"{folder}/g").read_bytes() == b"theirs"
    assert sorted(os.listdir(folder)) == ["f", "g"]


@pytest.mark.parametrize("linked", [False, True])
def test_a_large_file_is_held_once_more_and_no_oftener(fs: LocalFileSystem, folder: str, linked: Any) -> None:
    path = f"{folder}/f"
    size = 16 << 20
    Path(path).write_bytes(b"x" * size)
    if linked:
        os.link(path, f"{folder}/twin")
    snapshot = fs.read(path)
    splices = [Splice(1000, 1001, b"some more")]
    tracemalloc.start()
    try:
        fs.replace(snapshot, splices, RecordingHooks())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.25 * size  # the new content itself, which the answer carries, and a piece to compare by
