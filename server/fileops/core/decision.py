"""Applies a user's decision to a plan.

Pure: knows no client. A text that the user has modified and a choice of hunks both become splices over the same
snapshot, so that the bytes outside them survive here too.
"""

from collections.abc import Sequence
from typing import assert_never

from msgspec.structs import replace

from fileops.core import text
from fileops.core.approval import simplified
from fileops.core.diff.contents import Line, line_spans
from fileops.core.diff.lines import changed_ranges
from fileops.core.diff.unified import change_of
from fileops.core.legacy_text import require_encodable
from fileops.core.review.changes import changes_of
from fileops.core.splices import apply
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
    SomeHunks,
    TimedOut,
    TooMany,
    Undecided,
)
from fileops.model.edits import Plan, Splice
from fileops.model.errors import ApprovalTimedOut, ConsentUnavailable, NobodyDecided, Rejected, TooManyReviews
from fileops.model.files import Text, TextFormat
from fileops.model.settings import Limits


def decision_about(
    decided: FileDecision, plan: Plan, *, removes: bool = False
) -> Once | Modify | SomeHunks | SomeChanges:
    """What was decided about one file of several that is not left out."""
    if decided.text is not None:
        return Modify(decided.text)
    if decided.hunk_ids is not None:
        is_whole = {hunk.id for hunk in plan.change.hunks} <= set(decided.hunk_ids)
        return Once() if is_whole or removes else SomeHunks(decided.hunk_ids)
    if decided.change_ids is None:
        return Once()
    is_whole = {change.id for change in changes_of(plan)} <= set(decided.change_ids)
    return Once() if is_whole else SomeChanges(decided.change_ids)


def apply_decision(plan: Plan, decision: Decision, *, file_path: str, limits: Limits, removes: bool = False) -> Plan:
    """The plan that the decision leaves: `plan` itself if it was approved as proposed.

    A plan that removes its file (`removes`) can only be approved or rejected as a whole; where the user may keep the
    file with another text, the caller does not say `removes`.
    Raises: Rejected, NobodyDecided, ConsentUnavailable, TooManyReviews, ApprovalTimedOut, NotEncodable.
    """
    decision = simplified(decision, plan)
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
        case Modify() | SomeHunks() | SomeChanges() if removes:
            raise Rejected
        case Modify(modified_text):
            content = Text(data=plan.snapshot.data, format=plan.format)
            wanted = splices_to_text(content, modified_text)
            require_encodable(content, wanted, plan.snapshot.encoding)
        case SomeHunks(hunk_ids):
            wanted = hunk_splices(plan, hunk_ids)
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
    """What the decision says about later edits, None if nothing."""
    match decision:
        case Always():
            return decision
        case SomeHunks(always=always) | SomeChanges(always=always) | SomeFiles(always=always):
            return always
        case _:
            return None


def reason_of(decision: Decision) -> str:
    """Why the user did not approve all of it, "" if they gave no reason, or rejected all of it."""
    match decision:
        case Modify(reason=reason) | SomeChanges(reason=reason) | SomeFiles(reason=reason):
            return reason
        case _:
            return ""


def with_always(decision: Decision, always: Always) -> Decision:
    """The decision, with this in place of what it says about later edits, if it says something."""
    match decision:
        case Always():
            return always
        case SomeHunks(always=Always()) | SomeChanges(always=Always()) | SomeFiles(always=Always()):
            return replace(decision, always=always)
        case _:
            return decision


def hunk_splices(plan: Plan, hunk_ids: Sequence[str]) -> tuple[Splice, ...]:
    """Return splices over the plan's snapshot that apply exactly the chosen hunks.

    Raises: Rejected, if the proposal has no hunk of that id.
    """
    wanted = set(hunk_ids)
    if not wanted <= {hunk.id for hunk in plan.change.hunks}:
        raise Rejected
    if not plan.change.truncated and len(wanted) == len(plan.change.hunks):
        return plan.splices
    before, fmt = plan.snapshot.data, plan.format
    after = apply(before, plan.splices)
    after_format = text.detect_format(after)
    old, new = line_spans(before, fmt), line_spans(after, after_format)
    chosen: list[Splice] = []
    for hunk in plan.change.hunks:
        if hunk.id in wanted:
            start, stop = _extent(old, hunk.old_start, hunk.old_lines)
            new_start, new_stop = _extent(new, hunk.new_start, hunk.new_lines)
            chosen.extend(_by_lines(before[start:stop], after[new_start:new_stop], start, fmt))
    return tuple(chosen)


def _extent(lines: Sequence[Line], first_line: int, n_lines: int) -> tuple[int, int]:
    """Return the bytes of `n_lines` lines; for no lines, the place after line `first_line`."""
    if not n_lines:
        at = lines[first_line - 1].stop if first_line else lines[0].start
        return at, at
    return lines[first_line - 1].start, lines[first_line + n_lines - 2].stop


def _by_lines(old: bytes, new: bytes, offset: int, fmt: TextFormat) -> list[Splice]:
    bare = TextFormat(encoding=fmt.encoding)
    old_lines, new_lines = line_spans(old, bare), line_spans(new, bare)
    old_parts = [old[line.start : line.stop] for line in old_lines]
    new_parts = [new[line.start : line.stop] for line in new_lines]
    result: list[Splice] = []
    stop, at = offset, 0
    for i, i_stop, j, j_stop in changed_ranges(old_parts, new_parts):
        start = stop + sum(map(len, old_parts[at:i]))
        stop, at = start + sum(map(len, old_parts[i:i_stop])), i_stop
        result.append(Splice(start, stop, b"".join(new_parts[j:j_stop])))
    return result
