"""Compares two whole contents: the splices between them, line by line and word by word.

This is for changes that our own splices did not make: a user's text instead of a proposal, or a file that changed after
an edit. The changes of our own edits are known from their splices, and are never compared.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, islice

from msgspec import Struct

from fileops.core.diff.lines import Range, find_changed_ranges
from fileops.core.text import decode_part, find_aligned, line_end, line_start, newline_of, return_of
from fileops.model.edits import Splice
from fileops.model.files import TextFormat

MAX_REFINED_BYTES = 4_096  # of one side of a block, compared by word
_PIECE_BYTES = 256  # searched at once for the end of a word
_WORDS = re.compile(rb"[\w\x80-\xff]+|\s+|.", re.DOTALL)
_LINE_WITH_TEXT = re.compile(rb"[^\n]*[^\s][^\n]*")
_WORD_BYTE = re.compile(rb"[\w\x80-\xff]")
_IN_WORDS = bytes(byte for byte in range(256) if byte >= 0x80 or chr(byte).isalnum() or byte == 0x5F)


class Line(Struct, frozen=True):
    """A line by byte offsets: its content is [start, end), its line end (LF, CRLF or nothing) is [end, stop)."""

    start: int
    end: int
    stop: int


def line_spans(data: bytes, fmt: TextFormat) -> list[Line]:
    """Return all lines in order. A final newline starts one more, empty line; the BOM belongs to no line."""
    newline, carriage_return, unit = newline_of(fmt), return_of(fmt), fmt.unit_bytes
    lines: list[Line] = []
    start = len(fmt.bom)
    if unit == 1:  # four times as fast as the search, which also fits units of several bytes
        *whole, last = data[start:].split(newline)
        for content in whole:
            stop = start + len(content) + 1
            lines.append(Line(start, stop - 1 - content.endswith(carriage_return), stop))
            start = stop
        lines.append(Line(start, start + len(last), start + len(last)))
        return lines
    while (at := find_aligned(data, newline, fmt, start)) >= 0:
        has_return = at - unit >= start and data[at - unit : at] == carriage_return
        lines.append(Line(start, at - unit if has_return else at, at + unit))
        start = at + unit
    lines.append(Line(start, len(data), len(data)))
    return lines


def splices_between(before: bytes, after: bytes, fmt: TextFormat) -> tuple[Splice, ...]:
    """Return splices over `before` that produce `after`: by line, and by word inside small changed blocks."""
    if before == after:
        return ()
    if fmt.bom and not after.startswith(fmt.bom):
        return (Splice(0, len(before), after),)
    if fmt.unit_bytes == 1 and not fmt.bom and b"\n" not in before and b"\n" not in after:  # parts of a line
        return tuple(_refine(before, after, 0, fmt))
    head, tail = common_lines(before, after, fmt)
    bare = TextFormat(encoding=fmt.encoding)
    old_text, new_text = before[head : len(before) - tail], after[head : len(after) - tail]
    if _is_one_line(old_text, fmt) and _is_one_line(new_text, fmt):
        return tuple(_refine(old_text, new_text, head, fmt))
    old, new = _lines(old_text, bare), _lines(new_text, bare)
    starts, new_starts = _starts(old), _starts(new)
    result: list[Splice] = []
    for i, i_stop, j, j_stop in find_changed_ranges(old, new):
        old_part, new_part = old_text[starts[i] : starts[i_stop]], new_text[new_starts[j] : new_starts[j_stop]]
        result.extend(_refine(old_part, new_part, head + starts[i], fmt))
    return tuple(result)


def splices_of_blanks(before: bytes, after: bytes, fmt: TextFormat) -> tuple[Splice, ...] | None:
    """Return splices of blanks over `before` that produce `after`; None if the two have not the same words and signs.

    So that is what a formatter changes. Not known of encodings whose units have several bytes.
    """
    if fmt.unit_bytes > 1:
        return None
    head, tail = common_lines(before, after, fmt)
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    if b"".join(old.split()) != b"".join(new.split()):  # fast, and seldom equal
        return None
    old_words, old_blanks = _words_and_blanks(old, fmt)
    new_words, new_blanks = _words_and_blanks(new, fmt)
    if old_words != new_words:
        return None
    result: list[Splice] = []
    for (start, old_blank), (_, new_blank) in zip(old_blanks, new_blanks, strict=True):
        if old_blank != new_blank:
            shorter = min(len(old_blank), len(new_blank))
            n_start = _common_head(old_blank, new_blank, shorter)
            n_end = _common_tail(old_blank, new_blank, shorter - n_start)
            first, stop = head + start + n_start, head + start + len(old_blank) - n_end
            result.append(Splice(first, stop, new_blank[n_start : len(new_blank) - n_end]))
    return tuple(result)


def is_in_line(splice: Splice, data: bytes, fmt: TextFormat) -> bool:
    """Return whether the splice changes only words of one line over `data` that is compared by word."""
    newline = newline_of(fmt)
    if newline in splice.new or newline in data[splice.start : splice.end]:
        return False
    n_line = line_end(data, fmt, splice.end) - line_start(data, fmt, splice.start)
    return n_line + len(splice.new) <= MAX_REFINED_BYTES


def _words_and_blanks(data: bytes, fmt: TextFormat) -> tuple[list[bytes], list[tuple[int, bytes]]]:
    """Return the words and signs, and the blanks before each and after the last, with where each begins."""
    words, blanks, at, blank = list[bytes](), list[tuple[int, bytes]](), 0, b""
    for part in words_of(data, fmt):
        at += len(part)
        if part.isspace():
            blank = part
            continue
        words.append(part)
        blanks.append((at - len(part) - len(blank), blank))
        blank = b""
    return words, [*blanks, (at - len(blank), blank)]


def common_lines(before: bytes, after: bytes, fmt: TextFormat) -> tuple[int, int]:
    """Return how many bytes of whole lines, with the BOM, both begin with, and how many more both end with.

    The lines need not be split for that: many comparisons are of long contents that differ in one place.
    """
    unit, shorter = fmt.unit_bytes, min(len(before), len(after))
    head = max(line_start(before, fmt, _common_head(before, after, shorter) // unit * unit), len(fmt.bom))
    if (len(before) - len(after)) % unit:
        return head, 0
    start = len(before) - _common_tail(before, after, shorter - head)
    start += -start % unit
    shift = len(after) - len(before)
    if line_start(before, fmt, start) != start or line_start(after, fmt, start + shift) != start + shift:
        start = line_end(before, fmt, start)
    return head, len(before) - start


def _is_one_line(data: bytes, fmt: TextFormat) -> bool:
    """Return whether the data, which has no BOM, is a line with its line end; not known of units of several bytes."""
    return fmt.unit_bytes == 1 and data.find(b"\n") == len(data) - 1 and bool(data)


def _lines(data: bytes, fmt: TextFormat) -> list[bytes]:
    """Return all lines with their line ends. A final newline starts one more, empty line. The data has no BOM."""
    if fmt.unit_bytes > 1:
        return [data[line.start : line.stop] for line in line_spans(data, fmt)]
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines


def words_of(data: bytes, fmt: TextFormat) -> list[bytes]:
    """Split into words, runs of whitespace, and single other characters.

    The data has no BOM and begins on a code unit.
    """
    unit = fmt.unit_bytes
    if unit == 1:
        return _WORDS.findall(data)
    order = "little" if fmt.encoding.endswith("le") else "big"
    n_units = len(data) // unit
    units = (int.from_bytes(data[at : at + unit], order) for at in range(0, n_units * unit, unit))
    shadow = bytes(min(value, 0x80) for value in units)  # one byte per unit; non-ASCII is in words
    words = [data[match.start() * unit : match.end() * unit] for match in _WORDS.finditer(shadow)]
    return words if n_units * unit == len(data) else [*words, data[n_units * unit :]]


def is_inside_word(data: bytes, at: int, fmt: TextFormat) -> bool:
    """Return whether the place, which is on a code unit, is inside a word. The BOM belongs to no word."""
    if not len(fmt.bom) < at < len(data):
        return False
    return is_of_word(data, at - fmt.unit_bytes, fmt) and is_of_word(data, at, fmt)


def word_start(data: bytes, at: int, fmt: TextFormat) -> int:
    """Return the start of the word that contains this place or ends there; the place itself if there is none."""
    floor, unit = min(len(fmt.bom), at), fmt.unit_bytes
    while unit == 1 and at > floor:
        piece = data[max(floor, at - _PIECE_BYTES) : at]
        n_other = len(piece.rstrip(_IN_WORDS))
        at -= len(piece) - n_other
        if n_other:
            return at
    while at > floor and is_of_word(data, at - unit, fmt):
        at -= unit
    return at


def word_stop(data: bytes, at: int, fmt: TextFormat) -> int:
    """Return the end of the word that contains this place or begins there; the place itself if there is none."""
    unit = fmt.unit_bytes
    while unit == 1 and len(fmt.bom) <= at < len(data):
        piece = data[at : at + _PIECE_BYTES]
        n_other = len(piece.lstrip(_IN_WORDS))
        at += len(piece) - n_other
        if n_other:
            return at
    while len(fmt.bom) <= at < len(data) and is_of_word(data, at, fmt):
        at += unit
    return min(at, len(data))


def has_word_between(data: bytes, start: int, stop: int, fmt: TextFormat) -> bool:
    """Return whether a whole word is between two places and touches neither of them."""
    return has_word(data, word_stop(data, start, fmt), word_start(data, stop, fmt), fmt)


def has_word(data: bytes, start: int, stop: int, fmt: TextFormat) -> bool:
    """Return whether a word, or a part of one, is between two places."""
    if fmt.unit_bytes == 1:
        return start < stop and _WORD_BYTE.search(data, start, stop) is not None
    return any(is_of_word(data, at, fmt) for at in range(start, stop, fmt.unit_bytes))


def is_of_word(data: bytes, at: int, fmt: TextFormat) -> bool:
    """Return whether the code unit at this place is part of a word."""
    unit = data[at : at + fmt.unit_bytes]
    if not fmt.encoding.endswith("le"):
        unit = unit[::-1]
    return any(unit[1:]) or unit[:1] in _IN_WORDS


def may_be_one_file(before: bytes, after: bytes) -> bool:
    """Return whether one content may be a changed version of the other: half of its lines are the same."""
    lines = Counter(line for line in before.split(b"\n") if line.strip())
    shared = lines & Counter(after.split(b"\n"))
    return lines.total() > 0 and shared.total() * 2 >= lines.total()


def has_lines(data: bytes, n_lines: int) -> bool:
    """Return whether a content has at least so many lines that are not blank."""
    return sum(1 for _ in islice(_LINE_WITH_TEXT.finditer(data), n_lines)) == n_lines


def is_blank(data: bytes, fmt: TextFormat) -> bool:
    return not decode_part(data, fmt).strip()


def _refine(old: bytes, new: bytes, offset: int, fmt: TextFormat) -> list[Splice]:
    if not old or not new or max(len(old), len(new)) > MAX_REFINED_BYTES:
        return [_trim(old, new, offset, fmt)]
    old_words, new_words = words_of(old, fmt), words_of(new, fmt)
    starts, new_starts = _starts(old_words), _starts(new_words)
    return [
        Splice(offset + starts[i], offset + starts[i_stop], new[new_starts[j] : new_starts[j_stop]])
        for i, i_stop, j, j_stop in find_changed_words(old_words, new_words, fmt)
    ]


def find_changed_words(old: Sequence[bytes], new: Sequence[bytes], fmt: TextFormat) -> list[Range]:
    """Return the ranges in which two texts differ. Both are split as by `words_of`. The ranges never touch.

    A comparison of all parts can match three equal blanks rather than one equal word. Then the word seems to be deleted
    at one place and inserted at another, and an undo would move it, although its author did not. So if a word seems
    moved, the words alone are matched first, and then what is between two matched words. This matches all words that
    both texts have once and in the same order: whichever block is matched first, the other words are before it on both
    sides, or after it on both. If no word seems moved, every word that both texts have is matched already.
    """
    ranges = find_changed_ranges(old, new)
    if len(ranges) == 1:
        return ranges
    removed = {part for i, i_stop, _, _ in ranges for part in old[i:i_stop]}
    added = {part for _, _, j, j_stop in ranges for part in new[j:j_stop]}
    if not any(is_of_word(part, 0, fmt) for part in removed & added):
        return ranges
    old_at = [at for at, part in enumerate(old) if is_of_word(part, 0, fmt)]
    new_at = [at for at, part in enumerate(new) if is_of_word(part, 0, fmt)]
    changed = find_changed_ranges([old[at] for at in old_at], [new[at] for at in new_at])
    result: list[Range] = []
    start = new_start = n = m = 0
    for i, i_stop, j, j_stop in (*changed, (len(old_at), 0, len(new_at), 0)):
        for at, at_new in zip(old_at[n:i], new_at[m:j], strict=True):  # words that are matched
            result += _compare_between(old, new, (start, at, new_start, at_new))
            start, new_start = at + 1, at_new + 1
        n, m = i_stop, j_stop
    return result + _compare_between(old, new, (start, len(old), new_start, len(new)))


def _compare_between(old: Sequence[bytes], new: Sequence[bytes], within: Range) -> list[Range]:
    a, a_stop, b, b_stop = within
    ranges = find_changed_ranges(old[a:a_stop], new[b:b_stop])
    return [(a + i, a + i_stop, b + j, b + j_stop) for i, i_stop, j, j_stop in ranges]


def _starts(parts: Sequence[bytes]) -> list[int]:
    """Return where each part begins in the joined text, and where the last one ends."""
    return list(accumulate(map(len, parts), initial=0))


def _trim(old: bytes, new: bytes, offset: int, fmt: TextFormat) -> Splice:
    """Return one splice without the whole words that both sides share at their ends."""
    bare, unit = TextFormat(encoding=fmt.encoding), fmt.unit_bytes
    shorter = min(len(old), len(new))
    head = _common_head(old, new, shorter) // unit * unit
    if is_inside_word(old, head, bare) or is_inside_word(new, head, bare):
        head = word_start(old, head, bare)
    is_whole = len(old) % unit == len(new) % unit == 0  # the ends are on code units
    tail = _common_tail(old, new, shorter - head) // unit * unit if is_whole else 0
    if is_inside_word(old, len(old) - tail, bare) or is_inside_word(new, len(new) - tail, bare):
        tail = min(tail, len(old) - word_stop(old, len(old) - tail, bare))
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


def _common_tail(a: bytes, b: bytes, limit: int) -> int:
    low, high = 0, limit
    if a[len(a) - limit :] == b[len(b) - limit :]:
        return limit
    while high - low > 1:  # the last `low` bytes agree, the last `high` do not
        middle = (low + high) // 2
        if a[len(a) - middle : len(a) - low] == b[len(b) - middle : len(b) - low]:
            low = middle
        else:
            high = middle
    return low
