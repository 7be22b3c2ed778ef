"""What a rewind makes of one file, by example. The laws are in tests/oracle/rewind_games.py."""

from collections.abc import Collection
from itertools import pairwise

import pytest
from msgspec.structs import replace

from fileops.core.merge.rewind import Rewound, rewind_file
from fileops.core.story.memory import FileMemory
from fileops.core.story.story import MAX_REMEMBERED
from fileops.model.edits import LineRange, Splice
from fileops.model.rewind import FileStep
from support.file_steps import to_steps

OLD = b"one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
AGENT, OTHER = "agent", "other"


KNOWN: dict[bytes, bytes] = {}


def _step(step_id: str, before: bytes | None, after: bytes | None) -> FileStep:
    (step,), contents = to_steps([(step_id, before, after)])
    KNOWN.update(contents)
    return step


def _steps(*contents: bytes | None) -> list[FileStep]:
    """Changes from each content to the next; the first is the agent's, then they alternate."""
    return [
        _step(f"{OTHER if n % 2 else AGENT}{n}", before, after) for n, (before, after) in enumerate(pairwise(contents))
    ]


def _rewound(
    steps: list[FileStep], chosen: set[str], present: bytes | None, cancelled: Collection[str] = ()
) -> Rewound:
    return rewind_file(steps, chosen, present, KNOWN.get, cancelled)


def _of_agent(steps: list[FileStep]) -> set[str]:
    return {step.step_id for step in steps if step.step_id.startswith(AGENT)}


@pytest.mark.parametrize(
    ("contents", "result"),
    [
        pytest.param((OLD, OLD.replace(b"two", b"2")), OLD, id="nothing-since"),
        pytest.param(
            (OLD, OLD.replace(b"two", b"2"), OLD.replace(b"two", b"2").replace(b"six", b"6")),
            OLD.replace(b"six", b"6"),
            id="another-line",
        ),
        pytest.param((None, b"new\n"), None, id="created"),
        pytest.param((None, b"new\n", None), None, id="created-and-deleted-by-another"),
        pytest.param((OLD, None), OLD, id="deleted"),
        pytest.param((b"", b"x\n"), b"", id="empty-before"),
    ],
)
def test_rewind_without_conflict_undoes_all(contents: tuple[bytes | None, ...], result: bytes | None) -> None:
    steps = _steps(*contents)
    rewound = _rewound(steps, _of_agent(steps), contents[-1])
    assert (rewound.content, set(rewound.undone), rewound.left) == (result, _of_agent(steps), ())


def test_rewind_moves_no_word_that_the_turn_kept_past_what_others_typed() -> None:
    """The agent kept one word of a block that it rewrote, and the blanks of the block are not what it kept."""
    old = b"top\nkept\none two three\nfour five six seven\nend\n"
    present = b"top\nred green blue\nmine\nkept white\nend\n"
    rewound = _rewound(_steps(old, b"top\nred green blue\nkept white\nend\n", present), {"agent0"}, present)
    assert (rewound.content, rewound.left) == (old.replace(b"kept", b"mine\nkept"), ())


def test_rewind_of_unsaved_text_keeps_it() -> None:
    steps = _steps(OLD, OLD.replace(b"two", b"2"))
    rewound = _rewound(steps, {"agent0"}, OLD.replace(b"two", b"2").replace(b"six", b"6"))
    assert rewound.content == OLD.replace(b"six", b"6")


def test_rewind_of_all_changes_keeps_what_was_changed_unrecorded_between_them() -> None:
    mine = OLD.replace(b"two", b"2")
    typed = mine.replace(b"six", b"6")
    present = typed.replace(b"four", b"4")
    steps = [_step("agent0", OLD, mine), _step("agent1", typed, present)]
    assert _rewound(steps, {"agent0", "agent1"}, present).content == OLD.replace(b"six", b"6")


def test_rewind_of_created_file_with_text_of_others_leaves_it() -> None:
    steps = _steps(None, b"mine\n", b"mine\nyours\n")
    rewound = _rewound(steps, {"agent0"}, b"mine\nyours\n")
    assert rewound.content == b"mine\nyours\n"
    assert [(place.entry_id, place.is_recreated) for place in rewound.left] == [("agent0", False)]


