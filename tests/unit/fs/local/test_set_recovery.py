"""Recovery by the journals of change sets: R-SET-8 (what others wrote, old sets) and R-SET-9 (what is trusted)."""

import errno
import fcntl
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fileops.fs.local import recovery
from fileops.fs.local.filesystem import LocalFileSystem
from fileops.fs.local.set_journal import (
    MAX_JOURNAL_BYTES,
    SUFFIX,
    SetJournal,
    SetRecord,
    SetStep,
    in_use,
    new_record,
    read_journal,
    to_latin,
)
from fileops.model.digest import content_digest
from fileops.model.events import DidRecover, RecoveredFile
from fileops.platform import private_files, syscalls

SET_ID = "5e7" * 10
TEMP, BACKUP, KEPT = ".fileops-1-0-00000000000a.set", ".fileops-1-0-00000000000b.set", ".fileops-1-0-00000000000c.tmp"
OLD, NEW = b"old\n", b"new\n"


class Scene:
    """A set that was killed after it had replaced one file, and its journal."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder, self.sets = tmp_path / "work", tmp_path / "state" / "sets"
        self.folder.mkdir()
        self.file, self.backup = self.folder / "a", self.folder / TEMP
        self.file.write_bytes(NEW)
        self.backup.write_bytes(OLD)
        self.fs = LocalFileSystem(state_folder=str(tmp_path / "state" / "journals"))
        self.reports: list[DidRecover] = []
        self.fs.on_recovered(self.reports.append)

    def step(self, **more: Any) -> SetStep:
        old, new = self.backup.stat(), self.file.stat()
        step = SetStep(
            kind="swap",
            path=to_latin(str(self.file)),
            folder_ino=self.folder.stat().st_ino,
            kept=KEPT,
            temp=TEMP,
            backup=BACKUP,
            ino=old.st_ino,
            uid=old.st_uid,
            mode=old.st_mode & 0o7777,
            digest=content_digest(OLD).hex(),
            new_ino=new.st_ino,
            new_digest=content_digest(NEW).hex(),
        )
        return msgspec.structs.replace(step, **more)

    def write_journal(self, step: SetStep | None = None, *, age_s: float = 0.0, is_committed: bool = False) -> Path:
        steps = (step or self.step(),)
        with SetJournal(str(self.sets), SET_ID) as journal:
            journal.prepare(SetRecord(set_id=SET_ID, prepared_at=time.time() - age_s, steps=steps))
            if is_committed:
                journal.commit()
        path = self.sets / f"{SET_ID}{SUFFIX}"
        os.utime(path, (time.time() - age_s, time.time() - age_s))
        return path

    def recover(self) -> dict[str, bytes]:
        self.fs.recover(str(self.folder))
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_file_is_put_back_and_reported(scene: Scene) -> None:
    journal = scene.write_journal()
    assert scene.recover() == {"a": OLD}
    assert not journal.exists()
    assert scene.reports == [
        DidRecover(set_id=SET_ID, files=(RecoveredFile(file_path=str(scene.file), outcome="restored"),))
    ]


def test_set_that_was_committed_is_only_cleared_up(scene: Scene) -> None:
    scene.write_journal(is_committed=True)
    assert scene.recover() == {"a": NEW}
    assert scene.reports == []


@pytest.mark.parametrize("foreign", [b"of another program\n", None])
def test_foreign_write_since_the_crash_is_left_and_the_old_content_kept(scene: Scene, foreign: bytes | None) -> None:
    scene.write_journal()
    if foreign is None:
        scene.file.unlink()
    else:
        scene.file.write_bytes(foreign)
    kept = f"a.fileops-before-{SET_ID}"
    assert scene.recover() == {kept: OLD} | ({} if foreign is None else {"a": foreign})
    (recovered,) = scene.reports
    assert recovered.files == (
        RecoveredFile(file_path=str(scene.file), outcome="left", kept_as=str(scene.folder / kept)),
    )


def test_same_bytes_in_another_file_are_no_file_of_the_set(scene: Scene) -> None:
    """Another program has written what the set wrote: it is theirs."""
    scene.write_journal()
    scene.file.rename(scene.folder / "moved away")
    scene.file.write_bytes(NEW)
    assert scene.recover()["a"] == NEW
    assert scene.reports[0].files[0].outcome == "left"


def test_old_set_is_only_reported(scene: Scene) -> None:
    scene.write_journal(age_s=25 * 3600)
    assert scene.recover() == {"a": NEW, f"a.fileops-before-{SET_ID}": OLD}
    assert scene.reports[0].files[0].outcome == "left"


def test_set_of_a_living_process_is_left_alone(scene: Scene) -> None:
    with SetJournal(str(scene.sets), SET_ID) as journal:
        journal.prepare(SetRecord(set_id=SET_ID, prepared_at=time.time(), steps=(scene.step(),)))
        assert scene.recover()["a"] == NEW
        in_use.clear()  # as another process sees it: the lock of the journal decides
        assert scene.recover()["a"] == NEW
    assert scene.recover() == {"a": OLD}


def test_set_waits_until_no_other_daemon_writes_its_file(scene: Scene) -> None:
    journal = scene.write_journal()
    with scene.file.open("rb") as held_by_another:
        fcntl.flock(held_by_another, fcntl.LOCK_EX)
        assert scene.recover()["a"] == NEW
        assert (journal.exists(), scene.reports) == (True, [])
    assert scene.recover() == {"a": OLD}


def _open_to_others(scene: Scene) -> None:
    scene.write_journal().chmod(0o644)


def _longer_than_any(scene: Scene) -> None:
    os.truncate(scene.write_journal(), MAX_JOURNAL_BYTES + 1)


def _other_backup(scene: Scene) -> None:
    scene.write_journal()
    scene.backup.write_bytes(b"evil\n")


def _other_mode(scene: Scene) -> None:
    scene.write_journal()
    scene.backup.chmod(0o777)


def _other_inode(scene: Scene) -> None:
    scene.write_journal(scene.step(new_ino=1))


def _backup_elsewhere(scene: Scene) -> None:
    (scene.folder / "sub").mkdir()
    scene.backup.rename(scene.folder / "sub" / TEMP)
    scene.write_journal(_made(scene, temp=f"sub/{TEMP}"))


def _name_of_the_user(scene: Scene) -> None:
    scene.backup.rename(scene.folder / "notes")
    scene.write_journal(_made(scene, temp="notes"))


def _through_dots(scene: Scene) -> None:
    scene.write_journal(_made(scene, path=f"{scene.folder}/../work/a"))


def _through_a_link(scene: Scene) -> None:
    link = scene.folder.with_name("link")
    link.symlink_to(scene.folder)
    scene.write_journal(_made(scene, path=f"{link}/a", folder_ino=0))


def _cut_off(scene: Scene) -> None:
    journal = scene.write_journal()
    os.truncate(journal, journal.stat().st_size // 2)


def _one_bit(scene: Scene) -> None:
    journal = scene.write_journal()
    data = bytearray(journal.read_bytes())
    data[len(data) // 2] ^= 1
    journal.write_bytes(data)


def _made(scene: Scene, **more: Any) -> SetStep:
    backups = [path for path in scene.folder.rglob("*") if path.is_file() and path.read_bytes() == OLD]
    scene.backup = backups[0]
    return scene.step(**more)


FORGERIES = [
    _open_to_others, _other_backup, _other_mode, _other_inode, _backup_elsewhere, _name_of_the_user, _through_dots,
    _through_a_link, _cut_off, _one_bit, _longer_than_any,
]  # fmt: skip


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__.strip("_"))
def test_journal_that_is_forged_or_damaged_changes_no_file(scene: Scene, forge: Callable[[Scene], None]) -> None:
    forge(scene)
    scene.recover()
    assert scene.file.read_bytes() == NEW


@pytest.mark.parametrize("junk", [b"", b"\xff" * 4000, b"[" * 100_000, b'{"a": 1}'])
def test_journal_that_was_never_complete_is_removed_without_effect(scene: Scene, junk: bytes) -> None:
    journal = _junk_journal(scene, junk)
    before = scene.recover()
    assert before == {"a": NEW, TEMP: OLD}
    assert not journal.exists()


@pytest.mark.parametrize("junk", [b'{"a": 1}\n', b"0 {}\n", b"\n"])
def test_journal_that_cannot_be_understood_is_kept_and_named(scene: Scene, junk: bytes) -> None:
    """It may be damaged, or of a newer version: nothing proves that its set has changed no file."""
    journal = _junk_journal(scene, junk)
    before = scene.recover()
    assert before == {"a": NEW, TEMP: OLD}
    assert journal.read_bytes() == junk
    assert [unsettled.journal for unsettled in scene.fs.list_unsettled()] == [str(journal)]


def _junk_journal(scene: Scene, junk: bytes) -> Path:
    scene.sets.mkdir(parents=True)
    journal = scene.sets / f"x{SUFFIX}"
    journal.touch(mode=0o600)
    journal.write_bytes(junk)
    return journal


# --- folders that are away ------------------------------------------------------------------------------------------


def _renamed(scene: Scene) -> Callable[[], None]:
    away = scene.folder.rename(scene.folder.with_name("away"))

    def bring_back() -> None:
        away.rename(scene.folder)

    return bring_back


def _empty_mount_point(scene: Scene) -> Callable[[], None]:
    away = scene.folder.rename(scene.folder.with_name("away"))
    scene.folder.mkdir()

    def bring_back() -> None:
        scene.folder.rmdir()
        away.rename(scene.folder)

    return bring_back


def _file_in_its_place(scene: Scene) -> Callable[[], None]:
    away = scene.folder.rename(scene.folder.with_name("away"))
    scene.folder.touch()

    def bring_back() -> None:
        scene.folder.unlink()
        away.rename(scene.folder)

    return bring_back


WAYS_TO_BE_AWAY = [_renamed, _empty_mount_point, _file_in_its_place]


@pytest.mark.parametrize("is_committed", [False, True])
@pytest.mark.parametrize("take_away", WAYS_TO_BE_AWAY, ids=lambda way: way.__name__.strip("_"))
def test_journal_waits_for_its_folder(
    scene: Scene, take_away: Callable[[Scene], Callable[[], None]], tmp_path: Path, is_committed: bool
) -> None:
    """The folder is away at the recovery, and another one is used meanwhile: nothing is torn when it is back."""
    journal = scene.write_journal(is_committed=is_committed)
    bring_back = take_away(scene)
    other = tmp_path / "other"
    other.mkdir()
    for folder in (scene.folder, other, scene.folder):
        scene.fs.recover(str(folder))
    assert journal.exists()
    (unsettled,) = scene.fs.list_unsettled()
    assert (unsettled.journal, unsettled.n_files) == (str(journal), 1)
    assert str(scene.folder) in unsettled.reason
    bring_back()
    assert scene.recover() == {"a": NEW if is_committed else OLD}
    assert not journal.exists()
    assert scene.fs.list_unsettled() == ()
    waited = DidRecover(set_id=SET_ID, files=(), waits_for=(str(scene.folder),))
    restored = DidRecover(set_id=SET_ID, files=(RecoveredFile(file_path=str(scene.file), outcome="restored"),))
    assert scene.reports == ([] if is_committed else [waited, restored])


def test_set_that_has_waited_for_its_folder_since_is_not_old(scene: Scene) -> None:
    """A disk that is connected again after days has what the set left, as nobody could change it meanwhile."""
    scene.write_journal(age_s=25 * 3600)
    bring_back = _renamed(scene)
    scene.fs.recover(str(scene.folder))
    bring_back()
    assert scene.recover() == {"a": OLD}


def test_first_use_of_a_folder_that_is_back_restores_its_files(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "RETRY_S", 0.0)
    scene.write_journal()
    bring_back = _empty_mount_point(scene)
    scene.recover()
    bring_back()
    assert scene.fs.read(str(scene.file)).data == OLD


def test_folder_that_was_moved_is_found_by_its_inode(scene: Scene) -> None:
    journal = scene.write_journal()
    moved = scene.folder.rename(scene.folder.with_name("moved"))
    scene.fs.recover(str(moved))
    assert (moved / "a").read_bytes() == OLD
    assert os.listdir(moved) == ["a"]
    assert not journal.exists()
    assert scene.reports[0].files == (RecoveredFile(file_path=str(moved / "a"), outcome="restored"),)


def test_copy_of_a_folder_keeps_the_old_content_under_a_name_for_people(scene: Scene) -> None:
    """Other inodes: whether the files were written since cannot be known. Nothing hidden is left."""
    scene.write_journal()
    copied = scene.folder.rename(scene.folder.with_name("copied"))
    subprocess.run(["cp", "-rp", copied, scene.folder], check=True)  # Python's copy wants extended attributes
    assert scene.recover() == {"a": NEW, f"a.fileops-before-{SET_ID}": OLD}
    assert scene.fs.list_unsettled() == ()


def test_set_over_two_folders_is_taken_back_in_each_when_it_is_there(scene: Scene, tmp_path: Path) -> None:
    """What is settled stays settled: a file that was put back and then changed by a person is not looked at again."""
    inner = tmp_path / "second"
    inner.mkdir()
    second = inner / "b"
    second.write_bytes(NEW)
    (inner / TEMP).write_bytes(OLD)
    first_step = scene.step()
    second_step = msgspec.structs.replace(
        first_step,
        path=to_latin(str(second)),
        folder_ino=inner.stat().st_ino,
        ino=(inner / TEMP).stat().st_ino,
        new_ino=second.stat().st_ino,
    )
    with SetJournal(str(scene.sets), SET_ID) as journal:
        journal.prepare(new_record(SET_ID, (first_step, second_step)))
    away = inner.rename(tmp_path / "away")
    assert scene.recover() == {"a": OLD}
    scene.file.write_bytes(b"by a person\n")
    LocalFileSystem(state_folder=str(tmp_path / "state" / "journals")).recover(str(scene.folder))  # another daemon
    assert scene.file.read_bytes() == b"by a person\n"
    away.rename(inner)
    scene.fs.recover(str(inner))
    assert {path.name: path.read_bytes() for path in inner.iterdir()} == {"b": OLD}
    assert os.listdir(scene.sets) == []
    outcomes = [[file.outcome for file in report.files] for report in scene.reports]
    assert outcomes == [["restored"], ["restored", "restored"]]


@pytest.mark.parametrize("name", ["n" * 255, "名" * 85, "é" * 127 + "n"])
def test_old_content_of_a_file_with_a_long_name_is_kept(scene: Scene, name: str) -> None:
    """`NAME.fileops-before-ID` would be longer than a name may be."""
    scene.file = scene.file.rename(scene.folder / name)
    scene.write_journal()
    scene.file.write_bytes(b"of another program\n")
    left = scene.recover()
    assert left.pop(name) == b"of another program\n"
    ((kept, content),) = left.items()
    assert content == OLD
    assert kept.endswith(f".fileops-before-{SET_ID}")
    assert len(kept.encode()) <= 255


@pytest.mark.parametrize("code", [errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EIO])
def test_step_whose_call_fails_is_tried_again(scene: Scene, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def refuse(*_args: object, **_more: object) -> bool:
        raise OSError(code, os.strerror(code))

    journal = scene.write_journal()
    with monkeypatch.context() as patched:
        patched.setattr(syscalls, "exchange", refuse)
        assert scene.recover() == {"a": NEW, TEMP: OLD}
    assert os.strerror(code).lower() in scene.fs.list_unsettled()[0].reason
    assert scene.recover() == {"a": OLD}
    assert not journal.exists()


# --- the bound ------------------------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(
    st.integers(min_value=1, max_value=1000),
    st.sampled_from(["n", "名", "\udcff", "\n", '"', "\\", "\x7f", "é"]),
    st.sampled_from([10, 200, 4000]),
)
def test_journal_that_was_written_is_read(n_files: int, letter: str, length: int) -> None:
    """As many files as a rewind may have, with paths as long as the system allows."""
    letters = [letter] * (length // len(os.fsencode(letter)))
    name = "/".join("".join(letters[at : at + 80]) for at in range(0, len(letters), 80))
    steps = tuple(
        SetStep(kind="move", path=to_latin(f"/{number}/{name}"), new_path=to_latin(f"/{number}/new/{name}"))
        for number in range(n_files)
    )
    with tempfile.TemporaryDirectory() as sets:
        with SetJournal(sets, SET_ID) as journal:
            journal.prepare(new_record(SET_ID, steps))
            journal.commit()
        with open(f"{sets}/{SET_ID}{SUFFIX}", "rb") as file:
            read = read_journal(file.fileno())
    assert read.is_committed
    assert read.record is not None
    assert read.record.steps == steps


def test_journal_that_would_not_be_read_is_refused_when_it_is_written(tmp_path: Path) -> None:
    steps = tuple(
        SetStep(kind="move", path=f"/{number}/" + "\x01" * 4000, new_path=f"/{number}/new/" + "\x01" * 4000)
        for number in range(1500)
    )
    with SetJournal(str(tmp_path / "sets"), SET_ID) as journal, pytest.raises(OSError, match="longer journal"):
        journal.prepare(new_record(SET_ID, steps))


# --- a journal that another daemon sees before it is locked ---------------------------------------------------------


def test_journal_that_is_removed_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another daemon locks and removes the empty journal between its creation and its lock."""
    sets, lock, n_locks = tmp_path / "state" / "sets", private_files.lock_between_processes, 0

    def lock_late(fd: int) -> None:
        nonlocal n_locks
        n_locks += 1
        if n_locks == 1:
            in_use.clear()  # as another process sees it
            LocalFileSystem(state_folder=str(tmp_path / "state" / "journals")).recover(str(tmp_path))
        lock(fd)

    monkeypatch.setattr(private_files, "lock_between_processes", lock_late)
    with SetJournal(str(sets), SET_ID) as journal:
        assert n_locks == 2
        in_use.clear()
        LocalFileSystem(state_folder=str(tmp_path / "state" / "journals")).recover(str(tmp_path))
        assert os.listdir(sets) == [f"{SET_ID}{SUFFIX}"]
        assert journal.remove()
