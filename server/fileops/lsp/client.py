"""The client as the rest of `lsp/` sees it: what it can do, asking it something, telling it something."""

import asyncio
from typing import Any, cast

from lsprotocol import types

from fileops.lsp.documents import PositionEncoding
from fileops.lsp.protocol import Protocol
from fileops.lsp.questions import ClientGone, ClientRefused

__all__ = ["Client", "ClientGone", "ClientRefused"]

_POSITION_ENCODINGS: dict[types.PositionEncodingKind, PositionEncoding] = {
    types.PositionEncodingKind.Utf8: "utf-8",
    types.PositionEncodingKind.Utf16: "utf-16",
    types.PositionEncodingKind.Utf32: "utf-32",
}


class Client:
    """Belongs to the event loop. Standing before `initialize` is over, it knows nothing of the client."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._asking: set[asyncio.Task[object]] = set()

    def capability(self, dotted: str) -> object:
        """A value of the client's capabilities as it sent them ("workspace.applyEdit"), None where absent."""
        value: object = self._protocol.initialize_params.get("capabilities")
        for key in dotted.split("."):
            value = cast("dict[str, object]", value).get(key) if isinstance(value, dict) else None
        return value

    @property
    def position_encoding(self) -> PositionEncoding:
        """As negotiated."""
        negotiated = self._protocol.server_capabilities.position_encoding
        return "utf-16" if negotiated is None else _POSITION_ENCODINGS[types.PositionEncodingKind(negotiated)]

    async def ask(self, method: str, params: Any, *, timeout_s: float | None) -> object:
        """The result as plain JSON, unchecked. Given up by timeout or cancel, the question is withdrawn.

        params: JSON types, a msgspec Struct or an lsprotocol value.
        Raises: TimeoutError, ClientGone, ClientRefused.
        """
        task = asyncio.current_task()
        if task is None:
            return await self._protocol.ask(method, params, timeout_s)
        self._asking.add(task)
        try:
            return await self._protocol.ask(method, params, timeout_s)
        finally:
            self._asking.discard(task)

    def is_asking(self, task: "asyncio.Task[object]") -> bool:
        """Whether the task waits for the client's answer."""
        return task in self._asking

    def notify(self, method: str, params: Any) -> None:
        self._protocol.notify(method, params)
