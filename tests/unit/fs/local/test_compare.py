"""What happens between the compare and the commit, and what a commit costs."""

import errno
import os
import tracemalloc
from collections.abc import Callable
from dataclasses import replace as with_changes
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from contract.recording import RecordingHooks
from fileops.core.stamps import same_stamp
from fileops.fs.local.filesystem import LocalFileSystem
from fileops.model.edits import Splice
from fileops.model.errors import AlreadyExists, FileMissing
from fileops.model.internal_errors import Stale
from fileops.platform import sync, syscalls
from support.abilities import needs_exchange


def after_call(name: str, then: Callable[[], None], patch: pytest.MonkeyPatch, module: ModuleType = os) -> None:
    """An outsider acts directly after the first such call."""
    call = getattr(module, name)
    n_calls = 0

    def wrapped(*arguments: Any, **named: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        answer = call(*arguments, **named)
        if n_calls == 1:
            then()
        return answer

    patch.setattr(module, name, wrapped)


def without_exchange(patch: pytest.MonkeyPatch) -> None:
    """As on a filesystem that cannot exchange, or where no other process changed the file lately."""

    def unknown(one: str, other: str, dir_fd: int) -> bool:
        return False

    patch.setattr(syscalls, "exchange", unknown)


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("how", ["in place", "swap", "same size and time"])
def test_external_write_during_preparation_is_not_lost(
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


def test_external_store_without_a_new_stamp_is_not_lost(fs: LocalFileSystem, folder: str) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(b"THEM")
    now = fs.read(path)
    seen = with_changes(now, data=b"seen", taken_ns=now.taken_ns + 10**12)  # as through mmap: the stamp did not move
    with pytest.raises(Stale):
        fs.replace(seen, [Splice(0, 0, b"ours ")], RecordingHooks())
    assert Path(path).read_bytes() == b"THEM"


@pytest.mark.parametrize("how", ["rename", pytest.param("exchange", marks=needs_exchange), "in place"])
def test_external_write_right_after_a_commit_is_not_attributed_to_it(
    fs: LocalFileSystem, folder: str, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(b"seen")
    if how == "in place":
        os.link(path, f"{folder}/twin")

    def append() -> None:
        with open(path, "ab") as file:
            file.write(b" and theirs")

    if how == "exchange":
        after_call("exchange", append, monkeypatch, syscalls)
    else:
        without_exchange(monkeypatch)
        after_call("unlink" if how == "in place" else "rename", append, monkeypatch)
    committed = fs.replace(fs.read(path), [Splice(0, 0, b"ours ")], RecordingHooks())
    stands = fs.stat(path)
    assert stands is not None
    assert committed.snapshot.stamp is not None
    assert not same_stamp(committed.snapshot.stamp, stands)


@needs_exchange
@pytest.mark.parametrize("how", ["swap", "in place", "removal", "hard link", "chmod"])
def test_external_write_after_the_last_compare_is_not_lost(fs: LocalFileSystem, folder: str, how: str) -> None:
    """Of a file that changed lately: it is exchanged, and what came out is looked at."""
    path = f"{folder}/f"
    Path(path).write_bytes(b"seen")

    def interfere() -> None:
        if how == "swap":
            Path(f"{folder}/g").write_bytes(b"THEM")
            os.rename(f"{folder}/g", path)
        elif how == "in place":
            Path(path).write_bytes(b"THEM")
        elif how == "removal":
            os.unlink(path)
        elif how == "hard link":
            os.link(path, f"{folder}/twin")
        else:
            os.chmod(path, 0o755)

    with pytest.raises((Stale, FileMissing)):
        fs.replace(fs.read(path), [Splice(0, 0, b"ours ")], RecordingHooks(before=interfere))
    names = {"removal": [], "hard link": ["f", "twin"]}.get(how, ["f"])
    assert sorted(os.listdir(folder)) == names
    if names:
        assert Path(path).read_bytes() == (b"seen" if how in {"hard link", "chmod"} else b"THEM")


@needs_exchange
@pytest.mark.parametrize("n_others", [1, 2, 3])
def test_external_write_during_a_rollback_is_kept(
    fs: LocalFileSystem, folder: str, monkeypatch: pytest.MonkeyPatch, n_others: int
) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(b"seen")
    exchange = syscalls.exchange
    n_calls = 0

    def disturbed(one: str, other: str, dir_fd: int) -> bool:
        nonlocal n_calls
        n_calls += 1
        if n_calls <= n_others:
            Path(f"{folder}/g").write_bytes(b"them %d" % n_calls)
            os.rename(f"{folder}/g", path)
        return exchange(one, other, dir_fd)

    monkeypatch.setattr(syscalls, "exchange", disturbed)
    with pytest.raises(Stale):
        fs.replace(fs.read(path), [Splice(0, 0, b"ours ")], RecordingHooks())
    assert Path(path).read_bytes() == b"them %d" % n_others
    assert os.listdir(folder) == ["f"]


@needs_exchange
@pytest.mark.parametrize("writes_both", [False, True])
def test_write_through_an_open_descriptor_after_the_exchange_is_not_lost(
    fs: LocalFileSystem, folder: str, monkeypatch: pytest.MonkeyPatch, writes_both: Any
) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(b"seen")
    snapshot = fs.read(path)
    with open(path, "r+b", buffering=0) as theirs:

        def save() -> None:
            theirs.write(b"THEM")
            if writes_both:
                Path(path).write_bytes(b"and later this")

        after_call("sync_folder", save, monkeypatch, sync)
        if writes_both:
            fs.replace(snapshot, [Splice(0, 0, b"ours ")], RecordingHooks())
        else:
            with pytest.raises(Stale):
                fs.replace(snapshot, [Splice(0, 0, b"ours ")], RecordingHooks())
    assert Path(path).read_bytes() == (b"and later this" if writes_both else b"THEM")
    assert os.listdir(folder) == ["f"]


def test_file_unchanged_by_others_is_replaced_by_rename(
    fs: LocalFileSystem, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Watchers take an exchange for a removal, so a session's own edits one after another must not be one."""

    def forbidden(one: str, other: str, dir_fd: int) -> bool:
        raise AssertionError

    path = f"{folder}/f"
    fs.replace(fs.read(path), [Splice(0, 0, b"made")], RecordingHooks())
    monkeypatch.setattr(syscalls, "exchange", forbidden)
    for i in range(3):
        fs.replace(fs.read(path), [Splice(0, 0, b"%d" % i)], RecordingHooks())
    assert Path(path).read_bytes() == b"210made"


@pytest.mark.parametrize("has_links", [True, False])
def test_creation_is_exclusive_without_exclusive_rename(
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
def test_replace_of_a_large_file_holds_one_more_copy_in_memory(fs: LocalFileSystem, folder: str, linked: Any) -> None:
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
