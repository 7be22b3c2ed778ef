"""What the full screen shows: the reviews in their order, which of them is chosen, and the changes that are dropped.

It knows neither the terminal nor the daemon.
"""

from collections.abc import Iterable, Iterator, Sequence

from fileops_client import ClosedReview, Review, ReviewChange


class Board:
    """The queue, by session and file, with a cursor at a review and at one of its changes."""

    def __init__(self) -> None:
        self._reviews: dict[str, Review] = {}
        self._dropped: dict[str, frozenset[str]] = {}  # review -> changes that are not accepted
        self._chosen: str | None = None
        self._change = 0

    def __len__(self) -> int:
        return len(self._reviews)

    # --- what is there ---------------------------------------------------------------------------------------------

    def ordered(self) -> list[Review]:
        """All reviews: the session that asked first is first, then by its files, then by time."""
        first: dict[str, float] = {}
        for review in self._reviews.values():
            for key in (review.session.session_id, f"{review.session.session_id}\0{review.file_path}"):
                first[key] = min(review.asked_at, first.get(key, review.asked_at))

        def order(review: Review) -> tuple[float, str, float, str, float]:
            session = review.session.session_id
            of_file = first[f"{session}\0{review.file_path}"]
            return first[session], session, of_file, review.file_path, review.asked_at

        return sorted(self._reviews.values(), key=order)

    def sessions(self) -> Iterator[tuple[str, list[Review]]]:
        """Each session's label with its reviews."""
        grouped: dict[str, list[Review]] = {}
        for review in self.ordered():
            grouped.setdefault(review.session.session_id, []).append(review)
        for reviews in grouped.values():
            yield reviews[0].session.label, reviews

    def of_file(self, file_path: str) -> list[Review]:
        return [review for review in self.ordered() if review.file_path == file_path]

    def get(self, review_id: str) -> Review | None:
        return self._reviews.get(review_id)

    # --- the cursor ------------------------------------------------------------------------------------------------

    @property
    def chosen(self) -> Review | None:
        return None if self._chosen is None else self._reviews.get(self._chosen)

    @property
    def change(self) -> ReviewChange | None:
        """The change at the cursor."""
        review = self.chosen
        return review.changes[self._change] if review is not None and self._change < len(review.changes) else None

    @property
    def change_number(self) -> int:
        """1-based, of the change at the cursor."""
        return self._change + 1

    def move(self, by: int) -> None:
        """Choose a review further down or up."""
        ordered = [review.review_id for review in self.ordered()]
        if not ordered:
            return
        at = ordered.index(self._chosen) if self._chosen in ordered else 0
        self._choose(ordered[max(0, min(len(ordered) - 1, at + by))])

    def move_change(self, by: int) -> None:
        """Move to a change further down or up in the chosen review."""
        if (review := self.chosen) is not None and review.changes:
            self._change = max(0, min(len(review.changes) - 1, self._change + by))

    def _choose(self, review_id: str | None) -> None:
        if review_id != self._chosen:
            self._chosen = review_id
            self._change = 0

    # --- what the daemon reports -----------------------------------------------------------------------------------

    def take(self, opened: Sequence[Review], closed: Sequence[ClosedReview]) -> list[tuple[Review, ClosedReview]]:
        """Show what was opened, in place of what had its id. Returns what was closed, as it was shown."""
        ended = [(review, end) for end in closed if (review := self._reviews.get(end.review_id)) is not None]
        self._remove(end.review_id for end in closed)
        for review in opened:
            self._reviews[review.review_id] = review
            present = {change.id for change in review.changes}
            self._dropped[review.review_id] = self.dropped(review) & present
            if review.review_id == self._chosen:
                self._change = min(self._change, max(0, len(review.changes) - 1))
        if self._chosen is None and self._reviews:
            self._choose(self.ordered()[0].review_id)
        return ended

    def keep_only(self, review_ids: Iterable[str]) -> int:
        """Forget all others, which ended while the daemon was not reached. Returns how many."""
        gone = self._reviews.keys() - set(review_ids)
        self._remove(gone)
        return len(gone)

    def _remove(self, review_ids: Iterable[str]) -> None:
        removed = set(review_ids)
        ordered = [review.review_id for review in self.ordered()]
        if self._chosen in removed:  # the next that stays, or else the last before it
            at = ordered.index(self._chosen)
            left = [review_id for review_id in (*ordered[at:], *reversed(ordered[:at])) if review_id not in removed]
            self._choose(left[0] if left else None)
        for review_id in removed:
            self._reviews.pop(review_id, None)
            self._dropped.pop(review_id, None)

    # --- changes ---------------------------------------------------------------------------------------------------

    def dropped(self, review: Review) -> frozenset[str]:
        """The changes of a review that its person does not want."""
        return self._dropped.get(review.review_id, frozenset())

    def kept(self, review: Review) -> list[str]:
        return [change.id for change in review.changes if change.id not in self.dropped(review)]

    def toggle(self) -> None:
        """Drop the change at the cursor, or take it back in."""
        review, change = self.chosen, self.change
        if review is not None and change is not None:
            self._dropped[review.review_id] = self.dropped(review) ^ {change.id}
