"""What is not kept yet: places with their authors, renames, deletions, checkouts, what was undone, and the tree of all.

R-KEEP-1 to R-KEEP-5 over files in memory; test_record_places.py has the places of modified files.
"""

from collections.abc import AsyncGenerator

import pytest
from msgspec import UNSET

from fileops.core.merge.undo import MAX_COMPARED_BYTES
from fileops.model.edits import LineRange
from fileops.model.errors import TooManyFiles, UndoConflict, UnknownTarget
from fileops.model.record import OUTSIDE, By, EditedLines, TurnRecord, session_of, unsure
from fileops.model.rewind import KeepRequest, RewindRequest, RewindTarget, TargetKind, UnkeptFile, UnkeptResult
from fileops.model.sessions import SessionName
from fileops.service.rewind.unkept import MAX_FILES
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


async def _listed(recording: Recording, path: str | None = None) -> UnkeptResult:
    recording.settle()
    return await recording.bench.service.history.unkept(path, None, None)


async def _file(recording: Recording, path: str) -> UnkeptFile:
    (file,) = (await _listed(recording, path)).files
    return file


def _turn(recording: Recording, turn_id: str, session_id: str = "agent", began: float = 1.0) -> None:
    turn = TurnRecord(
        turn_id=turn_id, session_id=SessionName(session_id), label=session_id.title(), began=began, title="fix it"
    )
    recording.store.put_turn(turn)


async def test_place_has_what_an_editor_draws(recording: Recording) -> None:
    """R-KEEP-3."""
    recording.write(A, MINE.replace(b"four\n", b"four\nnew\nlines\n"), COMMAND, "t-1")
    file = await _file(recording, A)
    assert [(place.kind, place.added, place.removed, place.start_line, place.label) for place in file.changes] == [
        ("changed", 1, 1, 2, "Agent"), ("changed", 2, 1, 5, "Agent"),
    ]  # fmt: skip
    assert (file.operation, file.added, file.removed, file.undone) == ("modify", 3, 2, ())


ADDED = OLD.replace(b"two\n", b"two\nalpha beta\ngamma delta\nepsilon zeta\n")


async def test_whole_line_that_a_person_writes_in_a_change_stays_when_that_is_undone(recording: Recording) -> None:
    """R-KEEP-3, R-REW-4."""
    path = "/w/c"
    recording.bench.disk.put(path, OLD)
    recording.write(path, ADDED, AGENT)
    recording.write(path, ADDED.replace(b"gamma delta\n", b"gamma delta\nmy own line\n"), PERSON)
    changes = (await _file(recording, path)).changes
    assert [(change.start_line, change.end_line, change.undoable) for change in changes] == [(3, 4, True), (6, 6, True)]
    result = await recording.rewind("session_id", "agent")
    assert (result.n_undone, result.n_left) == (1, 0)
    assert recording.bench.on_disk(path) == OLD.replace(b"two\n", b"two\nmy own line\n")


@pytest.mark.parametrize(
    ("before", "written", "typed", "lines", "removed", "overlap"),
    [
        (OLD, ADDED, ADDED.replace(b"delta", b"deltas"), (3, 5), "", 4),
        (OLD, ADDED.replace(b"two\n", b""), ADDED.replace(b"two\n", b"").replace(b"delta", b"d"), (2, 4), "two\n", 3),
        (None, ADDED, ADDED.replace(b"delta", b"deltas"), (1, 8), "", 4),
        (b"f(a, b)\n", b"f(a, b, key=1)\n", b"f(a, b, key=12)\n", (1, 1), "f(a, b)\n", 1),
    ],
)
async def test_change_in_which_a_person_types_stays_listed_and_its_undo_names_their_line(
    recording: Recording,
    before: bytes | None,
    written: bytes,
    typed: bytes,
    lines: tuple[int, int],
    removed: str,
    overlap: int,
) -> None:
    """R-KEEP-3: the person's words are not undone with the agent's."""
    path = "/w/c"
    if before is not None:
        recording.bench.disk.put(path, before)
    recording.write(path, written, AGENT, "t-1")
    recording.write(path, typed, PERSON)
    (place,) = (await _file(recording, path)).changes
    assert (place.start_line, place.end_line, place.removed_text, place.label) == (*lines, removed, "Agent")
    assert not place.undoable
    result = await recording.rewind("change_ids", place.change_id)
    assert isinstance(result.error, UndoConflict)
    assert result.error.explanation == f"line {overlap} was changed since"
    assert [(conflict.reason, conflict.by) for conflict in result.conflicts] == [("overlaps", (PERSON,))]
    assert [(at.start_line, at.end_line) for at in result.conflicts[0].ranges] == [(overlap, overlap)]
    assert recording.bench.on_disk(path) == typed
    recording.write(path, written, PERSON)  # the person takes back what they typed
    (place,) = (await _file(recording, path)).changes
    assert place.undoable
    recording.write(path, typed, PERSON)
    (place,) = (await _file(recording, path)).changes
    assert (await recording.bench.service.history.keep(KeepRequest(change_ids=(place.change_id,)))).n_changes == 1
    assert (await _listed(recording)).n_files == 0


