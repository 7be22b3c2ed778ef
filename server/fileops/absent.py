"""Adapters for what is not there: a person to ask, a history to keep."""

from fileops.model import Committed, Decision, Plan, Question, Reject


class NobodyToAsk:
    """An Approver of a client that cannot ask anybody: it is never asked."""

    can_ask: bool = False

    async def decide(self, question: Question) -> Decision:
        del question
        return Reject()


class NoHistory:
    """An EditJournal that forgets at once."""

    def record(
        self, *, edit_id: str, session_id: str, given_path: str, plan: Plan, committed: Committed, timestamp: float
    ) -> None:
        pass
