"""Undo through the service: what is undone, what is kept, what is refused."""

import asyncio
from collections.abc import AsyncGenerator, Callable

import pytest

from fileops.core.merge.undo import MAX_COMPARED_BYTES
from fileops.core.uris import uri_of
from fileops.model.approval import Always, ApprovalRequest, Decision, Modify, Reject, SomeChanges
from fileops.model.edits import LineRange
from fileops.model.errors import (
    ApplyRefused,
    NotRead,
    OutsideRoots,
    PermissionRefused,
    Rejected,
    SetConflict,
    UndoConflict,
)
from fileops.model.events import BecameStale, DidEdit
from fileops.model.requests import HistoryRequest, UndoRequest
from fileops.model.results import UndoResult
from fileops.model.sessions import SessionName
from support.in_process import Workbench

PATH = "/w/f"


@pytest.fixture
async def bench() -> AsyncGenerator[Workbench]:
    bench = Workbench()
    bench.disk.put(PATH, b"one\ntwo\nthree\n")
    yield bench
    bench.close()


def conflict_of(outcome: UndoResult) -> UndoConflict:
    assert isinstance(outcome.error, UndoConflict), outcome.output
    return outcome.error


async def test_undo_reverts_an_edit(bench: Workbench):
    edit_id = await bench.applied(PATH, "two", "TWO")
    outcome = await bench.undo(edit_id)
    assert outcome.error is None
    assert bench.on_disk(PATH) == b"one\ntwo\nthree\n"
    (file,) = outcome.files
    assert (file.edit_ids, file.outcome, file.applied_to) == ((edit_id,), "modified", "disk")
    assert "-TWO\n+two\n" in file.change.unified
    assert "two" in outcome.output


async def test_undo_keeps_later_changes_of_the_user(bench: Workbench):
    edit_id = await bench.applied(PATH, "two", "TWO")
    bench.disk.put(PATH, b"zero\none!\nTWO\nthree\nfour\n")
    assert (await bench.undo(edit_id)).error is None
    assert bench.on_disk(PATH) == b"zero\none!\ntwo\nthree\nfour\n"


async def test_undo_reverts_an_edit_between_others(bench: Workbench):
    first = await bench.applied(PATH, "one", "ONE")
    await bench.applied(PATH, "two", "TWO")
    await bench.applied(PATH, "three", "THREE")
    assert (await bench.undo(first)).error is None
    assert bench.on_disk(PATH) == b"one\nTWO\nTHREE\n"


async def test_undo_of_lines_changed_since_is_a_conflict_that_names_them(bench: Workbench):
    edit_id = await bench.applied(PATH, "two", "TWO")
    bench.disk.put(PATH, b"zero\none\nTWOS\nthree\n")
    error = conflict_of(await bench.undo(edit_id))
    assert error.ranges == (LineRange(start_line=3, end_line=3),)
    assert bench.on_disk(PATH) == b"zero\none\nTWOS\nthree\n"


async def test_undo_can_be_undone(bench: Workbench):
    edit_id = await bench.applied(PATH, "two", "TWO")
    undo_id = (await bench.undo(edit_id)).files[0].edit_id
    assert undo_id is not None
    redo_id = (await bench.undo(undo_id)).files[0].edit_id
    assert bench.on_disk(PATH) == b"one\nTWO\nthree\n"
    assert redo_id is not None
    assert (await bench.undo(edit_id)).error is None
    assert bench.on_disk(PATH) == b"one\ntwo\nthree\n"


async def test_edit_is_undone_once(bench: Workbench):
    edit_id = await bench.applied(PATH, "two", "TWO")
    await bench.undo(edit_id)
    assert conflict_of(await bench.undo(edit_id)).reason == "already_undone"


async def test_undo_of_an_unknown_edit_is_refused(bench: Workbench):
    assert conflict_of(await bench.undo("no such edit")).reason == "unknown_edit"
    assert conflict_of(await bench.undo(session_id="nobody")).reason == "nothing_to_undo"


