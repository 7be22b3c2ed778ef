"""An LSP client as a view of the reviews: it either keeps a list of them, or is asked about each."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fileops.api.reviews import DID_CHANGE_REVIEWS, did_change_params
from fileops.lsp.client import Client
from fileops.lsp.prompts import EditPrompt, decide_each
from fileops.model.approval import ApprovalRequest, Decision, TimedOut, Undecided
from fileops.model.review import EndedReview
from fileops.ports import Approver
from fileops.service.hub.names import SessionNames
from fileops.service.review.client import PersonReviews
from fileops.service.review.queue import ReviewQueue, ReviewView, WaitingReview
from fileops.service.review.views import AskingView, ListView

if TYPE_CHECKING:
    from fileops.model.settings import Settings


class ReviewingClient:
    """What a client can show its user. own_approver: asks about the client's own edits instead of the client."""

    def __init__(
        self, client: Client, settings: "Settings", names: SessionNames, own_approver: Approver | None
    ) -> None:
        self._client = client
        self._names = names
        self._own_approver = own_approver
        self._prompt = EditPrompt(client, names)
        self._fallback = settings.approval_fallback

    def is_own(self, review: WaitingReview) -> bool:
        """Return whether the review is about one of this client's edits."""
        return self._names.is_own(review.session.session_id)

    def can_ask(self, *, is_own: bool) -> bool:
        """Return whether the user can be asked about this client's edits, or about those of others."""
        if is_own and self._own_approver is not None:
            return self._own_approver.can_ask
        if self._prompt.is_unknown:
            return False
        if self._keeps_list or self._prompt.confirms:
            return True
        return self._fallback == "message" if is_own else self._fallback != "none"

    def view(self, queue: ReviewQueue, name: str, reviews: PersonReviews, grace_s: float) -> ReviewView:
        """Return the view of this client. Args: name: of its connection."""
        if self._keeps_list and self._own_approver is None:
            return ListView(reviews.person, grace_s, reviews.concerns, self._send)
        return AskingView(queue, name, reviews, grace_s, self._ask)

    @property
    def _keeps_list(self) -> bool:
        return self._client.capability("experimental.fileops.reviews") is True

    def _send(self, opened: Sequence[WaitingReview], closed: Sequence[EndedReview]) -> None:
        self._client.notify(DID_CHANGE_REVIEWS, did_change_params(opened, closed, self._names))

    async def _ask(self, review: WaitingReview) -> Decision | None:
        if self._own_approver is not None and self.is_own(review):
            question = self._names.show_question(review.asked)
            if question.files:
                return await decide_each(question, self._ask_own)
            return await self._ask_own(question)
        return await self._prompt.ask(review)

    async def _ask_own(self, question: ApprovalRequest) -> Decision | None:
        assert self._own_approver is not None
        decision = await self._own_approver.decide(question)
        return None if isinstance(decision, TimedOut | Undecided) else decision
