"""Table of the server's requests that wait for the client's reply.

It is separate from the client's requests, so a reply that is late, repeated, malformed or unexpected has no effect.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable
from typing import cast

log = logging.getLogger(__name__)

Withdraw = Callable[[str], dict[str, object]]

WITHDRAWN_S = 1.0  # for the reply to a withdrawn request, which says whether it was carried out


class ClientGone(Exception):
    """The client can no longer answer."""


class ClientRefused(Exception):
    """The client answered a request with an error, or with a malformed reply, which has no code."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class OutgoingRequests:
    """Belongs to the event loop."""

    def __init__(
        self, send: Callable[[dict[str, object]], object], on_asked: Callable[[], None], withdraw: Withdraw
    ) -> None:
        """Args: withdraw: makes the message that withdraws the request with this id."""
        self._send = send
        self._withdrawal_of = withdraw
        self._on_asked = on_asked
        self._next_id = itertools.count(1)
        self._open: dict[str, asyncio.Future[object]] = {}
        self._client_gone = False

    def __len__(self) -> int:
        return len(self._open)

    async def ask(
        self,
        method: str,
        params: object,
        timeout_s: float | None,
        withdrawal: "asyncio.Future[None] | None" = None,
    ) -> object:
        """Send a request and return its result as plain JSON. A timeout or a cancel withdraws the request.

        Args: params: None for a request without params. withdrawal: when it is done, the request is withdrawn, and its
        reply is awaited for WITHDRAWN_S. Raises: TimeoutError, ClientGone, ClientRefused.
        """
        if self._client_gone:
            raise ClientGone
        msg_id = f"fileops-{next(self._next_id)}"
        reply = self._open[msg_id] = asyncio.get_running_loop().create_future()
        is_withdrawn = False
        try:
            message: dict[str, object] = {"jsonrpc": "2.0", "id": msg_id, "method": method}
            self._send(message if params is None else {**message, "params": params})
            self._on_asked()
            async with asyncio.timeout(timeout_s):
                if withdrawal is not None:
                    await asyncio.wait((reply, withdrawal), return_when=asyncio.FIRST_COMPLETED)
                    is_withdrawn = not reply.done()
                if not is_withdrawn:
                    return await reply
            self._withdraw(msg_id)
            async with asyncio.timeout(WITHDRAWN_S):
                return await reply
        except (TimeoutError, asyncio.CancelledError):
            if not is_withdrawn:
                self._withdraw(msg_id)
            raise
        finally:
            del self._open[msg_id]

    def _withdraw(self, msg_id: str) -> None:
        self._send(self._withdrawal_of(msg_id))

    def handle_reply(self, msg_id: object, message: dict[str, object]) -> None:
        reply = self._open.get(msg_id) if isinstance(msg_id, str) else None
        if reply is None or reply.done():
            log.debug("a reply to no open request")
        elif (error := message.get("error")) is not None:
            reply.set_exception(_to_refusal(error))
        elif "result" in message:
            reply.set_result(message["result"])
        else:
            reply.set_exception(ClientRefused("the reply has neither result nor error"))

    def disconnect(self) -> None:
        """End all open requests, and all later ones, with ClientGone: the client is gone."""
        self._client_gone = True
        for reply in self._open.values():
            if not reply.done():
                reply.set_exception(ClientGone())


def _to_refusal(error: object) -> ClientRefused:
    if not isinstance(error, dict):
        return ClientRefused("the reply's error is not an object")
    fields = cast("dict[str, object]", error)
    message, code = fields.get("message"), fields.get("code")
    return ClientRefused(
        message[:1000] if isinstance(message, str) else "",
        code if isinstance(code, int) and not isinstance(code, bool) else None,
    )
