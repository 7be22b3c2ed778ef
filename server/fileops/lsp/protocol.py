"""pygls' protocol on top of `rpc.connection`: the lifecycle, strict params, and exactly one answer to each request.

pygls finds the feature of each message, runs its own features (such as `initialize`), and computes the capabilities.
The transport, the envelope and the requests to the client are those of `rpc`. What replaces pygls' behaviour, and why,
is in docs/internals/adr/0031-pygls-serves-every-message.md; tests/unit/lsp/test_pygls_seam.py checks the private parts
of pygls 2.1 that are used here.
"""

import asyncio
import inspect
import logging
import typing
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from cattrs import Converter
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcMethodNotFound
from pygls.lsp.server import LanguageServer
from pygls.progress import Progress
from pygls.protocol import LanguageServerProtocol, lsp_method

from fileops.lsp.converter import to_json
from fileops.lsp.lifecycle import Lifecycle, State
from fileops.lsp.params import CancelParams, InitializeParams, standard_params
from fileops.model.internal_errors import Cancelled
from fileops.rpc import errors
from fileops.rpc.connection import Connection
from fileops.rpc.decode import InvalidParams, decode
from fileops.rpc.errors import MessageId, RequestRefused, RpcError

if TYPE_CHECKING:
    from fileops.lsp.client import Client
    from fileops.wire.capabilities import FileopsCapabilities

log = logging.getLogger(__name__)

Lost = Callable[[object, str], None]

_MIRRORED = (
    types.TEXT_DOCUMENT_DID_OPEN, types.TEXT_DOCUMENT_DID_CHANGE, types.TEXT_DOCUMENT_DID_CLOSE,
    types.NOTEBOOK_DOCUMENT_DID_OPEN, types.NOTEBOOK_DOCUMENT_DID_CHANGE, types.NOTEBOOK_DOCUMENT_DID_CLOSE,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, types.WINDOW_WORK_DONE_PROGRESS_CANCEL,
)  # fmt: skip  # pygls' document mirror splits lines where LSP does not; the server's own features replace these


class Host(typing.Protocol):
    """What the protocol needs from its server."""

    @property
    def client(self) -> "Client": ...

    def fileops_capabilities(self) -> "FileopsCapabilities":
        """Return what is announced as `capabilities.experimental.fileops`."""
        ...

    def progress_of(
        self, token: types.ProgressToken | None, method: str
    ) -> AbstractContextManager[Callable[[str], None] | None]:
        """See ProgressTokens.reporting."""
        ...


def withdrawal(msg_id: str) -> dict[str, object]:
    """Return the message that withdraws one of the server's requests."""
    return {"jsonrpc": "2.0", "method": types.CANCEL_REQUEST, "params": {"id": msg_id}}