async def test_undo_of_a_session_reverts_the_newest_edit_first(bench: Workbench):
    bench.disk.put("/w/g", b"alpha\n")
    await bench.applied(PATH, "two", "2", "a")
    await bench.applied(PATH, "one", "1", "b")
    await bench.applied(PATH, "2", "zwei", "a")
    await bench.applied("/w/g", "alpha", "ALPHA", "a")
    outcome = await bench.undo(session_id="a")
    assert outcome.error is None
    assert [(file.file_path, len(file.edit_ids)) for file in outcome.files] == [("/w/g", 1), (PATH, 2)]
    assert (bench.on_disk(PATH), bench.on_disk("/w/g")) == (b"1\ntwo\nthree\n", b"alpha\n")
    conflict_of(await bench.undo(session_id="a"))


async def test_undo_of_a_session_in_one_file(bench: Workbench):
    bench.disk.put("/w/g", b"alpha\n")
    await bench.applied(PATH, "two", "2", "a")
    await bench.applied("/w/g", "alpha", "ALPHA", "a")
    assert (await bench.undo(session_id="a", path=PATH)).error is None
    assert (bench.on_disk(PATH), bench.on_disk("/w/g")) == (b"one\ntwo\nthree\n", b"ALPHA\n")


async def test_conflict_in_one_file_leaves_all_files_unchanged(bench: Workbench):
    bench.disk.put("/w/g", b"alpha\n")
    await bench.applied(PATH, "two", "2", "a")
    await bench.applied("/w/g", "alpha", "ALPHA", "a")
    bench.disk.put(PATH, b"one\n2b\nthree\n")
    conflict_of(await bench.undo(session_id="a"))
    assert (bench.on_disk(PATH), bench.on_disk("/w/g")) == (b"one\n2b\nthree\n", b"ALPHA\n")


