"""Asks the client's user for a decision: by a `fileops/*` request, or by a message if the client knows only LSP.

Anything but an explicit approval is a rejection: an error response, a lost client, a dismissed message.
"""

import logging
from collections.abc import Callable
from typing import cast

from fileops.lsp import methods
from fileops.lsp.client import Client, ClientGone, ClientRefused
from fileops.model.approval import Always, Decision, Once, Reject, TimedOut

log = logging.getLogger(__name__)

ALWAYS, REJECT = "Always", "Reject"


class UserPrompt:
    def __init__(self, client: Client, capability: str, *, timeout_s: float, use_message_fallback: bool) -> None:
        """Args: capability: below `experimental.fileops`; without it the user is asked by message, if at all."""
        self._client, self._capability = client, f"experimental.fileops.{capability}"
        self._timeout_s, self._use_message_fallback = timeout_s, use_message_fallback

    @property
    def can_ask(self) -> bool:
        return self.confirms or self._use_message_fallback

    @property
    def confirms(self) -> bool:
        """Whether the client handles the `fileops/*` request."""
        return self._client.capability(self._capability) is True

    async def ask(self, method: str, params: object, decision_of: Callable[[object], Decision]) -> Decision:
        try:
            answer = await self._client.ask(method, params, timeout_s=self._timeout_s)
        except TimeoutError:
            return TimedOut(self._timeout_s)
        except ClientGone:
            return Reject()
        except ClientRefused as refusal:
            log.info("the client answered a request for a decision with error %s", refusal.code)
            return Reject()
        return decision_of(answer)

    async def ask_by_message(self, message: str, *, yes: str) -> Decision:
        """Ask by `window/showMessageRequest`. Args: yes: the title of the button that approves."""
        if not self._use_message_fallback:
            return Reject()
        params = message_params(message, yes=yes)
        return await self.ask(
            methods.WINDOW_SHOW_MESSAGE_REQUEST, params, lambda answer: message_decision_of(answer, yes=yes)
        )


def message_params(message: str, *, yes: str) -> dict[str, object]:
    """Return the params of a question by message. Args: yes: the title of the button that approves."""
    actions = [{"title": title} for title in (yes, ALWAYS, REJECT)]
    return {"type": methods.INFO, "message": message, "actions": actions}


def message_decision_of(answer: object, *, yes: str) -> Decision:
    """Decode the button that was pressed; anything else is a rejection."""
    title = cast("dict[str, object]", answer).get("title") if isinstance(answer, dict) else None
    return {yes: Once(), ALWAYS: Always()}.get(title, Reject()) if isinstance(title, str) else Reject()
