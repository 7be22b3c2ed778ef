"""Asking the person: `fileops/confirmEdit`, or a plain message where the client knows only standard LSP.

What is no clear yes is a no: an answer of an unknown shape, an error, a client that went away.
"""

import logging
from collections.abc import Sequence
from typing import cast

from fileops.lsp import methods
from fileops.lsp.client import Client, ClientGone, ClientRefused
from fileops.questions import Always, Decision, Modify, Once, Question, Reject, SomeHunks, TimedOut
from fileops.wire.convert import confirm_params

log = logging.getLogger(__name__)

CONFIRM_EDIT = "fileops/confirmEdit"
APPLY, ALWAYS, REJECT = "Apply", "Always", "Reject"


class LspApprover:
    """An Approver. falls_back: ask by `window/showMessageRequest` where the client does not know confirmEdit."""

    def __init__(self, client: Client, *, timeout_s: float, falls_back: bool) -> None:
        self._client, self._timeout_s, self._falls_back = client, timeout_s, falls_back

    @property
    def can_ask(self) -> bool:
        return self._confirms or self._falls_back

    async def decide(self, question: Question) -> Decision:
        try:
            if self._confirms:
                answer = await self._client.ask(CONFIRM_EDIT, confirm_params(question), timeout_s=self._timeout_s)
                return decision_of(answer, [hunk.id for hunk in question.change.hunks])
            if self._falls_back:
                return await self._ask_by_message(question)
        except TimeoutError:
            return TimedOut(self._timeout_s)
        except ClientGone:
            return Reject()
        except ClientRefused as refusal:
            log.info("a question was answered with error %s", refusal.code)
        return Reject()

    @property
    def _confirms(self) -> bool:
        return self._client.capability("experimental.fileops.confirm_edit") is True

    async def _ask_by_message(self, question: Question) -> Decision:
        params = {
            "type": methods.INFO,
            "message": f"{question.title}\n{question.description}",
            "actions": [{"title": title} for title in (APPLY, ALWAYS, REJECT)],
        }
        answer = await self._client.ask(methods.WINDOW_SHOW_MESSAGE_REQUEST, params, timeout_s=self._timeout_s)
        chosen = cast("dict[str, object]", answer).get("title") if isinstance(answer, dict) else None
        if chosen == APPLY:
            return Once()
        return Always() if chosen == ALWAYS else Reject()


def decision_of(answer: object, hunk_ids: Sequence[str]) -> Decision:
    """hunk_ids: of the proposal. docs/PROTOCOL.md, "Approval": whatever else counts as `cancel`."""
    if not isinstance(answer, dict):
        return Reject()
    given = cast("dict[str, object]", answer)
    outcome, text, chosen = given.get("outcome"), given.get("text"), given.get("hunk_ids")
    if chosen is not None and outcome in {"proceed_once", "proceed_always", "modify"}:
        return _some_hunks(chosen, hunk_ids, is_always=outcome == "proceed_always") if text is None else Reject()
    match outcome:
        case "proceed_once":
            return Once()
        case "proceed_always":
            return Always()
        case "modify" if isinstance(text, str):
            return Modify(text)
        case _:
            return Reject()


def _some_hunks(chosen: object, hunk_ids: Sequence[str], *, is_always: bool) -> Decision:
    if not isinstance(chosen, list):
        return Reject()
    wanted = cast("list[object]", chosen)
    known = tuple(one for one in hunk_ids if one in wanted)
    if not known or any(one not in hunk_ids for one in wanted):
        return Reject()
    return SomeHunks(known, is_always)
