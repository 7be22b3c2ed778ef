"""The client object: starts and ends a connection, sends requests, delivers events.

The other methods are in `_start.py` and `requests/`.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import Any, cast, overload

import msgspec

from fileops_client._capabilities import build_capabilities
from fileops_client._connection import Connection, PendingCall
from fileops_client._session import Session
from fileops_client._start import NAME, StartMethods
from fileops_client._transport import Launch, Transport
from fileops_client.callbacks import DEFAULT_SESSION, Callbacks
from fileops_client.errors import ConnectionLost, ResponseError
from fileops_client.events import E, KnownEvent
from fileops_client.options import Setup
from fileops_client.requests.changes import ChangeRequests
from fileops_client.requests.commands import CommandRequests
from fileops_client.requests.files import FileRequests, uri_of
from fileops_client.requests.history import HistoryRequests
from fileops_client.requests.record import RecordRequests
from fileops_client.requests.reviews import ReviewRequests
from fileops_client.requests.sender import drop_none
from fileops_client.requests.sessions import SessionRequests
from fileops_client.requests.tools import ToolRequests
from fileops_client.requests.turns import TurnRequests
from fileops_client.subscriptions import EventContext, EventHub, Listener, Subscription, Where
from fileops_client.values import DidChangeReviews, ToolDefinition

SHUTDOWN_GRACE_S = 5.0  # each: for `shutdown`, the exit, and the exit after SIGTERM
LOSS_GRACE_S = 2.0  # for the exit code after the daemon's stdout has ended
LOG_LEVELS = {1: logging.ERROR, 2: logging.WARNING, 3: logging.INFO}  # LSP's MessageType

log = logging.getLogger("fileops_client")


class FileOpsClient(
    StartMethods,
    FileRequests,
    ChangeRequests,
    SessionRequests,
    HistoryRequests,
    ToolRequests,
    CommandRequests,
    ReviewRequests,
    RecordRequests,
    TurnRequests,
):
    """One connection to a server, which runs in one of three ways.

    `start`: a child process of this program. `attach`: the daemon that all agents and editors of the user share.
    `in_process`: a part of this process. Each is used as

    async with FileOpsClient.start(root="/project") as client:
        await client.read("/project/a.py")
        result = await client.edit("/project/a.py", "old", "new")
        print(result.output)

    or as `client = await FileOpsClient.start(...)`, which ends with `await client.close()`.

    A tool that refuses answers with a ToolResult whose `ok` is false. Exceptions mean that the request itself
    failed: ResponseError (refused by the protocol), ConnectionLost (daemon gone), RequestTimeout, CallbackFailed.
    """

    def __init__(self, launch: Launch, setup: Setup, *, parent_pid: int | None, name: str = NAME) -> None:
        self.timeout_s: float | None = setup.timeout_s
        self.server_info: dict[str, Any] = {}
        self.capabilities: dict[str, Any] = {}
        self._launch = launch
        self._setup = setup
        self._parent_pid = parent_pid
        self._name = name
        self._callbacks = Callbacks()
        self._handlers = {
            **(setup.handlers or {}),
            **self._callbacks.handlers(setup.confirm_edit, setup.correct_edit, setup.confirm_command),
        }
        self._events = EventHub(
            lambda work: self._connection.spawn(work),  # noqa: PLW0108 - it is made again by `restart`
            announced=self._list_announced_events,
        )
        if setup.on_reviews is not None:
            self._events.on(DidChangeReviews, setup.on_reviews)
        self._tools: dict[frozenset[str] | None, tuple[ToolDefinition, ...]] = {}
        self._restarting = asyncio.Lock()
        self._transport: Transport
        self._connection: Connection
        self._running: asyncio.Task[None]
        self._closing = False

    # --- life -----------------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent: the connection is neither closed nor lost."""
        return not self._closing and self._connection.is_open

    async def restart(self) -> None:
        """End the server if it still runs, and start again with the same parameters.

        Listeners stay; subscriptions, open documents, and what the sessions have read and were granted are gone.
        Concurrent calls restart it once. Raises: as opening the client.
        """
        connection = self._connection
        async with self._restarting:
            if self._connection is connection:
                await self.close()
                self._closing = False
                self._events.reopen()
                await self._begin()

    async def close(self) -> int | None:
        """End the connection. A child process is asked first, then loses its input, then gets SIGTERM, then SIGKILL.

        Returns its exit code; None without a child process.
        """
        if self._closing:
            await asyncio.gather(self._running, return_exceptions=True)
            return await self._transport.wait(0)
        self._closing = True
        try:
            # `end` does the rest if the server does not listen. A server that was not initialized refuses `shutdown`.
            with suppress(ConnectionLost, TimeoutError):
                with suppress(ResponseError):
                    await self._connection.request("shutdown", None, timeout_s=SHUTDOWN_GRACE_S)
                self._connection.notify("exit", None)
            code = await self._transport.end(SHUTDOWN_GRACE_S)
            await asyncio.wait([self._running], timeout=LOSS_GRACE_S)
        except asyncio.CancelledError:
            self._transport.kill()
            raise
        finally:
            self._running.cancel()
            self._connection.lose(ConnectionLost("the client was closed"))
            self._events.end(None)
        await self._connection.settle()
        return code

    @property
    def pid(self) -> int:
        """The process id of the server; this process's for `in_process`."""
        return self._transport.pid

    @property
    def stderr_tail(self) -> str:
        """The last lines that the child process wrote to stderr; "" without one."""
        return self._transport.stderr_tail

    @property
    def own_session_id(self) -> str:
        """The session of calls that name none: "default"."""
        return DEFAULT_SESSION

    # --- sessions and requests --------------------------------------------------------------------------------

    def session(self, session_id: str) -> Session:
        """Return a session as an object: what one agent has read and done. It begins with its first request.

        Args:
            session_id: any text that names it among this client's sessions.
        """
        return Session(self, session_id)

    async def request(self, method: str, params: Any = None, *, timeout_s: float | None = None) -> Any:
        """Send any request and return its result as JSON. A cancelled task or a timeout sends `$/cancelRequest`.

        It is then unknown whether a cancelled edit was applied: use `begin` if that matters.

        Args:
            method: the protocol's, as "fileops/edit".
            params: as JSON; None for none.
            timeout_s: seconds until the request is cancelled; by default the client's `timeout_s`.

        Raises: ResponseError (the server does not accept the request), ConnectionLost (the server is gone),
            RequestTimeout, CallbackFailed (this program's `confirm_edit` or another callback failed).
        """
        limit_s = self.timeout_s if timeout_s is None else timeout_s
        try:
            result = await self._connection.request(method, params, timeout_s=limit_s)
        except BaseException:
            self._callbacks.take_failure(params)
            raise
        if isinstance(result, dict):
            self._callbacks.require_decided(params, cast("dict[str, Any]", result))
        return cast("Any", result)

    def begin(self, method: str, params: Any = None) -> PendingCall:
        """Send any request without waiting. After its `cancel()` you can still wait for the true outcome.

        Args:
            method: the protocol's, as "fileops/edit".
            params: as JSON; None for none.
        """
        return self._connection.begin(method, params)

    def notify(self, method: str, params: Any = None) -> None:
        """Send any notification. Nothing is answered.

        Args:
            method: the protocol's, as "textDocument/didOpen".
            params: as JSON; None for none.

        Raises: ConnectionLost.
        """
        self._connection.notify(method, params)

    async def definitions(self, enabled: Collection[str] | None = None) -> tuple[ToolDefinition, ...]:
        """Return the definitions of the tools, as `tools` does. The server is asked once for each choice.

        Args:
            enabled: the tools' names; by default all.
        """
        chosen = None if enabled is None else frozenset(enabled)
        if chosen not in self._tools:
            params = drop_none(enabled=None if enabled is None else list(enabled))
            answer = await self.request("fileops/tools", params)
            self._tools[chosen] = msgspec.convert(answer["tools"], tuple[ToolDefinition, ...])
        return self._tools[chosen]

    @property
    def strategies(self) -> list[str]:
        """The possible values of an edit's `strategy`."""
        return self.capabilities["experimental"]["fileops"]["strategies"]

    async def _definitions(self, enabled: Collection[str] | None) -> tuple[ToolDefinition, ...]:
        return await self.definitions(enabled)

    def _strategies(self) -> list[str]:
        return self.strategies

    # --- events ---------------------------------------------------------------------------------------------

    @overload
    def on(self, name: type[E], listener: Callable[[E], Awaitable[None] | None]) -> Callable[[], None]: ...

    @overload
    def on(self, name: str, listener: Listener) -> Callable[[], None]: ...

    def on(self, name: str | KnownEvent, listener: Listener) -> Callable[[], None]:
        """Call `listener` (plain or async) with each event of that kind. Return a function that stops this.

        Args:
            name: the class of its value, as `DidEdit`, so that a type checker knows the listener's argument; or the
                protocol's method, as "fileops/didEdit". An event without a class here is a Notification.
            listener: called on the event loop, in the order of arrival. What it raises is logged.

        Raises: ValueError if no event can have this name.
        """
        return self._events.on(name, listener)

    def add_event_listener(self, name: str, callback: Callable[[EventContext], Any]) -> Callable[[], None]:
        """Call a function for one of three events. Return a function that stops this.

        Args:
            name: "file:read", "file:edited" or "file:conflict".
            callback: gets an EventContext, whose `data` are the params of the notification.

        Raises: ValueError for another name.
        """
        return self._events.add_documented(name, callback)

    def remove_event_listener(self, name: str, callback: Callable[[EventContext], Any]) -> None:
        """Stop all calls that `add_event_listener` started with the same `name` and `callback`."""
        self._events.remove_documented(name, callback)

    def events(self, *names: str | KnownEvent, where: Where = None) -> Subscription:
        """Subscribe to all or the named events: `async for event in client.events(DidEdit)`.

        Args:
            names: classes or methods, as in `on`; without any, all events.
            where: only events for which it is true.

        Raises: ValueError if no event can have this name.
        """
        return self._events.subscribe(names, where)

    # --- inside ---------------------------------------------------------------------------------------------

    async def _begin(self) -> None:
        self._tools.clear()
        self._transport = await self._launch()
        self._connection = Connection(
            self._transport.reader, self._transport.writer, on_notification=self._publish, handlers=self._handlers
        )
        self._running = asyncio.create_task(self._run())
        try:
            await self._greet()
        except BaseException:
            await self.close()
            raise

    async def _greet(self) -> None:
        folders = self._setup.folders
        answer = await self.request(
            "initialize",
            {
                "processId": self._parent_pid,
                "clientInfo": {"name": self._name},
                "rootUri": uri_of(folders[0]) if folders else None,
                "workspaceFolders": [{"uri": uri_of(f), "name": _name_of(f)} for f in folders] or None,
                "capabilities": build_capabilities(
                    self._handlers,
                    self._setup.capabilities or {},
                    shows_reviews=self._setup.on_reviews is not None,
                ),
                "initializationOptions": dict(self._setup.initialization_options or {}),
            },
        )
        self.capabilities = answer.get("capabilities") or {}
        self.server_info = answer.get("serverInfo") or {}
        self.notify("initialized", {})

    def _list_announced_events(self) -> list[str]:
        """Return the notifications that the server says it sends."""
        block = self.capabilities.get("experimental", {}).get("fileops", {})
        return block.get("notifications", [])

    def _publish(self, method: str, params: Any) -> None:
        if method == "window/showMessage":  # such as a misspelt option
            log.log(LOG_LEVELS.get(params.get("type"), logging.INFO), "%s", params.get("message"))
        self._events.publish(method, params)

    async def _run(self) -> None:
        connection, transport = self._connection, self._transport
        fault = await connection.run()
        code = await transport.wait(LOSS_GRACE_S)
        if self._closing:
            fault = "the client was closed"
        elif fault is None:
            fault = "the daemon has ended" if code is not None else "the daemon has closed its output"
        if code is not None:
            fault += f" (exit code {code})"
        lost = ConnectionLost(fault, exit_code=code, stderr_tail=transport.stderr_tail)
        connection.lose(lost)
        self._events.end(None if self._closing else lost)


def _name_of(folder: str) -> str:
    return os.path.basename(folder.rstrip("/")) or "/"
