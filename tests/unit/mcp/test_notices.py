"""What is reported of changes by others: the sentences, the bounds, and once per content."""

import pytest

from fileops.mcp.notices import MAX_CHARS, Notices, notice_text
from fileops.model.results import ForeignChange

MEANT = "That is usually meant: take the file as it is now, and do not revert it unless you are asked to."


def change(
    path: str = "/w/a",
    changed_by: str = "external",
    digest: bytes | None = b"1",
    diff: str | None = "@@ -1 +1 @@\n-a\n+b\n",
) -> ForeignChange:
    return ForeignChange(path=path, file_path=path, changed_by=changed_by, digest=digest, diff=diff)


def diff_of(n_lines: int, width: int = 1) -> str:
    return "--- /w/a\n+++ /w/a\n" + "".join(
        f"{'@@ ' if number == 0 else '+'}{'x' * width}\n" for number in range(n_lines)
    )


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            change(),
            f"/w/a changed on disk since you last read it (by another program). {MEANT} What changed:\n"
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
def test_notice_says_who_changed_what(given: ForeignChange, text: str) -> None:
    assert notice_text(given) == text


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
    lines = notice_text(change(diff=diff_of(n_lines, width))).split("\n")[1:]
    assert lines[-1] == end
    assert len([line for line in lines if not line.startswith("…")]) == n_shown


def test_content_is_reported_once_and_another_content_again() -> None:
    notices = Notices()
    assert len(notices.next("s", [change()])) == 1
    assert notices.next("s", [change()]) == []
    assert len(notices.next("other", [change()])) == 1
    assert len(notices.next("s", [change(digest=b"2")])) == 1
    assert len(notices.next("s", [change(digest=None)])) == 1
    assert notices.next("s", []) == []  # it was read
    assert len(notices.next("s", [change(digest=None)])) == 1


def test_refused_edit_says_what_changed_even_if_that_was_reported() -> None:
    notices = Notices()
    notices.next("s", [change(), change("/w/b")])
    assert notices.next("s", [change(), change("/w/b")], change()) == [notice_text(change())]


def test_what_does_not_fit_waits_for_a_later_result() -> None:
    notices = Notices()
    changes = [change(f"/w/{number}") for number in range(12)]
    assert [len(notices.next("s", changes)) for _ in range(4)] == [5, 5, 2, 0]
    long = [change(f"/w/{number}", digest=b"2", diff=diff_of(39, 70)) for number in range(5)]
    for n_expected in (2, 2, 1, 0):
        texts = notices.next("s", long)
        assert len(texts) == n_expected
        assert sum(map(len, texts)) <= MAX_CHARS
