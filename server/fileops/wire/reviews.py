"""Wire types of reviews: the list, the notification of its changes, and decisions."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fileops.model.approval import FileDecision
from fileops.model.edits import Operation
from fileops.model.review import Outcome, PreviousDecision, ReviewState, SessionInfo
from fileops.wire.types import CellUiExtra, ErrorInfo, JsonObject, Params, SessionId


class ReviewsParams(Params, frozen=True, kw_only=True):
    """Asks for the reviews that wait for a decision."""

    review_ids: list[str] | None = None
    """Only these reviews; by default all that concern this client."""
    include_texts: bool | None = None
    """`false` omits the whole texts."""


class ReviewChange(msgspec.Struct, frozen=True, kw_only=True):
    """A run of changed lines that can be decided on its own."""

    id: str
    """Unique in the review."""
    old_start: int
    """1-based first line of the old side, as in a hunk."""
    old_lines: int
    """How many lines it removes."""
    new_start: int
    """1-based first line of the new side, as in a hunk."""
    new_lines: int
    """How many lines it adds."""
    diff: str
    """The change as a hunk without context."""
    cell_id: str | None
    """For an edit of a notebook: the cell that it changes; null if it changes several, and for other files."""


class ReviewByCells(msgspec.Struct, frozen=True, kw_only=True):
    """An edit of a notebook as texts of its cells, for people. A person's `text` may have this form, too."""

    original_text: str
    """The cells before."""
    proposed_text: str
    """The proposed cells."""
    changes: list[ReviewChange]
    """The review's changes, with their lines in these texts."""
    previous_text: str | None
    """The text of the previous decision in this form; null if there is none."""


class ReviewFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a change set, with the keys of a single edit's review."""

    file_path: str
    """Path as the session gave it."""
    operation: Operation
    """What happens to the file."""
    is_protected: bool
    """Whether the user is asked about it even in mode `auto_edit`."""
    diff: str
    """Unified diff."""
    changes: list[ReviewChange]
    """The changes that can be decided separately."""
    original_text: str | None
    """The whole text before; null over 1 MB, and if it was not requested."""
    proposed_text: str | None
    """The whole proposed text; null over 1 MB, and if it was not requested."""
    rebased: JsonObject | None
    """What others have changed since the agent read the file, as RebasedDetails."""
    previous: PreviousDecision | None
    """The decision of the last round; null in the first round."""
    new_path: str | msgspec.UnsetType = msgspec.UNSET
    """For a rename: the new path, as the session gave it."""
    cells: list[CellUiExtra] | msgspec.UnsetType = msgspec.UNSET
    """For an edit of a notebook: its changes by cells, to be shown instead of the diff."""
    by_cells: ReviewByCells | msgspec.UnsetType = msgspec.UNSET
    """For an edit of a notebook: texts of its cells, to be shown instead of the whole texts; absent if those are."""


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """A question about one edit or one change set.

    The review of a set has `files` and none of the keys from `operation` to `previous`; that of an edit has no `files`.
    """

    review_id: str
    """Unique in the daemon."""
    session: SessionInfo
    """The session whose edit it is."""
    asked_at: float
    """When it was asked, in seconds since the epoch."""
    expires_at: float
    """When it expires, in seconds since the epoch."""
    title: str
    """The title, in one line."""
    description: str
    """What the edit or the set does, in one sentence."""
    operation: Operation | msgspec.UnsetType = msgspec.UNSET
    """What happens to the file."""
    file_path: str | msgspec.UnsetType = msgspec.UNSET
    """Path as the session gave it."""
    is_protected: bool | msgspec.UnsetType = msgspec.UNSET
    """Whether the user is asked about it even in mode `auto_edit`."""
    diff: str | msgspec.UnsetType = msgspec.UNSET
    """Unified diff."""
    changes: list[ReviewChange] | msgspec.UnsetType = msgspec.UNSET
    """The changes that can be decided separately."""
    cells: list[CellUiExtra] | msgspec.UnsetType = msgspec.UNSET
    """For an edit of a notebook: its changes by cells, to be shown instead of the diff."""
    by_cells: ReviewByCells | msgspec.UnsetType = msgspec.UNSET
    """For an edit of a notebook: texts of its cells, to be shown instead of the whole texts; absent if those are."""
    original_text: str | msgspec.UnsetType | None = msgspec.UNSET
    """The whole text before; null over 1 MB, and if it was not requested."""
    proposed_text: str | msgspec.UnsetType | None = msgspec.UNSET
    """The whole proposed text; null over 1 MB, and if it was not requested."""
    rebased: JsonObject | msgspec.UnsetType | None = msgspec.UNSET
    """What others have changed since the agent read the file, as RebasedDetails."""
    previous: PreviousDecision | msgspec.UnsetType | None = msgspec.UNSET
    """The decision of the last round; null in the first round."""
    files: list[ReviewFile] | msgspec.UnsetType = msgspec.UNSET
    """The files of a change set, in the order of its changes."""
    revision: int
    """Increases each time that the file changes."""
    n_editors: int
    """How many views show it."""


