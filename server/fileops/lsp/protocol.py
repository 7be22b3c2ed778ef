"""The pygls seam: messages in and out, lifecycle, and exactly one answer to every request.

pygls keeps what it does well: the table of features, running handlers, cancelling them, capabilities. Replaced is what
docs/adr/0010-pygls-seam.md lists: parsing (no object hook, no converter for our own params), errors (nothing of our
insides reaches the client), requests to the client (`questions.py`) and book-keeping (nothing is kept once it is
answered). This names private parts of pygls 2.1; tests/unit/lsp/test_pygls_seam.py holds them.
"""

import asyncio
import contextvars
import logging
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any, cast
from typing import Protocol as Interface

from cattrs import Converter
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol, lsp_method

from fileops.errors import Cancelled
from fileops.lsp import envelopes, rpc_errors
from fileops.lsp.converter import structure
from fileops.lsp.envelopes import Malformed, Notification, Reply, Request
from fileops.lsp.questions import ClientRefused, Questions
from fileops.lsp.rpc_errors import MessageId, RpcError
from fileops.lsp.standard import STANDARD_PARAMS
from fileops.wire import codec
from fileops.wire.decode import InvalidParams, decode

log = logging.getLogger(__name__)

_REPLACED = frozenset({
    types.TEXT_DOCUMENT_DID_OPEN, types.TEXT_DOCUMENT_DID_CHANGE, types.TEXT_DOCUMENT_DID_CLOSE,
    types.NOTEBOOK_DOCUMENT_DID_OPEN, types.NOTEBOOK_DOCUMENT_DID_CHANGE, types.NOTEBOOK_DOCUMENT_DID_CLOSE,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, types.WORKSPACE_EXECUTE_COMMAND,
})  # fmt: skip  # pygls' document mirror splits lines where LSP does not; ours are registered as features


class Lifecycle(Interface):
    """What the seam asks of the server around `initialize`."""

    def begin(self, params: dict[str, object]) -> None:
        """Get ready to serve. Raises: InvalidParams; then `initialize` failed and may come again."""
        ...

    def experimental_capabilities(self) -> dict[str, object]: ...


class FrameSink(Interface):
    def write(self, body: bytes) -> None: ...


