"""Killed at any call that writes: afterwards the old file or the new one, and after the next start no litter."""

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import xxhash

from contract.recording import RecordingHooks
from fileops.fs.local.filesystem import LocalFileSystem
from fileops.model.edits import Splice
from fileops.model.errors import DiskFull, IoFailure
from fileops.model.internal_errors import Stale
from support.children import NOBODY, as_root, beside_call, calls_of, in_child, killed_at

OLD = b"".join(b"line %05d\n" % i for i in range(2000))
EDITS = {
    "same size": [Splice(3000, 3010, b"XXXXXXXXXX"), Splice(9000, 9010, b"YYYYYYYYYY")],
    "grows": [Splice(700, 710, b"some more of it " * 200), Splice(9000, 9000, b"inserted")],
    "shrinks": [Splice(700, 8000, b"less"), Splice(9000, 9010, b"")],
    "emptied": [Splice(0, len(OLD), b"")],
}


def result_of(splices: list[Splice]) -> bytes:
    data = OLD
    for splice in reversed(splices):
        data = data[: splice.start] + splice.new + data[splice.end :]
    return data


def die_everywhere(
    prepare: Callable[[], None], edit: Callable[[], None], check: Callable[[], None], *, uid: int | None = None
) -> int:
    """Run the edit whole, then killed at each of its calls that write; check after each. How many calls there are."""
    prepare()
    calls = in_child(lambda: calls_of(edit), uid=uid).value
    check()
    for n_call, name in enumerate(calls, 1):
        for is_half in (False, True) if name in {"write", "pwrite"} else (False,):
            prepare()

            def work(n_call: int = n_call, is_half: bool = is_half) -> None:
                killed_at(n_call, is_half=is_half)
                edit()

            assert in_child(work, uid=uid).is_killed, f"call {n_call}, {name}"
            check()
    return len(calls)


@pytest.mark.parametrize("kind", sorted(EDITS))
@pytest.mark.parametrize("linked", [False, True], ids=["swap", "in-place"])
def test_edit_that_is_killed_leaves_old_or_new_content(folder: str, state: str, kind: str, *, linked: bool) -> None:
    path = f"{folder}/f"
    twins = ["f", "twin"] if linked else ["f"]
    seen: set[bytes] = set()

    def prepare() -> None:
        for name in os.listdir(folder):
            os.unlink(f"{folder}/{name}")
        Path(path).write_bytes(OLD)
        os.utime(path, ns=(1, 2))
        if linked:
            os.link(path, f"{folder}/twin")

    def edit() -> None:
        fs = LocalFileSystem(state_folder=state)
        fs.replace(fs.read(path), EDITS[kind], RecordingHooks())

    def check() -> None:
        fs = LocalFileSystem(state_folder=state)
        data = fs.read(path).data
        assert data in {OLD, result_of(EDITS[kind])}
        assert data != OLD or os.stat(path).st_mtime_ns == 2
        assert sorted(os.listdir(folder)) == twins
        assert Path(f"{folder}/{twins[-1]}").read_bytes() == data
        seen.add(data)

    assert die_everywhere(prepare, edit, check) > 8
    assert len(seen) == 2


@pytest.mark.parametrize("linked", [False, True], ids=["swap", "in-place"])
def test_daemon_that_starts_between_any_two_calls_of_an_edit_disturbs_nothing(
    folder: str, state: str, *, linked: bool
) -> None:
    """Another daemon looks for what is torn while the edit is held before a call: the journal is not its to end."""
    path = f"{folder}/f"
    n_call, was_held = 0, True
    while was_held:
        n_call += 1
        for name in os.listdir(folder):
            os.unlink(f"{folder}/{name}")
        Path(path).write_bytes(OLD)
        if linked:
            os.link(path, f"{folder}/twin")

        def edit() -> None:
            fs = LocalFileSystem(state_folder=state)
            fs.replace(fs.read(path), EDITS["grows"], RecordingHooks())

        other = LocalFileSystem(state_folder=state)

        def look(other: LocalFileSystem = other, where: str = f"call {n_call}") -> None:
            before = {entry.name: Path(entry.path).read_bytes() for entry in os.scandir(folder)}
            other.recover(folder)
            assert {entry.name: Path(entry.path).read_bytes() for entry in os.scandir(folder)} == before, where

        ended, was_held = beside_call(n_call, edit, look)
        assert (ended.is_killed, ended.value) == (False, None), f"call {n_call}: {ended}"
        assert Path(path).read_bytes() == result_of(EDITS["grows"]), f"call {n_call}"
        assert sorted(os.listdir(folder)) == (["f", "twin"] if linked else ["f"]), f"call {n_call}"
        assert other.list_unsettled() == (), f"call {n_call}"
    assert n_call > 8


