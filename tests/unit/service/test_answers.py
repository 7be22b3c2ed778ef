"""Answers that the record keeps: lists, keeps and undos are the same with and without them, and they go with the text.

See service/rewind/answers.py. test_undo_cost.py has what a list costs whose answer is kept.
"""

import logging
import random
import sqlite3
import zlib
from collections.abc import Generator, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from fileops.core.story import memory as memory_module
from fileops.core.story import story as story_module
from fileops.core.story.memory import MIN_STORED
from fileops.model.record import By, Contents, LogQuery, is_by_agent, unsure
from fileops.model.rewind import BlamedLines, KeepRequest, RewindRequest, RewindResult, RewindTarget, UnkeptResult
from fileops.record.store import RecordStore
from fileops.service.rewind import blame as blame_module
from fileops.service.rewind import memories as memories_module
from fileops.service.rewind import unkept as unkept_module
from fileops.service.rewind.blame import blame
from fileops.service.rewind.files import steps_of
from fileops.service.rewind.memories import Memories
from fileops.service.rewind.unkept import UnkeptPlaces
from support.recording import AGENT, COMMAND, OTHER, PERSON, Recording, version_of

PATHS = ("/w/a", "/w/b")
AUTHORS: tuple[By, ...] = (AGENT, OTHER, COMMAND, PERSON)
N_STEPS = 16
OF_MEMORY = "kind IN ('story of places', 'story of blame', 'splices')"


@pytest.fixture
def recording(tmp_path: Path) -> Generator[Recording]:
    recording = Recording(folder=str(tmp_path))
    yield recording
    recording.bench.close()


def _list(recording: Recording, memories: Memories | None = None) -> UnkeptResult:
    """List as a daemon does that has just been started, or that remembers something."""
    recording.settle()
    return UnkeptPlaces(recording.store, recording.bench.disk, memories=memories or Memories()).find()


def _prepare(recording: Recording, paths: Sequence[str], memories: Memories | None = None) -> None:
    """Compute files before they are listed, as a daemon does when it has time."""
    recording.settle()
    for _ in UnkeptPlaces(recording.store, recording.bench.disk, memories=memories or Memories()).prepare(paths):
        pass


def _change_answers(recording: Recording, sql: str) -> int:
    """Run a statement on the answers. Returns how many rows it concerned."""
    with closing(sqlite3.connect(recording.store.path)) as connection, connection:
        return connection.execute(sql).rowcount


def _drop_answers(recording: Recording) -> int:
    return _change_answers(recording, "DELETE FROM answer")


def _take_answers(recording: Recording) -> list[tuple[object, ...]]:
    """Remove all answers. Returns those that are of a file's memory."""
    with closing(sqlite3.connect(recording.store.path)) as connection, connection:
        rows = connection.execute(f"SELECT * FROM answer WHERE {OF_MEMORY}").fetchall()
    _drop_answers(recording)
    return rows


def _put_answers(recording: Recording, rows: Sequence[tuple[object, ...]]) -> None:
    with closing(sqlite3.connect(recording.store.path)) as connection, connection:
        connection.executemany("INSERT INTO answer VALUES (?, ?, ?, ?, ?)", rows)


def _n_answers(recording: Recording) -> int:
    return _change_answers(recording, "UPDATE answer SET kind = kind")


async def _previews(recording: Recording) -> list[RewindResult]:
    """Preview an undo of an agent, and of the newest change in each file. Failures are compared by their texts."""
    targets = [RewindTarget("session_id", ("agent",))]
    newest = [entry.entry_id for path in PATHS if (entry := recording.store.newest(path)) is not None]
    if newest:
        targets.append(RewindTarget("entry_ids", tuple(newest)))
    history = recording.bench.service.history
    requests = [
        RewindRequest(target=target, is_approved=True, dry_run=True, is_undecided_only=is_open)
        for target in targets
        for is_open in (False, True)
    ]
    return [replace(await history.rewind(request), error=None) for request in requests]


def _blame(recording: Recording, memories: Memories | None = None) -> list[list[BlamedLines]]:
    present = [path for path in PATHS if recording.bench.on_disk(path) is not None]
    return [blame(recording.store, recording.bench.disk, path, memories=memories) for path in present]