class Protocol(LanguageServerProtocol):
    """on_exit: called with the exit status when the client says `exit`. sink: where messages go; None: nowhere.

    on_less_work: called whenever `n_working` has become smaller.
    """

    def __init__(self, server: Any, converter: Converter) -> None:
        # Before pygls' own: it looks at every attribute of this object for handlers, properties included.
        self.lifecycle: Lifecycle = server
        self.sink: FrameSink | None = None
        self.raw_requests: set[str] = set()
        self.initialize_params: dict[str, object] = {}
        self.on_exit: Callable[[int], None] = lambda _code: None
        self.on_less_work: Callable[[], None] = lambda: None
        self.questions = Questions(self._send_data, self._less_work)
        self._started = False
        super().__init__(server, converter)
        for method in _REPLACED:
            self._builtins.pop(method, None)

    # --- in ------------------------------------------------------------------------------------------------------

    def feed(self, body: bytes) -> None:
        """Take one message. Whatever it is, nothing is raised and the next one can be taken."""
        match envelopes.parse(body):
            case Request(msg_id, method, params):
                self._take_request(msg_id, method, params)
            case Notification(method, params):
                self._take_notification(method, params)
            case Reply(msg_id, message):
                self.questions.take_reply(msg_id, message)
            case Malformed(msg_id, error):
                self._refuse(msg_id, error)

    def refuse_frame(self, reason: str) -> None:
        """Answer to a frame from which no message could be had."""
        self._refuse(None, rpc_errors.parse_error(reason))

    def _take_request(self, msg_id: MessageId, method: str, params: object) -> None:
        refusal = self._refusal(msg_id, method)
        if refusal is not None:
            return self._refuse(msg_id, refusal)
        try:
            decoded = params if method in self.raw_requests else self._standard(method, params)
        except InvalidParams as fault:
            return self._refuse(msg_id, rpc_errors.invalid_params(fault))
        return contextvars.copy_context().run(self._handle_request, msg_id, method, decoded)

    def _refusal(self, msg_id: MessageId, method: str) -> RpcError | None:
        if not self._started and method != types.INITIALIZE:
            return rpc_errors.not_initialized()
        if self._started and method == types.INITIALIZE:
            return rpc_errors.invalid_request("already initialized")
        if self._shutdown:
            return rpc_errors.invalid_request("shut down; only exit can follow")
        if msg_id in self._request_futures:
            return rpc_errors.invalid_request("a request with this id is in flight")
        if not self._is_request(method):
            return rpc_errors.method_not_found(method)
        return None

    def _take_notification(self, method: str, params: object) -> None:
        if method == types.EXIT:
            return self.on_exit(0 if self._shutdown else 1)
        if not self._started or self._shutdown or not self._is_notification(method):
            return log.debug("notification %.100s ignored", method)
        try:
            decoded = self._standard(method, params)
        except InvalidParams as fault:
            return log.warning("notification %.100s ignored: %s %s", method, fault.path, fault.reason)
        return contextvars.copy_context().run(self._handle_notification, method, decoded)

    def _is_request(self, method: str) -> bool:
        if method in self.raw_requests:
            return True
        return self._is_handled(method) and types.METHOD_TO_TYPES.get(method, (None, None))[1] is not None

    def _is_notification(self, method: str) -> bool:
        return method == types.CANCEL_REQUEST or (self._is_handled(method) and not self._is_request(method))

    def _is_handled(self, method: str) -> bool:
        return method in self._features or method in self._builtins

    def _standard(self, method: str, params: object) -> object:
        """Params of a standard message: as lsp/standard.py has them, else as lsprotocol has them."""
        given: object = {} if params is None else params
        checked = decode(given, STANDARD_PARAMS[method]) if method in STANDARD_PARAMS else None
        if method == types.INITIALIZE:
            self.initialize_params = cast("dict[str, object]", given)
        elif checked is not None:
            return checked
        if not isinstance(given, dict):
            raise InvalidParams("must be an object")
        envelope: dict[str, object] = {"jsonrpc": "2.0", "id": 0, "method": method}
        if params is not None:
            envelope["params"] = params
        return structure(self._converter, envelope, self.get_message_type(method), "params")

    # --- out -----------------------------------------------------------------------------------------------------

    def _send_handler_result(self, future: "Future[Any]", *, msg_id: MessageId) -> None:
        self._request_futures.pop(msg_id, None)
        if future.cancelled():
            self._refuse(msg_id, rpc_errors.cancelled())
        elif (fault := future.exception()) is None:
            self._send_response(msg_id, future.result())
        else:
            self._refuse(msg_id, _error_of(fault))

    def _check_handler_result(self, future: "Future[Any]") -> None:
        if not future.cancelled() and (fault := future.exception()) is not None:
            log.error("a notification could not be handled", exc_info=fault)

    def _send_response(self, msg_id: MessageId, result: Any = None, error: Any = None) -> None:
        if error is not None:
            return self._refuse(msg_id, RpcError(error.code, error.message, error.data))
        try:
            return self._send_data({"jsonrpc": "2.0", "id": msg_id, "result": self._plain(result)})
        except (TypeError, ValueError, RecursionError) as fault:
            return self._refuse(msg_id, rpc_errors.incident(fault))

    def _refuse(self, msg_id: MessageId | None, error: RpcError) -> None:
        self._send_data({"jsonrpc": "2.0", "id": msg_id, "error": error.to_json()})

    def _send_data(self, data: Any) -> None:
        if self.sink is not None:
            self.sink.write(codec.dumps(data))

    def _plain(self, value: Any) -> Any:
        """JSON types and Structs of ours as they are; lsprotocol's classes under their names on the wire."""
        if hasattr(value, "__attrs_attrs__") or isinstance(value, list):
            return self._converter.unstructure(value)
        return value

    def notify(self, method: str, params: Any | None = None) -> None:
        """params: JSON types, a msgspec Struct or an lsprotocol value."""
        message: dict[str, object] = {"jsonrpc": "2.0", "method": method}
        self._send_data(message if params is None else {**message, "params": self._plain(params)})

    async def ask(self, method: str, params: Any, timeout_s: float | None = None) -> object:
        """See Questions.ask. params: as for `notify`."""
        return await self.questions.ask(method, self._plain(params), timeout_s)

    async def send_request_async(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, method: str, params: Any = None, msg_id: MessageId | None = None
    ) -> Any:
        """As pygls has it, for its `workspace_*` and `window_*`: lsprotocol in, lsprotocol out. Raises: as `ask`."""
        result = await self.ask(method, params)
        envelope_type = self.get_result_type(method)
        if envelope_type is None:
            return result
        envelope: dict[str, object] = {"jsonrpc": "2.0", "id": 0, "method": method, "result": result}
        try:
            return structure(self._converter, envelope, envelope_type, "result")
        except InvalidParams as fault:
            raise ClientRefused(f"the reply does not fit {method}: {fault.path}") from fault

    def send_request(self, *_args: Any, **_kwargs: Any) -> Any:
        raise NotImplementedError("ask, or send_request_async: a future to block on can deadlock the reader")

    # --- handlers ----------------------------------------------------------------------------------------

    def register(self, method: str, handle: Callable[[Any], Any], options: Any = None) -> None:
        """As pygls' `feature`, but a later registration replaces an earlier one, and nothing is guessed from names."""
        self._features[method] = handle
        if options is not None:
            cast("dict[str, Any]", self.fm.feature_options)[method] = options
        if isinstance(options, types.ExecuteCommandOptions):  # pygls announces the commands that it finds here
            cast("dict[str, Any]", self.fm.commands).update(dict.fromkeys(options.commands, handle))

    @property
    def _features(self) -> dict[str, Callable[[Any], Any]]:
        return cast("dict[str, Callable[[Any], Any]]", self.fm.features)

    @property
    def _builtins(self) -> dict[str, Callable[[Any], Any]]:
        return cast("dict[str, Callable[[Any], Any]]", self.fm.builtin_features)

    @property
    def is_shut_down(self) -> bool:
        return self._shutdown

    def in_flight(self) -> "list[asyncio.Future[Any]]":
        """What is being worked on. pygls keeps asyncio's futures and the other kind in one table."""
        futures = cast("list[asyncio.Future[Any] | Future[Any]]", list(self._request_futures.values()))
        return [asyncio.wrap_future(future) if isinstance(future, Future) else future for future in futures]

    @property
    def n_working(self) -> int:
        """Requests in flight that do not wait for an answer of the client."""
        return len(self._request_futures) - len(self.questions)

    def _execute_handler(
        self, msg_id: MessageId, handler: Any, callback: Any, args: Any = None, kwargs: Any = None
    ) -> None:
        super()._execute_handler(msg_id, handler, callback, args, kwargs)
        future = self._request_futures.get(msg_id)
        if future is not None:  # pygls never drops those of notifications
            future.add_done_callback(lambda _: self._forget(msg_id))

    def _forget(self, msg_id: MessageId) -> None:
        self._request_futures.pop(msg_id, None)
        self._less_work()

    def _less_work(self) -> None:
        self.on_less_work()

    def _handle_cancel_notification(self, msg_id: MessageId) -> None:
        future = self._request_futures.get(msg_id)  # stays there until it is answered
        if future is not None:
            future.cancel()

    # --- lifecycle -----------------------------------------------------------------------------------------------

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        self.lifecycle.begin(self.initialize_params)
        result = yield from super().lsp_initialize(params)
        result.capabilities.experimental = self.lifecycle.experimental_capabilities()
        self._started = True
        return result

    @lsp_method(types.SHUTDOWN)
    async def lsp_shutdown(self, *_args: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Everything else in flight is cancelled and answered before this is."""
        self._shutdown = True
        this = asyncio.current_task()
        others = [future for future in self.in_flight() if future is not this]
        for future in others:
            future.cancel()
        await asyncio.gather(*others, return_exceptions=True)


def _error_of(fault: BaseException) -> RpcError:
    if isinstance(fault, InvalidParams):
        return rpc_errors.invalid_params(fault)
    if isinstance(fault, Cancelled):
        return rpc_errors.cancelled()
    if isinstance(fault, JsonRpcException):
        return RpcError(fault.code, fault.message, fault.data)
    return rpc_errors.incident(fault)
