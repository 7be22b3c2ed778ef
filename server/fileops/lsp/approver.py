"""Approvers that ask the client's user: by `fileops/confirmEdit` or `fileops/confirmCommand`.

An answer of an unknown shape is a rejection.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from fileops.lsp import methods
from fileops.lsp.client import Client, ClientGone, ClientRefused
from fileops.lsp.user_prompt import UserPrompt, message_decision_of, message_params
from fileops.model.approval import Always, ApprovalRequest, Decision, Modify, Once, Reject, SomeHunks, TimedOut
from fileops.model.requests import CommandRequest
from fileops.wire.commands import ConfirmCommandParams
from fileops.wire.convert import confirm_params
from fileops.wire.types import AskingSession

if TYPE_CHECKING:
    from fileops.service.hub.approvals import SessionInfo

log = logging.getLogger(__name__)

APPLY = "Apply"
RUN = "Run"
_APPROVALS = ("proceed_once", "proceed_always", "modify")  # a tuple, because an outcome may be unhashable
_BY_OUTCOME: dict[str, Decision] = {"proceed_once": Once(), "proceed_always": Always()}


class LspApprover:
    """See ports.Approver."""

    def __init__(
        self,
        client: Client,
        *,
        timeout_s: float,
        use_message_fallback: bool,
    ) -> None:
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
            methods.CONFIRM_EDIT, confirm_params(question), lambda answer: decision_of(answer, hunk_ids)
        )


class AgentApprover:
    """See service.hub.approvals.EditorApprover: asks an editor's user about the edits of other connections."""

    def __init__(self, client: Client, *, use_message_fallback: bool) -> None:
        self._client, self._use_message_fallback = client, use_message_fallback

    @property
    def can_ask(self) -> bool:
        return self._confirms or self._use_message_fallback

    @property
    def _confirms(self) -> bool:
        return self._client.capability("experimental.fileops.confirm_edit") is True

    async def ask(self, question: ApprovalRequest, session: "SessionInfo", timeout_s: float) -> Decision:
        from fileops.service.hub.approvals import EditorGone, MalformedDecision

        if self._confirms:
            about = AskingSession(session_id=session.session_id, host=session.host, label=session.label)
            method, params = methods.CONFIRM_EDIT, confirm_params(question, about)
        else:
            message = f"{session.label}: {question.title}\n{question.description}"
            method, params = methods.WINDOW_SHOW_MESSAGE_REQUEST, message_params(message, yes=APPLY)
        try:
            answer = await self._client.ask(method, params, timeout_s=timeout_s)
        except TimeoutError:
            return TimedOut(timeout_s)
        except ClientGone:
            raise EditorGone from None
        except ClientRefused as refusal:
            log.info("an editor answered a request for a decision with error %s", refusal.code)
            raise MalformedDecision from None
        if not self._confirms:
            return message_decision_of(answer, yes=APPLY)
        decision = decision_of(answer, [hunk.id for hunk in question.change.hunks])
        if decision == Reject() and _outcome_of(answer) != "cancel":
            raise MalformedDecision
        return decision


def _outcome_of(answer: object) -> object:
    return cast("dict[str, object]", answer).get("outcome") if isinstance(answer, dict) else None


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
    return SomeHunks(accepted, Always() if is_always else None)


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
        return await self._prompt.ask(methods.CONFIRM_COMMAND, params, _command_decision_of)


def _command_decision_of(answer: object) -> Decision:
    outcome = _outcome_of(answer)
    return _BY_OUTCOME.get(outcome, Reject()) if isinstance(outcome, str) else Reject()
