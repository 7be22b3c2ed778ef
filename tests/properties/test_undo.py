"""Undo beside what people did since: an agent edits, a person restores, retypes or types elsewhere, then undo.

The model is plain Python over lines and words, without any alignment. It knows every word that anybody wrote,
and how often each may occur in the file.
"""

import asyncio
import re
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fileops.model.errors import UndoConflict
from support.in_process import Workbench

PATH = "/w/f"
SESSION = "agent"
# (encoding, byte order mark, line end): wide code units, marks and CRLF alike.
WRITINGS = [
    ("utf-8", b"", "\n"),
    ("utf-8", b"", "\r\n"),
    ("utf-8", b"\xef\xbb\xbf", "\n"),
    ("utf-8", b"\xef\xbb\xbf", "\r\n"),
    ("utf-16-le", b"\xff\xfe", "\n"),
    ("utf-16-be", b"\xfe\xff", "\r\n"),
    ("utf-32-le", b"\xff\xfe\x00\x00", "\r\n"),
    ("utf-32-be", b"\x00\x00\xfe\xff", "\n"),
]
WORD = re.compile(r"[^\W]+")


@dataclass
class Shared:
    """One file, an agent and a person, in one of the writings. written: every word that was ever in the file."""

    encoding: str
    bom: bytes
    newline: str
    bench: Workbench = field(default_factory=Workbench)
    written: set[str] = field(default_factory=set[str])

    def text(self) -> str:
        return self.decoded(self.bench.on_disk(PATH) or b"")

    def decoded(self, data: bytes) -> str:
        assert data.startswith(self.bom)
        return data.removeprefix(self.bom).decode(self.encoding).replace(self.newline, "\n")

    def put(self, text: str) -> None:
        """As a person saves it."""
        self.written.update(WORD.findall(text))
        self.bench.disk.put(PATH, self.bom + text.replace("\n", self.newline).encode(self.encoding))

    async def edit(self, new: str, session_id: str = SESSION) -> str:
        """As an agent: the smallest run of lines that occurs once is replaced. The edit's id."""
        old = self.text()
        self.written.update(WORD.findall(new))
        first, last = changed_lines(old, new)
        old_lines, new_lines = old.splitlines(keepends=True), new.splitlines(keepends=True)
        stop = len(old_lines) - last
        window = "".join(old_lines[first:stop])
        while not window or occurrences(old, window) > 1:
            first, stop, last = max(first - 1, 0), min(stop + 1, len(old_lines)), max(last - 1, 0)
            window = "".join(old_lines[first:stop])
        edit_id = await self.bench.applied(PATH, window, "".join(new_lines[first : len(new_lines) - last]), session_id)
        assert self.text() == new
        return edit_id


def changed_lines(old: str, new: str) -> tuple[int, int]:
    """How many lines both have in common at the start, and at the end."""
    ours, theirs = old.splitlines(keepends=True), new.splitlines(keepends=True)
    shorter = min(len(ours), len(theirs))
    first = next((n for n in range(shorter) if ours[n] != theirs[n]), shorter)
    last = next((n for n in range(shorter - first) if ours[-1 - n] != theirs[-1 - n]), shorter - first)
    return first, last


def occurrences(text: str, needle: str) -> int:
    return sum(text.startswith(needle, at) for at in range(len(text)))


def shared(writing: tuple[str, bytes, str], text: str) -> Shared:
    file = Shared(*writing)
    file.put(text)
    return file


# --- what a person has put back -------------------------------------------------------------------------------------

