"""Rebases splices onto a content that has changed since: undoes an old edit and keeps all later changes.

There are three contents: the one to which the splices belong (`base`), the current one (`present`), and the result of
the splices on `base` (`target`). As in a three-way merge by words, a change on one side only is kept. A change that
both sides made alike counts as made. Different changes at one place or of one text are a conflict; nothing is guessed.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from itertools import accumulate

from msgspec import Struct

from fileops.core import splices as splicing
from fileops.core.diff.contents import (
    common_lines,
    has_word,
    is_blank,
    is_inside_word,
    is_of_word,
    splices_between,
    word_start,
    word_stop,
    words_of,
)
from fileops.core.merge.clusters import Cluster, clusters
from fileops.core.restored import Restored, Typed
from fileops.core.text import detect_format, find_aligned, line_end, line_start, newline_of, split_lines
from fileops.model.edits import ByteSpan, Splice
from fileops.model.files import TextFormat


class RebasedSplices(Struct, frozen=True, kw_only=True):
    """The rebased splices, over the present content.

    conflicts: places in that content that both sides changed, in order; if there are any, do not apply the splices.
    later: changes over the base that only the other side made.
    """

    splices: tuple[Splice, ...]
    conflicts: tuple[ByteSpan, ...] = ()
    later: tuple[Splice, ...] = ()


def rebase(splices: Sequence[Splice], base: bytes, present: bytes) -> RebasedSplices:
    """Translate splices over `base` to splices over `present`."""
    fmt = detect_format(base)
    wanted = minimal(splices, base, fmt)
    if base == present:
        return RebasedSplices(splices=wanted)
    target = splicing.apply(base, wanted)
    if present == target:
        return RebasedSplices(splices=())
    if detect_format(present).encoding != fmt.encoding:
        return RebasedSplices(splices=(), conflicts=(ByteSpan(0, len(present)),))
    wanted = _move_down(wanted, base, fmt)
    since = _move_down(splices_between(base, present, fmt), base, fmt)
    compare = cache(partial(splices_between, target, present, fmt))
    if _is_made(wanted, since, base, target, present, fmt, compare):
        return RebasedSplices(splices=())
    return _merge(wanted, since, base, present, fmt, compare)


def _is_made(
    wanted: Sequence[Splice],
    since: Sequence[Splice],
    base: bytes,
    target: bytes,
    present: bytes,
    fmt: TextFormat,
    compare: Callable[[], Sequence[Splice]],
) -> bool:
    """Return whether the others have made all of our change by hand, judging by the present content alone.

    A comparison of base and present can pair equal lines differently from our change, and then shows changes other than
    ours. So target and present are compared: they have the same lines, from the one above our first splice to the one
    below our last. Elsewhere the others typed no word that our change removes, because that would be a word that they
    moved.

    Args: compare: returns the splices from target to present, which differ.
    """
    if not wanted:
        return False
    start, end = line_start(base, fmt, wanted[0].start), _line_stop(base, fmt, wanted[-1].end)
    if not any(change.start <= end and start <= change.end for change in since):
        return False
    growth = sum(len(splice.new) - (splice.end - splice.start) for splice in wanted)
    unit, first = fmt.unit_bytes, len(fmt.bom)
    above = max(line_start(target, fmt, start - unit), first) if start > first else -1
    below = line_end(target, fmt, end + growth) if end + growth < len(target) else len(target) + 1
    if present.startswith(fmt.bom):
        n_head, n_tail = common_lines(target, present, fmt)
        if above < n_head and len(target) - n_tail < below:  # all differences are between, so they need not be found
            return False
    differences = compare()
    if any(change.start < below and above < change.end for change in differences):
        return False
    removed = set(words_of(base[start:end], fmt)).difference(words_of(target[start : end + growth], fmt))
    removed = {word for word in removed if is_of_word(word, 0, fmt)}
    return all(removed.isdisjoint(words_of(change.new, fmt)) for change in differences)


def _line_stop(data: bytes, fmt: TextFormat, at: int) -> int:
    """Return where the line at a place ends, after its newline; the place itself if it is the beginning of a line."""
    return at if line_start(data, fmt, at) == at else line_end(data, fmt, at)


def map_spans(spans: Sequence[ByteSpan], base: bytes, present: bytes) -> tuple[ByteSpan, ...]:
    """Map places in `base` to `present`. Text typed before a place moves it, text typed inside widens it."""
    if base == present:
        return tuple(spans)
    since = splices_between(base, present, detect_format(base))
    return tuple(_present_extent(span, since) for span in spans)


def minimal(splices: Sequence[Splice], data: bytes, fmt: TextFormat) -> tuple[Splice, ...]:
    """Return splices of whole words with the same effect on `data`, without text that they leave unchanged."""
    bare = TextFormat(encoding=fmt.encoding)
    result: list[Splice] = []
    for splice in whole_words(splices, data, fmt):
        part = data[splice.start : splice.end]
        keeps_bom = part.startswith(fmt.bom) and splice.new.startswith(fmt.bom)
        if splice.start < len(fmt.bom) and not keeps_bom:  # the BOM itself is inserted or deleted
            result.append(splice)
            continue
        result.extend(
            Splice(splice.start + inner.start, splice.start + inner.end, inner.new)
            for inner in splices_between(part, splice.new, bare if splice.start else fmt)
        )
    return tuple(result)


def whole_words(splices: Sequence[Splice], data: bytes, fmt: TextFormat) -> list[Splice]:
    """Return splices with the same effect that begin and end at words. Those that share a word are combined."""
    groups: list[tuple[int, int, list[Splice]]] = []
    for splice in splices:
        start, end = word_start(data, splice.start, fmt), word_stop(data, splice.end, fmt)
        if groups and start < groups[-1][1]:
            first, reached, group = groups.pop()
            groups.append((first, max(reached, end), [*group, splice]))
        else:
            groups.append((start, end, [splice]))
    return [Splice(start, end, splicing.apply_within(data, group, start, end)) for start, end, group in groups]


def _move_down(splices: Sequence[Splice], base: bytes, fmt: TextFormat) -> tuple[Splice, ...]:
    """Return splices with the same effect, each insertion and deletion moved as far down as possible.

    If one of several equal lines (or words of a line) is inserted or deleted, it can be any of them. Here it is always
    the last, so that equivalent splices become equal.
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
    """Move a splice down as far as its effect stays the same, but not to `limit`."""
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
    """Return a splice of whole lines if `splice`, from inside a line to inside the next, is equivalent to one."""
    text, newline = splice.new or base[splice.start : splice.end], newline_of(fmt)
    if newline not in text or line_start(base, fmt, splice.start) == splice.start:
        return splice
    n_head = line_end(text, fmt, 0)
    head = text[:n_head]
    if splice.end + n_head >= limit or base[splice.end : splice.end + n_head] != head:
        return splice
    return Splice(splice.start + n_head, splice.end + n_head, splice.new and text[n_head:] + head)


