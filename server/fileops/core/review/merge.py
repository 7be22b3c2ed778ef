"""Merges a decision about a plan with its file, if that has changed while the person decided.

A decision holds for what was shown. There are three contents: the one that the person was shown (`base`), what they
decided to make of it, and the present one. If no change of others is near a decided one, the decided changes are made
in the present content, as if it had been shown. Otherwise the person has to decide again, and this module makes the new
proposal: it contains what they accepted or typed, as far as that can still be made, and nothing that they dropped.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from fileops.core import splices as splicing
from fileops.core.merge import relevance
from fileops.core.merge.rebase import map_spans, rebase
from fileops.core.pausing import Check, unchecked
from fileops.core.review.changes import MAX_SHOWN_BYTES, changes_of
from fileops.core.text import decode
from fileops.model.edits import Plan, Relevance, Span, Splice
from fileops.model.errors import FileOpsError
from fileops.model.files import Base, Snapshot
from fileops.model.review import PreviousDecision, ReopenReason, ReviewChange

_MAX_SINGLE = 64  # changes that are carried over one by one; each costs a comparison of the two contents


class Decided(Struct, frozen=True, kw_only=True):
    """A decision about a plan. asked: the plan that was shown; splices: what the person wants, over the same snapshot.

    change_ids: of the accepted changes, None if they accepted all or wrote a text. dropped: places of the snapshot
    where they dropped a change before, when this review was open on an earlier content.
    """

    asked: Plan
    splices: tuple[Splice, ...]
    change_ids: tuple[str, ...] | None = None
    dropped: tuple[Span, ...] = ()


class Merged(Struct, frozen=True, kw_only=True):
    """What was decided, over the present content."""

    splices: tuple[Splice, ...]


class Reopened(Struct, frozen=True, kw_only=True):
    """A new proposal over the present content; without splices the edit cannot be made any more.

    dropped: the places of the present content where the person has dropped a change.
    """

    splices: tuple[Splice, ...]
    previous: PreviousDecision
    dropped: tuple[Span, ...]


def merge(
    decided: Decided, present: Snapshot, replan: Callable[[], Plan], check: Check = unchecked
) -> Merged | Reopened:
    """Return what to write into the present file, or what to ask about.

    replan: plans the request on the present file; a FileOpsError means that it cannot be made there any more.
    Raises: the errors of `check`.
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
        text=_shown(splicing.apply(base, decided.splices), decided.asked),
        change_ids=decided.change_ids,
        reason=reason,
        ranges=ranges,
    )
    if not present.exists or not was.exists:
        return Reopened(splices=(), previous=previous, dropped=())
    wanted = [Span(splice.start, splice.end) for splice in decided.splices]
    kept: list[ReviewChange] = []
    dropped_now: list[ReviewChange] = []  # of which nothing is left: no decided splice touches their lines
    for change in changes_of(decided.asked, check):
        (kept if _touches(_place(change), wanted) else dropped_now).append(change)
    dropped = (*decided.dropped, *map(_place, dropped_now))
    check()
    is_dropped = _content_test(base, kept, dropped_now)
    splices = tuple(_proposal(decided, present, dropped, is_dropped, replan, check))
    is_same_file = present.path == was.path
    return Reopened(
        splices=splices, previous=previous, dropped=map_spans(dropped, base, present.data) if is_same_file else ()
    )


def _reason(was: Snapshot, present: Snapshot) -> ReopenReason:
    if not present.exists:
        return "deleted"
    return "created" if not was.exists else "another_file"


def _shown(data: bytes, plan: Plan) -> str | None:
    return decode(data, plan.format) if len(data) <= MAX_SHOWN_BYTES else None


def _place(change: ReviewChange) -> Span:
    return Span(change.splice.start, change.splice.end)


def _touches(place: Span, others: Sequence[Span]) -> bool:
    return any(place.start <= other.end and other.start <= place.end for other in others)


# --- the new proposal ---------------------------------------------------------------------------------------------


def _proposal(
    decided: Decided,
    present: Snapshot,
    dropped: Sequence[Span],
    is_dropped: Callable[[ReviewChange, bytes], bool],
    replan: Callable[[], Plan],
    check: Check,
) -> Iterator[Splice]:
    """Yield what the person wanted and can still have, in order.

    A decided change that merges word by word moves along. In place of one that does not, the request is planned again
    on the present file, and what that changes there is proposed: the person decides about it again.
    """
    base, is_same_file = decided.asked.snapshot.data, present.path == decided.asked.snapshot.path
    moved, contested = _carried(decided, present, check) if is_same_file else ((), None)
    again: list[Splice] = []
    if contested is None or contested:
        try:
            planned = changes_of(replan(), check)
        except FileOpsError:
            planned = ()
        places = None if contested is None else map_spans(contested, base, present.data)
        unwanted = map_spans(dropped, base, present.data) if is_same_file else ()
        taken = [Span(splice.start, splice.end) for splice in moved]
        again = [
            change.splice
            for change in planned
            if (places is None or _touches(_place(change), places))
            and not _touches(_place(change), (*unwanted, *taken))
            and not is_dropped(change, present.data)
        ]
    yield from sorted((*moved, *again), key=lambda splice: (splice.start, splice.end))


def _carried(decided: Decided, present: Snapshot, check: Check) -> tuple[tuple[Splice, ...], list[Span]]:
    """The decided changes over the present content, and the places in the base of those that cannot be carried over."""
    base = decided.asked.snapshot.data
    together = rebase(decided.splices, base, present.data)
    if not together.conflicts:
        return together.splices, []
    wanted = list(decided.splices)
    if len(wanted) > _MAX_SINGLE:
        return (), [Span(splice.start, splice.end) for splice in wanted]
    moved: list[Splice] = []
    contested: list[Span] = []
    for splice in wanted:
        check()
        alone = rebase((splice,), base, present.data)
        if alone.conflicts or (moved and alone.splices and alone.splices[0].start < moved[-1].end):
            contested.append(Span(splice.start, splice.end))
        else:
            moved += alone.splices
    return tuple(moved), contested


def _content_test(
    base: bytes, kept_changes: Iterable[ReviewChange], dropped_changes: Iterable[ReviewChange]
) -> Callable[[ReviewChange, bytes], bool]:
    """Whether a change is one that was dropped, by its lines alone: others may have moved these.

    If a change with the same lines was accepted too, its lines say nothing.
    """
    dropped = {_lines(change, base) for change in dropped_changes}
    kept = {_lines(change, base) for change in kept_changes}

    def is_dropped(change: ReviewChange, data: bytes) -> bool:
        lines = _lines(change, data)
        return lines in dropped and lines not in kept

    return is_dropped


def _lines(change: ReviewChange, data: bytes) -> tuple[bytes, bytes]:
    return data[change.splice.start : change.splice.end].strip(), change.splice.new.strip()
