"""An edit that waits for the editor, and is withdrawn: by its caller, or by the end of the connection."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.rawclient import RawClient, edit_of, raw_client

CAPABILITIES = {"workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}}
CANCELLED = -32800


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.txt"
    path.write_text("one\ntwo\n")
    return path


def change(client: RawClient, file: Path, text: str, version: int) -> None:
    params = {"textDocument": {"uri": file.as_uri(), "version": version}, "contentChanges": [{"text": text}]}
    client.notify("textDocument/didChange", params)


def asked(client: RawClient, file: Path) -> tuple[Any, Any]:
    """The ids of an edit and of the daemon's question to the editor."""
    client.initialize(CAPABILITIES)
    document = {"uri": file.as_uri(), "languageId": "x", "version": 1, "text": "un\ntwo\n"}
    client.notify("textDocument/didOpen", {"textDocument": document})
    client.read(file)
    editing = client.request("fileops/edit", edit_of(file))
    return editing, client.question("workspace/applyEdit")["id"]


def refuse_as_cancelled(client: RawClient, question: Any) -> None:
    client.send({"jsonrpc": "2.0", "id": question, "error": {"code": CANCELLED, "message": "cancelled"}})


def refuse(client: RawClient, question: Any) -> None:
    client.reply(question, {"applied": False})


@pytest.mark.parametrize("answer", [refuse_as_cancelled, refuse])
def test_cancelled_edit_is_withdrawn_from_the_editor(file: Path, answer: Callable[[RawClient, Any], None]) -> None:
    """R-CANCEL-1."""
    with raw_client() as client:
        editing, question = asked(client, file)
        client.notify("$/cancelRequest", {"id": editing})
        assert client.notification("$/cancelRequest") == {"id": question}
        answer(client, question)
        assert client.answer(editing)["error"]["code"] == CANCELLED
        assert "un" in client.read(file)["output"]
        assert file.read_text() == "one\ntwo\n"


def test_withdrawn_edit_that_the_editor_applied_is_a_success(file: Path) -> None:
    """R-CANCEL-1."""
    with raw_client() as client:
        editing, question = asked(client, file)
        client.notify("$/cancelRequest", {"id": editing})
        client.notification("$/cancelRequest")
        change(client, file, "un\n2\n", 2)
        client.reply(question, {"applied": True})
        assert client.answer(editing)["result"]["status"] == "success"


def test_withdrawn_edit_without_an_answer_makes_the_text_unknown(file: Path) -> None:
    """R-DOC-13."""
    with raw_client() as client:
        editing, _question = asked(client, file)
        client.notify("$/cancelRequest", {"id": editing})
        result = client.answer(editing)["result"]
        assert result["error"]["code"] == "apply_refused"
        assert "not known" in result["error"]["message"]
        assert client.read(file)["error"]["code"] == "apply_refused"
        change(client, file, "un\n2\n", 2)
        assert "2" in client.read(file)["output"]


def test_shutdown_withdraws_an_edit_that_waits_for_the_editor(file: Path) -> None:
    with raw_client() as client:
        editing, question = asked(client, file)
        shutdown = client.request("shutdown")
        assert client.notification("$/cancelRequest") == {"id": question}
        refuse_as_cancelled(client, question)
        assert client.answer(editing)["error"]["code"] == CANCELLED
        assert client.answer(shutdown)["result"] is None
        client.notify("exit")
        assert client.wait() == 0
    assert file.read_text() == "one\ntwo\n"


def test_edit_cancelled_repeatedly_is_withdrawn_once(file: Path) -> None:
    with raw_client() as client:
        editing, question = asked(client, file)
        for _ in range(3):
            client.notify("$/cancelRequest", {"id": editing})
        client.notification("$/cancelRequest")
        refuse_as_cancelled(client, question)
        assert client.answer(editing)["error"]["code"] == CANCELLED
        assert client.shut_down() == 0
        assert [message for message in client.received if message.get("method") == "$/cancelRequest"] == []
