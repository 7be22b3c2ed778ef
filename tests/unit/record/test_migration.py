"""The history of earlier versions is moved into the record, and nothing of it is lost (R-UNDO-7)."""

import fcntl
import os
import resource
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fileops.history.journal import History
from fileops.model.digest import content_digest
from fileops.model.record import OUTSIDE, Contents, Entry, FileVersion, LogQuery
from fileops.record.history import RecordedHistory
from fileops.record.migration import migrate
from fileops.record.store import RecordStore
from support.earlier_history import N_FIELDS, modification, record, write_file

A, B, C = b"a\n", b"b\n", b"c\n"


@pytest.fixture
def store(tmp_path: Path) -> Generator[RecordStore]:
    store = RecordStore(str(tmp_path / "record"))
    yield store
    store.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "history"


def migrated(folder: Path, store: RecordStore) -> list[str]:
    """Move the files, and return the sentences for the client."""
    told: list[str] = []
    migrate(str(folder), store, told.append)
    return told


def edit_ids(store: RecordStore) -> list[str]:
    """Of the history, oldest first; they are those of the log, too."""
    logged = [entry.edit_id for entry in store.entries(LogQuery())[0] if entry.edit_id is not None][::-1]
    assert [edit.edit_id for edit in history_of(store).edits()][::-1] == logged
    return logged


def history_of(store: RecordStore) -> History:
    return History(RecordedHistory(lambda: store))


@pytest.mark.parametrize("n_fields", N_FIELDS)
def test_edits_of_each_earlier_version_are_in_the_history_and_in_the_log(
    folder: Path, store: RecordStore, n_fields: int
) -> None:
    path = write_file(folder, b"".join(record(fields, n_fields) for fields in chain(3)))
    assert migrated(folder, store) == []
    assert not path.exists()
    assert edit_ids(store) == ["e0", "e1", "e2"]
    entries, _ = store.entries(LogQuery())
    assert [store.contents(entry) for entry in entries[::-1]] == [
        Contents(b"0\n", b"1\n"), Contents(b"1\n", b"2\n"), Contents(b"2\n", b"3\n"),
    ]  # fmt: skip
    assert {(entry.by.label, entry.evidence, entry.is_undoable) for entry in entries} == {("s", "commit", True)}
    history = history_of(store)
    assert [history.content_after(edit_id) for edit_id in ("e0", "e1", "e2")] == [b"1\n", b"2\n", b"3\n"]
    assert all(history.is_earlier(edit) for edit in history.edits())


def chain(n_edits: int) -> list[dict[str, object]]:
    return [modification(n, b"%d\n" % n, b"%d\n" % (n + 1)) for n in range(n_edits)]


def test_undos_remain_undos_in_the_history_and_in_the_log(folder: Path, store: RecordStore) -> None:
    undo = modification(2, B, A, undoes=["e1"])
    write_file(folder, record(modification(1, A, B)) + record(undo))
    migrated(folder, store)
    second, first = store.entries(LogQuery())[0]
    assert (second.undoes, first.undone_by) == ((first.entry_id,), second.entry_id)
    newest, oldest = history_of(store).edits()
    assert (newest.undoes, oldest.undone_by) == (("e1",), "e2")


def test_creation_deletion_and_rename_have_entries_of_their_kind(folder: Path, store: RecordStore) -> None:
    created = modification(1, b"", A, kind="create", reverse=[], before=None)
    renamed = modification(2, A, B, "/w/g", renamed_from=b"/w/f")
    deleted = modification(3, B, b"", "/w/g", kind="delete", reverse=[(0, 0, B)], after=None, content=None)
    write_file(folder, b"".join(map(record, (created, renamed, deleted))))
    migrated(folder, store)
    found = [(entry.kind, entry.path, store.contents(entry)) for entry in store.entries(LogQuery())[0]]
    assert found[::-1] == [
        ("create", "/w/f", Contents(None, A)), ("delete", "/w/f", Contents(A, None)),
        ("create", "/w/g", Contents(None, B)), ("delete", "/w/g", Contents(B, None)),
    ]  # fmt: skip