async def test_undo_in_a_file_that_others_made_very_long_is_refused_without_a_comparison(bench: Workbench):
    edit_id = await bench.applied(PATH, "two", "2")
    grown = b"one\n2\nthree\n" + b"grown by another program\n" * (MAX_COMPARED_BYTES // 25 + 1)
    bench.disk.put(PATH, grown)
    conflict = conflict_of(await bench.undo(edit_id))
    assert "too long" in conflict.explanation
    assert bench.on_disk(PATH) == grown


# --- several files, all or none -----------------------------------------------------------------------------------


async def two_files(bench: Workbench) -> None:
    """Edits of session a in two open files with unsaved changes; the undo comes to /w/g first."""
    bench.disk.put("/w/g", b"alpha\nbeta\n")
    await bench.applied(PATH, "two", "TWO", "a")
    await bench.applied("/w/g", "alpha", "ALPHA", "a")
    bench.editor.type(bench.editor.open(PATH), "one", "uno")
    bench.editor.type(bench.editor.open("/w/g"), "beta", "gamma")


def after_first_document(bench: Workbench, do: Callable[[], None]) -> None:
    """The editor does this once, when it has changed the first document of a request; `do` may refuse the others."""

    def after_one() -> None:
        bench.editor.after_one = lambda: None
        do()

    bench.editor.after_one = after_one


def refuse() -> None:
    raise ApplyRefused(reason="no")


async def test_unwritable_file_is_found_before_any_is_written(bench: Workbench):
    bench.disk.put("/w/g", b"alpha\n")
    await bench.applied(PATH, "two", "2", "a")
    await bench.applied("/w/g", "alpha", "ALPHA", "a")
    bench.disk.chmod(PATH, 0o444)
    before = bench.disk.read("/w/g").stamp
    outcome = await bench.undo(session_id="a")
    assert isinstance(outcome.error, PermissionRefused)
    assert (outcome.file_path, outcome.files) == (PATH, ())
    assert f"It was {PATH}. No file was changed." in outcome.output
    assert bench.disk.read("/w/g").stamp == before
    assert len([event for event in bench.events.events if isinstance(event, DidEdit)]) == 2


async def test_failure_of_a_later_file_restores_the_earlier_ones(bench: Workbench):
    await two_files(bench)
    after_first_document(bench, refuse)
    outcome = await bench.undo(session_id="a")
    assert isinstance(outcome.error, ApplyRefused)
    assert (outcome.file_path, outcome.files) == (PATH, ())
    texts = {document.path: document.text for document in bench.editor.documents.values()}
    assert texts == {PATH: "uno\nTWO\nthree\n", "/w/g": "ALPHA\ngamma\n"}
    assert (await bench.undo(session_id="a")).error is None
    texts = {document.path: document.text for document in bench.editor.documents.values()}
    assert texts == {PATH: "uno\ntwo\nthree\n", "/w/g": "alpha\ngamma\n"}


@pytest.mark.parametrize(
    "on_disk", [b"alpha\nend\n", b"other\n"], ids=["the file is as then", "others have written it"]
)
async def test_undo_that_leaves_a_former_text_of_the_file_is_restored_in_the_document(bench: Workbench, on_disk: bytes):
    """The document no longer counts as unsaved after the undo, and the file is what is read there."""
    await two_files(bench)
    bench.disk.put("/w/h", b"alpha\nend\n")
    h = bench.editor.open("/w/h")
    bench.disk.put("/w/h", on_disk)
    bench.editor.type(h, "alpha", "key\nalpha")
    await bench.applied("/w/h", "alpha", "ALPHA", "a")
    bench.editor.type(h, "key\n", "")
    after_first_document(bench, refuse)
    outcome = await bench.undo(session_id="a")
    assert isinstance(outcome.error, ApplyRefused)
    assert (outcome.file_path, outcome.files) == ("/w/g", ())
    assert bench.editor.documents[h].text == "ALPHA\nend\n"
    assert bench.on_disk("/w/h") == on_disk


async def open_changed_and_created_files(bench: Workbench) -> None:
    """Edits of session a, oldest first: of an open file with unsaved changes, of a closed one, and a creation."""
    bench.disk.put("/w/g", b"alpha\n")
    bench.editor.type(bench.editor.open(PATH), "one", "uno")
    await bench.applied(PATH, "two", "TWO", "a")
    await bench.applied("/w/g", "alpha", "ALPHA", "a")
    await bench.applied("/w/new", "", "new\n", "a")


async def test_undo_of_several_files_is_a_set_which_is_undone_as_one(bench: Workbench):
    await open_changed_and_created_files(bench)
    bench.events.events.clear()
    outcome = await bench.undo(session_id="a")
    assert [file.file_path for file in outcome.files] == ["/w/new", "/w/g", PATH]
    published = [event.file_path for event in bench.events.events if isinstance(event, DidEdit)]
    assert published == ["/w/new", "/w/g", PATH]
    history = await bench.service.history.edits(HistoryRequest())
    (set_id,) = {edit.set_id for edit in history if edit.undoes}
    assert (await bench.service.history.undo(UndoRequest(set_id=set_id, is_approved=True))).error is None
    assert (bench.on_disk("/w/new"), bench.on_disk("/w/g")) == (b"new\n", b"ALPHA\n")


async def test_created_file_is_never_removed_if_the_editor_refuses(bench: Workbench):
    await open_changed_and_created_files(bench)
    before = bench.disk.stat("/w/new")
    bench.editor.before_apply = refuse
    assert isinstance((await bench.undo(session_id="a")).error, ApplyRefused)
    assert bench.disk.stat("/w/new") == before


async def test_file_that_cannot_be_restored_is_named(bench: Workbench):
    await two_files(bench)

    def type_and_refuse() -> None:
        bench.editor.type(uri_of("/w/g"), "alpha", "aleph")
        refuse()

    after_first_document(bench, type_and_refuse)
    outcome = await bench.undo(session_id="a")
    assert isinstance(outcome.error, SetConflict)
    assert [file.file_path for file in outcome.files] == ["/w/g"]
    assert "/w/g remains undone and could not be restored." in outcome.output
    texts = {document.path: document.text for document in bench.editor.documents.values()}
    assert texts == {PATH: "uno\nTWO\nthree\n", "/w/g": "aleph\ngamma\n"}


async def test_cancel_after_the_first_file_is_too_late(bench: Workbench):
    await two_files(bench)
    loop = asyncio.get_running_loop()
    undoing = asyncio.create_task(bench.undo(session_id="a"))

    def cancel() -> None:
        loop.call_soon_threadsafe(undoing.cancel)

    after_first_document(bench, cancel)
    outcome = await undoing
    assert outcome.error is None
    texts = {document.path: document.text for document in bench.editor.documents.values()}
    assert texts == {PATH: "uno\ntwo\nthree\n", "/w/g": "alpha\ngamma\n"}


async def test_file_in_conflict_is_named(bench: Workbench):
    bench.disk.put("/w/g", b"alpha\n")
    await bench.applied(PATH, "two", "2", "a")
    await bench.applied("/w/g", "alpha", "ALPHA", "a")
    bench.disk.put(PATH, b"one\n2b\nthree\n")
    outcome = await bench.undo(session_id="a")
    assert conflict_of(outcome).ranges == (LineRange(start_line=2, end_line=2),)
    assert outcome.file_path == PATH


async def test_dry_run_returns_the_diff_and_writes_nothing(bench: Workbench):
    edit_id = await bench.applied(PATH, "two", "TWO")
    outcome = await bench.undo(edit_id, dry_run=True)
    assert (outcome.error, outcome.dry_run) == (None, True)
    assert outcome.output.startswith(f"Dry run: nothing was written.\n1 edit of {PATH} would be undone. ")
    assert "+two\n" in outcome.files[0].change.unified
    assert bench.on_disk(PATH) == b"one\nTWO\nthree\n"
    assert (await bench.undo(edit_id)).error is None


async def test_invalid_bytes_survive_an_undo(bench: Workbench):
    bench.disk.put(PATH, b"\xef\xbb\xbfone\r\n\xff\xfe\r\nthree")
    edit_id = await bench.applied(PATH, "one", "ONE\nmore")
    bench.disk.put(PATH, b"\xef\xbb\xbfONE\r\nmore\r\n\xff\xfe\xfd\r\nthree")
    assert (await bench.undo(edit_id)).error is None
    assert bench.on_disk(PATH) == b"\xef\xbb\xbfone\r\n\xff\xfe\xfd\r\nthree"


async def test_undo_of_an_edit_reverted_by_the_user_has_no_effect(bench: Workbench):
    edit_id = await bench.applied(PATH, "two", "TWO")
    bench.disk.put(PATH, b"one\ntwo\nthree\nfour\n")
    outcome = await bench.undo(edit_id)
    assert outcome.error is None
    assert outcome.files[0].edit_id is None
    assert bench.on_disk(PATH) == b"one\ntwo\nthree\nfour\n"


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        pytest.param("a b1 c\n", "a b0 c\n", id="the state between"),
        pytest.param("typed\na b1 c\n", "typed\na b0 c\n", id="the state between, and a line"),
        pytest.param("typed\na b0 c\n", "typed\na b0 c\n", id="the state before, and a line"),
    ],
)
async def test_undo_of_a_session_starts_at_the_state_restored_by_the_user(
    bench: Workbench, present: str, expected: str
):
    bench.disk.put(PATH, b"a b0 c\n")
    await bench.applied(PATH, "b0", "b1", "a")
    await bench.applied(PATH, "b1", "b2", "a")
    bench.disk.put(PATH, present.encode())
    outcome = await bench.undo(session_id="a")
    assert outcome.error is None, outcome.output
    assert bench.on_disk(PATH) == expected.encode()


