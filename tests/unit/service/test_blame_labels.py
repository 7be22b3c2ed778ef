"""Law 12 of the story of a file (ADR 36): who an author is called is apart from which change wrote a line."""

import random
from collections.abc import Generator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fileops.model.record import By, LogQuery, is_by_agent, unsure
from fileops.model.rewind import BlamedLines
from fileops.service.rewind.blame import blame
from support.recording import AGENT, COMMAND, OTHER, PERSON, Recording

PATH = "/w/a"
AGENTS: tuple[By, ...] = (AGENT, OTHER, COMMAND, unsure(AGENT, PERSON), unsure(AGENT, OTHER))


@pytest.fixture
def recording(tmp_path: Path) -> Generator[Recording]:
    recording = Recording(folder=str(tmp_path))
    yield recording
    recording.bench.close()


def _blame(recording: Recording) -> list[BlamedLines]:
    recording.settle()
    return blame(recording.store, recording.bench.disk, PATH)


def _changed(data: bytes, rng: random.Random, n: int) -> bytes:
    lines = data.splitlines(keepends=True)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(lines))
        if rng.random() < 0.4:  # as a formatter does; an agent's own indentation is its own
            lines[at] = b"  " + lines[at]
            continue
        lines[at : at + rng.randrange(3)] = [b"word%d %s\n" % (n, rng.choice([b"a", b"b"]))]
    return b"".join(lines)


@pytest.mark.parametrize("seed", range(8))
async def test_blame_names_the_same_changes_whatever_their_authors_are_called(recording: Recording, seed: int) -> None:
    """Also after undos, and when a text returns: what wrote it is still the same, and as unsure as it was."""
    rng = random.Random(f"labels {seed}")
    data = b"".join(b"line %d\n" % n for n in range(10))
    contents = [data]
    recording.write(PATH, data, PERSON)
    for n in range(14):
        match rng.randrange(6):
            case 0:
                data = rng.choice(contents)
                recording.write(PATH, data, rng.choice(AGENTS), is_beside_git=True)
            case 1:
                await recording.rewind("session_id", rng.choice(("agent", "other")))
                data = recording.bench.on_disk(PATH) or b""
            case _:
                data = _changed(data or b"again\n", rng, n)
                recording.write(PATH, data, rng.choice((*AGENTS, PERSON)))
        contents.append(data)
    before = _blame(recording)
    entries, _ = recording.store.entries(LogQuery(path=PATH, limit=1000), is_file=True)
    called: dict[str, By] = {}
    for entry in entries:
        if is_by_agent(entry.by) and not entry.is_undo:
            called[entry.entry_id] = rng.choice(AGENTS)
            recording.store.replace(replace(entry, by=called[entry.entry_id], settled=rng.random() < 0.5))
    after = _blame(recording)
    assert [replace(part, by=None) for part in after] == [replace(part, by=None) for part in before]
    named = [part for part in after if part.entry_id in called]
    assert named
    assert all(part.by == called[part.entry_id or ""] for part in named)
    recording.write(PATH, b"another branch\n", PERSON, is_beside_git=True)
    recording.write(PATH, data, PERSON, is_beside_git=True)
    assert _blame(recording) == after
