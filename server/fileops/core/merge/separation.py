"""Separates the edits of one session from those of others that lie between them, without comparing contents. Pure.

Two edits at different places of a file can change their order: only their offsets move. So the edits of the session are
moved behind all others, and undone there. This is done in halves: for each half, the undo of the session's edits and
the effect of the others are known, and only these two lists of splices change their order. It costs O(n log n) for n
edits. If edits of both sides share a place, or no word is between them, nothing is separated: then the merge of whole
contents (rebase.py) decides.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from msgspec import Struct

from fileops.core import splices as splicing
from fileops.core.diff.contents import has_word_between
from fileops.core.text import detect_format
from fileops.model.edits import Span, Splice

Splices = tuple[Splice, ...]


class Step(Struct, frozen=True):
    """One edit. reverse: over the content after it; forward: over the content before it."""

    is_ours: bool
    reverse: Splices
    forward: Splices


class _Separated(Struct, frozen=True):
    """Some consecutive steps. undo: of our edits, over the content after them; others: over the content before them.

    Both lead to the same content, which has only the changes of the others.
    """

    undo: Splices
    others: Splices


class _SharedPlaceError(Exception):
    """Both sides changed one place."""


def undo_of_ours(steps: Sequence[Step], since: Callable[[], Splices], present: bytes) -> Splices | None:
    """Return splices over `present` that undo our steps and keep the others; None if both meet somewhere.

    steps: oldest first, without a gap. since: called last, because it may be expensive; returns what changed the
    content after the last step to `present`.
    """
    try:
        separated = _separated(steps)
        undo, later = _in_other_order(separated.undo, since())
    except _SharedPlaceError:
        return None
    result = splicing.apply(present, undo)
    places = sorted(
        [(place.start, place.end, True) for place in _results(undo)]
        + [(place.start, place.end, False) for place in _results(splicing.compose(separated.others, later))]
    )
    fmt = detect_format(result)
    for (_, end, is_ours), (start, _, is_next_ours) in pairwise(places):
        if is_ours != is_next_ours and not has_word_between(result, end, start, fmt):
            return None
    return undo


def _separated(steps: Sequence[Step]) -> _Separated:
    """Raises: _SharedPlaceError."""
    if len(steps) == 1:
        step = steps[0]
        return _Separated(step.reverse, ()) if step.is_ours else _Separated((), step.forward)
    middle = len(steps) // 2
    older, newer = _separated(steps[:middle]), _separated(steps[middle:])
    undo, others = _in_other_order(older.undo, newer.others)
    return _Separated(splicing.compose(newer.undo, undo), splicing.compose(older.others, others))


def _in_other_order(first: Splices, second: Splices) -> tuple[Splices, Splices]:
    """Translate two lists over one content: `first` to the result of `second`, and the other way round.

    Raises: _SharedPlaceError.
    """
    if not first or not second:
        return first, second
    lists, moved = (first, second), (list[Splice](), list[Splice]())
    shifts = [0, 0]  # by the splices of either list so far
    taken = [0, 0]
    last_side, last_end = 0, -1
    while taken[0] < len(first) or taken[1] < len(second):
        side = _next_side(lists, taken)
        splice = lists[side][taken[side]]
        if side != last_side and splice.start <= last_end:
            raise _SharedPlaceError
        shift = shifts[1 - side]
        moved[side].append(Splice(splice.start + shift, splice.end + shift, splice.new))
        shifts[side] += len(splice.new) - (splice.end - splice.start)
        taken[side] += 1
        last_side, last_end = side, splice.end
    return tuple(moved[0]), tuple(moved[1])


def _next_side(lists: tuple[Splices, Splices], taken: Sequence[int]) -> int:
    """Return which list has the next splice."""
    for side in (0, 1):
        if taken[side] == len(lists[side]):
            return 1 - side
    return int(lists[1][taken[1]].start < lists[0][taken[0]].start)


def _results(splices: Splices) -> list[Span]:
    """Return the places of the new texts in the result."""
    places: list[Span] = []
    shift = 0
    for splice in splices:
        start = splice.start + shift
        places.append(Span(start, start + len(splice.new)))
        shift += len(splice.new) - (splice.end - splice.start)
    return places
