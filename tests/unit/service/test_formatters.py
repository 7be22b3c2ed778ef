"""What a formatter does to text of an agent: it keeps its author, and the formatting goes with its undo (R-LOG-3).

A person's editor formats at a save, or another program does; the change is theirs in the log.
"""

from collections.abc import AsyncGenerator

import pytest

from fileops.model.record import OUTSIDE, By, session_of
from fileops.model.rewind import KeepRequest, UnkeptChange
from fileops.service.rewind.blame import blame
from support.recording import AGENT, OTHER, PERSON, Recording

PATH = "/w/a.py"
OLD = b"import os\n\n\ndef last(x):\n    return x\n"

# What the agent makes of OLD, and what a formatter makes of that.
FORMATTED = {
    "blanks in lines": (
        OLD.replace(b"os\n", b"os\nx=1\ny = [1,2]\n"),
        OLD.replace(b"os\n", b"os\nx = 1\ny = [1, 2]\n"),
    ),
    "indentation": (OLD.replace(b"\n\n\n", b"\nif x:\n  y\n\n\n"), OLD.replace(b"\n\n\n", b"\nif x:\n    y\n\n\n")),
    "blank lines around": (OLD.replace(b"os\n", b"os\nx = 1\n"), OLD.replace(b"os\n", b"os\n\nx = 1\n\n")),
    "blanks at the end": (OLD.replace(b"os\n", b"os\nx = 1  \n"), OLD.replace(b"os\n", b"os\nx = 1\n")),
    "lines joined": (OLD.replace(b"os\n", b"os\nx = [\n  1,\n  2]\n"), OLD.replace(b"os\n", b"os\nx = [1, 2]\n")),
    "a line divided": (OLD.replace(b"os\n", b"os\nx = [1, 2]\n"), OLD.replace(b"os\n", b"os\nx = [\n    1, 2\n]\n")),
    "a part of a line": (OLD.replace(b"return x", b"return f(x,1)"), OLD.replace(b"return x", b"return f(x, 1)")),
    "the end of the file": (OLD + b"x = 1", OLD + b"x = 1\n"),
}


@pytest.fixture
async def recording() -> AsyncGenerator[Recording]:
    recording = Recording()
    recording.bench.disk.put(PATH, OLD)
    yield recording
    recording.bench.close()


async def _changes(recording: Recording) -> list[UnkeptChange]:
    recording.settle()
    files = (await recording.bench.service.history.unkept(PATH, None, None)).files
    return [change for file in files for change in file.changes]


def _authors(recording: Recording) -> dict[str, str | None]:
    """Return by line that is not blank which session wrote it."""
    lines = recording.bench.disk.read(PATH).data.decode().splitlines()
    blamed = blame(recording.store, recording.bench.disk, PATH)
    return {
        line: None if owned.by is None else session_of(owned.by)
        for owned in blamed
        for line in lines[owned.first_line - 1 : owned.first_line - 1 + owned.n_lines]
        if line
    }


@pytest.mark.parametrize("formatter", [PERSON, OUTSIDE], ids=["a save", "another program"])
@pytest.mark.parametrize("name", FORMATTED)
async def test_formatted_text_keeps_its_author_and_is_undone(recording: Recording, name: str, formatter: By) -> None:
    written, formatted = FORMATTED[name]
    entry_id = recording.write(PATH, written, AGENT)
    recording.write(PATH, formatted, formatter)
    new = [line for line in formatted.decode().splitlines() if line and line not in OLD.decode().splitlines()]
    assert {_authors(recording)[line] for line in new} == {"agent"}
    assert all(
        _authors(recording)[line] is None for line in OLD.decode().splitlines() if line not in {"", "    return x"}
    )
    changes = await _changes(recording)
    assert all(change.undoable and change.entry_ids == (entry_id,) for change in changes)
    undone = await recording.rewind("entry_ids", entry_id)
    assert (undone.error, undone.n_left, recording.bench.on_disk(PATH)) == (None, 0, OLD)
    redone = await recording.rewind("rewind_id", undone.rewind_id or "")
    assert (redone.error, recording.bench.on_disk(PATH)) == (None, formatted)
    assert {_authors(recording)[line] for line in new} == {"agent"}
    again = await recording.rewind("change_ids", (await _changes(recording))[0].change_id)
    assert (again.error, recording.bench.on_disk(PATH)) == (None, OLD)