def _first_place(insertion: Splice, base: bytes, floor: int, fmt: TextFormat) -> int:
    """Return the topmost place, not above `floor`, at which the insertion has the same effect."""
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
    """Split the inserted or deleted text into lines if it is whole lines (True), else into words."""
    text, first = splice.new or base[splice.start : splice.end], len(fmt.bom)
    begins_line = splice.start <= first or line_start(base, fmt, splice.start) == splice.start
    if begins_line and text.endswith(newline_of(fmt)):
        return split_lines(text, fmt), True
    return words_of(text, fmt), False


# --- merging --------------------------------------------------------------------------------------------------------
#
# Both sides are splices over the base: our splices undo an edit, their changes are what others did since. Most of our
# splices meet no change. The difficult ones are those whose text people have put back or moved by hand, because a diff
# does not say which of several equal words is which. For them the rule is to ask rather than guess. The cases, in the
# order in which they are decided:
#
# 1. Splices that overlap, or that insert at one place, form a cluster (clusters.py). If both sides make the same of its
#    part of the base, the change is made already ("alike"), and nothing is left to do. If we delete what an edit
#    inserted, and they only deleted parts of it, the rest goes: both have removed text there. If not, it is a conflict.
# 2. A cluster may be alike by chance: both sides delete "word", and the other side typed "word" again beside it, so the
#    diff paired the deletion with another text. The word that is to go is still there: a conflict.
# 3. A splice that meets no change is free, and only has to be shifted by what grew above it. But suppose it deletes a
#    word, and the other side removed a sign on one side of that word and typed the same on the other side. Then the
#    other side may just as well have left the sign, deleted the word and typed it again. The word would be theirs: a
#    conflict.
# 4. Or the text of a free splice may be there already, typed by hand beside its place. Applying it would double the
#    text. If all of it is there, the splice is done; if a part is, it is a conflict; if none is, the splice is applied.
# 5. If nothing is in conflict, applying the splices may still join text from both sides into a word that neither has
#    written. That is a conflict, too.
#
# The order matters. Cases 2 and 4 look for text that only the other side typed. So all clusters have to be decided
# before, or a change that both sides made would count as text that the other side put back. Case 5 looks at the merged
# content, which exists only when every splice is placed and none is in conflict.


