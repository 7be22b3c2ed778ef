"""An LSP editor that knows nothing of fileops, at `fileops-server --shared`: consent, notices, undo by plain LSP."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.daemon_process import Place, attached
from support.mcp_client import McpClient, mcp_client, texts_of
from support.rawclient import RawClient

LITERALS = {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["refactor"]}}}
# What Helix, Kate or Emacs announce: nothing of fileops.
CAPABILITIES: dict[str, Any] = {
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}, "executeCommand": {}},
    "textDocument": {"synchronization": {"didSave": True}, "codeAction": LITERALS},
    "window": {"showMessage": {"messageActionItem": {}}},
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.txt"
    path.write_text("one\ntwo\nthree\n")
    return path


@pytest.fixture
def editor(here: Place, file: Path) -> Iterator[RawClient]:
    with attached(here, "--shared", "--host", "helix") as client:
        folder = {"uri": file.parent.as_uri(), "name": "p"}
        client.initialize(
            CAPABILITIES,
            workspaceFolders=[folder],
            clientInfo={"name": "helix"},
            initializationOptions={"review_grace_s": 0, "ask": "each_edit"},
        )
        yield client


@pytest.fixture
def agent(here: Place, file: Path, editor: RawClient) -> Iterator[McpClient]:
    del editor  # it is there first
    with mcp_client(file.parent, env=here.env) as client:
        client.begin(host="codex")
        client.tool("Read", file_path=str(file))
        yield client


def start_edit(agent: McpClient, file: Path, old: str, new: str) -> Any:
    return agent.start_tool("Edit", file_path=str(file), old_string=old, new_string=new)


def decide(editor: RawClient, title: str | None) -> dict[str, Any]:
    """Answer the question with the action of this title, or close it; returns what was asked."""
    question = editor.question("window/showMessageRequest")
    editor.reply(question["id"], None if title is None else {"title": title})
    params: dict[str, Any] = question["params"]
    return params


def open_document(editor: RawClient, file: Path) -> None:
    document = {"uri": file.as_uri(), "languageId": "text", "version": 1, "text": file.read_text()}
    editor.notify("textDocument/didOpen", {"textDocument": document})


@pytest.mark.parametrize(("title", "is_applied"), [("Apply", True), ("Reject", False), (None, False)])
def test_user_decides_on_an_agents_edit_in_a_message(
    editor: RawClient, agent: McpClient, file: Path, title: str | None, *, is_applied: bool
) -> None:
    call = start_edit(agent, file, "two", "2")
    asked = decide(editor, title)
    assert asked["message"].startswith("Codex: ")
    assert "+2" in asked["message"] or "f.txt" in asked["message"]
    assert {action["title"] for action in asked["actions"]} >= {"Apply"}
    answer = agent.answer(call)["result"]
    assert bool(answer.get("isError")) is not is_applied
    assert ("2" in file.read_text()) is is_applied


def test_editor_is_notified_of_edits_and_of_what_it_has_read(editor: RawClient, agent: McpClient, file: Path) -> None:
    assert editor.read(file)["status"] == "success"
    call = start_edit(agent, file, "two", "2")
    decide(editor, "Apply")
    agent.answer(call)
    done = editor.claim(lambda message: message.get("method") == "fileops/didEdit")["params"]
    assert (done["file_path"], done["session_id"]) == (str(file), "codex-1")
    stale = editor.claim(lambda message: message.get("method") == "fileops/didBecomeStale")["params"]
    assert (stale["session_id"], stale["source"]) == ("default", "session:codex-1")


def test_agents_edit_is_undone_by_a_code_action(editor: RawClient, agent: McpClient, file: Path) -> None:
    editor.result("fileops/setAsk", {"ask": "protected"})
    assert not agent.answer(start_edit(agent, file, "two", "2"))["result"]["isError"]
    open_document(editor, file)
    start, end = {"line": 1, "character": 0}, {"line": 1, "character": 0}
    params: dict[str, Any] = {
        "textDocument": {"uri": file.as_uri()}, "range": {"start": start, "end": end}, "context": {"diagnostics": []},
    }  # fmt: skip
    actions = editor.result("textDocument/codeAction", params)
    assert [action["title"] for action in actions] == ["Keep (Codex)", "Undo (Codex)"]
    command = actions[1]["command"]
    undone = editor.result(
        "workspace/executeCommand", {"command": command["command"], "arguments": command["arguments"]}
    )
    assert undone["status"] == "success"
    assert file.read_text() == "one\ntwo\nthree\n"
    assert agent.tool("Edit", file_path=str(file), old_string="two", new_string="2")["isError"]


def test_agent_reads_and_edits_unsaved_text(editor: RawClient, agent: McpClient, file: Path) -> None:
    open_document(editor, file)
    change = {"textDocument": {"uri": file.as_uri(), "version": 2}, "contentChanges": [{"text": "one\ntyped\nthree\n"}]}
    editor.notify("textDocument/didChange", change)
    assert editor.read(file)["details"]["source"] == "buffer"  # so it has arrived
    assert "typed" in texts_of(agent.tool("Read", file_path=str(file)))[0]
    call = start_edit(agent, file, "typed", "edited")
    decide(editor, "Apply")
    apply = editor.question("workspace/applyEdit")
    shown = {
        "textDocument": {"uri": file.as_uri(), "version": 3}, "contentChanges": [{"text": "one\nedited\nthree\n"}],
    }  # fmt: skip
    editor.notify("textDocument/didChange", shown)
    editor.reply(apply["id"], {"applied": True})
    assert not agent.answer(call)["result"]["isError"]
    assert file.read_text() == "one\ntwo\nthree\n"  # it is the editor's to save


def test_killed_editor_decides_nothing(editor: RawClient, agent: McpClient, file: Path) -> None:
    """R-REV-6: of a person who was asked and has gone, nothing is known."""
    call = start_edit(agent, file, "two", "2")
    editor.question("window/showMessageRequest")
    editor.process.kill()
    refused = agent.answer(call)["result"]
    assert refused["_meta"]["fileops/result"]["code"] == "undecided"
    assert "Do not retry" not in refused["content"][0]["text"]
    assert file.read_text() == "one\ntwo\nthree\n"