async def test_restored_line_of_a_session_is_removed_by_its_undo(bench: Workbench):
    """Taken together the edits changed nothing; the line is the agent's nevertheless."""
    await bench.applied(PATH, "two\n", "two\nagent\n", "a")
    await bench.applied(PATH, "agent\n", "", "a")
    bench.disk.put(PATH, b"typed\none\ntwo\nagent\nthree\n")
    assert (await bench.undo(session_id="a")).error is None
    assert bench.on_disk(PATH) == b"typed\none\ntwo\nthree\n"


# --- files made and removed -------------------------------------------------------------------------------------


async def test_undo_of_a_creation_removes_the_unchanged_file(bench: Workbench):
    edit_id = await bench.applied("/w/new", "", "text\n")
    outcome = await bench.undo(edit_id)
    assert outcome.files[0].outcome == "removed"
    assert "+++ /dev/null" in outcome.files[0].change.unified
    assert bench.on_disk("/w/new") is None


async def test_created_file_that_was_changed_is_not_removed(bench: Workbench):
    edit_id = await bench.applied("/w/new", "", "text\n")
    bench.disk.put("/w/new", b"text\nmine\n")
    conflict_of(await bench.undo(edit_id))
    assert bench.on_disk("/w/new") == b"text\nmine\n"


