"""History and undo, through the daemon: on the wire, as commands, as code actions, after a restart."""

import os
import resource
import signal
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from fileops_client import FileOpsClient, Options, ResponseError
from support.editor_client import EditorClient, Held, answer, editor_client, within
from support.patience import PATIENCE_S

APPLY, CONFIRM = "workspace/applyEdit", "fileops/confirmEdit"


@pytest.fixture
async def editor(tmp_path: Path) -> AsyncGenerator[EditorClient]:
    literals = {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["refactor"]}}}
    async with editor_client(tmp_path, APPLY, capabilities={"textDocument": {"codeAction": literals}}) as editor:
        yield editor


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.txt"
    path.write_text("one\ntwo\nthree\n")
    return path


async def applied(client: FileOpsClient, path: Path, old: str, new: str, session_id: str | None = None) -> str:
    if old:
        await client.read(path, session_id=session_id)
    result = await client.edit(path, old, new, session_id=session_id)
    assert result.ok, result.output
    return str(result.details.get("edit_id"))


async def undo(editor: EditorClient, **params: Any) -> Any:
    return await editor.client.request("fileops/undo", params)


async def test_history_lists_applied_edits(editor: EditorClient, file: Path):
    """R-UNDO-1."""
    first = await applied(editor.client, file, "two", "TWO", "a")
    second = await applied(editor.client, file, "one", "ONE", "b")
    edits = (await editor.client.request("fileops/history", {}))["edits"]
    assert [edit["edit_id"] for edit in edits] == [second, first]
    assert edits[1]["diff"].endswith(" one\n-two\n+TWO\n three\n")
    assert (edits[1]["undoable"], edits[1]["session_id"], edits[1]["operation"]) == (True, "a", "modify")
    of_a = (await editor.client.request("fileops/history", {"session_id": "a", "file_path": str(file)}))["edits"]
    assert [edit["edit_id"] for edit in of_a] == [first]


async def test_undo_of_an_edit_a_session_or_a_file(editor: EditorClient, file: Path, tmp_path: Path):
    """R-UNDO-2."""
    other = tmp_path / "g.txt"
    other.write_text("alpha\n")
    first = await applied(editor.client, file, "two", "TWO")
    result = await undo(editor, edit_id=first)
    assert (result["status"], result["details"]["undone"]) == ("success", [first])
    assert result["ui_extra"]["diff"].endswith("-TWO\n+two\n three\n")
    assert file.read_text() == "one\ntwo\nthree\n"
    await applied(editor.client, file, "two", "2", "a")
    await applied(editor.client, other, "alpha", "ALPHA", "a")
    dry = await undo(editor, session_id="a", dry_run=True)
    assert (dry["details"]["dry_run"], len(dry["details"]["files"])) == (True, 2)
    assert file.read_text() == "one\n2\nthree\n"
    assert (await undo(editor, session_id="a", file_path=str(file)))["status"] == "success"
    assert (file.read_text(), other.read_text()) == ("one\ntwo\nthree\n", "ALPHA\n")
    assert (await undo(editor, session_id="a"))["status"] == "success"
    assert other.read_text() == "alpha\n"


@pytest.mark.parametrize(
    ("params", "path"),
    [({}, "$"), ({"edit_id": 3}, "$.edit_id"), ({"edit_id": "x", "file_path": "/f"}, "$.file_path"),
     ({"session_id": "a", "everything": True}, "$.everything")],
)  # fmt: skip
async def test_bad_params_are_refused(editor: EditorClient, params: Any, path: str):
    with pytest.raises(ResponseError) as refusal:
        await undo(editor, **params)
    assert refusal.value.code == -32602
    assert refusal.value.data["path"].startswith(path)


async def test_undo_keeps_later_changes_or_conflicts(editor: EditorClient, file: Path):
    """R-UNDO-3."""
    edit_id = await applied(editor.client, file, "two", "TWO")
    file.write_text("zero\none\nTWO\nTHREE\n")
    assert (await undo(editor, edit_id=edit_id))["status"] == "success"
    assert file.read_text() == "zero\none\ntwo\nTHREE\n"
    edit_id = await applied(editor.client, file, "two", "TWO")
    file.write_text("zero\none\nTWOS\nTHREE\n")
    result = await undo(editor, edit_id=edit_id)
    assert (result["status"], result["error"]["code"]) == ("error", "undo_conflict")
    assert result["details"]["ranges"] == [{"start_line": 3, "end_line": 3}]
    assert file.read_text() == "zero\none\nTWOS\nTHREE\n"


