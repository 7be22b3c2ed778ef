"""Which lines, and inside changed lines which words, two contents have in common, at a bounded cost.

For what was not made by our own splices: a person's text in the place of a proposal, a file that went on
after an edit. What our own edits changed is known from their splices and never compared.
"""

import re
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from fileops.core.text import find_aligned, newline_of, return_of
from fileops.model import Splice, TextFormat

MAX_EXACT = 2_000  # elements of both sides together; difflib is quadratic at best and cubic at worst
MAX_REFINED_BYTES = 4_096  # of one side of a changed block that is compared word by word
_WORDS = re.compile(rb"[\w\x80-\xff]+|\s+|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Line:
    """Byte offsets: the content is [start, end), its line end (LF, CRLF or nothing) is [end, stop)."""

    start: int
    end: int
    stop: int


@dataclass(frozen=True, slots=True)
class Match:
    """`n` elements from `i` on the one side are those from `j` on the other."""

    i: int
    j: int
    n: int


def lines_of(data: bytes, fmt: TextFormat) -> list[Line]:
    """All lines, in order. A final newline starts one more line, an empty one; the BOM belongs to no line."""
    newline, carriage_return, unit = newline_of(fmt), return_of(fmt), fmt.unit_bytes
    lines: list[Line] = []
    start = len(fmt.bom)
    while (at := find_aligned(data, newline, fmt, start)) >= 0:
        has_return = at - unit >= start and data[at - unit : at] == carriage_return
        lines.append(Line(start, at - unit if has_return else at, at + unit))
        start = at + unit
    lines.append(Line(start, len(data), len(data)))
    return lines


def matches(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Match]:
    """Common runs of two sequences, in order on both sides, never overlapping, adjacent ones joined."""
    found: list[Match] = []
    _collect(a, b, 0, len(a), 0, len(b), found)
    joined: list[Match] = []
    for match in found:
        last = joined[-1] if joined else None
        if last is not None and last.i + last.n == match.i and last.j + last.n == match.j:
            joined[-1] = Match(last.i, last.j, last.n + match.n)
        else:
            joined.append(match)
    return joined


def gaps(found: Sequence[Match], n_a: int, n_b: int) -> list[tuple[int, int, int, int]]:
    """What lies between the matches: `(i, i_stop, j, j_stop)`, at least one side of each not empty."""
    result: list[tuple[int, int, int, int]] = []
    i = j = 0
    for match in (*found, Match(n_a, n_b, 0)):
        if i < match.i or j < match.j:
            result.append((i, match.i, j, match.j))
        i, j = match.i + match.n, match.j + match.n
    return result


def changes(before: bytes, after: bytes, fmt: TextFormat) -> tuple[Splice, ...]:
    """Splices over `before` that give `after`: line by line, and word by word inside small changed blocks."""
    if before == after:
        return ()
    old, new = lines_of(before, fmt), lines_of(after, fmt)
    if fmt.bom and not after.startswith(fmt.bom):
        return (Splice(0, len(before), after),)
    old_parts = [before[line.start : line.stop] for line in old]
    new_parts = [after[line.start : line.stop] for line in new]
    result: list[Splice] = []
    for i, i_stop, j, j_stop in gaps(matches(old_parts, new_parts), len(old), len(new)):
        start, stop = _extent(old, i, i_stop, len(before))
        new_start, new_stop = _extent(new, j, j_stop, len(after))
        result.extend(_refined(before[start:stop], after[new_start:new_stop], start, fmt))
    return tuple(result)


def _extent(lines: Sequence[Line], first: int, stop: int, size: int) -> tuple[int, int]:
    start = lines[first].start if first < len(lines) else size
    return start, lines[stop - 1].stop if stop > first else start


def _refined(old: bytes, new: bytes, offset: int, fmt: TextFormat) -> list[Splice]:
    if not old or not new or max(len(old), len(new)) > MAX_REFINED_BYTES:
        return [_trimmed(old, new, offset, fmt.unit_bytes)]
    if fmt.unit_bytes == 1:
        old_words, new_words = _WORDS.findall(old), _WORDS.findall(new)
    else:
        old_words, new_words = _units(old, fmt.unit_bytes), _units(new, fmt.unit_bytes)
    starts = _starts(old_words)
    new_starts = _starts(new_words)
    return [
        _trimmed(old[starts[i] : starts[i_stop]], new[new_starts[j] : new_starts[j_stop]], offset + starts[i], 0)
        for i, i_stop, j, j_stop in gaps(matches(old_words, new_words), len(old_words), len(new_words))
    ]


def _units(data: bytes, width: int) -> list[bytes]:
    return [data[at : at + width] for at in range(0, len(data), width)]


def _starts(words: Sequence[bytes]) -> list[int]:
    result = [0]
    for word in words:
        result.append(result[-1] + len(word))
    return result


def _trimmed(old: bytes, new: bytes, offset: int, unit: int) -> Splice:
    """One splice without the ends that both sides share; `unit` 0: nothing is trimmed."""
    if not unit:
        return Splice(offset, offset + len(old), new)
    shorter = min(len(old), len(new))
    head = _common_head(old, new, shorter) // unit * unit
    tail = _common_head(old[::-1], new[::-1], shorter - head) // unit * unit
    if unit == 1:
        while head and not _is_boundary(old, head):
            head -= 1
        while tail and not _is_boundary(old, len(old) - tail):
            tail -= 1
    return Splice(offset + head, offset + len(old) - tail, new[head : len(new) - tail])


def _common_head(a: bytes, b: bytes, limit: int) -> int:
    low, high = 0, limit
    if a[:limit] == b[:limit]:
        return limit
    while high - low > 1:  # the first `low` bytes agree, the first `high` do not
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _is_boundary(data: bytes, at: int) -> bool:
    """Whether no UTF-8 character is cut at `at`."""
    return at >= len(data) or data[at] & 0xC0 != 0x80


def _collect(
    a: Sequence[Hashable], b: Sequence[Hashable], i: int, i_stop: int, j: int, j_stop: int, found: list[Match]
) -> None:
    head = 0
    while i + head < i_stop and j + head < j_stop and a[i + head] == b[j + head]:
        head += 1
    if head:
        found.append(Match(i, j, head))
    i, j = i + head, j + head
    tail = 0
    while i < i_stop - tail and j < j_stop - tail and a[i_stop - tail - 1] == b[j_stop - tail - 1]:
        tail += 1
    i_stop, j_stop = i_stop - tail, j_stop - tail
    if i < i_stop and j < j_stop:
        if i_stop - i + j_stop - j <= MAX_EXACT:
            matcher = SequenceMatcher(None, a[i:i_stop], b[j:j_stop], autojunk=False)
            found.extend(Match(i + x, j + y, n) for x, y, n in matcher.get_matching_blocks() if n)
        else:
            _between_anchors(a, b, i, i_stop, j, j_stop, found)
    if tail:
        found.append(Match(i_stop, j_stop, tail))


def _between_anchors(
    a: Sequence[Hashable], b: Sequence[Hashable], i: int, i_stop: int, j: int, j_stop: int, found: list[Match]
) -> None:
    """Patience diff: what stands once on both sides, in the same order, holds the rest apart."""
    for x, y in _anchors(a, b, i, i_stop, j, j_stop):
        if x < i or y < j:
            continue  # taken by the run that grew from an earlier anchor
        _collect(a, b, i, x, j, y, found)
        i, j = x, y
        n = 0
        while i + n < i_stop and j + n < j_stop and a[i + n] == b[j + n]:
            n += 1
        found.append(Match(i, j, n))
        i, j = i + n, j + n
    if i < i_stop and j < j_stop and i_stop - i + j_stop - j <= MAX_EXACT:
        _collect(a, b, i, i_stop, j, j_stop, found)


def _anchors(
    a: Sequence[Hashable], b: Sequence[Hashable], i: int, i_stop: int, j: int, j_stop: int
) -> list[tuple[int, int]]:
    once_a, once_b = _once(a, i, i_stop), _once(b, j, j_stop)
    pairs = [(x, once_b[key]) for key, x in once_a.items() if key in once_b]
    pairs.sort()
    return _rising(pairs)


def _once(items: Sequence[Hashable], start: int, stop: int) -> dict[Hashable, int]:
    seen: dict[Hashable, int] = {}
    for at in range(start, stop):
        seen[items[at]] = -1 if items[at] in seen else at
    return {key: at for key, at in seen.items() if at >= 0}


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of `pairs` (sorted by their first) whose seconds rise."""
    tops: list[int] = []  # the smallest end of a rising run of each length
    top_of: list[int] = []  # index in `pairs` of that end
    before: list[int] = []
    for at, (_, y) in enumerate(pairs):
        length = bisect_left(tops, y)
        before.append(top_of[length - 1] if length else -1)
        if length == len(tops):
            tops.append(y)
            top_of.append(at)
        else:
            tops[length], top_of[length] = y, at
    run: list[tuple[int, int]] = []
    at = top_of[-1] if top_of else -1
    while at >= 0:
        run.append(pairs[at])
        at = before[at]
    return run[::-1]