@pytest.mark.parametrize(
    ("before", "written", "typed", "line"),
    [
        pytest.param(b"two\n", b"mine\n    two\n", b"theirs\n    two\n", 2, id="indented"),
        pytest.param(b"two 2\n3\n", b"two\nx\nmine 3\n", b"two\nx\ntheirs 3\n", 1, id="removed-a-word"),
    ],
)
async def test_line_that_blame_names_for_a_change_that_must_be_left_is_listed(
    recording: Recording, before: bytes, written: bytes, typed: bytes, line: int
) -> None:
    """R-LOG-3, R-KEEP-3: the line has no word of the change, which indented it or removed another word of it."""
    path = "/w/c"
    recording.bench.disk.put(path, before)
    entry_id = recording.write(path, written, AGENT)
    recording.write(path, typed, PERSON)
    recording.settle()
    blamed = await recording.bench.service.history.blame(path)
    assert entry_id in [owned.entry_id for owned in blamed if owned.first_line == line]
    (change,) = (each for each in (await _file(recording, path)).changes if each.start_line == line)
    assert (change.undoable, change.entry_ids) == (False, (entry_id,))
    result = await recording.rewind("change_ids", change.change_id, dry_run=True)
    assert [conflict.ranges for conflict in result.conflicts] == [(LineRange(start_line=line, end_line=line),)]


async def test_undo_of_a_change_names_the_lines_of_unsaved_typing_in_it(recording: Recording) -> None:
    recording.write(A, ADDED, AGENT, "t-1")
    recording.bench.editor.type(recording.bench.editor.open(A), "gamma delta", "gamma delta # mine")
    (place,) = (await _file(recording, A)).changes
    assert (place.start_line, place.end_line, place.undoable) == (3, 5, False)
    result = await recording.rewind("change_ids", place.change_id)
    assert isinstance(result.error, UndoConflict)
    assert result.error.explanation == "line 4 was changed since"


async def test_change_of_which_a_person_deletes_lines_is_undone_whole(recording: Recording) -> None:
    recording.write(A, ADDED, AGENT, "t-1")
    recording.write(A, ADDED.replace(b"gamma delta\n", b""), PERSON)
    (place,) = (await _file(recording, A)).changes
    assert (place.start_line, place.end_line, place.undoable) == (3, 4, True)
    result = await recording.rewind("change_ids", place.change_id)
    assert (result.error, recording.bench.on_disk(A)) == (None, OLD)


async def test_typing_in_a_kept_change_does_not_list_it_again(recording: Recording) -> None:
    written = ADDED + b"six\nseven\n"
    recording.write(A, written, AGENT, "t-1")
    kept, other = (await _file(recording, A)).changes
    await recording.bench.service.history.keep(KeepRequest(change_ids=(kept.change_id,)))
    recording.write(A, written.replace(b"delta", b"deltas"), PERSON)
    assert [place.change_id for place in (await _file(recording, A)).changes] == [other.change_id]


async def test_change_below_a_kept_one_that_an_undo_would_have_to_leave_is_undone(recording: Recording) -> None:
    """R-REW-4: the two places touch, and share no line."""
    recording.write(A, ADDED + b"six\nseven\n", AGENT)
    typed = ADDED.replace(b"delta", b"deltas") + b"six\nseven\n"
    recording.write(A, typed, PERSON)
    recording.write(A, typed.replace(b"zeta\n", b"zeta\neta theta\n"), AGENT)
    kept, below, other = (await _file(recording, A)).changes
    assert [(place.start_line, place.end_line) for place in (kept, below, other)] == [(3, 5), (6, 6), (10, 11)]
    await recording.bench.service.history.keep(KeepRequest(change_ids=(kept.change_id,)))
    assert (await recording.rewind("session_id", "agent", is_undecided_only=True)).error is None
    assert recording.bench.on_disk(A) == ADDED.replace(b"delta", b"deltas")


