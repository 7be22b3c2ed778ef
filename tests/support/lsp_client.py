"""A pytest-lsp client whose `fileops/*` messages are plain JSON in both directions. It keeps what was sent.

A test of SUITE leaves a record of its messages (tests/e2e/conftest.py), for tests/e2e/test_wire_is_exercised.py.
"""

import asyncio
import functools
import json
import logging
import os
import socket
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import FeatureRequestError
from pygls.io_ import run_async
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
    default_converter,
)
from pytest_lsp import ClientServerConfig, LanguageClient, LanguageClientProtocol
from pytest_lsp.client import register_lsp_features

from fileops.compose import embedded
from fileops.compose.own_parts import OwnParts
from support.ending import IS_MEASURED
from support.patience import PATIENCE_S
from support.rawclient import DAEMON
from support.wire_schema import ENTRIES, Transcript

Json = dict[str, Any]
Answer = Callable[[Any], Awaitable[Any]]
NOTIFICATIONS = [
    method
    for (sender, method), entry in ENTRIES.items()
    if sender == "server" and entry["kind"] == "notification" and method.startswith("fileops/")
]
GROUP = pytest.mark.xdist_group("pytest-lsp")  # one process, in the order of the modules
SUITE = [pytest.mark.usefixtures("recorded"), GROUP]
TRANSCRIPTS: list[Transcript] = []  # one for each connection of the present test


@dataclass(frozen=True, slots=True)
class Record:
    """What a test has sent and received. methods: (sender, method); faults: what does not fit the schema."""

    methods: set[tuple[str, str]]
    codes: set[str | int]
    faults: list[str]


RECORDS: dict[str, Record] = {}  # by the id of the test


@functools.cache
def converter_factory() -> Any:
    """One for all tests of a process: making its hooks again took about 30 ms of each test."""
    converter = default_converter()
    for envelope in (JsonRPCRequestMessage, JsonRPCNotification, JsonRPCResponseMessage):
        converter.register_structure_hook(envelope, _as_it_is)
    return converter


def _as_it_is(given: Json, envelope: type[Any]) -> Any:
    names = ("id", "method", "jsonrpc", "params", "result")
    return envelope(**{name: given.get(name) for name in names if name in envelope.__slots__})


class RecordingProtocol(LanguageClientProtocol):
    """Notes each message of the connection before it is sent, and before pygls decodes it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.transcript = Transcript()
        TRANSCRIPTS.append(self.transcript)

    def structure_message(self, data: Json) -> Any:
        if "jsonrpc" in data:  # pygls calls this for each object inside of a message, too
            self.transcript.note("server", data)
        return super().structure_message(data)

    def _send_data(self, data: Any) -> None:
        if data:
            self.transcript.note("client", json.loads(json.dumps(data, default=self._serialize_message)))
        super()._send_data(data)


class FileOpsClient(LanguageClient):
    """`told`: what the server notified of, per method, in order."""

    __test__ = False

    def __init__(self) -> None:
        super().__init__(protocol_cls=RecordingProtocol, converter_factory=converter_factory)
        register_lsp_features(self)
        self.told: dict[str, asyncio.Queue[Json]] = {}
        for method in NOTIFICATIONS:
            queue = self.told[method] = asyncio.Queue()
            self.feature(method)(_putter(queue))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """A handler of a test that refuses on purpose is no error."""
        if source is not FeatureRequestError:
            super().report_server_error(error, source)

    async def start_session(
        self, *, capabilities: types.ClientCapabilities | None = None, **params: Any
    ) -> types.InitializeResult:
        given = capabilities or types.ClientCapabilities()
        return await self.initialize_session(types.InitializeParams(capabilities=given, **params))

    def answer(self, method: str, reply: Answer) -> None:
        """Answer a request of the server."""

        async def handle(params: Any) -> Any:
            return await reply(params)

        self.feature(method)(handle)

    def begin(self, method: str, msg_id: str, /, **params: Any) -> "asyncio.Future[Any]":
        """Send a `fileops/*` request under an id; its result is waited for elsewhere."""
        return asyncio.ensure_future(self.protocol.send_request_async(f"fileops/{method}", params, msg_id=msg_id))

    async def call(self, method: str, /, **params: Any) -> Any:
        """The result of a `fileops/*` request."""
        return await asyncio.wait_for(self.protocol.send_request_async(f"fileops/{method}", params), PATIENCE_S)

    async def hear(self, notification: str) -> Json:
        """The next one of its kind."""
        return await asyncio.wait_for(self.told[f"fileops/{notification}"].get(), PATIENCE_S)


def _putter(queue: "asyncio.Queue[Json]") -> Callable[[Any], None]:
    def put(params: Any) -> None:
        queue.put_nowait(params)

    return put


class _Embedded:
    """In place of a server's process: the same connection, on this event loop (compose/embedded.py)."""

    def __init__(self, peer: socket.socket) -> None:
        self.task = asyncio.ensure_future(embedded.serve(peer, OwnParts()))

    @property
    def returncode(self) -> int | None:
        return 0 if self.task.done() else None

    def kill(self) -> None:
        self.task.cancel()

    terminate = kill

    async def wait(self) -> int:
        await asyncio.wait([self.task])
        return 0


class EmbeddedConfig(ClientServerConfig):
    """A session whose server runs in this process, over a socket pair. For tests that are not about the process."""

    async def start(self, devtools: str | None = None) -> Any:
        client: Any = self.client_factory()  # what pygls starts a process with is private
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setblocking(False)
        client._server = _Embedded(theirs)
        reader, writer = await asyncio.open_connection(sock=ours, limit=1 << 26)
        client.protocol.set_writer(writer)

        async def read() -> None:
            try:
                await run_async(
                    stop_event=client._stop_event,
                    reader=reader,
                    protocol=client.protocol,
                    logger=logging.getLogger(__name__),
                    error_handler=client.report_server_error,
                )
            finally:
                writer.close()

        client._async_tasks.append(asyncio.create_task(read()))
        return client


IS_EMBEDDED = os.environ.get("FILEOPS_TEST_PROCESSES") != "1"
CONFIG = (EmbeddedConfig if IS_EMBEDDED else ClientServerConfig)(
    server_command=[sys.executable, "-m", "fileops"], client_factory=FileOpsClient
)


@asynccontextmanager
async def serving(
    *options: str, command: tuple[str, ...] = DAEMON, env: dict[str, str] | None = None
) -> AsyncGenerator[FileOpsClient]:
    """A session's server with these options and variables of the environment; it is shut down, or killed."""
    is_plain = IS_EMBEDDED and command == DAEMON and not options and not env
    config = (EmbeddedConfig if is_plain else ClientServerConfig)(
        [*command, *options], client_factory=FileOpsClient, server_env={**os.environ, **(env or {})}
    )
    client: Any = await config.start()
    try:
        yield client
        if client._server.returncode is None:  # else the test has killed it
            await asyncio.wait_for(client.shutdown_session(), PATIENCE_S)
            if IS_MEASURED:
                await asyncio.wait_for(client._server.wait(), PATIENCE_S)
    finally:
        if client._server.returncode is None:
            client._server.kill()
        with suppress(RuntimeError):
            await client.stop()
