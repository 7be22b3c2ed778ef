"""The connection: envelopes, the lifecycle, our own requests, and exactly one answer to every request.

Light on purpose. It names neither pygls nor lsprotocol, so that `initialize` and the first read do not wait for them to
be imported: three quarters of a start. Standard requests past the handshake are theirs (`protocol.py`), and the
notifications that no part of ours is registered for. The first one loads them, and what came after it waits until they
have taken it, so that nothing is reordered.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any
from typing import Protocol as Interface

from fileops.lsp import methods
from fileops.lsp.params import CancelParams
from fileops.model.errors import Cancelled
from fileops.rpc import errors, json, messages
from fileops.rpc.decode import InvalidParams, decode
from fileops.rpc.errors import MessageId, RpcError
from fileops.rpc.messages import Malformed, Notification, Reply, Request
from fileops.rpc.outgoing import OutgoingRequests

log = logging.getLogger(__name__)

Handler = Callable[[Any], Awaitable[object]]
Take = Callable[[object], None]
AtOnce = Callable[[Any], object | None]
Pause = Coroutine[Any, Any, None]


class Lifecycle(Interface):
    """What the connection asks of the server."""

    def begin(self, params: object) -> dict[str, object]:
        """Get ready to serve; the answer to `initialize`. Raises: InvalidParams; then it failed and may come again."""
        ...

    async def load_standard(self) -> "Standard": ...


class Standard(Interface):
    """Who serves the standard messages past the handshake, and answers through the connection."""

    def is_request(self, method: str) -> bool: ...

    def is_notification(self, method: str) -> bool: ...

    def take_request(self, msg_id: MessageId, method: str, params: object) -> None: ...

    def take_notification(self, method: str, params: object) -> None: ...

    def cancel(self, msg_id: MessageId) -> None: ...

    def is_in_flight(self, msg_id: MessageId) -> bool: ...

    def in_flight(self) -> "list[asyncio.Future[Any]]": ...

    @property
    def n_in_flight(self) -> int: ...


class FrameSink(Interface):
    @property
    def n_pending_bytes(self) -> int:
        """Written, and not taken by the client yet."""
        ...

    def write(self, body: bytes) -> None: ...

    def together(self) -> AbstractContextManager[None]:
        """What is written inside may go out as one."""
        ...


class Connection:
    """Belongs to the event loop. sink: where messages go; None: nowhere.

    is_settled: whether all that the last message led to is done; else a handler may not have taken its first step.
    on_exit: called with the exit status when the client says `exit`. on_less_work: called whenever `n_working` has
    become smaller.
    """

    def __init__(self, lifecycle: Lifecycle) -> None:
        self.sink: FrameSink | None = None
        self.on_exit: Callable[[int], None] = lambda _code: None
        self.on_less_work: Callable[[], None] = lambda: None
        self.questions = OutgoingRequests(self.send, self.on_request_done)
        self._lifecycle = lifecycle
        self._standard: Standard | None = None
        self._requests: dict[str, Handler] = {methods.SHUTDOWN: self._shut_down}
        self._at_once: dict[str, AtOnce] = {}
        self._notifications: dict[str, Take] = {}
        self._tasks: dict[MessageId, asyncio.Task[object]] = {}
        self._is_started = False
        self._is_shut_down = False
        self.is_settled = True

    def register(self, method: str, handle: Handler, at_once: AtOnce | None = None) -> None:
        """A request of ours. Both get the params as they came, None where absent.

        at_once: is tried first, and gives None where something has to be waited for.
        """
        self._requests[method] = handle
        if at_once is not None:
            self._at_once[method] = at_once

    def register_notification(self, method: str, take: Take) -> None:
        """take: gets the params as they came, None where absent, and raises nothing."""
        self._notifications[method] = take

    # --- in ------------------------------------------------------------------------------------------------------

    def feed(self, body: bytes) -> Pause | None:
        """Take one message. Whatever it is, nothing is raised. What is returned has to be awaited before the next."""
        self.is_settled = False
        match messages.parse(body):
            case Request(msg_id, method, params):
                return self._take_request(msg_id, method, params)
            case Notification(method, params):
                return self._take_notification(method, params)
            case Reply(msg_id, message):
                self.questions.take_reply(msg_id, message)
            case Malformed(msg_id, error):
                self.refuse(msg_id, error)
        return None

    def refuse_frame(self, reason: str) -> None:
        """Answer to a frame from which no message could be had."""
        self.refuse(None, errors.parse_error(reason))

    def _take_request(self, msg_id: MessageId, method: str, params: object) -> Pause | None:
        if (refusal := self._refusal(msg_id, method)) is not None:
            self.refuse(msg_id, refusal)
        elif method == methods.INITIALIZE:
            self._initialize(msg_id, params)
        elif (at_once := self._at_once.get(method)) is not None and self._answers(msg_id, at_once, params):
            pass
        elif (handle := self._requests.get(method)) is not None:
            task = self._tasks[msg_id] = asyncio.ensure_future(handle(params))
            task.add_done_callback(partial(self._answer_with, msg_id))
        elif self._standard is None:
            return self._load_for_request(msg_id, method, params)
        elif self._standard.is_request(method):
            self._standard.take_request(msg_id, method, params)
        else:
            self.refuse(msg_id, errors.method_not_found(method))
        return None

    def _answers(self, msg_id: MessageId, at_once: AtOnce, params: object) -> bool:
        try:
            result = at_once(params)
        except Exception as fault:  # noqa: BLE001 - the boundary: whatever it was, the client gets an answer
            self.refuse(msg_id, error_of(fault))
            return True
        if result is not None:
            self.answer(msg_id, result)
            self.is_settled = True
        return result is not None

    def _refusal(self, msg_id: MessageId, method: str) -> RpcError | None:
        if not self._is_started and method != methods.INITIALIZE:
            return errors.not_initialized()
        if self._is_started and method == methods.INITIALIZE:
            return errors.invalid_request("already initialized")
        if self._is_shut_down:
            return errors.invalid_request("shut down; only exit can follow")
        if msg_id in self._tasks or (self._standard is not None and self._standard.is_in_flight(msg_id)):
            return errors.invalid_request("a request with this id is in flight")
        return None

    def _take_notification(self, method: str, params: object) -> Pause | None:
        if method == methods.EXIT:
            self.on_exit(0 if self._is_shut_down else 1)
        elif not self._is_started or self._is_shut_down or method in self._requests:
            log.debug("notification %.100s ignored", method)
        elif method == methods.CANCEL_REQUEST:
            self._cancel(params)
        elif method == methods.INITIALIZED:
            log.info("the client is ready")
        elif (take := self._notifications.get(method)) is not None:
            take(params)
        elif self._standard is None:
            return self._load_for_notification(method, params)
        elif self._standard.is_notification(method):
            self._standard.take_notification(method, params)
        else:
            log.debug("notification %.100s ignored", method)
        return None

    async def _load_for_request(self, msg_id: MessageId, method: str, params: object) -> None:
        try:
            self._standard = await self._lifecycle.load_standard()
        except (ImportError, OSError) as fault:  # a broken installation, or no descriptors: the next one tries again
            self.refuse(msg_id, errors.incident(fault))
        else:
            self._take_request(msg_id, method, params)

    async def _load_for_notification(self, method: str, params: object) -> None:
        try:
            self._standard = await self._lifecycle.load_standard()
        except (ImportError, OSError) as fault:  # the next one tries again; none of these changes anything of ours
            log.error("notification %.100s lost: %s", method, fault)
        else:
            self._take_notification(method, params)

    def _cancel(self, params: object) -> None:
        try:
            msg_id = decode({} if params is None else params, CancelParams).id
        except InvalidParams as fault:
            log.warning("a cancel was ignored: %s %s", fault.path, fault.reason)
            return
        if (task := self._tasks.get(msg_id)) is not None:
            task.cancel()  # it stays in the table until it is answered
        elif self._standard is not None:
            self._standard.cancel(msg_id)

    # --- out -----------------------------------------------------------------------------------------------------

    def _answer_with(self, msg_id: MessageId, task: "asyncio.Task[object]") -> None:
        del self._tasks[msg_id]
        if task.cancelled():
            self.refuse(msg_id, errors.cancelled())
        elif (fault := task.exception()) is None:
            self.answer(msg_id, task.result())
        else:
            self.refuse(msg_id, error_of(fault))
        self.on_request_done()

    def answer(self, msg_id: MessageId, result: object) -> None:
        """result: JSON types and msgspec Structs; what is no JSON becomes an incident."""
        try:
            self.send({"jsonrpc": "2.0", "id": msg_id, "result": result})
        except (TypeError, ValueError, RecursionError) as fault:
            self.refuse(msg_id, errors.incident(fault))

    def refuse(self, msg_id: MessageId | None, error: RpcError) -> None:
        self.send({"jsonrpc": "2.0", "id": msg_id, "error": error.to_json()})

    def notify(self, method: str, params: object = None) -> None:
        message: dict[str, object] = {"jsonrpc": "2.0", "method": method}
        self.send(message if params is None else {**message, "params": params})

    def together(self) -> AbstractContextManager[None]:
        """What is sent inside may go out as one."""
        return nullcontext() if self.sink is None else self.sink.together()

    def send(self, message: dict[str, object]) -> None:
        if self.sink is not None:
            self.sink.write(json.dumps(message))

    # --- work ----------------------------------------------------------------------------------------------------

    @property
    def is_shut_down(self) -> bool:
        return self._is_shut_down

    def in_flight(self) -> "list[asyncio.Future[Any]]":
        """What is being worked on."""
        theirs = [] if self._standard is None else self._standard.in_flight()
        return [*self._tasks.values(), *theirs]

    @property
    def n_working(self) -> int:
        """Requests in flight that do not wait for an answer of the client."""
        n_theirs = 0 if self._standard is None else self._standard.n_in_flight
        return len(self._tasks) + n_theirs - len(self.questions)

    def on_request_done(self) -> None:
        self.on_less_work()

    # --- lifecycle -----------------------------------------------------------------------------------------------

    def _initialize(self, msg_id: MessageId, params: object) -> None:
        try:
            result = self._lifecycle.begin({} if params is None else params)
        except Exception as fault:  # noqa: BLE001 - the boundary: whatever it was, the client gets an answer
            self.refuse(msg_id, error_of(fault))
        else:
            self._is_started = True
            self.answer(msg_id, result)

    async def _shut_down(self, _params: object) -> None:
        """Everything else in flight is cancelled and answered before this is."""
        self._is_shut_down = True
        this = asyncio.current_task()
        others = [future for future in self.in_flight() if future is not this]
        for future in others:
            future.cancel()
        await asyncio.gather(*others, return_exceptions=True)


def error_of(fault: BaseException) -> RpcError:
    """What the client is told of a handler's failure."""
    if isinstance(fault, InvalidParams):
        return errors.invalid_params(fault)
    if isinstance(fault, Cancelled):
        return errors.cancelled()
    return errors.incident(fault)