def test_rewind_of_deleted_file_that_another_created_again_leaves_it() -> None:
    steps = _steps(OLD, None, b"another\n")
    rewound = _rewound(steps, {"agent0"}, b"another\n")
    assert rewound.content == b"another\n"
    assert [(place.entry_id, place.is_recreated) for place in rewound.left] == [("agent0", True)]


def test_rewind_with_a_conflict_undoes_the_other_places_of_the_entry() -> None:
    changed = OLD.replace(b"two", b"2").replace(b"six", b"6")
    steps = _steps(OLD, changed, changed.replace(b"2", b"mine"))
    rewound = _rewound(steps, {"agent0"}, changed.replace(b"2", b"mine"))
    assert rewound.content == OLD.replace(b"two", b"mine")
    assert rewound.undone == ()
    assert [(place.entry_id, place.ranges) for place in rewound.left] == [
        ("agent0", (LineRange(start_line=2, end_line=2),))
    ]


def test_rewind_of_rewritten_lines_leaves_the_one_with_a_word_of_another() -> None:
    """R-REW-4, however many lines there are. No line lies between two of them."""
    old = b"".join(b"line %d one two\n" % n for n in range(1, 301))
    mine = old.replace(b"one", b"1")
    present = mine.replace(b"line 100 1 two", b"line 100 uno two")
    rewound = _rewound(_steps(old, mine, present), {"agent0"}, present)
    assert rewound.content == old.replace(b"line 100 one two", b"line 100 uno two")
    assert [place.ranges for place in rewound.left] == [(LineRange(start_line=100, end_line=100),)]


def test_rewind_goes_around_whole_lines_of_another_in_an_insertion() -> None:
    """R-REW-3."""
    mine = OLD.replace(b"two\n", b"two\ndef f():\n    a = 1\n    return a\n")
    present = mine.replace(b"a = 1\n", b"a = 1\n    # theirs\n")
    rewound = _rewound(_steps(OLD, mine, present), {"agent0"}, present)
    assert (rewound.content, rewound.left) == (OLD.replace(b"two\n", b"two\n    # theirs\n"), ())
    steps = _steps(OLD, mine, mine.replace(b"a = 1", b"a = 17"))
    rewound = _rewound(steps, {"agent0"}, mine.replace(b"a = 1", b"a = 17"))
    assert (rewound.content, len(rewound.left)) == (mine.replace(b"a = 1", b"a = 17"), 1)


def test_rewind_joins_no_texts_of_two_encodings() -> None:
    contents = [b"\0\0\xfe\xff" + text.encode("utf-32-be") for text in ("a\nb\nc\n", "a\nx\nc\n")]
    contents += [b"a\nx y\nc\n", b"a\ny\nc\n"]
    steps = [_step(f"e{n}", *pair) for n, pair in enumerate(pairwise(contents), 1)]
    assert b"\0" not in (_rewound(steps, {"e1", "e3"}, contents[-1]).content or b"")


def test_rewind_brings_no_words_of_utf_16_back_to_a_file_that_was_emptied() -> None:
    """They would be there without the byte order mark."""
    contents = [b"\xfe\xff" + text.encode("utf-16-be") for text in ("one two three\n", "one three\n")]
    contents.append(b"")
    steps = [_step(f"e{n}", *pair) for n, pair in enumerate(pairwise(contents), 1)]
    assert _rewound(steps, {"e1"}, b"").content == b""


def test_rewind_leaves_what_another_typed_again_elsewhere() -> None:
    """The agent wrote the same line once, and removed it."""
    contents = [b"0\n1\n2\n3\n", b"5\n0\n1\n6\n2\n3\n", b"3\n5\n10\n", b"5\n", b"5\n17\n3\n"]
    steps = [_step(f"e{n}", *pair) for n, pair in enumerate(pairwise(contents), 1)]
    rewound = _rewound(steps, {"e1", "e2", "e3"}, contents[-1])
    assert (rewound.content or b"").endswith(b"17\n3\n")


def test_rewind_of_moved_line_does_not_delete_it_at_one_place_only() -> None:
    """The move is undone whole or not at all: else the line of another would be gone."""
    moved = b"one\nthree\nfour\nfive\nsix\ntwo\nseven\n"
    changed = moved.replace(b"one\nthree", b"one\nTYPED\nthree")
    steps = _steps(OLD, moved, changed)
    rewound = _rewound(steps, {"agent0"}, changed)
    assert rewound.content is not None
    assert rewound.content.count(b"two") == 1
    assert b"TYPED" in rewound.content


