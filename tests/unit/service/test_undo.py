"""Undo through the service: what is taken back, what is kept, what is refused."""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable

import pytest

from fileops.core.uris import uri_of
from fileops.model.approval import Always, Decision, Modify, Question, Reject, SomeHunks
from fileops.model.edits import LineRange
from fileops.model.errors import ApplyRefused, NotRead, OutsideRoots, PermissionRefused, Rejected, UndoConflict
from fileops.model.events import BecameStale, DidEdit
from fileops.model.requests import HistoryRequest, UndoRequest
from fileops.model.results import UndoResult
from support.in_process import Desk

PATH = "/w/f"


@pytest.fixture
async def desk() -> AsyncGenerator[Desk]:
    desk = Desk()
    desk.disk.put(PATH, b"one\ntwo\nthree\n")
    yield desk
    desk.close()


def conflict_of(outcome: UndoResult) -> UndoConflict:
    assert isinstance(outcome.error, UndoConflict), outcome.output
    return outcome.error


async def test_an_edit_is_taken_back(desk: Desk):
    edit_id = await desk.applied(PATH, "two", "TWO")
    outcome = await desk.undo(edit_id)
    assert outcome.error is None
    assert desk.on_disk(PATH) == b"one\ntwo\nthree\n"
    (file,) = outcome.files
    assert (file.edit_ids, file.outcome, file.applied_to) == ((edit_id,), "modified", "disk")
    assert "-TWO\n+two\n" in file.change.unified
    assert "two" in outcome.output


async def test_later_edits_of_the_person_stay(desk: Desk):
    edit_id = await desk.applied(PATH, "two", "TWO")
    desk.disk.put(PATH, b"zero\none!\nTWO\nthree\nfour\n")
    assert (await desk.undo(edit_id)).error is None
    assert desk.on_disk(PATH) == b"zero\none!\ntwo\nthree\nfour\n"


async def test_an_edit_in_the_middle_is_taken_back(desk: Desk):
    first = await desk.applied(PATH, "one", "ONE")
    await desk.applied(PATH, "two", "TWO")
    await desk.applied(PATH, "three", "THREE")
    assert (await desk.undo(first)).error is None
    assert desk.on_disk(PATH) == b"one\nTWO\nTHREE\n"


async def test_what_was_changed_since_is_a_conflict_with_its_lines(desk: Desk):
    edit_id = await desk.applied(PATH, "two", "TWO")
    desk.disk.put(PATH, b"zero\none\nTWOS\nthree\n")
    error = conflict_of(await desk.undo(edit_id))
    assert error.ranges == (LineRange(start_line=3, end_line=3),)
    assert desk.on_disk(PATH) == b"zero\none\nTWOS\nthree\n"


async def test_undo_can_be_undone(desk: Desk):
    edit_id = await desk.applied(PATH, "two", "TWO")
    undo_id = (await desk.undo(edit_id)).files[0].edit_id
    assert undo_id is not None
    redo_id = (await desk.undo(undo_id)).files[0].edit_id
    assert desk.on_disk(PATH) == b"one\nTWO\nthree\n"
    assert redo_id is not None
    assert (await desk.undo(edit_id)).error is None
    assert desk.on_disk(PATH) == b"one\ntwo\nthree\n"


async def test_an_edit_is_taken_back_once(desk: Desk):
    edit_id = await desk.applied(PATH, "two", "TWO")
    await desk.undo(edit_id)
    assert "already" in conflict_of(await desk.undo(edit_id)).reason


async def test_an_unknown_edit_is_refused(desk: Desk):
    conflict_of(await desk.undo("no such edit"))
    conflict_of(await desk.undo(session_id="nobody"))