def _merge(
    wanted: Sequence[Splice],
    since: Sequence[Splice],
    base: bytes,
    present: bytes,
    fmt: TextFormat,
    compare: Callable[[], Sequence[Splice]],
) -> RebasedSplices:
    """Merge `wanted`, which leads from base to target, and `since`, from base to present. Both are settled.

    Args: compare: returns the splices from target to present.
    """
    # growth[n]: by how much a place after their first n changes is further down in present than in base.
    growth = list(accumulate((len(change.new) - change.end + change.start for change in since), initial=0))
    conflicts: list[ByteSpan] = []
    free: list[tuple[Splice, int]] = []  # our splices, and how many of their changes are above each
    alike: list[tuple[Cluster, ByteSpan]] = []
    made: set[int] = set()  # their changes that our splices make, too
    rest: list[Splice] = []  # what is left to delete where they deleted parts

    # Case 1. All changes of a cluster are inside of start to end, so `stop` counts those above the end.
    for cluster in clusters(wanted, since):
        theirs = since[cluster.first : cluster.stop]
        if not theirs:
            free.append((cluster.ours[0], cluster.first))
            continue
        start = min(cluster.ours[0].start, theirs[0].start)
        end = max(cluster.ours[-1].end, theirs[-1].end)
        place = ByteSpan(start + growth[cluster.first], end + growth[cluster.stop])
        if splicing.apply_within(base, cluster.ours, start, end) == splicing.apply_within(base, theirs, start, end):
            alike.append((cluster, place))
            made.update(range(cluster.first, cluster.stop))
        elif _is_rest_of(cluster.ours, theirs):
            alike.append((cluster, place))
            made.update(range(cluster.first, cluster.stop))
            rest.append(Splice(place.start, place.end, b""))
        else:
            conflicts.append(place)

    # Case 2.
    typed_words = _find_typed_words(since, made, base, fmt)
    conflicts += [
        place
        for cluster, place in alike
        if not typed_words[cluster.first].isdisjoint(_find_removed_words(cluster.ours, base, fmt))
    ]

    # Cases 3 and 4. An insertion beside equal text has the same effect at several places, so text anywhere between the
    # first of them and its own counts as beside it; but not above the splice before it, to which that text belongs.
    unmade = [(change, growth[n]) for n, change in enumerate(since) if n not in made]
    typed = [
        Typed(change.start + shift, change.start + shift + len(change.new), change.start == change.end)
        for change, shift in unmade
        if change.new
    ]
    restored = Restored(wanted, typed, compare, present, fmt) if typed else None
    result: list[Splice] = []
    floor = len(fmt.bom)
    for splice, n_above in free:
        shift = growth[n_above]
        shifted = Splice(splice.start + shift, splice.end + shift, splice.new)
        first = _first_place(shifted, present, floor, fmt) if shifted.start == shifted.end else shifted.start
        floor = shifted.end
        spans_lines = newline_of(fmt) in base[splice.start : splice.end] + splice.new
        if _has_sign_moved_over(splice, since, n_above, base, fmt):
            conflicts.append(ByteSpan(shifted.start, shifted.end))
        elif restored is None or not restored.has_some_of(
            splice, ByteSpan(first, shifted.end), spans_lines=spans_lines
        ):
            result.append(shifted)
        elif not restored.has_all_of(splice):
            conflicts.append(ByteSpan(shifted.start, shifted.end))

    # Case 5.
    result = sorted((*result, *rest), key=lambda splice: splice.start)
    conflicts = sorted(conflicts, key=lambda place: place.start) or _find_glued(result, present, fmt)
    return RebasedSplices(
        splices=tuple(result), conflicts=tuple(conflicts), later=tuple(change for change, _ in unmade)
    )


