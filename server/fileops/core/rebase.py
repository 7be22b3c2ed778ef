"""Carry splices over to a content that went on meanwhile: how an old edit is taken back without what came later.

Three contents meet here: the one that the splices belong to (`base`), what stands now (`present`), and what the
splices would have made of `base`. As in a three-way merge, what changed on one side only is kept.
"""

from collections.abc import Sequence

from msgspec import Struct

from fileops.core.alignment import changes
from fileops.core.text import detect_format
from fileops.model import Span, Splice, TextFormat


class Rebased(Struct, frozen=True, kw_only=True):
    """splices: over the present content. conflicts: places in it that both sides changed, in order.

    With conflicts the splices are not to be applied.
    """

    splices: tuple[Splice, ...]
    conflicts: tuple[Span, ...] = ()


def rebase(splices: Sequence[Splice], base: bytes, present: bytes) -> Rebased:
    """The splices, made for `base`, as splices over `present`."""
    fmt = detect_format(base)
    wanted = minimal(splices, base, fmt)
    if base == present:
        return Rebased(splices=wanted)
    since = changes(base, present, fmt)
    result: list[Splice] = []
    conflicts: list[Span] = []
    for splice in wanted:
        in_the_way = [change for change in since if _overlap(splice, change)]
        if not in_the_way:
            result.append(_moved(splice, since))
        elif not _is_already_made(splice, in_the_way, base):
            conflicts.append(_present_extent(splice, in_the_way, since))
    return Rebased(splices=tuple(result), conflicts=tuple(conflicts))


def follow(spans: Sequence[Span], base: bytes, present: bytes) -> tuple[Span, ...]:
    """Where places of `base` lie in `present`: typing before them moves them, typing inside them widens them."""
    if base == present:
        return tuple(spans)
    since = changes(base, present, detect_format(base))
    return tuple(_present_extent(Splice(span.start, span.end, b""), (), since) for span in spans)


def minimal(splices: Sequence[Splice], data: bytes, fmt: TextFormat) -> tuple[Splice, ...]:
    """The same effect on `data` by smaller splices: text that a splice puts back as it was is left out."""
    bare = TextFormat(encoding=fmt.encoding)
    result: list[Splice] = []
    for splice in splices:
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


def _overlap(one: Splice, other: Splice) -> bool:
    """Whether both touch a byte, or one a place inside the other. Neighbours do not overlap."""
    return one.start < other.end and other.start < one.end


def _is_already_made(splice: Splice, in_the_way: Sequence[Splice], base: bytes) -> bool:
    """Whether the other side has come to the same text at this place by itself."""
    start = min(splice.start, in_the_way[0].start)
    end = max(splice.end, in_the_way[-1].end)
    theirs: list[bytes] = []
    at = start
    for change in in_the_way:
        theirs += [base[at : change.start], change.new]
        at = change.end
    theirs.append(base[at:end])
    return b"".join(theirs) == base[start : splice.start] + splice.new + base[splice.end : end]


def _moved(splice: Splice, since: Sequence[Splice]) -> Splice:
    """What came in directly at its edges stays outside of it."""
    is_insertion = splice.start == splice.end
    shift = 0
    for change in since:
        is_before = change.end <= splice.start and change.start < max(change.end, splice.start)
        is_inserted_at_start = change.start == change.end == splice.start
        if is_before or (is_inserted_at_start and not is_insertion):
            shift += len(change.new) - (change.end - change.start)
    return Splice(splice.start + shift, splice.end + shift, splice.new)


def _present_extent(splice: Splice, in_the_way: Sequence[Splice], since: Sequence[Splice]) -> Span:
    """The part of the present content that stands for the splice and what is in its way."""
    start = min([splice.start, *(change.start for change in in_the_way)])
    end = max([splice.end, *(change.end for change in in_the_way)])
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
