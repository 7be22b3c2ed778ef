"""Merges a decision about a plan into its file, if the file has changed while the person decided.

A decision holds for what was shown. There are three contents: the one that the person was shown (`base`), what they
decided to make of it, and the current one. If no change by others is near a decided one, the decided changes are made
in the current content, as if it had been shown. Otherwise the person has to decide again, and this module makes the new
proposal.

A dropped change never comes back. A new proposal consists only of the decided changes, each carried over to the current
content completely or not at all. What was dropped is in none of them, and no other source adds text. So in all rounds
of a review, each proposal is a part of the previous decision. The request itself is planned again only if the person
has approved all of it in each round; then nothing was dropped. So nobody has to know where in the current content a
dropped change would be.
"""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fileops.core import splices as splicing
from fileops.core.diff.contents import splices_between
from fileops.core.merge import relevance
from fileops.core.merge.rebase import rebase
from fileops.core.pausing import Check, check_nothing
from fileops.core.review.changes import MAX_SHOWN_BYTES, changes_of
from fileops.core.text import decode, detect_format, line_start, newline_of
from fileops.model.edits import Plan, Relevance, Splice
from fileops.model.errors import FileOpsError
from fileops.model.files import Base, Snapshot
from fileops.model.review import PreviousDecision, ReopenReason

_MAX_COMPARISONS = 64  # of the two contents, to find the changes that cannot be carried over; further ones are left out


class Decided(Struct, frozen=True, kw_only=True):
    """A decision about a plan. asked: the plan that was shown; splices: what the person wants, over the same snapshot.

    change_ids: of the accepted changes, None if they accepted all or wrote a text.
    """

    asked: Plan
    splices: tuple[Splice, ...]
    change_ids: tuple[str, ...] | None = None


class Merged(Struct, frozen=True, kw_only=True):
    """What was decided, on the current content."""

    splices: tuple[Splice, ...]


class Reopened(Struct, frozen=True, kw_only=True):
    """A new proposal on the current content; without splices the edit can no longer be made."""

    splices: tuple[Splice, ...]
    previous: PreviousDecision


def merge(
    decided: Decided, present: Snapshot, replan: Callable[[], Plan] | None, check: Check = check_nothing
) -> Merged | Reopened:
    """Return what to write into the current file, or what to ask about.

    replan: plans the request on the current file; a FileOpsError means that it can no longer be made there. None unless
    all of the request was approved, in this round and the earlier ones. Raises: the errors of `check`.
    """
    was = decided.asked.snapshot
    base = was.data
    if present.exists and was.exists and present.path == was.path:
        if present.data == splicing.apply(base, decided.splices):
            return Merged(splices=())
        carried = relevance.carry(Base(content=base, shown=base), present.data, decided.splices)
        if not isinstance(carried, Relevance):
            return Merged(splices=carried.splices)
        reason, ranges = carried.reason, carried.ranges
    else:
        reason, ranges = _reason(was, present), ()
    previous = PreviousDecision(
        text=_decode_shown(splicing.apply(base, decided.splices), decided.asked),
        change_ids=decided.change_ids,
        reason=reason,
        ranges=ranges,
    )
    if not present.exists or not was.exists:
        return Reopened(splices=(), previous=previous)
    return Reopened(splices=_proposal(decided, present.data, replan, check), previous=previous)


def _reason(was: Snapshot, present: Snapshot) -> ReopenReason:
    if not present.exists:
        return "deleted"
    return "created" if not was.exists else "another_file"


def _decode_shown(data: bytes, plan: Plan) -> str | None:
    return decode(data, plan.format) if len(data) <= MAX_SHOWN_BYTES else None


# --- the new proposal ---------------------------------------------------------------------------------------------


def _proposal(decided: Decided, present: bytes, replan: Callable[[], Plan] | None, check: Check) -> tuple[Splice, ...]:
    """Return what the person wanted and can still have: see the module."""
    carried = list(_carry(decided, present, check))
    if replan is not None and None in carried:
        try:
            return replan().splices
        except FileOpsError:
            pass  # it cannot be made as a whole, so the rest is proposed
    return tuple(splice for splices in carried for splice in splices or ())


def _carry(decided: Decided, present: bytes, check: Check) -> Iterator[Sequence[Splice] | None]:
    """Yield the decided changes on the current content, from the top down; None for those that cannot be made.

    Changes that can be carried over together are compared with the current content once. A group with one that cannot
    is divided, until that one is alone.
    """
    base = decided.asked.snapshot.data
    changes = changes_of(replace(decided.asked, splices=decided.splices), check)
    waiting = [[change.splice for change in changes]]  # the topmost group is the last one
    reached = n_compared = 0
    while waiting:
        group = waiting.pop()
        check()
        n_compared += 1
        if n_compared > _MAX_COMPARISONS:
            yield None
            return
        rebased = rebase(group, base, present)
        found: Sequence[Splice] | None = None if rebased.conflicts else rebased.splices
        if found is None and len(group) == 1:
            found = _beside(group[0], base, present)
        if found and found[0].start < reached:
            found = None
        if found is None and len(group) > 1:
            waiting += [group[len(group) // 2 :], group[: len(group) // 2]]
            continue
        if found:
            reached = found[-1].end
        yield found


def _beside(insertion: Splice, base: bytes, present: bytes) -> tuple[Splice] | None:
    """Return new lines where others have also inserted text: above theirs. None if it is not such an insertion.

    A merge may not choose the order of the two. A proposal may, since its user sees both and decides.
    """
    fmt = detect_format(base)
    if insertion.start < insertion.end or not insertion.new.endswith(newline_of(fmt)):
        return None
    if detect_format(present) != fmt:
        return None
    at = insertion.start
    for change in splices_between(base, present, fmt):
        if change.start < insertion.start < change.end:
            return None
        if change.start < insertion.start:
            at += len(change.new) - (change.end - change.start)
    return (Splice(at, at, insertion.new),) if line_start(present, fmt, at) == at else None