async def test_deletion_by_an_agent_is_a_place_that_can_be_undone_or_kept(recording: Recording) -> None:
    recording.write(A, MINE, PERSON)
    entry_id = recording.write(A, None, COMMAND)
    file = await _file(recording, A)
    (place,) = file.changes
    assert (file.operation, file.digest, place.kind, place.removed) == ("delete", "", "removed", 4)
    assert (place.removed_text, place.entry_ids) == (MINE.decode(), (entry_id,))
    result = await recording.rewind("change_ids", place.change_id)
    assert (result.error, recording.bench.on_disk(A)) == (None, MINE)
    recording.write(A, None, COMMAND)
    (place,) = (await _file(recording, A)).changes
    assert (await recording.bench.service.history.keep(KeepRequest(change_ids=(place.change_id,)))).n_entries == 1
    assert (await _listed(recording)).n_files == 0


async def test_creation_is_one_place_of_all_lines(recording: Recording) -> None:
    recording.write("/w/new", b"x\ny\n", AGENT)
    file = await _file(recording, "/w/new")
    assert (file.operation, [(place.kind, place.added) for place in file.changes]) == ("create", [("added", 2)])


async def test_file_without_a_kept_content_is_a_change_that_can_only_be_kept(recording: Recording) -> None:
    recording.write("/w/picture", b"\0\1", COMMAND, content="binary")
    file = await _file(recording, "/w/picture")
    (place,) = file.changes
    assert (place.kind, place.whole_file, place.undoable, place.end_line) == ("file", "binary", False, 0)
    result = await recording.rewind("change_ids", place.change_id)
    assert [conflict.reason for conflict in result.conflicts] == ["not_kept"]
    assert (await recording.bench.service.history.keep(KeepRequest(change_ids=(place.change_id,)))).n_entries == 1
    assert (await _listed(recording)).files == ()


async def test_executable_bit_alone_is_a_change_that_is_undone(recording: Recording) -> None:
    recording.chmod(A, 0o755, COMMAND)
    (place,) = (await _file(recording, A)).changes
    assert (place.kind, place.whole_file, place.undoable) == ("file", "executable bit", True)
    result = await recording.rewind("change_ids", place.change_id)
    stamp = recording.bench.disk.stat(A)
    assert stamp is not None
    assert (result.error, result.n_undone, stamp.mode & 0o777) == (None, 1, 0o644)
    assert (await _listed(recording)).n_changes == 0


@pytest.mark.parametrize("by", [PERSON, OUTSIDE, AGENT])
async def test_executable_bit_that_was_set_back_is_not_listed_any_more(recording: Recording, by: By) -> None:
    """R-KEEP-5: by the person, by a checkout, by the agent itself."""
    recording.chmod(A, 0o755, AGENT)
    assert (await _listed(recording)).n_changes == 1
    recording.chmod(A, 0o644, by)
    assert (await _listed(recording)).n_changes == 0
    recording.chmod(A, 0o755, AGENT)
    assert (await _listed(recording)).n_changes == 1


@pytest.mark.parametrize("by", [PERSON, OUTSIDE])
async def test_places_follow_a_file_that_is_renamed_by_hand(recording: Recording, by: object) -> None:
    """R-KEEP-5."""
    new = "/w/renamed"
    recording.write(A, MINE, AGENT)
    before = await _file(recording, A)
    recording.rename(A, new, by)  # pyrefly: ignore[bad-argument-type] - an author
    recording.write(new, b"zero\n" + MINE, PERSON)
    listed = await _listed(recording)
    assert [file.file_path for file in listed.files] == [new]
    assert [place.change_id for place in listed.files[0].changes] == [place.change_id for place in before.changes]
    assert [place.start_line for place in listed.files[0].changes] == [3, 6]
    first, second = (place.change_id for place in listed.files[0].changes)
    result = await recording.rewind("change_ids", first)
    assert (result.error, recording.bench.on_disk(new)) == (None, b"zero\n" + OLD.replace(b"five\n", b""))
    recording.settle()
    assert (await recording.bench.service.history.keep(KeepRequest(change_ids=(second,)))).n_entries == 1
    assert (await _listed(recording)).n_files == 0


