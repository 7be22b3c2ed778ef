"""The pygls seam: serves standard requests as features of a pygls server. Loaded with the first of them.

pygls keeps the table of features, running and cancelling handlers, capabilities and lsprotocol's types. No notification
reaches it. This module replaces what docs/internals/adr/0010-pygls-seam.md lists: parsing (no object hook), errors (no
internals are sent), requests to the client, and book-keeping (nothing is kept after the answer). It uses private parts
of pygls 2.1, which tests/unit/lsp/test_pygls_seam.py checks.
"""

import asyncio
import contextvars
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, cast

from cattrs import Converter
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

from fileops import __version__
from fileops.lsp.capabilities import SERVER_NAME, Feature
from fileops.lsp.converter import converter_factory
from fileops.lsp.methods import OWN_NOTIFICATIONS
from fileops.lsp.params import STANDARD_PARAMS
from fileops.rpc import errors
from fileops.rpc.connection import Connection
from fileops.rpc.decode import InvalidParams, decode
from fileops.rpc.errors import MessageId, RpcError

log = logging.getLogger(__name__)

_REPLACED = frozenset({
    types.TEXT_DOCUMENT_DID_OPEN, types.TEXT_DOCUMENT_DID_CHANGE, types.TEXT_DOCUMENT_DID_CLOSE,
    types.NOTEBOOK_DOCUMENT_DID_OPEN, types.NOTEBOOK_DOCUMENT_DID_CHANGE, types.NOTEBOOK_DOCUMENT_DID_CLOSE,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, types.WORKSPACE_EXECUTE_COMMAND,
})  # fmt: skip  # pygls' document mirror splits lines where LSP does not; ours are registered as features
_OPTIONS: dict[str, type] = {
    types.TEXT_DOCUMENT_DID_SAVE: types.SaveOptions, types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions,
    types.TEXT_DOCUMENT_CODE_LENS: types.CodeLensOptions, types.WORKSPACE_EXECUTE_COMMAND: types.ExecuteCommandOptions,
}  # fmt: skip


def load(connection: Connection, features: Mapping[str, Feature], client_capabilities: object) -> "Protocol":
    """Return a pygls server with these features that has handled `initialize`."""
    server = StandardServer(connection)
    for method, feature in features.items():
        server.protocol.register(method, feature)
    server.protocol.begin(client_capabilities)
    return server.protocol