async def _act(recording: Recording, rng: random.Random) -> None:
    path, by = rng.choice(PATHS), rng.choice(AUTHORS)
    present = recording.bench.on_disk(path)
    match rng.randrange(12):
        case 0:
            await recording.rewind("session_id", rng.choice(("agent", "other")))
        case 1:
            newest = recording.store.newest(path)
            if newest is not None:
                await recording.rewind("entry_id", newest.entry_id)
        case 2:
            changes = [change.change_id for file in _list(recording).files for change in file.changes]
            if changes:
                chosen = tuple(rng.sample(changes, min(len(changes), 2)))
                UnkeptPlaces(recording.store, recording.bench.disk).keep(KeepRequest(change_ids=chosen))
        case 3:
            UnkeptPlaces(recording.store, recording.bench.disk).keep(KeepRequest(file_path=path))
        case 4:
            recording.write(path, None if present is not None else b"again\n", by)
        case _:
            lines = [f"line {n}\n" for n in range(12)] if not present else present.decode().splitlines(keepends=True)
            for _ in range(rng.randrange(1, 3)):
                at = rng.randrange(len(lines))
                lines[at : at + rng.randrange(2)] = [f"{rng.choice('abcdef')} {rng.randrange(20)} word\n"]
            if rng.random() < 0.3:  # not recorded yet
                recording.bench.disk.put(path, "".join(lines).encode())
            else:
                recording.write(path, "".join(lines).encode(), by)


