"""The queue of reviews: every question to a person, from when it is asked until its edit is written or dropped.

The daemon owns the questions; editors and terminals are views of them. A view shows the reviews that concern it and
submits decisions. Views may come and go at any time, and the end of a view decides nothing. The rules are in
docs/PROTOCOL.md, section "Reviews". Belongs to the event loop; no lock is held while a review waits.

This is one module because every way to end a review works on the same table of open reviews.
"""

import asyncio
import logging
import os
import time
from collections import OrderedDict
from collections.abc import Awaitable, Iterable, Sequence
from itertools import count
from typing import Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from fileops.core.approval import is_rule_file
from fileops.core.decision import always_of
from fileops.core.roots import is_inside
from fileops.model.approval import (
    ApprovalRequest,
    Decision,
    Modify,
    NoConsent,
    Once,
    Reject,
    SomeFiles,
    TimedOut,
    TooMany,
    Undecided,
)
from fileops.model.errors import FileOpsError
from fileops.model.review import Decider, EndedReview, Outcome, ReviewState, SessionInfo
from fileops.model.sessions import SessionName

log = logging.getLogger(__name__)

MAX_WAITING = 32  # of one session at once; nobody reads more
MAX_CLOSED = 1000  # ended reviews, kept without texts to answer late decisions

LeftReason = Literal["already_decided", "review_changed", "unknown_review", "reopened"]


class DecisionResult(Struct, frozen=True, kw_only=True):
    """The answer to a decision, sent after the write or its failure.

    state: None for an unknown review. reason: why the decision did not count; None if it did. error: why nothing could
    be written.
    """

    review_id: str
    state: ReviewState | None
    outcome: Outcome | None = None
    by: Decider | None = None
    reason: LeftReason | None = None
    error: FileOpsError | None = None


class ReviewEnd(Struct, frozen=True):
    """How a decided review ended. error: why nothing could be written."""

    closed: EndedReview
    error: FileOpsError | None


class ReviewView(Protocol):
    """A view shows reviews to a person and takes their decisions."""

    @property
    def person(self) -> Decider: ...

    @property
    def grace_s(self) -> float:
        """Return how many seconds this view's reviews wait for another view after the last one has left."""
        ...

    def concerns(self, review: "WaitingReview", /) -> bool:
        """Return whether this view shows the review: the file is in one of its folders, or open in it."""
        ...

    def show(self, opened: "Sequence[WaitingReview]", closed: Sequence[EndedReview], /) -> None:
        """Show the opened reviews, replacing earlier ones with the same ids, and remove the closed ones."""
        ...


class HostApprover(Protocol):
    """The agent's own host, which is asked if no view is left."""

    @property
    def person(self) -> Decider: ...

    @property
    def can_ask_now(self) -> bool:
        """Return whether the waiting call can reach a person through the host."""
        ...

    @property
    def allows_unasked(self) -> bool:
        """Return whether the user agreed that edits which need consent are applied if nobody can be asked."""
        ...

    def note_asked(self, persons: Sequence[Decider]) -> None:
        """Take note of where the question is shown, so that the call can report what it waits for."""
        ...

    async def decide(self, question: ApprovalRequest) -> Decision:
        """Ask the person.

        Cancelling the call withdraws the question. Returns Undecided if the person did not decide.
        """
        ...