async def test_undo_removes_a_created_file_and_its_undo_restores_it(editor: EditorClient, tmp_path: Path):
    """R-UNDO-4."""
    path = tmp_path / "new.txt"
    edit_id = await applied(editor.client, path, "", "a\nb")
    before = path.read_bytes()
    result = await undo(editor, edit_id=edit_id)
    assert not path.exists()
    assert "+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n\\ No newline at end of file\n" in result["ui_extra"]["diff"]
    assert (await undo(editor, edit_id=result["details"]["edit_id"]))["details"]["files"][0]["outcome"] == "created"
    assert path.read_bytes() == before


async def test_undo_is_notified_approved_and_applied_to_the_buffer(tmp_path: Path, file: Path):
    """R-UNDO-5."""
    async with editor_client(tmp_path, APPLY, CONFIRM) as editor:
        edit_id = await applied(editor.client, file, "two", "TWO", "a")
        await editor.client.read(file, session_id="b")
        editor.open(file)
        editor.type(file, "one", "uno")
        editor.confirm = answer({"outcome": "cancel"})
        assert (await undo(editor, edit_id=edit_id))["error"]["code"] == "rejected"
        editor.confirm = answer({"outcome": "proceed_once"})
        with editor.client.events("fileops/didEdit") as events:
            result = await undo(editor, edit_id=edit_id, session_id="a")
            assert (await events.next(timeout_s=PATIENCE_S)).edit_id == result["details"]["edit_id"]
        assert result["details"]["applied_to"] == "buffer"
        assert f"{file} is open with unsaved changes" in result["output"]
        assert (editor.text(file), file.read_text()) == ("uno\ntwo\nthree\n", "one\nTWO\nthree\n")
        assert len(editor.questions) == 3


@pytest.mark.parametrize("names_session", [False, True])
async def test_undo_already_approved_is_not_asked_about(tmp_path: Path, names_session: bool):
    """R-UNDO-11."""
    protected = tmp_path / ".env"
    protected.write_text("KEY=1\n")
    async with editor_client(tmp_path, APPLY, CONFIRM) as editor:
        edit_id = await applied(editor.client, protected, "1", "2", "a")
        n_asked = len(editor.questions)
        editor.confirm = answer({"outcome": "cancel"})
        assert (await undo(editor, edit_id=edit_id, approved=False))["error"]["code"] == "rejected"
        assert len(editor.questions) == n_asked + 1
        of = {"session_id": "a"} if names_session else {"edit_id": edit_id}
        with editor.client.events("fileops/didBecomeStale") as stale:
            assert (await undo(editor, **of, approved=True))["status"] == "success"
            assert (await stale.next(timeout_s=20)).session_id == "a"
        assert len(editor.questions) == n_asked + 1
        assert protected.read_text() == "KEY=1\n"
        newest = (await editor.client.history(limit=1))[0]
        assert (newest.session_id, newest.undoes) == ("", (edit_id,))


async def test_undo_approved_for_a_session_is_recorded_for_it(tmp_path: Path, file: Path):
    """R-UNDO-11."""
    async with editor_client(tmp_path, APPLY, CONFIRM) as editor:
        edit_id = await applied(editor.client, file, "two", "TWO", "a")
        editor.confirm = answer({"outcome": "cancel"})
        result = await editor.client.undo(edit_id=edit_id, session_id="b", approved=True)
        assert result.ok, result.output
        assert (await editor.client.history(limit=1))[0].session_id == "b"


