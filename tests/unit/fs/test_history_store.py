"""The history of edits on disk: what comes back, after what."""

import os
import time
from pathlib import Path

import pytest

from fileops.fs.history_store import DiskHistoryStore
from fileops.model import AppliedEdit, Splice


def an_edit(number: int, *, timestamp: float | None = None, diff: str = "-a\n+b\n") -> AppliedEdit:
    return AppliedEdit(
        edit_id=f"e{number}", session_id="s", file_path="/w/\udce9", path="/w/\udce9",
        timestamp=time.time() if timestamp is None else timestamp, kind="modify",
        reverse=(Splice(0, 1, b"\xff\0"),), before=b"1" * 16, after=b"2" * 16, summary="+1 -1 \ud800", diff=diff,
        n_added=1, n_removed=1, undoes=("e0",),
    )  # fmt: skip


def store(tmp_path: Path, **bounds: float) -> DiskHistoryStore:
    return DiskHistoryStore(str(tmp_path / "history"), **bounds)  # pyright: ignore[reportArgumentType]


def ids(tmp_path: Path, **bounds: float) -> list[str]:
    return [edit.edit_id for edit, _ in store(tmp_path, **bounds).load()]


def test_what_is_appended_comes_back(tmp_path: Path):
    writer, edit = store(tmp_path), an_edit(1, diff="-\ud800\n")
    writer.append(edit, b"content")
    writer.append(an_edit(2), None)
    (first, content), (second, nothing) = store(tmp_path).load()  # while the other daemon still writes
    assert first.edit_id == "e1"
    assert (first.path, first.reverse, first.diff, first.undoes) == (edit.path, edit.reverse, edit.diff, edit.undoes)
    assert content is not None
    assert (second.edit_id, nothing) == ("e2", None)
    writer.close()


def test_nothing_is_made_before_there_is_something_to_keep(tmp_path: Path):
    assert store(tmp_path).load() == []
    assert os.listdir(tmp_path) == []


def test_it_is_for_the_user_alone(tmp_path: Path):
    writer = store(tmp_path)
    writer.append(an_edit(1), b"secret")
    folder = tmp_path / "history"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]


@pytest.mark.parametrize("cut", [1, 5, 9, 40])
def test_a_record_that_a_crash_cut_short_is_left_out(tmp_path: Path, cut: int):
    writer = store(tmp_path)
    writer.append(an_edit(1), b"x")
    (path,) = (tmp_path / "history").iterdir()
    whole = path.stat().st_size
    writer.append(an_edit(2), b"x")
    os.truncate(path, whole + cut)
    assert ids(tmp_path) == ["e1"]


def test_damaged_bytes_end_a_file_and_no_other(tmp_path: Path):
    one, two = store(tmp_path), store(tmp_path)
    one.append(an_edit(1), None)
    one.append(an_edit(2), None)
    two.append(an_edit(3), None)
    first = min((tmp_path / "history").iterdir())
    data = bytearray(first.read_bytes())
    data[-3] ^= 0xFF
    first.write_bytes(data)
    assert ids(tmp_path) == ["e1", "e3"]


def test_old_files_and_records_go(tmp_path: Path):
    writer = store(tmp_path)
    writer.append(an_edit(1, timestamp=time.time() - 100), None)
    writer.append(an_edit(2), None)
    assert ids(tmp_path, max_age_s=50) == ["e2"]
    writer.close()
    (path,) = (tmp_path / "history").iterdir()
    os.utime(path, (1, 1))
    assert ids(tmp_path) == []
    assert list((tmp_path / "history").iterdir()) == []


def test_the_oldest_files_go_where_all_are_too_large(tmp_path: Path):
    for number in range(4):
        writer = store(tmp_path)
        writer.append(an_edit(number), os.urandom(1000))
        writer.close()
    assert ids(tmp_path, max_bytes=3000) == ["e2", "e3"]


def test_a_file_in_use_is_not_removed(tmp_path: Path):
    writer = store(tmp_path)
    writer.append(an_edit(1), os.urandom(1000))
    assert ids(tmp_path, max_bytes=10) == ["e1"]
    writer.close()


def test_a_folder_that_cannot_be_written_does_no_harm(tmp_path: Path):
    (tmp_path / "history").write_text("a file")
    writer = store(tmp_path)
    writer.append(an_edit(1), None)
    assert writer.load() == []