def test_creation_that_is_killed_leaves_a_whole_file_or_none(folder: str, state: str) -> None:
    path = f"{folder}/a/b/f"

    def prepare() -> None:
        for place in (path, f"{folder}/a/b", f"{folder}/a"):
            if os.path.isfile(place):
                os.unlink(place)
            elif os.path.isdir(place):
                os.rmdir(place)

    def edit() -> None:
        fs = LocalFileSystem(state_folder=state)
        fs.replace(fs.read(path), [Splice(0, 0, OLD)], RecordingHooks())

    def check() -> None:
        data = LocalFileSystem(state_folder=state).read(path).data
        assert data in {b"", OLD}
        if os.path.isdir(os.path.dirname(path)):
            assert os.listdir(os.path.dirname(path)) == (["f"] if data else [])
            if data:
                assert os.stat(path).st_nlink == 1

    assert die_everywhere(prepare, edit, check) > 5


@as_root
def test_killed_edit_with_its_journal_in_the_state_folder_is_recovered(folder: str) -> None:
    path, state = f"{folder}/locked/f", f"{folder}/state"
    os.mkdir(f"{folder}/locked")
    os.mkdir(state)
    os.chown(state, NOBODY, NOBODY)
    seen: set[bytes] = set()

    def prepare() -> None:
        Path(path).write_bytes(OLD)
        os.chown(path, NOBODY, NOBODY)

    def edit() -> None:
        fs = LocalFileSystem(state_folder=state)
        fs.replace(fs.read(path), EDITS["grows"], RecordingHooks())

    def check() -> None:
        def start_again() -> bytes:
            data = LocalFileSystem(state_folder=state).read(path).data
            assert os.listdir(state) == []
            return data

        data = in_child(start_again, uid=NOBODY).value
        assert data in {OLD, result_of(EDITS["grows"])}
        assert data == Path(path).read_bytes()
        seen.add(data)

    assert die_everywhere(prepare, edit, check, uid=NOBODY) > 8
    assert len(seen) == 2


@as_root
@pytest.mark.parametrize("has_mount_point", [False, True])
def test_journal_in_the_state_folder_waits_for_the_folder_of_its_file(folder: str, *, has_mount_point: bool) -> None:
    """The folder is away, or an empty one is at its path, when the next daemon looks for what is torn."""
    locked, other, state = Path(folder, "locked"), Path(folder, "other"), Path(folder, "state")
    for made in (locked, other, state):
        made.mkdir()
    file = locked / "f"
    file.write_bytes(OLD)
    for owned in (file, state):
        os.chown(owned, NOBODY, NOBODY)

    def die() -> None:
        def last_words(*_: object) -> None:
            os.kill(os.getpid(), 9)

        os.ftruncate = last_words
        fs = LocalFileSystem(state_folder=str(state))
        fs.replace(fs.read(str(file)), EDITS["shrinks"], RecordingHooks())

    assert in_child(die, uid=NOBODY).is_killed
    assert file.read_bytes() != OLD
    away = locked.rename(Path(folder, "away"))
    if has_mount_point:
        locked.mkdir()

    def look_elsewhere() -> list[str]:
        fs = LocalFileSystem(state_folder=str(state))
        for _ in range(2):
            fs.recover(str(other))
        return [unsettled.reason for unsettled in fs.list_unsettled()]

    assert in_child(look_elsewhere, uid=NOBODY).value == [f"{locked} is not there"]
    if has_mount_point:
        locked.rmdir()
    away.rename(locked)
    assert in_child(lambda: LocalFileSystem(state_folder=str(state)).read(str(file)).data, uid=NOBODY).value == OLD
    assert os.listdir(state) == []


# --- what the journal says, with any part of it on disk -------------------------------------------------------