async def test_unsaved_formatting_is_undone_with_its_text(recording: Recording) -> None:
    written, formatted = FORMATTED["blanks in lines"]
    recording.write(PATH, written, AGENT)
    recording.bench.disk.put(PATH, formatted)  # not recorded yet
    undone = await recording.rewind("session_id", "agent")
    assert (undone.error, undone.n_left, recording.bench.on_disk(PATH)) == (None, 0, OLD)


async def test_formatting_of_other_lines_stays(recording: Recording) -> None:
    """The formatter formats the whole file: what it makes of lines of others is its own."""
    before = OLD + b"z=[1,2]\n"
    recording.write(PATH, before, PERSON)
    recording.write(PATH, before.replace(b"os\n", b"os\nx=1\n"), AGENT)
    recording.write(PATH, before.replace(b"os\n", b"os\nx = 1\n").replace(b"z=[1,2]", b"z = [1, 2]"), PERSON)
    undone = await recording.rewind("session_id", "agent")
    assert (undone.n_left, recording.bench.on_disk(PATH)) == (0, OLD + b"z = [1, 2]\n")


async def test_formatting_of_what_another_agent_wrote_beside_it_stays(recording: Recording) -> None:
    both = OLD.replace(b"os\n", b"os\nx=1\ny=2\n")
    recording.write(PATH, OLD.replace(b"os\n", b"os\nx=1\n"), AGENT)
    recording.write(PATH, both, OTHER)
    recording.write(PATH, both.replace(b"=", b" = "), PERSON)
    assert [_authors(recording)[line] for line in ("x = 1", "y = 2")] == ["agent", "other"]
    undone = await recording.rewind("session_id", "agent")
    assert (undone.n_left, recording.bench.on_disk(PATH)) == (0, OLD.replace(b"os\n", b"os\ny = 2\n"))


async def test_formatting_older_than_the_agents_words_stays(recording: Recording) -> None:
    """The agent changes the words on both sides of the blanks that a formatter had written before."""
    recording.write(PATH, b"import sys\n" + OLD, AGENT)
    recording.write(PATH, b"import sys\n" + OLD + b"z=1\n", PERSON)
    recording.write(PATH, b"import sys\n" + OLD + b"z = 1\n", PERSON)
    recording.write(PATH, b"import sys\n" + OLD + b"w : 2\n", AGENT)
    undone = await recording.rewind("session_id", "agent")
    assert (undone.n_left, recording.bench.on_disk(PATH)) == (0, OLD + b"z = 1\n")


async def test_formatting_stays_in_text_that_an_undo_leaves(recording: Recording) -> None:
    """A person wrote a word in one of two lines: that line is left as it is, formatted."""
    recording.write(PATH, OLD.replace(b"\n\n\n", b"\nx=f(1,2)\n\n\ny=f(1,2)\n"), AGENT)
    formatted = OLD.replace(b"\n\n\n", b"\nx = f(1, 2)\n\n\ny = f(1, 2)\n")
    recording.write(PATH, formatted, PERSON)
    recording.write(PATH, formatted.replace(b"y = f(1", b"y = f(12"), PERSON)
    undone = await recording.rewind("session_id", "agent")
    assert (undone.n_left, recording.bench.on_disk(PATH)) == (1, OLD.replace(b"\n\n\n", b"\n\n\ny = f(12, 2)\n"))


async def test_change_of_a_word_beside_formatting_is_a_change_by_a_person(recording: Recording) -> None:
    recording.write(PATH, OLD.replace(b"os\n", b"os\nx=1\n"), AGENT)
    recording.write(PATH, OLD.replace(b"os\n", b"os\nx = 2\n"), PERSON)
    assert _authors(recording)["x = 2"] is None
    undone = await recording.rewind("session_id", "agent")
    assert (undone.n_left, recording.bench.on_disk(PATH)) == (1, OLD.replace(b"os\n", b"os\nx = 2\n"))


async def test_kept_change_is_not_listed_again_because_it_is_formatted(recording: Recording) -> None:
    """R-KEEP-5."""
    written = OLD.replace(b"os\n", b"os\nx=1\n") + b"z=1\n"
    recording.write(PATH, written, AGENT)
    kept, other = await _changes(recording)
    await recording.bench.service.history.keep(KeepRequest(change_ids=(kept.change_id,)))
    recording.write(PATH, written.replace(b"x=1", b"x = 1"), PERSON)
    assert [change.change_id for change in await _changes(recording)] == [other.change_id]
    recording.write(PATH, written.replace(b"=", b" = "), PERSON)
    assert len(await _changes(recording)) == 2  # it is not known which of the two was kept
