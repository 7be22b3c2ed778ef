"""Approvers that ask the client's user: by `fileops/confirmEdit` or `fileops/confirmCommand`.

An answer of an unknown shape is a rejection.
"""

from collections.abc import Sequence
from typing import cast

from fileops.lsp.client import Client
from fileops.lsp.user_prompt import UserPrompt
from fileops.model.approval import Always, ApprovalRequest, Decision, Modify, Once, Reject, SomeHunks
from fileops.model.requests import CommandRequest
from fileops.wire.commands import ConfirmCommandParams
from fileops.wire.convert import confirm_params

CONFIRM_EDIT = "fileops/confirmEdit"
APPLY = "Apply"
CONFIRM_COMMAND = "fileops/confirmCommand"
RUN = "Run"
_APPROVALS = ("proceed_once", "proceed_always", "modify")  # a tuple, because an outcome may be unhashable
_BY_OUTCOME: dict[str, Decision] = {"proceed_once": Once(), "proceed_always": Always()}


class LspApprover:
    """See ports.Approver."""

    def __init__(self, client: Client, *, timeout_s: float, use_message_fallback: bool) -> None:
        self._prompt = UserPrompt(
            client, "confirm_edit", timeout_s=timeout_s, use_message_fallback=use_message_fallback
        )

    @property
    def can_ask(self) -> bool:
        return self._prompt.can_ask

    async def decide(self, question: ApprovalRequest) -> Decision:
        if not self._prompt.confirms:
            return await self._prompt.ask_by_message(f"{question.title}\n{question.description}", yes=APPLY)
        hunk_ids = [hunk.id for hunk in question.change.hunks]
        return await self._prompt.ask(
            CONFIRM_EDIT, confirm_params(question), lambda answer: decision_of(answer, hunk_ids)
        )


def decision_of(answer: object, hunk_ids: Sequence[str]) -> Decision:
    """Decode an answer to confirmEdit, see docs/PROTOCOL.md, "Approval". Args: hunk_ids: of the proposal."""
    if not isinstance(answer, dict):
        return Reject()
    fields = cast("dict[str, object]", answer)
    outcome, text, selected = fields.get("outcome"), fields.get("text"), fields.get("hunk_ids")
    if not isinstance(text, str | None) or outcome not in _APPROVALS:
        return Reject()
    if selected is not None:
        return _some_hunks(selected, hunk_ids, is_always=outcome == "proceed_always") if text is None else Reject()
    match outcome:
        case "proceed_once":
            return Once()
        case "proceed_always":
            return Always()
        case "modify" if text is not None:
            return Modify(text)
        case _:
            return Reject()


def _some_hunks(selected: object, hunk_ids: Sequence[str], *, is_always: bool) -> Decision:
    """Return the selected hunks in the order of the proposal; reject a selection that names any other or none."""
    if not isinstance(selected, list):
        return Reject()
    ids = cast("list[object]", selected)
    unique_ids = {hunk_id for hunk_id in ids if isinstance(hunk_id, str)}
    accepted = tuple(hunk_id for hunk_id in hunk_ids if hunk_id in unique_ids)
    if not accepted or len(accepted) != len(unique_ids) or not all(isinstance(hunk_id, str) for hunk_id in ids):
        return Reject()
    return SomeHunks(accepted, is_always)


class LspCommandApprover:
    """See ports.CommandApprover."""

    def __init__(self, client: Client, *, timeout_s: float, use_message_fallback: bool) -> None:
        self._prompt = UserPrompt(
            client, "confirm_command", timeout_s=timeout_s, use_message_fallback=use_message_fallback
        )

    @property
    def can_ask(self) -> bool:
        return self._prompt.can_ask

    async def decide(self, request: CommandRequest, cwd: str) -> Decision:
        if not self._prompt.confirms:
            description = f"\n{request.description}" if request.description else ""
            message = f"Run a command for {request.session_id}?\n{request.command}\nin {cwd}{description}"
            return await self._prompt.ask_by_message(message, yes=RUN)
        params = ConfirmCommandParams(
            command=request.command, cwd=cwd, session_id=request.session_id, description=request.description
        )
        return await self._prompt.ask(CONFIRM_COMMAND, params, _command_decision_of)


def _command_decision_of(answer: object) -> Decision:
    outcome = cast("dict[str, object]", answer).get("outcome") if isinstance(answer, dict) else None
    return _BY_OUTCOME.get(outcome, Reject()) if isinstance(outcome, str) else Reject()
