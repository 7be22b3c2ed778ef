"""A JSON-RPC connection: envelopes, requests in flight, and exactly one answer to every request.

It knows no protocol on top of JSON-RPC: a `Dialect` knows which messages are served, and how. Everything here belongs
to the event loop.
"""

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Protocol

from fileops.concurrency.delivery import Delivery
from fileops.rpc import errors, json, messages
from fileops.rpc.decode import InvalidParams
from fileops.rpc.errors import MessageId, RequestRefused, RpcError
from fileops.rpc.messages import Malformed, Notification, Reply, RpcRequest
from fileops.rpc.outgoing import OutgoingRequests, Withdraw

log = logging.getLogger(__name__)

Handler = Callable[[Any], object]  # a coroutine that it returns is awaited in a task


class Dialect(Protocol):
    """A protocol on top of JSON-RPC: its lifecycle, and its messages. Params that are absent or null are None."""

    def handle_request(self, msg_id: MessageId, method: str, params: object) -> None:
        """Handle a request, and answer it with the connection's `serve`, `answer` or `refuse`. Raises nothing."""
        ...

    def handle_notification(self, method: str, params: object) -> None:
        """Handle a notification. Raises nothing."""
        ...

    def is_cancellation(self, fault: BaseException) -> bool:
        """Return whether a handler failed because its request was cancelled in time."""
        ...


class MessageSink(Protocol):
    """Where messages are sent."""

    @property
    def n_pending_bytes(self) -> int:
        """The number of bytes that were written and that the client has not taken yet."""
        ...

    def write(self, body: bytes) -> bool:
        """Return whether the message was accepted for sending; False if the client is gone or was disconnected."""
        ...

    def batch(self) -> AbstractContextManager[None]:
        """Let messages that are written inside be sent in one write."""
        ...


