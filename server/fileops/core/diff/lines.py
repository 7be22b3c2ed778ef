"""Line diff of two texts at a limited cost.

Common lines at both ends are removed first. A small rest is compared exactly. A large one is divided at lines that are
unique on both sides, as in patience diff, and beyond that compared line against line.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import islice
from operator import lt, ne

from msgspec import Struct

Line = str | bytes
Range = tuple[int, int, int, int]  # old_start, old_end, new_start, new_end, 0-based, ends exclusive

_MAX_PRODUCT = 20_000  # lines × lines that are compared exactly within milliseconds
_MAX_LINES = 200_000
_MAX_DEPTH = 16  # of division; each level costs a pass


class CostBudget(Struct):
    """The remaining cost of exact comparisons, in lines × lines (at most about 0.6 µs each)."""

    left: int = 200_000


def find_changed_ranges(old: Sequence[Line], new: Sequence[Line], effort: CostBudget | None = None) -> list[Range]:
    """Return the ranges in which the two differ, in order. They never touch; the lines between them are equal."""
    ranges: list[Range] = []
    _collect(old, new, (0, len(old), 0, len(new)), ranges, effort or CostBudget(), _MAX_DEPTH)
    return ranges


def positional_ranges(old: Sequence[Line], new: Sequence[Line], *, max_gap: int = 0) -> list[Range]:
    """Compare line against line if both sides have equally many, otherwise return all lines.

    Ranges with at most `max_gap` equal lines between them are combined and include these lines.
    """
    if len(old) != len(new):
        return [(0, len(old), 0, len(new))]
    changed = [index for index, differs in enumerate(map(ne, old, new)) if differs]
    ranges: list[Range] = []
    start = end = -1
    for index in changed:
        if start >= 0 and index - end > max_gap:
            ranges.append((start, end, start, end))
            start = index
        elif start < 0:
            start = index
        end = index + 1
    if start >= 0:
        ranges.append((start, end, start, end))
    return ranges


def _collect(
    old: Sequence[Line], new: Sequence[Line], within: Range, ranges: list[Range], effort: CostBudget, depth: int
) -> None:
    a, a_end, b, b_end = within
    while a < a_end and b < b_end and old[a] == new[b]:
        a += 1
        b += 1
    while a < a_end and b < b_end and old[a_end - 1] == new[b_end - 1]:
        a_end -= 1
        b_end -= 1
    if a == a_end and b == b_end:
        return
    if a == a_end or b == b_end or (a_end - a, b_end - b) == (1, 1):
        _add(ranges, (a, a_end, b, b_end))
        return
    product = (a_end - a) * (b_end - b)
    if product <= min(_MAX_PRODUCT, effort.left):
        effort.left -= product
        matcher = SequenceMatcher(None, old[a:a_end], new[b:b_end], autojunk=False)
        for tag, i, j, k, m in matcher.get_opcodes():
            if tag != "equal":
                _add(ranges, (a + i, a + j, b + k, b + m))
        return
    is_divided = depth and a_end - a + b_end - b <= _MAX_LINES
    anchors = _anchors(old, new, a, a_end, b, b_end) if is_divided else []
    if not anchors:
        for i, j, k, m in positional_ranges(old[a:a_end], new[b:b_end]):
            _add(ranges, (a + i, a + j, b + k, b + m))
        return
    for i, k in anchors:
        if i > a or k > b:
            _collect(old, new, (a, i, b, k), ranges, effort, depth - 1)
        a, b = i + 1, k + 1
    _collect(old, new, (a, a_end, b, b_end), ranges, effort, depth - 1)


def _anchors(old: Sequence[Line], new: Sequence[Line], a: int, a_end: int, b: int, b_end: int) -> list[tuple[int, int]]:
    """Return lines that occur exactly once on each side, as the longest chain that ascends on both."""
    n_old, n_new = Counter(old[a:a_end]), Counter(new[b:b_end])
    place = {line: index for index, line in enumerate(new[b:b_end], b) if n_new[line] == 1}
    pairs = [(index, place[line]) for index, line in enumerate(old[a:a_end], a) if n_old[line] == 1 and line in place]
    new_places = [at for _, at in pairs]
    if all(map(lt, new_places, islice(new_places, 1, None))):  # no line has moved, so the chain has all of them
        return pairs
    tails: list[int] = []  # smallest end of a chain of each length
    last: list[int] = []
    before: list[int] = []
    for number, (_, at) in enumerate(pairs):
        length = len(tails) if not tails or at > tails[-1] else bisect_left(tails, at)
        before.append(last[length - 1] if length else -1)
        tails[length : length + 1] = [at]
        last[length : length + 1] = [number]
    chain: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def _add(ranges: list[Range], item: Range) -> None:
    if ranges and ranges[-1][1] == item[0] and ranges[-1][3] == item[2]:
        item = (ranges[-1][0], item[1], ranges[-1][2], item[3])
        ranges.pop()
    ranges.append(item)
