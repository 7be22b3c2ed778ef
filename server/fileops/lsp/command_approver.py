"""Asking the person about a shell command: `fileops/confirmCommand`, or a plain message. No clear yes is a no."""

import logging
from typing import cast

from fileops.lsp import methods
from fileops.lsp.client import Client, ClientGone, ClientRefused
from fileops.questions import Always, Decision, Once, Reject, TimedOut
from fileops.requests import CommandRequest
from fileops.wire.command_types import ConfirmCommandParams

log = logging.getLogger(__name__)

CONFIRM_COMMAND = "fileops/confirmCommand"
RUN, ALWAYS, REJECT = "Run", "Always", "Reject"
_BY_OUTCOME: dict[object, Decision] = {"proceed_once": Once(), "proceed_always": Always()}
_BY_BUTTON: dict[object, Decision] = {RUN: Once(), ALWAYS: Always()}


class LspCommandApprover:
    """See ports.CommandApprover. falls_back: ask by `window/showMessageRequest` where confirmCommand is not known."""

    def __init__(self, client: Client, *, timeout_s: float, falls_back: bool) -> None:
        self._client, self._timeout_s, self._falls_back = client, timeout_s, falls_back

    @property
    def can_ask(self) -> bool:
        return self._confirms or self._falls_back

    async def decide(self, request: CommandRequest, cwd: str) -> Decision:
        method, params = _question(request, cwd) if self._confirms else _message(request, cwd)
        try:
            answer = await self._client.ask(method, params, timeout_s=self._timeout_s)
        except TimeoutError:
            return TimedOut(self._timeout_s)
        except ClientGone:
            return Reject()
        except ClientRefused as refusal:
            log.info("a question was answered with error %s", refusal.code)
            return Reject()
        if self._confirms:
            return _BY_OUTCOME.get(_value(answer, "outcome"), Reject())
        return _BY_BUTTON.get(_value(answer, "title"), Reject())

    @property
    def _confirms(self) -> bool:
        return self._client.capability("experimental.fileops.confirm_command") is True


def _question(request: CommandRequest, cwd: str) -> tuple[str, object]:
    return CONFIRM_COMMAND, ConfirmCommandParams(
        command=request.command, cwd=cwd, session_id=request.session_id, description=request.description
    )


def _message(request: CommandRequest, cwd: str) -> tuple[str, object]:
    why = f"\n{request.description}" if request.description else ""
    return methods.WINDOW_SHOW_MESSAGE_REQUEST, {
        "type": methods.INFO,
        "message": f"Run a command for {request.session_id}?\n{request.command}\nin {cwd}{why}",
        "actions": [{"title": title} for title in (RUN, ALWAYS, REJECT)],
    }


def _value(answer: object, key: str) -> str | None:
    """The string that stands there, if one does."""
    found = cast("dict[str, object]", answer).get(key) if isinstance(answer, dict) else None
    return found if isinstance(found, str) else None