class Connection:
    """One peer. `sink` is None until the transport is open: what is sent before is dropped.

    is_settled: whether everything caused by the last message is done; if not, a handler may not have taken its first
    step. on_request_done: called whenever `n_working` becomes smaller.
    """

    def __init__(self, dialect: Dialect, withdraw: Withdraw) -> None:
        """Args: withdraw: makes the message that withdraws one of the daemon's requests."""
        self.sink: MessageSink | None = None
        self.on_request_done: Callable[[], None] = lambda: None
        self.outgoing = OutgoingRequests(self.send, self._request_done, withdraw)
        self._dialect = dialect
        self._tasks: dict[MessageId, asyncio.Task[None]] = {}
        self._unanswered: set[MessageId] = set()  # in flight, but the peer no longer wants an answer
        self.is_settled = True

    # --- in ------------------------------------------------------------------------------------------------------

    def receive(self, body: bytes) -> None:
        """Handle one message. Raises nothing."""
        self.is_settled = False
        match messages.parse(body):
            case RpcRequest(msg_id, method, params):
                if msg_id in self._tasks:
                    self.refuse(msg_id, errors.invalid_request("a request with this id is in flight"))
                else:
                    self._dialect.handle_request(msg_id, method, params)
            case Notification(method, params):
                self._dialect.handle_notification(method, params)
            case Reply(msg_id, message):
                self.outgoing.handle_reply(msg_id, message)
            case Malformed(msg_id, error):
                self.refuse(msg_id, error)

    def refuse_frame(self, reason: str) -> None:
        """Answer a frame that contains no message."""
        self.refuse(None, errors.parse_error(reason))

    def serve(self, msg_id: MessageId, handle: Handler, params: object) -> None:
        """Call a handler, and answer the request with what it returns, or with an error if it raises.

        A coroutine that it returns runs in its own task, in which the request can be cancelled.
        """
        with Delivery() as delivery:  # the task gets a copy of this context
            try:
                result = handle(params)
            except Exception as fault:  # noqa: BLE001 - the boundary to handlers: the client always gets an answer
                self.refuse(msg_id, self.error_of(fault))
                delivery.settle(is_sent=False)
                return
            if not inspect.iscoroutine(result):
                delivery.settle(is_sent=self.answer(msg_id, result))
                self.is_settled = True
                return
            task = asyncio.get_running_loop().create_task(self._finish(msg_id, delivery, result))
            self._tasks[msg_id] = task
            task.add_done_callback(partial(self._answer_with, msg_id, delivery, result))

    def cancel(self, msg_id: MessageId, *, is_answered: bool = True) -> bool:
        """Cancel a request whose handler is working on it. It stays in flight until its handler has ended.

        A handler that has ended can no longer be cancelled: its answer is sent in this turn of the loop.

        Args: is_answered: whether the peer then gets an answer to it; MCP forbids one, LSP requires one.
        """
        task = self._tasks.get(msg_id)
        if task is None or task.done():
            return False
        if not is_answered:
            self._unanswered.add(msg_id)
        task.cancel()
        return True

    # --- out -----------------------------------------------------------------------------------------------------

    async def _finish(self, msg_id: MessageId, delivery: Delivery, handling: Coroutine[Any, Any, object]) -> None:
        """Answer in the last step of a handler that succeeds: a callback would come a turn later."""
        result = await handling
        is_wanted = self._end(msg_id)
        delivery.settle(is_sent=is_wanted and self.answer(msg_id, result))
        self._request_done()

    def _answer_with(
        self,
        msg_id: MessageId,
        delivery: Delivery,
        handling: Coroutine[Any, Any, object],
        task: "asyncio.Task[None]",
    ) -> None:
        """Answer a request whose handler failed or was cancelled, perhaps before its first step."""
        handling.close()
        fault = None if task.cancelled() else task.exception()
        if self._tasks.get(msg_id) is not task:  # answered, and the id may be another request's by now
            if fault is not None:
                log.error("what an answer makes count has failed", exc_info=fault)
            return
        if self._end(msg_id):
            self.refuse(msg_id, errors.cancelled() if fault is None else self.error_of(fault))
        elif fault is not None:
            log.debug("a cancelled request failed: %r", fault)
        delivery.settle(is_sent=False)
        self._request_done()

    def _end(self, msg_id: MessageId) -> bool:
        """Count the request as handled. Return whether the peer wants an answer."""
        del self._tasks[msg_id]
        is_wanted = msg_id not in self._unanswered
        self._unanswered.discard(msg_id)
        return is_wanted

    def answer(self, msg_id: MessageId, result: object) -> bool:
        """Send a result: JSON types and msgspec Structs. Anything else becomes an internal error.

        Returns whether the result was handed over for sending.
        """
        try:
            return self.send({"jsonrpc": "2.0", "id": msg_id, "result": result})
        except (TypeError, ValueError, RecursionError) as fault:
            self.refuse(msg_id, errors.internal_error(fault))
            return False

    def refuse(self, msg_id: MessageId | None, error: RpcError) -> None:
        self.send({"jsonrpc": "2.0", "id": msg_id, "error": error.to_json()})

    def notify(self, method: str, params: object = None) -> None:
        message: dict[str, object] = {"jsonrpc": "2.0", "method": method}
        self.send(message if params is None else {**message, "params": params})

    def batch(self) -> AbstractContextManager[None]:
        """Let messages that are sent inside be sent in one write."""
        return nullcontext() if self.sink is None else self.sink.batch()

    def send(self, message: dict[str, object]) -> bool:
        """Return whether the message was handed over for sending."""
        return self.sink is not None and self.sink.write(json.dumps(message))

    def error_of(self, fault: BaseException) -> RpcError:
        """Return what the client is sent after a handler's failure."""
        if isinstance(fault, RequestRefused):
            return fault.error
        if isinstance(fault, InvalidParams):
            return errors.invalid_params(fault)
        if self._dialect.is_cancellation(fault):
            return errors.cancelled()
        return errors.internal_error(fault)

    # --- work ----------------------------------------------------------------------------------------------------

    def in_flight(self) -> "list[asyncio.Future[Any]]":
        """The client's requests that are being handled."""
        return list(self._tasks.values())

    @property
    def n_working(self) -> int:
        """The number of requests in flight that do not wait for an answer from the client."""
        return len(self._tasks) - len(self.outgoing)

    def _request_done(self) -> None:
        self.on_request_done()
