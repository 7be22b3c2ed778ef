"""A hostile editor on pytest-lsp: after each story the answer, the buffer, the bytes on disk, the tracker, and silence.

The same daemon as any LSP client would start; what is sent to it is what pygls' own client sends.
"""

import asyncio
import functools
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cattrs import Converter
from lsprotocol import types
from pygls.exceptions import FeatureRequestError, JsonRpcException
from pygls.protocol import JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage, default_converter
from pytest_lsp import ClientServerConfig, LanguageClient
from pytest_lsp.client import register_lsp_features

from support.editor_client import edited
from support.lsp_client import SUITE, RecordingProtocol
from support.patience import PATIENCE_S

pytestmark = SUITE
OPEN, CHANGE = "textDocument/didOpen", "textDocument/didChange"


class Client(LanguageClient):
    __test__ = False

    def report_server_error(self, error: Exception, source: Any) -> None:
        if source is not FeatureRequestError:  # our own answer, an error on purpose
            super().report_server_error(error, source)


@functools.cache
def raw_converter() -> Converter:
    """Messages of our own methods arrive as plain JSON."""
    converter = default_converter()

    def raw(given: Any, cls: Any) -> Any:
        return cls(**{key: given[key] for key in ("id", "method", "jsonrpc", "params", "result") if key in given})

    for cls in (JsonRPCRequestMessage, JsonRPCNotification, JsonRPCResponseMessage):
        converter.register_structure_hook(cls, raw)
    return converter


