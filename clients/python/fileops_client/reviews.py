"""Reviews, the questions about edits that wait in the daemon for a person, and decisions about them, as values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from fileops_client.details import Rebased
from fileops_client.models import Operation, ToolError

ReviewState = Literal["waiting", "decided", "withdrawn", "undecided", "timed_out"]
Outcome = Literal["accept", "accept_always", "reject", "modify"]
LeftReason = Literal["already_decided", "review_changed", "unknown_review", "reopened"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingSession:
    """A session of another client of a shared daemon. label: for people."""

    session_id: str
    host: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewChange:
    """A run of changed lines, which can be decided alone. Lines are 1-based. diff: a hunk without context."""

    id: str
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    diff: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LineRange:
    """Lines of a file, 1-based, both included."""

    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousDecision:
    """What a person had decided before the file changed, so that they have to decide again.

    text: the whole text that they wanted, None over 1 MB. change_ids: None if they accepted all or wrote a text.
    reason: why that could not be merged. ranges: of the present file, which others changed.
    """

    text: str | None
    change_ids: tuple[str, ...] | None
    reason: str
    ranges: tuple[LineRange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewFile:
    """A file of a change set that is asked about. new_path: of a rename. See Review for the other fields."""

    file_path: str
    operation: Operation
    is_protected: bool
    diff: str
    changes: tuple[ReviewChange, ...]
    original_text: str | None
    proposed_text: str | None
    rebased: Rebased | None
    previous: PreviousDecision | None
    new_path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedFile:
    """What a person wants of one file of a change set: these of its changes, this text, or without both all of it.

    change_ids: empty, with the outcome "modify" only: the file is left as it is. text: with "modify" only.
    """

    file_path: str
    change_ids: Sequence[str] | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A question about one edit or one change set. The texts are None over 1 MB, and where they were not asked for.

    asked_at, expires_at: seconds since the epoch. revision: grows each time that a file changes. n_editors: how many
    programs show it. Without `changes` the edit can no longer be made: only `modify` and `reject` decide it.
    files: of a change set; then the fields from `operation` to `previous` say nothing.
    """

    review_id: str
    session: AskingSession
    asked_at: float
    expires_at: float
    title: str
    description: str
    operation: Operation = "modify"
    file_path: str = ""
    is_protected: bool = False
    diff: str = ""
    changes: tuple[ReviewChange, ...] = ()
    original_text: str | None = None
    proposed_text: str | None = None
    rebased: Rebased | None = None
    previous: PreviousDecision | None = None
    files: tuple[ReviewFile, ...] = ()
    revision: int
    n_editors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedBy:
    """Who decided. client: the program in which a person did. rule: of a policy."""

    kind: Literal["person", "policy"]
    client: str | None = None
    rule: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedReview:
    """A review that is shown here no more. state: "waiting" if it waits on, but no longer concerns this client."""

    review_id: str
    state: ReviewState
    outcome: Outcome | None
    by: DecidedBy | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DidChangeReviews:
    """The event of the queue. An opened review takes the place of what was shown under its id."""

    METHOD: ClassVar[str] = "fileops/didChangeReviews"
    opened: tuple[Review, ...]
    closed: tuple[ClosedReview, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideReviewResult:
    """What became of a decision. state: None if the review is unknown.

    reason: why the decision did not count, None if it did. error: why nothing could be written.
    """

    review_id: str
    state: ReviewState | None
    outcome: Outcome | None
    by: DecidedBy | None
    reason: LeftReason | None
    error: ToolError | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedReview:
    """A review whose decision counted. error: why nothing could be written."""

    review_id: str
    error: ToolError | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftReview:
    """A review whose decision did not count, and why."""

    review_id: str
    reason: LeftReason


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideReviewsResult:
    """What became of decisions about several reviews."""

    decided: tuple[DecidedReview, ...]
    left: tuple[LeftReview, ...]
