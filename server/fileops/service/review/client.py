"""One client's part in the reviews: the questions about its own edits, and the decisions of its user.

Belongs to the event loop, except `can_ask`, which worker threads may look at.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from fileops.model.approval import Always, ApprovalRequest, Decision, Undecided
from fileops.model.review import Decider, SessionInfo
from fileops.model.sessions import SessionName
from fileops.service.review.queue import HostApprover, ReviewQueue, WaitingReview


class ReviewAsker(Struct, frozen=True, kw_only=True):
    """Asks about the edits of one client.

    info_of: describes a session, by its full name. host: who is asked if no view is left. can_ask: whether edits are
    asked about at all. timeout_s: how long one review waits at most.
    """

    queue: ReviewQueue
    info_of: Callable[[SessionName], SessionInfo]
    host: HostApprover
    can_ask: Callable[[], bool]
    timeout_s: float

    def open(self, full_name: SessionName) -> WaitingReview:
        """A review of one edit of this session. It is listed with its first question."""
        return self.queue.open(self.info_of(full_name), self.host, self.timeout_s)


class PersonReviews(Struct, frozen=True, kw_only=True):
    """What one client's user sees of the reviews, and decides about.

    concerns: whether a review is shown to them. is_listed: whether they see it in a list; a client that shows none,
    such as a command, lists those of its folders. always_for: what "always" means if they say it about a review.
    """

    queue: ReviewQueue
    person: Decider
    concerns: Callable[[WaitingReview], bool]
    is_listed: Callable[[WaitingReview], bool]
    always_for: Callable[[WaitingReview], Always]

    def listed(self) -> Sequence[WaitingReview]:
        """The reviews that this user sees in a list, the oldest first."""
        return [review for review in self.queue.waiting() if self.is_listed(review)]


class NoHost:
    """See queue.HostApprover: of a client whose own program does not ask its user about edits of others."""

    person = Decider("host")
    can_ask_now = False
    allows_unasked = False

    def note_asked(self, persons: Sequence[Decider]) -> None:
        """Nothing reports what the edit waits for."""

    async def decide(self, question: ApprovalRequest) -> Decision:
        del question
        return Undecided()