SHORTENED = [
    pytest.param("x = f(a, b)\n", "x = f(a)\n", id="argument"),
    pytest.param("foo()\nbar\n", "foo\nbar\n", id="call"),
    pytest.param("if a == b:\n", "if a = b:\n", id="operator"),
    pytest.param("import os\nimport sys\n", "import sys\n", id="first line"),
    pytest.param("import os\nimport sys\n", "import os\n", id="last line"),
    pytest.param("a\nimport os\nb\n", "a\nb\n", id="line"),
    pytest.param("a, b, c\n", "a, c\n", id="one of a list"),
    pytest.param("x\nx\nx\n", "x\nx\n", id="one of equal lines"),
    pytest.param("{\n{\n}\n}\n", "{\n}\n", id="pair of braces"),
    pytest.param("a\n\n\nb\n", "a\n\nb\n", id="blank line"),
    pytest.param("one  two\n", "one two\n", id="blank"),
    pytest.param("last line\nno end", "last line\n", id="without final newline"),
    pytest.param("v93é\n", "v376é\n", id="word with an accent"),
    pytest.param("x = 1\n", "x = 1 + f(1)\n", id="lengthened"),
    pytest.param("x\n", "x\nx\n", id="line doubled by the agent"),
    pytest.param("only\n", "", id="all"),
]


@pytest.mark.parametrize("writing", WRITINGS, ids=lambda writing: f"{writing[0]}-{len(writing[1])}-{writing[2]!r}")
@pytest.mark.parametrize(("before", "after"), SHORTENED)
@pytest.mark.parametrize("by_session", [True, False])
async def test_undo_of_an_edit_reverted_by_the_user_changes_nothing(
    writing: tuple[str, bytes, str], before: str, after: str, *, by_session: bool
):
    file = shared(writing, before)
    try:
        edit_id = await file.edit(after)
        file.put(before)
        outcome = await (file.bench.undo(session_id=SESSION) if by_session else file.bench.undo(edit_id))
        assert outcome.error is None, outcome.output
        assert outcome.files[0].edit_id is None
        assert file.text() == before
    finally:
        file.bench.close()


@pytest.mark.parametrize("writing", WRITINGS, ids=lambda writing: f"{writing[0]}-{len(writing[1])}-{writing[2]!r}")
@pytest.mark.parametrize(("before", "after"), SHORTENED)
async def test_undo_of_an_edit_reverted_next_to_users_lines_changes_nothing(
    writing: tuple[str, bytes, str], before: str, after: str
):
    """With lines before and after that stay as they are."""
    head, tail = "the head\n", "\nthe tail\n"
    file = shared(writing, head + before + tail)
    try:
        edit_id = await file.edit(head + after + tail)
        present = "typed before\n" + head + before + tail + "typed behind\n"
        file.put(present)
        outcome = await file.bench.undo(edit_id)
        assert outcome.error is None, outcome.output
        assert file.text() == present
    finally:
        file.bench.close()


# --- any history ----------------------------------------------------------------------------------------------------

LINES = ["import os", "import sys", "", "x = f(a, b)", "x = f(a)", "foo()", "foo", "a == b", "}", "    }", "é v71 v4"]
texts = st.lists(st.sampled_from(LINES), min_size=1, max_size=6).map(lambda lines: "".join(f"{x}\n" for x in lines))


# In each of these, a comparison pairs equal lines differently than the edit did.
@example(WRITINGS[0], "import sys\nimport os\nimport sys\n", 2 * "import os\n" + 2 * "import sys\n", False, True)
@example(WRITINGS[2], "foo\n}\nfoo()\n}\n", "}\nfoo\n}\n", True, True)
@example(WRITINGS[5], "foo\nfoo\nfoo()\nfoo()\n", "foo()\nfoo\nfoo()\n", True, False)
@given(st.sampled_from(WRITINGS), texts, texts, st.booleans(), st.booleans())
@settings(max_examples=150)
def test_edit_reverted_by_the_user_stays_reverted(
    writing: tuple[str, bytes, str], before: str, after: str, types_before: bool, types_behind: bool
):
    """For any lines that an edit exchanged for any others, and although any line may occur several times."""
    if before == after:
        return
    middle, end = "the middle\n", "the end\n"
    present = ("typed\n" if types_before else "") + middle + before + end + ("typed too\n" if types_behind else "")

    async def story() -> None:
        file = shared(writing, middle + before + end)
        try:
            edit_id = await file.edit(middle + after + end)
            file.put(present)
            outcome = await file.bench.undo(edit_id)
            assert outcome.error is None, outcome.output
            assert file.text() == present
        finally:
            file.bench.close()

    asyncio.run(story())


