"""Whole lines that splices remove and add, as bytes.

The cost depends on the splices: only the lines that they touch are split, and the newlines before them are counted.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from fileops.core.diff.lines import CostBudget, find_changed_ranges, positional_ranges
from fileops.core.text import count_newlines, line_end, line_start, split_lines
from fileops.model.edits import Splice
from fileops.model.files import TextFormat

CONTEXT_LINES = 3  # around a change, in diff, hunks and snippet
MAX_COMPARED_LINES = 400_000  # of one block on both sides; larger ones count as removed and added
MANY_SPLICES = 64  # more are compared line against line, which is cheaper


class ChangedRegion(Struct, kw_only=True, gc=False):
    """Removed and added lines. old_at, new_at: their 0-based first line; start, end: bytes of the old data.

    in_pairs: each line corresponds to the line at the same index on the other side, and some of them are equal.
    """

    old_at: int
    new_at: int
    start: int
    end: int
    old: Sequence[bytes]
    new: Sequence[bytes]
    in_pairs: bool


class _Block(Struct, kw_only=True, gc=False):
    """Whole lines [start, end) of the data that one or more splices touch, and their new text."""

    start: int
    end: int
    pieces: list[bytes]
    reached: int  # end of the last splice; the data up to `end` follows it


def regions(data: bytes, fmt: TextFormat, splices: Sequence[Splice], first_line: int | None) -> Iterator[ChangedRegion]:
    """Yield the regions in order. `first_line` is the 1-based line of the first splice, None to count it."""
    counted_at, old_at, shift = 0, 0, 0
    if first_line is not None and splices:
        counted_at, old_at = line_start(data, fmt, splices[0].start), first_line - 1
    is_many = len(splices) > MANY_SPLICES
    effort = CostBudget(50_000) if is_many else CostBudget()
    for block in _blocks(data, fmt, splices):
        old_at += count_newlines(data, fmt, counted_at, block.start)
        counted_at = block.start
        old = split_lines(data[block.start : block.end], fmt)
        new = split_lines(b"".join((*block.pieces, data[block.reached : block.end])), fmt)
        if len(old) == len(new) == 1:  # of many changes, most are
            if old != new:
                yield ChangedRegion(
                    old_at=old_at,
                    new_at=old_at + shift,
                    start=block.start,
                    end=block.end,
                    old=old,
                    new=new,
                    in_pairs=False,
                )
            continue
        in_pairs = is_many and len(old) == len(new)
        if in_pairs:
            ranges = positional_ranges(old, new, max_gap=2 * CONTEXT_LINES)
        elif len(old) + len(new) > MAX_COMPARED_LINES:
            ranges = [(0, len(old), 0, len(new))]
        else:
            ranges = find_changed_ranges(old, new, effort)
        start, at = block.start, 0
        for a, a_end, b, b_end in ranges:
            start += sum(map(len, old[at:a]))
            end = start + sum(map(len, old[a:a_end]))
            yield ChangedRegion(
                old_at=old_at + a,
                new_at=old_at + shift + b,
                start=start,
                end=end,
                old=old[a:a_end],
                new=new[b:b_end],
                in_pairs=in_pairs,
            )
            start, at = end, a_end
        shift += len(new) - len(old)


def _blocks(data: bytes, fmt: TextFormat, splices: Sequence[Splice]) -> Iterator[_Block]:
    """Yield blocks up to the end of the line in which a splice ends, because its rest may join another line."""
    block: _Block | None = None
    for splice in splices:
        if block is not None and (splice.start < block.end or block.end == len(data)):
            block.pieces += (data[block.reached : splice.start], splice.new)
        else:
            if block is not None:
                yield block
            start = line_start(data, fmt, splice.start)
            block = _Block(start=start, end=start, pieces=[data[start : splice.start], splice.new], reached=start)
        block.reached = splice.end
        if splice.end >= block.end:
            block.end = line_end(data, fmt, splice.end)
    if block is not None:
        yield block
