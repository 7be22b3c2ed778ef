"""The listener: clients whose first line is late or too long, and a socket whose name leads elsewhere by then."""

import asyncio
import contextlib
import json
import logging
import os
import socket
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from fileops.attach import control
from fileops.attach.address import Address, find_address
from fileops.attach.handshake import MAX_ANSWER_BYTES, MAX_LINE_BYTES, AttachRequest, attach_line, parse_answer
from fileops.attach.starter import create_socket
from fileops.compose.daemon import SharedDaemonState
from fileops.daemon import listener as listener_module
from fileops.daemon.listener import Listener, fit_line
from support.daemon_process import Place, place
from support.patience import PATIENCE_S

LINE = attach_line(AttachRequest(version="0", protocol="lsp", role="agent", host="probe", cwd="/"))


class Running:
    def __init__(self, here: Place, look_s: float) -> None:
        self.here = here
        self.address: Address = find_address(str(here.socket), {})
        self.service = SharedDaemonState(self.address.socket)
        self.listener = Listener(
            create_socket(self.address), self.address, self.service, idle_s=600, log_file=None, look_s=look_s
        )
        self.task = asyncio.create_task(self.listener.run(lambda: None))

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_unix_connection(self.address.socket)

    async def attach(self, line: bytes = LINE) -> tuple[dict[str, Any], asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await self.connect()
        writer.write(line)
        return json.loads(await answer_of(reader)), reader, writer


async def answer_of(reader: asyncio.StreamReader) -> bytes:
    """The daemon's line; b"" if it closes the connection."""
    try:
        return await asyncio.wait_for(reader.readline(), PATIENCE_S)
    except ConnectionResetError:  # it has not received all of what was sent
        return b""


@contextlib.asynccontextmanager
async def running(look_s: float = 600.0) -> AsyncGenerator[Running]:
    with place() as here:
        daemon = Running(here, look_s)
        try:
            yield daemon
        finally:
            daemon.listener.terminate()
            await asyncio.wait_for(daemon.task, PATIENCE_S)
            await asyncio.to_thread(daemon.service.close)


@pytest.mark.parametrize("sent", [b"", b'{"fileops_attach": 1'])
async def test_connection_without_a_line_in_time_is_closed(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(listener_module, "LINE_S", 0.05)
    async with running() as daemon:
        reader, writer = await daemon.connect()
        writer.write(sent)
        assert await answer_of(reader) == b""
        writer.close()


async def test_line_that_arrives_in_pieces_is_one_line() -> None:
    async with running() as daemon:
        reader, writer = await daemon.connect()
        for at in range(0, len(LINE), 40):
            writer.write(LINE[at : at + 40])
            await writer.drain()
        assert json.loads(await answer_of(reader))["ok"] is True
        writer.close()


@pytest.mark.parametrize(("n_bytes", "is_taken"), [(MAX_LINE_BYTES, True), (MAX_LINE_BYTES + 1, False)])
async def test_line_that_is_too_long_is_refused(n_bytes: int, *, is_taken: bool) -> None:
    fields = json.loads(LINE)
    padding = n_bytes - len(json.dumps({**fields, "padding": ""})) - 1
    line = json.dumps({**fields, "padding": "x" * padding}).encode() + b"\n"
    assert len(line) == n_bytes
    async with running() as daemon:
        reader, writer = await daemon.connect()
        writer.write(line)
        answer = await answer_of(reader)
        assert (json.loads(answer)["ok"] if is_taken else answer == b"") is True
        writer.close()


async def test_endless_line_closes_the_connection() -> None:
    async with running() as daemon:
        reader, writer = await daemon.connect()
        writer.write(b"x" * (4 * MAX_LINE_BYTES))
        assert await answer_of(reader) == b""
        writer.close()


async def test_name_of_a_connection_is_not_used_twice() -> None:
    """Other sessions and the history may still mention a client that has left."""
    names: list[str] = []
    async with running() as daemon:
        for _ in range(3):
            answer, reader, writer = await daemon.attach()
            names.append(answer["connection"])
            writer.write_eof()
            assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""  # the session has ended
            writer.close()
    assert names == ["probe-1", "probe-2", "probe-3"]


@pytest.mark.parametrize("is_another", [False, True], ids=["gone", "of another daemon"])
async def test_daemon_that_lost_its_socket_serves_its_present_clients(
    caplog: pytest.LogCaptureFixture, *, is_another: bool
) -> None:
    caplog.set_level(logging.INFO)
    async with running(look_s=0.02) as daemon:
        answer, reader, writer = await daemon.attach()
        assert answer["ok"] is True
        waiting_reader, waiting = await daemon.connect()  # before the name is gone
        os.unlink(daemon.address.socket)
        other = create_socket(daemon.address) if is_another else None
        while "is gone, or another daemon's" not in caplog.text:  # noqa: ASYNC110 - a line of the log sets no event
            await asyncio.sleep(0.01)
        waiting.write(LINE)
        assert json.loads(await answer_of(waiting_reader))["reason"] == "retiring"
        assert not daemon.task.done()
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
        for each in (writer, waiting):
            each.close()
        await asyncio.wait_for(asyncio.shield(daemon.task), PATIENCE_S)
        assert Path(daemon.address.socket).exists() is is_another
        if other is not None:
            assert socket_answers(daemon.address)
            other.close()


def socket_answers(address: Address) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(address.socket) == 0


@pytest.mark.parametrize("max_bytes", [None, MAX_ANSWER_BYTES, 0, "many"])
@pytest.mark.parametrize(
    ("n_clients", "n_sessions", "n_roots"), [(1, 0, 1), (1, 2200, 1), (1, 1, 1200), (128, 5, 5), (100, 300, 300)]
)
def test_status_line_is_read_by_the_one_that_asks_and_says_what_is_cut(
    max_bytes: object, n_clients: int, n_sessions: int, n_roots: int
) -> None:
    """R-HUB: whatever is attached, `status` is answered; a list that is cut has its length beside it."""
    client = {
        "name": "zed-1",
        "roots": ["/" + "r" * 300] * n_roots,
        "sessions": ["s" * 64] * n_sessions,
        "labels": ["Zed"] * n_sessions,
    }
    line = fit_line({"connections": [client] * n_clients, "n_reviews": 0}, max_bytes)
    assert len(line) <= (MAX_ANSWER_BYTES if max_bytes == MAX_ANSWER_BYTES else MAX_LINE_BYTES)
    answer = parse_answer(line).fields
    connections = answer["connections"]
    assert answer.get("n_connections", len(connections)) == n_clients
    for described in connections:
        for key, number in (("roots", n_roots), ("sessions", n_sessions), ("labels", n_sessions)):
            assert described.get(f"n_{key}", len(described[key])) == number
    if max_bytes == MAX_ANSWER_BYTES and n_clients < 100:
        assert connections == [client] * n_clients


def test_status_that_is_cut_says_so_to_a_person() -> None:
    client = {"name": "a-1", "role": "agent", "protocol": "mcp", "pid": 1, "label": "A"}
    described = {
        "version": "1", "pid": 1, "uptime_s": 1.0, "socket": "/s", "log": None, "reviews": [],
        "private": [{"host": "nvim", "pid": 2, "reason": "attach"}, {"host": "zed", "pid": 3, "reason": "new"}],
        "connections": [{**client, "roots": ["/a"], "n_roots": 1200, "labels": ["A", "B"], "n_labels": 2200}],
        "n_connections": 7,
        "unsettled": [{"journal": "/state/x.journal2", "reason": "/away is not there", "n_files": 250}],
    }  # fmt: skip
    text = control.table(described)
    assert "7 clients" in text
    assert "nvim  process 2, serves itself, because its version and the daemon's do not fit" in text
    assert "zed  process 3, serves itself, because new" in text  # a newer daemon's reason
    assert "and 6 more clients" in text
    assert "and 1199 more folders" in text
    assert "and 2198 more sessions" in text
    assert "250 files of an interrupted write cannot be put right yet: /away is not there" in text
    assert "/state/x.journal2" in text
