"""A change set on the local disk: all of it, or nothing."""

import errno
import os
import resource
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace as with_changes

from fileops.fs.local.filesystem import LocalFileSystem
from fileops.fs.local.set_journal import SetJournal, SetRecord
from fileops.model.changes import FilePlan, Permissions
from fileops.model.edits import Splice
from fileops.model.errors import AlreadyExists, FileOpsError, SetConflict, SetUnsupported
from fileops.model.files import Committed
from fileops.model.internal_errors import Stale
from fileops.platform import sync, syscalls

SET_ID = "5e7" * 10


@dataclass
class Hooks:
    """SetHooks that call `at_before`, and keep what was committed."""

    at_before: Callable[[], object] = lambda: None
    committed: tuple[Committed, ...] = ()
    withdrawals: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])

    def prepare(self) -> None:
        pass

    def before(self) -> None:
        self.at_before()

    def on_cancel(self, withdraw: Callable[[], None]) -> None:
        self.withdrawals.append(withdraw)

    def after(self, committed: tuple[Committed, ...], /) -> None:
        self.committed = committed


@pytest.fixture
def fs(tmp_path: Path) -> LocalFileSystem:
    return LocalFileSystem(state_folder=str(tmp_path / "state" / "journals"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "inner").mkdir(parents=True)
    for name in ("a", "b", "c", "inner/d"):
        (folder / name).write_text(f"text of {name}\n")
    return folder


def edited(fs: LocalFileSystem, path: Path) -> FilePlan:
    return FilePlan(snapshot=fs.read(str(path)), splices=(Splice(0, 4, b"TEXT"),))


def created(fs: LocalFileSystem, path: Path) -> FilePlan:
    return FilePlan(snapshot=fs.read(str(path)), splices=(Splice(0, 0, b"new\n"),))


def whole_set(fs: LocalFileSystem, folder: Path) -> list[FilePlan]:
    """One change of each kind, and of two folders."""
    return [
        edited(fs, folder / "a"),
        FilePlan(snapshot=fs.read(str(folder / "b")), removes=True),
        FilePlan(snapshot=fs.read(str(folder / "c")), new_path=str(folder / "inner/moved")),
        FilePlan(
            snapshot=fs.read(str(folder / "inner/d")), new_path=str(folder / "e"), splices=(Splice(0, 4, b"TEXT"),)
        ),
        created(fs, folder / "made/below/f"),
    ]


BEFORE = {"a": "text of a\n", "b": "text of b\n", "c": "text of c\n", "inner/d": "text of inner/d\n"}
AFTER = {"a": "TEXT of a\n", "inner/moved": "text of c\n", "e": "TEXT of inner/d\n", "made/below/f": "new\n"}


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if not path.is_dir()}


def journals(tmp_path: Path) -> list[str]:
    sets = tmp_path / "state" / "sets"
    return os.listdir(sets) if sets.exists() else []


def test_set_is_made_as_a_whole(fs: LocalFileSystem, folder: Path, tmp_path: Path) -> None:
    hooks = Hooks()
    committed = fs.replace_set(SET_ID, whole_set(fs, folder), hooks)
    assert contents(folder) == AFTER
    assert hooks.committed == committed
    assert [outcome.report.method for outcome in committed] == ["swap", "delete", "rename", "rename", "create"]
    assert [outcome.snapshot.exists for outcome in committed] == [True, False, True, True, True]
    assert journals(tmp_path) == []
    assert fs.n_locks == 0


def test_file_keeps_its_mode_in_a_set(fs: LocalFileSystem, folder: Path) -> None:
    for name in ("a", "inner/d"):
        (folder / name).chmod(0o750)
    fs.replace_set(SET_ID, whole_set(fs, folder), Hooks())
    assert [os.stat(folder / name).st_mode & 0o777 for name in ("a", "e")] == [0o750, 0o750]


@pytest.mark.parametrize("written", ["a", "b", "c", "inner/d"])
@pytest.mark.parametrize("by", ["in_place", "rename"])
def test_foreign_write_before_the_names_change_is_kept(
    fs: LocalFileSystem, folder: Path, tmp_path: Path, written: str, by: str
) -> None:
    def write() -> None:
        if by == "in_place":
            (folder / written).write_text("foreign\n")
        else:
            (folder / "foreign").write_text("foreign\n")
            (folder / "foreign").rename(folder / written)

    with pytest.raises(Stale):
        fs.replace_set(SET_ID, whole_set(fs, folder), Hooks(at_before=write))
    assert contents(folder) == {**BEFORE, written: "foreign\n"}
    assert not (folder / "made").exists()
    assert journals(tmp_path) == []


