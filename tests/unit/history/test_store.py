"""The history of edits on disk: what comes back, after what."""

import fcntl
import os
import resource
import struct
import time
import zlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fileops.history.store import DiskHistoryStore
from fileops.model.edits import Splice
from fileops.model.history import AppliedEdit
from fileops.model.sessions import SessionName


def an_edit(number: int, *, timestamp: float | None = None, diff: str = "-a\n+b\n") -> AppliedEdit:
    return AppliedEdit(
        edit_id=f"e{number}",
        session_id=SessionName("s"),
        file_path="/w/\udce9",
        path="/w/\udce9",
        timestamp=time.time() if timestamp is None else timestamp,
        kind="modify",
        reverse=(Splice(0, 1, b"\xff\0"),),
        before=b"1" * 16,
        after=b"2" * 16,
        summary="+1 -1 \ud800",
        diff=diff,
        n_added=1,
        n_removed=1,
        undoes=("e0",),
    )


def store(tmp_path: Path, **bounds: float) -> DiskHistoryStore:
    return DiskHistoryStore(str(tmp_path / "history"), **bounds)  # pyright: ignore[reportArgumentType]


def ids(tmp_path: Path, **bounds: float) -> list[str]:
    return [edit.edit_id for edit, _ in store(tmp_path, **bounds).load()]


def test_appended_edits_are_loaded(tmp_path: Path):
    writer, edit = store(tmp_path), an_edit(1, diff="-\ud800\n")
    writer.append(edit, b"content")
    writer.append(an_edit(2), None)
    (first, content), (second, nothing) = store(tmp_path).load()  # while the other daemon still writes
    assert first.edit_id == "e1"
    assert (first.path, first.reverse, first.diff, first.undoes) == (edit.path, edit.reverse, edit.diff, edit.undoes)
    assert content is not None
    assert (second.edit_id, nothing) == ("e2", None)
    writer.close()


def test_file_is_not_created_before_the_first_edit(tmp_path: Path):
    assert store(tmp_path).load() == []
    assert os.listdir(tmp_path) == []


def test_history_files_are_private_to_the_user(tmp_path: Path):
    writer = store(tmp_path)
    writer.append(an_edit(1), b"secret")
    folder = tmp_path / "history"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]


@pytest.mark.parametrize("cut", [1, 5, 9, 40])
def test_record_truncated_by_a_crash_is_skipped(tmp_path: Path, cut: int):
    writer = store(tmp_path)
    writer.append(an_edit(1), b"x")
    (path,) = (tmp_path / "history").iterdir()
    whole = path.stat().st_size
    writer.append(an_edit(2), b"x")
    os.truncate(path, whole + cut)
    assert ids(tmp_path) == ["e1"]


def test_damaged_bytes_end_the_reading_of_their_file_only(tmp_path: Path):
    one, two = store(tmp_path), store(tmp_path)
    one.append(an_edit(1), None)
    one.append(an_edit(2), None)
    two.append(an_edit(3), None)
    first = min((tmp_path / "history").iterdir())
    data = bytearray(first.read_bytes())
    data[-3] ^= 0xFF
    first.write_bytes(data)
    assert ids(tmp_path) == ["e1", "e3"]


def test_old_files_and_records_are_removed(tmp_path: Path):
    writer = store(tmp_path)
    writer.append(an_edit(1, timestamp=time.time() - 100), None)
    writer.append(an_edit(2), None)
    assert ids(tmp_path, max_age_s=50) == ["e2"]
    writer.close()
    (path,) = (tmp_path / "history").iterdir()
    os.utime(path, (1, 1))
    assert ids(tmp_path) == []
    assert list((tmp_path / "history").iterdir()) == []


def test_oldest_files_are_removed_if_all_are_too_large(tmp_path: Path):
    for number in range(4):
        writer = store(tmp_path)
        writer.append(an_edit(number), os.urandom(1000))
        writer.close()
    assert ids(tmp_path, max_bytes=3000) == ["e2", "e3"]


def test_file_in_use_is_not_removed(tmp_path: Path):
    writer = store(tmp_path)
    writer.append(an_edit(1), os.urandom(1000))
    assert ids(tmp_path, max_bytes=10) == ["e1"]
    writer.close()


def test_folder_that_cannot_be_written_is_harmless(tmp_path: Path):
    (tmp_path / "history").write_text("a file")
    writer = store(tmp_path)
    writer.append(an_edit(1), None)
    assert writer.load() == []


# --- a disk that takes nothing --------------------------------------------------------------------------------------