@pytest.mark.parametrize("seed", range(12))
async def test_lists_and_blame_are_the_same_with_what_is_remembered(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Law 14, of histories with undos, redos, keeps, renames, returns by git, and corrections by another daemon.

    Half of the questions are asked a daemon that was just started. Some are asked after stories were told ahead.
    """
    monkeypatch.setattr(memories_module, "MIN_STEPS", 1)
    for module in (blame_module, unkept_module):
        monkeypatch.setattr(module, "MIN_BLAMED_STEPS", 1)
    for module in (memory_module, story_module):
        monkeypatch.setattr(module, "BEHIND", 2)
    monkeypatch.setattr(story_module, "STEPS_AT_ONCE", 2)
    monkeypatch.setattr(memory_module, "MIN_STORED", 1)
    monkeypatch.setattr(story_module, "MAX_REMEMBERED", 1)
    rng, memories = random.Random(f"remembered {seed}"), Memories()
    of_another_daemon = RecordStore(recording.store.folder)
    contents: dict[str, list[bytes]] = {path: [] for path in PATHS}
    rewinds, n_stored = list[str](), 0
    for _ in range(N_STEPS):
        path, other = rng.sample(PATHS, 2)
        match rng.randrange(11):
            case 9:
                _correct(of_another_daemon, rng, path, contents[path])
            case 10:
                recording.settle()
                recording.store.drop_contents(path)
            case 0 if contents[path]:
                recording.write(path, rng.choice(contents[path]), rng.choice(AUTHORS), is_beside_git=rng.random() < 0.7)
            case 1 if recording.bench.on_disk(path) is not None and recording.bench.on_disk(other) is None:
                recording.rename(path, other, rng.choice(AUTHORS))
            case 2 if rewinds:
                await recording.rewind("rewind_id", rewinds.pop())
            case 3:
                done = await recording.rewind("session_id", "agent")
                rewinds += [] if done.rewind_id is None else [done.rewind_id]
            case _:
                await _act(recording, rng)
        for each in PATHS:
            present = recording.bench.on_disk(each)
            contents[each] += [] if present is None else [present]
        if rng.random() < 0.5:
            memories = Memories()
        if rng.random() < 0.3:
            _prepare(recording, PATHS, memories)
        _change_answers(recording, f"DELETE FROM answer WHERE NOT {OF_MEMORY}")
        remembered = _list(recording, memories), _blame(recording, memories)
        stored = _take_answers(recording)
        assert remembered == (_list(recording), _blame(recording))
        _drop_answers(recording)
        _put_answers(recording, stored)
        n_stored += len(stored)
    of_another_daemon.close()
    assert n_stored > 0


def _correct(store: RecordStore, rng: random.Random, path: str, contents: Sequence[bytes]) -> None:
    """Change an entry of a file as a daemon does that knows more by now: its author, or what came before it."""
    entries, _ = store.entries(LogQuery(path=path), is_file=True)
    if not entries:
        return
    entry = rng.choice(entries)
    match rng.randrange(3):
        case 0:
            store.remove([entry.entry_id])
        case 1 if contents and entry.kind == "modify":
            late = rng.choice(contents)
            known = replace(entry, entry_id=f"{entry.entry_id}-late", after=version_of(late), edit_id=None, undoes=())
            store.append(known, Contents(None, late), earlier_than=entry.entry_id)
        case _:
            by = rng.choice((*AUTHORS, unsure(AGENT, PERSON)))
            store.replace(replace(entry, by=by, settled=rng.random() < 0.5, kept=not is_by_agent(by)))


@pytest.mark.parametrize("seed", range(8))
async def test_lists_previews_and_blame_are_the_same_without_kept_answers(recording: Recording, seed: int) -> None:
    rng = random.Random(seed)
    n_answers = 0
    for _ in range(N_STEPS):
        await _act(recording, rng)
        if rng.random() < 0.5:
            _prepare(recording, rng.sample(PATHS, rng.randint(1, len(PATHS))))
        listed, previews, blamed = _list(recording), await _previews(recording), _blame(recording)
        assert (_list(recording), await _previews(recording), _blame(recording)) == (listed, previews, blamed)
        n_answers += _n_answers(recording)
        _drop_answers(recording)
        new = _list(recording)
        _drop_answers(recording)
        assert (new, await _previews(recording), _blame(recording)) == (listed, previews, blamed)
        if rng.random() < 0.5:  # the answers of an earlier state remain
            _list(recording)
            await _previews(recording)
    assert n_answers > N_STEPS


def test_list_of_files_that_were_computed_before_computes_nothing(recording: Recording) -> None:
    recording.write("/w/a", b"one\ntwo\n", PERSON)
    recording.write("/w/a", b"one\n2\n", AGENT)
    recording.write("/w/b", b"three\n", AGENT)
    _prepare(recording, PATHS)
    n_answers = _n_answers(recording)
    assert n_answers > 0
    (first, second), n_changes = _list(recording).files, _list(recording).n_changes
    assert (len(first.changes), len(second.changes), n_changes) == (1, 1, 2)
    assert _n_answers(recording) == n_answers


@pytest.mark.parametrize("is_mixed", [True, False])
def test_file_with_many_changes_is_told_ahead_in_parts(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, is_mixed: bool
) -> None:
    """Also if all of them are one agent's, or some were told before. Then its list and its blame compute nothing."""
    monkeypatch.setattr(memories_module, "MIN_STEPS", 1)
    for module in (blame_module, unkept_module):
        monkeypatch.setattr(module, "MIN_BLAMED_STEPS", 4)
    monkeypatch.setattr(story_module, "STEPS_AT_ONCE", 10)
    lines, memories = [b"line %d\n" % n for n in range(100)], Memories()
    recording.write("/w/a", b"".join(lines), PERSON)
    told = [(0, 0)]  # of places, of blame
    for n_changes in (44, 22):
        for n in range(n_changes):
            lines[3 * n % 100] = b"new %d of %d\n" % (n, n_changes)
            recording.write("/w/a", b"".join(lines), PERSON if is_mixed and n % 5 == 1 else AGENT)
        for _ in UnkeptPlaces(recording.store, recording.bench.disk, memories=memories).prepare(["/w/a"]):
            memory = memories.of(recording.store, "/w/a", 1)
            assert memory is not None
            told.append((memory.n_told("places"), memory.n_told("blame")))
            newest = steps_of(recording.entries("/w/a")[::-1])[told[-1][0]]  # the first change is older
            sides = [memory.find_sided(newest, is_ours=is_ours) for is_ours in (True, False)]
            assert any(side is not None for side in sides) == (is_mixed and told[-1][0] > 0)  # else none is needed
    n_told = [tuple(after - before for before, after in zip(*both, strict=True)) for both in pairwise(told)]
    assert max(map(max, n_told)) == 10
    assert told[-1][0] == 66
    assert told[-1][1] >= 66
    n_answers = _n_answers(recording)
    listed, blamed = _list(recording), _blame(recording)
    assert _n_answers(recording) == n_answers
    _drop_answers(recording)
    assert (_list(recording), _blame(recording)) == (listed, blamed)


def test_answer_with_text_goes_when_the_text_is_forgotten(recording: Recording) -> None:
    """Also that of another name of the file."""
    recording.write("/w/a", b"one\ntwo\n", PERSON)
    recording.write("/w/a", b"one\nsecret\n", AGENT)
    recording.write("/w/a", b"one\ntwo\n", AGENT)
    recording.rename("/w/a", "/w/b", PERSON)
    recording.write("/w/b", b"one\n2\n", AGENT)
    _list(recording)
    assert _n_answers(recording) > 0
    recording.store.forget("/w/a")
    assert _n_answers(recording) == 0
    _list(recording)
    recording.store.drop_contents("/w/b")
    assert _n_answers(recording) == 0


def test_answers_are_the_first_that_go_at_the_limits_of_the_record(recording: Recording) -> None:
    numbers = list(range(100_000, 110_000))
    random.Random(1).shuffle(numbers)
    recording.write("/w/a", b"".join(b"%d\n" % number for number in numbers), PERSON)
    recording.write("/w/a", b"one\n2\n", AGENT)
    before = _list(recording)
    newest = recording.store.newest("/w/a")
    assert newest is not None
    recording.store.prune(newest.time + 50.0, max_age_s=100.0)
    assert _n_answers(recording) > 0
    recording.store.prune(newest.time + 50.0, max_bytes=recording.store.n_bytes - 1)
    assert _n_answers(recording) == 0
    assert _list(recording) == before
    assert _n_answers(recording) > 0
    recording.store.prune(newest.time + 200.0, max_age_s=100.0)
    assert _n_answers(recording) == 0


def test_answer_without_a_content_is_computed_anew_when_that_is_there_again(recording: Recording) -> None:
    contents = (b"one\ntwo\n", b"one\n2\n", b"one\n2\nthree\n")
    for content, by in zip(contents, (PERSON, AGENT, PERSON), strict=True):
        recording.write("/w/a", content, by)
    expected = _list(recording), _blame(recording)
    assert expected[0].files[0].changes[0].undoable
    _drop_answers(recording)
    _change_answers(recording, "DELETE FROM blob")  # a record that has lost what it had
    assert (_list(recording), _blame(recording)) != expected
    for content in contents:
        recording.write("/w/b", content, PERSON)
    assert (_list(recording).files, _blame(recording)[0]) == (expected[0].files, expected[1][0])


def test_answer_of_another_version_or_a_damaged_one_is_computed_anew(recording: Recording) -> None:
    recording.write("/w/a", b"one\ntwo\n", PERSON)
    recording.write("/w/a", b"one\n2\n", AGENT)
    before = _list(recording)
    for change in ("key = x'00'", "packed = x'0102'", "packed = x'789c0300000000010a'"):
        assert _change_answers(recording, f"UPDATE answer SET {change}") > 0
        assert _list(recording) == before
        assert _list(recording) == before


def _make_long_history(recording: Recording) -> None:
    lines = [b"line %d\n" % n for n in range(40)]
    for n in range(2 * MIN_STORED):
        lines[7 * n % 40] = b"line %d again\n" % n
        recording.write("/w/a", b"".join(lines), AGENT if n % 10 else PERSON)


@pytest.mark.parametrize(
    ("change", "is_logged"),
    [
        ("packed = x'0102'", False),  # as any answer
        ("packed = substr(packed, 1, length(packed) / 2)", False),
        ("key = x'00'", False),  # of another version
        (f"packed = x'{zlib.compress(b'nonsense').hex()}'", False),
        (f"packed = x'{zlib.compress(msgspec.msgpack.encode(b'nonsense')).hex()}'", True),
    ],
)
def test_memory_of_another_version_or_a_damaged_one_is_dropped(
    recording: Recording, caplog: pytest.LogCaptureFixture, change: str, is_logged: bool
) -> None:
    _make_long_history(recording)
    before = _list(recording), _blame(recording, Memories())
    assert _change_answers(recording, f"UPDATE answer SET {change} WHERE {OF_MEMORY}") == 3
    _change_answers(recording, f"DELETE FROM answer WHERE NOT {OF_MEMORY}")
    with caplog.at_level(logging.WARNING):
        assert (_list(recording), _blame(recording, Memories())) == before
    assert ("computed anew" in caplog.text) == is_logged


def test_damaged_story_is_told_anew(recording: Recording, caplog: pytest.LogCaptureFixture) -> None:
    _make_long_history(recording)
    before = _list(recording), _blame(recording, Memories())
    damaged: list[tuple[object, ...]] = []
    for path, kind, key, oldest, packed in _take_answers(recording):
        assert isinstance(packed, bytes)
        if kind != "splices":
            told = msgspec.msgpack.decode(zlib.decompress(packed), type=bytes)
            n_steps, digest, story = msgspec.msgpack.decode(told, type=tuple[int, bytes, bytes])
            told = msgspec.msgpack.encode((n_steps, digest, story[:-1]))
            damaged.append((path, kind, key, oldest, zlib.compress(msgspec.msgpack.encode(told))))
    _put_answers(recording, damaged)
    with caplog.at_level(logging.WARNING):
        assert (_list(recording), _blame(recording, Memories())) == before
    assert caplog.text.count("computed anew") == len(damaged) == 2


def test_memory_goes_when_the_text_is_forgotten(recording: Recording) -> None:
    """What the daemon still remembers is not stored again."""
    _make_long_history(recording)
    memories = Memories()
    _list(recording, memories)
    assert len(_take_answers(recording)) == 2
    recording.store.drop_contents("/w/a")
    recording.write("/w/a", b"another\n", AGENT)
    _list(recording, memories)
    assert not _take_answers(recording)
