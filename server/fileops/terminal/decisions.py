"""Decisions as the full screen sends them, and sentences that say what became of a decision."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Literal

from fileops.terminal.connection import DECIDE_S
from fileops.terminal.lines import visible
from fileops_client.reviews import DecidedFile
from fileops_client.values import ClosedReview, DecideReviewResult, Review

if TYPE_CHECKING:
    from fileops_client import FileOpsClient

Outcome = Literal["accept", "accept_always"]
Call = Callable[["FileOpsClient"], Awaitable[DecideReviewResult]]

_LEFT = {
    "already_decided": "was decided before",
    "review_changed": "has changed with its file: look at it again",
    "unknown_review": "is not waiting",
    "reopened": "has to be decided again: its file has changed",
}
_ENDS = {
    "withdrawn": "the agent withdrew it",
    "undecided": "it ended without a decision",
    "timed_out": "it timed out",
    "waiting": "it waits for another editor",
}


async def accept(
    review: Review, outcome: Outcome, change_ids: Sequence[str] | None, reason: str | None, client: "FileOpsClient"
) -> DecideReviewResult:
    """Args: reason: why the other changes are not accepted."""
    return await client.decide_review(review, outcome, change_ids=change_ids, reason=reason, timeout_s=DECIDE_S)


async def accept_set(
    review: Review,
    outcome: Outcome | Literal["modify"],
    files: Sequence[DecidedFile],
    reason: str | None,
    client: "FileOpsClient",
) -> DecideReviewResult:
    """Args: reason: why the other changes and files are not accepted."""
    return await client.decide_review(review, outcome, files=files or None, reason=reason, timeout_s=DECIDE_S)


async def reject(review: Review, reason: str, client: "FileOpsClient") -> DecideReviewResult:
    return await client.decide_review(review, "reject", reason=reason, timeout_s=DECIDE_S)


async def modify(review: Review, text: str, client: "FileOpsClient") -> DecideReviewResult:
    return await client.decide_review(review, "modify", text=text, timeout_s=DECIDE_S)


def fault_of(result: DecideReviewResult) -> str | None:
    if result.error is not None:
        return f"not written: {result.error.message}"
    if result.reason is None:
        return None
    by = f" in {result.by.client}" if result.by is not None and result.by.client else ""
    return f"it {why_left(result.reason)}{by}"


def why_left(reason: str) -> str:
    """Says why a decision did not count, as a predicate whose subject is the edit."""
    return _LEFT.get(reason, reason)


def end_of(end: ClosedReview) -> str:
    if end.state != "decided":
        return _ENDS.get(end.state, end.state)
    by = f" in {visible(end.by.client)}" if end.by is not None and end.by.client else ""
    return ("rejected" if end.outcome == "reject" else "accepted") + by
