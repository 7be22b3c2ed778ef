"""Wire types of reviews: the list of them, the notification about changes of it, and decisions."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fileops.model.approval import FileDecision
from fileops.model.edits import Operation
from fileops.model.review import Outcome, PreviousDecision, ReviewState, SessionInfo
from fileops.wire.types import ErrorInfo, JsonObject, Params, SessionId


class ReviewsParams(Params, frozen=True, kw_only=True):
    """Asks for the reviews that wait for a decision."""

    review_ids: list[str] | None = None
    """Only these. Without it: all that concern this client."""
    include_texts: bool | None = None
    """`false` leaves the whole texts out."""


class ReviewChange(msgspec.Struct, frozen=True, kw_only=True):
    """A run of changed lines, which can be decided alone."""

    id: str
    """Unique in the review."""
    old_start: int
    """1-based. As in a hunk."""
    old_lines: int
    """Lines that it removes."""
    new_start: int
    """1-based. As in a hunk."""
    new_lines: int
    """Lines that it adds."""
    diff: str
    """A hunk without context."""


class ReviewFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a change set, with the keys of the review of one edit."""

    file_path: str
    """As the session gave it."""
    operation: Operation
    """What happens to the file."""
    is_protected: bool
    """Whether it is asked about in mode `auto_edit`, too."""
    diff: str
    """Unified."""
    changes: list[ReviewChange]
    """What can be decided apart."""
    original_text: str | None
    """Null over 1 MB, and where it was not asked for."""
    proposed_text: str | None
    """Null over 1 MB, and where it was not asked for."""
    rebased: JsonObject | None
    """What others changed since the agent read the file, as RebasedDetails."""
    previous: PreviousDecision | None
    """Null in the first round."""
    new_path: str | msgspec.UnsetType = msgspec.UNSET
    """Of a rename: the path afterwards, as the session gave it."""


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """A question about one edit or one change set.

    The review of a set has `files` and none of the keys from `operation` to `previous`; that of an edit has no `files`.
    """

    review_id: str
    """Unique in the daemon."""
    session: SessionInfo
    """Whose edit it is."""
    asked_at: float
    """Seconds since the epoch."""
    expires_at: float
    """Seconds since the epoch."""
    title: str
    """One line."""
    description: str
    """What the edit or the set does, in a sentence."""
    operation: Operation | msgspec.UnsetType = msgspec.UNSET
    """What happens to the file."""
    file_path: str | msgspec.UnsetType = msgspec.UNSET
    """As the session gave it."""
    is_protected: bool | msgspec.UnsetType = msgspec.UNSET
    """Whether it is asked about in mode `auto_edit`, too."""
    diff: str | msgspec.UnsetType = msgspec.UNSET
    """Unified."""
    changes: list[ReviewChange] | msgspec.UnsetType = msgspec.UNSET
    """What can be decided apart."""
    original_text: str | msgspec.UnsetType | None = msgspec.UNSET
    """Null over 1 MB, and where it was not asked for."""
    proposed_text: str | msgspec.UnsetType | None = msgspec.UNSET
    """Null over 1 MB, and where it was not asked for."""
    rebased: JsonObject | msgspec.UnsetType | None = msgspec.UNSET
    """What others changed since the agent read the file, as RebasedDetails."""
    previous: PreviousDecision | msgspec.UnsetType | None = msgspec.UNSET
    """Null in the first round."""
    files: list[ReviewFile] | msgspec.UnsetType = msgspec.UNSET
    """The files of a change set, in the order of its changes."""
    revision: int
    """Grows each time that the file changes."""
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
    """The program in which a person did."""
    rule: str | msgspec.UnsetType = msgspec.UNSET
    """Of a policy."""


class ClosedReview(msgspec.Struct, frozen=True, kw_only=True):
    """A review that this client shows no more."""

    review_id: str
    """The review."""
    state: ReviewState
    """`waiting` if it waits on, but no longer concerns the client."""
    outcome: Outcome | None
    """Null without a decision."""
    by: DecidedBy | None
    """Null without a decision."""


class DidChangeReviewsParams(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the reviews that a client shows."""

    opened: list[Review]
    """Each takes the place of what was shown under its id."""
    closed: list[ClosedReview]
    """What the client shows no more."""


class DecideReviewParams(Params, frozen=True, kw_only=True):
    """A decision about a review."""

    review_id: str
    """The review."""
    outcome: Outcome
    """The decision."""
    text: str | None = None
    """The whole result, for `modify`."""
    change_ids: Annotated[list[str], Meta(min_length=1)] | None = None
    """Only these changes are accepted."""
    files: list[FileDecision] | None = None
    """Of a change set, in place of `text` and `change_ids`. Files that are not in it are decided as proposed."""
    reason: str | None = None
    """Of a rejection, of all or of a part, for the model."""
    revision: int | None = None
    """The one that the person was shown."""


class DecideReviewsParams(Params, frozen=True, kw_only=True):
    """A decision about all reviews that match every key given."""

    outcome: Literal["accept", "accept_always", "reject"]
    """The decision."""
    session_id: SessionId | None = None
    """Only edits of this session."""
    file_path: str | None = None
    """Only edits of this file."""
    review_ids: list[str] | None = None
    """Only these."""
    reason: str | None = None
    """Of a rejection, for the model."""


LeftReason = Literal["already_decided", "review_changed", "unknown_review", "reopened"]


class DecideReviewResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a decision."""

    review_id: str
    """The review."""
    state: ReviewState | None
    """Null if the review is unknown."""
    outcome: Outcome | None
    """What holds. Null if nothing was decided."""
    by: DecidedBy | None
    """Who decided what holds."""
    reason: LeftReason | None
    """Why the decision did not count. Null if it did."""
    error: ErrorInfo | None
    """Why nothing could be written."""


class DecidedReview(msgspec.Struct, frozen=True, kw_only=True):
    """A review that the decision was about."""

    review_id: str
    """The review."""
    error: ErrorInfo | None
    """Why nothing could be written."""


class LeftReview(msgspec.Struct, frozen=True, kw_only=True):
    """A review that the decision did not count for."""

    review_id: str
    """The review."""
    reason: LeftReason
    """Why not."""


class DecideReviewsResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a decision about several reviews."""

    decided: list[DecidedReview]
    """In the order of the decisions."""
    left: list[LeftReview]
    """What waits on, or was decided before."""
