"""A shared daemon and its clients in one process, each over a socket pair."""

import asyncio
import json
import os
import re
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from fileops.attach.handshake import AttachRequest
from fileops.compose.daemon import SharedDaemonState
from fileops.rpc.session import StreamSession
from fileops.rpc.standard_io import Ended
from support.patience import PATIENCE_S
from support.rawclient import frame

Message = dict[str, Any]
Answer = Callable[[Any], Awaitable[Any]]
C = TypeVar("C", bound="SharedClient")


class Refused(Exception):
    """The daemon answered with an error. args: code, message, data."""


class Serving(Protocol):
    """A session: a StreamSession of this process, or the connection to another one."""

    async def serve(self) -> Ended: ...

    def end(self, status: int, /) -> None: ...


class SharedClient:
    """One client. `answers` answers the daemon's requests by method; others are refused."""

    def __init__(
        self, session: Serving, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, by_line: bool
    ) -> None:
        self.session = session
        self.serving = asyncio.create_task(session.serve())
        self.notifications: list[tuple[str, Any]] = []
        self._unclaimed: list[tuple[str, Any]] = []  # those that have answered no wait
        self.asked: list[tuple[str, Any]] = []  # the daemon's requests
        self.withdrawn: list[object] = []  # ids of those that it cancelled
        self.answers: dict[str, Answer] = {}
        self._reader = reader
        self._writer = writer
        self._by_line = by_line
        self._replies: dict[int, asyncio.Future[Message]] = {}
        self._changed = asyncio.Condition()
        self._answering: set[asyncio.Task[None]] = set()
        self._receiving = asyncio.create_task(self._receive_all())

    async def call(self, method: str, params: object = None) -> Any:
        """Raises: Refused."""
        return await self.start(method, params)

    def start(self, method: str, params: object = None) -> "asyncio.Task[Any]":
        """Send a request now, and return what waits for its result."""
        msg_id = len(self._replies) + 1
        reply = self._replies[msg_id] = asyncio.get_running_loop().create_future()
        self.send({"jsonrpc": "2.0", "id": msg_id, "method": method, "params": params})
        return asyncio.create_task(_result_of(reply))

    @property
    def last_id(self) -> int:
        """The id of the last request."""
        return len(self._replies)

    def cancel(self, msg_id: int) -> None:
        key, method = ("requestId", "notifications/cancelled") if self._by_line else ("id", "$/cancelRequest")
        self.notify(method, {key: msg_id})

    def notify(self, method: str, params: object) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def send(self, message: Message) -> None:
        self._writer.write(json.dumps(message).encode() + b"\n" if self._by_line else frame(message))

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a message has made the condition true."""
        async with asyncio.timeout(PATIENCE_S), self._changed:
            await self._changed.wait_for(condition)

    async def notification(self, method: str, where: Callable[[Any], bool] = lambda params: True) -> Any:
        """The first such notification that has answered no wait yet; it may have arrived already."""

        def unclaimed() -> list[tuple[str, Any]]:
            return [told for told in self._unclaimed if told[0] == method and where(told[1])]

        await self.until(lambda: bool(unclaimed()))
        told = unclaimed()[0]
        self._unclaimed.remove(told)
        return told[1]

    def claim_all(self) -> None:
        """Let no notification answer a wait that has arrived before now."""
        self._unclaimed.clear()

    def notified(self, method: str, where: Callable[[Any], bool] = lambda params: True) -> list[Any]:
        return [params for name, params in self.notifications if name == method and where(params)]

    async def question(self, n: int = 1) -> Any:
        """The params of the daemon's n-th request of `answers` and others."""
        await self.until(lambda: len(self.asked) >= n)
        return self.asked[n - 1][1]

    def stop_reading(self) -> None:
        """Take nothing any more of what the daemon sends, as a program that hangs does."""
        self._receiving.cancel()
        transport = self._writer.transport
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()

    async def hang_up(self) -> Ended:
        """Disconnect without a word, as a killed program does."""
        self._writer.close()
        self._receiving.cancel()
        return await self.ended()

    async def ended(self) -> Ended:
        return await asyncio.wait_for(asyncio.shield(self.serving), PATIENCE_S)

    async def close(self) -> None:
        self.session.end(0)
        await self.ended()
        self._receiving.cancel()
        self._writer.close()

    async def _receive_all(self) -> None:
        while (message := await self._receive()) is not None:
            async with self._changed:
                self._take(message)
                self._changed.notify_all()

    async def _receive(self) -> Message | None:
        try:
            if self._by_line:
                line = await self._reader.readline()
                return json.loads(line) if line else None
            header = await self._reader.readuntil(b"\r\n\r\n")
            length = re.fullmatch(rb"Content-Length: (\d+)\r\n\r\n", header)
            assert length is not None
            return json.loads(await self._reader.readexactly(int(length[1])))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    def _take(self, message: Message) -> None:
        method, msg_id = message.get("method"), message.get("id")
        if method is None:
            self._replies[message["id"]].set_result(message)
        elif msg_id is not None:
            self.asked.append((method, message.get("params")))
            task = asyncio.create_task(self._answer(msg_id, method, message.get("params")))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        elif method in {"$/cancelRequest", "notifications/cancelled"}:
            self.withdrawn.append(message["params"].get("id", message["params"].get("requestId")))
        else:
            told = (method, message.get("params"))
            self.notifications.append(told)
            self._unclaimed.append(told)

    async def _answer(self, msg_id: object, method: str, params: Any) -> None:
        answer = self.answers.get(method)
        if answer is None:
            self.send({"jsonrpc": "2.0", "id": msg_id, "error": {"code": -32601, "message": f"{method} is unknown"}})
        else:
            self.send({"jsonrpc": "2.0", "id": msg_id, "result": await answer(params)})