class ReviewsResult(msgspec.Struct, frozen=True, kw_only=True):
    """The reviews that wait."""

    reviews: list[Review]
    """In the order in which they were asked."""


class DecidedBy(msgspec.Struct, frozen=True, kw_only=True):
    """Who decided."""

    kind: Literal["person", "policy"]
    """Who decided."""
    client: str | msgspec.UnsetType = msgspec.UNSET
    """The program in which the person decided."""
    rule: str | msgspec.UnsetType = msgspec.UNSET
    """The policy's rule."""


class ClosedReview(msgspec.Struct, frozen=True, kw_only=True):
    """A review that this client no longer shows."""

    review_id: str
    """The id of the review."""
    state: ReviewState
    """`waiting` if it still waits, but no longer concerns the client."""
    outcome: Outcome | None
    """The decision; null if there was none."""
    by: DecidedBy | None
    """Who decided; null if nobody did."""


class DidChangeReviewsParams(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the reviews that a client shows."""

    opened: list[Review]
    """New reviews, each replacing an earlier one with the same id."""
    closed: list[ClosedReview]
    """Reviews that the client no longer shows."""


class DecideReviewParams(Params, frozen=True, kw_only=True):
    """A decision about a review."""

    review_id: str
    """The id of the review."""
    outcome: Outcome
    """The decision."""
    text: str | None = None
    """For `modify`: the whole text to write; of a notebook also in the form of `by_cells`."""
    change_ids: Annotated[list[str], Meta(min_length=1)] | None = None
    """Accept only these changes."""
    files: list[FileDecision] | None = None
    """For a change set, instead of `text` and `change_ids`. Files that are not listed are decided as proposed."""
    reason: str | None = None
    """The reason for a rejection of all or a part, for the model."""
    revision: int | None = None
    """The revision that the person saw."""


class DecideReviewsParams(Params, frozen=True, kw_only=True):
    """A decision about all reviews that match every given key."""

    outcome: Literal["accept", "accept_always", "reject"]
    """The decision."""
    session_id: SessionId | None = None
    """Only edits of this session."""
    file_path: str | None = None
    """Only edits of this file."""
    review_ids: list[str] | None = None
    """Only these reviews."""
    reason: str | None = None
    """The reason for a rejection, for the model."""


LeftReason = Literal["already_decided", "review_changed", "unknown_review", "reopened"]


class DecideReviewResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a decision."""

    review_id: str
    """The id of the review."""
    state: ReviewState | None
    """The review's state; null if it is unknown."""
    outcome: Outcome | None
    """The decision in force; null if nothing was decided."""
    by: DecidedBy | None
    """Who made the decision in force."""
    reason: LeftReason | None
    """Why the decision did not count; null if it did."""
    error: ErrorInfo | None
    """Why nothing could be written."""


class DecidedReview(msgspec.Struct, frozen=True, kw_only=True):
    """A review to which the decision applied."""

    review_id: str
    """The id of the review."""
    error: ErrorInfo | None
    """Why nothing could be written."""


class LeftReview(msgspec.Struct, frozen=True, kw_only=True):
    """A review to which the decision did not apply."""

    review_id: str
    """The id of the review."""
    reason: LeftReason
    """Why the decision did not count."""


class DecideReviewsResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a decision about several reviews."""

    decided: list[DecidedReview]
    """The decided reviews, in the order of the decisions."""
    left: list[LeftReview]
    """The reviews that still wait, or had already been decided."""