async def test_undo_reverts_a_creation_with_its_edits(bench: Workbench):
    await bench.applied("/w/new", "", "text\n", "a")
    await bench.applied("/w/new", "text", "other", "a")
    assert (await bench.undo(session_id="a")).files[0].outcome == "removed"
    assert bench.on_disk("/w/new") is None


async def test_removal_can_be_undone(bench: Workbench):
    edit_id = await bench.applied("/w/new", "", "text\n")
    undo_id = (await bench.undo(edit_id)).files[0].edit_id
    outcome = await bench.undo(undo_id)
    assert outcome.files[0].outcome == "created"
    assert bench.on_disk("/w/new") == b"text\n"


async def test_undo_of_an_edit_in_a_removed_file_is_refused(bench: Workbench):
    edit_id = await bench.applied(PATH, "two", "TWO")
    bench.disk.delete(PATH)
    conflict_of(await bench.undo(edit_id))


# --- open documents, approval, confinement, trackers ------------------------------------------------------------


async def test_undo_in_an_unsaved_document_is_applied_by_the_editor(bench: Workbench):
    edit_id = await bench.applied(PATH, "two", "TWO")
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "uno")
    outcome = await bench.undo(edit_id)
    assert (outcome.error, outcome.files[0].applied_to) == (None, "buffer")
    assert bench.editor.documents[uri].text == "uno\ntwo\nthree\n"
    assert bench.on_disk(PATH) == b"one\nTWO\nthree\n"


async def test_edit_of_a_buffer_can_be_undone_after_saving(bench: Workbench):
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "uno")
    edit_id = await bench.applied(PATH, "two", "TWO")
    bench.editor.save(uri)
    bench.editor.close(uri)
    assert (await bench.undo(edit_id)).error is None
    assert bench.on_disk(PATH) == b"uno\ntwo\nthree\n"


async def test_editor_that_refuses_the_undo_changes_nothing(bench: Workbench):
    edit_id = await bench.applied(PATH, "two", "TWO")
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "uno")
    bench.editor.before_apply = refuse
    assert isinstance((await bench.undo(edit_id)).error, ApplyRefused)
    assert bench.editor.documents[uri].text == "uno\nTWO\nthree\n"


async def test_undo_is_approved_like_any_edit(bench: Workbench):
    edit_id = await bench.applied(PATH, "two", "TWO")
    bench.person.can_ask = True
    bench.person.answer = lambda question: Reject()
    assert isinstance((await bench.undo(edit_id)).error, Rejected)
    assert bench.on_disk(PATH) == b"one\nTWO\nthree\n"
    assert bench.person.questions[0].proposed_text == "one\ntwo\nthree\n"
    bench.person.answer = lambda question: Modify("one\n2\nthree\n")
    outcome = await bench.undo(edit_id)
    assert (outcome.error, outcome.files[0].modified_by_user) == (None, True)
    assert bench.on_disk(PATH) == b"one\n2\nthree\n"


