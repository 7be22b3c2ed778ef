"""Who wrote which line, what is not kept yet, and what ids of the record mean; over files in memory."""

from collections.abc import AsyncGenerator

import pytest

from fileops.model.errors import FileOpsError, UnknownTarget
from fileops.model.record import CommandRecord, TurnRecord
from fileops.model.rewind import KeepRequest, UnkeptFile, UnkeptResult
from fileops.model.sessions import SessionName
from support.recording import AGENT, COMMAND, OTHER, PERSON, Recording

A, B = "/w/a", "/w/b"
OLD = b"one\ntwo\nthree\nfour\nfive\n"
MINE = OLD.replace(b"two", b"2").replace(b"five\n", b"")


@pytest.fixture
async def recording() -> AsyncGenerator[Recording]:
    recording = Recording()
    for path in (A, B):
        recording.bench.disk.put(path, OLD)
    yield recording
    recording.bench.close()


async def _unkept(recording: Recording, **filters: str) -> tuple[UnkeptFile, ...]:
    return (await _listed(recording, **filters)).files


async def _listed(recording: Recording, **filters: str) -> UnkeptResult:
    wanted: dict[str, str | None] = {"file_path": None, "session_id": None, "turn_id": None, **filters}
    return await recording.bench.service.history.unkept(
        wanted["file_path"],
        None if wanted["session_id"] is None else SessionName(wanted["session_id"]),
        wanted["turn_id"],
    )


async def test_blame_names_the_newest_entry_of_each_line(recording: Recording) -> None:
    """R-LOG-3."""
    first = recording.write(A, OLD.replace(b"two", b"2"), AGENT)
    second = recording.write(A, OLD.replace(b"two", b"2").replace(b"five", b"5"), PERSON)
    lines = await recording.bench.service.history.blame(A)
    assert [(part.first_line, part.n_lines, part.entry_id, part.by) for part in lines] == [
        (1, 1, None, None), (2, 1, first, AGENT), (3, 2, None, None), (5, 1, second, PERSON),
    ]  # fmt: skip


async def test_blame_of_unsaved_document_is_of_its_text(recording: Recording) -> None:
    first = recording.write(A, OLD.replace(b"two", b"2"), AGENT)
    uri = recording.bench.editor.open(A)
    recording.bench.editor.type(uri, "one", "zero\none")
    lines = await recording.bench.service.history.blame(A)
    assert [(part.first_line, part.entry_id) for part in lines] == [(1, None), (3, first), (4, None)]


async def test_blame_of_missing_file_is_refused(recording: Recording) -> None:
    with pytest.raises(FileOpsError):
        await recording.bench.service.history.blame("/w/none")


async def test_unkept_lists_the_smallest_runs_of_lines(recording: Recording) -> None:
    """R-KEEP-1, R-KEEP-3."""
    entry_id = recording.write(A, MINE, AGENT, "t-1")
    recording.write(B, OLD.replace(b"one", b"1"), PERSON)
    (file,) = await _unkept(recording)
    assert file.file_path == A
    assert [
        (change.start_line, change.end_line, change.removed_text, change.entry_ids, change.by, change.turn_id)
        for change in file.changes
    ] == [(2, 2, "two\n", (entry_id,), AGENT, "t-1"), (5, 4, "five\n", (entry_id,), AGENT, "t-1")]


async def test_unkept_leaves_out_what_the_user_wrote_over(recording: Recording) -> None:
    recording.write(A, MINE, AGENT)
    recording.write(A, MINE.replace(b"2", b"by hand"), PERSON)
    (file,) = await _unkept(recording, file_path=A)
    assert [change.start_line for change in file.changes] == [5]


async def test_keep_of_a_change_leaves_the_others_until_all_are_kept(recording: Recording) -> None:
    """R-KEEP-2."""
    entry_id = recording.write(A, MINE, AGENT)
    (file,) = await _unkept(recording)
    first, second = file.changes
    assert (await recording.bench.service.history.keep(KeepRequest(change_ids=(first.change_id,)))).n_entries == 0
    (file,) = await _unkept(recording)
    assert [change.change_id for change in file.changes] == [second.change_id]
    assert (await recording.bench.service.history.keep(KeepRequest(change_ids=(second.change_id,)))).n_entries == 1
    assert await _unkept(recording) == ()
    entry = recording.store.entry(entry_id)
    assert entry is not None
    assert entry.kept


@pytest.mark.parametrize(
    ("request_", "n_left"),
    [
        (KeepRequest(), 0),
        (KeepRequest(file_path=A), 1),
        (KeepRequest(session_id=SessionName("agent")), 1),
        (KeepRequest(turn_id="t-1"), 1),
        (KeepRequest(entry_ids=("e-1",)), 1),
    ],
)
async def test_keep_accepts_what_is_named(recording: Recording, request_: KeepRequest, n_left: int) -> None:
    recording.write(A, MINE, AGENT, "t-1")
    recording.write(B, MINE, OTHER, "t-2")
    await recording.bench.service.history.keep(request_)
    assert len(await _unkept(recording)) == n_left


