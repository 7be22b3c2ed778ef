"""From one whole content to another: the splices between them, line by line and word by word.

For what was not made by our own splices: a person's text in the place of a proposal, a file that went on
after an edit. What our own edits changed is known from their splices and never compared.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from fileops.core.linediff import changed_ranges
from fileops.core.text import find_aligned, newline_of, return_of
from fileops.model import Splice, TextFormat

MAX_REFINED_BYTES = 4_096  # of one side of a changed block that is compared word by word
_WORDS = re.compile(rb"[\w\x80-\xff]+|\s+|.", re.DOTALL)


class Line(Struct, frozen=True):
    """Byte offsets: the content is [start, end), its line end (LF, CRLF or nothing) is [end, stop)."""

    start: int
    end: int
    stop: int


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
    for i, i_stop, j, j_stop in changed_ranges(old_parts, new_parts):
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
        for i, i_stop, j, j_stop in changed_ranges(old_words, new_words)
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
