"""Carry splices over to a content that went on meanwhile: how an old edit is taken back without what came later.

Three contents meet here: the one that the splices belong to (`base`), what stands now (`present`), and what the
splices make of `base` (`target`). As in a three-way merge over words, what changed on one side only is kept. What both
sides changed alike is made already; where they differ, at one place or about one text, nothing is guessed.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from msgspec import Struct

from fileops.core import splices as splicing
from fileops.core.diff.contents import changes, is_inside_word, word_start, word_stop, words_of
from fileops.core.restored import Restored, Typed
from fileops.core.text import detect_format, line_end, line_start, newline_of, split_lines
from fileops.model.edits import Span, Splice
from fileops.model.files import TextFormat


class Rebased(Struct, frozen=True, kw_only=True):
    """splices: over the present content. conflicts: places in it that both sides changed, in order.

    With conflicts the splices are not to be applied. later: what the other side did, over the base, and we did not.
    """

    splices: tuple[Splice, ...]
    conflicts: tuple[Span, ...] = ()
    later: tuple[Splice, ...] = ()


def rebase(splices: Sequence[Splice], base: bytes, present: bytes) -> Rebased:
    """The splices, made for `base`, as splices over `present`."""
    fmt = detect_format(base)
    wanted = minimal(splices, base, fmt)
    if base == present:
        return Rebased(splices=wanted)
    target = splicing.apply(base, wanted)
    if present == target:
        return Rebased(splices=())
    if detect_format(present).encoding != fmt.encoding:
        return Rebased(splices=(), conflicts=(Span(0, len(present)),))
    wanted = _settled(wanted, base, fmt)
    since = _settled(changes(base, present, fmt), base, fmt)
    return _merged(wanted, since, base, target, present, fmt)


def follow(spans: Sequence[Span], base: bytes, present: bytes) -> tuple[Span, ...]:
    """Where places of `base` lie in `present`: typing before them moves them, typing inside them widens them."""
    if base == present:
        return tuple(spans)
    since = changes(base, present, detect_format(base))
    return tuple(_present_extent(span, since) for span in spans)


def minimal(splices: Sequence[Splice], data: bytes, fmt: TextFormat) -> tuple[Splice, ...]:
    """The same effect on `data` by splices of whole words: text that a splice puts back as it was is left out."""
    bare = TextFormat(encoding=fmt.encoding)
    result: list[Splice] = []
    for splice in whole_words(splices, data, fmt):
        part = data[splice.start : splice.end]
        keeps_bom = part.startswith(fmt.bom) and splice.new.startswith(fmt.bom)
        if splice.start < len(fmt.bom) and not keeps_bom:  # the BOM itself comes or goes
            result.append(splice)
            continue
        result.extend(
            Splice(splice.start + inner.start, splice.start + inner.end, inner.new)
            for inner in changes(part, splice.new, bare if splice.start else fmt)
        )
    return tuple(result)


def whole_words(splices: Sequence[Splice], data: bytes, fmt: TextFormat) -> list[Splice]:
    """The same effect by splices that begin and end where words do; those that share a word become one."""
    groups: list[tuple[int, int, list[Splice]]] = []
    for splice in splices:
        start, end = word_start(data, splice.start, fmt), word_stop(data, splice.end, fmt)
        if groups and start < groups[-1][1]:
            first, reached, group = groups.pop()
            groups.append((first, max(reached, end), [*group, splice]))
        else:
            groups.append((start, end, [splice]))
    return [Splice(start, end, _made(group, data, start, end)) for start, end, group in groups]


def _settled(splices: Sequence[Splice], base: bytes, fmt: TextFormat) -> tuple[Splice, ...]:
    """The same effect, each insertion and deletion as far down as it goes.

    One of several equal lines (or words of a line) that comes or goes can be any of them. Settled, it is always the
    last, so that two that mean the same are the same.
    """
    settled: list[Splice] = []
    limit = len(base) + 1
    for splice in reversed(splices):
        if len(fmt.bom) <= splice.start and (splice.start == splice.end) != (not splice.new):
            settled.append(_slid(splice, base, limit, fmt))
        else:
            settled.append(splice)
        limit = settled[-1].start
    return tuple(settled[::-1])


def _slid(splice: Splice, base: bytes, limit: int, fmt: TextFormat) -> Splice:
    """limit: which it does not reach."""
    splice = _as_lines(splice, base, limit, fmt)
    tokens, by_line = _tokens_of(splice, base, fmt)
    n_slid, at = 0, splice.end
    while True:
        token = tokens[n_slid % len(tokens)]
        stop = at + len(token)
        if stop >= limit or base[at:stop] != token:
            break
        if not by_line and is_inside_word(base, stop, fmt):
            break
        n_slid, at = n_slid + 1, stop
    turned = n_slid % len(tokens)
    new = b"".join((*tokens[turned:], *tokens[:turned])) if splice.new else b""
    return Splice(splice.start + at - splice.end, at, new)


def _as_lines(splice: Splice, base: bytes, limit: int, fmt: TextFormat) -> Splice:
    """Whole lines, where it is as good as that: the end of a line and the beginning of the next come or go."""
    text, newline = splice.new or base[splice.start : splice.end], newline_of(fmt)
    if newline not in text or line_start(base, fmt, splice.start) == splice.start:
        return splice
    n_head = line_end(text, fmt, 0)
    head = text[:n_head]
    if splice.end + n_head >= limit or base[splice.end : splice.end + n_head] != head:
        return splice
    return Splice(splice.start + n_head, splice.end + n_head, splice.new and text[n_head:] + head)


def _first_place(insertion: Splice, base: bytes, floor: int, fmt: TextFormat) -> int:
    """Where else it could be made to the same effect: as far up as it goes, not above floor."""
    tokens, by_line = _tokens_of(insertion, base, fmt)
    n_slid, at = 0, insertion.start
    while True:
        token = tokens[-1 - n_slid % len(tokens)]
        start = at - len(token)
        if start < floor or base[start:at] != token:
            return at
        if not by_line and is_inside_word(base, start, fmt):
            return at
        n_slid, at = n_slid + 1, start


def _tokens_of(splice: Splice, base: bytes, fmt: TextFormat) -> tuple[list[bytes], bool]:
    """Of what comes or goes: the lines, if it is whole lines (True), else the words."""
    text, first = splice.new or base[splice.start : splice.end], len(fmt.bom)
    begins_line = splice.start <= first or line_start(base, fmt, splice.start) == splice.start
    if begins_line and text.endswith(newline_of(fmt)):
        return split_lines(text, fmt), True
    return words_of(text, fmt), False


# --- merging --------------------------------------------------------------------------------------------------------


class _Cluster(Struct, frozen=True):
    """Splices of ours, and the changes theirs[first:stop] that they meet. first: all changes below lie before them."""

    ours: tuple[Splice, ...]
    first: int
    stop: int


def _merged(
    wanted: Sequence[Splice], since: Sequence[Splice], base: bytes, target: bytes, present: bytes, fmt: TextFormat
) -> Rebased:
    """Wanted leads from base to target, since from base to present; both are settled."""
    growth = list(accumulate((len(change.new) - change.end + change.start for change in since), initial=0))
    conflicts: list[Span] = []
    free: list[tuple[Splice, int]] = []  # of ours, and how far it moves
    made: set[int] = set()
    for cluster in _clusters(wanted, since):
        theirs = since[cluster.first : cluster.stop]
        if not theirs:
            free.append((cluster.ours[0], growth[cluster.first]))
            continue
        start = min(cluster.ours[0].start, theirs[0].start)
        end = max(cluster.ours[-1].end, theirs[-1].end)
        if _made(cluster.ours, base, start, end) == _made(theirs, base, start, end):
            made.update(range(cluster.first, cluster.stop))
        else:
            conflicts.append(Span(start + growth[cluster.first], end + growth[cluster.stop]))
    unmade = [(change, growth[n]) for n, change in enumerate(since) if n not in made]
    typed = [
        Typed(change.start + shift, change.start + shift + len(change.new), change.start == change.end)
        for change, shift in unmade
        if change.new
    ]
    restored = Restored(wanted, typed, target, present, fmt) if typed else None
    result: list[Splice] = []
    floor = len(fmt.bom)
    for splice, shift in free:
        moved = Splice(splice.start + shift, splice.end + shift, splice.new)
        first = _first_place(moved, present, floor, fmt) if moved.start == moved.end else moved.start
        floor = moved.end
        spans_lines = newline_of(fmt) in base[splice.start : splice.end] + splice.new
        if restored is None or not restored.has_some_of(splice, Span(first, moved.end), spans_lines=spans_lines):
            result.append(moved)
        elif not restored.has_all_of(splice):
            conflicts.append(Span(moved.start, moved.end))
    conflicts = sorted(conflicts, key=lambda place: place.start) or _glued(result, present, fmt)
    return Rebased(splices=tuple(result), conflicts=tuple(conflicts), later=tuple(change for change, _ in unmade))


def _clusters(ours: Sequence[Splice], theirs: Sequence[Splice]) -> Iterator[_Cluster]:
    i = j = 0
    while i < len(ours):
        group, first = [ours[i]], j
        while first < len(theirs) and theirs[first].end <= ours[i].start and not _meet(ours[i], theirs[first]):
            first += 1
        i, j = i + 1, first
        while True:
            if j < len(theirs) and _meet(group[-1], theirs[j]):
                j += 1
            elif i < len(ours) and j > first and _meet(ours[i], theirs[j - 1]):
                group.append(ours[i])
                i += 1
            else:
                break
        yield _Cluster(tuple(group), first, j)


def _meet(one: Splice, other: Splice) -> bool:
    """Whether both touch a byte, one a place inside the other, or both insert at one place. Neighbours do not meet."""
    if one.start == one.end == other.start == other.end:
        return True
    return one.start < other.end and other.start < one.end


def _made(splices: Sequence[Splice], base: bytes, start: int, end: int) -> bytes:
    """What the splices make of base[start:end]."""
    pieces: list[bytes] = []
    at = start
    for splice in splices:
        pieces += (base[at : splice.start], splice.new)
        at = splice.end
    return b"".join((*pieces, base[at:end]))


def _glued(splices: Sequence[Splice], present: bytes, fmt: TextFormat) -> list[Span]:
    """Where a word would come about of parts from both sides: neither has a word that goes on across such an edge."""
    merged = splicing.apply(present, splices)
    glued: list[Span] = []
    shift = 0
    for splice in splices:
        start = splice.start + shift
        if is_inside_word(merged, start, fmt) or is_inside_word(merged, start + len(splice.new), fmt):
            glued.append(Span(splice.start, splice.end))
        shift += len(splice.new) - (splice.end - splice.start)
    return glued


def _present_extent(place: Span, since: Sequence[Splice]) -> Span:
    """The part of the present content that stands for a place of the base."""
    start, end = place.start, place.end
    shift = grown = 0
    for change in since:
        growth = len(change.new) - (change.end - change.start)
        if change.end <= start and change.start < end:
            shift += growth
        elif change.start < end:
            start = min(start, change.start)
            end = max(end, change.end)
            grown += growth
    return Span(start + shift, end + shift + grown)
