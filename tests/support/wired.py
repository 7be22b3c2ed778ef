"""A private server over files in memory, without a process: JSON goes into its connection and comes out of it.

What a client meets is here to be arranged: the moment of a cancel, a connection that is closed, a disk that stops.
"""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Literal

from fileops.compose.mcp_connection import NoEvents
from fileops.fs.memory import MemoryFileSystem
from fileops.lsp.server import ClientContext, LspServer
from fileops.mcp.elicitation import McpApprover
from fileops.mcp.host_sessions import HostSessions
from fileops.mcp.options import McpOptions
from fileops.mcp.server import McpServer
from fileops.model.files import Stamp
from fileops.service.fileops import FileOps
from support.in_process import Person, asker_of, asker_of_host, service_over
from support.patience import PATIENCE_S

Message = dict[str, Any]
Protocol = Literal["lsp", "mcp"]


class HeldDisk(MemoryFileSystem):
    """A disk that does not answer a worker thread's look at the file `held`, until `go_on` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.held: str | None = None
        self.has_begun = threading.Event()
        self.go_on = threading.Event()

    def hold(self, path: str) -> None:
        self.has_begun.clear()
        self.go_on.clear()
        self.held = path

    def release(self) -> None:
        self.held = None
        self.go_on.set()

    def stat(self, path: str) -> Stamp | None:
        if path == self.held and threading.current_thread().name.startswith("fileops-worker"):
            self.has_begun.set()
            assert self.go_on.wait(PATIENCE_S)
        return super().stat(path)


class Wire:
    """A client's end of a connection to its own server. Requests have the ids 1, 2, …

    is_open: whether messages are taken for sending; else the connection counts as lost.
    """

    n_pending_bytes = 0

    def __init__(self, disk: MemoryFileSystem, server: LspServer | McpServer) -> None:
        self.disk = disk
        self.server = server
        self.connection = server.connection
        self.connection.sink = self
        self.is_open = True
        self.answers: dict[int, Message] = {}  # in the order of their arrival
        self._n = 0
        self._changed = asyncio.Event()

    # --- the server's side -----------------------------------------------------------------------------------

    def write(self, body: bytes) -> bool:
        message = json.loads(body)
        if self.is_open and "method" not in message:
            self.answers[message["id"]] = message
            self._changed.set()
        return self.is_open

    @contextmanager
    def batch(self) -> Generator[None]:
        yield

    # --- the client's side -----------------------------------------------------------------------------------

    def notify(self, method: str, params: object) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def start(self, method: str, params: object = None) -> int:
        self._n += 1
        message = {"jsonrpc": "2.0", "id": self._n, "method": method}
        self._send(message if params is None else {**message, "params": params})
        return self._n

    def start_tool(self, name: str, **arguments: object) -> int:
        """Over MCP."""
        return self.start("tools/call", {"name": name, "arguments": arguments})

    async def answer(self, msg_id: int) -> Message:
        async with asyncio.timeout(PATIENCE_S):
            while msg_id not in self.answers:
                self._changed.clear()
                await self._changed.wait()
        return self.answers[msg_id]

    async def call(self, method: str, params: object = None) -> Any:
        return (await self.answer(self.start(method, params)))["result"]

    async def tool(self, name: str, **arguments: object) -> Any:
        return (await self.answer(self.start_tool(name, **arguments)))["result"]

    def cancel(self, msg_id: int) -> None:
        if isinstance(self.server, LspServer):
            self.notify("$/cancelRequest", {"id": msg_id})
        else:
            self.notify("notifications/cancelled", {"requestId": msg_id})

    async def settled(self) -> None:
        """Wait until no request is in work."""
        while in_flight := self.connection.in_flight():
            await asyncio.wait(in_flight)
        await asyncio.sleep(0)  # for the callbacks of the last one

    def _send(self, message: Message) -> None:
        assert self.connection.receive(json.dumps(message).encode()) is None


@asynccontextmanager
async def lsp_wire(disk: MemoryFileSystem, person: Person | None = None, **options: object) -> AsyncGenerator[Wire]:
    """An initialized LSP connection. Args: options: of `initializationOptions`."""
    disk.make_folder("/w")

    def build(context: ClientContext) -> FileOps:
        asker = asker_of(person or Person())
        return service_over(disk, context.events, asker, context.settings, context.folders)

    async with _closing(Wire(disk, LspServer(build))) as wire:
        folders = [{"uri": "file:///w", "name": "w"}]
        params = {"capabilities": {}, "workspaceFolders": folders, "initializationOptions": options}
        await wire.call("initialize", params)
        wire.notify("initialized", {})
        yield wire


@asynccontextmanager
async def mcp_wire(disk: MemoryFileSystem, options: McpOptions | None = None) -> AsyncGenerator[Wire]:
    """A connection of an MCP host after its handshake."""
    disk.make_folder("/w")
    used = options or McpOptions(roots=["/w"], further_tools=("Write", "Undo"))

    def build(approver: McpApprover, names: HostSessions) -> FileOps:
        return service_over(disk, NoEvents(), asker_of_host(approver), used.settings, agent=names)

    async with _closing(Wire(disk, McpServer(build, used, {}))) as wire:
        info = {"name": "probe", "version": "1"}
        await wire.call("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info})
        wire.notify("notifications/initialized", {})
        yield wire


@asynccontextmanager
async def _closing(wire: Wire) -> AsyncGenerator[Wire]:
    try:
        yield wire
    finally:
        await asyncio.to_thread(wire.server.close_service)


def code_of(result: Message) -> str | None:
    """The error code of a tool's result, None if it succeeded. Over LSP and MCP."""
    if "_meta" in result:
        return result["_meta"]["fileops/result"]["code"]
    return None if result["error"] is None else result["error"]["code"]


def texts_of(result: Message) -> list[str]:
    """Over MCP."""
    return [item["text"] for item in result["content"]]
