"""Asking the person about a shell command: `fileops/confirmCommand`, or a plain message."""

from typing import cast

from fileops.lsp.client import Client
from fileops.lsp.person import Person
from fileops.questions import Always, Decision, Once, Reject
from fileops.requests import CommandRequest
from fileops.wire.command_types import ConfirmCommandParams

CONFIRM_COMMAND = "fileops/confirmCommand"
RUN = "Run"
_BY_OUTCOME: dict[str, Decision] = {"proceed_once": Once(), "proceed_always": Always()}


class LspCommandApprover:
    """See ports.CommandApprover. falls_back: ask by `window/showMessageRequest` where confirmCommand is not known."""

    def __init__(self, client: Client, *, timeout_s: float, falls_back: bool) -> None:
        self._person = Person(client, "confirm_command", timeout_s=timeout_s, falls_back=falls_back)

    @property
    def can_ask(self) -> bool:
        return self._person.can_ask

    async def decide(self, request: CommandRequest, cwd: str) -> Decision:
        if not self._person.confirms:
            why = f"\n{request.description}" if request.description else ""
            message = f"Run a command for {request.session_id}?\n{request.command}\nin {cwd}{why}"
            return await self._person.ask_by_message(message, yes=RUN)
        params = ConfirmCommandParams(
            command=request.command, cwd=cwd, session_id=request.session_id, description=request.description
        )
        return await self._person.ask(CONFIRM_COMMAND, params, _decision_of)


def _decision_of(answer: object) -> Decision:
    outcome = cast("dict[str, object]", answer).get("outcome") if isinstance(answer, dict) else None
    return _BY_OUTCOME.get(outcome, Reject()) if isinstance(outcome, str) else Reject()