async def test_undo_of_a_session_that_fails_in_one_file_changes_none(editor: EditorClient, file: Path, tmp_path: Path):
    """R-UNDO-2."""
    other = tmp_path / "g.txt"
    other.write_text("alpha\n")
    await applied(editor.client, file, "two", "TWO", "a")
    await applied(editor.client, other, "alpha", "ALPHA", "a")
    editor.open(file)
    editor.type(file, "one", "uno")
    editor.apply = answer({"applied": False, "failureReason": "read-only"})
    result = await undo(editor, session_id="a")
    assert result["error"]["code"] == "apply_refused"
    assert result["details"] == {"file_path": str(file), "undone": [], "files": []}
    assert result["error"]["message"].endswith(f"It was {file}. No file was changed.")
    assert (editor.text(file), file.read_text()) == ("uno\nTWO\nthree\n", "one\nTWO\nthree\n")
    assert other.read_text() == "ALPHA\n"


async def test_undo_is_recorded_for_the_requesting_session(editor: EditorClient, file: Path):
    """R-UNDO-2."""
    edit_id = await applied(editor.client, file, "two", "TWO", "a")
    assert (await undo(editor, edit_id=edit_id, session_id="b"))["status"] == "success"
    newest = (await editor.client.request("fileops/history", {"limit": 1}))["edits"][0]
    assert (newest["session_id"], newest["undoes"]) == ("b", [edit_id])


async def test_unknown_and_repeated_undos_are_refused(editor: EditorClient, file: Path):
    """R-UNDO-6."""
    edit_id = await applied(editor.client, file, "two", "TWO")
    await undo(editor, edit_id=edit_id)
    for params in ({"edit_id": edit_id}, {"edit_id": "unknown"}, {"session_id": "nobody"}):
        assert (await undo(editor, **params))["error"]["code"] == "undo_conflict"
    assert file.read_text() == "one\ntwo\nthree\n"


# --- any LSP editor ---------------------------------------------------------------------------------------------


async def command(editor: EditorClient, name: str, *arguments: Any) -> Any:
    return await editor.client.request("workspace/executeCommand", {"command": name, "arguments": list(arguments)})


async def test_commands_undo_edits(editor: EditorClient, file: Path):
    """R-UNDO-8."""
    provided = editor.client.capabilities["executeCommandProvider"]["commands"]
    assert {"fileops.keep", "fileops.undo"} <= set(provided)
    first = await applied(editor.client, file, "two", "TWO", "a")
    assert (await command(editor, "fileops.undo", {"edit_id": first}))["status"] == "success"
    assert file.read_text() == "one\ntwo\nthree\n"
    with editor.client.events("window/showMessage") as events:
        assert (await command(editor, "fileops.undo", {"edit_id": first}))["status"] == "error"
        assert "fileops" in (await events.next(timeout_s=PATIENCE_S)).params["message"]


async def test_commands_run_by_the_user_require_no_approval(tmp_path: Path, file: Path):
    """R-UNDO-8."""
    async with editor_client(tmp_path, APPLY, CONFIRM) as editor:
        edit_id = await applied(editor.client, file, "two", "TWO", "a")
        editor.confirm = answer({"outcome": "cancel"})
        assert (await command(editor, "fileops.undo", {"edit_id": edit_id}))["status"] == "success"
        assert file.read_text() == "one\ntwo\nthree\n"


async def test_long_command_reports_progress(editor: EditorClient, file: Path):
    """R-CANCEL-2."""
    edit_id = await applied(editor.client, file, "two", "TWO")
    editor.open(file)
    editor.type(file, "one", "uno")
    held = Held(editor.oblige)
    editor.apply = held
    with editor.client.events("$/progress") as progress:
        params = {"command": "fileops.undo", "arguments": [{"edit_id": edit_id}], "workDoneToken": "t"}
        undoing = editor.client.begin("workspace/executeCommand", params)
        begun = (await progress.next(timeout_s=PATIENCE_S)).params
        assert begun == {"token": "t", "value": {"kind": "begin", "title": "Undoing edits", "cancellable": True}}
        held.unlock_and_close_later.set()
        assert (await within(undoing))["status"] == "success"
        assert (await progress.next(timeout_s=PATIENCE_S)).params == {"token": "t", "value": {"kind": "end"}}