def leave_journal(folder: str, state: str, splices: list[Splice]) -> bytes:
    """Dead in the middle of the write in place. The new content."""
    path = f"{folder}/f"
    Path(path).write_bytes(OLD)
    if not os.path.exists(f"{folder}/twin"):
        os.link(path, f"{folder}/twin")

    def die() -> None:
        def last_words(*_: object) -> None:
            os.kill(os.getpid(), 9)

        os.pwrite = os.ftruncate = last_words  # pyrefly: ignore[bad-assignment]
        fs = LocalFileSystem(state_folder=state)
        fs.replace(fs.read(path), splices, RecordingHooks())

    assert in_child(die).is_killed
    assert len(os.listdir(folder)) == 3
    return result_of(splices)


@pytest.mark.parametrize("kind", sorted(EDITS))
def test_recovery_restores_the_old_bytes_from_any_mix_of_sectors(folder: str, state: str, kind: str) -> None:
    path = f"{folder}/f"
    random.seed(kind)
    for _ in range(20):
        new = leave_journal(folder, state, EDITS[kind])
        size = random.choice([len(OLD), len(new)])
        old_image = OLD.ljust(size, b"\0")[:size]
        new_image = (new + OLD[len(new) :])[:size]
        mixed = b"".join(random.choice([old_image, new_image])[at : at + 512] for at in range(0, size, 512))
        Path(path).write_bytes(mixed)
        LocalFileSystem(state_folder=state).recover(folder)
        assert Path(path).read_bytes() == (new if mixed == new else OLD)
        assert sorted(os.listdir(folder)) == ["f", "twin"]


@pytest.mark.parametrize("theirs", [b"", b"short", OLD.replace(b"line 01000", b"LINE 01000"), OLD + b"more\n", OLD * 2])
def test_recovery_keeps_later_external_writes(folder: str, state: str, theirs: bytes) -> None:
    leave_journal(folder, state, EDITS["grows"])
    Path(f"{folder}/f").write_bytes(theirs)
    LocalFileSystem(state_folder=state).recover(folder)
    assert Path(f"{folder}/f").read_bytes() == theirs
    assert sorted(os.listdir(folder)) == ["f", "twin"]


@pytest.mark.parametrize("loss", [1, 17, 5000])
def test_incomplete_journal_is_ignored(folder: str, state: str, loss: int) -> None:
    new = leave_journal(folder, state, EDITS["grows"])
    (name,) = set(os.listdir(folder)) - {"f", "twin"}
    journal = Path(f"{folder}/{name}")
    os.truncate(journal, os.path.getsize(journal) - loss)
    mixed = OLD[:1024] + new[1024:]
    Path(f"{folder}/f").write_bytes(mixed)
    LocalFileSystem(state_folder=state).recover(folder)
    assert Path(f"{folder}/f").read_bytes() == mixed
    assert sorted(os.listdir(folder)) == ["f", "twin"]


def test_journal_that_other_users_could_have_written_is_ignored(folder: str, state: str) -> None:
    new = leave_journal(folder, state, EDITS["grows"])
    (name,) = set(os.listdir(folder)) - {"f", "twin"}
    os.chmod(f"{folder}/{name}", 0o644)
    mixed = OLD[:1024] + new[1024:]
    Path(f"{folder}/f").write_bytes(mixed)
    LocalFileSystem(state_folder=state).recover(folder)
    assert Path(f"{folder}/f").read_bytes() == mixed
    os.unlink(f"{folder}/{name}")


def test_death_of_another_daemon_is_noticed_before_the_next_edit(folder: str, state: str) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(OLD)
    fs = LocalFileSystem(state_folder=state)
    fs.read(path)
    new = leave_journal(folder, state, EDITS["same size"])
    Path(path).write_bytes(new[:4096] + OLD[4096:])
    torn = fs.read(path)
    with pytest.raises(Stale):
        fs.replace(torn, [Splice(0, 0, b"x")], RecordingHooks())
    assert fs.read(path).data == OLD


