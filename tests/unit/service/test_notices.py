"""What is reported of changes by others: the sentences, the bounds, and once per content."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager

import pytest

from fileops.core.presentation.notices import notice_of, notice_text, rebased_text
from fileops.fs.memory import MemoryFileSystem
from fileops.model.results import ForeignChange, Notices
from fileops.model.sessions import SessionName
from fileops.model.settings import FreshnessRule
from fileops.service.in_flight import RequestsInFlight
from fileops.service.notices import MAX_CHARS, MAX_WAITING, NoticeBoard
from fileops.tracking.freshness import MAX_AT_ONCE, Freshness
from support.events import EventRecorder
from support.session import AgentSession, WallClock

MEANT = "This is usually intended: take the file as it is now, and do not revert it unless you are asked to."


def change(
    changed_by: str = "external", digest: bytes | None = b"1", diff: str | None = "@@ -1 +1 @@\n-a\n+b\n"
) -> ForeignChange:
    return ForeignChange(path="/w/a", file_path="/w/a", changed_by=changed_by, digest=digest, diff=diff)


def diff_of(n_lines: int, width: int = 1) -> str:
    return "--- /w/a\n+++ /w/a\n" + "".join(
        f"{'@@ ' if number == 0 else '+'}{'x' * width}\n" for number in range(n_lines)
    )


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            change(),
            f"/w/a changed on disk since you last read it (by another program or a command of yours). "
            f"{MEANT} What changed:\n"
            "@@ -1 +1 @@\n-a\n+b",
        ),
        (
            change(changed_by="buffer", diff="--- a\n+++ b\n@@ x @@\n+b\n"),
            f"/w/a has unsaved changes in the editor since you last read it. {MEANT} What changed:\n@@ x @@\n+b",
        ),
        (
            change(changed_by="codex:7", diff=None),
            f"/w/a was edited by another agent (codex:7) since you last read it. {MEANT} Read the file.",
        ),
        (change(digest=None), "/w/a is gone since you last read it."),
    ],
)
def test_notice_names_the_changed_file_and_the_source(given: ForeignChange, text: str) -> None:
    assert notice_text(notice_of(given)) == text


def test_notice_of_a_rebased_edit_shows_the_other_changes() -> None:
    start = "Other lines of /w/a changed since you last read it; your edit was applied to the file as it is now."
    assert rebased_text(notice_of(change())) == f"{start} What else changed:\n@@ -1 +1 @@\n-a\n+b"
    assert rebased_text(notice_of(change(diff=None))) == f"{start} Read the file."


@pytest.mark.parametrize(
    ("n_lines", "width", "n_shown", "end"),
    [
        (40, 1, 40, "+x"),
        (41, 1, 40, "… and 1 more line; Read the file."),
        (90, 1, 40, "… and 50 more lines; Read the file."),
        (30, 200, 14, "… and 16 more lines; Read the file."),
    ],
)
def test_long_diff_is_cut_to_whole_lines(n_lines: int, width: int, n_shown: int, end: str) -> None:
    lines = notice_text(notice_of(change(diff=diff_of(n_lines, width)))).split("\n")[1:]
    assert lines[-1] == end
    assert len([line for line in lines if not line.startswith("…")]) == n_shown


# --- the board -----------------------------------------------------------------------------------------------------


class Desk:
    """A session `a` that has read files, and its notifications."""

    def __init__(self, mode: FreshnessRule) -> None:
        self.fs = MemoryFileSystem()
        self.freshness = Freshness(self.fs, EventRecorder(), WallClock(), mode=mode)
        self.session = AgentSession(self.freshness, self.fs)
        self.board = NoticeBoard(self.freshness, RequestsInFlight(), moves_base=mode == "relevant")

    def read(self, *paths: str) -> None:
        for path in paths:
            self.session.read(path)

    def told(
        self,
        about: str | None = None,
        session_id: str = "a",
        readable: Sequence[str] = ("",),
        *,
        is_whole: bool = False,
    ) -> Notices:
        found = self.board.find(SessionName(session_id), about, lambda path: path.startswith(tuple(readable)))
        return self.board.report(SessionName(session_id), found, is_whole=is_whole)

    def told_files(self, readable: Sequence[str] = ("",)) -> list[str]:
        return [notice.file_path for notice in self.told(readable=readable).others]

    def is_fresh(self, path: str) -> bool:
        return (
            next(file.state for file in self.freshness.list_tracked(SessionName("a")) if file.file_path == path)
            == "fresh"
        )


@contextmanager
def desk(files: dict[str, bytes], mode: FreshnessRule = "mtime") -> Generator[Desk]:
    desk = Desk(mode)
    for name, data in files.items():
        desk.fs.put(f"/w/{name}", data)
    desk.read(*(f"/w/{name}" for name in files))
    try:
        yield desk
    finally:
        desk.freshness.close()


def test_content_is_reported_once_and_another_content_again() -> None:
    with desk({"a": b"a\n", "b": b"b\n"}) as it:
        assert it.told_files() == []
        it.fs.put("/w/a", b"A\n")
        assert it.told_files() == ["/w/a"]
        assert it.told_files() == []
        it.fs.put("/w/a", b"AA\n")
        assert it.told_files() == ["/w/a"]
        it.fs.delete("/w/a")
        assert [notice.kind for notice in it.told().others] == ["gone"]
        assert it.told_files() == []
        it.fs.put("/w/a", b"a\n")
        it.read("/w/a")
        assert it.told_files() == []
        it.fs.put("/w/a", b"AA\n")
        assert it.told_files() == ["/w/a"]


def test_unchanged_files_are_known_at_once_if_they_are_few() -> None:
    known = {f"/w/{number}" for number in range(MAX_AT_ONCE + 1)}
    fs, session = MemoryFileSystem(), SessionName("a")
    for path in known:
        fs.put(path, b"a\n")
    freshness = Freshness(
        fs, EventRecorder(), WallClock(), has_stamp_at_once=lambda path, stamp: path in known and fs.stat(path) == stamp
    )
    board, reader = NoticeBoard(freshness, RequestsInFlight(), moves_base=False), AgentSession(freshness, fs)
    try:
        first, *others, last = sorted(known)
        for path in (first, *others):
            reader.read(path)
        nothing = board.find_at_once(session)
        assert nothing is not None
        assert board.report(session, nothing) == Notices()
        known.remove(first)  # it would have to be waited for
        assert board.find_at_once(session) is None
        known.add(first)
        fs.put(first, b"A\n")
        assert board.find_at_once(session) is None
        assert [change.path for change in board.find(session, None, lambda _path: True).others] == [first]
        fs.put(first, b"a\n")
        reader.read(first)
        assert board.find_at_once(session) == nothing
        reader.read(last)
        assert board.find_at_once(session) is None
    finally:
        freshness.close()


def test_changed_file_is_looked_at_until_it_is_read() -> None:
    """A change that was found before, which the file's present stamp does not show."""
    with desk({"a": b"a\n"}) as it:
        freshness = Freshness(it.fs, EventRecorder(), WallClock(), has_stamp_at_once=lambda _path, _stamp: True)
        board, session = NoticeBoard(freshness, RequestsInFlight(), moves_base=False), AgentSession(freshness, it.fs)
        try:
            session.read("/w/a")
            it.fs.put("/w/a", b"A\n")
            assert board.find_at_once(SessionName("a")) is not None
            freshness.check_all(SessionName("a"))
            assert board.find_at_once(SessionName("a")) is None
            session.read("/w/a")
            assert board.find_at_once(SessionName("a")) is not None
        finally:
            freshness.close()