@pytest.mark.parametrize("arguments", [[], [{}], [{"edit_id": 3}], [{"edit_id": "e", "change_ids": []}], ["a", "b"]])
async def test_bad_commands_are_refused(editor: EditorClient, arguments: list[Any]):
    for name in ("fileops.undo", "fileops.other"):
        with pytest.raises(ResponseError) as refusal:
            await command(editor, name, *arguments)
        assert refusal.value.code == -32602


async def actions_at(editor: EditorClient, file: Path, line: int, **context: Any) -> Any:
    place = {"line": line, "character": 0}
    return await editor.client.request(
        "textDocument/codeAction",
        {
            "textDocument": {"uri": file.as_uri()},
            "range": {"start": place, "end": place},
            "context": {"diagnostics": [], **context},
        },
    )


async def test_code_actions_follow_the_lines(editor: EditorClient, file: Path):
    """R-UNDO-9."""
    edit_id = await applied(editor.client, file, "two", "TWO")
    editor.open(file)
    assert await actions_at(editor, file, 0) == []
    (action,) = await actions_at(editor, file, 1)
    assert action["title"].startswith("Undo (")
    editor.type(file, "one", "zero\nhalf\none")
    assert await actions_at(editor, file, 1) == []
    (action,) = await actions_at(editor, file, 3, only=["refactor"])
    assert await actions_at(editor, file, 3, only=["quickfix"]) == []
    result = await command(editor, action["command"]["command"], *action["command"]["arguments"])
    assert result["details"]["undone"] == [edit_id]
    assert editor.text(file) == "zero\nhalf\none\ntwo\nthree\n"
    assert await actions_at(editor, file, 3) == []


async def test_code_lenses_are_off_by_default(tmp_path: Path, file: Path):
    async with editor_client(tmp_path) as editor:
        assert "codeLensProvider" not in editor.client.capabilities
    async with editor_client(tmp_path, options={"code_lens": True}) as editor:
        await applied(editor.client, file, "two", "TWO\nMORE")
        params = {"textDocument": {"uri": file.as_uri()}}
        (lens,) = await editor.client.request("textDocument/codeLens", params)
        assert (lens["range"]["start"]["line"], lens["range"]["end"]["line"]) == (1, 2)
        assert lens["command"]["command"] == "fileops.undo"


# --- kept on disk -----------------------------------------------------------------------------------------------


async def test_persistent_history_survives_a_crash(tmp_path: Path):
    """R-UNDO-7."""
    if sys.platform != "linux":
        raise pytest.skip.Exception("limits of another process are Linux's")
    file, state = tmp_path / "project" / "f.txt", tmp_path / "state"
    file.parent.mkdir()
    file.write_text("one\ntwo\nthree\n")
    env = {"XDG_STATE_HOME": str(state)}
    options: Options = {"history": "persistent"}
    async with FileOpsClient.start(root=file.parent, env=env, initialization_options=options) as client:
        edit_id = await applied(client, file, "two", "TWO", "a")
        os.kill(client.pid, signal.SIGKILL)
    kept = [path for path in state.rglob("*") if path.is_file()]
    assert kept
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}
    file.write_text("zero\none\nTWO\nthree\n")
    async with FileOpsClient.start(root=file.parent, env=env, initialization_options=options) as client:
        edits = (await client.request("fileops/history", {"session_id": "a"}))["edits"]
        assert [edit["edit_id"] for edit in edits] == [edit_id]
        assert (await client.request("fileops/undo", {"edit_id": edit_id}))["status"] == "success"
    assert file.read_text() == "zero\none\ntwo\nthree\n"
    async with FileOpsClient.start(root=file.parent, env=env, initialization_options=options) as client:
        redo, undone = (await client.request("fileops/history", {}))["edits"]
        assert (redo["undoes"], undone["undone_by"]) == ([edit_id], redo["edit_id"])
        assert (await client.request("fileops/undo", {"session_id": "default"}))["error"]["code"] == "undo_conflict"