def test_edit_whose_content_is_lost_is_listed_and_cannot_be_undone_by_its_entry(
    folder: Path, store: RecordStore
) -> None:
    write_file(folder, record(modification(1, A, B, content=None)) + record(modification(2, B, C, content=b"no zlib")))
    migrated(folder, store)
    assert [(entry.content, entry.is_undoable) for entry in store.entries(LogQuery())[0]] == [("gone", False)] * 2
    assert edit_ids(store) == ["e1", "e2"]


def test_text_of_protected_files_is_not_moved(folder: Path, store: RecordStore, tmp_path: Path) -> None:
    write_file(folder, record(modification(1, b"SECRET=1\n", b"SECRET=2\n", "/w/.env", diff=b"+SECRET=2\n")))
    migrated(folder, store)
    (entry,) = store.entries(LogQuery())[0]
    assert (entry.content, entry.path) == ("protected", "/w/.env")
    assert history_of(store).edits() == ()
    assert b"SECRET" not in b"".join(path.read_bytes() for path in (tmp_path / "record").iterdir())


def test_entries_are_in_the_order_of_time_among_those_of_the_record(folder: Path, store: RecordStore) -> None:
    """Many, so that no gap between two numbers is halved until it is none."""
    began = time.time() - 1000
    for n in (10, 200):
        version = FileVersion(content_digest(b"%d" % n))
        entry = Entry(
            entry_id=f"r{n}", time=began + n + 0.5, path="/w/other", kind="create", by=OUTSIDE, before=None,
            after=version,
        )  # fmt: skip
        store.append(entry, Contents(None, b"%d" % n))
    for name in range(100):  # the oldest of each file is older than all, the newest is the newest
        numbers = (name, name + 100, name + 200)
        edits = b"".join(record(modification(number, A, B, f"/w/{number}")) for number in numbers)
        write_file(folder, edits, f"{name:03d}")
    migrated(folder, store)
    entries = store.entries(LogQuery())[0][::-1]
    assert len(entries) == 302
    assert [entry.time for entry in entries] == sorted(entry.time for entry in entries)


@pytest.mark.parametrize("cut", [1, 5, 9, 40])
def test_record_truncated_by_a_crash_stays_in_a_renamed_file(folder: Path, store: RecordStore, cut: int) -> None:
    path = write_file(folder, record(modification(1, A, B)) + record(modification(2, B, C))[:cut])
    (sentence,) = migrated(folder, store)
    assert "cut off by a crash" in sentence
    assert edit_ids(store) == ["e1"]
    assert [left.name for left in folder.iterdir()] == [f"{path.name}.damaged"]


def test_damage_ends_the_reading_of_its_file_only(folder: Path, store: RecordStore) -> None:
    first, second = record(modification(1, A, B)), bytearray(record(modification(2, B, C)))
    second[-3] ^= 0xFF
    write_file(folder, first + bytes(second) + record(modification(3, C, A)), "1")
    write_file(folder, record(modification(4, A, B)), "2")
    assert len(migrated(folder, store)) == 1
    assert edit_ids(store) == ["e1", "e4"]


def test_old_edits_are_not_moved(folder: Path, store: RecordStore) -> None:
    write_file(folder, record(modification(1, A, B, timestamp=1.0)) + record(modification(2, B, C)))
    migrated(folder, store)
    assert edit_ids(store) == ["e2"]
    assert list(folder.iterdir()) == []


def test_edit_is_moved_once_and_one_that_the_record_has_keeps_its_entry(folder: Path, store: RecordStore) -> None:
    for name in ("1", "2"):
        write_file(folder, record(modification(1, A, B)), name)
    migrated(folder, store)
    (entry,) = store.entries(LogQuery())[0]
    write_file(folder, record(modification(1, A, B)))
    migrated(folder, store)
    assert [left.entry_id for left in store.entries(LogQuery())[0]] == [entry.entry_id]


def test_file_that_an_earlier_version_writes_stays_until_it_is_free(folder: Path, store: RecordStore) -> None:
    path = write_file(folder, record(modification(1, A, B)))
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert migrated(folder, store) == []
        assert (edit_ids(store), path.exists()) == ([], True)
    migrated(folder, store)
    assert (edit_ids(store), path.exists()) == (["e1"], False)


