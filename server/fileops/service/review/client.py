"""One client's part in the reviews: questions about its own edits, and decisions of its user.

Belongs to the event loop, except `can_ask`, which worker threads may read.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from fileops.core.notebook.cells import fault_of
from fileops.model.approval import Always, ApprovalRequest, Decision, Undecided
from fileops.model.errors import NotebookInvalid
from fileops.model.review import Decider, SessionInfo
from fileops.model.sessions import SessionName
from fileops.service.review.queue import HostApprover, ReviewQueue, WaitingReview


class ReviewAsker(Struct, frozen=True, kw_only=True):
    """Asks about the edits of one client.

    info_of: describes a session, given its full name. host: asks if no view is left. can_ask: whether anyone is asked
    about edits at all. timeout_s: how long one review waits at most.
    """

    queue: ReviewQueue
    info_of: Callable[[SessionName], SessionInfo]
    host: HostApprover
    can_ask: Callable[[], bool]
    timeout_s: float

    def open(self, full_name: SessionName) -> WaitingReview:
        """Return a new review of one edit of this session. It is listed once its first question is asked."""
        return self.queue.open(self.info_of(full_name), self.host, self.timeout_s)


class PersonReviews(Struct, frozen=True, kw_only=True):
    """The reviews as one client's user sees and decides them.

    concerns: whether a review is shown to this user. is_listed: whether it is in the user's list; a client that shows
    no reviews, such as a command, lists those in its folders. always_for: what "always" means if the user says it about
    a review.
    """

    queue: ReviewQueue
    person: Decider
    concerns: Callable[[WaitingReview], bool]
    is_listed: Callable[[WaitingReview], bool]
    always_for: Callable[[WaitingReview], Always]

    def list_waiting(self) -> Sequence[WaitingReview]:
        """Return the reviews in this user's list, oldest first."""
        return [review for review in self.queue.list_waiting() if self.is_listed(review)]


class NoHost:
    """The HostApprover of a client whose own program does not ask its user about others' edits."""

    person = Decider("host")
    can_ask_now = False
    allows_unasked = False

    def note_asked(self, persons: Sequence[Decider]) -> None:
        """Do nothing: nobody is told what the edit waits for."""

    async def decide(self, question: ApprovalRequest) -> Decision:
        del question
        return Undecided()


def fault_of_text(asked: ApprovalRequest, text: str) -> NotebookInvalid | None:
    """Return why a person's text cannot replace that of an edit of cells, None if it can."""
    return fault_of(text.encode("utf-8", "surrogatepass")) if asked.change.cells else None
