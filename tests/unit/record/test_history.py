"""The history of edits in the record: what comes back, after what (R-UNDO-7)."""

import os
import resource
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fileops.history.journal import History
from fileops.model.digest import content_digest
from fileops.model.edits import Splice
from fileops.model.history import AppliedEdit
from fileops.model.record import KeptEdit, LogQuery
from fileops.model.sessions import SessionName
from fileops.record.history import RecordedHistory
from fileops.record.store import RecordStore


def an_edit(number: int, path: str = "/w/\udce9", **fields: object) -> AppliedEdit:
    values: dict[str, object] = {
        "edit_id": f"e{number}", "session_id": SessionName("s"), "file_path": path, "path": path,
        "timestamp": time.time() + number, "kind": "modify", "reverse": (Splice(0, 1, b"\xff\0"),),
        "before": content_digest(b"\xff\0"), "after": content_digest(b"1"), "summary": "+1 -1 \ud800",
        "diff": "-\ud800\n", "n_added": 1, "n_removed": 1, **fields,
    }  # fmt: skip
    return AppliedEdit(**values)  # pyright: ignore[reportArgumentType]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "record"


@pytest.fixture
def store(folder: Path) -> Generator[RecordStore]:
    store = RecordStore(str(folder))
    yield store
    store.close()


def test_appended_edits_are_loaded_with_what_follows_them(store: RecordStore) -> None:
    writer = RecordedHistory(lambda: store)
    first = an_edit(1, "/w/a", reverse=(Splice(0, 1, b"0"),), before=content_digest(b"0"))
    undo = an_edit(
        2,
        "/w/a",
        reverse=(Splice(0, 1, b"1"),),
        before=content_digest(b"1"),
        after=content_digest(b"0"),
        undoes=("e1",),
    )
    writer.append(first, b"1")
    writer.append(undo, b"0")
    writer.append(an_edit(3), None)
    loaded = RecordedHistory(lambda: store).load()
    assert [edit.edit_id for edit in loaded] == ["e1", "e2", "e3"]
    assert (loaded[0].reverse, loaded[1].undoes, loaded[2].path) == (first.reverse, ("e1",), "/w/\udce9")
    history = History(RecordedHistory(lambda: store))
    assert history.content_after("e1") == b"1"
    entries = {entry.edit_id: entry for entry in store.entries(LogQuery())[0]}
    assert entries["e1"].undone_by == entries["e2"].entry_id


def test_edits_of_this_process_follow_those_of_earlier_ones(store: RecordStore) -> None:
    """What was appended before the first query, too."""
    RecordedHistory(lambda: store).append(an_edit(1), None)
    asked: list[str] = []

    def opened() -> RecordStore:
        asked.append("opened")
        return store

    kept: list[KeptEdit] = []
    history = History(RecordedHistory(opened, lambda path, edit: kept.append(edit())))
    edit = an_edit(2)
    with history._lock:  # pyright: ignore[reportPrivateUsage]  # an edit waits for nothing else
        history._add(edit, None)  # pyright: ignore[reportPrivateUsage]
    assert asked == []
    assert [found.edit_id for found in history.edits()] == ["e2", "e1"]
    assert [history.is_earlier(found) for found in history.edits()] == [False, True]


def test_damaged_edit_is_left_out(store: RecordStore) -> None:
    writer = RecordedHistory(lambda: store)
    writer.append(an_edit(1), None)
    store.put_edit(KeptEdit(edit_id="x", time=time.time(), path="/w/f", body=b"\xc1 no msgpack"))
    assert [edit.edit_id for edit in writer.load()] == ["e1"]


def test_text_of_protected_files_is_not_kept(store: RecordStore, folder: Path) -> None:
    writer = RecordedHistory(lambda: store)
    writer.append(an_edit(1, "/w/.env", diff="+SECRET\n", summary="SECRET"), b"SECRET")
    assert writer.load() == []
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
    writer = RecordedHistory(lambda: store)
    writer.append(an_edit(1, "/w/f", reverse=(Splice(0, 1, b"0"),), before=content_digest(b"0")), b"1")
    assert len(writer.load()) == 1
    remove(store)
    assert writer.load() == []


def test_newest_edits_are_loaded_if_all_are_too_large(store: RecordStore) -> None:
    for number in range(4):
        store.put_edit(KeptEdit(edit_id=str(number), time=float(number), path="/w/f", body=b"x" * 100))
    assert [edit.edit_id for edit in store.edits(0.0, max_bytes=250)] == ["2", "3"]
    assert [edit.edit_id for edit in store.edits(0.0, max_bytes=1)] == ["3"]


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


def test_history_continues_when_there_is_space_again_and_each_outage_is_reported(store: RecordStore) -> None:
    told: list[str] = []
    writer = RecordedHistory(lambda: store, warn=told.append)
    writer.append(an_edit(0), None)
    for n in (1, 4):
        with no_room_beyond(1000):
            for number in (n, n + 1):
                writer.append(an_edit(number, diff=os.urandom(9000).hex()), None)
        writer.append(an_edit(n + 2), None)
    assert [sentence.split(":")[0].split(".")[0] for sentence in told] == [
        "The history of edits cannot be kept", "The history of edits is kept on disk again",
    ] * 2  # fmt: skip
    assert told[1].endswith("It lacks 2 edits that were made in between.")
    assert [edit.edit_id for edit in writer.load()] == ["e0", "e3", "e6"]
