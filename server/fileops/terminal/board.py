"""State of the full screen: the reviews in order, the row and change under the cursor, and the changes left out.

A review is about one file, or about the files of a change set. Each file has a row. This module knows neither the
terminal nor the daemon.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from fileops_client.values import ClosedReview, Review, ReviewChange, ReviewFile


class BoardRow(NamedTuple):
    """A row: a review and one of its files. A review of a single file is itself that file."""

    review: Review
    file: Review | ReviewFile

    @property
    def key(self) -> tuple[str, str]:
        return self.review.review_id, self.file.file_path


def files_of(review: Review) -> tuple[Review | ReviewFile, ...]:
    return review.files or (review,)


class Board:
    """The queue, by session and file, with a cursor on one row and on one change of its file."""

    def __init__(self) -> None:
        self._reviews: dict[str, Review] = {}
        self._dropped: dict[tuple[str, str], frozenset[str]] = {}  # row -> changes that are not accepted
        self._left_out: set[tuple[str, str]] = set()  # rows of change sets that are not accepted at all
        self._chosen: tuple[str, str] | None = None
        self._change = 0

    def __len__(self) -> int:
        return len(self._reviews)

    # --- what is there ---------------------------------------------------------------------------------------------

    def sort(self) -> list[Review]:
        """Returns all reviews, sorted by when their session first asked, then by file, then by time."""
        first: dict[str, float] = {}
        for review in self._reviews.values():
            for key in (review.session.session_id, f"{review.session.session_id}\0{_path_of(review)}"):
                first[key] = min(review.asked_at, first.get(key, review.asked_at))

        def order(review: Review) -> tuple[float, str, float, str, float]:
            session = review.session.session_id
            of_file = first[f"{session}\0{_path_of(review)}"]
            return first[session], session, of_file, _path_of(review), review.asked_at

        return sorted(self._reviews.values(), key=order)

    def entries(self) -> list[BoardRow]:
        """Returns the rows in the order of the reviews."""
        return [BoardRow(review, file) for review in self.sort() for file in files_of(review)]

    def sessions(self) -> Iterator[tuple[str, list[Review]]]:
        """Returns the label of each session with its reviews."""
        grouped: dict[str, list[Review]] = {}
        for review in self.sort():
            grouped.setdefault(review.session.session_id, []).append(review)
        for reviews in grouped.values():
            yield reviews[0].session.label, reviews

    def of_file(self, file_path: str) -> list[Review]:
        """Returns the reviews that are about this file alone."""
        return [review for review in self.sort() if not review.files and review.file_path == file_path]

    def get(self, review_id: str) -> Review | None:
        return self._reviews.get(review_id)

    # --- the cursor ------------------------------------------------------------------------------------------------

    @property
    def entry(self) -> BoardRow | None:
        """The row under the cursor."""
        review = None if self._chosen is None else self._reviews.get(self._chosen[0])
        if review is None or self._chosen is None:
            return None
        return next((BoardRow(review, file) for file in files_of(review) if file.file_path == self._chosen[1]), None)

    @property
    def chosen(self) -> Review | None:
        return None if (entry := self.entry) is None else entry.review

    @property
    def change(self) -> ReviewChange | None:
        """The change under the cursor."""
        entry = self.entry
        return (
            entry.file.changes[self._change] if entry is not None and self._change < len(entry.file.changes) else None
        )

    @property
    def change_number(self) -> int:
        """The number of the change under the cursor, from 1."""
        return self._change + 1

    def move(self, by: int) -> None:
        """Move the cursor to a row further down or up."""
        keys = [entry.key for entry in self.entries()]
        if not keys:
            return
        at = keys.index(self._chosen) if self._chosen in keys else 0
        self._choose(keys[max(0, min(len(keys) - 1, at + by))])

    def move_change(self, by: int) -> None:
        """Move to a change further down or up in the chosen file."""
        if (entry := self.entry) is not None and entry.file.changes:
            self._change = max(0, min(len(entry.file.changes) - 1, self._change + by))

    def _choose(self, key: tuple[str, str] | None) -> None:
        if key != self._chosen:
            self._chosen = key
            self._change = 0

    # --- what the daemon reports -----------------------------------------------------------------------------------

    def take(self, opened: Sequence[Review], closed: Sequence[ClosedReview]) -> list[tuple[Review, ClosedReview]]:
        """Show the opened reviews; each replaces a review with the same id.

        Returns the closed reviews as they were last shown.
        """
        ended = [(review, end) for end in closed if (review := self._reviews.get(end.review_id)) is not None]
        self._remove(end.review_id for end in closed)
        for review in opened:
            self._reviews[review.review_id] = review
            entries = [BoardRow(review, file) for file in files_of(review)]
            for entry in entries:
                present = {change.id for change in entry.file.changes}
                self._dropped[entry.key] = self._dropped.get(entry.key, frozenset()) & present
            self._forget(review.review_id, {entry.key for entry in entries})
            if self._chosen is not None and self._chosen[0] == review.review_id:
                if self._chosen not in {entry.key for entry in entries}:
                    self._choose(entries[0].key)
                n_changes = 0 if self.entry is None else len(self.entry.file.changes)
                self._change = min(self._change, max(0, n_changes - 1))
        if self._chosen is None and self._reviews:
            self._choose(self.entries()[0].key)
        return ended

    def keep_only(self, review_ids: Iterable[str]) -> int:
        """Remove all other reviews, which ended while the daemon could not be reached. Returns how many."""
        gone = self._reviews.keys() - set(review_ids)
        self._remove(gone)
        return len(gone)

    def _remove(self, review_ids: Iterable[str]) -> None:
        removed = set(review_ids)
        keys = [entry.key for entry in self.entries()]
        if (
            self._chosen is not None and self._chosen[0] in removed
        ):  # the next row that stays, or else the last before it
            at = keys.index(self._chosen)
            left = [key for key in (*keys[at:], *reversed(keys[:at])) if key[0] not in removed]
            self._choose(left[0] if left else None)
        for review_id in removed:
            self._reviews.pop(review_id, None)
            self._forget(review_id, set())

    def _forget(self, review_id: str, kept: set[tuple[str, str]]) -> None:
        """Forget what was dropped in the rows of a review, except in the rows in `kept`."""
        self._dropped = {key: dropped for key, dropped in self._dropped.items() if key[0] != review_id or key in kept}
        self._left_out = {key for key in self._left_out if key[0] != review_id or key in kept}

    # --- changes ---------------------------------------------------------------------------------------------------

    def find_dropped(self, entry: BoardRow) -> frozenset[str]:
        """Returns the changes of a file that the person does not want."""
        if entry.key in self._left_out:
            return frozenset(change.id for change in entry.file.changes)
        return self._dropped.get(entry.key, frozenset())

    def find_kept(self, entry: BoardRow) -> list[str]:
        dropped = self.find_dropped(entry)
        return [change.id for change in entry.file.changes if change.id not in dropped]

    def is_left_out(self, entry: BoardRow) -> bool:
        """Whether a file of a change set would stay as it is if the set were accepted now."""
        return entry.key in self._left_out or bool(entry.file.changes and not self.find_kept(entry))

    def has_something(self, review: Review) -> bool:
        """Whether a review has anything left to accept."""
        entries = [BoardRow(review, file) for file in files_of(review)]
        if review.files:
            return not all(self.is_left_out(entry) for entry in entries)
        return any(self.find_kept(entry) for entry in entries)

    def is_whole(self, review: Review) -> bool:
        """Whether nothing of a review is dropped."""
        entries = [BoardRow(review, file) for file in files_of(review)]
        return not any(self.find_dropped(entry) or entry.key in self._left_out for entry in entries)

    def toggle(self) -> None:
        """Drop the change under the cursor, or take it back."""
        entry, change = self.entry, self.change
        if entry is not None and change is not None:
            dropped = self.find_dropped(entry)
            self._left_out.discard(entry.key)
            self._dropped[entry.key] = dropped ^ {change.id}

    def toggle_file(self) -> bool:
        """Leave the chosen file of a change set out, or take all of it back. False if it is not in a set."""
        entry = self.entry
        if entry is None or not entry.review.files:
            return False
        is_out = self.is_left_out(entry)
        self._dropped[entry.key] = frozenset()
        self._left_out.discard(entry.key)
        if not is_out:
            self._left_out.add(entry.key)
        return True


def _path_of(review: Review) -> str:
    """Returns the path by which a review is sorted: that of its first file."""
    return files_of(review)[0].file_path