@pytest.mark.parametrize("n_renames", [2, 3, 4, 5, 25])
async def test_places_follow_a_file_that_is_renamed_to_and_fro(recording: Recording, n_renames: int) -> None:
    """R-KEEP-5, R-LOG-3. Several entries name each other then, and each rename has two of them."""
    names, new = [A, "/w/renamed"], OLD.replace(b"four", b"4")
    written = recording.write(A, OLD.replace(b"two", b"2"), AGENT)
    recording.write(A, OLD.replace(b"two", b"2").replace(b"four", b"4"), PERSON)
    for n in range(n_renames):
        recording.rename(names[n % 2], names[(n + 1) % 2], PERSON)
    name = names[n_renames % 2]
    lines = await recording.bench.service.history.blame(name)
    assert [(part.first_line, part.entry_id == written) for part in lines if part.by is not None] == [
        (2, True), (4, False),
    ]  # fmt: skip
    (file,) = (await _listed(recording)).files
    assert (file.file_path, [change.entry_ids for change in file.changes]) == (name, [(written,)])
    result = await recording.rewind("entry_id", written)
    assert (result.error, result.conflicts, recording.bench.on_disk(name)) == (None, (), new)


async def test_file_whose_second_name_another_file_gets_is_found_under_its_third(recording: Recording) -> None:
    """R-KEEP-5."""
    recording.write(A, MINE, AGENT)
    recording.rename(A, "/w/second", PERSON)
    recording.rename("/w/second", "/w/third", PERSON)
    recording.write(A, b"another\n", PERSON)
    recording.rename(A, "/w/second", PERSON)
    assert [file.file_path for file in (await _listed(recording)).files] == ["/w/third"]


async def test_keep_of_a_folder_includes_what_was_renamed_into_it(recording: Recording) -> None:
    recording.write(A, MINE, AGENT)
    recording.write(B, MINE, AGENT)
    recording.rename(A, "/w/folder/a", PERSON)
    assert (await recording.bench.service.history.keep(KeepRequest(file_path="/w/folder"))).n_entries == 1
    assert [file.file_path for file in (await _listed(recording)).files] == [B]


async def test_rename_by_an_agent_is_a_deletion_and_a_creation(recording: Recording) -> None:
    recording.rename(A, "/w/moved", COMMAND)
    listed = await _listed(recording)
    assert [(file.file_path, file.operation, file.moved_from) for file in listed.files] == [
        (A, "delete", None), ("/w/moved", "create", A),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "renamed", "after"),
    [(OLD, OLD, OLD), (OLD, MINE, MINE), (MINE, MINE, MINE), (OLD, OLD, MINE), (MINE, OLD, MINE)],
)
@pytest.mark.parametrize("asks_for_one", [True, False])
async def test_renamed_file_is_compared_with_its_text_before_all_changes_under_the_old_name(
    recording: Recording, before: bytes, renamed: bytes, after: bytes, *, asks_for_one: bool
) -> None:
    """Before, at or after the rename, the agent's own edit counts, and nothing else of the file."""
    for text in (before, renamed):
        if recording.bench.on_disk(A) != text:
            recording.write(A, text, AGENT)
    recording.rename(A, "/w/moved", AGENT)
    if after != renamed:
        recording.write("/w/moved", after, AGENT)
    added, removed = (0, 0) if after == OLD else (1, 2)
    file = await _file(recording, "/w/moved") if asks_for_one else (await _listed(recording)).files[-1]
    assert (file.moved_from, file.edited) == (A, EditedLines(added=added, removed=removed))
    recording.write("/w/moved", after + b"mine\n", PERSON)
    assert (await _file(recording, "/w/moved")).edited == EditedLines(added=added + 1, removed=removed)


async def test_file_whose_old_name_is_there_again_is_compared_with_nothing(recording: Recording) -> None:
    recording.rename(A, "/w/moved", AGENT)
    recording.write(A, b"another\n", PERSON)
    file = await _file(recording, "/w/moved")
    assert (file.moved_from, file.edited) == (A, UNSET)


