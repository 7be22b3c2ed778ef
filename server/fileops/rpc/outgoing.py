"""Requests to the client that wait for their reply.

They have a table of their own, apart from the client's requests: a reply that is late, given twice, malformed, or to
what nobody asked finds nothing here and does no harm.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable
from typing import cast

log = logging.getLogger(__name__)

Withdraw = Callable[[str], dict[str, object]]


WITHDRAWN_S = 1.0  # for the reply to a question that was withdrawn, by which the client says what it did all the same


class ClientGone(Exception):
    """The client can answer no more."""


class ClientRefused(Exception):
    """The client answered a request of ours with an error, or with what is no answer. code: None for the latter."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class OutgoingRequests:
    """Belongs to the event loop."""

    def __init__(
        self, send: Callable[[dict[str, object]], None], on_asked: Callable[[], None], withdraw: Withdraw
    ) -> None:
        """Take `withdraw`, which makes the message that withdraws the request with this id."""
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
        """The client's result, as plain JSON. If given up, by timeout or cancel, the client is told so.

        params: None for a request that has none. withdrawal: when it is done the question is withdrawn, too, but the
        reply is still waited for, shortly.
        Raises: TimeoutError, ClientGone, ClientRefused.
        """
        if self._client_gone:
            raise ClientGone
        msg_id = f"fileops-{next(self._next_id)}"
        question = self._open[msg_id] = asyncio.get_running_loop().create_future()
        is_withdrawn = False
        try:
            message: dict[str, object] = {"jsonrpc": "2.0", "id": msg_id, "method": method}
            self._send(message if params is None else {**message, "params": params})
            self._on_asked()
            async with asyncio.timeout(timeout_s):
                if withdrawal is not None:
                    await asyncio.wait((question, withdrawal), return_when=asyncio.FIRST_COMPLETED)
                    is_withdrawn = not question.done()
                if not is_withdrawn:
                    return await question
            self._withdraw(msg_id)
            async with asyncio.timeout(WITHDRAWN_S):
                return await question
        except (TimeoutError, asyncio.CancelledError):
            if not is_withdrawn:
                self._withdraw(msg_id)
            raise
        finally:
            del self._open[msg_id]

    def _withdraw(self, msg_id: str) -> None:
        self._send(self._withdrawal_of(msg_id))

    def handle_reply(self, msg_id: object, message: dict[str, object]) -> None:
        question = self._open.get(msg_id) if isinstance(msg_id, str) else None
        if question is None or question.done():
            log.debug("a reply to no question of ours")
        elif (error := message.get("error")) is not None:
            question.set_exception(_refused(error))
        elif "result" in message:
            question.set_result(message["result"])
        else:
            question.set_exception(ClientRefused("the reply has neither result nor error"))

    def disconnect(self) -> None:
        """From now on nobody answers: all open questions end with ClientGone."""
        self._client_gone = True
        for question in self._open.values():
            if not question.done():
                question.set_exception(ClientGone())


def _refused(error: object) -> ClientRefused:
    if not isinstance(error, dict):
        return ClientRefused("the reply's error is no object")
    fields = cast("dict[str, object]", error)
    message, code = fields.get("message"), fields.get("code")
    return ClientRefused(
        message[:1000] if isinstance(message, str) else "",
        code if isinstance(code, int) and not isinstance(code, bool) else None,
    )
