"""What a tracker decides from stamps alone (docs/PROTOCOL.md, "FileTracker")."""

from typing import Any, Literal

import pytest
from msgspec.structs import replace

from fileops.core.tracker import FRESH, NEEDS_CONTENT, FileTracker, ReadRecord, assess
from fileops.model.files import Stamp

SECOND = 1_000_000_000
STAMP = Stamp(
    dev=1,
    ino=7,
    size_bytes=10,
    mtime_ns=100 * SECOND + 1,
    ctime_ns=100 * SECOND + 1,
    mode=0o100644,
    uid=1,
    gid=1,
    n_links=1,
)
WHOLE = ReadRecord(given_path="/f", stamp=STAMP, taken_ns=200 * SECOND, read_ns=200 * SECOND, digest=b"d")
PART = replace(WHOLE, digest=None)
TOO_YOUNG = replace(WHOLE, taken_ns=STAMP.mtime_ns + 1000)
LATER = STAMP.ctime_ns + SECOND


@pytest.mark.parametrize(
    ("record", "change", "by_mtime", "by_content"),
    [
        (WHOLE, {}, FRESH, FRESH),
        (PART, {}, FRESH, FRESH),
        (TOO_YOUNG, {}, NEEDS_CONTENT, NEEDS_CONTENT),
        (replace(TOO_YOUNG, digest=None), {}, FRESH, FRESH),
        (WHOLE, {"mtime_ns": STAMP.mtime_ns + 1}, ("stale", "modified"), NEEDS_CONTENT),
        (WHOLE, {"mtime_ns": STAMP.mtime_ns - 1}, ("stale", "modified"), NEEDS_CONTENT),
        (PART, {"mtime_ns": STAMP.mtime_ns - 1}, ("stale", "modified"), ("stale", "modified")),
        (WHOLE, {"size_bytes": 11}, ("stale", "modified"), ("stale", "modified")),
        (WHOLE, {"ino": 8}, ("stale", "replaced"), NEEDS_CONTENT),
        (PART, {"ino": 8}, ("stale", "replaced"), ("stale", "replaced")),
        (WHOLE, {"ino": 8, "size_bytes": 11}, ("stale", "replaced"), ("stale", "replaced")),
        (WHOLE, {"dev": 2}, ("stale", "replaced"), NEEDS_CONTENT),
        (WHOLE, {"ctime_ns": LATER}, NEEDS_CONTENT, NEEDS_CONTENT),
        (WHOLE, {"ctime_ns": LATER, "mode": 0o100755}, NEEDS_CONTENT, NEEDS_CONTENT),
        (PART, {"ctime_ns": LATER}, ("stale", "modified"), ("stale", "modified")),
        (PART, {"ctime_ns": LATER, "mode": 0o100755}, FRESH, FRESH),
        (PART, {"ctime_ns": LATER, "uid": 2}, FRESH, FRESH),
        (PART, {"ctime_ns": LATER, "gid": 2}, FRESH, FRESH),
        (PART, {"ctime_ns": LATER, "n_links": 2}, FRESH, FRESH),
    ],
)
def test_verdict_on_a_stamp(record: ReadRecord, change: dict[str, Any], by_mtime: object, by_content: object) -> None:
    now = replace(STAMP, **change)
    modes: tuple[tuple[Literal["mtime", "content"], object], ...] = (("mtime", by_mtime), ("content", by_content))
    for mode, expected in modes:
        assert assess(record, now, freshness=mode) == expected, mode


def test_file_goes_stale_once_until_it_is_read_again() -> None:
    tracker = FileTracker()
    tracker.put("/f", WHOLE)
    assert tracker.mark_stale("/f", "modified", "external")
    assert not tracker.mark_stale("/f", "modified", "external")
    tracker.put("/f", WHOLE)
    assert tracker.mark_stale("/f", "deleted", "session:b")


def test_stale_file_keeps_the_first_source_and_gets_the_last_reason() -> None:
    tracker = FileTracker()
    tracker.put("/f", WHOLE)
    tracker.mark_stale("/f", "modified", "session:b")
    tracker.mark_stale("/f", "deleted", "external")
    assert (tracker["/f"].stale, tracker["/f"].stale_source) == ("deleted", "session:b")


def test_renewed_file_is_fresh_with_its_new_stamp_and_keeps_its_read_range() -> None:
    tracker = FileTracker()
    tracker.put("/f", WHOLE)
    tracker.mark_stale("/f", "modified", "external")
    now = replace(STAMP, ctime_ns=LATER)
    tracker.renew("/f", now, 300 * SECOND)
    assert tracker["/f"] == replace(WHOLE, stamp=now, taken_ns=300 * SECOND)


def test_forgotten_file_is_unread() -> None:
    tracker = FileTracker()
    tracker.put("/f", WHOLE)
    assert tracker.forget("/f") == WHOLE
    assert tracker.forget("/f") is None
    assert tracker.get("/f") is None
    assert "/f" not in tracker
    assert len(tracker) == 0