async def _result_of(reply: "asyncio.Future[Message]") -> Any:
    message = await asyncio.wait_for(reply, PATIENCE_S)
    if "error" in message:
        error = message["error"]
        raise Refused(error["code"], error["message"], error.get("data"))
    return message["result"]


class LspClient(SharedClient):
    """An editor, or an agent that speaks `fileops/*`."""

    async def initialize(
        self,
        *folders: Path,
        name: str | None = None,
        capabilities: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Any:
        params = {
            "capabilities": capabilities or {},
            "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name} for folder in folders],
            "initializationOptions": options or {},
            **({} if name is None else {"clientInfo": {"name": name}}),
        }
        result = await self.call("initialize", params)
        self.notify("initialized", {})
        return result

    async def read(self, file: Path, session_id: str | None = None) -> Any:
        return await self.call("fileops/read", {"file_path": str(file), **_session(session_id)})

    async def edit(self, file: Path, old: str, new: str, session_id: str | None = None) -> Any:
        return await self.start_edit(file, old, new, session_id)

    def start_edit(self, file: Path, old: str, new: str, session_id: str | None = None) -> "asyncio.Task[Any]":
        params = {"file_path": str(file), "old_string": old, "new_string": new, **_session(session_id)}
        return self.start("fileops/edit", params)

    def open(self, file: Path, text: str | None = None, *, version: int = 1) -> None:
        """Open a document; with a text that differs from the file it has unsaved changes."""
        shown = file.read_text() if text is None else text
        document = {"uri": file.as_uri(), "languageId": "text", "version": version, "text": shown}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, file: Path, text: str, *, version: int) -> None:
        document = {"uri": file.as_uri(), "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})


class McpHost(SharedClient):
    """An agent's host that speaks MCP."""

    async def begin(self, name: str = "codex", capabilities: Mapping[str, Any] | None = None) -> Any:
        params = {"protocolVersion": "2025-11-25", "capabilities": capabilities or {}, "clientInfo": {"name": name}}
        result = await self.call("initialize", params)
        self.notify("notifications/initialized", {})
        return result

    async def tool(self, tool: str, /, thread: str | None = None, **arguments: object) -> Any:
        return await self.start_tool(tool, thread, **arguments)

    def start_tool(self, tool: str, /, thread: str | None = None, **arguments: object) -> "asyncio.Task[Any]":
        meta = {} if thread is None else {"_meta": {"threadId": thread}}
        return self.start("tools/call", {"name": tool, "arguments": arguments, **meta})


class SharedDaemon:
    """The state of one daemon, and the clients that were connected to it."""

    def __init__(self, state: SharedDaemonState) -> None:
        self.state = state
        self.send_buffer_bytes: int | None = None  # of the sockets of further clients; None for the kernel's default
        self._n: dict[str, int] = {}
        self._clients: list[SharedClient] = []
        self._descriptors: list[int] = []  # of the daemon's side, which the listener would close

    async def editor(
        self, *folders: Path, host: str = "nvim", confirms: bool = False, saves: bool = False, **options: Any
    ) -> LspClient:
        """An editor that was initialized.

        confirms: it shows each edit to its user; else no user is asked. saves: it is asked to save documents.
        """
        options = {"approval_fallback": "none", "ask": "each_edit" if confirms else None, **options}
        client = await self.lsp("editor", host)
        await client.initialize(
            *folders, capabilities=editor_capabilities(confirms=confirms, saves=saves), options=options
        )
        return client

    async def agent(
        self,
        *folders: Path,
        host: str = "bot",
        session: str | None = None,
        umask: int | None = None,
        **options: Any,
    ) -> LspClient:
        """An agent that speaks `fileops/*`, initialized."""
        client = await self.lsp("agent", host, session=session, umask=umask)
        await client.initialize(*folders, options=options)
        return client

    async def lsp(
        self,
        role: Any,
        host: str,
        *,
        session: str | None = None,
        hints: Mapping[str, object] | None = None,
        umask: int | None = None,
    ) -> LspClient:
        attachment = AttachRequest(
            version="0",
            protocol="lsp",
            role=role,
            host=host,
            cwd="/",
            session=session,
            hints=hints or {},
            pid=0 if role == "editor" else os.getpid(),  # no agent's host has started the editor
            umask=umask,
        )
        return self._kept(LspClient(*await self._connect(attachment), by_line=False))

    async def mcp(
        self,
        cwd: Path,
        host: str = "codex",
        *,
        hints: Mapping[str, object] | None = None,
        **options: object,
    ) -> McpHost:
        attachment = AttachRequest(
            version="0",
            protocol="mcp",
            role="agent",
            host=host,
            cwd=str(cwd),
            hints=hints or {},
            options=options,
            pid=os.getpid(),
        )
        return self._kept(McpHost(*await self._connect(attachment), by_line=True))

    async def host(
        self,
        cwd: Path,
        name: str = "codex",
        *,
        elicits: bool = False,
        hints: Mapping[str, object] | None = None,
        **options: object,
    ) -> McpHost:
        """An agent's host that was initialized."""
        client = await self.mcp(cwd, name, hints=hints, **options)
        await client.begin(name, {"elicitation": {}} if elicits else {})
        return client

    async def close(self) -> None:
        """End it, unless it was ended before."""
        while self._clients:
            await self._clients.pop(0).close()
        await asyncio.to_thread(self.state.close)
        while self._descriptors:
            os.close(self._descriptors.pop())

    def _kept(self, client: C) -> C:
        self._clients.append(client)
        return client

    async def _connect(
        self, attachment: AttachRequest
    ) -> tuple[StreamSession, asyncio.StreamReader, asyncio.StreamWriter]:
        self._n[attachment.host] = n = self._n.get(attachment.host, 0) + 1
        ours, theirs = socket.socketpair()
        if self.send_buffer_bytes is not None:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.send_buffer_bytes)
        for_reading, for_writing = os.dup(ours.fileno()), os.dup(ours.fileno())
        ours.close()
        self._descriptors += (for_reading, for_writing)
        session = self.state.open_session(attachment, f"{attachment.host}-{n}", for_reading, for_writing)
        return session, *await asyncio.open_connection(sock=theirs, limit=64 << 20)


