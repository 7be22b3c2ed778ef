"""The stories' own tools: a format that means what it says, and a diff reader that lets nothing pass."""

import pathlib

import pytest

from scenarios.story import BadStory, Lines, stories_of
from scenarios.unified import apply_unified

DIFF = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"


@pytest.mark.parametrize(
    ("lines", "content"),
    [
        (("one", "two"), b"one\ntwo\n"),
        (("one", "two\\"), b"one\ntwo"),
        (("one\\\\",), b"one\\\n"),
        (("a\\r", "\\x00\\xff"), b"a\r\n\x00\xff\n"),
        (("\\u{1f389}\\t",), "🎉\t\n".encode()),
        (("\\{3*ab}c",), b"abababc\n"),
        (("\\{for n in 9..10: {n:>3}→\\{2*x}}",), "  9→xx\n 10→xx\n".encode()),
        ((), b""),
    ],
)
def test_lines_are_bytes(lines: tuple[str, ...], content: bytes) -> None:
    assert Lines(lines).as_bytes() == content


def test_lines_are_text_without_a_last_newline() -> None:
    assert Lines(("one", "\\u{e9}", "")).as_text() == "one\né\n"


def test_raw_bytes_are_not_text() -> None:
    with pytest.raises(BadStory):
        Lines(("\\xff",)).as_text()


@pytest.mark.parametrize(
    "section", ["[edit a\n", "[edit a]\nold -> new\n", "[edit a]\n=> maybe\n", '[read "a]\n=> success x y\n']
)
def test_malformed_story_is_refused(section: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "bad.txt").write_text(f"=== A title\n\n{section}", encoding="utf-8")
    with pytest.raises(BadStory, match=r"bad\.txt:3"):
        list(stories_of(tmp_path / "bad.txt"))


def test_diff_is_applied() -> None:
    assert apply_unified(b"one\ntwo\nthree", DIFF) == b"one\n2\nthree"
    assert apply_unified(b"x", "") == b"x"
    assert apply_unified(b"", "--- /dev/null\n+++ b\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n") == b"x"


@pytest.mark.parametrize(
    ("old", "diff"),
    [
        (b"one\n2\n", DIFF),  # another old line
        (b"zero\none\ntwo\n", DIFF),  # another place
        (b"one\ntwo", DIFF),  # a missing newline without its marker
        (b"one\ntwo\n", DIFF.replace("-1,2", "-1,3")),  # a wrong count
        (b"one\ntwo\n", DIFF.replace("+1,2", "+2,2")),  # a wrong start
        (b"one\ntwo\n", DIFF.removesuffix("\n")),
        (b"one\ntwo\n", DIFF + "stray\n"),
    ],
)
def test_diff_that_patch_would_not_accept_is_refused(old: bytes, diff: str) -> None:
    with pytest.raises((AssertionError, IndexError)):
        apply_unified(old, diff)
