"""The client as the rest of `lsp/` sees it: what it can do, asking it something, telling it something."""

import asyncio
from typing import TYPE_CHECKING, Any

from fileops.lsp.capabilities import position_encoding, value_at
from fileops.rpc.connection import Connection
from fileops.rpc.outgoing import ClientGone, ClientRefused

if TYPE_CHECKING:
    from fileops.model.documents import PositionEncoding

__all__ = ["Client", "ClientGone", "ClientRefused"]


class Client:
    """Belongs to the event loop. Standing before `initialize` is over, it knows nothing of the client.

    position_encoding: as negotiated.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.capabilities: dict[str, object] = {}
        self.position_encoding: PositionEncoding = "utf-16"
        self._asking: set[asyncio.Task[object]] = set()

    def begin(self, capabilities: dict[str, object]) -> None:
        self.capabilities = capabilities
        self.position_encoding = position_encoding(capabilities)

    def capability(self, dotted: str) -> object:
        """A value of the client's capabilities as it sent them ("workspace.applyEdit"), None where absent."""
        return value_at(self.capabilities, dotted)

    @property
    def lags(self) -> bool:
        """Whether it has not taken yet what was sent."""
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
        """The result as plain JSON, unchecked. Given up by timeout or cancel, the question is withdrawn.

        params: JSON types or a msgspec Struct; None for none. withdrawal: see OutgoingRequests.ask.
        Raises: TimeoutError, ClientGone, ClientRefused.
        """
        task = asyncio.current_task()
        if task is None:
            return await self._connection.outgoing.ask(method, params, timeout_s, withdrawal)
        self._asking.add(task)
        try:
            return await self._connection.outgoing.ask(method, params, timeout_s, withdrawal)
        finally:
            self._asking.discard(task)

    def is_asking(self, task: "asyncio.Task[object]") -> bool:
        """Whether the task waits for the client's answer."""
        return task in self._asking

    def notify(self, method: str, params: Any) -> None:
        self._connection.notify(method, params)