def test_rewind_leaves_a_word_that_another_made_of_two_that_were_removed() -> None:
    """R-KEEP-3. It is a new word: neither of the two was beside the other one before."""
    steps = _steps(b"a foo\n", b"a bar\n", b"a\n", b"a\nb\n", b"a foobar\nb\n")
    rewound = _rewound(steps, {"agent0"}, b"a foobar\nb\n")
    assert (rewound.content, rewound.undone) == (b"a foobar\nb\n", ())


def test_rewind_after_redo_is_the_first_rewind() -> None:
    mine = OLD.replace(b"two", b"2")
    steps = [_step("e1", OLD, mine), _step("rewind", mine, OLD), _step("redo", OLD, mine)]
    rewound = _rewound(steps, {"e1"}, mine, {"rewind", "redo"})
    assert (rewound.content, rewound.undone, rewound.left) == (OLD, ("e1",), ())


@pytest.mark.parametrize(
    "contents",
    [
        (b"w0 w1\nw2\n\n", b"w0 w1\n\n", b"w0 w3\n"),
        (b"w0\nw1 w2\n\n\n", b"w0 w3\n\nw4\n\n", b"w0 w3\n\n"),
    ],
)
def test_rewind_that_lends_the_end_of_a_line_is_the_same_after_its_redo(contents: tuple[bytes, ...]) -> None:
    """A line of others has its end only as long as the rewind is in force."""
    steps, present = _steps(*contents), contents[-1]
    first = _rewound(steps, {"agent0"}, present)
    rewind, redo = _step("rewind", present, first.content), _step("redo", first.content, present)
    undoes = {"rewind": ("agent0",), "redo": ("rewind",)}
    again = rewind_file(
        [*steps, rewind, redo], {"agent0"}, present, KNOWN.get, cancelled={"rewind", "redo"}, undoes=undoes
    )
    assert (again.content, again.left) == (first.content, first.left)


def test_rewind_of_hundreds_of_conflicts_lists_them_all() -> None:
    contents: list[bytes] = [b"".join(b"line%d\n\n" % n for n in range(200))]
    for n in range(200):
        mine = contents[-1].replace(b"line%d\n" % n, b"agent%d\n" % n)
        contents += (mine, mine.replace(b"agent%d\n" % n, b"other%d\n" % n))
    steps = _steps(*contents)
    rewound = _rewound(steps, _of_agent(steps), contents[-1])
    assert rewound.content == contents[-1]
    assert {place.entry_id for place in rewound.left} == _of_agent(steps)


def test_rewind_of_a_long_history_leaves_only_what_another_wrote_over() -> None:
    """The agent writes in each of 300 lines, and another after it, in every tenth line in place of its word."""
    lines = [b"line %d is old\n" % n for n in range(300)]
    contents = [b"".join(lines)]
    for n, line in enumerate(lines):
        mine = line.replace(b"old", b"new")
        for written in (mine, mine.replace(b"is new" if n % 10 == 0 else b"line", b"was changed")):
            lines[n] = written
            contents.append(b"".join(lines))
    steps = _steps(*contents)
    rewound = _rewound(steps, _of_agent(steps), contents[-1])
    assert rewound.content == contents[-1].replace(b"is new", b"is old")
    assert {place.entry_id for place in rewound.left} == {f"agent{2 * n}" for n in range(0, 300, 10)}


def test_rewind_of_all_edits_is_the_same_once_their_story_has_forgotten_the_first_content() -> None:
    """The first edit divides a line, so its undo joins two lines, about which the story is asked."""
    contents = [b"one two\n", b"one\n two\n"]
    contents += [contents[-1] + b"line\n" * n for n in range(1, MAX_REMEMBERED + 1)]
    ends = [Splice(len(older), len(newer), b"") for older, newer in pairwise(contents[1:])]
    steps = [
        replace(step, reverse=(splice,))
        for step, splice in zip(_steps(*contents), (Splice(3, 4, b""), *ends), strict=True)
    ]
    memory, chosen = FileMemory(), {step.step_id for step in steps}
    for _ in range(2):
        rewound = rewind_file(steps, chosen, contents[-1], KNOWN.get, memory=memory)
        assert (rewound.content, rewound.left) == (contents[0], ())
