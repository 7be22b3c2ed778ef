"""The requests and notifications of docs/PROTOCOL.md that other files of the suite leave out, through pytest-lsp.

What each of them means is the business of other tests; here it is that the daemon serves or sends it.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import ClientServerConfig

from support.daemon_process import place
from support.lsp_client import SUITE, FileOpsClient, serving
from support.patience import PATIENCE_S

pytestmark = SUITE


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntwo\nthree\n")
    return path


def asks(**capabilities: bool) -> types.ClientCapabilities:
    return types.ClientCapabilities(experimental={"fileops": capabilities})


async def test_files_of_a_session_are_recorded_listed_and_forgotten(file: Path) -> None:
    async with serving() as client:
        await client.start_session()
        assert (await client.call("recordRead", file_path=str(file)))["recorded"]
        assert (await client.call("conflicts")) == {"conflicts": []}
        assert [entry["n_reads"] for entry in (await client.call("sessionFiles"))["files"]] == [1]
        assert (await client.call("forget", file_path=str(file)))["forgotten"]
        assert await client.call("resetSession") is None
        assert (await client.call("sessionFiles"))["files"] == []


async def test_write_history_undo_statistics_and_modes(file: Path) -> None:
    async with serving() as client:
        await client.start_session()
        await client.call("read", file_path=str(file))
        edit_id = (await client.call("write", file_path=str(file), content="one\n"))["details"]["edit_id"]
        assert [entry["edit_id"] for entry in (await client.call("history"))["edits"]] == [edit_id]
        assert (await client.call("undo", edit_id=edit_id))["details"]["undone"] == [edit_id]
        assert (await client.call("stats"))["edits"]["undone"] == 1
        await client.call("setApprovalMode", mode="auto_edit")
        assert (await client.call("approvalMode"))["mode"] == "auto_edit"
        assert (await client.hear("approvalMode"))["mode"] == "auto_edit"


async def test_calls_are_described_and_rendered(file: Path) -> None:
    async with serving() as client:
        await client.start_session()
        result = await client.call("read", file_path=str(file))
        arguments = {"file_path": str(file)}
        described = await client.call("describe", method="fileops/read", arguments=arguments)
        assert described["locations"] == [{"path": str(file), "line": None}]
        drawn = await client.call("render", method="fileops/read", arguments=arguments, result=result)
        assert drawn["state"] == "success"


async def test_editor_without_a_plugin_marks_and_undoes(file: Path) -> None:
    refreshed = asyncio.Event()

    async def refresh(_params: Any) -> None:
        refreshed.set()

    capabilities = types.ClientCapabilities(
        workspace=types.WorkspaceClientCapabilities(
            code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=True)
        )
    )
    document = types.TextDocumentIdentifier(uri=file.as_uri())
    async with serving() as client:
        client.answer("workspace/codeLens/refresh", refresh)
        await client.start_session(capabilities=capabilities, initialization_options={"code_lens": True})
        client.set_trace(types.SetTraceParams(value=types.TraceValue.Off))
        item = types.TextDocumentItem(uri=file.as_uri(), language_id="text", version=1, text=file.read_text())
        client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
        await client.call("read", file_path=str(file))
        await client.call("edit", file_path=str(file), old_string="two", new_string="2")
        await asyncio.wait_for(refreshed.wait(), PATIENCE_S)
        client.text_document_did_save(types.DidSaveTextDocumentParams(text_document=document))
        lenses = await client.text_document_code_lens_async(types.CodeLensParams(text_document=document))
        assert lenses is not None
        whole = types.Range(start=types.Position(0, 0), end=types.Position(3, 0))
        actions = await client.text_document_code_action_async(
            types.CodeActionParams(text_document=document, range=whole, context=types.CodeActionContext(diagnostics=[]))
        )
        assert actions
        command = lenses[0].command
        assert command is not None
        params = types.ExecuteCommandParams(command=command.command, arguments=command.arguments)
        done = await client.workspace_execute_command_async(params)
        assert done is not None
        assert done["status"] == "success"
        client.text_document_did_close(types.DidCloseTextDocumentParams(text_document=document))
        assert (await client.call("read", file_path=str(file)))["details"]["source"] == "disk"


async def test_code_actions_of_a_client_without_literals_are_typed_commands(file: Path) -> None:
    """R-UNDO-9, with a client of pytest-lsp as it is: lsprotocol decodes every result."""
    client: Any = await ClientServerConfig(server_command=[sys.executable, "-m", "fileops"]).start()
    try:
        started = await client.initialize_session(types.InitializeParams(capabilities=types.ClientCapabilities()))
        assert started.capabilities.code_action_provider is True  # CodeActionOptions need literals, too
        document = types.TextDocumentIdentifier(uri=file.as_uri())
        item = types.TextDocumentItem(uri=file.as_uri(), language_id="text", version=1, text=file.read_text())
        client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
        for old, new in (("two", "2"), ("three", "3")):
            params = {"file_path": str(file), "edits": [{"old_string": old, "new_string": new}]}
            await client.protocol.send_request_async("fileops/read", {"file_path": str(file)})
            edited: Any = await client.protocol.send_request_async("fileops/multiEdit", params)
            assert edited.status == "success"
        whole = types.Range(start=types.Position(0, 0), end=types.Position(3, 0))
        context = types.CodeActionContext(diagnostics=[])
        actions = await client.text_document_code_action_async(
            types.CodeActionParams(text_document=document, range=whole, context=context)
        )
        assert [type(action) for action in actions] == [types.Command] * 2
        assert [action.command for action in actions] == ["fileops.undo"] * 2
        newest = actions[0]
        undone: Any = await client.workspace_execute_command_async(
            types.ExecuteCommandParams(command=newest.command, arguments=newest.arguments)
        )
        assert undone["status"] == "success"
        await client.shutdown_session()
    finally:
        if client._server.returncode is None:
            client._server.kill()
        await client.stop()


async def test_text_that_is_not_found_is_corrected_by_the_client(file: Path) -> None:
    async def correct(params: Any) -> Any:
        return {"old_string": "two", "new_string": params["new_string"]}

    async with serving() as client:
        client.answer("fileops/correctEdit", correct)
        await client.start_session(capabilities=asks(correct_edit=True), initialization_options={"correction": True})
        await client.call("read", file_path=str(file))
        result = await client.call("edit", file_path=str(file), old_string="zwei", new_string="2")
        assert result["details"]["match"] == "client"


async def test_client_without_reviews_is_asked_by_a_message(file: Path) -> None:
    async def choose(_params: Any) -> types.MessageActionItem:
        return types.MessageActionItem(title="Apply")

    async with serving() as client:
        client.answer("window/showMessageRequest", choose)
        await client.start_session(initialization_options={"approval_fallback": "message", "no_such_option": 1})
        assert "no_such_option" in client.messages[0].message
        await client.call("read", file_path=str(file))
        assert (await client.call("edit", file_path=str(file), old_string="two", new_string="2"))["status"] == "success"


async def next_progress(client: FileOpsClient) -> types.ProgressParams:
    params: types.ProgressParams = await asyncio.wait_for(
        cast("Any", client).wait_for_notification("$/progress"), PATIENCE_S
    )
    return params


async def test_command_is_confirmed_reports_progress_and_is_cancelled(tmp_path: Path) -> None:
    """A token of the client first, then one that the server creates."""

    async def confirm(_params: Any) -> Any:
        return {"outcome": "proceed_always"}

    capabilities = asks(confirm_command=True)
    capabilities.window = types.WindowClientCapabilities(work_done_progress=True)
    async with serving() as client:
        client.answer("fileops/confirmCommand", confirm)
        await client.start_session(capabilities=capabilities, initialization_options={"bash": True})
        assert (await client.call("bash", command="echo said", workDoneToken="mine"))["output"] == "said\n"
        waiting = client.begin("bash", "slow", command="sleep 3600", cwd=str(tmp_path))
        while not (token := str((await next_progress(client)).token)).startswith("fileops-"):
            pass
        client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token=token))
        with pytest.raises(JsonRpcException) as caught:
            await asyncio.wait_for(waiting, PATIENCE_S)
        assert caught.value.code == -32800


async def test_editor_of_a_shared_daemon_has_the_sessions_of_all(file: Path) -> None:
    with place() as here:
        async with serving("--shared", env=here.process_env) as client:
            await client.start_session()
            await client.call("read", file_path=str(file))
            told = await client.hear("didChangeSessions")
            listed = await client.call("sessions")
            assert {session["connected"] for session in (*told["sessions"], *listed["sessions"])} == {True}


async def test_reviews_are_listed_decided_and_notified(file: Path) -> None:
    """R-REV-2, R-REV-3"""
    async with serving() as client:
        await client.start_session(capabilities=asks(reviews=True))
        await client.call("read", file_path=str(file))
        accepted = client.begin("edit", "edit-1", file_path=str(file), old_string="two", new_string="2")
        (opened,) = (await client.hear("didChangeReviews"))["opened"]
        assert (await client.call("reviews"))["reviews"] == [opened]
        decided = await client.call("decideReview", review_id=opened["review_id"], outcome="accept")
        assert (decided["state"], decided["outcome"], decided["error"]) == ("decided", "accept", None)
        assert (await asyncio.wait_for(accepted, PATIENCE_S))["status"] == "success"
        (closed,) = (await client.hear("didChangeReviews"))["closed"]
        assert (closed["review_id"], closed["state"]) == (opened["review_id"], "decided")
        dropped = client.begin("edit", "edit-2", file_path=str(file), old_string="three", new_string="3")
        (opened,) = (await client.hear("didChangeReviews"))["opened"]
        all_decided = await client.call("decideReviews", outcome="reject", reason="keep it")
        assert all_decided == {"decided": [{"review_id": opened["review_id"], "error": None}], "left": []}
        rejected = await asyncio.wait_for(dropped, PATIENCE_S)
        assert rejected["error"]["code"] == "rejected"
        assert rejected["details"]["decided_by"]["kind"] == "person"
        assert "keep it" in rejected["output"]
        assert (await client.call("reviews"))["reviews"] == []
    assert file.read_bytes() == b"one\n2\nthree\n"


def named(cell_id: str) -> Any:
    """The metadata of a cell; lsprotocol's type for it has no keys."""
    return {"id": cell_id}