@contextmanager
def no_room_beyond(n_bytes: int) -> Generator[None]:
    """No file of this process grows any more; what fits is still written, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def telling_store(tmp_path: Path) -> tuple[DiskHistoryStore, list[str]]:
    told: list[str] = []
    return DiskHistoryStore(str(tmp_path / "history"), tell=told.append), told


def test_history_continues_when_there_is_space_again(tmp_path: Path):
    writer, told = telling_store(tmp_path)
    writer.append(an_edit(1), os.urandom(100))
    (file,) = (tmp_path / "history").iterdir()
    with no_room_beyond(file.stat().st_size + 50):
        for number in (2, 3):
            writer.append(an_edit(number), os.urandom(1000))
    assert [sentence.split(".")[0] for sentence in told] == [
        f"The history of edits cannot be kept in {tmp_path}/history: File too large"
    ]
    for number in (4, 5):
        writer.append(an_edit(number), os.urandom(1000))
    assert told[1:] == ["The history of edits is kept on disk again. It lacks 2 edits that were made meanwhile."]
    assert ids(tmp_path) == ["e1", "e4", "e5"]
    writer.close()


def test_each_outage_is_reported(tmp_path: Path):
    writer, told = telling_store(tmp_path)
    for number in range(2):
        with no_room_beyond(0):
            writer.append(an_edit(2 * number), b"x")
        writer.append(an_edit(2 * number + 1), b"x")
    assert len(told) == 4
    assert ids(tmp_path) == ["e1", "e3"]
    writer.close()


def test_file_briefly_locked_by_another_daemon_is_locked_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real, refusals = fcntl.flock, [BlockingIOError(11, "locked") for _ in range(3)]

    def flock(fd: int, operation: int) -> None:
        if refusals:
            raise refusals.pop()
        real(fd, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    writer, told = telling_store(tmp_path)
    writer.append(an_edit(1), None)
    assert (told, ids(tmp_path)) == ([], ["e1"])
    writer.close()


def test_removed_folder_is_created_again(tmp_path: Path):
    writer, _ = telling_store(tmp_path)
    writer.append(an_edit(1), None)
    for path in (tmp_path / "history").iterdir():
        path.unlink()
    (tmp_path / "history").rmdir()
    writer.append(an_edit(2), None)
    assert ids(tmp_path) == ["e2"]
    writer.close()


# --- what no daemon of this user has written ------------------------------------------------------------------------


def fields_of(edit: AppliedEdit) -> dict[str, Any]:
    return {
        "edit_id": edit.edit_id, "session_id": "s", "file_path": b"/w/f", "path": b"/w/f", "timestamp": time.time(),
        "kind": "modify", "reverse": [(0, 1, b"a")], "before": b"1" * 16, "after": b"2" * 16, "summary": "",
        "diff": b"", "n_added": 1, "n_removed": 1, "undoes": [], "content": None,
    }  # fmt: skip


def record_with(**fields: Any) -> bytes:
    """Whole, and with the right checksum."""
    payload = msgspec.msgpack.encode(list({**fields_of(an_edit(9)), **fields}.values()))
    return struct.pack("<II", len(payload), zlib.crc32(payload)) + payload


def a_file(record: bytes, mode: int = 0o600) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.write_bytes(record)
        path.chmod(mode)

    return make


def a_fifo(path: Path) -> None:
    os.mkfifo(path, 0o600)


def a_link(path: Path) -> None:
    path.with_suffix(".elsewhere").write_bytes(record_with())
    path.symlink_to(path.with_suffix(".elsewhere"))


def anothers(path: Path) -> None:
    path.write_bytes(record_with())
    try:
        os.chown(path, 1, 1)
    except PermissionError:
        pytest.skip("only root can give a file away")


STRANGE = [
    pytest.param(a_fifo, "is not a regular file", id="FIFO"),
    pytest.param(Path.mkdir, "is not a regular file", id="folder"),
    pytest.param(a_link, "is not a regular file", id="link"),
    pytest.param(anothers, "belongs to another user", id="another user's"),
    pytest.param(a_file(record_with(), 0o666), "is open to other users (mode 0666)", id="open to all"),
    pytest.param(a_file(record_with(path=b"/w/\xff")), "has a record that is no edit", id="path"),
    pytest.param(a_file(record_with(kind="rename")), "has a record that is no edit", id="kind"),
    pytest.param(a_file(record_with(kind="create")), "has a record that is no edit", id="creation of what was there"),
    pytest.param(a_file(record_with(timestamp=float("nan"))), "has a record that is no edit", id="time"),
    pytest.param(a_file(record_with(after=b"2")), "has a record that is no edit", id="digest"),
    pytest.param(a_file(record_with(reverse=[(5, 1, b"")])), "has a record that is no edit", id="splice"),
    pytest.param(a_file(record_with(reverse=[(1, 2, b""), (0, 1, b"")])), "has a record that is no edit", id="splices"),
    pytest.param(a_file(record_with(n_added="1")), "has a record that is no edit", id="type"),
]


@pytest.mark.parametrize(("make", "reason"), STRANGE)
def test_file_not_written_by_a_daemon_of_this_user_is_moved_aside(
    tmp_path: Path, make: Callable[[Path], None], reason: str
):
    writer = store(tmp_path)
    writer.append(an_edit(1), None)
    writer.close()
    strange = tmp_path / "history" / "00000000000000000001-00000000.edits"
    make(strange)
    reader, told = telling_store(tmp_path)
    assert [edit.edit_id for edit, _ in reader.load()] == ["e1"]
    assert told == [
        f"The history file {strange} is not read: it {reason}. It is now {strange}.damaged; remove it when you like."
    ]
    reader, told = telling_store(tmp_path)
    assert [edit.edit_id for edit, _ in reader.load()] == ["e1"]
    assert told == []


def test_folder_writable_by_others_is_neither_read_nor_written(tmp_path: Path):
    writer = store(tmp_path)
    writer.append(an_edit(1), None)
    writer.close()
    (tmp_path / "history").chmod(0o777)
    reader, told = telling_store(tmp_path)
    assert reader.load() == []
    reader.append(an_edit(2), None)
    assert len(told) == 2
    assert all("others may write there" in sentence for sentence in told)
    assert len(list((tmp_path / "history").iterdir())) == 1


def test_duplicate_edit_is_loaded_once(tmp_path: Path):
    for _ in range(2):
        writer = store(tmp_path)
        writer.append(an_edit(1), None)
        writer.close()
    assert ids(tmp_path) == ["e1"]


def test_files_moved_aside_are_removed_by_age(tmp_path: Path):
    writer = store(tmp_path)
    writer.append(an_edit(1), None)
    aside = tmp_path / "history" / "1.edits.damaged"
    aside.write_bytes(b"x")
    os.utime(aside, (1, 1))
    assert ids(tmp_path) == ["e1"]
    assert not aside.exists()
    writer.close()
