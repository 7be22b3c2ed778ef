"""Decides whether others' changes to a file are relevant to an edit that was made for the content before them.

There are two contents: the one that the session was shown (`base`) and the current one (`present`). Others' change is
not relevant if the edit still means the same place. What was changed through this daemon is known as splices; the edit
is carried over them, and no distance matters (`Known`). What other programs changed is known from a comparison only. It
is then the same place if the direct neighbours and all enclosing lines are the same lines in both, if only blanks
differ, or if the block that contains it was moved as a whole. If in doubt, the change is relevant.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from msgspec import Struct

from fileops.core import splices as splicing
from fileops.core.diff.lines import Range, find_changed_ranges
from fileops.core.diff.regions import regions
from fileops.core.merge.rebase import rebase
from fileops.core.merge.same_place import (
    closes,
    find_added_lines,
    find_enclosing,
    is_blank,
    is_blank_change,
    is_in_moved_block,
    reindent,
)
from fileops.core.text import (
    count_newlines,
    detect_format,
    is_binary,
    line_end,
    line_start,
    newline_of,
    newline_style,
    split_lines,
)
from fileops.model.edits import LineRange, Plan, Relevance, RelevanceReason, Splice
from fileops.model.errors import CountMismatch, FileOpsError, MultipleMatches, NoMatch
from fileops.model.files import Base, Snapshot, TextFormat

MARGIN_LINES = 3  # of approvals: as many unchanged lines as a diff shows around a change
TWICE_LINES = 3  # how near a line that both add is the same addition, made twice
MAX_BYTES = 1 << 20  # of a content; a larger file is read again rather than compared
_MAX_PRODUCT = 100_000  # lines × lines that are compared within milliseconds


class Leg(Struct, frozen=True, kw_only=True):
    """A change on the way from the content that a session was shown to the current one.

    after: the content. known: the change as splices of whole lines; None if another program made it.
    """

    after: bytes
    known: tuple[Splice, ...] | None = None


class Carried(Struct, frozen=True, kw_only=True):
    """Splices carried over to the present content. ranges: the lines of it that others changed, in order."""

    splices: tuple[Splice, ...]
    ranges: tuple[LineRange, ...]


class Replanned(Struct, frozen=True, kw_only=True):
    """An edit planned on the present content. ranges: the lines of it that others changed, in order.

    unseen: splices from what the session has been shown after the edit to the content after it; None if not known.
    """

    plan: Plan
    ranges: tuple[LineRange, ...]
    unseen: tuple[Splice, ...] | None = None


def replan(
    base: Base, present: Snapshot, plan: Callable[[Snapshot], Plan], legs: Sequence[Leg] = ()
) -> Replanned | Carried | Relevance:
    """Plan an edit on the current content, or return why the change by others is relevant to it.

    plan: plans the edit on a snapshot. A FileOpsError becomes a reason; everything else is raised. legs: how
    `base.shown` became the present content, as far as that is known. Carried is returned if the text of the edit cannot
    be found as it is: its splices are then those of the edit on the base.

    Known changes alone are never compared. If other programs changed the file, too, both contents are compared, and if
    that leaves a doubt, the edit is carried over one leg after the other: each step has to mean the same place.
    """
    outcome = _replan(base, present, plan, legs[0].known if len(legs) == 1 else None)
    if len(legs) < 2 or not isinstance(outcome, Relevance) or base.shown is None:
        return outcome
    content = base.shown
    for leg in legs[:-1]:
        step = _replan(Base(content=content, shown=content), replace(present, data=leg.after), plan, leg.known)
        if not isinstance(step, Replanned):
            return outcome
        content = leg.after
    last = _replan(Base(content=content, shown=content), present, plan, legs[-1].known)
    if isinstance(last, Relevance):
        return outcome
    if isinstance(last, Carried):
        return Carried(splices=last.splices, ranges=outcome.ranges)
    return Replanned(plan=last.plan, ranges=outcome.ranges)


def _replan(
    base: Base, present: Snapshot, plan: Callable[[Snapshot], Plan], known: Sequence[Splice] | None
) -> Replanned | Carried | Relevance:
    """See `replan`. known: splices of whole lines between the contents; None to compare them."""
    fault = _fault(base.shown, present.data)
    if fault is not None or base.shown is None:
        return Relevance(reason=fault or "no_base")
    old = base.shown
    fmt = detect_format(old)
    if newline_style(old, fmt) != newline_style(present.data, fmt):
        return _replan_with_lf(old, present, plan)
    compared = _Comparison(old, old, present.data)
    try:
        then = plan(replace(present, data=old))
    except FileOpsError as failure:
        return compared.relevance("count" if isinstance(failure, _COUNTS) else "no_match_then")
    try:
        now = plan(present)
    except FileOpsError as failure:
        carried = compared.carry_without_match(then, failure, known)
        return carried or compared.relevance("count" if isinstance(failure, _COUNTS) else "no_match_now")
    reason = compared.reason(then, now) if known is None else compared.reason_over(then, now, known)
    if reason is not None:
        return compared.relevance(reason)
    unseen = None if known is None else _shift(known, then.splices)
    return Replanned(plan=now, ranges=compared.ranges, unseen=unseen)


def _replan_with_lf(old: bytes, present: Snapshot, plan: Callable[[Snapshot], Plan]) -> Replanned | Relevance:
    """Plan an edit on a content that has other line ends: texts are matched without regard to them."""
    if detect_format(old).unit_bytes > 1:
        return Relevance(reason="format")
    was, data = (each.replace(b"\r\n", b"\n") for each in (old, present.data))
    outcome = _replan(Base(content=was, shown=was), replace(present, data=data), plan, None)
    if not isinstance(outcome, Replanned):
        return outcome if isinstance(outcome, Relevance) else Relevance(reason="format", ranges=outcome.ranges)
    return Replanned(plan=plan(present), ranges=outcome.ranges)


def line_splices(data: bytes, splices: Sequence[Splice]) -> tuple[Splice, ...]:
    """Return splices of whole lines with the same effect, without lines that they leave unchanged.

    Whole lines that a splice only adds, or only removes, are at its place, also beside lines with the same words.
    """
    fmt = detect_format(data)
    found: list[Splice] = []
    group: list[Splice] = []
    for splice in splices:
        is_apart = not group or line_end(data, fmt, group[-1].end) <= splice.start
        if not (is_apart and _is_of_whole_lines(data, fmt, splice)):
            group.append(splice)
            continue
        found += (*_find_compared_lines(data, fmt, group), splice)
        group = []
    return (*found, *_find_compared_lines(data, fmt, group))


def _is_of_whole_lines(data: bytes, fmt: TextFormat, splice: Splice) -> bool:
    """Return whether a splice only adds whole lines, or only removes them."""
    if (splice.start < splice.end) == bool(splice.new):
        return False
    ends = splice.new[-fmt.unit_bytes :] == newline_of(fmt) if splice.new else True
    return ends and all(line_start(data, fmt, at) == at for at in (splice.start, splice.end))


def _find_compared_lines(data: bytes, fmt: TextFormat, splices: Sequence[Splice]) -> Iterator[Splice]:
    for region in regions(data, fmt, splices, None):
        yield Splice(region.start, region.end, b"".join(region.new))


def carry(
    base: Base, present: bytes, splices: Sequence[Splice], *, margin_lines: int = MARGIN_LINES
) -> Carried | Relevance:
    """Carry splices over `base.content` to the current content, or return why the change by others is relevant.

    margin_lines: how far from a changed line a change by others counts as near; with 0 only on the same line.
    """
    compared = _compare(base, present)
    return compared if isinstance(compared, Relevance) else compared.carry(splices, margin_lines)


def foreign_ranges(shown: bytes, present: bytes) -> tuple[LineRange, ...]:
    """Return the lines of the current content that differ from what a session was shown, one range for each change."""
    fmt = detect_format(present)
    lines = split_lines(present, fmt)
    changed = find_changed_ranges(split_lines(shown, fmt), lines)
    return tuple(_line_range(start, stop, len(lines)) for _, _, start, stop in changed)


def carry_shown(shown: bytes, present: bytes, splices: Sequence[Splice]) -> bytes:
    """Return what a session has been shown of a file after its own edit, the splices over the present content."""
    if shown == present:
        return splicing.apply(present, splices)
    rebased = rebase(splices, present, shown)
    return shown if rebased.conflicts else splicing.apply(shown, rebased.splices)


_COUNTS = (CountMismatch, MultipleMatches)


def _fault(old: bytes | None, present: bytes) -> RelevanceReason | None:
    """Return why the two contents cannot be compared."""
    if old is None:
        return "no_base"
    fmt = detect_format(old)
    if fmt != detect_format(present) or is_binary(old, fmt) or is_binary(present, fmt):
        return "format"
    return "too_large" if max(len(old), len(present)) > MAX_BYTES else None


def _compare(base: Base, present: bytes) -> "_Comparison | Relevance":
    old, shown = base.content, base.shown
    if old is None or shown is None:
        return Relevance(reason="no_base")
    fault = _fault(old, present)
    if fault is None and newline_style(old, detect_format(old)) != newline_style(present, detect_format(present)):
        fault = "format"
    return _Comparison(old, shown, present) if fault is None else Relevance(reason=fault)


class _Comparison:
    """What others changed between two contents, by lines."""

    def __init__(self, old: bytes, shown: bytes, present: bytes) -> None:
        self.old = old
        self._present = present
        self._fmt = fmt = detect_format(old)
        self._lines = split_lines(old, fmt)
        self._now = split_lines(present, fmt)
        self._foreign = foreign = find_changed_ranges(self._lines, self._now)
        self._touched = list(_find_touched(self._lines, self._now, foreign))
        if shown is not old:
            shown_lines = split_lines(shown, fmt)
            unseen = [(b, b_end, a, a_end) for a, a_end, b, b_end in find_changed_ranges(shown_lines, self._lines)]
            self._touched += _find_touched(self._lines, shown_lines, unseen)
            foreign = find_changed_ranges(shown_lines, self._now)
        self.ranges = tuple(_line_range(start, stop, len(self._now)) for _, _, start, stop in foreign)

    def relevance(self, reason: RelevanceReason) -> Relevance:
        return Relevance(reason=reason, ranges=self.ranges)

    def carry(self, splices: Sequence[Splice], margin_lines: int) -> Carried | Relevance:
        """See `carry`."""
        if self._is_near(splices, margin_lines):
            return self.relevance("near")
        rebased = rebase(splices, self.old, self._present)
        if rebased.conflicts:
            return self.relevance("elsewhere")
        return Carried(splices=rebased.splices, ranges=self.ranges)

    # --- over what is known ----------------------------------------------------------------------------------------

    def reason_over(self, then: Plan, now: Plan, known: Sequence[Splice]) -> RelevanceReason | None:
        """Return why known changes are relevant to an edit.

        then, now: the edit planned on both contents. Their splices replace what was quoted; so a known change may touch
        them, but not overlap them.
        """
        carried = _over(then.splices, known)
        if carried is None:
            return "near"
        is_same = [(each.start, each.end) for each in carried] == [(each.start, each.end) for each in now.splices]
        if not is_same:
            return "elsewhere"
        return "near" if self._is_made_twice(then.splices, now.splices) else None

    def carry_without_match(self, then: Plan, failure: FileOpsError, known: Sequence[Splice] | None) -> Carried | None:
        """Carry an edit over whose text is not found as it is: there once more, or with other blanks."""
        is_single = len(then.edits) == 1 and not then.edits[0].replace_all and len(then.splices) == 1
        if not is_single:
            return None
        if isinstance(failure, MultipleMatches) and known is not None:
            carried = _over(then.splices, known)
            is_free = carried is not None and not self._is_made_twice(then.splices, carried)
            return Carried(splices=carried, ranges=self.ranges) if carried is not None and is_free else None
        if isinstance(failure, NoMatch) and is_blank_change(self._lines, self._now):
            moved = reindent(self.old, self._lines, self._present, self._now, self._fmt, then.splices[0])
            return None if moved is None else Carried(splices=(moved,), ranges=self.ranges)
        return None

    # --- by comparison ---------------------------------------------------------------------------------------------

    def reason(self, then: Plan, now: Plan) -> RelevanceReason | None:
        """Return why changes by other programs are relevant to an edit. then, now: it, planned on both contents."""
        reason = self._reason_beside(then, now)
        if reason is None:
            return "near" if self._is_made_twice(then.splices, now.splices) else None
        if is_blank_change(self._lines, self._now):
            return None if self._is_same_line_but_for_blanks(then, now) else reason
        if is_in_moved_block(self.old, self._lines, self._present, self._now, then.splices, now.splices, self._fmt):
            return None
        if reason == "near" and self.is_moved(then.splices, now.splices):
            return "elsewhere"
        return reason

    def _reason_beside(self, then: Plan, now: Plan) -> RelevanceReason | None:
        mine = _to_changed_ranges(self.old, then.splices)
        if self._has_changed_neighbour(mine, then):
            return "near"
        rebased = rebase(then.splices, self.old, self._present)
        if rebased.conflicts:
            return "elsewhere"
        if splicing.apply(self._present, rebased.splices) != splicing.apply(self._present, now.splices):
            return "elsewhere"
        return None if all(self._stands_under_the_same(start, stop) for start, stop, _, _ in mine) else "elsewhere"

    def _has_changed_neighbour(self, mine: Sequence[Range], then: Plan) -> bool:
        """Return whether a line directly beside the changed lines is not the same line, or a line came in between.

        Blank lines between are skipped. Places are gaps between lines: gap n is above line n. If the same lines could
        as well be inserted or deleted at other places, all of these count.
        """
        new = split_lines(splicing.apply(self.old, then.splices), self._fmt)
        theirs = list(_extents(self._lines, self._now, self._foreign))
        for start, stop in self._find_anchored(_extents(self._lines, new, mine), then):
            above = next((n for n in range(start - 1, -1, -1) if not is_blank(self._lines[n])), -1)
            below = next((n for n in range(stop, len(self._lines)) if not is_blank(self._lines[n])), len(self._lines))
            if any(first <= below and above + 1 <= last for first, last in theirs):
                return True
        return False

    def _find_anchored(self, places: Iterable[tuple[int, int]], then: Plan) -> Iterator[tuple[int, int]]:
        """Yield the old lines [start, stop) of each place, an insertion with the quoted lines beside which it is."""
        quotes = [
            (
                count_newlines(self.old, self._fmt, 0, splice.start),
                count_newlines(self.old, self._fmt, 0, max(splice.start, splice.end - self._fmt.unit_bytes)) + 1,
            )
            for splice in then.splices
        ]
        for start, stop in places:
            is_insertion = start == stop
            has_above = is_insertion and any(first < start <= last for first, last in quotes)
            has_below = is_insertion and any(first <= stop < last for first, last in quotes)
            yield start - has_above, stop + has_below

    def _stands_under_the_same(self, start: int, stop: int) -> bool:
        """Return whether the lines that enclose old lines are the same lines in both contents.

        A line that closes something says too little by itself, so what it closes has to be the same, too.
        """
        above = next((n for n in range(start - 1, -1, -1) if not is_blank(self._lines[n])), -1)
        meant = next((n for n in range(start, stop) if not is_blank(self._lines[n])), above)
        beside = [above] if above >= 0 and closes(self._lines[above]) else []
        return all(self._is_enclosed_alike(line) for line in (meant, *beside) if line >= 0)

    def _is_enclosed_alike(self, line: int) -> bool:
        line_now = self._now_at(line)
        if line_now is None:
            return False
        return [self._now_at(each) for each in find_enclosing(self._lines, line)] == find_enclosing(self._now, line_now)

    def _now_at(self, line: int) -> int | None:
        """Return the present index of an old line; None if others changed it."""
        at = bisect_right(self._foreign, line, key=lambda changed: changed[0])
        if at == 0:
            return line if line < len(self._lines) else None
        _, a_end, _, b_end = self._foreign[at - 1]
        return None if line < a_end or line >= len(self._lines) else line - a_end + b_end

    def _is_same_line_but_for_blanks(self, then: Plan, now: Plan) -> bool:
        """Return whether an edit changes the same lines of both, and these stand under the same lines."""

        def places(data: bytes, lines: Sequence[bytes], plan: Plan) -> list[tuple[int, list[int]]]:
            ordinals = {n: number for number, n in enumerate(n for n, line in enumerate(lines) if not is_blank(line))}
            starts = [count_newlines(data, self._fmt, 0, splice.start) for splice in plan.splices]
            return [
                (ordinals.get(start, -1), [ordinals[each] for each in find_enclosing(lines, start)]) for start in starts
            ]

        before = places(self.old, self._lines, then)
        return before == places(self._present, self._now, now) and all(number >= 0 for number, _ in before)

    def _is_made_twice(self, then: Sequence[Splice], now: Sequence[Splice]) -> bool:
        """Return whether others added a line that the edit adds, too, within TWICE_LINES lines of it."""
        mine = find_added_lines(self.old, then, self._fmt)
        if not mine:
            return False
        for start, stop, _, _ in _to_changed_ranges(self._present, now):
            low, high = start - TWICE_LINES, stop + TWICE_LINES
            for _, _, b, b_end in self._foreign:
                near = self._now[max(b, low, 0) : max(0, min(b_end, high))]
                if any(line.strip() in mine for line in near if not is_blank(line)):
                    return True
        return False

    def is_moved(self, then: Sequence[Splice], now: Sequence[Splice]) -> bool:
        """Return whether others removed lines that `then` changes, and `now` changes lines that others moved."""
        removed = {
            index
            for start, stop, _, _ in _to_changed_ranges(self.old, then)
            for index, (a, a_end, _, _) in enumerate(self._foreign)
            if start < a_end and a < stop
        }
        brought = {
            index
            for start, stop, _, _ in _to_changed_ranges(self._present, now)
            for index, (_, _, b, b_end) in enumerate(self._foreign)
            if start < b_end and b < stop
        }
        return bool(removed and brought - removed)

    def _is_near(self, splices: Sequence[Splice], margin_lines: int) -> bool:
        """Return whether a line that others changed is within `margin_lines` lines of one that the splices change."""
        lines = split_lines(splicing.apply(self.old, splices), self._fmt)
        return any(
            first - margin_lines <= foreign_last and foreign_first <= last + margin_lines
            for first, last in _find_touched(self._lines, lines, _to_changed_ranges(self.old, splices))
            for foreign_first, foreign_last in self._touched
        )


def _over(splices: Sequence[Splice], known: Sequence[Splice]) -> tuple[Splice, ...] | None:
    """Carry splices over known ones; None if some overlap. Both are over the same content.

    What is inserted at the start of a splice is above it, and what is inserted at its end is below it.
    """
    carried: list[Splice] = []
    at = shift = 0
    for splice in splices:
        while at < len(known) and known[at].end <= splice.start:
            shift += len(known[at].new) - (known[at].end - known[at].start)
            at += 1
        if at < len(known) and known[at].start < splice.end:
            return None
        carried.append(Splice(splice.start + shift, splice.end + shift, splice.new))
    return tuple(carried)


def _shift(known: Sequence[Splice], mine: Sequence[Splice]) -> tuple[Splice, ...]:
    """Return the known splices over the content after mine, which they do not overlap."""
    shifted: list[Splice] = []
    at = shift = 0
    for splice in known:
        while at < len(mine) and mine[at].end <= splice.start:
            shift += len(mine[at].new) - (mine[at].end - mine[at].start)
            at += 1
        shifted.append(Splice(splice.start + shift, splice.end + shift, splice.new))
    return tuple(shifted)


def _to_changed_ranges(data: bytes, splices: Sequence[Splice]) -> list[Range]:
    """Return the lines that splices change, in the form of `find_changed_ranges`."""
    return [
        (region.old_at, region.old_at + len(region.old), region.new_at, region.new_at + len(region.new))
        for region in regions(data, detect_format(data), splices, None)
    ]


def _find_touched(old: Sequence[bytes], new: Sequence[bytes], ranges: Sequence[Range]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last old line that each range may change.

    An insertion changes the lines on both sides of it.
    """
    for (a, a_end, _, _), (start, stop) in zip(ranges, _extents(old, new, ranges), strict=True):
        is_insertion = a == a_end
        yield max(0, start - is_insertion), min(len(old) - 1, stop - (not is_insertion))