class Editor:
    """One document, and an answer to `workspace/applyEdit` that each test chooses."""

    def __init__(self, client: Client, path: Path) -> None:
        self.client = client
        self.path = path
        self.text = path.read_text()
        self.version = 1
        self.uri = path.as_uri()
        self.asked: list[Any] = []
        self.answer: Callable[[Any], Awaitable[Any]] = self.oblige
        self.stale: asyncio.Queue[Any] = asyncio.Queue()

        async def apply(params: types.ApplyWorkspaceEditParams) -> Any:
            self.asked.append(params)
            return await self.answer(params)

        def stale(params: Any) -> None:
            self.stale.put_nowait(params)

        feature: Any = client.feature
        feature(types.WORKSPACE_APPLY_EDIT)(apply)
        feature("fileops/didBecomeStale")(stale)

    def open(self, text: str | None = None) -> None:
        self.text, self.version = self.text if text is None else text, self.version
        item = types.TextDocumentItem(uri=self.uri, language_id="plaintext", version=self.version, text=self.text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))

    def become(self, text: str) -> None:
        self.text = text
        self.version += 1
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                text_document=types.VersionedTextDocumentIdentifier(uri=self.uri, version=self.version),
                content_changes=[types.TextDocumentContentChangeWholeDocument(text=text)],
            )
        )

    async def oblige(self, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        change = (params.edit.document_changes or [])[0]
        assert isinstance(change, types.TextDocumentEdit)
        if change.text_document.version != self.version:
            return types.ApplyWorkspaceEditResult(applied=False, failure_reason="stale version")
        edits = [
            {"range": {"start": vars_of(one.range.start), "end": vars_of(one.range.end)}, "newText": one.new_text}
            for one in change.edits
            if isinstance(one, types.TextEdit)
        ]
        self.become(edited(self.text, edits))
        return types.ApplyWorkspaceEditResult(applied=True)

    def oblige_when_let(self, *, is_heedless: bool = False) -> tuple[asyncio.Event, asyncio.Event]:
        """(set when it is asked, to be set for its answer). is_heedless: a cancelled request is carried out."""
        asked, unlock_and_close_later = asyncio.Event(), asyncio.Event()

        async def slowly(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            asked.set()
            try:
                await unlock_and_close_later.wait()
            except asyncio.CancelledError:
                if not is_heedless:
                    raise
                await unlock_and_close_later.wait()
            return await self.oblige(params)

        self.answer = slowly
        return asked, unlock_and_close_later

    async def call(self, method: str, **params: Any) -> Any:
        sending = self.client.protocol.send_request_async(method, {"file_path": str(self.path), **params})
        return await asyncio.wait_for(sending, PATIENCE_S)

    async def edit(self, old: str, new: str) -> Any:
        return await self.call("fileops/edit", old_string=old, new_string=new)

    async def state(self) -> str:
        sending = self.client.protocol.send_request_async("fileops/tracked", {})
        (file,) = (await asyncio.wait_for(sending, PATIENCE_S))["files"]
        return str(file["state"])


def vars_of(position: types.Position) -> dict[str, int]:
    return {"line": position.line, "character": position.character}


@pytest.fixture
async def editor(tmp_path: Path) -> AsyncGenerator[Editor]:
    path = tmp_path / "f.txt"
    path.write_text("one\ntwo\n")

    def make() -> Client:
        client = Client(protocol_cls=RecordingProtocol, converter_factory=raw_converter)
        register_lsp_features(client)
        return client

    config = ClientServerConfig(server_command=[sys.executable, "-m", "fileops"], client_factory=make)
    client: Any = await config.start()
    workspace = types.WorkspaceClientCapabilities(
        apply_edit=True, workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True)
    )
    folder = types.WorkspaceFolder(uri=tmp_path.as_uri(), name="project")
    editor = Editor(client, path)
    await client.initialize_session(
        types.InitializeParams(
            capabilities=types.ClientCapabilities(workspace=workspace), workspace_folders=[folder], root_uri=None
        )
    )
    yield editor
    if client._server.returncode is None:
        await asyncio.wait_for(client.shutdown_session(), PATIENCE_S)
        assert client.messages == []  # nothing was complained of
        assert client.protocol._request_futures == {}  # nothing was left unanswered, on either side
    with suppress(RuntimeError):  # pygls cannot fail a question that it still serves when the daemon is gone
        await client.stop()


async def test_dirty_buffers_are_edited_in_the_editor(editor: Editor):
    editor.open()
    editor.become("un\ntwo\n")
    await editor.call("fileops/read")
    result = await editor.edit("two", "deux")
    assert (result["status"], result["details"]["applied_to"]) == ("success", "buffer")
    assert (editor.text, editor.path.read_text()) == ("un\ndeux\n", "one\ntwo\n")
    assert await editor.state() == "fresh"
    assert editor.stale.empty()


async def test_refusal_of_the_editor_changes_nothing(editor: Editor):
    async def refuse(params: Any) -> Any:
        return types.ApplyWorkspaceEditResult(applied=False, failure_reason="no")

    editor.open()
    editor.become("un\ntwo\n")
    await editor.call("fileops/read")
    editor.answer = refuse
    result = await editor.edit("two", "deux")
    assert result["error"]["code"] == "apply_refused"
    assert (editor.text, editor.path.read_text()) == ("un\ntwo\n", "one\ntwo\n")
    assert await editor.state() == "fresh"


async def test_changed_version_is_a_refusal_and_makes_the_read_stale(editor: Editor):
    async def type_first(params: Any) -> Any:
        editor.become("uno\ntwo\n")
        return await editor.oblige(params)

    editor.open()
    editor.become("un\ntwo\n")
    await editor.call("fileops/read")
    editor.answer = type_first
    result = await editor.edit("two", "deux")
    assert result["error"]["code"] == "apply_refused"
    assert (editor.text, editor.path.read_text()) == ("uno\ntwo\n", "one\ntwo\n")
    assert (await asyncio.wait_for(editor.stale.get(), PATIENCE_S))["source"] == "buffer"
    assert await editor.state() == "stale"


async def test_second_open_replaces_the_text(editor: Editor):
    editor.open()
    await editor.call("fileops/read")
    editor.version += 1
    editor.open("un\ntwo\n")
    result = await editor.edit("two", "deux")
    assert (result["error"]["code"], result["details"]["changed_by"]) == ("modified_externally", "buffer")
    await editor.call("fileops/read")
    assert (await editor.edit("two", "deux"))["details"]["applied_to"] == "buffer"
    assert (editor.text, editor.path.read_text()) == ("un\ndeux\n", "one\ntwo\n")


async def test_changes_before_any_open_are_ignored(editor: Editor):
    editor.become("un\ntwo\n")
    await editor.call("fileops/read")
    result = await editor.edit("two", "deux")
    assert (result["details"]["applied_to"], editor.path.read_text()) == ("disk", "one\ndeux\n")
    assert editor.asked == []


async def test_slow_editor_is_waited_for_and_others_are_served(editor: Editor):
    editor.open()
    editor.become("un\ntwo\n")
    await editor.call("fileops/read")
    asked, unlock_and_close_later = editor.oblige_when_let()
    editing = asyncio.create_task(editor.edit("two", "deux"))
    await asyncio.wait_for(asked.wait(), PATIENCE_S)
    other = await editor.call("fileops/read", file_path=str(editor.path.parent / "other"))
    assert other["error"]["code"] == "not_found"
    unlock_and_close_later.set()
    assert (await editing)["status"] == "success"
    assert (editor.text, await editor.state()) == ("un\ndeux\n", "fresh")


async def test_cancel_during_the_apply_returns_the_true_result(editor: Editor):
    editor.open()
    editor.become("un\ntwo\n")
    await editor.call("fileops/read")
    asked, unlock_and_close_later = editor.oblige_when_let(is_heedless=True)
    params = {"file_path": str(editor.path), "old_string": "two", "new_string": "deux"}
    editing = asyncio.create_task(editor.client.protocol.send_request_async("fileops/edit", params, msg_id="edit-1"))
    await asyncio.wait_for(asked.wait(), PATIENCE_S)
    editor.client.cancel_request(types.CancelParams(id="edit-1"))
    unlock_and_close_later.set()
    assert (await asyncio.wait_for(editing, PATIENCE_S))["status"] == "success"
    assert (editor.text, editor.path.read_text()) == ("un\ndeux\n", "one\ntwo\n")


async def test_error_as_answer_is_a_refusal(editor: Editor):
    async def fail(params: Any) -> Any:
        raise JsonRpcException("a bad day", code=-32001)

    editor.open()
    editor.become("un\ntwo\n")
    await editor.call("fileops/read")
    editor.answer = fail
    assert (await editor.edit("two", "deux"))["error"]["code"] == "apply_refused"
    assert (editor.text, editor.path.read_text()) == ("un\ntwo\n", "one\ntwo\n")


async def test_editor_that_dies_during_the_apply_leaves_the_file_unchanged(editor: Editor):
    editor.open()
    editor.become("un\ntwo\n")
    await editor.call("fileops/read")
    asked, _never = editor.oblige_when_let()
    editing = asyncio.create_task(editor.edit("two", "deux"))
    await asyncio.wait_for(asked.wait(), PATIENCE_S)
    server: Any = editor.client._server  # pyright: ignore[reportPrivateUsage]
    server.stdin.close()
    await asyncio.wait_for(server.wait(), PATIENCE_S)
    editing.cancel()
    assert editor.path.read_text() == "one\ntwo\n"
    assert os.listdir(editor.path.parent) == ["f.txt"]