async def test_a_session_is_taken_back_newest_first(desk: Desk):
    desk.disk.put("/w/g", b"alpha\n")
    await desk.applied(PATH, "two", "2", "a")
    await desk.applied(PATH, "one", "1", "b")
    await desk.applied(PATH, "2", "zwei", "a")
    await desk.applied("/w/g", "alpha", "ALPHA", "a")
    outcome = await desk.undo(session_id="a")
    assert outcome.error is None
    assert [(file.file_path, len(file.edit_ids)) for file in outcome.files] == [("/w/g", 1), (PATH, 2)]
    assert (desk.on_disk(PATH), desk.on_disk("/w/g")) == (b"1\ntwo\nthree\n", b"alpha\n")
    conflict_of(await desk.undo(session_id="a"))


async def test_a_session_is_taken_back_in_one_file(desk: Desk):
    desk.disk.put("/w/g", b"alpha\n")
    await desk.applied(PATH, "two", "2", "a")
    await desk.applied("/w/g", "alpha", "ALPHA", "a")
    assert (await desk.undo(session_id="a", path=PATH)).error is None
    assert (desk.on_disk(PATH), desk.on_disk("/w/g")) == (b"one\ntwo\nthree\n", b"ALPHA\n")


async def test_a_conflict_in_one_file_leaves_all_as_they_are(desk: Desk):
    desk.disk.put("/w/g", b"alpha\n")
    await desk.applied(PATH, "two", "2", "a")
    await desk.applied("/w/g", "alpha", "ALPHA", "a")
    desk.disk.put(PATH, b"one\n2b\nthree\n")
    conflict_of(await desk.undo(session_id="a"))
    assert (desk.on_disk(PATH), desk.on_disk("/w/g")) == (b"one\n2b\nthree\n", b"ALPHA\n")


# --- several files, all or none -----------------------------------------------------------------------------------


async def two_files(desk: Desk) -> None:
    """Edits of session a in two open files with unsaved changes; the undo comes to /w/g first."""
    desk.disk.put("/w/g", b"alpha\nbeta\n")
    await desk.applied(PATH, "two", "TWO", "a")
    await desk.applied("/w/g", "alpha", "ALPHA", "a")
    desk.editor.type(desk.editor.open(PATH), "one", "uno")
    desk.editor.type(desk.editor.open("/w/g"), "beta", "gamma")


def at_question(n: int, do: Callable[[], None]) -> Callable[[], None]:
    """Before the editor does the n-th thing that it is asked for; `do` may refuse."""
    counter = itertools.count(1)

    def before() -> None:
        if next(counter) == n:
            do()

    return before


def refuse() -> None:
    raise ApplyRefused(reason="no")


async def test_a_file_that_may_not_be_written_is_found_before_any_is(desk: Desk):
    desk.disk.put("/w/g", b"alpha\n")
    await desk.applied(PATH, "two", "2", "a")
    await desk.applied("/w/g", "alpha", "ALPHA", "a")
    desk.disk.chmod(PATH, 0o444)
    before = desk.disk.read("/w/g").stamp
    outcome = await desk.undo(session_id="a")
    assert isinstance(outcome.error, PermissionRefused)
    assert (outcome.file_path, outcome.files) == (PATH, ())
    assert f"It was {PATH}. No file was changed." in outcome.output
    assert desk.disk.read("/w/g").stamp == before
    assert len([event for event in desk.events.published if isinstance(event, DidEdit)]) == 2


async def test_where_a_later_file_fails_the_earlier_ones_are_put_back(desk: Desk):
    await two_files(desk)
    desk.editor.before_apply = at_question(2, refuse)
    outcome = await desk.undo(session_id="a")
    assert isinstance(outcome.error, ApplyRefused)
    assert (outcome.file_path, outcome.files) == (PATH, ())
    texts = {document.path: document.text for document in desk.editor.documents.values()}
    assert texts == {PATH: "uno\nTWO\nthree\n", "/w/g": "ALPHA\ngamma\n"}
    desk.editor.before_apply = lambda: None
    assert (await desk.undo(session_id="a")).error is None
    texts = {document.path: document.text for document in desk.editor.documents.values()}
    assert texts == {PATH: "uno\ntwo\nthree\n", "/w/g": "alpha\ngamma\n"}


