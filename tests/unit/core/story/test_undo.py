"""Undos that are read off the story of a file."""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

import pytest

from fileops.core.merge.texts import StepTexts
from fileops.core.story.story import story_of
from support.file_steps import to_steps

BASE = b"".join(b"line %d of the file\n" % n for n in range(1, 31))


def undone(
    contents: Sequence[bytes], chosen: Collection[str], undoes: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[bytes, int]:
    """Return the last content without the chosen of the changes e1, e2 and so on, and how many places are left."""
    steps, known = to_steps((f"e{n}", before, after) for n, (before, after) in enumerate(pairwise(contents), 1))
    story = story_of(steps, contents[-1], StepTexts(known.get), undoes or {}, own=chosen)
    undo = story.undo(story.events_of(chosen))
    return undo.content(), len(undo.left)


@pytest.mark.parametrize(
    ("bom", "encoding", "newline"),
    [(b"", "utf-8", "\n"), (b"\xef\xbb\xbf", "utf-8", "\r\n"), (b"\xff\xfe", "utf-16-le", "\n")],
)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = f(a, b)\n", "x = f(a)\n"),
        ("foo()\nbar\n", "foo\nbar\n"),
        ("import os\nimport sys\n", "import sys\n"),
        ("a\nimport os\nb\n", "a\nb\n"),
        ("x\nx\nx\n", "x\nx\n"),
        ("{\n{\n}\n}\n", "{\n}\n"),
        ("a\n\n\nb\n", "a\n\nb\n"),
        ("one  two\n", "one two\n"),
        ("x = 1\n", "x = 1 + f(1)\n"),
        ("x\n", "x\nx\n"),
        ("only\n", ""),
    ],
)
def test_change_that_was_taken_back_by_hand_is_undone_already(
    before: str, after: str, bom: bytes, encoding: str, newline: str
) -> None:
    """Also among equal lines, and beside lines that were typed at the same time."""

    def encoded(text: str) -> bytes:
        return bom + text.replace("\n", newline).encode(encoding)

    typed = encoded(f"typed before\nthe head\n{before}\nthe tail\ntyped behind\n")
    first, second = encoded(f"the head\n{before}\nthe tail\n"), encoded(f"the head\n{after}\nthe tail\n")
    assert undone([first, second, typed], {"e1"}) == (typed, 0)


def test_all_lines_are_undone_but_the_one_with_a_word_by_hand() -> None:
    base = b"".join(b"word%d and more of line %d\nquiet %d\n" % (n, n, n) for n in range(300))
    agent = b"".join(b"agent%d and more of line %d\nquiet %d\n" % (n, n, n) for n in range(300))
    result = undone([base, agent, agent.replace(b"agent150 ", b"byhand ")], {"e1"})
    assert result == (base.replace(b"word150 ", b"byhand "), 1)


def test_word_is_left_away_if_git_brought_back_the_one_that_it_had_replaced() -> None:
    """They were never side by side, so both would be one word."""
    base = b"one\ntwo\nthree\n"
    theirs = base.replace(b"two", b"THEIRS")
    first, gone = theirs.replace(b"one", b"1"), base.replace(b"one", b"1")
    contents = [theirs, first, gone, first, first.replace(b"THEIRS", b"MINE"), base]  # with an undo and its redo
    assert undone(contents, {"e1", "e4"}, {"e2": (), "e3": ("e2",)}) == (base, 1)


def test_inserted_line_in_which_others_typed_a_line_is_left_whole() -> None:
    """Their line was not there when it was inserted, so it divides nothing into two places."""
    contents = [b"top\nend\n", b"top\none two\nend\n", b"top\none\ntyped\ntwo\nend\n"]
    assert undone(contents, {"e1"}) == (contents[-1], 1)


def test_undo_of_a_session_does_not_bring_back_what_was_undone_in_it() -> None:
    """Undo, an edit elsewhere, redo, undo: then the session is undone."""
    line_18 = BASE.replace(b"line 18 ", b"agent 18 ")
    both = line_18.replace(b"line 21 ", b"agent 21 ")
    line_5, all_three = (content.replace(b"line 5 ", b"agent 5 ") for content in (line_18, both))
    contents = [BASE, line_18, both, line_18, line_5, all_three, line_5]
    undoes = {"e3": ("e2",), "e5": ("e3",), "e6": ("e2",)}
    assert undone(contents, {"e1", "e4"}, undoes) == (BASE, 0)
    assert undone(contents, {"e1", "e2", "e4"}, undoes) == (BASE, 0)
    assert undone(contents[:-1], {"e1", "e2", "e4"}, undoes) == (BASE, 0)


def test_last_line_of_others_keeps_its_end() -> None:
    """A comparison by words took it for the end of another line, which was the undone change's."""
    lines = ("0 1 2 3", "0 4 6 5", "0 4 7 6 5 9 8", "0 4 7 11 12 6 10", "0 15 7 11 14 12 6 13", "0 15 7 11 17 12 6 16")
    contents = [b"".join(b"%b\n" % word.encode() for word in content.split()) for content in lines]
    assert undone(contents, {"e1", "e2", "e5"})[0].endswith(b"\n13\n")


def test_change_that_leads_back_to_a_moved_line_has_its_content() -> None:
    """The line was at another place then, so the change is not the way back to that content."""
    contents = [b"0\n1\n2\n3\n4\n", b"0\n7\n6\n", b"0\n7\n6\n1\n", b"0\n7\n6\n10\n11\n"]
    steps, known = to_steps((f"e{n}", before, after) for n, (before, after) in enumerate(pairwise(contents), 1))
    story = story_of(steps, contents[-1], StepTexts(known.get), {}, own={"e1", "e2"})
    assert story.texts.content(story.vector) == contents[-1]


def test_end_that_a_line_of_others_kept_goes_with_that_line_and_returns_with_it() -> None:
    """Otherwise two undos would leave an empty line, or none, by their order."""
    base, with_agent = b"one\nthree four\n", b"new1\nnew2 new3\nthree four\n"
    contents = [base, with_agent, b"new1\nbob1 bob2\nnew2 new3\nthree four\n"]
    without_agent = undone(contents, {"e1"})
    assert without_agent == (b"one\nbob1 bob2\n\nthree four\n", 0)
    contents.append(without_agent[0])
    undoes = {"e3": ("e1",)}
    assert undone(contents, {"e2"}, undoes) == (base, 0)
    contents.append(base)
    undoes["e4"] = ("e2",)
    assert undone(contents, {"e3"}, undoes) == (with_agent, 0)
    assert undone(contents, {"e4"}, undoes) == (without_agent[0], 0)
    contents += [without_agent[0], base]
    undoes |= {"e5": ("e4",), "e6": ("e5",)}
    assert undone(contents, {"e6"}, undoes) == (without_agent[0], 0)
    assert undone(contents, {"e3"}, undoes) == (with_agent, 0)


def test_end_that_a_line_of_others_kept_stays_while_undos_are_elsewhere() -> None:
    contents = [b"one\nthree\nfour\n", b"new1\nnew2 new3\nthree\nfour\n"]
    contents.append(b"new1\nbob1 bob2\nnew2 new3\nthree\nfour\n")
    contents.append(undone(contents, {"e1"})[0])
    contents.append(contents[-1].replace(b"four", b"eve1"))
    assert undone(contents, {"e4"}, {"e3": ("e1",)}) == (contents[-2], 0)
