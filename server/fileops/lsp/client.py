"""The client as the rest of `lsp/` sees it: its capabilities, requests to it, and notifications."""

import asyncio
from typing import Any, cast

from lsprotocol import types

from fileops.lsp.converter import to_json
from fileops.model.documents import PositionEncoding
from fileops.rpc.connection import Connection
from fileops.rpc.outgoing import ClientGone, ClientRefused

__all__ = ["Client", "ClientGone", "ClientRefused"]


class Client:
    """Belongs to the event loop. Until `begin`, at `initialize`, the client has no capabilities."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.capabilities: dict[str, object] = {}
        self._looked_up: dict[str, object] = {}
        self.position_encoding: PositionEncoding = "utf-16"  # the negotiated one, from `initialize` on
        self._asking: set[asyncio.Task[object]] = set()

    def begin(self, capabilities: dict[str, object]) -> None:
        self.capabilities = capabilities
        self._looked_up.clear()

    def capability(self, dotted: str) -> object:
        """Return a value of the client's capabilities as sent ("workspace.applyEdit"); None if absent."""
        if dotted not in self._looked_up:  # each edit asks for some
            self._looked_up[dotted] = value_at(self.capabilities, dotted)
        return self._looked_up[dotted]

    @property
    def lags(self) -> bool:
        """Return whether messages wait because the client does not read them."""
        sink = self._connection.sink
        return sink is not None and sink.n_pending_bytes > 0

    async def ask(
        self,
        method: str,
        params: Any,
        *,
        timeout_s: float | None,
        withdrawal: "asyncio.Future[None] | None" = None,
    ) -> object:
        """Send a request and return its result as plain JSON, unchecked. A timeout or a cancel withdraws the request.

        Args: params: as for `notify`; None for none. withdrawal: see OutgoingRequests.ask. Raises: TimeoutError,
        ClientGone, ClientRefused.
        """
        task, plain = asyncio.current_task(), to_json(params)
        if task is None:
            return await self._connection.outgoing.ask(method, plain, timeout_s, withdrawal)
        self._asking.add(task)
        try:
            return await self._connection.outgoing.ask(method, plain, timeout_s, withdrawal)
        finally:
            self._asking.discard(task)

    def is_asking(self, task: "asyncio.Task[object]") -> bool:
        """Return whether the task waits for an answer from the client."""
        return task in self._asking

    def notify(self, method: str, params: Any) -> None:
        """Send a notification. Args: params: JSON types, a msgspec Struct, or a value of lsprotocol."""
        self._connection.notify(method, to_json(params))

    def warn(self, sentence: str) -> None:
        """Show a warning to the client's user."""
        params = types.ShowMessageParams(type=types.MessageType.Warning, message=f"fileops-server: {sentence}")
        self.notify(types.WINDOW_SHOW_MESSAGE, params)


def value_at(capabilities: object, dotted: str) -> object:
    """Return the value at a place such as "workspace.applyEdit" in a client's capabilities; None if absent."""
    for key in dotted.split("."):
        capabilities = cast("dict[str, object]", capabilities).get(key) if isinstance(capabilities, dict) else None
    return capabilities