class WaitingReview:
    """One question, from when it is first asked until its edit is written or dropped.

    If the file changes before the write, the review is asked again with another question; `revision` counts these
    rounds. Between a decision and its write, the state is "deciding": the review is not listed, and other decisions are
    too late.
    """

    def __init__(
        self, queue: "ReviewQueue", review_id: str, session: SessionInfo, host: HostApprover, timeout_s: float
    ) -> None:
        self.review_id = review_id
        self.session = session
        self.timeout_s = timeout_s
        self.state: ReviewState | Literal["deciding"] = "waiting"
        self.outcome: Outcome | None = None
        self.by: Decider | None = None
        self.revision = 0
        self.asked_at = time.time()
        self.question: ApprovalRequest | None = None  # None before it is asked and after it is closed
        self._queue = queue
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._ends_at = self._loop.time() + timeout_s
        self._decision: asyncio.Future[Decision] = self._loop.create_future()
        self._alone: asyncio.Future[None] = self._loop.create_future()  # done when the grace period is over
        self._ended: asyncio.Future[ReviewEnd | None] = self._loop.create_future()  # of this round
        self._grace: asyncio.TimerHandle | None = None
        self._grace_s: float | None = None  # the longest grace of its views so far; None without a view

    @property
    def asked(self) -> ApprovalRequest:
        """Return the question while the review waits. Raises: RuntimeError."""
        if self.question is None:
            raise RuntimeError("the review does not wait")
        return self.question

    @property
    def expires_at(self) -> float:
        """Return when the review expires, in seconds since the epoch."""
        return self.asked_at + self.timeout_s

    @property
    def n_views(self) -> int:
        return self._queue.n_views(self)

    # --- for the request that asks ---------------------------------------------------------------------------------

    async def decide(self, question: ApprovalRequest) -> Decision:
        """Ask, and wait for the first decision, the end of all views, or the time limit.

        Cancelling the call withdraws the question. Call `close` once the edit has been written or has failed.
        """
        if self.revision == 0 and self._queue.n_waiting(self.session.session_id) >= MAX_WAITING:
            log.warning(
                "%d edits of session %r wait for a decision: a further one is refused",
                MAX_WAITING,
                self.session.session_id,
            )
            return TooMany(MAX_WAITING)
        self._begin_round(question)
        limit = asyncio.timeout_at(self._ends_at)
        try:
            async with limit:
                decision = await self._wait_for_decision()
        except TimeoutError:
            if not limit.expired():
                raise
            if self._decision.done():  # at the last moment
                return self._decision.result()
            self._queue.end(self, "timed_out")
            return TimedOut(self.timeout_s)
        except BaseException:
            self._queue.end(self, "withdrawn")
            raise
        if isinstance(decision, Undecided | NoConsent):
            self._queue.end(self, "undecided")
        return decision

    def close(self, error: FileOpsError | None = None) -> None:
        """End the review: its edit was written, or `error` says why not. Without a decision it has already ended."""
        if self.state == "deciding":
            is_rejected = self.outcome == "reject"  # the person knows, because their decision was carried out
            self._queue.end(self, "decided", None if is_rejected else error)

    def withdraw(self) -> None:
        """End the review: its edit was cancelled after the decision and before the write."""
        if self.state == "deciding":
            self._queue.end(self, "withdrawn")

    def _begin_round(self, question: ApprovalRequest) -> None:
        if self.revision:  # the decision did not lead to a write
            self._ended.set_result(None)
            self._ended = self._loop.create_future()
            self._decision = self._loop.create_future()
            self._alone = self._loop.create_future()
        self.revision += 1
        self.question = question
        self.state = "waiting"
        self.outcome = None
        self.by = None
        self._queue.begin(self)
        if persons := self._queue.persons(self):
            self._host.note_asked(persons)

    async def _wait_for_decision(self) -> Decision:
        while True:
            await asyncio.wait((self._decision, self._alone), return_when=asyncio.FIRST_COMPLETED)
            if self._decision.done():
                return self._decision.result()
            if not self._host.can_ask_now:
                return self._without_person()
            decision = await self._ask_through_host()
            if decision is not None:
                return decision
            self._alone = self._loop.create_future()
            self._queue.look(self)

    def _without_person(self) -> Decision:
        """Return the decision if nobody can be asked. If a person was asked and has left, nothing is decided."""
        if self._grace_s is not None:
            return Undecided(editor_left=True)
        if self._host.allows_unasked and not any(map(is_rule_file, self.asked.paths)):
            self._queue.take(self, Once(), self._host.person)
            return Once()
        return NoConsent("protected" if self.asked.is_protected else "ask")

    async def _ask_through_host(self) -> Decision | None:
        """Ask the host, while new views also show the review. The first decision withdraws the other question.

        Returns None if the person did not decide there, and a view has appeared in the meantime.
        """
        asking = asyncio.ensure_future(self._host.decide(self.asked))
        try:
            await asyncio.wait((self._decision, asking), return_when=asyncio.FIRST_COMPLETED)
            if self._decision.done():
                return self._decision.result()
            decision = asking.result()
            if isinstance(decision, Undecided | TimedOut):
                return None if self.n_views else decision
            self._queue.take(self, decision, self._host.person, is_of_host=True)
            return self._decision.result()
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    # --- for the queue ---------------------------------------------------------------------------------------------

    def take(self, decision: Decision, by: Decider) -> None:
        if isinstance(decision, Reject):
            decision = Reject(decision.reason, by)
        self.state = "deciding"
        self.outcome = outcome_of(decision)
        self.by = by
        self._decision.set_result(decision)

    def end(self, state: ReviewState, error: FileOpsError | None) -> None:
        self.state = state
        self.question = None
        self.stop_grace()
        if not self._ended.done():
            self._ended.set_result(ReviewEnd(self.as_closed(), error))

    def note_views(self, views: Iterable[ReviewView]) -> None:
        """Start or stop waiting for a view, after views have come or gone."""
        graces = [view.grace_s for view in views]
        if graces:
            self._grace_s = max(*graces, self._grace_s or 0.0)
            self.stop_grace()
        elif self._grace is None and not self._alone.done():
            self._grace = self._loop.call_later(self._grace_s or 0.0, self._set_alone)

    def end_grace(self) -> None:
        """Wait for no view any longer, as if none had been there."""
        if self._grace is not None:
            self.stop_grace()
            self._grace_s = None
            self._set_alone()

    def stop_grace(self) -> None:
        if self._grace is not None:
            self._grace.cancel()
            self._grace = None

    def _set_alone(self) -> None:
        self._grace = None
        if not self._alone.done():
            self._alone.set_result(None)

    def end_of_round(self) -> Awaitable[ReviewEnd | None]:
        """Wait until the decided edit is written or has failed. Return None if the review is asked again.

        The result is for the current question, even if it is awaited after the next question was asked.
        """
        return asyncio.shield(self._ended)

    def as_closed(self) -> EndedReview:
        state = "decided" if self.state == "deciding" else self.state
        return EndedReview(review_id=self.review_id, state=state, outcome=self.outcome, by=self.by)