@pytest.mark.parametrize("taken", ["inner/moved", "e", "made/below/f"])
def test_name_that_another_program_takes_is_not_overwritten(
    fs: LocalFileSystem, folder: Path, tmp_path: Path, taken: str
) -> None:
    with pytest.raises(AlreadyExists):
        fs.replace_set(SET_ID, whole_set(fs, folder), Hooks(at_before=lambda: (folder / taken).write_text("foreign\n")))
    assert contents(folder) == {**BEFORE, taken: "foreign\n"}
    assert journals(tmp_path) == []


def test_hard_linked_file_makes_a_set_unsupported(fs: LocalFileSystem, folder: Path) -> None:
    os.link(folder / "a", folder / "other name")
    with pytest.raises(SetUnsupported):
        fs.replace_set(SET_ID, whole_set(fs, folder), Hooks())
    assert contents(folder) == {**BEFORE, "other name": BEFORE["a"]}


def test_write_into_a_new_file_is_left_when_the_set_fails(
    fs: LocalFileSystem, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program writes into the new `a` and into the old `b`, between S4 and COMMITTED."""
    folder_synced = os.fsync
    files = [edited(fs, folder / "a"), edited(fs, folder / "b")]
    old_b = (folder / "b").open("r+")

    def sync(fd: int) -> None:
        if (folder / "b").read_text().startswith("TEXT") and not old_b.closed:
            (folder / "a").write_text("written by another program\n")
            old_b.write("written by a second one\n")
            old_b.close()
        folder_synced(fd)

    monkeypatch.setattr(os, "fsync", sync)
    with pytest.raises(SetConflict) as failure:
        fs.replace_set(SET_ID, files, Hooks())
    kept = f"a.fileops-before-{SET_ID}"
    assert contents(folder) == {
        **BEFORE, "a": "written by another program\n", "b": "written by a second one\n", kept: BEFORE["a"],
    }  # fmt: skip
    assert (failure.value.files, failure.value.kept) == ((str(folder / "a"),), (str(folder / kept),))
    assert journals(tmp_path) == []


def test_set_syncs_each_folder_once(fs: LocalFileSystem, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sync costs more than all else of a small file; each file of a set has its own descriptor of its folder."""
    synced: list[int] = []
    sync_folder = sync.sync_folder

    def counting(fd: int) -> str | None:
        synced.append(os.fstat(fd).st_ino)
        return sync_folder(fd)

    files = [edited(fs, folder / name) for name in ("a", "b", "c", "inner/d")]
    monkeypatch.setattr(sync, "sync_folder", counting)
    fs.replace_set(SET_ID, files, Hooks())
    assert sorted(ino for ino in synced if ino in {folder.stat().st_ino, (folder / "inner").stat().st_ino}) == sorted(
        path.stat().st_ino for path in (folder, folder / "inner")
    )


@pytest.fixture
def plain_renames(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a filesystem without renameat2: files are linked and renamed."""

    def unknown(*_paths: object) -> bool:
        return False

    monkeypatch.setattr(syscalls, "exchange", unknown)
    monkeypatch.setattr(syscalls, "rename_exclusive", unknown)


@pytest.mark.usefixtures("plain_renames")
def test_set_without_exchange_is_made_as_a_whole(fs: LocalFileSystem, folder: Path, tmp_path: Path) -> None:
    fs.replace_set(SET_ID, whole_set(fs, folder), Hooks())
    assert (contents(folder), journals(tmp_path)) == (AFTER, [])


@pytest.mark.usefixtures("plain_renames")
def test_set_without_exchange_that_fails_after_its_names_changed_is_not_made(
    fs: LocalFileSystem, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk fails when the folders are synced, after S4."""
    sync_folder = sync.sync_folder

    def fail_once(fd: int) -> None:
        if (folder / "e").exists() and not failures:
            failures.append(contents(folder))
            raise OSError(errno.EIO, "Input/output error")
        sync_folder(fd)

    failures: list[dict[str, str]] = []
    monkeypatch.setattr(sync, "sync_folder", fail_once)
    with pytest.raises(FileOpsError):
        fs.replace_set(SET_ID, whole_set(fs, folder), Hooks())
    assert AFTER.items() <= failures[0].items()  # it had come so far
    assert (contents(folder), journals(tmp_path)) == (BEFORE, [])


@pytest.mark.usefixtures("plain_renames")
def test_filesystem_that_can_neither_exchange_nor_link_makes_a_set_unsupported(
    fs: LocalFileSystem, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_paths: object, **_options: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(SetUnsupported):
        fs.replace_set(SET_ID, whole_set(fs, folder)[1:], Hooks())
    assert (contents(folder), journals(tmp_path)) == (BEFORE, [])


def test_set_changes_the_mode_of_a_file_and_of_a_new_one(fs: LocalFileSystem, folder: Path) -> None:
    (folder / "a").chmod(0o640)
    (folder / "b").chmod(0o755)
    files = [
        FilePlan(snapshot=fs.read(f"{folder}/a"), permissions=Permissions(becomes_executable=True)),
        FilePlan(
            snapshot=fs.read(f"{folder}/b"), permissions=Permissions(becomes_executable=False), new_path=f"{folder}/b2"
        ),
        FilePlan(snapshot=fs.read(f"{folder}/c"), permissions=Permissions(0o600)),
        with_changes(created(fs, folder / "new"), permissions=Permissions(becomes_executable=True)),
    ]
    fs.replace_set(SET_ID, files, Hooks())
    modes = {name: (folder / name).stat().st_mode & 0o777 for name in ("a", "b2", "c", "new")}
    assert modes == {"a": 0o750, "b2": 0o644, "c": 0o600, "new": modes["new"] | 0o100}


def test_file_that_another_program_replaces_while_the_set_waits_makes_it_stale(
    fs: LocalFileSystem, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is replaced after the journal was written and before the last compare: the set has changed no name yet."""
    prepared = SetJournal.prepare

    def prepare(journal: SetJournal, record: SetRecord) -> None:
        prepared(journal, record)
        for name in ("a", "b"):
            (folder / "foreign").write_text("foreign\n")
            (folder / "foreign").rename(folder / name)

    monkeypatch.setattr(SetJournal, "prepare", prepare)
    with pytest.raises(Stale):
        fs.replace_set(SET_ID, whole_set(fs, folder), Hooks())
    assert contents(folder) == {**BEFORE, "a": "foreign\n", "b": "foreign\n"}
    assert journals(tmp_path) == []


# --- files that no set can have -----------------------------------------------------------------------------------


def hard_linked_set(fs: LocalFileSystem, folder: Path) -> list[FilePlan]:
    os.link(folder / "a", folder / "other name")
    os.link(folder / "b", folder / "another")
    gone = FilePlan(snapshot=fs.read(str(folder / "b")), removes=True)
    return [edited(fs, folder / "a"), gone, edited(fs, folder / "c"), created(fs, folder / "f")]


def test_hard_linked_files_are_written_with_a_set_that_is_not_strict(fs: LocalFileSystem, folder: Path) -> None:
    hooks = Hooks()
    files = hard_linked_set(fs, folder)
    committed = fs.replace_set(SET_ID, files, hooks, is_strict=False)
    assert contents(folder) == {
        "a": "TEXT of a\n", "other name": "TEXT of a\n", "another": "text of b\n", "c": "TEXT of c\n", "f": "new\n",
        "inner/d": BEFORE["inner/d"],
    }  # fmt: skip
    assert [outcome.snapshot.path for outcome in committed] == [file.snapshot.path for file in files]
    assert hooks.committed == committed


def test_hard_linked_files_are_restored_if_their_set_fails(fs: LocalFileSystem, folder: Path, tmp_path: Path) -> None:
    (folder / "b").chmod(0o600)
    files = hard_linked_set(fs, folder)
    before = contents(folder)
    with pytest.raises(AlreadyExists) as failure:
        fs.replace_set(SET_ID, files, Hooks(at_before=lambda: (folder / "f").write_text("foreign\n")), is_strict=False)
    assert failure.value.failed_path == str(folder / "f")
    assert (contents(folder), journals(tmp_path)) == ({**before, "f": "foreign\n"}, [])
    assert (folder / "b").stat().st_mode & 0o777 == 0o600


def test_hard_linked_file_that_cannot_be_written_is_found_before_any_is(fs: LocalFileSystem, folder: Path) -> None:
    files = hard_linked_set(fs, folder)
    before = contents(folder)
    hooks, begun = Hooks(), list[str]()
    hooks.at_before = lambda: begun.append("begun")
    (folder / "a").write_text("text by others\n")
    with pytest.raises(Stale):
        fs.replace_set(SET_ID, files, hooks, is_strict=False)
    assert contents(folder) == {**before, "a": "text by others\n", "other name": "text by others\n"}
    assert begun == []


@pytest.mark.usefixtures("plain_renames")
def test_files_are_written_singly_on_a_filesystem_that_can_neither_exchange_nor_link(
    fs: LocalFileSystem, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_paths: object, **_options: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    n_begun: list[int] = []
    hooks = Hooks(at_before=lambda: n_begun.append(1))
    gone = FilePlan(snapshot=fs.read(str(folder / "b")), removes=True)
    fs.replace_set(SET_ID, [edited(fs, folder / "a"), gone, edited(fs, folder / "c")], hooks, is_strict=False)
    assert contents(folder) == {"a": "TEXT of a\n", "c": "TEXT of c\n", "inner/d": BEFORE["inner/d"]}
    assert (n_begun, journals(tmp_path)) == ([1], [])


def test_set_of_more_files_than_may_be_open_raises_the_limit(fs: LocalFileSystem, folder: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    paths = [folder / f"many{n}" for n in range(300)]
    for path in paths:
        path.write_text("text\n")
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        fs.replace_set(SET_ID, [edited(fs, path) for path in paths], Hooks())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert {path.read_text() for path in paths} == {"TEXT\n"}
