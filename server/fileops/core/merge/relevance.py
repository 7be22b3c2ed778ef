"""Decides whether others' changes to a file are relevant to an edit that was made for the content before them.

There are two contents: the one that the session knows (`base`) and the current one (`present`). Others' change is not
relevant if the edit does the same to both, at the same place, and no changed line is near it. The edit may then be
applied as if it had been made for the current content. Nothing is guessed: if in doubt, the change is relevant.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from msgspec import Struct

from fileops.core import splices as splicing
from fileops.core.diff.lines import Range, changed_ranges
from fileops.core.diff.regions import regions
from fileops.core.merge.rebase import rebase
from fileops.core.text import detect_format, is_binary, newline_style, split_lines
from fileops.model.edits import LineRange, Plan, Relevance, RelevanceReason, Splice
from fileops.model.errors import CountMismatch, FileOpsError, MultipleMatches
from fileops.model.files import Base, Snapshot

MARGIN_LINES = 3  # as many unchanged lines as a diff shows around a change
MAX_BYTES = 1 << 20  # of a content; a larger file is read again rather than compared
_MAX_PRODUCT = 100_000  # lines × lines that are compared within milliseconds


class Carried(Struct, frozen=True, kw_only=True):
    """Splices carried over to the present content. ranges: the lines of it that others changed, in order."""

    splices: tuple[Splice, ...]
    ranges: tuple[LineRange, ...]


class Replanned(Struct, frozen=True, kw_only=True):
    """An edit planned on the present content. ranges: the lines of it that others changed, in order."""

    plan: Plan
    ranges: tuple[LineRange, ...]


def replan(base: Base, present: Snapshot, plan: Callable[[Snapshot], Plan]) -> Replanned | Relevance:
    """Plan an edit on the current content, or return why the change by others is relevant to it.

    plan: plans the edit on a snapshot. A FileOpsError becomes a reason; everything else is raised.
    """
    compared = _compared(base, present.data)
    if isinstance(compared, Relevance):
        return compared
    try:
        then = plan(replace(present, data=compared.old))
    except FileOpsError as failure:
        return compared.relevance("count" if isinstance(failure, _COUNTS) else "no_match_then")
    try:
        now = plan(present)
    except FileOpsError as failure:
        return compared.relevance("count" if isinstance(failure, _COUNTS) else "no_match_now")
    carried = compared.carry(then.splices, MARGIN_LINES)
    if isinstance(carried, Relevance):
        was_moved = carried.reason == "near" and compared.is_moved(then.splices, now.splices)
        return compared.relevance("elsewhere") if was_moved else carried
    if splicing.apply(present.data, carried.splices) != splicing.apply(present.data, now.splices):
        return compared.relevance("elsewhere")
    return Replanned(plan=now, ranges=carried.ranges)


def carry(
    base: Base, present: bytes, splices: Sequence[Splice], *, margin_lines: int = MARGIN_LINES
) -> Carried | Relevance:
    """Carry splices over `base.content` to the current content, or return why the change by others is relevant.

    margin_lines: how far from a changed line a change by others counts as near; with 0 only on the same line.
    """
    compared = _compared(base, present)
    return compared if isinstance(compared, Relevance) else compared.carry(splices, margin_lines)


def foreign_ranges(shown: bytes, present: bytes) -> tuple[LineRange, ...]:
    """Return the lines of the current content that differ from what a session was shown, one range for each change."""
    fmt = detect_format(present)
    lines = split_lines(present, fmt)
    changed = changed_ranges(split_lines(shown, fmt), lines)
    return tuple(_line_range(start, stop, len(lines)) for _, _, start, stop in changed)


def shown_after(shown: bytes, present: bytes, splices: Sequence[Splice]) -> bytes:
    """Return what a session has been shown of a file after its own edit, the splices over the present content."""
    if shown == present:
        return splicing.apply(present, splices)
    rebased = rebase(splices, present, shown)
    return shown if rebased.conflicts else splicing.apply(shown, rebased.splices)


_COUNTS = (CountMismatch, MultipleMatches)


def _compared(base: Base, present: bytes) -> "_Comparison | Relevance":
    old, shown = base.content, base.shown
    if old is None or shown is None:
        return Relevance(reason="no_base")
    fmt = detect_format(old)
    is_text = not (is_binary(old, fmt) or is_binary(present, fmt))
    if fmt != detect_format(present) or not is_text or newline_style(old, fmt) != newline_style(present, fmt):
        return Relevance(reason="format")
    if max(len(old), len(present)) > MAX_BYTES:
        return Relevance(reason="too_large")
    return _Comparison(old, shown, present)


class _Comparison:
    """What others changed between two contents, by lines."""

    def __init__(self, old: bytes, shown: bytes, present: bytes) -> None:
        self.old = old
        self._present = present
        self._fmt = fmt = detect_format(old)
        self._lines = split_lines(old, fmt)
        lines = split_lines(present, fmt)
        self._foreign = foreign = changed_ranges(self._lines, lines)
        self._touched = list(_touched(self._lines, lines, foreign))
        if shown is not old:
            shown_lines = split_lines(shown, fmt)
            unseen = [(b, b_end, a, a_end) for a, a_end, b, b_end in changed_ranges(shown_lines, self._lines)]
            self._touched += _touched(self._lines, shown_lines, unseen)
            foreign = changed_ranges(shown_lines, lines)
        self._ranges = tuple(_line_range(start, stop, len(lines)) for _, _, start, stop in foreign)

    def relevance(self, reason: RelevanceReason) -> Relevance:
        return Relevance(reason=reason, ranges=self._ranges)

    def carry(self, splices: Sequence[Splice], margin_lines: int) -> Carried | Relevance:
        """See `carry`."""
        if self._is_near(splices, margin_lines):
            return self.relevance("near")
        rebased = rebase(splices, self.old, self._present)
        if rebased.conflicts:
            return self.relevance("elsewhere")
        return Carried(splices=rebased.splices, ranges=self._ranges)

    def is_moved(self, then: Sequence[Splice], now: Sequence[Splice]) -> bool:
        """Return whether others removed lines that `then` changes, and `now` changes lines that others moved."""
        removed = {
            index
            for start, stop, _, _ in _changed(self.old, then)
            for index, (a, a_end, _, _) in enumerate(self._foreign)
            if start < a_end and a < stop
        }
        brought = {
            index
            for start, stop, _, _ in _changed(self._present, now)
            for index, (_, _, b, b_end) in enumerate(self._foreign)
            if start < b_end and b < stop
        }
        return bool(removed and brought - removed)

    def _is_near(self, splices: Sequence[Splice], margin_lines: int) -> bool:
        """Return whether a line that others changed is within `margin_lines` lines of one that the splices change."""
        lines = split_lines(splicing.apply(self.old, splices), self._fmt)
        return any(
            first - margin_lines <= foreign_last and foreign_first <= last + margin_lines
            for first, last in _touched(self._lines, lines, _changed(self.old, splices))
            for foreign_first, foreign_last in self._touched
        )


def _changed(data: bytes, splices: Sequence[Splice]) -> list[Range]:
    """Return the lines that splices change, in the form of `changed_ranges`."""
    return [
        (region.old_at, region.old_at + len(region.old), region.new_at, region.new_at + len(region.new))
        for region in regions(data, detect_format(data), splices, None)
    ]


def _touched(old: Sequence[bytes], new: Sequence[bytes], ranges: Sequence[Range]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last old line that each range may change.

    An insertion changes the lines on both sides of it. If the same lines could as well be inserted or deleted at other
    places, all of these count, since it is unknown which was meant.
    """
    stops = [(0, 0), *((a_end, b_end) for _, a_end, _, b_end in ranges)]
    starts = [*((a, b) for a, _, b, _ in ranges), (len(old), len(new))]
    for (above, _), (a, a_end, b, b_end), (below, _) in zip(stops, ranges, starts[1:], strict=False):
        removed, added = old[a:a_end], new[b:b_end]
        after, before = old[a_end:below], old[above:a][::-1]
        n_down = max(_reach(removed, after), _reach(added, after))
        n_up = max(_reach(removed[::-1], before), _reach(added[::-1], before))
        is_insertion = a == a_end
        yield max(0, a - n_up - is_insertion), min(len(old) - 1, a_end + n_down - (not is_insertion))


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