async def open_changed_and_created_files(desk: Desk) -> None:
    """Edits of session a, oldest first: of an open file with unsaved changes, of a closed one, and a creation."""
    desk.disk.put("/w/g", b"alpha\n")
    desk.editor.type(desk.editor.open(PATH), "one", "uno")
    await desk.applied(PATH, "two", "TWO", "a")
    await desk.applied("/w/g", "alpha", "ALPHA", "a")
    await desk.applied("/w/new", "", "new\n", "a")


async def test_files_are_committed_in_the_order_open_changed_created(desk: Desk):
    await open_changed_and_created_files(desk)
    desk.events.published.clear()
    outcome = await desk.undo(session_id="a")
    assert [file.file_path for file in outcome.files] == ["/w/new", "/w/g", PATH]
    committed = [event.file_path for event in desk.events.published if isinstance(event, DidEdit)]
    assert committed == [PATH, "/w/g", "/w/new"]


async def test_created_file_is_never_removed_if_the_editor_refuses(desk: Desk):
    await open_changed_and_created_files(desk)
    before = desk.disk.stat("/w/new")
    desk.editor.before_apply = refuse
    assert isinstance((await desk.undo(session_id="a")).error, ApplyRefused)
    assert desk.disk.stat("/w/new") == before


async def test_what_cannot_be_put_back_is_named(desk: Desk):
    await two_files(desk)

    def type_and_refuse() -> None:
        desk.editor.type(uri_of("/w/g"), "alpha", "aleph")
        refuse()

    desk.editor.before_apply = at_question(2, type_and_refuse)
    outcome = await desk.undo(session_id="a")
    assert isinstance(outcome.error, ApplyRefused)
    assert outcome.file_path == PATH
    assert [file.file_path for file in outcome.files] == ["/w/g"]
    assert "/w/g remains undone and could not be restored." in outcome.output
    texts = {document.path: document.text for document in desk.editor.documents.values()}
    assert texts == {PATH: "uno\nTWO\nthree\n", "/w/g": "aleph\ngamma\n"}
    standing = [edit for edit in await desk.service.history(HistoryRequest()) if edit.undone_by is None]
    assert {edit.path for edit in standing if not edit.undoes} == {PATH}


async def test_a_cancel_behind_the_first_file_comes_too_late(desk: Desk):
    await two_files(desk)
    loop = asyncio.get_running_loop()
    undoing = asyncio.create_task(desk.undo(session_id="a"))

    def cancel() -> None:
        loop.call_soon_threadsafe(undoing.cancel)

    desk.editor.before_apply = at_question(2, cancel)
    outcome = await undoing
    assert outcome.error is None
    texts = {document.path: document.text for document in desk.editor.documents.values()}
    assert texts == {PATH: "uno\ntwo\nthree\n", "/w/g": "alpha\ngamma\n"}


async def test_the_file_in_conflict_is_named(desk: Desk):
    desk.disk.put("/w/g", b"alpha\n")
    await desk.applied(PATH, "two", "2", "a")
    await desk.applied("/w/g", "alpha", "ALPHA", "a")
    desk.disk.put(PATH, b"one\n2b\nthree\n")
    outcome = await desk.undo(session_id="a")
    assert conflict_of(outcome).ranges == (LineRange(start_line=2, end_line=2),)
    assert outcome.file_path == PATH


async def test_a_dry_run_shows_and_writes_nothing(desk: Desk):
    edit_id = await desk.applied(PATH, "two", "TWO")
    outcome = await desk.undo(edit_id, dry_run=True)
    assert (outcome.error, outcome.dry_run) == (None, True)
    assert outcome.output.startswith(f"1 edit of {PATH} would be undone. ")
    assert "+two\n" in outcome.files[0].change.unified
    assert desk.on_disk(PATH) == b"one\nTWO\nthree\n"
    assert (await desk.undo(edit_id)).error is None