# R-UNDO-4
async def test_file_that_the_user_keeps_with_another_text_is_not_removed(bench: Workbench):
    edit_id = await bench.applied("/w/new", "", "text\n")
    bench.person.can_ask = True
    bench.person.answer = lambda question: Modify("kept\n")
    outcome = await bench.undo(edit_id)
    assert (outcome.error, outcome.files[0].outcome, outcome.files[0].modified_by_user) == (None, "modified", True)
    assert bench.on_disk("/w/new") == b"kept\n"
    bench.person.can_ask = False
    assert outcome.files[0].edit_id is not None
    await bench.undo(outcome.files[0].edit_id)
    assert bench.on_disk("/w/new") == b"text\n"


# R-APPROVE-4 and R-APPROVE-5
@pytest.mark.parametrize(("text", "left"), [("", None), ("text\n", b"text\n")])
async def test_removal_is_made_for_an_empty_text_and_rejected_for_the_present_one(
    bench: Workbench, text: str, left: bytes | None
):
    edit_id = await bench.applied("/w/new", "", "text\n")
    bench.person.can_ask = True
    bench.person.answer = lambda question: Modify(text)
    assert isinstance((await bench.undo(edit_id)).error, Rejected) == (left is not None)
    assert bench.on_disk("/w/new") == left


async def test_changes_of_an_undo_can_be_chosen(bench: Workbench):
    filler = "".join(f"{n}\n" for n in range(20))
    bench.disk.put(PATH, f"x\n{filler}x\n".encode())
    await bench.read(PATH)
    edit_id = (await bench.edit(PATH, "x", "y", replace_all=True)).edit_id
    bench.person.can_ask = True
    bench.person.answer = lambda question: SomeChanges((question.changes[0].id,))
    assert (await bench.undo(edit_id)).error is None
    assert bench.on_disk(PATH) == f"x\n{filler}y\n".encode()


def every_change(question: ApprovalRequest) -> Decision:
    return SomeChanges(tuple(change.id for change in question.changes))


def text_as_proposed(question: ApprovalRequest) -> Decision:
    return Modify(question.proposed_text or "")


@pytest.mark.parametrize("answer", [every_change, text_as_proposed])
async def test_removal_with_all_changes_chosen_is_a_removal(
    bench: Workbench, answer: Callable[[ApprovalRequest], Decision]
):
    edit_id = await bench.applied("/w/new", "", "x\n")
    bench.person.can_ask = True
    bench.person.answer = answer
    assert (await bench.undo(edit_id)).error is None
    assert bench.on_disk("/w/new") is None


async def test_always_for_an_undo_asks_once_for_all_files(bench: Workbench):
    """Protected ones apart. Also where the user undoes by a command of the editor, which belongs to no session."""
    bench.disk.put("/w/g", b"alpha\n")
    bench.disk.put("/w/.env", b"KEY=1\n")
    for path, old in (("/w/.env", "1"), (PATH, "two"), ("/w/g", "alpha")):
        await bench.applied(path, old, "x", "a")

    def always(question: ApprovalRequest) -> Decision:
        del question
        return Always()

    bench.person.can_ask = True
    bench.person.answer = always
    assert (await bench.service.history.undo(UndoRequest(session_id=SessionName("a")))).error is None
    assert [question.file_path for question in bench.person.questions] == ["/w/g", "/w/.env"]
    assert bench.on_disk(PATH) == b"one\ntwo\nthree\n"
    assert bench.service.approval_mode(SessionName("a")) == "default"


async def test_file_changed_during_the_question_is_rebased_again(bench: Workbench):
    edit_id = await bench.applied(PATH, "two", "TWO")
    bench.person.can_ask = True
    bench.person.meanwhile = lambda: bench.disk.put(PATH, b"one\nTWO\nthree\nfar\naway\nfrom\nit\n")
    outcome = await bench.undo(edit_id)
    assert outcome.error is None or isinstance(outcome.error, UndoConflict)
    assert bench.on_disk(PATH) in {b"one\ntwo\nthree\nfar\naway\nfrom\nit\n", b"one\nTWO\nthree\nfar\naway\nfrom\nit\n"}


