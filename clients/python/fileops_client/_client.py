"""The client object: starts and ends the daemon, sends requests, delivers events. `requests/` has its other methods."""

import asyncio
import itertools
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Self

from fileops_client._capabilities import announced
from fileops_client._connection import Connection, PendingCall, RequestHandler
from fileops_client._process import DEFAULT_COMMAND, Daemon
from fileops_client.callbacks import ConfirmCommand, ConfirmEdit, CorrectEdit, allowing, confirming, correcting
from fileops_client.errors import ConnectionLost, ResponseError
from fileops_client.events import Notification
from fileops_client.models import ToolResult
from fileops_client.requests.files import FileRequests, uri_of
from fileops_client.requests.history import HistoryRequests
from fileops_client.requests.sender import FilePath, given, path_or_none
from fileops_client.requests.sessions import SessionRequests
from fileops_client.requests.tools import ToolRequests
from fileops_client.subscriptions import EventContext, EventHub, Listener, Subscription

SHUTDOWN_GRACE_S = 5.0  # for `shutdown`, for the exit, and for the exit after SIGTERM
COMMAND_S = 120.0  # the daemon's default timeout of a command
CONSENT_S = 660.0  # the user may take 600 s to approve it
LOSS_GRACE_S = 2.0  # for the exit code after the daemon's stdout has ended


