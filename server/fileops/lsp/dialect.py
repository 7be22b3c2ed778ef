"""LSP on a JSON-RPC connection: the lifecycle, cancelling, and the standard messages, which pygls handles.

It imports neither pygls nor lsprotocol, so `initialize` and the first read do not wait for them: they are three
quarters of a start. The first standard message without a registered handler loads them; messages after it wait until
it was handled, so nothing is reordered.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Protocol

from fileops.lsp import methods
from fileops.lsp.lifecycle import Lifecycle, State
from fileops.lsp.params import STANDARD_PARAMS, CancelParams
from fileops.model.internal_errors import Cancelled
from fileops.rpc import errors
from fileops.rpc.connection import Connection, Pause
from fileops.rpc.decode import InvalidParams, decode
from fileops.rpc.errors import MessageId, RpcError

log = logging.getLogger(__name__)


class Server(Protocol):
    """What the dialect asks of the server."""

    def begin(self, params: object) -> dict[str, object]:
        """Get ready to serve; returns the result of `initialize`.

        Raises: InvalidParams; then `initialize` failed and may come again.
        """
        ...

    async def load_standard(self) -> "StandardHandler":
        """Raises: ImportError, OSError."""
        ...


class StandardHandler(Protocol):
    """Handles the standard messages beyond the lifecycle, and answers through the connection."""

    def is_request(self, method: str) -> bool: ...

    def handle_request(self, msg_id: MessageId, method: str, params: object) -> None: ...

    def cancel(self, msg_id: MessageId) -> None: ...

    def is_in_flight(self, msg_id: MessageId) -> bool: ...

    def in_flight(self) -> "list[asyncio.Future[Any]]": ...

    @property
    def n_in_flight(self) -> int: ...


def withdrawal(msg_id: str) -> dict[str, object]:
    """The message that withdraws a request of the server."""
    return {"jsonrpc": "2.0", "method": methods.CANCEL_REQUEST, "params": {"id": msg_id}}


class LspDialect:
    """See rpc.connection.Dialect. `on_exit` gets the exit status when the client sends `exit`."""

    def __init__(self, server: Server) -> None:
        self.connection = Connection(self, withdrawal)
        self.lifecycle = Lifecycle()
        self.on_exit: Callable[[int], None] = lambda _status: None
        self._server = server
        self._standard: StandardHandler | None = None
        self.connection.register(methods.SHUTDOWN, self._shut_down)

    @property
    def is_shut_down(self) -> bool:
        return self.lifecycle.state is State.SHUT_DOWN

    # --- requests ------------------------------------------------------------------------------------------------

    def refusal(self, msg_id: MessageId, method: str) -> RpcError | None:
        if (refusal := self.lifecycle.refusal(method)) is not None:
            return refusal
        if self._standard is not None and self._standard.is_in_flight(msg_id):
            return errors.invalid_request("a request with this id is in flight")
        return None

    def handle_request(self, msg_id: MessageId, method: str, params: object) -> Pause | None:
        if method == methods.INITIALIZE:
            self._initialize(msg_id, params)
        elif self._standard is None:
            return self._load_for_request(msg_id, method, params)
        elif self._standard.is_request(method):
            self._standard.handle_request(msg_id, method, params)
        else:
            self.connection.refuse(msg_id, errors.method_not_found(method))
        return None

    async def _load_for_request(self, msg_id: MessageId, method: str, params: object) -> None:
        try:
            self._standard = await self._server.load_standard()
        except (
            ImportError,
            OSError,
        ) as fault:  # broken installation, or no descriptors; the next request tries again
            self.connection.refuse(msg_id, errors.internal_error(fault))
        else:
            self.connection.handle_request(msg_id, method, params)

    def _initialize(self, msg_id: MessageId, params: object) -> None:
        try:
            result = self._server.begin({} if params is None else params)
        except Exception as fault:  # noqa: BLE001 - the boundary to adapters: the client always gets an answer
            self.connection.refuse(msg_id, self.connection.error_of(fault))
        else:
            self.lifecycle.advance(methods.INITIALIZE)
            self.connection.answer(msg_id, result)

    async def _shut_down(self, _params: object) -> None:
        """Cancel everything else that is in flight; it is answered before this request is."""
        self.lifecycle.advance(methods.SHUTDOWN)
        this = asyncio.current_task()
        others = [future for future in self.connection.in_flight() if future is not this]
        for future in others:
            future.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    # --- notifications -------------------------------------------------------------------------------------------

    def handle_notification(self, method: str, params: object) -> None:
        """Serve the registered ones, and ignore others, `$/setTrace` among them: the server sends no traces."""
        if method == methods.EXIT:
            self.on_exit(self.lifecycle.exit_status)
        elif not self.lifecycle.allows_notifications() or self.connection.has_handler(method):
            log.debug("notification %.100s ignored", method)
        elif method == methods.CANCEL_REQUEST:
            self._cancel(params)
        elif method == methods.INITIALIZED:
            log.info("the client is ready")
        elif not self.connection.handle_registered_notification(method, params):
            log.debug("notification %.100s ignored", method)

    def _cancel(self, params: object) -> None:
        try:
            msg_id = decode({} if params is None else params, CancelParams).id
        except InvalidParams as fault:
            log.warning("a cancel was ignored: %s %s", fault.path, fault.reason)
            return
        if not self.connection.cancel(msg_id) and self._standard is not None:
            self._standard.cancel(msg_id)

    # --- work ----------------------------------------------------------------------------------------------------

    def is_cancellation(self, fault: BaseException) -> bool:
        return isinstance(fault, Cancelled)

    def in_flight(self) -> "list[asyncio.Future[Any]]":
        return [] if self._standard is None else self._standard.in_flight()

    @property
    def n_in_flight(self) -> int:
        return 0 if self._standard is None else self._standard.n_in_flight


def guarded(
    method: str, handle: Callable[[Any], Any], on_lost: Callable[[object, str], None] | None
) -> Callable[[object], None]:
    """Return a handler of undecoded params. It never raises. Args: see LspServer.add_standard."""

    def take(raw: object) -> None:
        try:
            handle(decode({} if raw is None else raw, STANDARD_PARAMS[method]))
            return
        except InvalidParams as fault:
            reason = f"{fault.path} {fault.reason}"
            log.warning("notification %.100s ignored: %s", method, reason)
        except Exception as fault:  # the boundary to handlers: the next message is served
            reason = type(fault).__name__
            log.exception("notification %.100s could not be handled", method)
        if on_lost is not None:
            on_lost(raw, reason)

    return take