def _extents(old: Sequence[bytes], new: Sequence[bytes], ranges: Sequence[Range]) -> Iterator[tuple[int, int]]:
    """Yield the old lines [start, stop) that each range may change; an insertion is empty.

    If the same lines could as well be inserted or deleted at other places, all of these count, since it is unknown
    which was meant.
    """
    stops = [(0, 0), *((a_end, b_end) for _, a_end, _, b_end in ranges)]
    starts = [*((a, b) for a, _, b, _ in ranges), (len(old), len(new))]
    for (above, _), (a, a_end, b, b_end), (below, _) in zip(stops, ranges, starts[1:], strict=False):
        removed, added = old[a:a_end], new[b:b_end]
        after, before = old[a_end:below], old[above:a][::-1]
        n_down = max(_reach(removed, after), _reach(added, after))
        n_up = max(_reach(removed[::-1], before), _reach(added[::-1], before))
        yield a - n_up, a_end + n_down


def _reach(block: Sequence[bytes], after: Sequence[bytes]) -> int:
    """Return how many lines after a block could belong to it: they repeat one or more of its last lines."""
    of_block = set(block)
    n_most = next((index for index, line in enumerate(after) if line not in of_block), len(after))
    if len(block) * n_most > _MAX_PRODUCT:
        return n_most
    lines = [*block, *after[:n_most]]
    return max((_n_equal(lines, len(block), at) for at in range(len(block)) if n_most), default=0)


def _n_equal(lines: Sequence[bytes], start: int, other: int) -> int:
    """Return how many lines from `start` on equal those from `other` on."""
    n = 0
    while start + n < len(lines) and lines[start + n] == lines[other + n]:
        n += 1
    return n


def _line_range(start: int, stop: int, n_lines: int) -> LineRange:
    """Return the 1-based range; for no lines, the line at their place."""
    first = min(start + 1, max(n_lines, 1))
    return LineRange(start_line=first, end_line=max(stop, first))
