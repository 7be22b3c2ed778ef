"""Applies a user's decision to a plan.

Pure: knows no client. A text that the user has modified, or a choice of changes, becomes splices over the same
snapshot. So the bytes outside them survive here as well.
"""

from typing import assert_never

from msgspec.structs import replace

from fileops.core.approval import simplify
from fileops.core.diff.unified import change_of
from fileops.core.legacy_text import require_encodable
from fileops.core.review.changes import changes_of
from fileops.core.whole_text import splices_to_text
from fileops.model.approval import (
    Always,
    Decision,
    FileDecision,
    Modify,
    NoConsent,
    Once,
    Reject,
    SomeChanges,
    SomeFiles,
    TimedOut,
    TooMany,
    Undecided,
)
from fileops.model.edits import Plan
from fileops.model.errors import ApprovalTimedOut, ConsentUnavailable, NobodyDecided, Rejected, TooManyReviews
from fileops.model.files import Text
from fileops.model.settings import Limits


def decision_about(decided: FileDecision, plan: Plan) -> Once | Modify | SomeChanges:
    """Return the decision about one of several files, if that file was not left out."""
    if decided.text is not None:
        return Modify(decided.text)
    if decided.change_ids is None:
        return Once()
    is_whole = {change.id for change in changes_of(plan)} <= set(decided.change_ids)
    return Once() if is_whole else SomeChanges(decided.change_ids)


def apply_decision(plan: Plan, decision: Decision, *, file_path: str, limits: Limits, removes: bool = False) -> Plan:
    """Return the plan according to the decision: `plan` itself if it was approved as proposed.

    A plan that removes its file (`removes`) can only be approved or rejected as a whole. If the user may keep the file
    with another text, the caller does not pass `removes`. Raises: Rejected, NobodyDecided, ConsentUnavailable,
    TooManyReviews, ApprovalTimedOut, NotEncodable.
    """
    decision = simplify(decision, plan)
    match decision:
        case Once() | Always():
            return plan
        case Reject(reason=reason, by=by):
            raise Rejected(reason=reason, by=by)
        case Undecided(editor_left):
            raise NobodyDecided(editor_left=editor_left)
        case NoConsent(rule=rule):
            raise ConsentUnavailable(rule=rule)
        case TooMany(limit=limit):
            raise TooManyReviews(n_waiting=limit)
        case TimedOut(timeout_s):
            raise ApprovalTimedOut(timeout_s=timeout_s)
        case Modify() | SomeChanges() if removes:
            raise Rejected
        case Modify(modified_text):
            content = Text(data=plan.snapshot.data, format=plan.format)
            wanted = splices_to_text(content, modified_text)
            require_encodable(content, wanted, plan.snapshot.encoding)
        case SomeChanges(change_ids):
            wanted = tuple(change.splice for change in changes_of(plan) if change.id in change_ids)
        case SomeFiles():
            raise TypeError("a decision about a change set")
        case _:
            assert_never(decision)
    if not wanted and not plan.creates:
        raise Rejected
    if wanted == plan.splices:
        return plan
    change = change_of(
        plan.snapshot.data,
        plan.format,
        wanted,
        file_path=file_path,
        operation="create" if plan.creates else "modify",
        limits=limits,
    )
    return replace(plan, splices=wanted, change=change)


def always_of(decision: Decision) -> Always | None:
    """Return what the decision says about later edits; None if nothing."""
    match decision:
        case Always():
            return decision
        case SomeChanges(always=always) | SomeFiles(always=always):
            return always
        case _:
            return None


def reason_of(decision: Decision) -> str:
    """Return why the user did not approve everything; "" if they gave no reason, or rejected all of it."""
    match decision:
        case Modify(reason=reason) | SomeChanges(reason=reason) | SomeFiles(reason=reason):
            return reason
        case _:
            return ""


def with_always(decision: Decision, always: Always) -> Decision:
    """Return the decision with this value for later edits, if the decision says anything about them."""
    match decision:
        case Always():
            return always
        case SomeChanges(always=Always()) | SomeFiles(always=Always()):
            return replace(decision, always=always)
        case _:
            return decision
