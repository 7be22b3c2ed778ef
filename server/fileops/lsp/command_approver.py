"""Asking the person about a shell command: `fileops/confirmCommand`. What is no clear yes is a no."""

import logging
from typing import cast

from fileops.lsp.client import Client, ClientGone, ClientRefused
from fileops.model import Always, Decision, Once, Reject, TimedOut
from fileops.wire.command_types import ConfirmCommandParams

log = logging.getLogger(__name__)

CONFIRM_COMMAND = "fileops/confirmCommand"


class LspCommandApprover:
    """See ports.CommandApprover."""

    def __init__(self, client: Client, *, timeout_s: float) -> None:
        self._client, self._timeout_s = client, timeout_s

    @property
    def can_ask(self) -> bool:
        return self._client.capability("experimental.fileops.confirm_command") is True

    async def decide(self, command: str, cwd: str, session_id: str) -> Decision:
        params = ConfirmCommandParams(command=command, cwd=cwd, session_id=session_id)
        try:
            answer = await self._client.ask(CONFIRM_COMMAND, params, timeout_s=self._timeout_s)
        except TimeoutError:
            return TimedOut(self._timeout_s)
        except ClientGone:
            return Reject()
        except ClientRefused as refusal:
            log.info("a question was answered with error %s", refusal.code)
            return Reject()
        outcome = cast("dict[str, object]", answer).get("outcome") if isinstance(answer, dict) else None
        if outcome == "proceed_once":
            return Once()
        return Always() if outcome == "proceed_always" else Reject()