def test_content_found_twice_at_once_is_reported_once() -> None:
    with desk({"a": b"a\n"}) as it:
        it.fs.put("/w/a", b"A\n")
        found = [it.board.find(SessionName("a"), None, lambda _path: True) for _ in range(2)]
        assert [len(it.board.report(SessionName("a"), each).others) for each in found] == [1, 0]


def test_own_edit_is_not_reported() -> None:
    with desk({"a": b"a\n"}) as it:
        it.session.write("/w/a", b"mine\n")
        assert it.told_files() == []


def test_file_that_may_not_be_read_is_not_reported() -> None:
    with desk({"a": b"a\n", "secret": b"a\n"}) as it:
        it.fs.put("/w/a", b"A\n")
        it.fs.put("/w/secret", b"A\n")
        assert it.told_files(readable=["/w/a"]) == ["/w/a"]


def test_file_of_the_call_is_reported_even_if_reported_before() -> None:
    with desk({"a": b"a\n", "b": b"b\n"}) as it:
        it.fs.put("/w/a", b"A\n")
        it.fs.put("/w/b", b"B\n")
        assert it.told_files() == ["/w/a", "/w/b"]
        told = it.told("/w/a")
        assert told.about is not None and told.about.diff is not None and told.about.diff.endswith("-a\n+A")
        assert told.others == ()


def test_notice_over_the_limit_waits_for_a_later_result() -> None:
    names = {f"f{number:02}": b"old\n" for number in range(12)}
    with desk(names) as it:
        for name in names:
            it.fs.put(f"/w/{name}", b"new\n")
        assert [len(it.told_files()) for _ in range(4)] == [5, 5, 2, 0]
        for name in list(names)[:5]:
            it.fs.put(f"/w/{name}", b"".join(b"%070d\n" % number for number in range(37)))
        for n_expected in (2, 2, 1, 0):
            texts = [notice_text(notice) for notice in it.told().others]
            assert len(texts) == n_expected
            assert sum(map(len, texts)) <= MAX_CHARS


def test_waiting_files_are_bounded() -> None:
    names = {f"f{number:04}": b"old\n" for number in range(MAX_WAITING + 20)}
    with desk(names) as it:
        for name in names:
            it.fs.put(f"/w/{name}", b"new\n")
        assert len(it.board.find(SessionName("a"), None, lambda path: True).waiting) == MAX_WAITING


def test_diff_shown_in_full_counts_as_read_under_relevant_only() -> None:
    expected: dict[FreshnessRule, bool] = {"relevant": True, "content": False, "mtime": False}
    for mode, becomes_fresh in expected.items():
        with desk({"a": b"a\n"}, mode) as it:
            it.fs.put("/w/a", b"A\n")
            assert it.told_files() == ["/w/a"]
            assert it.is_fresh("/w/a") == becomes_fresh


def test_cut_diff_does_not_count_as_read() -> None:
    with desk({"a": b"a\n"}, "relevant") as it:
        it.fs.put("/w/a", b"A\n" * 50)
        assert it.told().others[0].n_more > 0
        assert not it.is_fresh("/w/a")
        assert it.told("/w/a").about is not None
        assert not it.is_fresh("/w/a")
        it.told("/w/a", is_whole=True)
        assert it.is_fresh("/w/a")
