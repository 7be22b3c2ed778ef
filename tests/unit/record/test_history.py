"""The history of edits in the record: what comes back, after what (R-UNDO-7)."""

import os
import resource
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fileops.model.digest import content_digest
from fileops.model.edits import Splice
from fileops.model.history import AppliedEdit
from fileops.model.record import KeptEdit, LogQuery
from fileops.model.sessions import SessionName
from fileops.record.history import History
from fileops.record.store import RecordStore


def an_edit(number: int, path: str = "/w/\udce9", **fields: object) -> AppliedEdit:
    values: dict[str, object] = {
        "edit_id": f"e{number}", "session_id": SessionName("s"), "file_path": path, "path": path,
        "timestamp": time.time() + number, "kind": "modify", "reverse": (Splice(0, 1, b"\xff\0"),),
        "before": content_digest(b"\xff\0"), "after": content_digest(b"1"), "summary": "+1 -1 \ud800",
        "diff": "-\ud800\n", "n_added": 1, "n_removed": 1, **fields,
    }  # fmt: skip
    return AppliedEdit(**values)  # pyrefly: ignore[bad-argument-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "record"


@pytest.fixture
def store(folder: Path) -> Generator[RecordStore]:
    store = RecordStore(str(folder))
    yield store
    store.close()


def kept(history: History, edit: AppliedEdit, content: bytes | None) -> None:
    """Keep an edit as if its commit had made it."""
    history.own.add(edit, content)
    history._record.add(edit, content)


def ids(history: History) -> list[str]:
    return [edit.edit_id for edit in history.look().edits()]


def test_edits_are_kept_with_what_follows_them(store: RecordStore) -> None:
    history = History(open_store=lambda: store)
    first = an_edit(1, "/w/a", reverse=(Splice(0, 1, b"0"),), before=content_digest(b"0"))
    undo = an_edit(
        2,
        "/w/a",
        reverse=(Splice(0, 1, b"1"),),
        before=content_digest(b"1"),
        after=content_digest(b"0"),
        undoes=("e1",),
    )
    kept(history, first, b"1")
    kept(history, undo, b"0")
    kept(history, an_edit(3), None)
    look = History(open_store=lambda: store).look()
    loaded = list(look.edits())
    assert [edit.edit_id for edit in loaded] == ["e3", "e2", "e1"]
    assert (loaded[2].reverse, loaded[1].undoes, loaded[0].path) == (first.reverse, ("e1",), "/w/\udce9")
    assert look.contents()(content_digest(b"1")) == b"1"
    entries = {entry.edit_id: entry for entry in store.entries(LogQuery())[0]}
    assert entries["e1"].undone_by == entries["e2"].entry_id
    assert (loaded[2].undone_by, loaded[1].undone_by) == ("e2", None)


def test_an_undo_that_is_undone_leaves_what_it_undid_in_force_and_so_on() -> None:
    """R-UNDO-5. A redo is an undo, and can be undone."""
    history = History()
    kept(history, an_edit(1), None)
    for number in range(2, 6):
        kept(history, an_edit(number, undoes=(f"e{number - 1}",), is_undo=True), None)
        undone = [edit.edit_id for edit in history.look().edits() if edit.undone_by is not None]
        assert undone == [f"e{n}" for n in range(number - 1, 0, -2)]


def test_edits_of_this_process_follow_those_of_earlier_ones(store: RecordStore) -> None:
    earlier = an_edit(-1)
    kept(History(open_store=lambda: store), earlier, None)
    asked: list[str] = []

    def opened() -> RecordStore:
        asked.append("opened")
        return store

    history = History(open_store=opened)
    assert asked == []
    kept(history, an_edit(2), None)
    look = history.look()
    assert [(edit.edit_id, look.is_earlier(edit)) for edit in look.edits()] == [("e2", False), ("e-1", True)]


def test_damaged_edit_is_left_out(store: RecordStore) -> None:
    kept(History(open_store=lambda: store), an_edit(1), None)
    store.put_edit(KeptEdit(edit_id="x", time=time.time(), path="/w/f", body=b"\xc1 no msgpack"))
    assert ids(History(open_store=lambda: store)) == ["e1"]


def test_text_of_protected_files_is_in_memory_only(store: RecordStore, folder: Path) -> None:
    history = History(open_store=lambda: store)
    kept(history, an_edit(1, "/w/.env", diff="+SECRET\n", summary="SECRET"), b"SECRET")
    assert (ids(history), ids(History(open_store=lambda: store))) == (["e1"], [])
    assert b"SECRET" not in b"".join(path.read_bytes() for path in folder.iterdir())


Remove = Callable[[RecordStore], object]
REMOVALS: dict[str, Remove] = {
    "forget": lambda store: store.forget("/w"),
    "ignored by now": lambda store: store.drop_contents("/w/f"),
    "too old": lambda store: store.prune(time.time() + 3600, max_age_s=1),
    "too large": lambda store: store.prune(time.time(), max_bytes=1),
}


@pytest.mark.parametrize("remove", REMOVALS.values(), ids=REMOVALS)
def test_edit_goes_with_the_contents_of_its_entry(store: RecordStore, remove: Remove) -> None:
    history = History(open_store=lambda: store)
    kept(history, an_edit(1, "/w/f", reverse=(Splice(0, 1, b"0"),), before=content_digest(b"0")), b"1")
    assert ids(history) == ["e1"]
    remove(store)
    assert ids(history) == []


def test_newest_edits_are_listed_if_all_are_too_large(store: RecordStore) -> None:
    for number in range(4):
        store.put_edit(KeptEdit(edit_id=str(number), time=float(number), path="/w/f", body=b"x" * 100))
    assert [edit.edit_id for edit, _ in store.edits(0.0, max_bytes=250)] == ["3", "2"]
    assert [edit.edit_id for edit, _ in store.edits(0.0, max_bytes=1)] == ["3"]


def test_many_edits_are_listed_each_once(store: RecordStore) -> None:
    for number in range(250):
        store.put_edit(KeptEdit(edit_id=str(number), time=float(number // 3), path="/w/f", body=b"x"))
    assert [edit.edit_id for edit, _ in store.edits(0.0)] == [str(number) for number in range(249, -1, -1)]


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


def test_history_is_in_memory_while_the_disk_is_full_and_each_outage_is_reported(store: RecordStore) -> None:
    told: list[str] = []
    history = History(open_store=lambda: store, warn=told.append)
    kept(history, an_edit(0), None)
    for n in (1, 4):
        with no_room_beyond(1000):
            for number in (n, n + 1):
                kept(history, an_edit(number, diff=os.urandom(9000).hex()), None)
            assert ids(history)[0] == f"e{n + 1}"
        kept(history, an_edit(n + 2), None)
    assert [sentence.split(":")[0].split(".")[0] for sentence in told] == [
        "The history of edits cannot be kept", "The history of edits is kept on disk again",
    ] * 2  # fmt: skip
    assert not store.is_in_memory
    assert ids(History(open_store=lambda: store)) == [f"e{number}" for number in range(6, -1, -1)]