async def test_bytes_that_are_no_text_survive_an_undo(desk: Desk):
    desk.disk.put(PATH, b"\xef\xbb\xbfone\r\n\xff\xfe\r\nthree")
    edit_id = await desk.applied(PATH, "one", "ONE\nmore")
    desk.disk.put(PATH, b"\xef\xbb\xbfONE\r\nmore\r\n\xff\xfe\xfd\r\nthree")
    assert (await desk.undo(edit_id)).error is None
    assert desk.on_disk(PATH) == b"\xef\xbb\xbfone\r\n\xff\xfe\xfd\r\nthree"


async def test_an_edit_that_the_person_took_back_himself_leaves_nothing_to_do(desk: Desk):
    edit_id = await desk.applied(PATH, "two", "TWO")
    desk.disk.put(PATH, b"one\ntwo\nthree\nfour\n")
    outcome = await desk.undo(edit_id)
    assert outcome.error is None
    assert outcome.files[0].edit_id is None
    assert desk.on_disk(PATH) == b"one\ntwo\nthree\nfour\n"


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        pytest.param("a b1 c\n", "a b0 c\n", id="the state between"),
        pytest.param("typed\na b1 c\n", "typed\na b0 c\n", id="the state between, and a line"),
        pytest.param("typed\na b0 c\n", "typed\na b0 c\n", id="the state before, and a line"),
    ],
)
async def test_session_is_undone_from_where_the_person_went_back_to(desk: Desk, present: str, expected: str):
    desk.disk.put(PATH, b"a b0 c\n")
    await desk.applied(PATH, "b0", "b1", "a")
    await desk.applied(PATH, "b1", "b2", "a")
    desk.disk.put(PATH, present.encode())
    outcome = await desk.undo(session_id="a")
    assert outcome.error is None, outcome.output
    assert desk.on_disk(PATH) == expected.encode()


async def test_line_that_came_and_went_and_was_put_back_goes_with_the_session(desk: Desk):
    """Taken together the edits changed nothing; the line is the agent's all the same."""
    await desk.applied(PATH, "two\n", "two\nagent\n", "a")
    await desk.applied(PATH, "agent\n", "", "a")
    desk.disk.put(PATH, b"typed\none\ntwo\nagent\nthree\n")
    assert (await desk.undo(session_id="a")).error is None
    assert desk.on_disk(PATH) == b"typed\none\ntwo\nthree\n"


# --- files made and removed -------------------------------------------------------------------------------------


async def test_a_created_file_is_removed_while_it_is_as_created(desk: Desk):
    edit_id = await desk.applied("/w/new", "", "text\n")
    outcome = await desk.undo(edit_id)
    assert outcome.files[0].outcome == "removed"
    assert "+++ /dev/null" in outcome.files[0].change.unified
    assert desk.on_disk("/w/new") is None


async def test_a_created_file_that_was_changed_stays(desk: Desk):
    edit_id = await desk.applied("/w/new", "", "text\n")
    desk.disk.put("/w/new", b"text\nmine\n")
    conflict_of(await desk.undo(edit_id))
    assert desk.on_disk("/w/new") == b"text\nmine\n"


async def test_a_creation_and_its_edits_are_taken_back_together(desk: Desk):
    await desk.applied("/w/new", "", "text\n", "a")
    await desk.applied("/w/new", "text", "other", "a")
    assert (await desk.undo(session_id="a")).files[0].outcome == "removed"
    assert desk.on_disk("/w/new") is None


async def test_a_removal_can_be_undone(desk: Desk):
    edit_id = await desk.applied("/w/new", "", "text\n")
    undo_id = (await desk.undo(edit_id)).files[0].edit_id
    outcome = await desk.undo(undo_id)
    assert outcome.files[0].outcome == "created"
    assert desk.on_disk("/w/new") == b"text\n"


async def test_a_file_that_is_gone_cannot_be_edited_back(desk: Desk):
    edit_id = await desk.applied(PATH, "two", "TWO")
    desk.disk.delete(PATH)
    conflict_of(await desk.undo(edit_id))


