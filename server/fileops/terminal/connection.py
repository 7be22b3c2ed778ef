"""What the commands and the full screen share for talking to the daemon: a client, possible failures, exit statuses.

This is a module of its own because the full screen is loaded only if Textual is installed.
"""

import os
import time
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from fileops.attach.address import AttachRefused as AddressRefused
from fileops.attach.address import find_address
from fileops.attach.client import attachment_here
from fileops.attach.handshake import attach_line
from fileops.attach.starter import NotAttached, attach
from fileops_client._framing import decode, encode
from fileops_client.errors import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    AttachRefused,
    ConnectionLost,
    RequestTimeout,
    ResponseError,
    ServerMissing,
)
from fileops_client.requests.files import FileRequests, uri_of
from fileops_client.requests.history import HistoryRequests
from fileops_client.requests.record import RecordRequests
from fileops_client.requests.reviews import ReviewRequests
from fileops_client.requests.sessions import SessionRequests
from fileops_client.requests.turns import TurnRequests

DONE, FAILED, MISUSED = 0, 1, 2  # exit statuses
HOST = "terminal"  # the name of this client, as people read it
DECIDE_S = 60.0  # how long the edits may take to be written
FOLDER_IS_GONE = "The current folder was removed. Change to another one."
# The failures that keep a program from reaching the daemon.
UNREACHABLE = (ServerMissing, AddressRefused, AttachRefused, NotAttached, ConnectionLost, RequestTimeout, ResponseError)

T = TypeVar("T")


def finish(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits for a CommandClient alone, and return its result."""
    try:
        work.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    work.close()
    raise RuntimeError("a command has waited for something else than the daemon")


class CommandClient(FileRequests, SessionRequests, HistoryRequests, RecordRequests, ReviewRequests, TurnRequests):
    """An editor without documents, for one command: it sends a request and blocks until the answer.

    It has the typed methods of FileOpsClient. asyncio, which that needs for events, takes longer to import than most
    commands do. Its methods are coroutines, as those are, but never wait for an event loop: see `finish`.
    """

    def __init__(self, socket_path: str | None, folder: str) -> None:
        """Attach, and start a daemon if none runs. Raises: AddressRefused, AttachRefused, NotAttached."""
        # The hints of an agent's shell are not sent: a person's command belongs to no session.
        attachment = attachment_here("lsp", "editor", HOST, roots=[folder])._replace(hints={})
        attached = attach(find_address(socket_path, os.environ), attach_line(attachment))
        if not attached.answer.is_ok:
            attached.connection.close()
            raise AttachRefused(str(attached.answer.fields.get("reason")), attached.answer.message)
        self._connection = attached.connection
        self._stream = attached.connection.makefile("rb")
        self._last_id = 0
        self._folder = folder

    def __enter__(self) -> Self:
        """Raises: UNREACHABLE."""
        folder = {"uri": uri_of(self._folder), "name": os.path.basename(self._folder) or "/"}
        self._answer_to(
            "initialize",
            {
                "processId": os.getpid(),
                "clientInfo": {"name": HOST},
                "rootUri": folder["uri"],
                "workspaceFolders": [folder],
                "capabilities": {
                    "general": {"positionEncodings": ["utf-32", "utf-16"]},
                    "workspace": {"workspaceFolders": True},
                },
                "initializationOptions": {"approval_fallback": "none"},
            },
            None,
        )
        self.notify("initialized", {})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._connection, self._stream:
            if kind is None:
                self._answer_to("shutdown", None, DECIDE_S)
                self.notify("exit", None)

    @property
    def own_session_id(self) -> str:
        return "default"

    async def request(self, method: str, params: Any = None, *, timeout_s: float | None = None) -> Any:
        return self._answer_to(method, params, timeout_s)

    def notify(self, method: str, params: Any = None) -> None:
        self._send({"method": method, "params": params})

    def _answer_to(self, method: str, params: Any, timeout_s: float | None) -> Any:
        """Raises: ResponseError, ConnectionLost, RequestTimeout."""
        self._last_id += 1
        request_id, deadline = self._last_id, None if timeout_s is None else time.monotonic() + timeout_s
        self._send({"id": request_id, "method": method, "params": params})
        try:
            while True:
                message = self._receive(deadline)
                if "method" in message:
                    self._refuse(message)
                elif message.get("id") == request_id:
                    break
        except BaseException as fault:  # KeyboardInterrupt as well: the daemon is to stop
            self._send({"method": "$/cancelRequest", "params": {"id": request_id}}, is_last=True)
            if isinstance(fault, TimeoutError):
                raise RequestTimeout(method, timeout_s or 0.0) from None
            raise
        if (error := message.get("error")) is not None:
            raise ResponseError(error.get("code", 0), error.get("message", ""), error.get("data"))
        return message.get("result")

    def _refuse(self, message: dict[str, Any]) -> None:
        """Answer a request of the daemon, such as to register a capability. Its notifications are for editors."""
        if "id" in message:
            error = {"code": METHOD_NOT_FOUND, "message": f"no handler for {message['method']}"}
            self._send({"id": message["id"], "error": error})

    def _send(self, message: dict[str, Any], *, is_last: bool = False) -> None:
        """Raises: ConnectionLost, unless it is the last message."""
        try:
            self._connection.settimeout(None)
            self._connection.sendall(encode({"jsonrpc": "2.0", **message}))
        except OSError:
            if not is_last:
                raise ConnectionLost("the daemon has closed the connection") from None

    def _receive(self, deadline: float | None) -> dict[str, Any]:
        """Raises: ConnectionLost, TimeoutError."""
        self._connection.settimeout(None if deadline is None else max(deadline - time.monotonic(), 0.001))
        n_bytes = 0
        try:
            while header := self._stream.readline().strip():
                name, _, value = header.partition(b":")
                if name.lower() == b"content-length":
                    n_bytes = int(value)
            body = self._stream.read(n_bytes)
        except ConnectionError:
            body = b""
        if not body or len(body) < n_bytes:
            raise ConnectionLost("the daemon has ended")
        return decode(body)


def reason_of(fault: ResponseError) -> str:
    """Return what was wrong, without the parameter's name, because the person did not write one."""
    return str(fault.data["reason"]) if fault.code == INVALID_PARAMS else fault.message