def test_error_during_a_write_in_place_is_rolled_back(
    fs: LocalFileSystem, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(OLD)
    os.utime(path, ns=(1, 2))
    os.link(path, f"{folder}/twin")
    snapshot = fs.read(path)
    write = os.pwrite
    calls: list[int] = []

    def failing(fd: int, data: memoryview, offset: int) -> int:
        calls.append(offset)
        if len(calls) == 1:
            return write(fd, data[:100], offset)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return write(fd, data, offset)

    monkeypatch.setattr(os, "pwrite", failing)
    with pytest.raises(DiskFull):
        fs.replace(snapshot, EDITS["grows"], RecordingHooks())
    assert Path(path).read_bytes() == OLD
    assert os.stat(path).st_mtime_ns == 2
    assert sorted(os.listdir(folder)) == ["f", "twin"]


def test_failed_rollback_is_completed_at_the_next_use(
    fs: LocalFileSystem, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{folder}/f"
    Path(path).write_bytes(OLD)
    os.link(path, f"{folder}/twin")
    snapshot = fs.read(path)
    write = os.pwrite
    calls: list[int] = []

    def failing(fd: int, data: memoryview, offset: int) -> int:
        calls.append(offset)
        if len(calls) == 1:
            return write(fd, data[:100], offset)
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", failing)
        with pytest.raises(IoFailure):
            fs.replace(snapshot, EDITS["grows"], RecordingHooks())
    assert len(os.listdir(folder)) == 3
    assert Path(path).read_bytes() != OLD
    assert fs.read(path).data == OLD
    assert sorted(os.listdir(folder)) == ["f", "twin"]


@pytest.mark.parametrize(
    "header",
    [
        {"target": "/etc/hostname"},
        {"target": "../precious"},
        {"target": "ü" * 3 + "\u20ac"},
        {"target": 3},
        {"target": "f", "start": -1},
        {"target": "f", "end_old": 10**18},
        {"target": "f", "ino": "1"},
        {"target": "f", "more": 1},
        {"target": "f\0"},
        {"mtime_ns": 1 << 70},
        {"mtime_ns": -(1 << 70)},
        {"size_old": 1 << 70, "size_new": 1 << 70, "end_old": 1 << 69},
        {"end_old": json.loads("[" * 500 + "]" * 500)},
    ],
)
def test_forged_journal_is_ignored(fs: LocalFileSystem, folder: str, header: dict[str, object]) -> None:
    Path(f"{folder}/f").write_bytes(b"mine")
    ino = os.stat(f"{folder}/f").st_ino
    fields = {
        "magic": "fileops journal 1", "target": "f", "ino": ino, "mtime_ns": 1, "start": 0, "end_old": 4,
        "end_new": 4, "size_old": 4, "size_new": 4, **header,
    }  # fmt: skip
    line = json.dumps(fields).encode() + b"\n"
    body = b"EVILmine"
    journal = f"{folder}/.fileops-999999999-0-0123456789ab.journal"
    Path(journal).write_bytes(line + body + xxhash.xxh3_128(line + body).digest())
    os.chmod(journal, 0o600)
    fs.read(f"{folder}/f")
    assert Path(f"{folder}/f").read_bytes() == b"mine"


def test_deeply_nested_journal_is_ignored(fs: LocalFileSystem, folder: str) -> None:
    Path(f"{folder}/f").write_bytes(b"mine")
    journal = Path(f"{folder}/.fileops-999999999-0-0123456789ab.journal")
    journal.write_bytes(b"[" * 60_000 + b"\n")
    journal.chmod(0o600)
    assert fs.read(f"{folder}/f").data == b"mine"
    assert not journal.exists()


@pytest.mark.parametrize("kind", ["tmp", "journal"])
def test_other_file_with_the_name_of_a_temp_file_is_kept(fs: LocalFileSystem, folder: str, kind: str) -> None:
    """To open a FIFO would block for ever."""
    Path(f"{folder}/f").write_bytes(b"mine")
    named = f"{folder}/.fileops-999999999-0-0123456789ab.{kind}"
    os.mkfifo(named, 0o600)
    assert fs.read(f"{folder}/f").data == b"mine"
    assert os.path.exists(named)


def test_journal_in_a_users_folder_cannot_name_a_file_in_another(
    fs: LocalFileSystem, folder: str, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "f"
    elsewhere.write_bytes(b"x" * 512 + b"y" * 512)
    body = b"x" * 1024 + b"y" * 1024  # which the file is a mix of
    fields = {
        "magic": "fileops journal 1", "target": str(elsewhere), "ino": os.stat(elsewhere).st_ino, "mtime_ns": 1,
        "start": 0, "end_old": 1024, "end_new": 1024, "size_old": 1024, "size_new": 1024,
    }  # fmt: skip
    line = json.dumps(fields).encode() + b"\n"
    journal = f"{folder}/.fileops-999999999-0-0123456789ab.journal"
    Path(journal).write_bytes(line + body + xxhash.xxh3_128(line + body).digest())
    os.chmod(journal, 0o600)
    fs.recover(folder)
    assert elsewhere.read_bytes() == b"x" * 512 + b"y" * 512
