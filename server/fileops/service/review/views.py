"""Views of the review queue that belong to clients. Belongs to the event loop."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from fileops.core.decision import with_always
from fileops.model.approval import Decision
from fileops.model.review import Decider, EndedReview
from fileops.service.review.client import PersonReviews
from fileops.service.review.queue import ReviewQueue, WaitingReview


class CannotAsk(Exception):
    """The client does not know the request by which its user would be asked."""


class ListView:
    """A ReviewView of a client that keeps its own list of reviews, and is notified of changes.

    send: sends the reviews to show, and those that have ended.
    """

    def __init__(
        self,
        person: Decider,
        grace_s: float,
        concerns: Callable[[WaitingReview], bool],
        send: Callable[[Sequence[WaitingReview], Sequence[EndedReview]], None],
    ) -> None:
        self.person = person
        self.grace_s = grace_s
        self.concerns = concerns
        self.show = send


class AskingView:
    """A ReviewView of a client that keeps no list, and so is asked about each review.

    name: of its connection. ask: asks its user. None means no decision, and the client then no longer counts as a view
    of that review; CannotAsk means that it does not know the request, and is no view at all. Cancelling the call
    withdraws the question.
    """

    def __init__(
        self,
        queue: ReviewQueue,
        name: str,
        reviews: PersonReviews,
        grace_s: float,
        ask: Callable[[WaitingReview], Awaitable[Decision | None]],
    ) -> None:
        self.person = reviews.person
        self.grace_s = grace_s
        self.concerns = reviews.concerns
        self._queue = queue
        self._name = name
        self._reviews = reviews
        self._ask = ask
        self._asking: dict[str, asyncio.Task[None]] = {}

    def show(self, opened: Sequence[WaitingReview], closed: Sequence[EndedReview]) -> None:
        for review_id in (*(end.review_id for end in closed), *(review.review_id for review in opened)):
            if (task := self._asking.pop(review_id, None)) is not None and task is not asyncio.current_task():
                task.cancel()
        for review in opened:
            self._asking[review.review_id] = asyncio.get_running_loop().create_task(self._decide(review))

    async def _decide(self, review: WaitingReview) -> None:
        revision, always = review.revision, self._reviews.always_for(review)
        try:
            decision = await self._ask(review)
        except CannotAsk:
            self._queue.cannot_ask(self._name)
            return
        if decision is None:
            self._queue.cannot_show(self._name, review.review_id)
        else:
            decision = with_always(decision, always)
            await self._queue.decide(review.review_id, decision, self.person, revision=revision)
