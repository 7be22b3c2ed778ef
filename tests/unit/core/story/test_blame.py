"""Who wrote which line after git, editors and undos have brought contents back."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest

from fileops.core.merge.authorship import owners_of_lines
from support.file_steps import to_steps

LINES = [b"line %d of the file\n" % n for n in range(1, 31)]
UPSTREAM = b"upstream wrote this\n"


def text(**changed: bytes) -> bytes:
    """Args: changed: the texts of some lines, by "l" and their numbers."""
    lines = list(LINES)
    for name, line in changed.items():
        lines[int(name[1:]) - 1] = line + b"\n"
    return b"".join(lines)


BASE, AGENT = text(), text(l5=b"the agent wrote this")
PERSON, BOTH = text(l20=b"the person typed this"), text(l5=b"the agent wrote this", l20=b"the person typed this")
OLDER = BASE.replace(b"line 9 of the file\n", b"an older line\n")  # of a commit that the record has never seen
REBASED = BASE.replace(LINES[24], UPSTREAM)


def authors(
    changes: Sequence[tuple[str, bytes, bytes]],
    undoes: Mapping[str, tuple[str, ...]] | None = None,
    tool_edits: Sequence[str] = (),
) -> dict[int, str]:
    """Return the entries of the lines that have one, by line."""
    steps, contents = to_steps(changes)
    owned = owners_of_lines(steps, changes[-1][2], contents.get, undoes, tool_edits)
    return {
        line: lines.entry_id
        for lines in owned
        if lines.entry_id is not None
        for line in range(lines.first_line, lines.first_line + lines.n_lines)
    }


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        pytest.param([("away", AGENT, BASE), ("back", BASE, AGENT)], {5: "agent"}, id="switch-and-back"),
        pytest.param([("away", AGENT, OLDER), ("back", OLDER, AGENT)], {5: "agent"}, id="switch-to-an-older-commit"),
        pytest.param(
            [("stash", AGENT, BASE), ("person", BASE, PERSON), ("pop", PERSON, BOTH)],
            {5: "agent", 20: "person"},
            id="stash-type-pop",
        ),
        pytest.param(
            [
                ("person", AGENT, BOTH),
                ("rebase", BOTH, REBASED),
                ("pick 1", REBASED, AGENT.replace(LINES[24], UPSTREAM)),
                ("pick 2", AGENT.replace(LINES[24], UPSTREAM), BOTH.replace(LINES[24], UPSTREAM)),
            ],
            {5: "agent", 20: "person", 25: "rebase"},
            id="rebase",
        ),
        pytest.param([("deletion", AGENT, b""), ("again", b"", AGENT)], {5: "agent"}, id="removed-and-made-again"),
    ],
)
def test_line_that_comes_back_keeps_its_author(changes: list[tuple[str, bytes, bytes]], wanted: dict[int, str]) -> None:
    assert authors([("agent", BASE, AGENT), *changes]) == wanted


def test_line_that_a_tool_writes_again_is_the_tools() -> None:
    changes = [("first", BASE, AGENT), ("person", AGENT, BASE), ("second", BASE, AGENT)]
    assert authors(changes, tool_edits=("first", "second")) == {5: "second"}
    assert authors(changes, tool_edits=("first",)) == {5: "first"}


def test_line_belongs_to_its_author_after_the_undo_of_a_redo_is_undone() -> None:
    contents = (BASE, AGENT, BASE, AGENT, BASE, PERSON, BOTH)
    ids = ("agent", "undo", "redo", "undo of the redo", "person", "redo again")
    undoes = {"undo": ("agent",), "redo": ("undo",), "undo of the redo": ("redo",), "redo again": ("undo of the redo",)}
    changes = list(zip(ids, contents, contents[1:], strict=False))
    assert authors(changes, undoes) == {5: "agent", 20: "person"}


def test_line_that_git_pops_keeps_its_author_if_other_parents_are_named() -> None:
    """The stash is gone by the time git is asked, and HEAD is only one of the two parents."""
    contents = (BASE, AGENT, BASE, PERSON, BOTH)
    steps, known = to_steps((f"e{n}", *pair) for n, pair in enumerate(pairwise(contents), 1))
    owned = owners_of_lines(steps, BOTH, known.get, carried=("e4",), parents={"e4": [PERSON, BASE]})
    assert {lines.first_line: lines.entry_id for lines in owned if lines.entry_id} == {5: "e1", 20: "e3"}


def test_line_that_is_committed_before_git_is_asked_for_parents_keeps_its_author() -> None:
    steps, known = to_steps([("agent", BASE, AGENT), ("stash", AGENT, BASE), ("person", BASE, PERSON)])
    for parents in ({"stash": [PERSON]}, {"stash": [PERSON, AGENT]}):
        owned = owners_of_lines(steps, PERSON, known.get, carried=("stash",), parents=parents)
        assert {lines.first_line: lines.entry_id for lines in owned if lines.entry_id} == {20: "person"}


def test_line_keeps_its_author_if_a_merge_exchanges_the_sides_of_a_conflict() -> None:
    """A rebase, which is aborted, has met the conflict before. So its content has all lines, some at another place."""
    agent = text(l5=b"the agent's", l10=b"of the agent")
    person = BASE.replace(LINES[9], b"of the person\n" + LINES[9])
    conflict, exchanged = (agent.replace(b"of the agent\n", _sides(order)) for order in (1, -1))
    changes = [
        ("agent", BASE, agent),
        ("switch", agent, BASE),
        ("person", BASE, person),
        ("rebase", person, conflict),
        ("abort", conflict, person),
        ("merge", person, exchanged),
    ]
    assert authors(changes) == {5: "agent", 10: "rebase", 11: "person", 13: "merge", 14: "agent", 15: "merge"}
    unseen = [*changes[:4], ("abort and merge", conflict, exchanged)]
    assert authors(unseen)[14] == "agent"


def test_line_that_two_known_contents_have_is_its_authors_in_the_newer_one() -> None:
    """The first change has exchanged the lines, so it has written one of them again."""
    contents = [_lines("first second"), _lines("second first"), b"", _lines("second third")]
    changes = [(f"e{n}", *pair) for n, pair in enumerate(pairwise(contents), 1)]
    assert authors(changes[:1]) == {1: "e1"}
    assert authors(changes) == {1: "e1", 2: "e3"}


def _sides(order: int) -> bytes:
    sides = [b"of the agent\n", b"of the person\n" + LINES[9]][::order]
    return b"".join((b"<<<<<<< HEAD\n", sides[0], b"=======\n", sides[1], b">>>>>>> %d\n" % order))


def test_end_of_a_line_that_has_gone_names_nobody() -> None:
    """R-LOG-3. An undo of a part brings back `p4` before the end of the agent's line `b26`."""
    contents = [
        _lines("p1 p2 p3 p4"),
        _lines("a19 b18 p3 b21 b26 b27"),
        _lines("a19 b18 p3 b21 b26 b36 b27"),
        _lines("a19 b18 p3 b21 b26 b36 b27 b29"),
        b"a43\np3\np4\nb36\n\n",
    ]
    changes = [(f"e{n}", *pair) for n, pair in enumerate(pairwise(contents), 1)]
    assert authors(changes, {"e4": ("e3",)}).get(3) is None


