"""Approval, through the daemon: who is asked when, what an answer does, and what no answer does."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fileops_client import PendingCall, ResponseError
from support.editor_client import EditorClient, Held, answer, editor_client, within
from support.patience import PATIENCE_S

CONFIRM, MESSAGE, APPLY = "fileops/confirmEdit", "window/showMessageRequest", "workspace/applyEdit"
FILLER = "".join(f"{n}\n" for n in range(20))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.txt"
    path.write_text(f"one\n{FILLER}two\n")
    return path


async def edit(editor: EditorClient, file: Path, old: str = "one", new: str = "ONE", **more: Any) -> Any:
    await editor.client.read(file, session_id=more.get("session_id"))
    return await editor.client.edit(file, old, new, **more)


@asynccontextmanager
async def asked_about_an_edit(tmp_path: Path, file: Path) -> AsyncGenerator[tuple[EditorClient, Held, PendingCall]]:
    """An editor that is asked about an edit of "one" to "1"; it accepts when `unlock_and_close_later` is set."""
    async with editor_client(tmp_path, CONFIRM) as editor:
        held = editor.confirm = Held(answer({"outcome": "proceed_once"}))
        await editor.client.read(file)
        call = editor.client.begin("fileops/edit", {"file_path": str(file), "old_string": "one", "new_string": "1"})
        await within(held.asked.wait())
        yield editor, held, call


def both(editor: EditorClient, file: Path) -> dict[str, Any]:
    edits = [{"old_string": "one", "new_string": "ONE"}, {"old_string": "two", "new_string": "TWO"}]
    return {"file_path": str(file), "edits": edits}


async def test_question_shows_the_proposed_content(tmp_path: Path, file: Path):
    """R-APPROVE-1."""
    async with editor_client(tmp_path, CONFIRM) as editor:
        result = await edit(editor, file, session_id="s")
        assert result.ok
        (question,) = editor.questions
        assert question["file_path"] == str(file)
        assert (question["session_id"], question["operation"]) == ("s", "modify")
        assert question["original_text"] == f"one\n{FILLER}two\n"
        assert question["proposed_text"] == f"ONE\n{FILLER}two\n"
        assert (question["original_label"], question["proposed_label"]) == ("Current", "Proposed")
        assert question["diff"] == result.ui_extra.diff
        assert [line["text"] for line in question["hunks"][0]["lines"] if line["kind"] == "+"] == ["ONE"]
        assert question["title"] == f"Confirm Edit: {file.name}"
        assert question["description"]
        assert file.read_text().startswith("ONE")


async def test_title_of_a_question_has_the_path_in_the_folder(tmp_path: Path) -> None:
    """Two files of one name look alike otherwise."""
    file = tmp_path / "shop" / "index.js"
    file.parent.mkdir()
    file.write_text(f"one\n{FILLER}two\n")
    async with editor_client(tmp_path, CONFIRM) as editor:
        edited = await edit(editor, file)
        assert (await editor.client.undo(edit_id=edited.details["edit_id"])).ok
        assert [question["title"] for question in editor.questions] == [
            "Confirm Edit: shop/index.js", "Undo 1 edit in shop/index.js",
        ]  # fmt: skip


@pytest.mark.parametrize("reply", [{"outcome": "proceed"}, {"outcome": "modify", "text": 3}, None], ids=str)
async def test_unclear_answer_writes_nothing(tmp_path: Path, file: Path, reply: Any):
    """R-APPROVE-5: it is no decision."""
    before = file.stat()
    async with editor_client(tmp_path, CONFIRM) as editor:
        editor.confirm = answer(reply)
        result = await edit(editor, file)
        assert result.error.code == "undecided"
        assert (file.stat().st_mtime_ns, file.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
        editor.confirm = answer({"outcome": "proceed_once"})
        assert (await editor.client.edit(file, "one", "ONE")).ok  # the refusal has not made the file unread


async def test_error_as_answer_decides_nothing(tmp_path: Path, file: Path):
    async def fails(params: Any) -> Any:
        raise RuntimeError("no window")

    async with editor_client(tmp_path, CONFIRM) as editor:
        editor.confirm = fails
        assert (await edit(editor, file)).error.code == "undecided"


async def test_question_that_times_out_is_withdrawn_and_writes_nothing(tmp_path: Path, file: Path):
    for timeout_s in (0.05, 1.0, 10.0):  # on a busy machine it may be withdrawn before the editor has seen it
        async with editor_client(tmp_path, CONFIRM, options={"approval_timeout_s": timeout_s}) as editor:
            held = editor.confirm = Held(answer({"outcome": "proceed_once"}))
            result = await edit(editor, file)
            assert result.error.code == "approval_timeout"
            assert file.read_text().startswith("one")
            assert (await editor.client.read(file)).ok
            if held.asked.is_set():
                await within(held.withdrawn.wait())
                return
    pytest.fail("the editor was never asked in time")


async def test_answer_after_the_timeout_has_no_effect(tmp_path: Path, file: Path):
    async def stubborn(params: Any) -> Any:
        while True:
            try:
                await unlock_and_close_later.wait()
            except asyncio.CancelledError:
                continue
            return {"outcome": "proceed_once"}

    unlock_and_close_later = asyncio.Event()
    async with editor_client(tmp_path, CONFIRM, options={"approval_timeout_s": 0.05}) as editor:
        editor.confirm = stubborn
        assert (await edit(editor, file)).error.code == "approval_timeout"
        unlock_and_close_later.set()
        await editor.client.tools()
        assert file.read_text().startswith("one")


async def test_always_ends_the_questions_of_its_session_only(tmp_path: Path, file: Path):
    """R-APPROVE-3."""
    async with editor_client(tmp_path, CONFIRM) as editor:
        editor.confirm = answer({"outcome": "proceed_always"})
        assert (await edit(editor, file, session_id="a")).ok
        assert (await edit(editor, file, "two", "TWO", session_id="a")).ok
        assert len(editor.questions) == 1
        assert (await edit(editor, file, "ONE", "1", session_id="b")).ok
        assert len(editor.questions) == 2


async def test_text_modified_by_the_user_is_written_and_reported_to_the_model(tmp_path: Path):
    """R-APPROVE-4."""
    path = tmp_path / "odd.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\nx\xff\n")
    async with editor_client(tmp_path, CONFIRM) as editor:
        editor.confirm = answer({"outcome": "modify", "text": "uno\ntwo\nx\ufffd\nmore\n"})
        result = await edit(editor, path)
        assert path.read_bytes() == b"\xef\xbb\xbfuno\r\ntwo\nx\xff\nmore\n"
        assert result.details["modified_by_user"] is True
        assert "User modified the proposed change. What was written:" in result.output
        assert "+\ufeffuno\r\n" in result.ui_extra.diff
        assert result.ui_extra.diff in result.output
        editor.confirm = answer({"outcome": "proceed_once"})
        assert (await editor.client.edit(path, "two", "2")).ok


async def test_modified_text_equal_to_the_original_writes_nothing(tmp_path: Path, file: Path):
    async with editor_client(tmp_path, CONFIRM) as editor:
        editor.confirm = answer({"outcome": "modify", "text": file.read_text()})
        assert (await edit(editor, file)).error.code == "rejected"


async def test_modified_text_equal_to_the_proposal_is_no_modification(tmp_path: Path):
    path = tmp_path / "crlf.txt"
    path.write_bytes(b"one\r\ntwo three\r\n")
    async with editor_client(tmp_path, CONFIRM) as editor:

        async def as_proposed(params: Any) -> Any:
            return {"outcome": "modify", "text": params["proposed_text"].replace("\r\n", "\n")}

        editor.confirm = as_proposed
        result = await edit(editor, path, "one\ntwo", "1\n2\n3")
        assert result.details["modified_by_user"] is False
        assert "User modified" not in result.output
        assert path.read_bytes() == b"1\r\n2\r\n3 three\r\n"


async def test_always_keeps_a_mode_that_was_set_during_the_question(tmp_path: Path, file: Path):
    async with editor_client(tmp_path, CONFIRM) as editor:
        held = editor.confirm = Held(answer({"outcome": "proceed_always"}))
        editing = asyncio.create_task(edit(editor, file))
        await within(held.asked.wait())
        await editor.client.set_approval_mode("yolo")
        held.unlock_and_close_later.set()
        assert (await within(editing)).ok
        assert await editor.client.approval_mode() == "yolo"


async def test_always_for_a_closed_session_holds_for_that_edit_alone(tmp_path: Path):
    """R-APPROVE-9."""
    async with editor_client(tmp_path, CONFIRM) as editor:
        held = editor.confirm = Held(answer({"outcome": "proceed_always"}))
        creating = asyncio.create_task(editor.client.edit(tmp_path / "new.txt", "", "one\n", session_id="s"))
        await within(held.asked.wait())
        await editor.client.close_session("s")
        held.unlock_and_close_later.set()
        assert (await within(creating)).ok
        assert await editor.client.approval_mode(session_id="s") == "default"
        assert await editor.client.tracked(session_id="s") == ()
        assert (await editor.client.edit(tmp_path / "new.txt", "one", "1", session_id="s")).code == "not_read"


async def test_always_for_an_undo_of_a_closed_session_does_not_affect_the_next_one(tmp_path: Path, file: Path):
    """R-APPROVE-9."""
    async with editor_client(tmp_path, CONFIRM) as editor:
        assert (await edit(editor, file, session_id="s")).ok
        held = editor.confirm = Held(answer({"outcome": "proceed_always"}))
        undoing = editor.client.begin("fileops/undo", {"session_id": "s"})
        await within(held.asked.wait())
        await editor.client.close_session("s")
        held.unlock_and_close_later.set()
        assert (await within(undoing))["status"] == "success"
        assert await editor.client.approval_mode(session_id="s") == "default"
        assert await editor.client.tracked(session_id="s") == ()


async def test_file_that_changed_near_the_edit_is_asked_about_again(tmp_path: Path, file: Path):
    """R-REV-8: the decision held for what was shown."""
    async with asked_about_an_edit(tmp_path, file) as (editor, held, call):
        file.write_text("moved one\n")
        editor.confirm = again = Held(answer({"outcome": "cancel"}))
        held.unlock_and_close_later.set()
        await within(again.asked.wait())
        assert editor.questions[-1]["proposed_text"] == "moved 1\n"
        again.unlock_and_close_later.set()
        assert (await within(call))["error"]["code"] == "rejected"
        assert file.read_text() == "moved one\n"


async def test_approval_of_what_is_left_of_an_edit_is_reported_as_changed_by_the_user(tmp_path: Path, file: Path):
    """R-REV-8: the model learns that a part of its edit was not written."""
    async with editor_client(tmp_path, CONFIRM) as editor:
        held = editor.confirm = Held(answer({"outcome": "proceed_once"}))
        await editor.client.read(file)
        call = editor.client.begin("fileops/multiEdit", both(editor, file))
        await within(held.asked.wait())
        file.write_text(f"un\n{FILLER}two\n")
        editor.confirm = again = Held(answer({"outcome": "proceed_once"}))
        held.unlock_and_close_later.set()
        await within(again.asked.wait())
        assert editor.questions[-1]["proposed_text"] == f"un\n{FILLER}TWO\n"
        again.unlock_and_close_later.set()
        result = await within(call)
        assert (result["error"], result["details"]["modified_by_user"]) == (None, True)
        assert "User modified the proposed change" in result["output"]
        assert file.read_text() == f"un\n{FILLER}TWO\n"


@pytest.mark.parametrize("freshness", ["mtime", "content", "relevant"])
async def test_changes_of_others_stay_unseen_to_a_session_whose_edit_was_asked_about_again(
    tmp_path: Path, file: Path, freshness: str
):
    """R-REV-8: the person has seen the present file, and not the model, which may not replace it."""
    async with editor_client(tmp_path, CONFIRM, options={"freshness": freshness}) as editor:
        held = editor.confirm = Held(answer({"outcome": "proceed_once"}))
        await editor.client.read(file)
        call = editor.client.begin("fileops/edit", {"file_path": str(file), "old_string": "one", "new_string": "1"})
        await within(held.asked.wait())
        file.write_text(f"moved one\n{FILLER}deux\n")
        editor.confirm = again = Held(answer({"outcome": "proceed_once"}))
        held.unlock_and_close_later.set()
        await within(again.asked.wait())
        again.unlock_and_close_later.set()
        result = await within(call)
        assert result["details"]["rebased"]["changed_by"] == "external"
        assert file.read_text() == f"moved 1\n{FILLER}deux\n"
        assert (await editor.client.edit(file, "two", "2")).code == "modified_externally"
        whole = {"file_path": str(file), "content": f"1\n{FILLER}2\n"}
        assert (await editor.client.request("fileops/write", whole))["error"]["code"] == "modified_externally"


async def test_decision_is_merged_with_a_change_elsewhere_which_stays_unseen(tmp_path: Path, file: Path):
    """R-REV-8, under `freshness: "mtime"`: both changes are in the file, and the session has to read the other."""
    async with asked_about_an_edit(tmp_path, file) as (editor, held, call):
        file.write_text(file.read_text() + "theirs\n")
        held.unlock_and_close_later.set()
        result = await within(call)
        assert result["error"] is None
        assert result["details"]["rebased"]["changed_by"] == "external"
        assert "Read the file before you edit it again." in result["output"]
        assert file.read_text() == f"1\n{FILLER}two\ntheirs\n"
        assert (await editor.client.edit(file, "two", "2")).code == "modified_externally"
        await editor.client.read(file)
        assert (await editor.client.edit(file, "two", "2")).ok


async def test_file_touched_during_the_question_is_written_as_decided(tmp_path: Path, file: Path):
    """R-REV-8: its content is what was shown."""
    async with asked_about_an_edit(tmp_path, file) as (_editor, held, call):
        os.utime(file, ns=(1, 1))
        held.unlock_and_close_later.set()
        assert (await within(call))["error"] is None
        assert file.read_text().startswith("1\n")


async def test_file_deleted_during_the_question_is_not_created_again(tmp_path: Path, file: Path):
    async with asked_about_an_edit(tmp_path, file) as (_editor, held, call):
        file.unlink()
        held.unlock_and_close_later.set()
        assert (await within(call))["status"] == "error"
        assert not file.exists()


async def test_cancelled_edit_withdraws_its_question(tmp_path: Path, file: Path):
    """R-APPROVE-6."""
    async with asked_about_an_edit(tmp_path, file) as (_editor, held, call):
        call.cancel()
        with pytest.raises(ResponseError) as refusal:
            await within(call)
        assert refusal.value.code == -32800
        await within(held.withdrawn.wait())
        assert file.read_text().startswith("one")


async def test_pending_question_holds_no_lock(tmp_path: Path, file: Path):
    async with asked_about_an_edit(tmp_path, file) as (editor, held, first):
        assert (await editor.client.read(file)).ok
        editor.confirm = answer({"outcome": "proceed_once"})
        assert (await editor.client.edit(file, "two", "2")).ok
        held.unlock_and_close_later.set()
        assert (await within(first))["status"] == "success"
        assert file.read_text() == f"1\n{FILLER}2\n"


async def test_approval_does_not_hold_for_another_target_of_a_changed_link(tmp_path: Path, file: Path):
    other, link = tmp_path / "other.txt", tmp_path / "link"
    other.write_text(file.read_text())
    link.symlink_to(file)
    async with editor_client(tmp_path, CONFIRM) as editor:
        await editor.client.read(file)
        await editor.client.read(other)
        held = editor.confirm = Held(answer({"outcome": "proceed_once"}))
        editing = editor.client.begin("fileops/edit", {"file_path": str(link), "old_string": "one", "new_string": "1"})
        await within(held.asked.wait())
        link.unlink()
        link.symlink_to(other)
        editor.confirm = answer({"outcome": "cancel"})
        held.unlock_and_close_later.set()
        assert (await within(editing))["error"]["code"] == "rejected"
        assert len(editor.questions) == 2
        assert file.read_text() == other.read_text() == f"one\n{FILLER}two\n"


async def test_client_that_dies_during_a_question_leaves_the_file_unchanged(tmp_path: Path, file: Path):
    async with asked_about_an_edit(tmp_path, file) as (editor, _held, call):
        pid = editor.client.pid
        await within(editor.client.close())
        call.cancel()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert file.read_text().startswith("one")
    assert os.listdir(tmp_path) == ["f.txt"]


async def test_creation_requires_approval(tmp_path: Path):
    path = tmp_path / "sub" / "new.txt"
    async with editor_client(tmp_path, CONFIRM) as editor:
        editor.confirm = answer({"outcome": "cancel"})
        assert (await editor.client.edit(path, "", "text\n")).error is not None
        assert not path.parent.exists()
        editor.confirm = answer({"outcome": "modify", "text": "mine\r\n"})
        result = await editor.client.edit(path, "", "text\n")
        assert (editor.questions[0]["operation"], editor.questions[0]["original_text"]) == ("create", "")
        assert result.details.get("created") is True
        assert path.read_bytes() == b"mine\r\n"


async def test_dry_run_requires_no_approval(tmp_path: Path, file: Path):
    async with editor_client(tmp_path, CONFIRM) as editor:
        await editor.client.read(file)
        assert (await editor.client.edit(file, "one", "1", dry_run=True)).ok
        assert editor.questions == []


async def test_failing_edit_requires_no_approval(tmp_path: Path, file: Path):
    async with editor_client(tmp_path, CONFIRM) as editor:
        assert not (await edit(editor, file, "absent", "x")).ok
        assert editor.questions == []


async def test_client_without_the_capability_is_never_asked(tmp_path: Path, file: Path):
    async with editor_client(
        tmp_path, CONFIRM, capabilities={"experimental": {"fileops": {"confirm_edit": False}}}
    ) as editor:
        assert (await edit(editor, file)).ok
        assert editor.questions == []


async def test_edit_of_an_unsaved_document_requires_approval(tmp_path: Path, file: Path):
    async with editor_client(tmp_path, CONFIRM, APPLY) as editor:
        editor.open(file)
        editor.type(file, "two", "deux")
        editor.confirm = answer({"outcome": "modify", "text": f"uno\n{FILLER}deux\n"})
        result = await edit(editor, file)
        assert (result.ok, result.details["applied_to"]) == (True, "buffer")
        assert editor.text(file) == f"uno\n{FILLER}deux\n"


async def test_decision_is_merged_with_text_that_was_typed_into_the_document(tmp_path: Path, file: Path):
    """R-REV-8."""
    async with editor_client(tmp_path, CONFIRM, APPLY) as editor:
        editor.open(file)
        held = editor.confirm = Held(answer({"outcome": "proceed_once"}))
        await editor.client.read(file)
        call = editor.client.begin("fileops/edit", {"file_path": str(file), "old_string": "one", "new_string": "1"})
        await within(held.asked.wait())
        editor.type(file, "two", "deux")
        held.unlock_and_close_later.set()
        result = await within(call)
        assert (result["error"], result["details"]["rebased"]["changed_by"]) == (None, "buffer")
        assert editor.text(file) == f"1\n{FILLER}deux\n"


# --- modes ------------------------------------------------------------------------------------------------------


async def test_auto_edit_asks_for_protected_paths_only(tmp_path: Path, file: Path):
    """R-APPROVE-7."""
    async with editor_client(tmp_path, CONFIRM, options={"approval_mode": "auto_edit"}) as editor:
        assert (await edit(editor, file)).ok
        assert editor.questions == []
        for name in (".env", ".git/config", ".github/workflows/ci.yml"):
            assert (await editor.client.edit(tmp_path / name, "", "x\n")).ok
        assert len(editor.questions) == 3


async def test_approval_mode_can_be_set_and_requested(tmp_path: Path, file: Path):
    """R-APPROVE-9."""
    async with editor_client(tmp_path, CONFIRM) as editor:

        async def mode_of(session_id: str) -> str:
            return (await editor.client.request("fileops/approvalMode", {"session_id": session_id}))["mode"]

        with editor.client.events("fileops/approvalMode") as events:
            told = await editor.client.request("fileops/setApprovalMode", {"mode": "yolo", "session_id": "a"})
            assert told == {"session_id": "a", "mode": "yolo"}
            assert (await events.next(timeout_s=PATIENCE_S)).params == told
        assert (await mode_of("a"), await mode_of("b")) == ("yolo", "default")
        assert (await edit(editor, file, session_id="a")).ok
        assert editor.questions == []
        with pytest.raises(ResponseError) as refusal:
            await editor.client.request("fileops/setApprovalMode", {"mode": "sudo"})
        assert refusal.value.code == -32602


# --- a plain LSP client -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chosen", "written", "asked_twice"),
    [({"title": "Apply"}, True, True), ({"title": "Always"}, True, False), ({"title": "Reject"}, False, True),
     (None, False, True)],
)  # fmt: skip
async def test_client_without_approvals_is_asked_by_a_message(
    tmp_path: Path, file: Path, chosen: Any, written: bool, asked_twice: bool
):
    """R-APPROVE-8."""
    async with editor_client(tmp_path, MESSAGE, options={"approval_fallback": "message"}) as editor:
        editor.message = answer(chosen)
        assert (await edit(editor, file)).ok == written
        assert file.read_text().startswith("ONE") == written
        (asked,) = editor.messages
        assert [action["title"] for action in asked["actions"]] == ["Apply", "Always", "Reject"]
        assert "f.txt" in asked["message"]
        await edit(editor, file, "two", "TWO")
        assert (len(editor.messages) == 2) == asked_twice


async def test_plain_client_without_the_fallback_is_not_asked(tmp_path: Path, file: Path):
    async with editor_client(tmp_path, MESSAGE) as editor:
        assert (await edit(editor, file)).ok
        assert editor.messages == []