class ReviewQueue:
    """All reviews of a daemon, and their views."""

    def __init__(self) -> None:
        self._ids = count(1)
        self._salt = os.urandom(2).hex()  # so that ids of an earlier daemon are unknown here
        self._views: dict[str, ReviewView] = {}
        self._reviews: dict[str, WaitingReview] = {}  # waiting and deciding ones, oldest first
        self._closed: OrderedDict[str, EndedReview] = OrderedDict()
        self._shown: dict[str, dict[str, int]] = {}  # view -> review -> revision
        self._blind: set[tuple[str, str]] = set()  # (view, review) pairs that cannot be shown

    def open(self, session: SessionInfo, host: HostApprover, timeout_s: float) -> WaitingReview:
        """Return a new review, which is not listed until it is asked."""
        return WaitingReview(self, f"r-{self._salt}{next(self._ids):x}", session, host, timeout_s)

    # --- views -----------------------------------------------------------------------------------------------------

    def connect(self, name: str, view: ReviewView) -> None:
        """Connect a view and show it what waits. name: that of its connection, never used twice."""
        self._views[name] = view
        self._shown[name] = {}
        self.update(name)

    def disconnect(self, name: str) -> None:
        """Forget a view. What it showed waits for another view."""
        if self._views.pop(name, None) is None:
            return
        shown = self._shown.pop(name)
        self._blind = {pair for pair in self._blind if pair[0] != name}
        for review_id in shown:
            self.look(self._reviews[review_id])

    def update(self, name: str) -> None:
        """Update which reviews concern a view, after its folders or open documents have changed."""
        view, shown = self._views.get(name), self._shown.get(name, {})
        if view is None:
            return
        opened: list[WaitingReview] = []
        gone: list[WaitingReview] = []
        for review in self.list_waiting():
            is_shown = review.review_id in shown
            if self._is_concerned(name, view, review) != is_shown:
                (gone if is_shown else opened).append(review)
        for review in opened:
            shown[review.review_id] = review.revision
        for review in gone:
            del shown[review.review_id]
        if opened or gone:
            view.show(opened, [review.as_closed() for review in gone])
        for review in (*opened, *gone):
            self.look(review)

    def update_all(self) -> None:
        """Update which reviews concern each view, after editors have come or gone."""
        for name in tuple(self._views):
            self.update(name)

    def cannot_show(self, name: str, review_id: str) -> None:
        """Stop counting a view for a review until it reconnects, because it answered with an error."""
        review = self._reviews.get(review_id)
        if review is not None and name in self._views:
            self._blind.add((name, review_id))
            self._shown[name].pop(review_id, None)
            self.look(review)

    def cannot_ask(self, name: str) -> None:
        """Forget a view that can ask about nothing. A review that it alone was shown waits for no other view."""
        shown = self._shown.get(name, {})
        self.disconnect(name)
        for review_id in shown:
            self._reviews[review_id].end_grace()

    def n_views(self, review: WaitingReview) -> int:
        return sum(review.review_id in shown for shown in self._shown.values())

    def persons(self, review: WaitingReview) -> list[Decider]:
        """Return the people who are shown the review."""
        return [self._views[name].person for name, shown in self._shown.items() if review.review_id in shown]

    def n_waiting(self, session_id: SessionName) -> int:
        return sum(review.session.session_id == session_id for review in self._reviews.values())

    def list_waiting(self) -> tuple[WaitingReview, ...]:
        """Return the reviews that wait for a decision, oldest first."""
        return tuple(review for review in self._reviews.values() if review.state == "waiting")

    def _is_concerned(self, name: str, view: ReviewView, review: WaitingReview) -> bool:
        return (name, review.review_id) not in self._blind and view.concerns(review)

    def look(self, review: WaitingReview) -> None:
        """Tell a review how many views it has."""
        if review.state == "waiting":
            review.note_views(self._views[name] for name, shown in self._shown.items() if review.review_id in shown)

    # --- the life of a review --------------------------------------------------------------------------------------

    def begin(self, review: WaitingReview) -> None:
        """List a review, or list it again with another question."""
        self._reviews[review.review_id] = review
        for name, view in self._views.items():
            if self._is_concerned(name, view, review):
                self._shown[name][review.review_id] = review.revision
                view.show((review,), ())
            elif self._shown[name].pop(review.review_id, None) is not None:  # it no longer concerns this view
                view.show((), (review.as_closed(),))
        self.look(review)

    def take(self, review: WaitingReview, decision: Decision, by: Decider, *, is_of_host: bool = False) -> None:
        """Accept a decision, which must be the first. The request that asked then writes the edit.

        An approval of everything that follows also decides what already waits, if the same person is asked, except for
        protected files. It covers the folder of the person's editor or, if they decided in the agent's host, reviews
        without a view. A review in which nothing is left to approve continues to wait.
        """
        review.take(decision, by)
        review.stop_grace()
        always = always_of(decision)
        if always is None:
            return
        for other in self.list_waiting():
            holds = always.folders is None or all(
                any(is_inside(folder, path) for folder in always.folders) for path in other.asked.paths
            )
            if is_of_host and self.n_views(other):
                continue
            if not other.asked.is_approvable:
                continue
            if holds and other.session == review.session and not other.asked.is_protected:
                self.take(other, Once(), by)

    def end(self, review: WaitingReview, state: ReviewState, error: FileOpsError | None = None) -> None:
        """Close a review everywhere, and remember how it ended."""
        if self._reviews.pop(review.review_id, None) is None:
            return
        review.end(state, error)
        closed = review.as_closed()
        self._closed[review.review_id] = closed
        while len(self._closed) > MAX_CLOSED:
            self._closed.popitem(last=False)
        self._blind = {pair for pair in self._blind if pair[1] != review.review_id}
        for name, shown in self._shown.items():
            if shown.pop(review.review_id, None) is not None:
                self._views[name].show((), (closed,))

    # --- deciding --------------------------------------------------------------------------------------------------

    def get(self, review_id: str) -> WaitingReview | None:
        """Return the review if it waits."""
        review = self._reviews.get(review_id)
        return review if review is not None and review.state == "waiting" else None

    async def decide(
        self, review_id: str, decision: Decision, by: Decider, *, revision: int | None = None
    ) -> DecisionResult:
        """Submit a decision, and return after the write. Only the first decision of a review counts.

        revision: of the question that the person saw.
        """
        review = self._reviews.get(review_id)
        if review is None or review.state != "waiting":
            return await self._too_late(review_id, review)
        if revision is not None and revision != review.revision:
            return DecisionResult(review_id=review_id, state="waiting", reason="review_changed")
        self.take(review, decision, by)
        return _result_of(review_id, await review.end_of_round())

    async def decide_all(
        self, decisions: Iterable[tuple[WaitingReview, Decision]], by: Decider
    ) -> list[DecisionResult]:
        """Submit decisions in order, and return after all of their edits have been written or have failed."""
        taken: list[tuple[str, Awaitable[ReviewEnd | None]]] = []
        for review, decision in decisions:
            if review.state == "waiting":  # an earlier `accept_always` may have decided it
                self.take(review, decision, by)
            taken.append((review.review_id, review.end_of_round()))
        return [_result_of(review_id, await end) for review_id, end in taken]

    async def _too_late(self, review_id: str, review: WaitingReview | None) -> DecisionResult:
        if review is not None:
            result = _result_of(review_id, await review.end_of_round())
            return result if result.reason is not None else replace(result, reason="already_decided", error=None)
        closed = self._closed.get(review_id)
        if closed is None:
            return DecisionResult(review_id=review_id, state=None, reason="unknown_review")
        return replace(_result_of(review_id, ReviewEnd(closed, None)), reason="already_decided")


def _result_of(review_id: str, end: ReviewEnd | None) -> DecisionResult:
    """Return the answer to a decision that counted. end: None if the review was asked again."""
    if end is None:
        return DecisionResult(review_id=review_id, state="waiting", reason="reopened")
    closed = end.closed
    return DecisionResult(
        review_id=review_id, state=closed.state, outcome=closed.outcome, by=closed.by, error=end.error
    )


def outcome_of(decision: Decision) -> Outcome:
    """Return the decision's name on the wire."""
    match decision:
        case Reject():
            return "reject"
        case Modify():
            return "modify"
        case SomeFiles(files) if any(file.text is not None or file.is_left_out for file in files):
            return "modify"
        case _:
            return "accept" if always_of(decision) is None else "accept_always"
