"""The person at the client: asked by a request of ours, or by a plain message where the client knows only standard LSP.

What is no clear yes is a no: an error, a client that went away, a message that was closed.
"""

import logging
from collections.abc import Callable
from typing import cast

from fileops.lsp import methods
from fileops.lsp.client import Client, ClientGone, ClientRefused
from fileops.model.approval import Always, Decision, Once, Reject, TimedOut

log = logging.getLogger(__name__)

ALWAYS, REJECT = "Always", "Reject"


class Person:
    """capability: below `experimental.fileops`. use_message_fallback: else ask by message."""

    def __init__(self, client: Client, capability: str, *, timeout_s: float, use_message_fallback: bool) -> None:
        self._client, self._capability = client, f"experimental.fileops.{capability}"
        self._timeout_s, self._falls_back = timeout_s, use_message_fallback

    @property
    def can_ask(self) -> bool:
        return self.confirms or self._falls_back

    @property
    def confirms(self) -> bool:
        """Whether the client knows our request."""
        return self._client.capability(self._capability) is True

    async def ask(self, method: str, params: object, decision_of: Callable[[object], Decision]) -> Decision:
        try:
            answer = await self._client.ask(method, params, timeout_s=self._timeout_s)
        except TimeoutError:
            return TimedOut(self._timeout_s)
        except ClientGone:
            return Reject()
        except ClientRefused as refusal:
            log.info("a question was answered with error %s", refusal.code)
            return Reject()
        return decision_of(answer)

    async def ask_by_message(self, message: str, *, yes: str) -> Decision:
        """yes: the title of the first button."""
        if not self._falls_back:
            return Reject()
        by_button: dict[object, Decision] = {yes: Once(), ALWAYS: Always()}

        def decision_of(answer: object) -> Decision:
            title = cast("dict[str, object]", answer).get("title") if isinstance(answer, dict) else None
            return by_button.get(title, Reject()) if isinstance(title, str) else Reject()

        params = {
            "type": methods.INFO,
            "message": message,
            "actions": [{"title": title} for title in (yes, ALWAYS, REJECT)],
        }
        return await self.ask(methods.WINDOW_SHOW_MESSAGE_REQUEST, params, decision_of)