@pytest.mark.parametrize("edited", [OLD, MINE])
async def test_rename_by_an_agent_is_undone_as_one_by_the_change_of_its_new_name(
    recording: Recording, edited: bytes
) -> None:
    """R-KEEP-4."""
    recording.rename(A, "/w/moved", COMMAND)
    if edited != OLD:
        recording.write("/w/moved", edited, AGENT)
    (change,) = (await _file(recording, "/w/moved")).changes
    result = await recording.rewind("change_ids", change.change_id)
    assert (result.error, result.conflicts) == (None, ())
    assert (recording.bench.on_disk(A), recording.bench.on_disk("/w/moved")) == (OLD, None)
    assert (await _listed(recording)).n_files == 0
    assert result.rewind_id is not None
    assert (await recording.rewind("rewind_id", result.rewind_id)).error is None
    assert (recording.bench.on_disk(A), recording.bench.on_disk("/w/moved")) == (None, edited)


async def test_rename_in_which_a_person_types_is_left_as_a_whole(recording: Recording) -> None:
    """R-KEEP-4: the old name does not come back beside the new one."""
    recording.rename(A, "/w/moved", COMMAND)
    recording.write("/w/moved", OLD.replace(b"two", b"my two"), PERSON)
    (change,) = (await _file(recording, "/w/moved")).changes
    result = await recording.rewind("change_ids", change.change_id)
    assert len(result.conflicts) == 1
    assert (recording.bench.on_disk(A), recording.bench.on_disk("/w/moved")) == (None, OLD.replace(b"two", b"my two"))


@pytest.mark.parametrize("by", ["change", "file"])
async def test_rename_by_an_agent_is_kept_as_one_by_its_new_name(recording: Recording, by: str) -> None:
    """R-KEEP-2."""
    recording.rename(A, "/w/moved", COMMAND)
    recording.write("/w/moved", MINE, AGENT)
    (change,) = (await _file(recording, "/w/moved")).changes
    request = KeepRequest(change_ids=(change.change_id,)) if by == "change" else KeepRequest(file_path="/w/moved")
    kept = await recording.bench.service.history.keep(request)
    assert (await _listed(recording)).n_files == 0
    assert kept.keep_id is not None
    await recording.bench.service.history.undo_keep(kept.keep_id)
    listed = await _listed(recording)
    assert (listed.n_changes, listed.n_files, len(listed.files)) == (1, 1, 2)


async def test_checkout_of_another_branch_and_back_keeps_what_is_not_kept(recording: Recording) -> None:
    """R-KEEP-5."""
    recording.write(A, MINE, AGENT)
    before = await _file(recording, A)
    recording.write(A, b"zero\n" + OLD, OUTSIDE)
    assert (await _listed(recording)).n_changes == 0
    recording.write(A, MINE, OUTSIDE)
    assert (await _file(recording, A)).changes == before.changes


async def test_undone_text_is_shown_until_the_next_turn(recording: Recording) -> None:
    """R-KEEP-4."""
    _turn(recording, "t-1")
    recording.write(A, MINE, AGENT, "t-1")
    first, second = (await _file(recording, A)).changes
    result = await recording.rewind("change_ids", first.change_id)
    file = await _file(recording, A)
    assert [place.change_id for place in file.changes] == [second.change_id]
    (undone,) = file.undone
    assert (undone.start_line, undone.end_line, undone.removed_text) == (2, 2, "2\n")
    assert (undone.rewind_id, undone.session_id, undone.turn_id) == (result.rewind_id, "agent", "t-1")
    await recording.rewind("change_ids", second.change_id)
    listed = await _listed(recording)
    assert (listed.n_files, listed.n_changes, [len(file.undone) for file in listed.files]) == (0, 0, [1])
    _turn(recording, "t-2", began=undone.time + 1)
    assert (await _listed(recording)).files == ()


async def test_undo_of_a_change_of_several_is_reported_to_its_session_with_its_reason(recording: Recording) -> None:
    """R-REW-8."""
    recording.write(A, MINE, AGENT)
    first, second = (await _file(recording, A)).changes
    await recording.rewind("change_ids", first.change_id, reason="keep the 2")
    await recording.rewind("change_ids", second.change_id)
    assert recording.bench.service.history.take_notices(SessionName("agent")) == [
        "A person took back 1 change of agent. Their reason: keep the 2",
        "A person took back 1 change of agent.",
    ]


