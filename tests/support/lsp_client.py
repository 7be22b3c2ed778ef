"""A pytest-lsp client whose `fileops/*` messages are plain JSON in both directions."""

import asyncio
import sys
from collections.abc import Callable
from typing import Any

from lsprotocol import types
from pygls.exceptions import FeatureRequestError
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
    default_converter,
)
from pytest_lsp import ClientServerConfig, LanguageClient, LanguageClientProtocol
from pytest_lsp.client import register_lsp_features

from support.patience import PATIENCE_S

Json = dict[str, Any]
NOTIFICATIONS = (
    "fileops/didBecomeStale", "fileops/didRead", "fileops/didEdit", "fileops/didConflict", "fileops/watcherHealth",
)  # fmt: skip


def converter_factory() -> Any:
    converter = default_converter()
    for envelope in (JsonRPCRequestMessage, JsonRPCNotification, JsonRPCResponseMessage):
        converter.register_structure_hook(envelope, _as_it_is)
    return converter


def _as_it_is(given: Json, envelope: type[Any]) -> Any:
    names = ("id", "method", "jsonrpc", "params", "result")
    return envelope(**{name: given.get(name) for name in names if name in envelope.__slots__})


class FileOpsClient(LanguageClient):
    """told: what the server notified of, per method, in order."""

    __test__ = False

    def __init__(self) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            protocol_cls=LanguageClientProtocol, converter_factory=converter_factory
        )
        register_lsp_features(self)
        self.told: dict[str, asyncio.Queue[Json]] = {}
        for method in NOTIFICATIONS:
            queue = self.told[method] = asyncio.Queue()
            self.feature(method)(_putter(queue))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """A handler of a test that refuses on purpose is no error."""
        if source is not FeatureRequestError:
            super().report_server_error(error, source)

    async def start_session(self, **params: Any) -> types.InitializeResult:
        return await self.initialize_session(types.InitializeParams(capabilities=types.ClientCapabilities(), **params))

    async def call(self, method: str, **params: Any) -> Any:
        """The result of a `fileops/*` request."""
        return await asyncio.wait_for(self.protocol.send_request_async(f"fileops/{method}", params), PATIENCE_S)

    async def hear(self, notification: str) -> Json:
        """The next one of its kind."""
        return await asyncio.wait_for(self.told[f"fileops/{notification}"].get(), PATIENCE_S)


def _putter(queue: "asyncio.Queue[Json]") -> Callable[[Any], None]:
    def put(params: Any) -> None:
        queue.put_nowait(params)

    return put


CONFIG = ClientServerConfig(server_command=[sys.executable, "-m", "fileops"], client_factory=FileOpsClient)
