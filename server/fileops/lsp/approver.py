"""Asking the person about an edit: `fileops/confirmEdit`, or a plain message. An answer of an unknown shape is a no."""

from collections.abc import Sequence
from typing import cast

from fileops.lsp.client import Client
from fileops.lsp.person import Person
from fileops.questions import Always, Decision, Modify, Once, Question, Reject, SomeHunks
from fileops.wire.convert import confirm_params

CONFIRM_EDIT = "fileops/confirmEdit"
APPLY = "Apply"
_YES = ("proceed_once", "proceed_always", "modify")  # a tuple: what is compared may be anything, also unhashable


class LspApprover:
    """An Approver. falls_back: ask by `window/showMessageRequest` where the client does not know confirmEdit."""

    def __init__(self, client: Client, *, timeout_s: float, falls_back: bool) -> None:
        self._person = Person(client, "confirm_edit", timeout_s=timeout_s, falls_back=falls_back)

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