# --- open documents, approval, confinement, trackers ------------------------------------------------------------


async def test_an_unsaved_document_is_undone_in_the_editor(desk: Desk):
    edit_id = await desk.applied(PATH, "two", "TWO")
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "uno")
    outcome = await desk.undo(edit_id)
    assert (outcome.error, outcome.files[0].applied_to) == (None, "buffer")
    assert desk.editor.documents[uri].text == "uno\ntwo\nthree\n"
    assert desk.on_disk(PATH) == b"one\nTWO\nthree\n"


async def test_an_edit_of_a_buffer_is_undone_after_saving(desk: Desk):
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "uno")
    edit_id = await desk.applied(PATH, "two", "TWO")
    desk.editor.save(uri)
    desk.editor.close(uri)
    assert (await desk.undo(edit_id)).error is None
    assert desk.on_disk(PATH) == b"uno\ntwo\nthree\n"


async def test_an_editor_that_refuses_the_undo_changes_nothing(desk: Desk):
    edit_id = await desk.applied(PATH, "two", "TWO")
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "uno")
    desk.editor.before_apply = refuse
    assert isinstance((await desk.undo(edit_id)).error, ApplyRefused)
    assert desk.editor.documents[uri].text == "uno\nTWO\nthree\n"


async def test_an_undo_is_approved_like_any_edit(desk: Desk):
    edit_id = await desk.applied(PATH, "two", "TWO")
    desk.person.can_ask = True
    desk.person.answer = lambda question: Reject()
    assert isinstance((await desk.undo(edit_id)).error, Rejected)
    assert desk.on_disk(PATH) == b"one\nTWO\nthree\n"
    assert desk.person.questions[0].proposed_text == "one\ntwo\nthree\n"
    desk.person.answer = lambda question: Modify("one\n2\nthree\n")
    outcome = await desk.undo(edit_id)
    assert (outcome.error, outcome.files[0].modified_by_user) == (None, True)
    assert desk.on_disk(PATH) == b"one\n2\nthree\n"


async def test_a_part_of_an_undo_can_be_chosen(desk: Desk):
    filler = "".join(f"{n}\n" for n in range(20))
    desk.disk.put(PATH, f"x\n{filler}x\n".encode())
    await desk.read(PATH)
    edit_id = (await desk.edit(PATH, "x", "y", replace_all=True)).edit_id
    desk.person.can_ask = True
    desk.person.answer = lambda question: SomeHunks((question.change.hunks[0].id,))
    assert (await desk.undo(edit_id)).error is None
    assert desk.on_disk(PATH) == f"x\n{filler}y\n".encode()


def every_hunk(question: Question) -> Decision:
    return SomeHunks(tuple(hunk.id for hunk in question.change.hunks))


def text_as_proposed(question: Question) -> Decision:
    return Modify(question.proposed_text or "")


@pytest.mark.parametrize("answer", [every_hunk, text_as_proposed])
async def test_all_of_a_removal_is_a_removal(desk: Desk, answer: Callable[[Question], Decision]):
    edit_id = await desk.applied("/w/new", "", "x\n")
    desk.person.can_ask, desk.person.answer = True, answer
    assert (await desk.undo(edit_id)).error is None
    assert desk.on_disk("/w/new") is None


async def test_a_person_who_says_always_is_asked_once_for_all_files(desk: Desk):
    """Protected ones apart. Also where he undoes by a command of his editor, which belongs to no session."""
    desk.disk.put("/w/g", b"alpha\n")
    desk.disk.put("/w/.env", b"KEY=1\n")
    for path, old in (("/w/.env", "1"), (PATH, "two"), ("/w/g", "alpha")):
        await desk.applied(path, old, "x", "a")

    def always(question: Question) -> Decision:
        del question
        return Always()

    desk.person.can_ask, desk.person.answer = True, always
    assert (await desk.service.undo(UndoRequest(session_id="a"))).error is None
    assert [question.file_path for question in desk.person.questions] == ["/w/g", "/w/.env"]
    assert desk.on_disk(PATH) == b"one\ntwo\nthree\n"
    assert desk.service.approval_mode("a") == "default"


