"""What an editor's answer to `workspace/applyEdit` means, and what no answer means."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from contract.recording import RecordingHooks
from fileops.lsp.client import Client, ClientGone, ClientRefused
from fileops.lsp.converter import to_json
from fileops.lsp.workspace_edit import LspEditor
from fileops.model.documents import BufferEdit, DocumentEdit, DocumentPosition
from fileops.model.errors import ApplyRefused

EDIT = BufferEdit(
    uri="file:///w/f", version=7, edits=(DocumentEdit(DocumentPosition(0, 1), DocumentPosition(0, 2), "x"),)
)
CAN_APPLY = {"workspace.applyEdit": True, "workspace.workspaceEdit.documentChanges": True}


class FakeClient(Client):
    """answer: called with the params; what it returns or raises is the client's reply."""

    def __init__(self, capabilities: dict[str, Any], answer: Callable[[Any], Any]) -> None:
        self._capabilities = capabilities
        self._answer = answer
        self.asked: list[Any] = []

    def capability(self, dotted: str) -> object:
        return self._capabilities.get(dotted)

    async def ask(self, method: str, params: Any, *, timeout_s: float | None, withdrawal: Any = None) -> object:
        self.asked.append(to_json(params))
        async with asyncio.timeout(timeout_s):
            answer: Any = self._answer(params)
            return await answer if asyncio.isfuture(answer) else answer


async def apply(client: FakeClient, *, timeout_s: float = 10, is_current: bool = True) -> None:
    editor = LspEditor(client, asyncio.get_running_loop(), timeout_s=timeout_s)
    hooks = RecordingHooks()
    await asyncio.to_thread(editor.apply, [EDIT], is_current=lambda: is_current, on_cancel=hooks.on_cancel)


def replies(value: Any) -> Callable[[Any], Any]:
    def answer(params: Any) -> Any:
        del params
        return value

    return answer


def fails(failure: Exception) -> Callable[[Any], Any]:
    def answer(params: Any) -> Any:
        raise failure

    return answer


async def test_edit_names_document_and_version():
    client = FakeClient(CAN_APPLY, lambda params: {"applied": True})
    await apply(client)
    (change,) = client.asked[0]["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": "file:///w/f", "version": 7}
    assert change["edits"][0]["newText"] == "x"


@pytest.mark.parametrize(
    "answer",
    [
        replies({"applied": False}), replies({"applied": "true"}), replies(None),
        replies({"applied": False, "failureReason": 3}), fails(ClientRefused("no", -32601)), fails(ClientGone()),
    ],
)  # fmt: skip
async def test_unclear_answer_is_a_refusal(answer: Callable[[Any], Any]):
    with pytest.raises(ApplyRefused):
        await apply(FakeClient(CAN_APPLY, answer))


async def test_reason_of_the_editor_is_reported():
    with pytest.raises(ApplyRefused) as refusal:
        await apply(FakeClient(CAN_APPLY, lambda params: {"applied": False, "failureReason": "read-only window"}))
    assert refusal.value.reason == "read-only window"


async def test_missing_answer_in_time_is_a_refusal():
    unanswered = asyncio.get_running_loop().create_future()
    with pytest.raises(ApplyRefused):
        await apply(FakeClient(CAN_APPLY, lambda params: unanswered), timeout_s=0.01)
    assert unanswered.cancelled()


async def test_client_without_apply_edit_is_not_asked():
    client = FakeClient(CAN_APPLY | {"workspace.applyEdit": False}, lambda params: {"applied": True})
    with pytest.raises(ApplyRefused):
        await apply(client)
    assert client.asked == []


async def test_client_without_versioned_edits_gets_plain_ones():
    lacking: dict[str, Any] = {
        "workspace.workspaceEdit.documentChanges": False,
        "workspace.workspaceEdit.changeAnnotationSupport": {},
    }
    client = FakeClient(CAN_APPLY | lacking, lambda params: {"applied": True})
    await apply(client)
    edits = [{"range": {"start": {"line": 0, "character": 1}, "end": {"line": 0, "character": 2}}, "newText": "x"}]
    assert client.asked[0]["edit"] == {"changes": {"file:///w/f": edits}}


async def test_edit_of_a_changed_document_is_not_requested():
    client = FakeClient(CAN_APPLY, lambda params: {"applied": True})
    with pytest.raises(ApplyRefused):
        await apply(client, is_current=False)
    assert client.asked == []
