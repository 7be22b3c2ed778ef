"""Answers that the record keeps: lists, keeps and undos are the same with and without them, and they go with the text.

See service/rewind/answers.py. test_undo_cost.py has what a list costs whose answer is kept.
"""

import random
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from fileops.model.record import By
from fileops.model.rewind import BlamedLines, KeepRequest, RewindRequest, RewindResult, RewindTarget, UnkeptResult
from fileops.service.rewind import unkept
from fileops.service.rewind.blame import blame
from fileops.service.rewind.unkept import UnkeptPlaces
from support.recording import AGENT, COMMAND, OTHER, PERSON, Recording

PATHS = ("/w/a", "/w/b")
AUTHORS: tuple[By, ...] = (AGENT, OTHER, COMMAND, PERSON)
N_STEPS = 16


@pytest.fixture
def recording(tmp_path: Path) -> Generator[Recording]:
    recording = Recording(folder=str(tmp_path))
    yield recording
    recording.bench.close()


def _list(recording: Recording) -> UnkeptResult:
    """List as a daemon does that has just been started."""
    recording.settle()
    return UnkeptPlaces(recording.store, recording.bench.disk).find()


def _prepare(recording: Recording, paths: Sequence[str]) -> None:
    """Compute files before they are listed, as a daemon does when it has time."""
    recording.settle()
    for _ in UnkeptPlaces(recording.store, recording.bench.disk).prepare(paths):
        pass


def _change_answers(recording: Recording, sql: str) -> int:
    """Run a statement on the answers. Returns how many rows it concerned."""
    with closing(sqlite3.connect(recording.store.path)) as connection, connection:
        return connection.execute(sql).rowcount


def _drop_answers(recording: Recording) -> int:
    return _change_answers(recording, "DELETE FROM answer")


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


def _blame(recording: Recording) -> list[list[BlamedLines]]:
    disk = recording.bench.disk
    return [blame(recording.store, disk, path) for path in PATHS if recording.bench.on_disk(path) is not None]


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


def test_list_of_files_that_were_computed_before_computes_nothing(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording.write("/w/a", b"one\ntwo\n", PERSON)
    recording.write("/w/a", b"one\n2\n", AGENT)
    recording.write("/w/b", b"three\n", AGENT)
    _prepare(recording, PATHS)
    n_answers = _n_answers(recording)
    assert n_answers > 0
    (first, second), n_changes = _list(recording).files, _list(recording).n_changes
    assert (len(first.changes), len(second.changes), n_changes) == (1, 1, 2)
    assert _n_answers(recording) == n_answers
    monkeypatch.setattr(unkept, "MAX_PREPARED", 0)
    _drop_answers(recording)
    _prepare(recording, PATHS)
    assert _n_answers(recording) == 0


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


def test_answer_of_another_version_or_a_damaged_one_is_computed_anew(recording: Recording) -> None:
    recording.write("/w/a", b"one\ntwo\n", PERSON)
    recording.write("/w/a", b"one\n2\n", AGENT)
    before = _list(recording)
    for change in ("key = x'00'", "packed = x'0102'", "packed = x'789c0300000000010a'"):
        assert _change_answers(recording, f"UPDATE answer SET {change}") > 0
        assert _list(recording) == before
        assert _list(recording) == before
