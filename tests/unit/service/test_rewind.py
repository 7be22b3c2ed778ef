"""A rewind over files in memory, with a record that the test writes."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from fileops.mcp.tools import FURTHER_TOOLS, ToolCall, UndoArguments
from fileops.model.approval import Reject
from fileops.model.errors import ApplyRefused, FileOpsError, UndoConflict
from fileops.model.record import (
    OUTSIDE,
    By,
    ByPerson,
    BySession,
    Contents,
    TurnRecord,
    unsure,
)
from fileops.model.requests import HistoryRequest
from fileops.model.rewind import RewindRequest, RewindTarget, TargetKind
from fileops.model.sessions import SessionName
from fileops.service.activity import MAX_REASONS
from support.in_process import Workbench
from support.recording import AGENT, COMMAND, OTHER, PERSON, Recording

A, B = "/w/a", "/w/b"
OLD = b"one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture
async def recording() -> AsyncGenerator[Recording]:
    recording = Recording()
    for path in (A, B):
        recording.bench.disk.put(path, OLD)
    yield recording
    recording.bench.close()


def _changed(content: bytes, old: bytes, new: bytes) -> bytes:
    assert content.count(old) == 1
    return content.replace(old, new)


async def test_rewind_of_turn_undoes_its_part_of_all_files(recording: Recording) -> None:
    """R-REW-1, R-REW-2, R-REW-3."""
    recording.store.put_turn(TurnRecord(turn_id="t-1", session_id=SessionName("agent"), label="Agent", began=1.0))
    recording.write(A, _changed(OLD, b"two", b"2"), AGENT, "t-1")
    recording.write(B, _changed(OLD, b"four", b"4"), COMMAND, "t-1")
    recording.write("/w/new", b"new\n", COMMAND, "t-1")
    recording.write(A, _changed(recording.bench.on_disk(A) or b"", b"five", b"5"), PERSON)
    recording.write(B, _changed(recording.bench.on_disk(B) or b"", b"one", b"1"), OTHER)
    result = await recording.rewind("turn_id", "t-1")
    assert result.error is None, result.output
    assert recording.bench.on_disk(A) == _changed(OLD, b"five", b"5")
    assert recording.bench.on_disk(B) == _changed(OLD, b"one", b"1")
    assert recording.bench.on_disk("/w/new") is None
    assert [(file.file_path, file.outcome) for file in result.files] == [
        (A, "modified"), (B, "modified"), ("/w/new", "removed"),
    ]  # fmt: skip
    assert (result.n_undone, result.n_left, result.conflicts) == (3, 0, ())


async def test_rewind_is_recorded_by_the_user_and_marks_what_it_undid(recording: Recording) -> None:
    entry_id = recording.write(A, _changed(OLD, b"two", b"2"), AGENT)
    result = await recording.rewind("session_id", "agent")
    newest, oldest = recording.entries(A)
    assert (newest.undoes, newest.rewind_id, newest.by, newest.kept) == (
        (entry_id,), result.rewind_id, ByPerson(session_id="", label="a person"), True,
    )  # fmt: skip
    assert oldest.undone_by == newest.entry_id
    assert recording.store.contents(newest) == Contents(_changed(OLD, b"two", b"2"), OLD)


async def test_rewind_of_rewind_is_a_redo_that_keeps_later_changes(recording: Recording) -> None:
    """R-REW-7."""
    recording.write(A, _changed(OLD, b"two", b"2"), AGENT)
    first = await recording.rewind("session_id", "agent")
    recording.write(A, _changed(OLD, b"five", b"5"), PERSON)
    redo = await recording.rewind("rewind_id", first.rewind_id or "")
    assert recording.bench.on_disk(A) == _changed(_changed(OLD, b"two", b"2"), b"five", b"5")
    assert recording.entries(A)[-1].undone_by is None
    again = await recording.rewind("session_id", "agent")
    assert (again.n_undone, recording.bench.on_disk(A)) == (1, _changed(OLD, b"five", b"5"))
    undone_redo = await recording.rewind("rewind_id", redo.rewind_id or "")
    assert undone_redo.error is not None or undone_redo.n_left == 0


async def test_rewind_of_redo_makes_the_first_rewind_count_again(recording: Recording) -> None:
    entry_id = recording.write(A, _changed(OLD, b"two", b"2"), AGENT)
    first = await recording.rewind("entry_id", entry_id)
    redo = await recording.rewind("rewind_id", first.rewind_id or "")
    await recording.rewind("rewind_id", redo.rewind_id or "")
    assert recording.bench.on_disk(A) == OLD
    entry, rewind, _, _ = recording.entries(A)[::-1]
    assert (entry.undone_by, rewind.undone_by) == (rewind.entry_id, None)


async def test_rewind_does_not_bring_back_what_was_undone_redone_and_undone_again(recording: Recording) -> None:
    mine = _changed(_changed(OLD, b"two", b"2"), b"five", b"5")
    entry_id = recording.write(A, mine, AGENT)
    undo = await recording.rewind("entry_id", entry_id)
    recording.entries()  # the undo is in the record before the agent writes again
    recording.write(A, _changed(OLD, b"one", b"1"), AGENT)
    await recording.rewind("rewind_id", undo.rewind_id or "")
    assert recording.bench.on_disk(A) == _changed(mine, b"one", b"1")
    await recording.rewind("entry_id", entry_id)
    result = await recording.rewind("session_id", "agent")
    assert (result.error, result.n_left, recording.bench.on_disk(A)) == (None, 0, OLD)


async def test_rewind_leaves_a_line_that_a_program_brought_back_after_an_undo_and_its_redo(
    recording: Recording,
) -> None:
    """The redo found the line gone, so undo and redo do not cancel each other out."""
    others_gone = _changed(OLD, b"three\n", b"")
    other_id = recording.write(A, others_gone, OTHER)
    mine_id = recording.write(A, _changed(others_gone, b"two\n", b""), AGENT)
    undo = await recording.rewind("entry_id", other_id)
    brought_back = _changed(OLD, b"two\n", b"")
    assert recording.bench.on_disk(A) == brought_back
    recording.bench.disk.put(A, _changed(others_gone, b"two\n", b""))  # by a program, unrecorded
    await recording.rewind("rewind_id", undo.rewind_id or "")
    recording.bench.disk.put(A, brought_back)  # likewise
    recording.entries()
    await recording.rewind("entry_id", mine_id)
    assert b"three\n" in (recording.bench.on_disk(A) or b"")


async def test_undo_brings_back_nothing_that_git_had_brought_back_before_a_redo_without_effect(
    recording: Recording,
) -> None:
    """Git has taken back the undo, so undo and redo do not cancel each other out."""
    first = recording.write(A, _changed(OLD, b"three", b"3"), AGENT)
    both = _changed(recording.bench.on_disk(A) or b"", b"two", b"2")
    recording.write(A, both, AGENT)
    undone = await recording.rewind("session_id", "agent")
    assert recording.bench.on_disk(A) == OLD
    recording.write(A, both, PERSON, is_beside_git=True)
    assert undone.rewind_id is not None
    await recording.rewind("rewind_id", undone.rewind_id)
    assert recording.bench.on_disk(A) == both
    await recording.rewind("entry_id", first)
    assert recording.bench.on_disk(A) == _changed(OLD, b"two", b"2")
    await recording.rewind("session_id", "agent")
    assert recording.bench.on_disk(A) == OLD


async def test_rewind_leaves_a_line_that_others_brought_back_after_the_redo_of_another_change(
    recording: Recording,
) -> None:
    """As git does. The undo of the other change would be undone alone if it went with its redo."""
    others = _changed(OLD, b"two", b"2")
    other_id = recording.write(A, others, OTHER)
    recording.write(A, _changed(others, b"one", b"1"), AGENT)
    undo = await recording.rewind("entry_id", other_id)
    recording.entries()
    mine = _changed(_changed(OLD, b"one", b"1"), b"five", b"5")
    recording.write(A, mine, AGENT)
    await recording.rewind("rewind_id", undo.rewind_id or "")
    assert recording.bench.on_disk(A) == _changed(mine, b"two", b"2")
    recording.write(A, mine, PERSON)
    await recording.rewind("session_id", "agent")
    assert recording.bench.on_disk(A) == OLD


async def test_undos_of_a_creation_and_of_the_rename_after_it_leave_no_file(recording: Recording) -> None:
    for n in (1, 2):
        recording.store.put_turn(TurnRecord(turn_id=f"t-{n}", session_id=SessionName("agent"), label="Agent", began=n))
    recording.write("/w/new", b"one\n", AGENT, "t-1")
    recording.rename("/w/new", NEW, AGENT, "t-2")
    recording.write(NEW, b"one\nmore\n", AGENT, "t-2")
    await recording.rewind("turn_id", "t-1")
    recording.entries()
    await recording.rewind("all_since_turn", "t-1")
    assert (recording.bench.on_disk("/w/new"), recording.bench.on_disk(NEW)) == (None, None)


async def test_rewind_with_overlapping_change_leaves_and_lists_it(recording: Recording) -> None:
    """R-REW-4."""
    mine = _changed(_changed(OLD, b"two", b"2"), b"five", b"5")
    entry_id = recording.write(A, mine, AGENT)
    recording.write(A, _changed(mine, b"2", b"typed"), PERSON)
    result = await recording.rewind("session_id", "agent")
    assert recording.bench.on_disk(A) == _changed(OLD, b"two", b"typed")
    (conflict,) = result.conflicts
    assert (conflict.reason, conflict.entries, conflict.by) == ("overlaps", (entry_id,), (PERSON,))
    assert [(lines.start_line, lines.end_line) for lines in conflict.ranges] == [(2, 2)]
    assert (result.n_undone, result.n_left) == (0, 1)
    assert recording.entries(A)[-1].undone_by is None


async def test_rewind_that_fails_on_conflicts_writes_nothing(recording: Recording) -> None:
    recording.write(B, _changed(OLD, b"two", b"2"), AGENT)
    mine = _changed(OLD, b"two", b"2")
    recording.write(A, mine, AGENT)
    recording.write(A, _changed(mine, b"2", b"by hand"), PERSON)
    result = await recording.rewind("session_id", "agent", fails_on_conflict=True)
    assert result.error is not None
    assert result.error.code == "undo_conflict"
    assert (recording.bench.on_disk(B), result.files, len(result.conflicts)) == (mine, (), 1)


async def test_rewind_preview_writes_nothing_and_its_plan_is_kept(recording: Recording) -> None:
    """R-REW-6."""
    recording.write(A, _changed(OLD, b"two", b"2"), AGENT)
    preview = await recording.rewind("session_id", "agent", dry_run=True)
    assert (preview.dry_run, preview.rewind_id, preview.n_undone) == (True, None, 1)
    assert recording.bench.on_disk(A) == _changed(OLD, b"two", b"2")
    recording.write(A, _changed(_changed(OLD, b"two", b"2"), b"five", b"5"), PERSON)
    refused = await recording.rewind("session_id", "agent", plan=preview.plan)
    assert refused.error is not None
    assert (refused.error.code, refused.plan != preview.plan) == ("plan_changed", True)
    made = await recording.rewind("session_id", "agent", plan=refused.plan)
    assert made.error is None
    assert made.plan == refused.plan
    assert recording.bench.on_disk(A) == _changed(OLD, b"five", b"5")


async def test_rename_is_undone_although_another_moved_file_that_stays_has_its_only_line(recording: Recording) -> None:
    """R-REW-3. The record knows where the file went, so no likeness of texts has to be feared."""
    recording.bench.disk.put(A, b"one\n")
    recording.rename(A, "/w/a2", AGENT)
    recording.rename(B, "/w/b2", AGENT)
    recording.write(B, b"by hand\n", PERSON)  # so this rename stays
    result = await recording.rewind("session_id", "agent")
    assert (recording.bench.on_disk(A), recording.bench.on_disk("/w/a2")) == (b"one\n", None)
    assert (recording.bench.on_disk(B), recording.bench.on_disk("/w/b2")) == (b"by hand\n", OLD)
    assert (result.n_undone, result.n_left) == (2, 2)


@pytest.mark.parametrize("dry_run", [True, False])
async def test_rewind_is_refused_while_the_record_still_reads_what_was_written(*, dry_run: bool) -> None:
    """A command may have written thousands of files: an undo of those that have entries would not be all of it."""
    busy, may_go_on = threading.Event(), threading.Event()

    def wait(_turn: TurnRecord) -> None:
        busy.set()
        may_go_on.wait()

    recording = Recording(written_within_s=0.1)
    try:
        recording.bench.disk.put(A, OLD)
        recording.write(A, _changed(OLD, b"two", b"2"), AGENT)
        recording.recorder.listeners.on_turn = wait
        recording.turns.begin(SessionName("agent"), "Agent")
        await asyncio.to_thread(busy.wait)
        result = await recording.rewind("session_id", "agent", dry_run=dry_run)
        assert (result.error is not None, result.files) == (True, ())
        assert "the record is still reading what was changed" in result.output
        assert recording.bench.on_disk(A) == _changed(OLD, b"two", b"2")
    finally:
        may_go_on.set()
        recording.bench.close()


async def test_rewind_leaves_unsure_entries_unless_they_are_included(recording: Recording) -> None:
    recording.write(A, _changed(OLD, b"two", b"2"), unsure(AGENT, OTHER))
    recording.write(B, _changed(OLD, b"two", b"2"), AGENT)
    assert (await recording.rewind("session_id", "agent")).n_undone == 1
    assert recording.bench.on_disk(A) != OLD
    assert (await recording.rewind("session_id", "agent", includes_unsure=True)).n_undone == 1
    assert recording.bench.on_disk(A) == OLD


async def test_rewind_of_some_paths_leaves_the_others(recording: Recording) -> None:
    recording.write(A, _changed(OLD, b"two", b"2"), AGENT)
    recording.write(B, _changed(OLD, b"two", b"2"), AGENT)
    await recording.rewind("session_id", "agent", paths=(B,))
    assert (recording.bench.on_disk(A), recording.bench.on_disk(B)) == (_changed(OLD, b"two", b"2"), OLD)


async def test_rewind_since_a_turn_undoes_later_turns_too(recording: Recording) -> None:
    content = OLD
    for n, word in enumerate((b"one", b"three", b"five")):
        recording.store.put_turn(
            TurnRecord(turn_id=f"t-{n}", session_id=SessionName("agent"), label="Agent", began=float(n))
        )
        content = _changed(content, word, word.upper())
        recording.write(A, content, AGENT, f"t-{n}")
    await recording.rewind("since_turn", "t-1")
    assert recording.bench.on_disk(A) == _changed(OLD, b"one", b"ONE")


def _mode(recording: Recording, path: str) -> int:
    stamp = recording.bench.disk.stat(path)
    assert stamp is not None
    return stamp.mode & 0o777


async def test_rewind_of_the_executable_bit_restores_it_and_can_be_redone(recording: Recording) -> None:
    """R-REW-4."""
    entry_id = recording.chmod(A, 0o755, COMMAND)
    preview = await recording.rewind("session_id", "agent", dry_run=True)
    assert preview.files[0].change.unified.startswith("old mode 100755\nnew mode 100644\n")
    result = await recording.rewind("session_id", "agent", plan=preview.plan)
    assert (result.error, result.conflicts, result.n_undone, _mode(recording, A)) == (None, (), 1, 0o644)
    assert result.output.endswith("/w/a: +0 -0, no longer executable")
    rewind, entry = recording.entries(A)
    assert (rewind.kind, rewind.undoes, entry.undone_by) == ("mode", (entry_id,), rewind.entry_id)
    await recording.rewind("rewind_id", result.rewind_id or "")
    assert (_mode(recording, A), recording.bench.on_disk(A)) == (0o755, OLD)


async def test_rewind_restores_text_and_executable_bit_together(recording: Recording) -> None:
    recording.chmod(A, 0o755, PERSON)
    recording.write(A, _changed(OLD, b"two", b"2"), AGENT)
    recording.chmod(A, 0o644, AGENT)
    recording.write(A, _changed(_changed(OLD, b"two", b"2"), b"five", b"5"), PERSON)
    result = await recording.rewind("session_id", "agent")
    assert (result.n_undone, _mode(recording, A)) == (2, 0o755)
    assert recording.bench.on_disk(A) == _changed(OLD, b"five", b"5")


@pytest.mark.parametrize("by", [AGENT, COMMAND])
async def test_rewind_of_a_deletion_restores_the_executable_bit(recording: Recording, by: By) -> None:
    recording.chmod(A, 0o755, PERSON)
    recording.write(A, None, by)
    assert (await recording.rewind("session_id", "agent")).error is None
    assert (recording.bench.on_disk(A), _mode(recording, A)) == (OLD, 0o755)


async def test_rewind_leaves_what_others_made_of_the_executable_bit(recording: Recording) -> None:
    """R-REW-3. It is on again because of the person, and not because of the agent."""
    recording.chmod(A, 0o755, AGENT)
    recording.chmod(A, 0o644, PERSON)
    recording.chmod(A, 0o755, PERSON)
    recording.chmod(B, 0o755, AGENT)
    recording.bench.disk.chmod(B, 0o644)  # not recorded yet
    result = await recording.rewind("session_id", "agent")
    assert [(file.file_path, file.outcome) for file in result.files] == [(A, "unchanged"), (B, "unchanged")]
    assert (_mode(recording, A), _mode(recording, B)) == (0o755, 0o644)


async def test_change_of_the_executable_bit_that_was_undone_is_no_wish_of_others(recording: Recording) -> None:
    recording.chmod(A, 0o755, AGENT)
    await recording.rewind("entry_id", recording.chmod(A, 0o644, PERSON))
    assert _mode(recording, A) == 0o755
    result = await recording.rewind("session_id", "agent")
    assert (result.error, _mode(recording, A)) == (None, 0o644)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"gap": "baseline"}, "unknown_before"),
        ({"content": "protected"}, "not_kept"),
        ({"content": "gone"}, "not_kept"),
    ],
)
async def test_rewind_of_entry_without_contents_lists_it(
    recording: Recording, fields: dict[str, Any], reason: str
) -> None:
    recording.write(A, _changed(OLD, b"two", b"2"), AGENT, **fields)
    result = await recording.rewind("session_id", "agent")
    assert result.error is not None
    assert (result.error.code, [conflict.reason for conflict in result.conflicts]) == ("undo_conflict", [reason])


@pytest.mark.parametrize(
    ("kind", "wanted"), [("entry_id", "e-9"), ("turn_id", "t-9"), ("session_id", "none"), ("rewind_id", "w-9")]
)
async def test_rewind_of_unknown_target_is_refused(recording: Recording, kind: TargetKind, wanted: str) -> None:
    recording.write(A, _changed(OLD, b"two", b"2"), AGENT)
    result = await recording.rewind(kind, wanted)
    assert result.error is not None
    assert result.error.code == "unknown_target"


async def test_rewind_of_what_was_undone_is_refused(recording: Recording) -> None:
    recording.write(A, _changed(OLD, b"two", b"2"), AGENT)
    await recording.rewind("session_id", "agent")
    result = await recording.rewind("session_id", "agent")
    assert result.error is not None
    assert "undone before" in result.output


async def test_rewind_without_a_record_is_refused() -> None:
    bench = Workbench()
    result = await bench.service.history.rewind(RewindRequest(target=RewindTarget("session_id", ("agent",))))
    assert result.error is not None
    assert result.error.code == "not_recorded"
    bench.close()


async def test_rewind_changes_unsaved_documents_through_their_editor(recording: Recording) -> None:
    mine = _changed(OLD, b"two", b"2")
    recording.write(A, mine, AGENT)
    uri = recording.bench.editor.open(A)
    recording.bench.editor.type(uri, "five", "5 unsaved")
    result = await recording.rewind("session_id", "agent")
    assert [file.applied_to for file in result.files] == ["buffer"]
    assert recording.bench.workspace.fs.read(A).data == _changed(OLD, b"five", b"5 unsaved")
    assert recording.bench.on_disk(A) == mine


async def test_rewind_of_files_of_which_one_cannot_be_written_changes_none(recording: Recording) -> None:
    """R-REW-5."""
    recording.write(A, _changed(OLD, b"two", b"2"), AGENT)
    recording.write(B, _changed(OLD, b"two", b"2"), AGENT)
    recording.bench.disk.chmod(B, 0o444)
    result = await recording.rewind("session_id", "agent")
    assert isinstance(result.error, FileOpsError)
    assert (result.file_path, result.still_undone) == (B, ())
    assert recording.bench.on_disk(A) == _changed(OLD, b"two", b"2")
    assert all(entry.undone_by is None for entry in recording.entries())


async def test_rewind_that_an_editor_refuses_restores_the_documents_before(recording: Recording) -> None:
    editor = recording.bench.editor
    documents = [editor.open(path) for path in (A, B)]
    for path, uri in zip((A, B), documents, strict=True):
        recording.write(path, _changed(OLD, b"two", b"2"), AGENT)
        editor.reload(uri)
        editor.type(uri, "five", "5 unsaved")

    def refuse_the_second() -> None:
        editor.after_one = lambda: None
        raise ApplyRefused(reason="not now")

    editor.after_one = refuse_the_second
    texts = [editor.documents[uri].text for uri in documents]
    result = await recording.rewind("session_id", "agent")
    assert isinstance(result.error, ApplyRefused)
    assert (result.file_path, result.still_undone) == (B, ())
    assert [editor.documents[uri].text for uri in documents] == texts


async def test_rewind_of_several_files_asks_once_and_a_rejection_changes_none(recording: Recording) -> None:
    """R-REW-8."""
    bench = recording.bench
    bench.person.can_ask = True
    for path in (A, B):
        recording.write(path, _changed(OLD, b"two", b"2"), AGENT)
    request = RewindRequest(target=RewindTarget("session_id", ("agent",)), by_session=SessionName("agent"))
    bench.person.answer = lambda _question: Reject()
    refused = await bench.service.history.rewind(request)
    assert refused.error is not None
    assert (refused.error.code, len(bench.person.questions)) == ("rejected", 1)
    assert "Undo 2 changes in 2 files" in bench.person.questions[0].title
    assert bench.on_disk(A) != OLD


async def test_question_about_a_rewind_of_one_file_has_both_texts(recording: Recording) -> None:
    bench = recording.bench
    bench.person.can_ask = True
    edited = _changed(OLD, b"two", b"2")
    recording.write(A, edited, AGENT)
    request = RewindRequest(target=RewindTarget("session_id", ("agent",)), by_session=SessionName("agent"))
    assert (await bench.service.history.rewind(request)).error is None
    (question,) = bench.person.questions
    assert (question.original_text, question.proposed_text) == (edited.decode(), OLD.decode())


async def test_rewind_that_the_user_approves_undoes_all_files(recording: Recording) -> None:
    bench = recording.bench
    bench.person.can_ask = True
    for path in (A, B):
        recording.write(path, _changed(OLD, b"two", b"2"), AGENT)
    request = RewindRequest(target=RewindTarget("session_id", ("agent",)), by_session=SessionName("agent"))
    result = await bench.service.history.rewind(request)
    assert result.error is None, result.output
    assert (bench.on_disk(A), bench.on_disk(B), len(bench.person.questions)) == (OLD, OLD, 1)
    assert recording.entries(A)[0].by == BySession(session_id=SessionName("agent"), label="agent")


async def test_rewind_of_edit_marks_it_as_undone_in_the_history(recording: Recording) -> None:
    """R-REW-9."""
    edit_id = await recording.bench.applied(A, "two", "2", "agent")
    assert (await recording.rewind("entry_id", edit_id)).error is None
    newest, undone = await recording.bench.service.history.edits(HistoryRequest())
    assert (undone.undone_by, newest.undoes) == (newest.edit_id, (edit_id,))
    assert recording.entries(A)[0].edit_id == newest.edit_id


async def test_rewind_of_text_that_is_gone_undoes_without_writing(recording: Recording) -> None:
    recording.write(A, _changed(OLD, b"two", b"2"), AGENT)
    recording.write(A, OLD, OUTSIDE)
    result = await recording.rewind("session_id", "agent")
    assert [(file.outcome, file.edit_id) for file in result.files] == [("unchanged", None)]
    again = await recording.rewind("session_id", "agent")
    assert again.error is not None
    assert "undone before" in again.output


async def test_undo_tool_with_turn_undoes_tools_and_commands_of_the_newest_turn(recording: Recording) -> None:
    """R-REW-8."""
    for turn_id, began in (("t-1", 1.0), ("t-2", 2.0)):
        recording.store.put_turn(
            TurnRecord(turn_id=turn_id, session_id=SessionName("agent"), label="Agent", began=began)
        )
    recording.write(A, _changed(OLD, b"two", b"2"), AGENT, "t-1")
    recording.write(B, _changed(OLD, b"two", b"2"), AGENT, "t-2")
    recording.write("/w/new", b"made\n", COMMAND, "t-2")
    call = ToolCall(arguments=UndoArguments(turn=True), session=SessionName("agent"))
    outcome = await FURTHER_TOOLS["Undo"].run(recording.bench.service, call)
    assert outcome.result.status == "success", outcome.result.output
    assert "2 changes in 2 files have been undone." in outcome.result.output
    assert (recording.bench.on_disk(A), recording.bench.on_disk(B)) == (_changed(OLD, b"two", b"2"), OLD)
    assert recording.bench.on_disk("/w/new") is None


async def test_undo_tool_with_turn_undoes_the_turn_before_only_after_another_prompt(recording: Recording) -> None:
    def prompt() -> str:
        turn_id = recording.turns.begin(SessionName("agent"), "Agent").turn_id
        recording.settle()
        return turn_id

    async def undo() -> str | None:
        call = ToolCall(arguments=UndoArguments(turn=True), session=SessionName("agent"))
        result = (await FURTHER_TOOLS["Undo"].run(recording.bench.service, call)).result
        recording.settle()
        return None if result.error is None else result.error.code

    recording.write(A, _changed(OLD, b"two", b"2"), AGENT, prompt())
    recording.write(B, _changed(OLD, b"two", b"2"), AGENT, prompt())
    prompt()
    assert (await undo(), recording.bench.on_disk(A), recording.bench.on_disk(B)) == (
        None, _changed(OLD, b"two", b"2"), OLD,
    )  # fmt: skip
    assert (await undo(), recording.bench.on_disk(A)) == ("unknown_target", _changed(OLD, b"two", b"2"))
    prompt()
    assert (await undo(), recording.bench.on_disk(A)) == (None, OLD)


async def test_undo_tool_with_turn_without_a_record_is_refused() -> None:
    bench = Workbench()
    call = ToolCall(arguments=UndoArguments(turn=True), session=SessionName("agent"))
    outcome = await FURTHER_TOOLS["Undo"].run(bench.service, call)
    assert outcome.result.error is not None
    assert outcome.result.error.code == "not_recorded"
    bench.close()


async def test_rewind_by_the_user_is_reported_to_the_session_once(recording: Recording) -> None:
    recording.write(A, _changed(OLD, b"two", b"2"), AGENT)
    recording.write(B, _changed(OLD, b"two", b"2"), COMMAND)
    await recording.rewind("session_id", "agent")
    rewinds = recording.bench.service.history
    assert rewinds.take_notices(SessionName("agent")) == ["A person took back 2 changes of agent."]
    assert rewinds.take_notices(SessionName("agent")) == []


async def test_reasons_of_rewinds_are_a_sentence_each_and_bounded(recording: Recording) -> None:
    n_reasons = MAX_REASONS + 2
    for number in range(n_reasons):
        recording.write(A, _changed(OLD, b"two", b"2"), AGENT)
        assert (await recording.rewind("session_id", "agent", reason=f"reason {number}")).error is None
    recording.write(A, _changed(OLD, b"two", b"2"), AGENT)
    assert (await recording.rewind("session_id", "agent", reason="reason 0")).error is None
    assert (await recording.rewind("session_id", "agent", reason="of nothing")).error is not None
    sentence = "A person took back 1 change of agent."
    assert recording.bench.service.history.take_notices(SessionName("agent")) == [
        "A person took back 2 changes of agent. Their reason: reason 0",
        *(f"{sentence} Their reason: reason {number}" for number in range(1, MAX_REASONS)),
        "A person took back 2 changes of agent.",
    ]


NEW, NEWER = "/w/new", "/w/newer"


@pytest.mark.parametrize("by", [PERSON, OUTSIDE, OTHER, AGENT], ids=lambda by: by.label)
async def test_rewind_follows_a_file_that_was_renamed_since(recording: Recording, by: By) -> None:
    """R-REW-3. A rename by the agent is one of a later turn, which is not undone."""
    for n in (1, 2):
        turn = TurnRecord(turn_id=f"t-{n}", session_id=SessionName("agent"), label="Agent", began=n)
        recording.store.put_turn(turn)
    entry_id = recording.write(A, _changed(OLD, b"two", b"2"), AGENT, "t-1")
    recording.rename(A, NEW, by)
    recording.write(NEW, _changed(recording.bench.on_disk(NEW) or b"", b"five", b"5"), PERSON)
    recording.rename(NEW, NEWER, by)
    result = await recording.rewind("turn_id", "t-1", paths=(NEWER,))
    assert result.error is None, result.output
    assert recording.bench.on_disk(NEWER) == _changed(OLD, b"five", b"5")
    assert [(file.file_path, file.entries) for file in result.files] == [(NEWER, (entry_id,))]
    assert (recording.bench.on_disk(A), recording.bench.on_disk(NEW)) == (None, None)
    assert (result.rewind_id, result.n_undone) != (None, 0)
    redo = await recording.rewind("rewind_id", result.rewind_id or "")
    assert redo.error is None, redo.output
    assert recording.bench.on_disk(NEWER) == _changed(_changed(OLD, b"five", b"5"), b"two", b"2")
    again = await recording.rewind("entry_id", entry_id)
    assert again.error is None, again.output
    assert recording.bench.on_disk(NEWER) == _changed(OLD, b"five", b"5")


async def test_undo_leaves_another_file_that_has_the_first_name_now(recording: Recording) -> None:
    """R-UNDO-12."""
    edit_id = await recording.bench.applied(A, "two", "2")
    recording.settle()
    recording.rename(A, NEW, PERSON)
    other = _changed(OLD, b"two", b"2") + b"other\n"
    recording.write(A, other, PERSON)
    result = await recording.bench.undo(edit_id)
    assert result.error is None, result.output
    assert [file.file_path for file in result.files] == [NEW]
    assert (recording.bench.on_disk(A), recording.bench.on_disk(NEW)) == (other, OLD)


async def test_undo_does_not_follow_another_file_that_had_the_name_in_between(recording: Recording) -> None:
    """R-UNDO-12. The file of the edit was removed, and another one with the same words was renamed."""
    edit_id = await recording.bench.applied(A, "two", "2")
    recording.settle()
    recording.write(A, None, PERSON)
    other = _changed(OLD, b"two", b"2") + b"other\n"
    recording.write(A, other, PERSON)
    recording.rename(A, NEW, PERSON)
    result = await recording.bench.undo(edit_id)
    assert isinstance(result.error, UndoConflict), result.output
    assert recording.bench.on_disk(NEW) == other


async def test_rewind_follows_a_renamed_file_that_the_agent_changed_under_both_names(recording: Recording) -> None:
    recording.write(A, _changed(OLD, b"two", b"2"), AGENT)
    recording.rename(A, NEW, PERSON)
    recording.write(NEW, _changed(recording.bench.on_disk(NEW) or b"", b"four", b"4"), COMMAND)
    result = await recording.rewind("session_id", "agent")
    assert result.error is None, result.output
    assert recording.bench.on_disk(NEW) == OLD
    assert (result.n_undone, result.n_left, len(result.files)) == (2, 0, 1)


async def test_rewind_removes_a_file_that_the_agent_created_under_its_new_name(recording: Recording) -> None:
    recording.write("/w/draft", b"new\n", AGENT)
    recording.rename("/w/draft", NEW, PERSON)
    result = await recording.rewind("session_id", "agent")
    assert [(file.file_path, file.outcome) for file in result.files] == [(NEW, "removed")]
    assert recording.bench.on_disk(NEW) is None


async def test_rewind_of_a_turn_with_a_rename_restores_the_first_name(recording: Recording) -> None:
    recording.write(A, _changed(OLD, b"two", b"2"), AGENT)
    recording.rename(A, NEW, AGENT)
    recording.write(NEW, _changed(recording.bench.on_disk(NEW) or b"", b"four", b"4"), AGENT)
    result = await recording.rewind("session_id", "agent")
    assert result.error is None, result.output
    assert (recording.bench.on_disk(A), recording.bench.on_disk(NEW)) == (OLD, None)
    assert (result.n_undone, result.n_left) == (4, 0)


async def test_rewind_of_a_turn_with_a_rename_that_a_user_renamed_again_restores_the_first_name(
    recording: Recording,
) -> None:
    recording.rename(A, NEW, AGENT)
    recording.rename(NEW, NEWER, PERSON)
    result = await recording.rewind("session_id", "agent")
    assert result.error is None, result.output
    assert [recording.bench.on_disk(path) for path in (A, NEW, NEWER)] == [OLD, None, None]


async def test_rewind_follows_no_rename_of_an_earlier_file_of_the_name(recording: Recording) -> None:
    recording.rename(A, NEW, PERSON)
    recording.write(A, b"another\n", PERSON)
    recording.write(A, b"another 2\n", AGENT)
    result = await recording.rewind("session_id", "agent")
    assert [file.file_path for file in result.files] == [A]
    assert (recording.bench.on_disk(A), recording.bench.on_disk(NEW)) == (b"another\n", OLD)


async def test_rewind_of_a_rename_keeps_what_others_wrote_under_the_new_name(recording: Recording) -> None:
    """R-REW-3. The agent changed the file under both names, and its permission bits stay."""
    for n in (1, 2):
        recording.store.put_turn(TurnRecord(turn_id=f"t-{n}", session_id=SessionName("agent"), label="Agent", began=n))
    recording.bench.disk.chmod(A, 0o640)
    earlier = recording.write(A, _changed(OLD, b"one", b"1"), AGENT, "t-1")
    recording.write(A, _changed(recording.bench.on_disk(A) or b"", b"two", b"2"), AGENT, "t-2")
    recording.rename(A, NEW, COMMAND, "t-2")
    recording.bench.disk.chmod(NEW, 0o640)
    recording.write(NEW, _changed(recording.bench.on_disk(NEW) or b"", b"five", b"5"), PERSON)
    recording.write(NEW, _changed(recording.bench.on_disk(NEW) or b"", b"three", b"3"), AGENT, "t-2")
    before = recording.bench.on_disk(NEW)
    result = await recording.rewind("turn_id", "t-2")
    assert result.error is None, result.output
    assert (result.n_undone, result.n_left, result.conflicts) == (4, 0, ())
    assert [(file.file_path, file.outcome) for file in result.files] == [(A, "created"), (NEW, "removed")]
    assert recording.bench.on_disk(A) == _changed(_changed(OLD, b"five", b"5"), b"one", b"1")
    assert recording.bench.on_disk(NEW) is None
    stamp = recording.bench.disk.read(A).stamp
    assert stamp is not None
    assert stamp.mode & 0o7777 == 0o640
    redo = await recording.rewind("rewind_id", result.rewind_id or "")
    assert redo.error is None, redo.output
    assert (recording.bench.on_disk(A), recording.bench.on_disk(NEW)) == (None, before)
    assert (await recording.rewind("turn_id", "t-2")).error is None
    assert (await recording.rewind("entry_id", earlier)).error is None
    assert recording.bench.on_disk(A) == _changed(OLD, b"five", b"5")


async def test_redo_of_a_rename_keeps_what_others_wrote_under_the_first_name(recording: Recording) -> None:
    recording.rename(A, NEW, COMMAND)
    recording.write(NEW, _changed(OLD, b"five", b"5"), PERSON)
    result = await recording.rewind("session_id", "agent")
    written = _changed(_changed(OLD, b"five", b"5"), b"one", b"1")
    recording.write(A, written, PERSON)
    redo = await recording.rewind("rewind_id", result.rewind_id or "")
    assert (redo.error, redo.conflicts) == (None, ())
    assert (recording.bench.on_disk(A), recording.bench.on_disk(NEW)) == (None, written)


@pytest.mark.parametrize("is_changed", [False, True], ids=["unchanged", "changed"])
async def test_rewind_of_a_rename_whose_first_name_is_taken_leaves_both(recording: Recording, is_changed: bool) -> None:
    recording.rename(A, NEW, COMMAND)
    recording.write(A, b"another\n", PERSON)
    if is_changed:
        recording.write(NEW, _changed(OLD, b"five", b"5"), PERSON)
    recording.write(B, _changed(OLD, b"five", b"5"), AGENT)
    before = recording.bench.on_disk(NEW)
    result = await recording.rewind("session_id", "agent")
    assert [(conflict.file_path, conflict.reason) for conflict in result.conflicts] == [
        (A, "recreated"),
        (NEW, "overlaps"),
    ]
    assert (result.n_undone, result.n_left) == (1, 2)
    assert [recording.bench.on_disk(path) for path in (A, NEW, B)] == [b"another\n", before, OLD]


@pytest.mark.parametrize("is_renamed_back", [False, True])
@pytest.mark.parametrize("then", [None, b"another\nfile\n"], ids=["removed", "replaced"])
async def test_rewind_keeps_the_last_copy_of_what_may_have_been_renamed_over_a_file(
    recording: Recording, then: bytes | None, *, is_renamed_back: bool
) -> None:
    """R-REW-3. What became of the first name is unsure, so it is not undone."""
    text = b"nowhere\nelse\n"
    recording.write(NEW, text, PERSON)
    recording.write(NEW, then, unsure(COMMAND, OUTSIDE))
    recording.write(B, text, COMMAND)
    if is_renamed_back:
        recording.rename(B, NEW, OUTSIDE)
    result = await recording.rewind("session_id", "agent")
    assert recording.bench.on_disk(NEW if is_renamed_back else B) == text
    assert [conflict.reason for conflict in result.conflicts] == ["overlaps", "unsure"]


async def test_rewind_keeps_the_last_copy_of_a_removed_file_that_stays_because_of_another_copy(
    recording: Recording,
) -> None:
    """R-REW-3. The copy that others have changed keeps the removal in force, so the other copy is the last one."""
    text, copy = b"nowhere\nelse\n", "/w/copy"
    recording.write(NEW, text, PERSON)
    recording.write(copy, text, COMMAND)
    recording.write(copy, text + b"others\n", OTHER)
    recording.write(B, text, COMMAND)
    recording.write(NEW, None, COMMAND)
    await recording.rewind("session_id", "agent")
    texts = [recording.bench.on_disk(path) or b"" for path in (NEW, copy, B)]
    assert any(b"nowhere" in found and b"others" not in found for found in texts), texts


async def test_rewind_keeps_the_other_name_of_a_file_that_the_target_changed_and_others_removed(
    recording: Recording,
) -> None:
    """R-REW-3. Renamed and copied back at once, it was recorded as a change and a new file."""
    text, outcome = b"nowhere\nelse\n", b"nowhere\nby agent\nelse\n"
    recording.write(NEW, text, PERSON)
    recording.write(NEW, outcome, COMMAND)
    recording.write(B, outcome, COMMAND)
    recording.write(NEW, None, OUTSIDE)
    result = await recording.rewind("session_id", "agent")
    assert recording.bench.on_disk(B) == outcome
    assert {(conflict.file_path, conflict.reason) for conflict in result.conflicts} >= {(B, "overlaps")}


async def test_rewind_of_two_renames_of_a_file_that_others_changed_leaves_all(recording: Recording) -> None:
    """The names between are not guessed."""
    recording.rename(A, NEW, AGENT)
    recording.rename(NEW, NEWER, AGENT)
    changed = _changed(OLD, b"five", b"5")
    recording.write(NEWER, changed, PERSON)
    result = await recording.rewind("session_id", "agent")
    assert result.error is not None
    assert {conflict.file_path for conflict in result.conflicts} == {A, NEW, NEWER}
    assert [recording.bench.on_disk(path) for path in (A, NEW, NEWER)] == [None, None, changed]


async def test_rewind_of_a_rename_with_unsaved_text_changes_nothing(recording: Recording) -> None:
    recording.rename(A, NEW, COMMAND)
    uri = recording.bench.editor.open(NEW)
    recording.bench.editor.type(uri, "five", "5 unsaved")
    result = await recording.rewind("session_id", "agent")
    assert result.error is not None
    assert (recording.bench.on_disk(A), recording.bench.on_disk(NEW)) == (None, OLD)
    assert recording.bench.workspace.fs.read(NEW).data == _changed(OLD, b"five", b"5 unsaved")


@pytest.mark.parametrize("half", [0, 1], ids=["created", "deleted"])
@pytest.mark.parametrize("is_changed", [False, True], ids=["unchanged", "changed"])
async def test_rewind_of_one_entry_of_a_rename_undoes_the_rename(
    recording: Recording, half: int, is_changed: bool
) -> None:
    recording.rename(A, NEW, AGENT)
    ids = [entry.entry_id for entry in recording.entries()]
    if is_changed:
        recording.write(NEW, _changed(OLD, b"five", b"5"), PERSON)
    before = recording.bench.on_disk(NEW)
    result = await recording.rewind("entry_id", ids[half])
    assert result.error is None, result.output
    assert (recording.bench.on_disk(A), recording.bench.on_disk(NEW)) == (before, None)
    assert result.n_undone == 2