def _is_rest_of(ours: Sequence[Splice], theirs: Sequence[Splice]) -> bool:
    """Return whether ours is one deletion, and theirs are deletions inside it."""
    first = ours[0]
    if len(ours) > 1 or first.new:
        return False
    return all(not change.new and first.start <= change.start and change.end <= first.end for change in theirs)


def _find_typed_words(since: Sequence[Splice], made: set[int], base: bytes, fmt: TextFormat) -> list[set[bytes]]:
    """Return for each change what only the other side typed there, or beside it with only signs and blanks between.

    A word there that both sides deleted was compared with another text: it is still there.
    """
    result: list[set[bytes]] = []
    for n, change in enumerate(since):
        if n == 0 or has_word(base, since[n - 1].end, change.start, fmt):
            result.append(set())
        else:
            result.append(result[-1])
        if n not in made:
            result[-1].update(words_of(change.new, fmt))
    return result


def _find_removed_words(splices: Sequence[Splice], base: bytes, fmt: TextFormat) -> set[bytes]:
    removed, kept = set[bytes](), set[bytes]()
    for splice in splices:
        removed.update(words_of(base[splice.start : splice.end], fmt))
        kept.update(words_of(splice.new, fmt))
    return {word for word in removed - kept if is_of_word(word, 0, fmt)}


def _has_sign_moved_over(splice: Splice, since: Sequence[Splice], n_above: int, base: bytes, fmt: TextFormat) -> bool:
    """Return whether a sign of the line is removed on one side of the splice, and inserted on the other side.

    Only a splice that deletes a word counts, and only changes beside it, with blanks and signs between.
    """
    if not 0 < n_above < len(since):
        return False
    if find_aligned(base, newline_of(fmt), fmt, since[n_above - 1].end, since[n_above].start) >= 0:
        return False
    if not has_word(base, splice.start, splice.end, fmt):
        return False
    above = _signs_beside((since[n] for n in range(n_above - 1, -1, -1)), splice, base, fmt)
    below = _signs_beside((since[n] for n in range(n_above, len(since))), splice, base, fmt)
    return not (above[0].isdisjoint(below[1]) and above[1].isdisjoint(below[0]))


def _signs_beside(
    changes: Iterable[Splice], splice: Splice, base: bytes, fmt: TextFormat
) -> tuple[set[bytes], set[bytes]]:
    """Return the signs that the changes beside a splice remove, and those that they insert, up to the line's end.

    changes: all on one side of the splice, the nearest first.
    """
    removed, inserted = set[bytes](), set[bytes]()
    start, end = splice.start, splice.end
    for change in changes:
        passed = base[min(change.end, start) : start] or base[end : max(change.start, end)]
        if has_word(passed, 0, len(passed), fmt):
            break
        start, end = min(start, change.start), max(end, change.end)
        old = base[change.start : change.end]
        if newline_of(fmt) in passed + old + change.new:
            break
        for text, signs in ((old, removed), (change.new, inserted)):
            signs.update(
                part for part in words_of(text, fmt) if not is_of_word(part, 0, fmt) and not is_blank(part, fmt)
            )
    return removed, inserted


def _find_glued(splices: Sequence[Splice], present: bytes, fmt: TextFormat) -> list[ByteSpan]:
    """Return the places at which parts from both sides would form one word, which neither side contains."""
    merged = splicing.apply(present, splices)
    glued: list[ByteSpan] = []
    shift = 0
    for splice in splices:
        start = splice.start + shift
        if is_inside_word(merged, start, fmt) or is_inside_word(merged, start + len(splice.new), fmt):
            glued.append(ByteSpan(splice.start, splice.end))
        shift += len(splice.new) - (splice.end - splice.start)
    return glued


def _present_extent(place: ByteSpan, since: Sequence[Splice]) -> ByteSpan:
    """Return the part of the present content that corresponds to a place of the base."""
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
    return ByteSpan(start + shift, end + shift + grown)
