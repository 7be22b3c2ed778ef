"""Several LSP sessions on one event loop, each over a socket pair: a session ends a connection, never the process."""

import asyncio
import json
import re
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fileops.compose.client_connection import attachment_of_only_client
from fileops.compose.lsp_connection import LspConnection
from fileops.compose.state import DaemonState
from fileops.rpc.session import BROKEN, Ended, StreamSession
from support.patience import PATIENCE_S
from support.rawclient import edit_of, frame

Message = dict[str, Any]


class Peer:
    """The client's end of one session."""

    def __init__(self, session: StreamSession, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.session = session
        self.serving = asyncio.create_task(session.serve())
        self.notifications: list[Message] = []
        self._reader = reader
        self._writer = writer
        self._last_id = 0

    async def call(self, method: str, params: object = None) -> Any:
        self._last_id += 1
        self.send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        while (message := await self._receive()).get("id") != self._last_id:
            self.notifications.append(message)
        return message["result"]

    def send(self, message: Message) -> None:
        self._writer.write(frame(message))

    async def initialize(self, folder: Path) -> None:
        await self.call("initialize", {"capabilities": {}, "rootUri": folder.as_uri()})
        self.send({"jsonrpc": "2.0", "method": "initialized", "params": {}})

    async def read(self, file: Path) -> str:
        result = await self.call("fileops/read", {"file_path": str(file)})
        assert result["error"] is None
        return result["output"]

    async def edit(self, file: Path, old: str, new: str) -> str | None:
        """Return the code of the failure, None if the edit succeeded."""
        error = (await self.call("fileops/edit", edit_of(file, old, new)))["error"]
        return error and error["code"]

    async def ended(self) -> Ended:
        return await asyncio.wait_for(self.serving, PATIENCE_S)

    def hang_up(self) -> None:
        self._writer.close()

    async def _receive(self) -> Message:
        async with asyncio.timeout(PATIENCE_S):
            header = await self._reader.readuntil(b"\r\n\r\n")
            length = re.fullmatch(rb"Content-Length: (\d+)\r\n\r\n", header)
            assert length is not None
            return json.loads(await self._reader.readexactly(int(length[1])))


@asynccontextmanager
async def connected() -> AsyncGenerator[Peer]:
    ours, theirs = socket.socketpair()
    with ours:
        connection = LspConnection(DaemonState(), attachment_of_only_client())
        session = connection.serve(ours.fileno(), ours.fileno(), is_embedded=True)
        peer = Peer(session, *await asyncio.open_connection(sock=theirs))
        try:
            yield peer
        finally:
            session.end(0)
            await peer.ended()
            peer.hang_up()


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    for path in (first, second):
        path.write_text("one\ntwo\n")
    return first, second


async def test_two_sessions_in_one_process_serve_their_clients_and_end_independently(files: tuple[Path, Path]) -> None:
    first_file, second_file = files
    async with connected() as first, connected() as second:
        for peer in (first, second):
            await peer.initialize(first_file.parent)
        assert "two" in await first.read(first_file)
        assert "two" in await second.read(second_file)
        assert await first.edit(first_file, "two", "2") is None
        assert await second.edit(second_file, "one", "1") is None

        await first.call("shutdown")
        first.send({"jsonrpc": "2.0", "method": "exit"})
        assert await first.ended() == Ended(0)
        assert not second.serving.done()

        assert "2" in await second.read(first_file)
        assert await second.edit(first_file, "2", "two") is None
        assert await second.edit(second_file, "1", "one") is None
    assert first_file.read_text() == second_file.read_text() == "one\ntwo\n"


async def test_each_session_knows_what_its_own_client_has_read(files: tuple[Path, Path]) -> None:
    file, _ = files
    async with connected() as first, connected() as second:
        for peer in (first, second):
            await peer.initialize(file.parent)
        await first.read(file)
        assert await second.edit(file, "two", "2") == "not_read"
        await second.read(file)
        assert await second.edit(file, "two", "2") is None
        assert await first.edit(file, "one", "1") == "modified_externally"
    assert file.read_text() == "one\n2\n"


async def test_client_that_disconnects_ends_its_own_session_only(files: tuple[Path, Path]) -> None:
    file, _ = files
    async with connected() as first, connected() as second:
        for peer in (first, second):
            await peer.initialize(file.parent)
        await first.read(file)
        first.hang_up()
        assert await first.ended() == Ended(BROKEN)
        await second.read(file)
        assert await second.edit(file, "two", "2") is None