class FileOpsClient(FileRequests, SessionRequests, HistoryRequests, ToolRequests):
    """One daemon, one connection. Made by `start` (closes itself) or `open` (close it yourself).

    async with FileOpsClient.start(root="/project") as client:
        await client.read("/project/a.py")
        result = await client.edit("/project/a.py", "old", "new")
        print(result.output)

    A tool that refuses answers with a ToolResult whose `ok` is false. Exceptions mean that the request itself
    failed: ResponseError (refused by the protocol), ConnectionLost (daemon gone), TimeoutError.
    """

    def __init__(self, daemon: Daemon, handlers: Mapping[str, RequestHandler], timeout_s: float | None) -> None:
        self.timeout_s = timeout_s
        self.server_info: dict[str, Any] = {}
        self.capabilities: dict[str, Any] = {}
        self._daemon = daemon
        self._connection = Connection(daemon.stdout, daemon.stdin, on_notification=self._publish, handlers=handlers)
        self._events = EventHub(self._connection.spawn)
        self._closing = False
        self._tokens = itertools.count(1)
        self._running = asyncio.create_task(self._run())

    # --- life -----------------------------------------------------------------------------------------------

    @classmethod
    @asynccontextmanager
    async def start(
        cls,
        command: Sequence[str] | None = None,
        *,
        root: FilePath | None = None,
        roots: Sequence[FilePath] = (),
        initialization_options: Mapping[str, Any] | None = None,
        capabilities: Mapping[str, Any] | None = None,
        handlers: Mapping[str, RequestHandler] | None = None,
        confirm_edit: ConfirmEdit | None = None,
        correct_edit: CorrectEdit | None = None,
        confirm_command: ConfirmCommand | None = None,
        env: Mapping[str, str] | None = None,
        cwd: FilePath | None = None,
        timeout_s: float | None = 60.0,
        on_stderr: Callable[[str], None] | None = None,
    ) -> AsyncGenerator[Self]:
        """Start the daemon for the length of a `with` block; see `open`."""
        client = await cls.open(
            command,
            root=root,
            roots=roots,
            initialization_options=initialization_options,
            capabilities=capabilities,
            handlers=handlers,
            confirm_edit=confirm_edit,
            correct_edit=correct_edit,
            confirm_command=confirm_command,
            env=env,
            cwd=cwd,
            timeout_s=timeout_s,
            on_stderr=on_stderr,
        )
        try:
            yield client
        finally:
            await client.close()

    @classmethod
    async def open(
        cls,
        command: Sequence[str] | None = None,
        *,
        root: FilePath | None = None,
        roots: Sequence[FilePath] = (),
        initialization_options: Mapping[str, Any] | None = None,
        capabilities: Mapping[str, Any] | None = None,
        handlers: Mapping[str, RequestHandler] | None = None,
        confirm_edit: ConfirmEdit | None = None,
        correct_edit: CorrectEdit | None = None,
        confirm_command: ConfirmCommand | None = None,
        env: Mapping[str, str] | None = None,
        cwd: FilePath | None = None,
        timeout_s: float | None = 60.0,
        on_stderr: Callable[[str], None] | None = None,
    ) -> Self:
        """Start the daemon and initialize the connection.

        command: default `python -m fileops` with this interpreter. root, roots: the workspace folders.
        handlers: answer the daemon's requests by method ("workspace/applyEdit", ...); their capabilities are
        announced. confirm_edit: called before each write. correct_edit: called, with the option `correction`, for
        other strings (old, new) if an edit's text was not found. capabilities: merged into the announced ones.
        confirm_command: called before each shell command. env: added to this process's environment.
        timeout_s: for each call that names none.

        Raises: ServerMissing, ResponseError (a bad initialization option), ConnectionLost, TimeoutError.
        """
        answering = dict(handlers or {})
        if confirm_edit is not None:
            answering["fileops/confirmEdit"] = confirming(confirm_edit)
        if correct_edit is not None:
            answering["fileops/correctEdit"] = correcting(correct_edit)
        if confirm_command is not None:
            answering["fileops/confirmCommand"] = allowing(confirm_command)
        folders = ([] if root is None else [root]) + list(roots)
        daemon = await Daemon.start(
            DEFAULT_COMMAND if command is None else command,
            cwd=None if cwd is None else os.fspath(cwd),
            env=env,
            on_stderr=on_stderr,
        )
        client = cls(daemon, answering, timeout_s=timeout_s)
        try:
            await client._greet(
                {
                    # Another command may run on another machine, where our pid means nothing.
                    "processId": os.getpid() if command is None else None,
                    "clientInfo": {"name": "fileops-client"},
                    "rootUri": uri_of(folders[0]) if folders else None,
                    "workspaceFolders": [{"uri": uri_of(f), "name": _name_of(f)} for f in folders] or None,
                    "capabilities": announced(answering, capabilities or {}),
                    "initializationOptions": dict(initialization_options or {}),
                }
            )
        except BaseException:
            await client.close()
            raise
        return client

    async def close(self) -> int | None:
        """Shut the daemon down: by request, by closing its input, by SIGTERM, by SIGKILL. Return its exit code."""
        if self._closing:
            await asyncio.gather(self._running, return_exceptions=True)
            return self._daemon.process.returncode
        self._closing = True
        try:
            with suppress(ResponseError, ConnectionLost, TimeoutError):  # `end` does the rest
                await self._connection.request("shutdown", None, timeout_s=SHUTDOWN_GRACE_S)
                self._connection.notify("exit", None)
            code = await self._daemon.end(SHUTDOWN_GRACE_S)
            await asyncio.wait([self._running], timeout=LOSS_GRACE_S)
        except asyncio.CancelledError:
            self._daemon.kill()
            raise
        finally:
            self._running.cancel()
            self._connection.lose(ConnectionLost("the client was closed"))
            self._events.end(None)
        await self._connection.settle()
        return code

    @property
    def pid(self) -> int:
        return self._daemon.process.pid

    @property
    def stderr_tail(self) -> str:
        return self._daemon.stderr_tail

    # --- any request ----------------------------------------------------------------------------------------

    async def request(self, method: str, params: Any = None, *, timeout_s: float | None = None) -> Any:
        """Send a request and return its result as JSON. A cancelled task or a timeout sends `$/cancelRequest`.

        It is then unknown whether a cancelled edit was applied: use `begin` if that matters.
        Raises: ResponseError, ConnectionLost, TimeoutError.
        """
        limit_s = self.timeout_s if timeout_s is None else timeout_s
        return await self._connection.request(method, params, timeout_s=limit_s)

    def begin(self, method: str, params: Any = None) -> PendingCall:
        """Send a request without waiting. After its `cancel()` the true outcome can still be awaited."""
        return self._connection.begin(method, params)

    def notify(self, method: str, params: Any = None) -> None:
        self._connection.notify(method, params)

    # --- shell commands ---------------------------------------------------------------------------------------

    async def bash(
        self,
        command: str,
        *,
        timeout_s: float | None = None,
        cwd: FilePath | None = None,
        description: str | None = None,
        session_id: str | None = None,
        on_output: Callable[[str], None] | None = None,
    ) -> ToolResult:
        """Run a shell command. The server needs the option `bash`.

        timeout_s: of the command, by default 120. description: its purpose, shown to the user for approval.
        on_output: new output as it comes.
        Cancelling the call ends the command.
        """
        params = given(
            command=command, timeout_s=timeout_s, cwd=path_or_none(cwd), description=description, session_id=session_id
        )
        if on_output is None:
            return await self._tool("fileops/bash", params, None)
        token = f"bash-{next(self._tokens)}"

        def pass_on(event: Notification) -> None:
            value = event.params["value"]
            if event.params["token"] == token and value["kind"] == "report":
                on_output(value["message"])

        stop = self.on("$/progress", pass_on)
        try:
            return await self._tool("fileops/bash", {**params, "workDoneToken": token}, None)
        finally:
            stop()

    async def _tool(self, method: str, params: dict[str, Any], timeout_s: float | None) -> ToolResult:
        if method == "fileops/bash" and timeout_s is None:  # the command has its own timeout
            wanted = params.get("timeout_s")
            timeout_s = (wanted if isinstance(wanted, (int, float)) else COMMAND_S) + CONSENT_S
        return await super()._tool(method, params, timeout_s)

    # --- events ---------------------------------------------------------------------------------------------

    def on(self, name: str, listener: Listener) -> Callable[[], None]:
        """Call `listener` (plain or async) with each event of that name. Return a function that stops this.

        A known event is delivered as its value (BecameStale, DidEdit, ...), any other as Notification.
        Raises: ValueError (no event can have this name).
        """
        return self._events.on(name, listener)

    def add_event_listener(self, name: str, callback: Callable[[EventContext], Any]) -> Callable[[], None]:
        """Call `callback` for "file:read", "file:edited" or "file:conflict", with the params as `context.data`."""
        return self._events.add_documented(name, callback)

    def remove_event_listener(self, name: str, callback: Callable[[EventContext], Any]) -> None:
        self._events.remove_documented(name, callback)

    def events(self, *names: str) -> Subscription:
        """Subscribe to all or the named events: `async for event in client.events("fileops/didEdit")`.

        Raises: ValueError (no event can have this name).
        """
        return self._events.subscribe(names)

    # --- inside ---------------------------------------------------------------------------------------------

    async def _greet(self, params: dict[str, Any]) -> None:
        answer = await self.request("initialize", params)
        self.capabilities = answer.get("capabilities") or {}
        self.server_info = answer.get("serverInfo") or {}
        self.notify("initialized", {})

    def _publish(self, method: str, params: Any) -> None:
        self._events.publish(method, params)

    async def _run(self) -> None:
        fault = await self._connection.run()
        code = await self._daemon.wait(LOSS_GRACE_S)
        if self._closing:
            fault = "the client was closed"
        elif fault is None:
            fault = "the daemon has ended" if code is not None else "the daemon has closed its output"
        if code is not None:
            fault += f" (exit code {code})"
        lost = ConnectionLost(fault, exit_code=code, stderr_tail=self._daemon.stderr_tail)
        self._connection.lose(lost)
        self._events.end(None if self._closing else lost)


def _name_of(folder: FilePath) -> str:
    return os.path.basename(os.fspath(folder).rstrip("/")) or "/"
