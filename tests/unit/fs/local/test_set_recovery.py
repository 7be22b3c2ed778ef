"""Recovery by the journals of change sets: R-SET-8 (what others wrote, old sets) and R-SET-9 (what is trusted)."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fileops.fs.local.filesystem import LocalFileSystem
from fileops.fs.local.set_journal import SetJournal, SetRecord, SetStep, in_use
from fileops.model.digest import content_digest
from fileops.model.events import DidRecover, RecoveredFile

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
            path=str(self.file),
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
        return self.sets / f"{SET_ID}.journal"

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


def _open_to_others(scene: Scene) -> None:
    scene.write_journal().chmod(0o644)


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
    scene.write_journal(_made(scene, path=f"{link}/a"))


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
    _through_a_link, _cut_off, _one_bit,
]  # fmt: skip


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__.strip("_"))
def test_journal_that_is_forged_or_damaged_changes_no_file(scene: Scene, forge: Callable[[Scene], None]) -> None:
    forge(scene)
    scene.recover()
    assert scene.file.read_bytes() == NEW


@pytest.mark.parametrize("junk", [b"", b"\xff" * 4000, b"[" * 100_000, b'{"a": 1}\n', b"0 {}\n"])
def test_journal_that_is_none_is_removed_without_effect(scene: Scene, junk: bytes) -> None:
    scene.sets.mkdir(parents=True)
    journal = scene.sets / "x.journal"
    journal.touch(mode=0o600)
    journal.write_bytes(junk)
    before = scene.recover()
    assert before == {"a": NEW, TEMP: OLD}
    assert not journal.exists()