async def test_undo_outside_the_roots_is_refused(bench: Workbench):
    edit_id = await bench.applied(PATH, "two", "TWO")
    bench.service.set_folders(["/elsewhere"])
    assert isinstance((await bench.undo(edit_id)).error, OutsideRoots)


async def test_undoing_session_stays_fresh_and_others_become_stale(bench: Workbench):
    edit_id = await bench.applied(PATH, "two", "TWO", "a")
    await bench.read(PATH, "b")
    outcome = await bench.undo(edit_id, session_id="a")
    assert outcome.error is None
    assert (await bench.edit(PATH, "two", "2", "a")).error is None
    stale = [event for event in bench.events.events if isinstance(event, BecameStale)]
    assert {event.session_id for event in stale} == {"b"}
    assert [event.edit_id for event in bench.events.events if isinstance(event, DidEdit)][1] == outcome.files[0].edit_id


async def test_readers_of_the_file_are_notified_which_session_undid_the_edit(bench: Workbench):
    edit_id = await bench.applied(PATH, "two", "TWO", "a")
    await bench.read(PATH, "b")
    assert (await bench.undo(edit_id, session_id="c")).error is None
    stale = [event for event in bench.events.events if isinstance(event, BecameStale)]
    assert {(event.session_id, event.source) for event in stale} == {("a", "session:c"), ("b", "session:c")}
    assert isinstance((await bench.edit(PATH, "two", "2", "c")).error, NotRead)


async def test_undo_by_the_user_is_no_replacement_by_another_program(bench: Workbench):
    """The daemon writes by replacing the file, which is no news to those who have read it."""
    edit_id = await bench.applied(PATH, "two", "TWO", "a")
    await bench.read(PATH, "b")
    request = UndoRequest(edit_id=edit_id, is_approved=True)
    assert (await bench.service.history.undo(request)).error is None
    stale = [event for event in bench.events.events if isinstance(event, BecameStale)]
    assert {(event.session_id, event.reason, event.source) for event in stale} == {
        ("a", "modified", "external"),
        ("b", "modified", "external"),
    }


# --- history ----------------------------------------------------------------------------------------------------


async def test_history_is_newest_first_and_marks_undone_edits(bench: Workbench):
    first = await bench.applied(PATH, "two", "TWO", "a")
    second = await bench.applied(PATH, "one", "ONE", "b")
    undo_id = (await bench.undo(first, session_id="a")).files[0].edit_id
    edits = await bench.service.history.edits(HistoryRequest())
    assert [edit.edit_id for edit in edits] == [undo_id, second, first]
    assert [edit.undone_by for edit in edits] == [None, None, undo_id]
    assert edits[0].undoes == (first,)
    assert "ONE" in edits[1].summary
    assert [
        edit.edit_id for edit in await bench.service.history.edits(HistoryRequest(session_id=SessionName("b")))
    ] == [second]
    assert [edit.edit_id for edit in await bench.service.history.edits(HistoryRequest(file_path=PATH, limit=1))] == [
        undo_id
    ]
    assert await bench.service.history.edits(HistoryRequest(file_path="/w/other")) == ()


async def test_locations_of_agents_follow_later_typing(bench: Workbench):
    await bench.applied(PATH, "two", "TWO\nMORE")
    uri = bench.editor.open(PATH)
    bench.editor.type(uri, "one", "zero\nhalf\none")
    (place,) = await bench.service.history.agent_ranges(PATH)
    assert (place.first_line, place.last_line) == (3, 4)
    bench.editor.type(uri, "MORE", "EVEN\nMORE")
    (place,) = await bench.service.history.agent_ranges(PATH)
    assert (place.first_line, place.last_line) == (3, 5)
