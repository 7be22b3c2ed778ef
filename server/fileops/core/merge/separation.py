"""Separates the edits of one session from those of others between them, without comparing contents. Pure.

Two edits at different places of a file can change their order: only their offsets move. So the session's edits are
moved behind all others, and undone there. This is done in halves: for each half, the undo of the session's edits and
the effect of the others are known, and only these two lists of splices change their order. It costs O(n log n) for n
edits. Edits side by side are also at different places. But nothing is separated if no word is between them and the
others typed words that the undo restores there, or if edits of both sides overlap. Then the merge of whole contents
(rebase.py) decides.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from msgspec import Struct

from fileops.core import splices as splicing
from fileops.core.diff.contents import has_word_between, is_blank, is_inside_word, words_of
from fileops.core.text import detect_format
from fileops.model.edits import Splice
from fileops.model.files import TextFormat

Splices = tuple[Splice, ...]


class SidedStep(Struct, frozen=True, gc=False):
    """One edit. reverse: over the content after it; forward: over the content before it.

    is_compared: whether a comparison of the content before it with that after it finds just `forward`.
    """

    is_ours: bool
    reverse: Splices
    forward: Splices
    is_compared: bool = False


class _Separated(Struct, frozen=True):
    """Some consecutive steps. undo: of our edits, over the content after them; others: over the content before them.

    Both lead to the same content, which has only the changes of the others.
    """

    undo: Splices
    others: Splices


class _SharedPlaceError(Exception):
    """Both sides changed one place."""


def undo_of_ours(steps: Sequence[SidedStep], since: Callable[[], Splices], present: bytes) -> Splices | None:
    """Return splices over `present` that undo our steps and keep the others; None if both meet somewhere.

    steps: oldest first, without a gap. since: called last, because it may be expensive; returns what changed the
    content after the last step to `present`.
    """
    try:
        separated = _separate(steps)
        undo, later = _in_other_order(separated.undo, since())
    except _SharedPlaceError:
        return None
    result = splicing.apply(present, undo)
    fmt = detect_format(result)
    places = [*_results(undo, is_ours=True), *_results(splicing.compose(separated.others, later), is_ours=False)]
    shared = [group for group in _neighbours(places, result, fmt) if len({place.is_ours for place in group}) > 1]
    if any(_is_glued(place, result, fmt) for group in shared for place in group):
        return None
    if any(_may_restore_twice(group, fmt) for group in shared):
        return None
    passing = _words_in_passing(steps, undo, fmt) if shared else set[bytes]()
    typed = chain.from_iterable(words_of(place.new, fmt) for group in shared for place in group if not place.is_ours)
    return None if passing.intersection(typed) else undo


def _separate(steps: Sequence[SidedStep]) -> _Separated:
    """Return the two lists. Raises: _SharedPlaceError."""
    if len(steps) == 1:
        step = steps[0]
        return _Separated(step.reverse, ()) if step.is_ours else _Separated((), step.forward)
    middle = len(steps) // 2
    older, newer = _separate(steps[:middle]), _separate(steps[middle:])
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
    last_side, last = 0, Splice(-1, -1, b"")
    while taken[0] < len(first) or taken[1] < len(second):
        side = _next_side(lists, taken)
        splice = lists[side][taken[side]]
        are_both_insertions = last.start == last.end == splice.start == splice.end
        if side != last_side and (splice.start < last.end or are_both_insertions):
            raise _SharedPlaceError
        shift = shifts[1 - side]
        moved[side].append(Splice(splice.start + shift, splice.end + shift, splice.new))
        shifts[side] += len(splice.new) - (splice.end - splice.start)
        taken[side] += 1
        last_side, last = side, splice
    return tuple(moved[0]), tuple(moved[1])


def _next_side(lists: tuple[Splices, Splices], taken: Sequence[int]) -> int:
    """Return which list has the next splice. An insertion is before what begins at its place."""
    for side in (0, 1):
        if taken[side] == len(lists[side]):
            return 1 - side
    first, second = (lists[side][taken[side]] for side in (0, 1))
    return int((second.start, second.end) < (first.start, first.end))


# --- both sides beside each other -------------------------------------------------------------------------------------


class _Place(Struct, frozen=True):
    """The new text of a splice, in the result."""

    start: int
    new: bytes
    is_ours: bool

    @property
    def end(self) -> int:
        return self.start + len(self.new)


def _results(splices: Splices, *, is_ours: bool) -> Iterator[_Place]:
    shift = 0
    for splice in splices:
        yield _Place(splice.start + shift, splice.new, is_ours)
        shift += len(splice.new) - (splice.end - splice.start)


def _neighbours(places: Sequence[_Place], result: bytes, fmt: TextFormat) -> Iterator[list[_Place]]:
    """Yield the places in groups. A word that neither side touched is between any two groups."""
    group: list[_Place] = []
    for place in sorted(places, key=lambda place: (place.start, place.end)):
        if group and has_word_between(result, group[-1].end, place.start, fmt):
            yield group
            group = []
        group.append(place)
    if group:
        yield group


def _is_glued(place: _Place, result: bytes, fmt: TextFormat) -> bool:
    return is_inside_word(result, place.start, fmt) or is_inside_word(result, place.end, fmt)


def _may_restore_twice(group: Sequence[_Place], fmt: TextFormat) -> bool:
    """Return whether the others typed something there that the undo restores as well."""
    restored, typed = ([place.new for place in group if place.is_ours is is_ours] for is_ours in (True, False))
    if any(text and is_blank(text, fmt) for text in restored) and any(typed):
        return True
    words, typed_words = (_words(texts, fmt) for texts in (restored, typed))
    return not words.isdisjoint(typed_words)


def _words_in_passing(steps: Sequence[SidedStep], undo: Splices, fmt: TextFormat) -> set[bytes]:
    """Return what one of our edits inserted and another one removed."""
    removed = (splice.new for step in steps if step.is_ours for splice in step.reverse)
    return _words(removed, fmt) - _words((splice.new for splice in undo), fmt)


def _words(texts: Iterable[bytes], fmt: TextFormat) -> set[bytes]:
    """Return words and signs."""
    return {word for text in texts for word in words_of(text, fmt) if not is_blank(word, fmt)}