class Protocol(LanguageServerProtocol):
    """See rpc.connection.Dialect. Belongs to the event loop.

    own_params: the types of the params of `fileops/*` requests. on_lost: called with the params of a notification that
    could not be handled, and the reason. on_exit: called with the exit status when the client sends `exit`.
    """

    progress: Progress  # pygls', which would be imported with its first server; ours is in progress.py

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        self._host = cast("Host", server)
        self.connection = Connection(self, withdrawal)
        self.lifecycle = Lifecycle()
        self.own_params: dict[str, type[Any]] = {}
        self.on_lost: dict[str, Lost] = {}
        self.on_exit: Callable[[int], None] = lambda _status: None
        super().__init__(server, converter)
        for method in _MIRRORED:
            self._builtins.pop(method, None)

    @property
    def is_shut_down(self) -> bool:
        return self.lifecycle.state is State.SHUT_DOWN

    # --- in ------------------------------------------------------------------------------------------------------

    def handle_request(self, msg_id: MessageId, method: str, params: object) -> None:
        if (refusal := self.lifecycle.refusal(method)) is not None:
            self.connection.refuse(msg_id, refusal)
        else:
            self._handle_request(msg_id, method, params)

    def _handle_request(self, msg_id: MessageId, method_name: str, params: object) -> None:
        try:
            own_shape = self.own_params.get(method_name)
            if own_shape is not None:
                decoded = decode({} if params is None else params, own_shape)
                return self.connection.serve(msg_id, self._get_handler(method_name), decoded)
            handler, decoded = self._standard_handler(method_name, params, is_request=True)
        except JsonRpcMethodNotFound:
            return self.connection.refuse(msg_id, errors.method_not_found(method_name))
        except InvalidParams as fault:
            return self.connection.refuse(msg_id, errors.invalid_params(fault))
        if inspect.isgeneratorfunction(handler):  # of pygls, with the steps that features add
            callback = partial(self._send_handler_result, msg_id=msg_id)
            return self._execute_handler(msg_id, handler, callback, (decoded,))
        return self.connection.serve(msg_id, partial(_as_json, handler), decoded)

    def handle_notification(self, method: str, params: object) -> None:
        """Serve notifications with a feature, and ignore others."""
        if method == types.CANCEL_REQUEST and self.lifecycle.allows_notifications():
            self._cancel(params)
        elif method == types.EXIT or self.lifecycle.allows_notifications():
            self._handle_notification(method, params)
        else:
            log.debug("notification %.100s ignored", method)

    def _handle_notification(self, method_name: str, params: object) -> None:
        try:
            handler, decoded = self._standard_handler(method_name, params, is_request=False)
        except JsonRpcMethodNotFound:
            log.debug("notification %.100s ignored", method_name)
            self._lose(method_name, params, "it has no feature")
        except InvalidParams as fault:
            log.warning("notification %.100s ignored: %s %s", method_name, fault.path, fault.reason)
            self._lose(method_name, params, f"{fault.path} {fault.reason}")
        else:
            self._execute_handler("", handler, partial(self._run_handler, method_name, params), (decoded,))

    def _run_handler(self, method: str, params: object, future: "Future[Any]") -> None:
        """Run a handler. This is the boundary to notification handlers: after an error the next message is served."""
        if (fault := future.exception()) is not None:
            log.error("notification %.100s could not be handled", method, exc_info=fault)
            self._lose(method, params, type(fault).__name__)

    def _lose(self, method: str, params: object, reason: str) -> None:
        if (on_lost := self.on_lost.get(method)) is not None:
            on_lost(params, reason)

    def _standard_handler(self, method: str, params: object, *, is_request: bool) -> tuple[Callable[[Any], Any], Any]:
        """Return the handler of a standard message, and lsprotocol's value of its params.

        Raises: JsonRpcMethodNotFound, also for a request sent as a notification or the reverse; InvalidParams.
        """
        result = types.METHOD_TO_TYPES.get(method, (None, None))[1]
        if is_request != (result is not None) or method in self.own_params:
            raise JsonRpcMethodNotFound.of(method)
        return self._get_handler(method), standard_params(method, params)

    def _cancel(self, params: object) -> None:
        try:
            msg_id = decode({} if params is None else params, CancelParams).id
        except InvalidParams as fault:
            log.warning("a cancel was ignored: %s %s", fault.path, fault.reason)
        else:
            self.connection.cancel(msg_id)

    def is_cancellation(self, fault: BaseException) -> bool:
        return isinstance(fault, Cancelled)

    # --- the lifecycle -------------------------------------------------------------------------------------------

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: Any) -> Generator[Any, Any, types.InitializeResult]:
        """Get ready to serve. If the feature of `initialize` fails, nothing has begun, and the client may try again."""
        checked = cast("InitializeParams", params)
        self._host.client.begin(checked.capabilities)
        result = yield from super().lsp_initialize(checked.standard())
        encoding = result.capabilities.position_encoding
        if encoding is not None:
            self._host.client.position_encoding = types.PositionEncodingKind(encoding).value
        result.capabilities.experimental = {"fileops": self._host.fileops_capabilities()}
        self.lifecycle.advance(types.INITIALIZE)
        return result

    @lsp_method(types.SHUTDOWN)
    async def lsp_shutdown(self, *_args: object) -> None:  # pyrefly: ignore[bad-override]
        """Cancel everything else in flight; those requests are answered before this one."""
        self.lifecycle.advance(types.SHUTDOWN)
        this = asyncio.current_task()
        others = [future for future in self.connection.in_flight() if future is not this]
        for future in others:
            future.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_args: object) -> None:  # pyrefly: ignore[bad-override]
        self.on_exit(self.lifecycle.exit_status)

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(  # pyrefly: ignore[bad-override]
        self, params: types.ExecuteCommandParams
    ) -> Any:
        """Run a command that is registered with `@server.command`; each takes one argument."""
        _, commands, _ = self.registered
        command: Callable[[object], Any] | None = commands.get(params.command)
        if command is None:
            raise InvalidParams("no such command", ".command")
        arguments: Sequence[object] = params.arguments or ()
        if len(arguments) != 1:
            raise InvalidParams("must hold one argument", ".arguments")
        try:
            with self._host.progress_of(params.work_done_token, types.WORKSPACE_EXECUTE_COMMAND):
                return await command(arguments[0])
        except InvalidParams as fault:
            raise fault.below(".arguments[0]") from None

    # --- out -----------------------------------------------------------------------------------------------------

    def _send_handler_result(self, future: "Future[Any]", *, msg_id: MessageId) -> None:
        if (fault := future.exception()) is None:
            self.connection.answer(msg_id, to_json(future.result()))
        elif isinstance(fault, JsonRpcException):
            self.connection.refuse(msg_id, RpcError(fault.code, fault.message, fault.data))
        else:
            self.connection.refuse(msg_id, self.connection.error_of(fault))

    def notify(self, method: str, params: Any | None = None) -> None:
        self.connection.notify(method, to_json(params))

    def send_request(self, *_args: Any, **_kwargs: Any) -> Any:
        raise NotImplementedError("Client.ask: a future to block on can deadlock the reader")

    def _execute_handler(
        self, msg_id: MessageId, handler: Any, callback: Any, args: Any = None, kwargs: Any = None
    ) -> None:
        super()._execute_handler(msg_id, handler, callback, args, kwargs)
        self._request_futures.pop(msg_id, None)  # pygls keeps a notification's; none of these steps waits

    @property
    def registered(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Return the features, the commands and the options of features."""
        manager = cast("Any", self.fm)
        return manager.features, manager.commands, manager.feature_options

    @property
    def _builtins(self) -> dict[str, Callable[[Any], Any]]:
        return cast("dict[str, Callable[[Any], Any]]", self.fm.builtin_features)


async def _as_json(handler: Callable[[Any], Any], params: object) -> object:
    """Handle a standard request, whose result may contain lsprotocol's types."""
    try:
        return to_json(await handler(params))
    except JsonRpcException as fault:
        raise RequestRefused(RpcError(fault.code, fault.message, fault.data)) from fault