def test_end_of_a_line_whose_text_a_person_puts_back_names_nobody() -> None:
    """R-LOG-3. Also if the text that has gone was as long."""
    for written in (b"new\nmore\n", b"newer\nmore\n"):
        assert authors([("agent", b"old\n", written), ("person", written, b"old\nmore\n")]) == {2: "agent"}


def test_end_that_a_line_without_one_gets_is_of_who_wrote_it() -> None:
    assert authors([("agent", b"one", b"one\ntwo\n")]) == {1: "agent", 2: "agent"}


def test_line_that_an_undo_doubles_is_its_authors() -> None:
    """A merge with both sides of a conflict has brought back the line that the undone edit replaced."""
    contents = [_lines("b1 b2"), _lines("b1 p2"), _lines("b1 a3"), _lines("b1 p2 p4 a3"), _lines("b1 p2 p4 p2")]
    changes = [(f"e{n}", *pair) for n, pair in enumerate(pairwise(contents), 1)]
    assert authors(changes, {"e4": ("e2",)}) == {2: "e1", 3: "e3", 4: "e1"}


def test_word_that_a_person_typed_into_an_undo_is_theirs() -> None:
    """They changed it when it was reviewed."""
    contents = [_lines("b1 b2"), _lines("b1 a3"), _lines("b1 p4 b2")]
    changes = [(f"e{n}", *pair) for n, pair in enumerate(pairwise(contents), 1)]
    assert authors(changes, {"e2": ("e1",)}) == {2: "e2"}


def _lines(words: str) -> bytes:
    return b"".join(b"%b\n" % word.encode() for word in words.split())