def editor_capabilities(*, confirms: bool = False, saves: bool = False) -> dict[str, Any]:
    return {
        "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
        "textDocument": {"synchronization": {}},
        "experimental": {"fileops": {"confirm_edit": confirms, "save_document": saves}},
    }


@asynccontextmanager
async def shared_daemon() -> AsyncGenerator[SharedDaemon]:
    daemon = SharedDaemon(SharedDaemonState())
    try:
        yield daemon
    finally:
        await daemon.close()


async def until_recorded(client: LspClient, *folders: Path) -> None:
    """Wait until the folders are recorded, and the contents before are known."""
    wanted = {str(folder) for folder in folders}
    async with asyncio.timeout(PATIENCE_S):
        while True:
            status = await client.call("fileops/recordStatus", {})
            if wanted <= {folder["root"] for folder in status["folders"] if folder["state"] != "starting"}:
                return
            await asyncio.sleep(0.01)


def code_of(result: Any) -> str | None:
    """The error code of a tool's result, None if it succeeded. Of `fileops/*` and of MCP."""
    if "_meta" in result:
        return result["_meta"]["fileops/result"].get("code")
    return None if result["error"] is None else result["error"]["code"]


def _session(session_id: str | None) -> dict[str, str]:
    return {} if session_id is None else {"session_id": session_id}