async def test_undo_of_a_keep_lists_the_changes_again(recording: Recording) -> None:
    """R-KEEP-6."""
    recording.write(A, MINE, AGENT)
    rewinds = recording.bench.service.history
    kept = await rewinds.keep(KeepRequest())
    assert kept.keep_id is not None
    assert (await rewinds.undo_keep(kept.keep_id)).n_entries == 1
    assert len((await _unkept(recording))[0].changes) == 2
    with pytest.raises(UnknownTarget):
        await rewinds.undo_keep(kept.keep_id)
    assert (await rewinds.keep(KeepRequest(file_path=B))).keep_id is None


async def test_undo_of_a_keep_of_places_includes_the_entry_that_it_completed(recording: Recording) -> None:
    """R-KEEP-6: what was kept by another keep before remains kept."""
    recording.write(A, MINE, AGENT)
    rewinds = recording.bench.service.history
    (file,) = await _unkept(recording)
    first, second = file.changes
    await rewinds.keep(KeepRequest(change_ids=(first.change_id,)))
    kept = await rewinds.keep(KeepRequest(change_ids=(second.change_id,)))
    assert kept.keep_id is not None
    undone = await rewinds.undo_keep(kept.keep_id)
    assert (undone.n_entries, undone.n_changes) == (1, 1)
    (file,) = await _unkept(recording)
    assert [change.change_id for change in file.changes] == [second.change_id]


async def test_rewind_of_single_changes_leaves_the_others(recording: Recording) -> None:
    """R-KEEP-4."""
    recording.write(A, MINE, AGENT)
    first, second = (await _unkept(recording))[0].changes
    result = await recording.rewind("change_ids", first.change_id)
    assert result.error is None, result.output
    assert recording.bench.on_disk(A) == OLD.replace(b"five\n", b"")
    recording.settle()
    assert [change.removed_text for change in (await _unkept(recording))[0].changes] == ["five\n"]
    again = await recording.rewind("change_ids", second.change_id)
    assert (again.n_undone, recording.bench.on_disk(A)) == (1, OLD)
    recording.settle()
    assert [change for file in await _unkept(recording) for change in file.changes] == []


async def test_rewind_of_the_changes_of_a_created_file_removes_it(recording: Recording) -> None:
    recording.write("/w/new", b"x\ny\n", AGENT)
    (file,) = await _unkept(recording)
    result = await recording.rewind("change_ids", file.changes[0].change_id)
    assert [file.outcome for file in result.files] == ["removed"]
    assert recording.bench.on_disk("/w/new") is None


async def test_unkept_change_keeps_its_id_when_lines_above_it_change(recording: Recording) -> None:
    """R-KEEP-5."""
    recording.write(A, MINE, AGENT)
    before = [change.change_id for change in (await _unkept(recording))[0].changes]
    recording.write(A, b"zero\n" + MINE, PERSON)
    after = (await _unkept(recording))[0].changes
    assert [change.change_id for change in after] == before
    assert [change.start_line for change in after] == [3, 6]


async def test_item_of_a_unique_beginning_is_found(recording: Recording) -> None:
    recording.store.put_turn(TurnRecord(turn_id="t-1", session_id=SessionName("agent"), label="Agent", began=1.0))
    recording.store.put_command(
        CommandRecord(command_id="c-1", session_id=SessionName("agent"), label="Agent · make", began=1.0, roots=("/w",))
    )
    entry_id = recording.write(A, MINE, COMMAND, "t-1")
    service = recording.bench.service.history
    assert (await service.item(entry_id)).entry is not None
    assert [entry.entry_id for entry in (await service.item("c-")).entries] == [entry_id]
    turn = (await service.item("t")).turn
    assert turn is not None
    assert (turn.n_entries, turn.n_files, turn.n_undone) == (1, 1, 0)
    rewind = await recording.rewind("entry_id", entry_id)
    item = await service.item(rewind.rewind_id or "")
    assert (item.rewind_id, "+two" in item.diff) == (rewind.rewind_id, True)
    with pytest.raises(UnknownTarget):
        await service.item("e")


async def test_forget_removes_entries_and_contents(recording: Recording) -> None:
    """R-RECP-3."""
    entry_id = recording.write(A, MINE, AGENT)
    recording.write(B, OLD.replace(b"one", b"1"), AGENT)
    entry = recording.store.entry(entry_id)
    assert entry is not None
    assert entry.after is not None
    assert entry.after.digest is not None
    assert await recording.bench.service.history.forget(A) == 1
    assert recording.store.content(entry.after.digest) is None
    assert [entry.path for entry in recording.entries()] == [B]
    assert recording.store.contents(recording.entries()[0]).after == OLD.replace(b"one", b"1")
    assert await recording.bench.service.history.forget(None) == 1