class StandardServer(LanguageServer):
    protocol: "Protocol"  # pyright: ignore[reportIncompatibleVariableOverride]  # see protocol_cls

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            SERVER_NAME,
            __version__,
            types.TextDocumentSyncKind.Incremental,
            protocol_cls=Protocol,
            converter_factory=converter_factory,
        )

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Write the error to the log only; pygls shows every error to the user."""
        log.error("%s: %s", getattr(source, "__name__", source), error)


class Protocol(LanguageServerProtocol):
    """See dialect.StandardHandler."""

    def __init__(self, server: StandardServer, converter: Converter) -> None:
        self._connection = server.connection
        super().__init__(server, converter)
        for method in _REPLACED:
            self._builtins.pop(method, None)

    def begin(self, client_capabilities: object) -> types.ServerCapabilities:
        """Enter the state after `initialize`, which `capabilities.py` has answered with the same result."""
        capabilities = self._converter.structure(client_capabilities, types.ClientCapabilities)
        steps = self.lsp_initialize(types.InitializeParams(capabilities=capabilities))
        for _ in steps:
            raise RuntimeError("a feature named initialize")
        return self.server_capabilities

    # --- in ------------------------------------------------------------------------------------------------------

    def is_request(self, method: str) -> bool:
        return method in self._features and method not in OWN_NOTIFICATIONS

    def handle_request(self, msg_id: MessageId, method: str, params: object) -> None:
        try:
            decoded = decode({} if params is None else params, STANDARD_PARAMS[method])
        except InvalidParams as fault:
            return self._connection.refuse(msg_id, errors.invalid_params(fault))
        return contextvars.copy_context().run(self._handle_request, msg_id, method, decoded)

    # --- out -----------------------------------------------------------------------------------------------------

    def _send_handler_result(self, future: "Future[Any]", *, msg_id: MessageId) -> None:
        self._request_futures.pop(msg_id, None)
        if future.cancelled():
            self._connection.refuse(msg_id, errors.cancelled())
        elif (fault := future.exception()) is None:
            self._send_response(msg_id, future.result())
        elif isinstance(fault, JsonRpcException):
            self._connection.refuse(msg_id, RpcError(fault.code, fault.message, fault.data))
        else:
            self._connection.refuse(msg_id, self._connection.error_of(fault))

    def _send_response(self, msg_id: MessageId, result: Any = None, error: Any = None) -> None:
        if error is not None:
            return self._connection.refuse(msg_id, RpcError(error.code, error.message, error.data))
        try:
            plain = self._plain(result)
        except (TypeError, ValueError, RecursionError) as fault:
            return self._connection.refuse(msg_id, errors.internal_error(fault))
        self._connection.answer(msg_id, plain)
        return None

    def _send_data(self, data: Any) -> None:
        self._connection.send(data)

    def _plain(self, value: Any) -> Any:
        """Convert lsprotocol's classes to JSON types; return JSON types and our Structs unchanged."""
        if hasattr(value, "__attrs_attrs__") or isinstance(value, list):
            return self._converter.unstructure(value)
        return value

    def notify(self, method: str, params: Any | None = None) -> None:
        self._connection.notify(method, self._plain(params))

    def send_request(self, *_args: Any, **_kwargs: Any) -> Any:
        raise NotImplementedError("Connection.ask: a future to block on can deadlock the reader")

    # --- handlers ----------------------------------------------------------------------------------------

    def register(self, method: str, feature: Feature) -> None:
        """Register a feature as pygls does, but replace an earlier one, and infer nothing from names."""
        self._features[method] = feature.handle
        if feature.options is not None:
            options = cast("Any", self._converter).structure(feature.options, _OPTIONS[method])
            cast("dict[str, Any]", self.fm.feature_options)[method] = options
            if isinstance(options, types.ExecuteCommandOptions):  # pygls announces these commands
                cast("dict[str, Any]", self.fm.commands).update(dict.fromkeys(options.commands, feature.handle))

    @property
    def _features(self) -> dict[str, Callable[[Any], Any]]:
        return cast("dict[str, Callable[[Any], Any]]", self.fm.features)

    @property
    def _builtins(self) -> dict[str, Callable[[Any], Any]]:
        return cast("dict[str, Callable[[Any], Any]]", self.fm.builtin_features)

    def is_in_flight(self, msg_id: MessageId) -> bool:
        return msg_id in self._request_futures

    def in_flight(self) -> "list[asyncio.Future[Any]]":
        """Return the requests in flight. pygls keeps asyncio's and concurrent futures in one table."""
        futures = cast("list[asyncio.Future[Any] | Future[Any]]", list(self._request_futures.values()))
        return [asyncio.wrap_future(future) if isinstance(future, Future) else future for future in futures]

    @property
    def n_in_flight(self) -> int:
        return len(self._request_futures)

    def cancel(self, msg_id: MessageId) -> None:
        if (future := self._request_futures.get(msg_id)) is not None:  # it stays in the table until it is answered
            future.cancel()

    def _execute_handler(
        self, msg_id: MessageId, handler: Any, callback: Any, args: Any = None, kwargs: Any = None
    ) -> None:
        super()._execute_handler(msg_id, handler, callback, args, kwargs)
        future = self._request_futures.get(msg_id)
        if future is not None:  # pygls never drops those of notifications
            future.add_done_callback(lambda _: self._forget(msg_id))

    def _forget(self, msg_id: MessageId) -> None:
        self._request_futures.pop(msg_id, None)
        self._connection.on_request_done()
