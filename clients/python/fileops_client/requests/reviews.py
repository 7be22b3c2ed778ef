"""Requests about reviews: which wait, and decisions."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from fileops_client.requests.sender import FilePath, Sender, drop_none, path_or_none
from fileops_client.reviews import DecidedFile, Outcome
from fileops_client.values import DecideReviewResult, DecideReviewsResult, Review


class ReviewRequests(Sender):
    async def reviews(
        self, review_ids: Sequence[str] | None = None, *, include_texts: bool = True
    ) -> tuple[Review, ...]:
        """Return the edits that wait for a decision, oldest first.

        Args:
            review_ids: only these, wherever they are; by default those in this client's folders and open documents.
            include_texts: False leaves out the whole texts, which are long.

        Raises: ResponseError if the client may not see reviews, as an agent of a shared daemon.
        """
        params = drop_none(
            review_ids=None if review_ids is None else list(review_ids), include_texts=None if include_texts else False
        )
        return msgspec.convert((await self.request("fileops/reviews", params))["reviews"], tuple[Review, ...])

    async def decide_review(
        self,
        review: Review | str,
        outcome: Outcome,
        *,
        text: str | None = None,
        change_ids: Sequence[str] | None = None,
        files: Sequence[DecidedFile] | None = None,
        reason: str | None = None,
        revision: int | None = None,
        timeout_s: float | None = None,
    ) -> DecideReviewResult:
        """Decide one review, and return after its edit was written or has failed. The first decision counts.

        Args:
            review: the one that your user saw, whose revision is then required; or an id.
            outcome: "accept", "accept_always" (and no question of this session any more), "reject" or "modify".
            text: with "modify", what to write instead.
            change_ids: the only accepted changes; by default all.
            files: for a change set, instead of `text` and `change_ids`; files not in it are decided as proposed.
            reason: of a rejection of all or a part, for the model.
            revision: the revision that your user saw, with an id; by default any.
            timeout_s: seconds until the request is cancelled; by default the client's `timeout_s`.

        Raises: ResponseError for a decision that does not fit, or is late; nothing is decided then.
        """
        if isinstance(review, Review):
            revision = review.revision if revision is None else revision
            review = review.review_id
        params = drop_none(
            review_id=review,
            outcome=outcome,
            text=text,
            reason=reason,
            revision=revision,
            change_ids=None if change_ids is None else list(change_ids),
            files=None if files is None else [_to_params(file) for file in files],
        )
        answer = await self.request("fileops/decideReview", params, timeout_s=timeout_s)
        return msgspec.convert(answer, DecideReviewResult)

    async def decide_reviews(
        self,
        outcome: Literal["accept", "accept_always", "reject"],
        *,
        session_id: str | None = None,
        file_path: FilePath | None = None,
        review_ids: Sequence[str] | None = None,
        reason: str | None = None,
        timeout_s: float | None = None,
    ) -> DecideReviewsResult:
        """Decide, in order, all reviews that match every given argument; return after the writes.

        Args:
            outcome: the same for all.
            session_id: only reviews of this session.
            file_path: absolute; only reviews of this file.
            review_ids: only these.
            reason: of a rejection, for the models.
            timeout_s: seconds until the request is cancelled; by default the client's `timeout_s`.

        Raises: ResponseError if the client may not decide.
        """
        params = drop_none(
            outcome=outcome,
            session_id=session_id,
            file_path=path_or_none(file_path),
            reason=reason,
            review_ids=None if review_ids is None else list(review_ids),
        )
        answer = await self.request("fileops/decideReviews", params, timeout_s=timeout_s)
        return msgspec.convert(answer, DecideReviewsResult)


def _to_params(file: DecidedFile) -> dict[str, object]:
    change_ids = None if file.change_ids is None else list(file.change_ids)
    return drop_none(file_path=file.file_path, change_ids=change_ids, text=file.text)
