"""Asking the person about an edit: `fileops/confirmEdit`, or a plain message. An answer of an unknown shape is a no."""

from collections.abc import Sequence
from typing import cast

from fileops.lsp.client import Client
from fileops.lsp.user_prompt import Person
from fileops.model.approval import Always, Decision, Modify, Once, Question, Reject, SomeHunks
from fileops.model.requests import CommandRequest
from fileops.wire.commands import ConfirmCommandParams
from fileops.wire.convert import confirm_params

CONFIRM_EDIT = "fileops/confirmEdit"
APPLY = "Apply"
_YES = ("proceed_once", "proceed_always", "modify")  # a tuple: what is compared may be anything, also unhashable


class LspApprover:
    """Asks by confirmEdit, or, with use_message_fallback, by `window/showMessageRequest`."""

    def __init__(self, client: Client, *, timeout_s: float, use_message_fallback: bool) -> None:
        self._person = Person(client, "confirm_edit", timeout_s=timeout_s, use_message_fallback=use_message_fallback)

    @property
    def can_ask(self) -> bool:
        return self._person.can_ask

    async def decide(self, question: Question) -> Decision:
        if not self._person.confirms:
            return await self._person.ask_by_message(f"{question.title}\n{question.description}", yes=APPLY)
        hunk_ids = [hunk.id for hunk in question.change.hunks]
        return await self._person.ask(
            CONFIRM_EDIT, confirm_params(question), lambda answer: decision_of(answer, hunk_ids)
        )


def decision_of(answer: object, hunk_ids: Sequence[str]) -> Decision:
    """hunk_ids: of the proposal. docs/PROTOCOL.md, "Approval": whatever else counts as `cancel`."""
    if not isinstance(answer, dict):
        return Reject()
    given = cast("dict[str, object]", answer)
    outcome, text, chosen = given.get("outcome"), given.get("text"), given.get("hunk_ids")
    if not isinstance(text, str | None) or outcome not in _YES:
        return Reject()
    if chosen is not None:
        return _some_hunks(chosen, hunk_ids, is_always=outcome == "proceed_always") if text is None else Reject()
    match outcome:
        case "proceed_once":
            return Once()
        case "proceed_always":
            return Always()
        case "modify" if text is not None:
            return Modify(text)
        case _:
            return Reject()


def _some_hunks(chosen: object, hunk_ids: Sequence[str], *, is_always: bool) -> Decision:
    if not isinstance(chosen, list):
        return Reject()
    wanted = {one for one in cast("list[object]", chosen) if isinstance(one, str)}
    known = tuple(one for one in hunk_ids if one in wanted)
    if not known or len(known) != len(wanted) or not all(isinstance(one, str) for one in cast("list[object]", chosen)):
        return Reject()
    return SomeHunks(known, is_always)


CONFIRM_COMMAND = "fileops/confirmCommand"
RUN = "Run"
_BY_OUTCOME: dict[str, Decision] = {"proceed_once": Once(), "proceed_always": Always()}


class LspCommandApprover:
    """Asks by confirmCommand, or, with use_message_fallback, by `window/showMessageRequest`."""

    def __init__(self, client: Client, *, timeout_s: float, use_message_fallback: bool) -> None:
        self._person = Person(client, "confirm_command", timeout_s=timeout_s, use_message_fallback=use_message_fallback)

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
