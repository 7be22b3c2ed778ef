"""Wire types of reviews: the list of them, the notification about changes of it, and decisions."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fileops.model.edits import LineRange, Operation
from fileops.model.review import ReopenReason, ReviewState
from fileops.wire.types import AskingSession, ErrorInfo, JsonObject, Params, SessionId


class ReviewsParams(Params, frozen=True, kw_only=True):
    """Without review_ids, all reviews that concern this client. include_texts: false leaves the whole texts out."""

    review_ids: list[str] | None = None
    include_texts: bool | None = None


class ReviewChange(msgspec.Struct, frozen=True, kw_only=True):
    """A run of changed lines, which can be decided alone. diff: a hunk without context."""

    id: str
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    diff: str


class PreviousDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What a person had decided before the file changed.

    text: the whole text that they wanted, null over 1 MB. change_ids: null if they accepted all or wrote a text.
    reason: why that could not be merged. ranges: of the present file, which others changed.
    """

    text: str | None
    change_ids: list[str] | None
    reason: ReopenReason
    ranges: list[LineRange]


class ReviewFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a change set. new_path: of a rename. The other keys are those of the review of one edit."""

    file_path: str
    operation: Operation
    is_protected: bool
    diff: str
    changes: list[ReviewChange]
    original_text: str | None
    proposed_text: str | None
    rebased: JsonObject | None
    previous: PreviousDecision | None
    new_path: str | msgspec.UnsetType = msgspec.UNSET


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """A question about one edit or one change set. The texts are null over 1 MB, and where they were not asked for.

    asked_at, expires_at: seconds since the epoch. revision: grows each time that a file changes. n_editors: how many
    views show it. files: of a change set, whose review has none of the keys from `operation` to `previous`.
    """

    review_id: str
    session: AskingSession
    asked_at: float
    expires_at: float
    title: str
    description: str
    operation: Operation | msgspec.UnsetType = msgspec.UNSET
    file_path: str | msgspec.UnsetType = msgspec.UNSET
    is_protected: bool | msgspec.UnsetType = msgspec.UNSET
    diff: str | msgspec.UnsetType = msgspec.UNSET
    changes: list[ReviewChange] | msgspec.UnsetType = msgspec.UNSET
    original_text: str | msgspec.UnsetType | None = msgspec.UNSET
    proposed_text: str | msgspec.UnsetType | None = msgspec.UNSET
    rebased: JsonObject | msgspec.UnsetType | None = msgspec.UNSET
    previous: PreviousDecision | msgspec.UnsetType | None = msgspec.UNSET
    files: list[ReviewFile] | msgspec.UnsetType = msgspec.UNSET
    revision: int
    n_editors: int


class ReviewsResult(msgspec.Struct, frozen=True, kw_only=True):
    reviews: list[Review]


class DecidedBy(msgspec.Struct, frozen=True, kw_only=True):
    """Who decided. client: the program in which a person did. rule: of a policy."""

    kind: Literal["person", "policy"]
    client: str | msgspec.UnsetType = msgspec.UNSET
    rule: str | msgspec.UnsetType = msgspec.UNSET


Outcome = Literal["proceed_once", "proceed_always", "cancel", "modify"]


class ClosedReview(msgspec.Struct, frozen=True, kw_only=True):
    """A review that this client shows no more. state: "waiting" if it waits on, but no longer concerns the client."""

    review_id: str
    state: ReviewState
    outcome: Outcome | None
    by: DecidedBy | None


class DidChangeReviewsParams(msgspec.Struct, frozen=True, kw_only=True):
    """An opened review takes the place of what was shown under its id."""

    opened: list[Review]
    closed: list[ClosedReview]


class DecidedFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person wants of one file of a change set: these of its changes, or this text, or without both all of it.

    change_ids: empty, with the outcome `modify` only: the file is left as it is. text: with `modify` only.
    """

    file_path: str
    change_ids: list[str] | None = None
    text: str | None = None


class DecideReviewParams(Params, frozen=True, kw_only=True):
    """A decision. text: the whole result, for `modify`. revision: the one that the person was shown.

    files: of a change set, in place of `text` and `change_ids`; files that are not in it are decided as proposed.
    """

    review_id: str
    outcome: Outcome
    text: str | None = None
    change_ids: Annotated[list[str], Meta(min_length=1)] | None = None
    files: list[DecidedFile] | None = None
    reason: str | None = None
    revision: int | None = None


class DecideReviewsParams(Params, frozen=True, kw_only=True):
    """All that match every key given."""

    outcome: Literal["proceed_once", "proceed_always", "cancel"]
    session_id: SessionId | None = None
    file_path: str | None = None
    review_ids: list[str] | None = None
    reason: str | None = None


LeftReason = Literal["already_decided", "review_changed", "unknown_review", "reopened"]


class DecideReviewResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a decision. reason: why it did not count. error: why nothing could be written."""

    review_id: str
    state: ReviewState | None  # null if the review is unknown
    outcome: Outcome | None
    by: DecidedBy | None
    reason: LeftReason | None
    error: ErrorInfo | None


class DecidedReview(msgspec.Struct, frozen=True, kw_only=True):
    review_id: str
    error: ErrorInfo | None


class LeftReview(msgspec.Struct, frozen=True, kw_only=True):
    review_id: str
    reason: LeftReason


class DecideReviewsResult(msgspec.Struct, frozen=True, kw_only=True):
    decided: list[DecidedReview]
    left: list[LeftReview]
