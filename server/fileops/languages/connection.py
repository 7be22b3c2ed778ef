"""One language server as a child process, and the pygls client that talks to it.

Adds what pygls' client lacks: frames and unread output are limited, a request has a time limit and ends with the
server, a reply that cannot be decoded is an error, and the whole process group ends. Belongs to the event loop that
started it.
"""

import asyncio
import itertools
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.io_ import run_async
from pygls.lsp.client import LanguageClient
from pygls.protocol import LanguageServerProtocol, default_converter

from fileops import __version__
from fileops.languages.server_process import ServerProcess

SHUTDOWN_S = 2.0
MAX_UNREAD_BYTES = 16 << 20  # of what the server has not read
MAX_MESSAGE_BYTES = 64 << 20
UNDECODABLE = -32700  # JSON-RPC's parse error, for a reply that is not what the request asks for


class ServerEnded(Exception):
    """The server has ended or has become useless. The text is a clause: "it ended with status 1"."""


class ServerConnection:
    """A running server. on_end: called once, with the reason, if the server ends unasked or has to be killed."""

    def __init__(self, on_end: Callable[[str], None]) -> None:
        self.client = LanguageClient(
            "fileops-server", __version__, protocol_cls=_Protocol, converter_factory=_make_converter
        )
        self.end_reason: str | None = None
        self.is_initialized = False
        self._on_end = on_end
        self._is_stopping = False
        self._ended = asyncio.Event()
        self._ids = itertools.count(1)
        self._process: ServerProcess | None = None
        self._serving: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """The process, and its process group; None before the start."""
        return None if self._process is None else self._process.pid

    async def start(self, program: str, arguments: Sequence[str]) -> None:
        """Raises: ServerEnded."""
        try:
            self._process = await ServerProcess.start(program, arguments)
        except OSError as error:
            raise ServerEnded(f"it could not be started: {error.strerror or error}") from None
        # pygls' writer interface has two methods, which a transport has.
        self.client.protocol.set_writer(cast("Any", self._process.input))
        self._serving = asyncio.create_task(self._serve(self._process))
        await self._process.end_with_daemon()

    async def ask(self, method: str, params: object, timeout_s: float) -> Any:
        """Send a request and return its decoded result. Raises: TimeoutError, ServerEnded, JsonRpcException."""
        self.require_alive()
        request_id = f"fileops-{next(self._ids)}"
        reply = self.client.protocol.send_request_async(method, params, msg_id=request_id)
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait({reply, ended}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if reply.done():
                return reply.result()
            if self.end_reason is not None:
                raise ServerEnded(self.end_reason)
            if self.is_initialized:
                self.client.cancel_request(types.CancelParams(id=request_id))
            raise TimeoutError
        finally:
            ended.cancel()
            reply.cancel()

    def require_alive(self) -> None:
        """Raise ServerEnded if the server has ended, and end it if it does not read."""
        if self.end_reason is None and self._n_unread_bytes() > MAX_UNREAD_BYTES:
            self._end("it does not read what it is sent")
        if self.end_reason is not None:
            raise ServerEnded(self.end_reason)

    async def stop(self) -> None:
        """End the server as LSP specifies; by force if it does not end in time, or has not initialized."""
        self._is_stopping = True
        try:
            if self.end_reason is None and self._process is not None and self.is_initialized:
                with suppress(TimeoutError, ServerEnded, JsonRpcException):
                    async with asyncio.timeout(SHUTDOWN_S):
                        await self.ask(types.SHUTDOWN, None, SHUTDOWN_S)
                        self.client.exit(None)
                        await self._process.wait()
        finally:  # even if the daemon ends meanwhile, and cancels this
            self.kill()
            if self._serving is not None and self._process is not None:
                self._serving.cancel()
                await asyncio.gather(self._serving, return_exceptions=True)
                await self._process.close()

    def kill(self) -> None:
        """End the process group. Harmless if it has ended."""
        if self.end_reason is None:
            self.end_reason = "it was stopped"
        self._ended.set()
        self.kill_process()

    def kill_process(self) -> None:
        """End the process group, from any thread."""
        if self._process is not None:
            self._process.kill()

    def _end(self, reason: str) -> None:
        if self.end_reason is None:
            self.end_reason = reason
            self.kill()
            if not self._is_stopping:
                self._on_end(reason)

    def _n_unread_bytes(self) -> int:
        return 0 if self._process is None else self._process.input.get_write_buffer_size()

    async def _serve(self, process: ServerProcess) -> None:
        try:
            await run_async(threading.Event(), _Frames(process.output), self.client.protocol)
        except (_NoMessage, asyncio.IncompleteReadError, ValueError) as fault:  # ValueError: a line without an end
            self._end(f"it sent something that is not a message ({fault})")
        if self.end_reason is None:
            status = await self._status(process)
            self._end("it closed its output" if status is None else f"it ended with status {status}")
        await process.close()

    @staticmethod
    async def _status(process: ServerProcess) -> int | None:
        """Wait for the exit of a process that has closed its output; return None if it keeps running."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SHUTDOWN_S):
                return await process.wait()
        return None


class _NoMessage(Exception):
    pass


class _Frames:
    """The output of a server, for pygls' reader, which would accept any line and any length."""

    def __init__(self, stdout: asyncio.StreamReader) -> None:
        self._stdout = stdout

    async def readline(self) -> bytes:
        line = await self._stdout.readline()
        if line.strip() and b":" not in line:
            raise _NoMessage(f"the line {line[:60]!r}")
        return line

    async def readexactly(self, n: int) -> bytes:
        if n > MAX_MESSAGE_BYTES:
            raise _NoMessage(f"of {n} bytes")
        return await self._stdout.readexactly(n)


class _Protocol(LanguageServerProtocol):
    def structure_message(self, data: dict[str, Any]) -> Any:
        """Do as pygls does, but a reply that it could not decode, and would drop, fails the request."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" not in data or "method" in data:
                raise
            failure = types.ResponseError(code=UNDECODABLE, message=f"its answer could not be decoded: {error}")
            return types.ResponseErrorMessage(id=data["id"], error=failure, jsonrpc="2.0")


def _make_converter() -> Any:
    """Return lsprotocol's converter, which reads only the used parts of a server's capabilities.

    With cattrs 26, lsprotocol 2025.0.0 fails on `notebookDocumentSync`, as ruff, pylsp and basedpyright send it.
    """
    converter = default_converter()
    converter.register_structure_hook(types.InitializeResult, _initialize_result)
    return converter


def _initialize_result(value: Any, _type: object) -> types.InitializeResult:
    capabilities = cast("dict[str, Any]", value.get("capabilities") or {})
    provider = capabilities.get("diagnosticProvider")
    pull = None
    if isinstance(provider, dict):
        options = cast("dict[str, Any]", provider)
        identifier = options.get("identifier")
        pull = types.DiagnosticOptions(
            inter_file_dependencies=options.get("interFileDependencies") is not False,
            workspace_diagnostics=options.get("workspaceDiagnostics") is True,
            identifier=identifier if isinstance(identifier, str) else None,
        )
    encoding = capabilities.get("positionEncoding")
    return types.InitializeResult(
        capabilities=types.ServerCapabilities(
            position_encoding=encoding if encoding in {"utf-8", "utf-16", "utf-32"} else "utf-16",
            diagnostic_provider=pull,
            document_range_formatting_provider=bool(capabilities.get("documentRangeFormattingProvider")),
        )
    )