async def test_undo_that_is_undone_makes_the_place_listed_again(recording: Recording) -> None:
    recording.write(A, MINE, AGENT)
    first, _ = (await _file(recording, A)).changes
    result = await recording.rewind("change_ids", first.change_id)
    recording.settle()
    redo = await recording.rewind("rewind_id", result.rewind_id or "")
    assert redo.error is None
    file = await _file(recording, A)
    assert ([place.removed_text for place in file.changes], file.undone) == (["two\n", "five\n"], ())


async def test_withdrawal_by_the_agent_itself_leaves_nothing_to_keep(recording: Recording) -> None:
    entry_id = recording.write(A, MINE, AGENT)
    result = await recording.rewind("entry_id", entry_id, by_session=SessionName("agent"))
    assert (result.error, recording.bench.on_disk(A)) == (None, OLD)
    assert (await _listed(recording)).files == ()


async def test_tree_has_sessions_turns_and_files_with_their_changes(recording: Recording) -> None:
    _turn(recording, "t-1")
    _turn(recording, "t-2", began=2.0)
    recording.write(B, MINE, AGENT, "t-1")
    recording.write(A, MINE, COMMAND, "t-1")
    recording.write(A, MINE.replace(b"three", b"3!"), AGENT, "t-2")
    recording.write("/w/new", b"x\n", OTHER, "t-3")
    recording.write("/w/unsure", b"x\n", unsure(AGENT, OTHER))
    listed = await _listed(recording)
    assert [(session.session_id, session.label, session.n_changes) for session in listed.sessions] == [
        (None, "unsure: Agent or Other", 1), ("other", "Other", 1), ("agent", "Agent", 4),
    ]  # fmt: skip
    agent = listed.sessions[-1]
    assert [(turn.turn_id, turn.title, turn.n_changes) for turn in agent.turns] == [
        ("t-2", "fix it", 1), ("t-1", "fix it", 3),
    ]  # fmt: skip
    assert [(file.file_path, file.n_changes, file.added, file.removed) for file in agent.turns[1].files] == [
        (A, 1, 0, 1), (B, 2, 1, 2),
    ]  # fmt: skip
    assert (listed.n_files, listed.n_changes, listed.added, listed.removed) == (4, 6, 5, 5)
    every = {change_id for session in listed.sessions for change_id in session.change_ids}
    assert every == {place.change_id for file in listed.files for place in file.changes}
    assert (
        await recording.bench.service.history.keep(KeepRequest(change_ids=agent.turns[0].change_ids))
    ).n_entries >= 0
    assert [turn.turn_id for turn in (await _listed(recording)).sessions[-1].turns] == ["t-1"]


async def test_rewind_of_a_change_that_is_gone_is_refused(recording: Recording) -> None:
    recording.write(A, MINE, AGENT)
    first, _ = (await _file(recording, A)).changes
    recording.write(A, OLD, PERSON)
    result = await recording.rewind("change_ids", first.change_id)
    assert isinstance(result.error, UnknownTarget)


async def test_later_write_of_a_command_is_not_kept_with_the_one_before(recording: Recording) -> None:
    """A command whose first change a person keeps while it runs continues: what it writes then is not kept."""
    recording.write(A, MINE, COMMAND)
    await recording.bench.service.history.keep(KeepRequest())
    recording.write(A, MINE.replace(b"three", b"3!"), COMMAND)
    assert [place.removed_text for place in (await _file(recording, A)).changes] == ["three\n"]


async def test_list_of_more_files_than_are_listed_says_so_and_counts_all(recording: Recording) -> None:
    n_files = MAX_FILES + 2
    ids = [recording.write(f"/w/many{n:04}", b"new\n", AGENT) for n in range(n_files)]
    cut = await _listed(recording)
    assert (cut.n_files, len(cut.files), cut.truncated) == (n_files, MAX_FILES, True)
    refused = await recording.rewind("session_id", "agent")
    assert isinstance(refused.error, TooManyFiles)
    first = RewindRequest(target=RewindTarget("entry_ids", tuple(ids[:MAX_FILES])), is_approved=True)
    assert (await recording.bench.service.history.rewind(first)).n_undone == MAX_FILES
    left = await _listed(recording)
    assert (left.n_files, [file.file_path for file in left.files if file.changes]) == (
        2, ["/w/many1000", "/w/many1001"],
    )  # fmt: skip