async def test_a_file_that_moves_while_the_person_thinks_is_rebased_again(desk: Desk):
    edit_id = await desk.applied(PATH, "two", "TWO")
    desk.person.can_ask = True
    desk.person.meanwhile = lambda: desk.disk.put(PATH, b"one\nTWO\nthree\nfar\naway\nfrom\nit\n")
    outcome = await desk.undo(edit_id)
    assert outcome.error is None or isinstance(outcome.error, UndoConflict)
    assert desk.on_disk(PATH) in {b"one\ntwo\nthree\nfar\naway\nfrom\nit\n", b"one\nTWO\nthree\nfar\naway\nfrom\nit\n"}


async def test_what_lies_outside_is_not_undone(desk: Desk):
    edit_id = await desk.applied(PATH, "two", "TWO")
    desk.service.set_folders(["/elsewhere"])
    assert isinstance((await desk.undo(edit_id)).error, OutsideRoots)


async def test_the_session_that_undoes_can_go_on_and_others_are_stale(desk: Desk):
    edit_id = await desk.applied(PATH, "two", "TWO", "a")
    await desk.read(PATH, "b")
    outcome = await desk.undo(edit_id, session_id="a")
    assert outcome.error is None
    assert (await desk.edit(PATH, "two", "2", "a")).error is None
    stale = [event for event in desk.events.published if isinstance(event, BecameStale)]
    assert {event.session_id for event in stale} == {"b"}
    assert [event.edit_id for event in desk.events.published if isinstance(event, DidEdit)][1] == outcome.files[
        0
    ].edit_id


async def test_those_who_saw_the_file_are_told_which_session_took_an_edit_back(desk: Desk):
    edit_id = await desk.applied(PATH, "two", "TWO", "a")
    await desk.read(PATH, "b")
    assert (await desk.undo(edit_id, session_id="c")).error is None
    stale = [event for event in desk.events.published if isinstance(event, BecameStale)]
    assert {(event.session_id, event.source) for event in stale} == {("a", "session:c"), ("b", "session:c")}
    assert isinstance((await desk.edit(PATH, "two", "2", "c")).error, NotRead)


# --- history ----------------------------------------------------------------------------------------------------


async def test_history_is_newest_first_and_knows_what_stands(desk: Desk):
    first = await desk.applied(PATH, "two", "TWO", "a")
    second = await desk.applied(PATH, "one", "ONE", "b")
    undo_id = (await desk.undo(first, session_id="a")).files[0].edit_id
    edits = await desk.service.history(HistoryRequest())
    assert [edit.edit_id for edit in edits] == [undo_id, second, first]
    assert [edit.undone_by for edit in edits] == [None, None, undo_id]
    assert edits[0].undoes == (first,)
    assert "ONE" in edits[1].summary
    assert [edit.edit_id for edit in await desk.service.history(HistoryRequest(session_id="b"))] == [second]
    assert [edit.edit_id for edit in await desk.service.history(HistoryRequest(file_path=PATH, limit=1))] == [undo_id]
    assert await desk.service.history(HistoryRequest(file_path="/w/other")) == ()


async def test_places_of_agents_follow_later_typing(desk: Desk):
    await desk.applied(PATH, "two", "TWO\nMORE")
    uri = desk.editor.open(PATH)
    desk.editor.type(uri, "one", "zero\nhalf\none")
    (place,) = await desk.service.agent_ranges(PATH)
    assert (place.first_line, place.last_line) == (3, 4)
    desk.editor.type(uri, "MORE", "EVEN\nMORE")
    (place,) = await desk.service.agent_ranges(PATH)
    assert (place.first_line, place.last_line) == (3, 5)