@given(st.sampled_from(WRITINGS), texts, texts, texts, texts)
@settings(max_examples=150)
def test_undo_reverts_the_edit_and_keeps_other_lines(
    writing: tuple[str, bytes, str], before: str, after: str, elsewhere: str, typed: str
):
    """Between the edit's lines and the person's is one that is unchanged."""
    if before == after:
        return

    async def story() -> None:
        file = shared(writing, before + "the middle\n" + elsewhere)
        try:
            edit_id = await file.edit(after + "the middle\n" + elsewhere)
            file.put(after + "the middle\n" + typed)
            outcome = await file.bench.undo(edit_id)
            assert outcome.error is None, outcome.output
            assert file.text() == before + "the middle\n" + typed
        finally:
            file.bench.close()

    asyncio.run(story())


class Words:
    """New words, none of them twice."""

    def __init__(self) -> None:
        self.n_made = 0

    def new(self) -> str:
        self.n_made += 1
        return f"{'vwé'[self.n_made % 3]}{self.n_made * 37}"


gaps_between = st.sampled_from([" ", ", ", "(", ")", "\n", "\n    ", "+", "-", " = "])


def joined(words: list[str], gaps: list[str]) -> str:
    """Below a line that stays, which says what a line end is."""
    return "top\n" + "".join(word + gap for word, gap in zip(words, gaps, strict=True))


@st.composite
def retouched(draw: st.DrawFn, words: list[str], gaps: list[str], made: Words) -> tuple[list[str], list[str]]:
    """Some words away, some exchanged, some new ones between, some gaps different. No word occurs twice."""
    some_words, some_gaps = list(words), list(gaps)
    for _ in range(draw(st.integers(1, 2))):
        at = draw(st.integers(0, len(some_words)))
        what = draw(st.sampled_from(["delete", "delete", "exchange", "insert", "gap"]))
        if what == "insert" or not some_words:
            some_words.insert(at, made.new())
            some_gaps.insert(at, draw(gaps_between))
            continue
        at = min(at, len(some_words) - 1)
        if what == "delete":
            stop = min(at + draw(st.integers(1, 2)), len(some_words))
            del some_words[at:stop], some_gaps[at:stop]
        elif what == "exchange":
            some_words[at] = made.new()
        else:
            some_gaps[at] = draw(gaps_between)
    return some_words, some_gaps


