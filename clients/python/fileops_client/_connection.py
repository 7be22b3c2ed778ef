"""One JSON-RPC connection: calls, responses, notifications, and the daemon's requests. It knows no methods."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from fileops_client import _framing
from fileops_client.errors import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    ConnectionLost,
    RequestTimeout,
    ResponseError,
)

log = logging.getLogger("fileops_client")

RequestHandler = Callable[[Any], Awaitable[Any]]


class PendingCall:
    """A request without a response yet. Await it for the result; `cancel()` asks the daemon to cancel it.

    After `cancel()` it still gets a response: ResponseError −32800, or the true result if it was too late.
    """

    def __init__(self, call_id: int, method: str, answer: asyncio.Future[Any], withdraw: Callable[[], None]) -> None:
        self.id = call_id
        self.method = method
        self._answer = answer
        self._withdraw = withdraw

    def cancel(self) -> None:
        """Ask the daemon to cancel the request, unless it was answered."""
        if not self._answer.done():
            self._withdraw()

    def done(self) -> bool:
        """Whether the request was answered, or the connection was lost."""
        return self._answer.done()

    def __await__(self) -> Generator[Any, None, Any]:
        return asyncio.shield(self._answer).__await__()


class Connection:
    """Owns both streams. `run` reads until the end; its caller then reports the reason through `lose`."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        on_notification: Callable[[str, Any], None],
        handlers: Mapping[str, RequestHandler],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._on_notification = on_notification
        self._handlers = handlers
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._serving: dict[Any, asyncio.Task[None]] = {}
        self._chores: set[asyncio.Task[None]] = set()
        self._limits: dict[asyncio.Timeout, float | None] = {}  # of calls; seconds left of those paused
        self._last_id = 0
        self._lost: ConnectionLost | None = None

    @property
    def is_open(self) -> bool:
        return self._lost is None

    # --- our requests ---

    def begin(self, method: str, params: Any) -> PendingCall:
        """Send a request now. Raises: ConnectionLost."""
        self._require_open()
        self._last_id += 1
        call_id = self._last_id
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(_observe)
        self._pending[call_id] = answer
        self._send({"jsonrpc": "2.0", "id": call_id, "method": method, "params": params})
        return PendingCall(call_id, method, answer, lambda: self._cancel(call_id))

    async def request(self, method: str, params: Any, *, timeout_s: float | None) -> Any:
        """Send a request and return its result. If the caller is cancelled or the time is up, cancel the request.

        Time spent in a handler of the daemon's requests does not count, because a user may have to decide. Raises:
        ResponseError, ConnectionLost, RequestTimeout.
        """
        call = self.begin(method, params)
        try:
            async with asyncio.timeout(timeout_s) as limit:
                with self._count_time(limit):
                    await self._writer_ready()
                    return await call
        except asyncio.CancelledError:
            call.cancel()
            raise
        except TimeoutError:
            call.cancel()
            raise RequestTimeout(method, timeout_s or 0.0) from None

    def notify(self, method: str, params: Any) -> None:
        """Send a notification. Raises: ConnectionLost."""
        self._require_open()
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    # --- the stream ---

    async def run(self) -> str | None:
        """Handle messages until the end. Return what was wrong with the stream; None for a clean end."""
        try:
            while (message := await _read_message(self._reader)) is not None:
                self._take(message)
        except _framing.BrokenFrame as error:
            return str(error)
        except ConnectionError as error:
            return error.strerror or str(error)
        return None

    def lose(self, lost: ConnectionLost) -> None:
        """Fail every pending and every later call with `lost`."""
        if self._lost is not None:
            return
        self._lost = lost
        pending, self._pending = self._pending, {}
        for answer in pending.values():
            if not answer.done():
                answer.set_exception(lost)
        for task in self._serving.values():
            task.cancel()

    async def settle(self) -> None:
        """Wait for the tasks that `lose` has ended."""
        await asyncio.gather(*self._serving.values(), *self._chores, return_exceptions=True)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a task, such as a listener, beside the stream. `settle` waits for it."""
        task = asyncio.create_task(work)
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)

    # --- inside ---

    def _require_open(self) -> None:
        if self._lost is not None:
            raise ConnectionLost(
                self._lost.reason, exit_code=self._lost.exit_code, stderr_tail=self._lost.stderr_tail
            ) from self._lost

    def _send(self, message: dict[str, Any]) -> None:
        if not self._writer.is_closing():
            self._writer.write(_framing.encode(message))

    async def _writer_ready(self) -> None:
        try:
            await self._writer.drain()
        except ConnectionError:
            return  # the reader also notices this and knows the reason

    def _cancel(self, call_id: int) -> None:
        if self._lost is None and call_id in self._pending:
            self._send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": call_id}})

    def _take(self, message: Any) -> None:
        if not isinstance(message, dict):
            log.warning("not a JSON-RPC message: %.80r", message)
            return
        fields = cast("dict[str, Any]", message)
        method = fields.get("method")
        if method is None:
            self._take_answer(fields)
        elif "id" in fields:
            self._take_request(fields["id"], method, fields.get("params"))
        elif method == "$/cancelRequest":
            withdrawn = cast("dict[str, Any]", fields.get("params") or {})
            task = self._serving.get(withdrawn.get("id"))
            if task is not None:
                task.cancel()
        else:
            self._on_notification(method, fields.get("params"))

    def _take_answer(self, fields: dict[str, Any]) -> None:
        answer = self._pending.pop(cast("int", fields.get("id")), None)
        if answer is None:
            if fields.get("error") is not None:
                log.warning("an error that answers none of our calls: %s", fields["error"])
            return
        if answer.done():
            return
        error = fields.get("error")
        if error is None:
            answer.set_result(fields.get("result"))
        else:
            answer.set_exception(ResponseError(error.get("code", 0), error.get("message", ""), error.get("data")))

    def _take_request(self, request_id: Any, method: str, params: Any) -> None:
        task = asyncio.create_task(self._serve(request_id, method, params))
        self._serving[request_id] = task
        for limit in self._limits:
            self._stop(limit)
        task.add_done_callback(lambda done: self._finish_request(request_id, done))

    def _finish_request(self, request_id: Any, task: asyncio.Task[None]) -> None:
        self._serving.pop(request_id, None)
        if not self._serving:
            self._resume()
        if task.cancelled():  # possibly before it began
            error = {"code": REQUEST_CANCELLED, "message": "the request was cancelled"}
            self._send({"jsonrpc": "2.0", "id": request_id, "error": error})

    # --- the time of our requests ---

    @contextmanager
    def _count_time(self, limit: asyncio.Timeout) -> Generator[None]:
        self._limits[limit] = None
        if self._serving:
            self._stop(limit)
        try:
            yield
        finally:
            del self._limits[limit]

    def _stop(self, limit: asyncio.Timeout) -> None:
        when = limit.when()
        if when is not None and not limit.expired():
            self._limits[limit] = when - asyncio.get_running_loop().time()
            limit.reschedule(None)

    def _resume(self) -> None:
        for limit, left_s in self._limits.items():
            if left_s is not None and not limit.expired():
                self._limits[limit] = None
                limit.reschedule(asyncio.get_running_loop().time() + left_s)

    async def _serve(self, request_id: Any, method: str, params: Any) -> None:
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id}
        handler = self._handlers.get(method)
        try:
            if handler is None:
                raise ResponseError(METHOD_NOT_FOUND, f"no handler for {method}")
            answer["result"] = await handler(params)
        except ResponseError as error:
            answer["error"] = {"code": error.code, "message": error.message, "data": error.data}
        except Exception as error:  # a faulty handler must not leave the daemon waiting
            log.exception("the handler of %s failed", method)
            answer["error"] = {"code": INTERNAL_ERROR, "message": f"{type(error).__name__}: {error}"}
        self._send(answer)


def _observe(answer: asyncio.Future[Any]) -> None:
    """Mark a failure as retrieved, so that asyncio does not warn about a call that is no longer awaited."""
    if not answer.cancelled():
        answer.exception()


async def _read_message(stream: asyncio.StreamReader) -> Any | None:
    """Return the next message; None at the end of the stream. Raises: _framing.BrokenFrame."""
    length: int | None = None
    first = True
    while True:
        try:
            line = await stream.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            if first and not error.partial:
                return None
            raise _framing.BrokenFrame("the stream ended within a header") from None
        except asyncio.LimitOverrunError:
            raise _framing.BrokenFrame("a header without an end") from None
        first = False
        header = line.strip()
        if not header:
            break
        name, colon, value = header.partition(b":")
        if not colon:
            raise _framing.BrokenFrame(f"not a header: {header[:80]!r}")
        if name.strip().lower() == b"content-length":
            if not value.strip().isdigit():
                raise _framing.BrokenFrame(f"not a length: {value[:80]!r}")
            length = int(value)
    if length is None or length > _framing.MAX_BODY_BYTES:
        raise _framing.BrokenFrame(f"no usable length: {length}")
    try:
        return _framing.decode(await stream.readexactly(length))
    except asyncio.IncompleteReadError:
        raise _framing.BrokenFrame("the stream ended within a message") from None