def test_files_stay_where_the_record_is_in_memory_only(folder: Path) -> None:
    path = write_file(folder, record(modification(1, A, B)))
    store = RecordStore(None)
    migrated(folder, store)
    assert (edit_ids(store), path.exists()) == (["e1"], True)
    store.close()


def test_full_disk_leaves_the_files_and_the_next_start_moves_them(folder: Path, store: RecordStore) -> None:
    big = os.urandom(300_000).hex().encode()
    path = write_file(folder, record(modification(1, A, big)))
    with no_room_beyond(200_000):
        (sentence,) = migrated(folder, store)
    assert "tried again at the next start" in sentence
    assert (edit_ids(store), path.exists()) == ([], True)
    assert migrated(folder, store) == []
    assert (edit_ids(store), path.exists()) == (["e1"], False)


@contextmanager
def no_room_beyond(n_bytes: int) -> Generator[None]:
    """No file of this process grows any more; what fits is still written, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


# --- what no daemon of this user has written ------------------------------------------------------------------------


def a_file(content: bytes, mode: int = 0o600) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.write_bytes(content)
        path.chmod(mode)

    return make


def a_fifo(path: Path) -> None:
    os.mkfifo(path, 0o600)


def a_link(path: Path) -> None:
    path.with_suffix(".elsewhere").write_bytes(record(modification(9, A, B)))
    path.symlink_to(path.with_suffix(".elsewhere"))


def anothers(path: Path) -> None:
    path.write_bytes(record(modification(9, A, B)))
    try:
        os.chown(path, 1, 1)
    except PermissionError:
        pytest.skip("only root can give a file away")


def strange(**fields: object) -> Callable[[Path], None]:
    return a_file(record(modification(9, A, B, **fields)))


STRANGE = [
    pytest.param(a_fifo, "is not a regular file", id="FIFO"),
    pytest.param(Path.mkdir, "is not a regular file", id="folder"),
    pytest.param(a_link, "is not a regular file", id="link"),
    pytest.param(anothers, "belongs to another user", id="another user's"),
    pytest.param(a_file(record(modification(9, A, B)), 0o666), "is open to other users (mode 0666)", id="open to all"),
    pytest.param(strange(path=b"/w/\xff"), "has a record that is no edit", id="path"),
    pytest.param(strange(kind="rename"), "has a record that is no edit", id="kind"),
    pytest.param(strange(kind="create"), "has a record that is no edit", id="creation of what was there"),
    pytest.param(strange(timestamp=float("nan")), "has a record that is no edit", id="time"),
    pytest.param(strange(after=b"2"), "has a record that is no edit", id="digest"),
    pytest.param(strange(reverse=[(5, 1, b"")]), "has a record that is no edit", id="splice"),
    pytest.param(strange(reverse=[(1, 2, b""), (0, 1, b"")]), "has a record that is no edit", id="splices"),
    pytest.param(strange(n_added="1"), "has a record that is no edit", id="type"),
]


@pytest.mark.parametrize(("make", "reason"), STRANGE)
def test_file_not_written_by_a_daemon_of_this_user_is_moved_aside(
    folder: Path, store: RecordStore, make: Callable[[Path], None], reason: str
) -> None:
    write_file(folder, record(modification(1, A, B)), "2")
    strange = folder / "1.edits"
    make(strange)
    assert migrated(folder, store) == [
        f"The history file {strange} is not read: it {reason}. It is now {strange}.damaged; remove it when you like."
    ]
    assert edit_ids(store) == ["e1"]
    assert migrated(folder, store) == []


def test_folder_writable_by_others_is_not_read(folder: Path, store: RecordStore) -> None:
    path = write_file(folder, record(modification(1, A, B)))
    folder.chmod(0o777)
    (sentence,) = migrated(folder, store)
    assert "others may write there" in sentence
    assert (edit_ids(store), path.exists()) == ([], True)


def test_reverse_that_does_not_fit_its_content_is_not_applied(folder: Path, store: RecordStore) -> None:
    write_file(folder, record(modification(1, A, B, reverse=[(0, 500, A)])))
    migrated(folder, store)
    (entry,) = store.entries(LogQuery())[0]
    assert entry.content == "gone"