@given(st.data(), st.sampled_from(WRITINGS))
@settings(max_examples=300, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_undo_neither_invents_doubles_nor_loses_a_users_word(data: st.DataObject, writing: tuple[str, bytes, str]):
    """Words are unique, so one that occurs twice was doubled by the undo, and one that is unknown was made by it."""
    made = Words()
    words = [made.new() for _ in range(data.draw(st.integers(1, 7)))]
    gaps = [data.draw(gaps_between) for _ in words]

    async def story() -> None:
        states = [(words, gaps)]
        file = shared(writing, joined(words, gaps))
        try:
            for _ in range(data.draw(st.integers(1, 3), label="edits")):
                latest = data.draw(retouched(*states[-1], made), label="edit")
                if joined(*latest) != file.text() and file.text():
                    await file.edit(joined(*latest))
                    states.append(latest)
            if len(states) == 1:
                return
            mine = data.draw(st.sampled_from(states), label="what the person goes back to")
            is_as_it_was = True
            for _ in range(data.draw(st.integers(0, 2), label="what the person types")):
                mine, is_as_it_was = data.draw(retouched(*mine, made), label="typed"), False
            present = joined(*mine)
            file.put(present)
            typed = set(mine[0]) - {word for state, _ in states for word in state}
            outcome = await file.bench.undo(session_id=SESSION)
            result = file.text()
            counted = Counter(WORD.findall(result))
            if outcome.error is not None:
                assert isinstance(outcome.error, UndoConflict)
                assert result == present
            assert set(counted) <= file.written, "a word that nobody wrote"
            assert all(n == 1 for n in counted.values()), "a word that stands twice"
            assert typed <= set(counted), "a word of the person is gone"
            if is_as_it_was:
                assert result == joined(words, gaps), "a state of the file itself, and not taken back from there"
        finally:
            file.bench.close()

    asyncio.run(story())


# --- two sessions that alternate ------------------------------------------------------------------------------------


@st.composite
def turns_on_blocks(draw: st.DrawFn) -> tuple[list[str], list[tuple[int, str]]]:
    """Blocks of lines, and edits, each of which exchanges one block."""
    blocks = draw(st.lists(texts, min_size=2, max_size=5))
    n_edits = draw(st.integers(2, 12))
    return blocks, [(draw(st.integers(0, len(blocks) - 1)), draw(texts)) for _ in range(n_edits)]


@given(st.sampled_from(WRITINGS), turns_on_blocks(), st.lists(st.booleans(), min_size=5, max_size=5), st.booleans())
@settings(max_examples=150)
def test_undo_of_an_alternating_session_leaves_the_other_sessions_edits(
    writing: tuple[str, bytes, str],
    turns: tuple[list[str], list[tuple[int, str]]],
    is_first: list[bool],
    person_types: bool,
):
    """Each block belongs to one of two sessions, and an unchanged line is between any two."""
    blocks, edits = turns

    def text_of(blocks: list[str], end: str = "") -> str:
        return "".join(f"the middle {n}\n{block}" for n, block in enumerate(blocks)) + "the end\n" + end

    async def story() -> None:
        file = shared(writing, text_of(blocks))
        try:
            now, others, n_undone = list(blocks), list(blocks), 0
            for n, block in edits:
                if now[n] == block:
                    continue
                now[n] = block
                await file.edit(text_of(now), "first" if is_first[n] else "second")
                n_undone += is_first[n]
                if not is_first[n]:
                    others[n] = block
            end = "typed at the end\n" if person_types else ""
            file.put(text_of(now, end))
            outcome = await file.bench.undo(session_id="first")
            assert (outcome.error is None) == (n_undone > 0), outcome.output
            assert file.text() == text_of(others, end)
        finally:
            file.bench.close()

    asyncio.run(story())


@given(st.data(), st.sampled_from(WRITINGS))
@settings(max_examples=300, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_undo_neither_doubles_nor_loses_a_word_of_another_session(data: st.DataObject, writing: tuple[str, bytes, str]):
    """The sessions may edit the same lines, and also words side by side. Words are unique."""
    made = Words()
    words = [made.new() for _ in range(data.draw(st.integers(3, 12)))]
    gaps = [data.draw(gaps_between) for _ in words]

    async def story() -> None:
        now = (words, gaps)
        file = shared(writing, joined(*now))
        of_others = set[str]()
        try:
            for _ in range(data.draw(st.integers(2, 6), label="edits")):
                name = data.draw(st.sampled_from(["first", "second"]), label="session")
                latest = data.draw(retouched(*now, made), label="edit")
                if joined(*latest) == file.text():
                    continue
                of_others.update(set(latest[0]) - set(now[0]) if name == "second" else ())
                await file.edit(joined(*latest), name)
                now = latest
            present = file.text()
            outcome = await file.bench.undo(session_id="first")
            result = Counter(WORD.findall(file.text()))
            if outcome.error is not None:
                assert isinstance(outcome.error, UndoConflict)
                assert file.text() == present
                return
            assert set(result) <= file.written, "a word that nobody wrote"
            assert all(n == 1 for n in result.values()), "a word that stands twice"
            assert of_others & set(now[0]) <= set(result), "a word of the other session is gone"
        finally:
            file.bench.close()

    asyncio.run(story())
