"""Reviews: questions about one plan each, which the daemon keeps until a person decides, as frozen values."""

from typing import Literal

from msgspec import Struct

from fileops.model.edits import LineRange, RelevanceReason, Splice
from fileops.model.sessions import SessionName

# Why a decision could not be merged with the current file; "deleted", "created": what happened to the file itself.
ReopenReason = RelevanceReason | Literal["deleted", "created", "another_file"]
# Why a person has to consent: the file is protected, or the agent's host demands a question for each edit.
ConsentRule = Literal["protected", "ask"]
ReviewState = Literal["waiting", "decided", "withdrawn", "undecided", "timed_out"]
Outcome = Literal["accept", "accept_always", "modify", "reject"]


class ReviewPart(Struct, frozen=True, kw_only=True, gc=False):
    """A run of changed lines, the smallest part of a plan that a person can decide about.

    Lines are 1-based; a side of zero lines starts at the line before it. diff: a hunk without context, "" if the diffs
    of the plan's changes are too long together. splice: whole lines, over the snapshot of the plan. cell_id: of an edit
    of a notebook, the changed cell; None for several.
    """

    id: str
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    diff: str
    splice: Splice
    cell_id: str | None = None


class ShownPart(Struct, frozen=True, kw_only=True, gc=False):
    """A part of an edit of a notebook in the texts of its cells. See ReviewPart."""

    id: str
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    diff: str
    cell_id: str | None


class CellsView(Struct, frozen=True, kw_only=True):
    """The texts of a notebook's cells before and after an edit, and its parts in them, by the ids of the edit's."""

    original_text: str
    proposed_text: str
    changes: tuple[ShownPart, ...]


class PreviousDecision(Struct, frozen=True, kw_only=True):
    """What a person had decided before the file changed. They have to decide again."""

    text: str | None
    """The whole text that they wanted; null over 1 MB."""
    change_ids: tuple[str, ...] | None
    """The changes that they accepted; null if they accepted all, or wrote a text."""
    reason: ReopenReason
    """Why that could not be merged."""
    ranges: tuple[LineRange, ...]
    """Lines of the current file that others have changed since."""


class SessionInfo(Struct, frozen=True, kw_only=True):
    """A session of another connection to a shared daemon, whose edit is in question."""

    session_id: SessionName
    """The full name, unique in the daemon."""
    host: str
    """The program, such as `codex`."""
    label: str
    """The name for people."""


class Decider(Struct, frozen=True):
    """A person who decides, by their program: "Neovim", "VS Code", "terminal", the agent's host."""

    client: str


class EndedReview(Struct, frozen=True, kw_only=True):
    """What became of a review. outcome, by: of the decision, None if there was none."""

    review_id: str
    state: ReviewState
    outcome: Outcome | None = None
    by: Decider | None = None