async def test_contents_of_a_notebook_are_shown_as_texts_of_cells(tmp_path: Path) -> None:
    cell: dict[str, Any] = {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": "# Title"}
    document: dict[str, Any] = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    async with serving() as client:
        await client.start_session()
        path = str(tmp_path / "study.ipynb")
        shown = await client.call("cellTexts", file_path=path, before="", after=json.dumps(document))
    assert (shown["before"], shown["after"]) == ("", "# %% intro · markdown\n# Title\n\n")


async def test_editor_shows_reports_and_changes_cells_of_a_notebook(tmp_path: Path) -> None:
    file = tmp_path / "study.ipynb"
    cell: dict[str, Any] = {"cell_type": "code", "execution_count": None, "id": "c1", "metadata": {}, "outputs": []}
    cell["source"] = "x = 1"
    file.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    uri, of_first, of_second = file.as_uri(), f"vscode-notebook-cell:{file}#1", f"vscode-notebook-cell:{file}#2"
    shown = types.NotebookCell(types.NotebookCellKind.Code, of_first, named("c1"))
    notebook = types.VersionedNotebookDocumentIdentifier(version=2, uri=uri)
    asked: list[Any] = []

    def change(cells: types.NotebookDocumentCellChanges) -> types.DidChangeNotebookDocumentParams:
        return types.DidChangeNotebookDocumentParams(notebook, types.NotebookDocumentChangeEvent(cells=cells))

    async with serving() as client:

        async def put(params: Any) -> Any:
            asked.append(params)
            opened = types.TextDocumentItem(of_second, "python", 1, "new")
            new = types.NotebookCell(types.NotebookCellKind.Code, of_second, named("other"))
            array = types.NotebookCellArrayChange(start=1, delete_count=0, cells=[new])
            structure = types.NotebookDocumentCellChangeStructure(array, did_open=[opened])
            client.notebook_document_did_change(change(types.NotebookDocumentCellChanges(structure)))
            return {"applied": True, "failure_reason": None}

        client.answer("fileops/applyNotebookEdit", put)
        await client.start_session(capabilities=asks(notebook_edits=True))
        client.notebook_document_did_open(
            types.DidOpenNotebookDocumentParams(
                types.NotebookDocument(uri, "jupyter-notebook", 1, [shown]),
                [types.TextDocumentItem(of_first, "python", 1, "x = 1")],
            )
        )
        typed = types.NotebookDocumentCellContentChanges(
            types.VersionedTextDocumentIdentifier(version=2, uri=of_first),
            [types.TextDocumentContentChangeWholeDocument("x = 2")],
        )
        client.notebook_document_did_change(change(types.NotebookDocumentCellChanges(text_content=[typed])))
        assert "x = 2" in (await client.call("read", file_path=str(file)))["output"]
        step = {"kind": "insert", "cell_type": "code", "source": "new", "after": "c1"}
        edited = await client.call("editNotebook", file_path=str(file), cells=[step])
        assert (edited["error"], edited["details"]["applied_to"], len(asked)) == (None, "buffer", 1)
        identifier = types.NotebookDocumentIdentifier(uri)
        client.notebook_document_did_save(types.DidSaveNotebookDocumentParams(identifier))
        client.notebook_document_did_close(types.DidCloseNotebookDocumentParams(identifier, []))
        assert "x = 1" in (await client.call("read", file_path=str(file)))["output"]
