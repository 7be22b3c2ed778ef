"""Clients of a shared daemon that do not read their messages: they delay no other client and are cut off at last."""

from pathlib import Path

import pytest

from fileops.compose import lsp_connection
from fileops.rpc import session, writer
from fileops.rpc.standard_io import BROKEN
from support.shared_daemon import SharedDaemon, code_of

N_HUNG = 10


async def test_ten_clients_that_do_not_read_delay_no_edit_and_are_disconnected(
    daemon: SharedDaemon, file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(lsp_connection, "MAX_UNREAD_BYTES", 1 << 14)
    monkeypatch.setattr(writer, "UNREAD_S", 0.0)
    daemon.send_buffer_bytes = 4096
    hung = [await daemon.editor(file.parent) for _ in range(N_HUNG)]
    monkeypatch.setattr(lsp_connection, "MAX_UNREAD_BYTES", 64 << 20)  # of those that come later
    monkeypatch.setattr(session, "WRITE_S", 0.1)  # of waiting for what they do not take
    agent = await daemon.agent(file.parent)
    for client in hung:
        client.stop_reading()
    await agent.read(file)
    n_edits = 0
    while caplog.text.count("does not read what it is sent") < N_HUNG:
        assert code_of(await agent.edit(file, "one", "two " * 500)) is None
        assert code_of(await agent.edit(file, "two " * 500, "one")) is None
        n_edits += 1
        assert n_edits < 200, "a client that does not read is kept"
    assert [(await client.ended()).status for client in hung] == [BROKEN] * N_HUNG
    assert {entry["name"] for entry in daemon.state.describe()} == {"bot-1"}


async def test_slow_client_is_not_disconnected(
    daemon: SharedDaemon, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lsp_connection, "MAX_UNREAD_BYTES", 1)
    editor = await daemon.editor(file.parent)
    agent = await daemon.agent(file.parent)
    await agent.read(file)
    for _ in range(50):
        assert code_of(await agent.edit(file, "one", "one two")) is None
        assert code_of(await agent.edit(file, "one two", "one")) is None
    await editor.until(lambda: len(editor.notified("fileops/didEdit")) == 100)
    assert not editor.serving.done()