async def test_edit_undone_by_another_daemon_is_not_undone_again(tmp_path: Path):
    """R-UNDO-6, R-UNDO-7: both know the edit from the history that they share."""
    file, env = tmp_path / "project" / "f.txt", {"XDG_STATE_HOME": str(tmp_path / "state")}
    file.parent.mkdir()
    file.write_text("x = f(a, b)\n")
    options: Options = {"history": "persistent"}
    async with FileOpsClient.start(root=file.parent, env=env, initialization_options=options) as client:
        edit_id = await applied(client, file, "f(a, b)", "f(a)", "a")
    async with (
        FileOpsClient.start(root=file.parent, env=env, initialization_options=options) as one,
        FileOpsClient.start(root=file.parent, env=env, initialization_options=options) as other,
    ):
        for client in (one, other):
            assert len((await client.request("fileops/history", {}))["edits"]) == 1
        first = await one.request("fileops/undo", {"edit_id": edit_id})
        assert first["details"]["edit_id"] is not None
        second = await other.request("fileops/undo", {"edit_id": edit_id})
        assert second["details"]["reason"] == "already_undone"
    assert file.read_text() == "x = f(a, b)\n"


async def test_history_on_a_full_disk_continues_and_is_reported(tmp_path: Path):
    """R-UNDO-7."""
    if sys.platform != "linux":
        raise pytest.skip.Exception("limits of another process are Linux's")
    file, state = tmp_path / "project" / "f.txt", tmp_path / "state"
    file.parent.mkdir()
    file.write_text("one\ntwo\nthree\n")
    env = {"XDG_STATE_HOME": str(state)}
    options: Options = {"history": "persistent"}
    async with FileOpsClient.start(root=file.parent, env=env, initialization_options=options) as client:
        with client.events("window/showMessage") as events:
            first = await applied(client, file, "one", "1", "a")
            _, most = resource.prlimit(client.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(client.pid, resource.RLIMIT_FSIZE, (1000, most))
            second = await applied(client, file, "two", "2", "a")
            assert "cannot be kept" in (await events.next(timeout_s=20)).params["message"]
            resource.prlimit(client.pid, resource.RLIMIT_FSIZE, (most, most))
            third = await applied(client, file, "three", "3", "a")
            assert "on disk again" in (await events.next(timeout_s=20)).params["message"]
        os.kill(client.pid, signal.SIGKILL)
    async with FileOpsClient.start(root=file.parent, env=env, initialization_options=options) as client:
        edits = (await client.request("fileops/history", {"session_id": "a"}))["edits"]
        assert [edit["edit_id"] for edit in edits] == [third, second, first]
        assert (await client.request("fileops/undo", {"session_id": "a"}))["status"] == "success"
    assert file.read_text() == "one\ntwo\nthree\n"


async def test_history_is_kept_again_after_its_record_could_not_be_made(tmp_path: Path):
    """R-UNDO-7. The disk is full when the first edit would make the record."""
    if sys.platform != "linux":
        raise pytest.skip.Exception("limits of another process are Linux's")
    file = tmp_path / "project" / "f.txt"
    file.parent.mkdir()
    file.write_text("one\ntwo\n")
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    options: Options = {"history": "persistent"}
    async with FileOpsClient.start(root=file.parent, env=env, initialization_options=options) as client:
        with client.events("window/showMessage") as events:
            _, most = resource.prlimit(client.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(client.pid, resource.RLIMIT_FSIZE, (1000, most))
            first = await applied(client, file, "one", "1", "a")
            assert "in memory for now" in (await events.next(timeout_s=20)).params["message"]
            resource.prlimit(client.pid, resource.RLIMIT_FSIZE, (most, most))
            second = await applied(client, file, "two", "2", "a")
            assert "on disk again" in (await events.next(timeout_s=20)).params["message"]
        os.kill(client.pid, signal.SIGKILL)
    async with FileOpsClient.start(root=file.parent, env=env, initialization_options=options) as client:
        edits = (await client.request("fileops/history", {"session_id": "a"}))["edits"]
        assert [edit["edit_id"] for edit in edits] == [second, first]


async def test_history_is_not_persistent_by_default(tmp_path: Path):
    file, state = tmp_path / "project" / "f.txt", tmp_path / "state"
    file.parent.mkdir()
    file.write_text("one\n")
    async with FileOpsClient.start(root=file.parent, env={"XDG_STATE_HOME": str(state)}) as client:
        await applied(client, file, "one", "ONE")
    assert not list(state.rglob("*.db"))