GROWN = MINE + b"grown by another program\n" * (MAX_COMPARED_BYTES // 25 + 1)


async def test_file_that_others_made_very_long_is_one_change_without_lines_and_is_not_compared(
    recording: Recording,
) -> None:
    """R-KEEP-3, R-UNDO-3: a comparison of 20 MB takes 15 s and 2 GB."""
    entry_id = recording.write(A, MINE, AGENT)
    recording.bench.disk.put(A, GROWN)
    (change,) = (await _file(recording, A)).changes
    assert (change.kind, change.whole_file, change.undoable) == ("file", "too large", False)
    assert change.entry_ids == (entry_id,)
    targets: dict[TargetKind, str] = {"change_ids": change.change_id, "entry_ids": entry_id}
    for kind, named in targets.items():
        result = await recording.rewind(kind, named)
        assert [(left.reason, left.entries) for left in result.conflicts] == [("refused", (entry_id,))]
        assert "too long" in (result.conflicts[0].message or "")
    assert recording.bench.on_disk(A) == GROWN
    kept = await recording.bench.service.history.keep(KeepRequest(change_ids=(change.change_id,)))
    assert kept.n_changes == 1
    assert (await _listed(recording)).files == ()


async def test_place_of_two_agents_names_both_and_is_listed_for_the_newer_one(recording: Recording) -> None:
    """R-KEEP-3: adjacent lines are one place, which is undone as a whole."""
    first = OLD.replace(b"two", b"2")
    recording.write(A, first, COMMAND)
    recording.write(A, first.replace(b"three", b"3").replace(b"five", b"5"), OTHER)
    listed = await _listed(recording)
    assert [change.label for change in listed.files[0].changes] == ["Other and Agent", "Other"]
    assert [(session.label, session.n_changes) for session in listed.sessions] == [("Other", 2)]


@pytest.mark.parametrize("by_session", [None, SessionName("agent")], ids=["by a person", "by the agent"])
@pytest.mark.parametrize("n_undos", [1, 2, 3], ids=["undone", "redone", "undone again"])
async def test_lines_written_after_a_rename_stay_their_authors_when_that_is_undone(
    recording: Recording, n_undos: int, by_session: SessionName | None
) -> None:
    """R-LOG-3, R-KEEP-1: the undo gives the file its name back, and it is the same file."""
    renamed, path = "/w/renamed", A if n_undos % 2 else "/w/renamed"
    recording.rename(A, renamed, AGENT)
    recording.write(renamed, OLD + b"by B\n", OTHER)
    before = await _listed(recording)
    kind: TargetKind = "session_id"
    wanted = "agent"
    for _ in range(n_undos):
        result = await recording.rewind(kind, wanted, by_session=by_session)
        assert result.error is None, result.output
        kind, wanted = "rewind_id", result.rewind_id or ""
    assert recording.bench.on_disk(path) == OLD + b"by B\n"
    recording.settle()
    lines = await recording.bench.service.history.blame(path)
    assert [(part.first_line, session_of(part.by) if part.by else None) for part in lines] == [(1, None), (6, "other")]
    listed = await _listed(recording)
    if path == renamed and by_session is not None:  # the agent's redo is a change of its own
        assert [(file.file_path, file.operation, file.moved_from) for file in listed.files] == [
            (A, "delete", None), (renamed, "create", A)
        ]  # fmt: skip
    elif path == renamed:
        assert listed.files == before.files
    else:
        assert [(file.file_path, change.session_id) for file in listed.files for change in file.changes] == [
            (A, "other")
        ]
    await recording.rewind("session_id", "other")
    assert recording.bench.on_disk(path) == OLD


@pytest.mark.parametrize("half", ["delete", "create"])
async def test_half_of_a_rename_is_undone_with_the_other_half(recording: Recording, half: str) -> None:
    """R-KEEP-4: alone, it would leave two files with the text, or none. So is half of the undo of a rename."""
    renamed = "/w/renamed"
    recording.rename(A, renamed, AGENT)
    for present, gone in ((A, renamed), (renamed, A)):
        entry = next(entry for entry in recording.entries() if entry.kind == half)
        result = await recording.rewind("entry_id", entry.entry_id)
        assert result.error is None, result.output
        assert (recording.bench.on_disk(present), recording.bench.on_disk(gone)) == (OLD, None)
