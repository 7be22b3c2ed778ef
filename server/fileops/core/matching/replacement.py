"""Replacement bytes of a match: the new text in the file's encoding and with the right line ends.

A newline in the new text becomes the line end of the match, if that has only one kind. In a mixed match, unchanged
lines keep theirs, and new lines take the one before. In a match without a line end, the newline becomes the end of the
line that contains the match, or else of the line before. In a file without line ends it stays as given.
"""

from array import array
from collections.abc import Callable, Sequence

from fileops.core.diff.lines import find_changed_ranges
from fileops.core.matching.exact import EXACT, Matches
from fileops.core.pausing import Check, check_nothing
from fileops.core.splices import coalesce
from fileops.core.text import (
    decode_part,
    encode,
    find_aligned,
    newline_of,
    return_of,
    rfind_aligned,
    to_lf,
)
from fileops.model.edits import Splice
from fileops.model.errors import NotEncodable, StrategyFailed
from fileops.model.files import Text

MANY_MATCHES = 1024  # more matches are coalesced: an object for each would cost too much
MAX_GROWTH_BYTES = 64 << 20  # by one edit: as much as one message may carry
_MAX_GAP_BYTES = 1024  # untouched bytes that a coalesced splice may carry between two matches
_MIN_GROUP = 64  # matches that one coalesced splice may hold at least

Replacement = bytes | Callable[[int, int], bytes]  # the same for every match, or by its span


def splices_for(text: Text, matches: Matches, new_string: str, check: Check = check_nothing) -> tuple[Splice, ...]:
    """Return one splice per match; very many are coalesced.

    Raises: NotEncodable, StrategyFailed if the text would grow too much, and the errors of `check`.
    """
    replacement = _replacement(text, new_string)
    require_bounded_growth(EXACT, len(matches) * len(new_string) - sum(matches.ends) + sum(matches.starts))
    if len(matches) > MANY_MATCHES:
        return _coalesce(text.data, matches, replacement, check)
    return tuple(_each(matches.starts, matches.ends, replacement))


def require_bounded_growth(strategy: str, n_bytes: int) -> None:
    """Raises: StrategyFailed. Args: n_bytes: a lower bound; the edit may make the text longer than that."""
    if n_bytes > MAX_GROWTH_BYTES:
        mebibytes = MAX_GROWTH_BYTES >> 20
        raise StrategyFailed(strategy=strategy, reason=f"the file would grow by more than {mebibytes} MiB")


def combine_adjacent(data: bytes, splices: Sequence[Splice], check: Check = check_nothing) -> tuple[Splice, ...]:
    """Combine adjacent splices if there are very many: each one costs objects in every later step."""
    if len(splices) <= MANY_MATCHES:
        return tuple(splices)
    per_group = max(_MIN_GROUP, len(splices) // MANY_MATCHES)
    result: list[Splice] = []
    for first in range(0, len(splices), per_group):
        check()
        result += coalesce(data, splices[first : first + per_group], max_gap_bytes=_MAX_GAP_BYTES)
    return tuple(result)


class LineEnds:
    """The kinds of a text's line ends. For queries at ascending offsets, all answers together cost one pass."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self._newline = newline_of(text.format)
        self._asked_after = 1
        self._next = 0  # no newline in [asked, next)
        self._asked_before = 0
        self._last = -1  # the last newline before it, or -1
        self.are_there = find_aligned(text.data, self._newline, text.format, 0) >= 0

    def after(self, offset: int) -> str | None:
        """Return the end of the line that contains `offset`; None for a last line without one."""
        data, fmt = self.text.data, self.text.format
        if not self._asked_after <= offset <= self._next:
            hit = find_aligned(data, self._newline, fmt, offset)
            self._next = len(data) if hit < 0 else hit
        self._asked_after = offset
        return None if self._next == len(data) else self._kind_at(self._next)

    def before(self, offset: int) -> str | None:
        """Return the end of the line before the one that contains `offset`; None on the first line."""
        if offset < self._asked_before:
            self._asked_before = 0
            self._last = -1
        hit = rfind_aligned(self.text.data, self._newline, self.text.format, self._asked_before, offset)
        self._asked_before = offset
        self._last = max(hit, self._last)
        return None if self._last < 0 else self._kind_at(self._last)

    def _kind_at(self, newline_offset: int) -> str:
        return "\r\n" if self.text.data.endswith(return_of(self.text.format), 0, newline_offset) else "\n"


def replacement_at(line_ends: LineEnds, start: int, end: int, new: str) -> bytes:
    """Return the bytes of `new` that replace [start, end), with the right line ends.

    `new` may contain undecodable bytes of the file, escaped by `surrogateescape` in UTF-8 and by `surrogatepass` in
    other encodings. Raises: NotEncodable.
    """
    fmt = line_ends.text.format
    ended = _with_line_ends(line_ends, start, end, to_lf(new)) if "\n" in new and line_ends.are_there else new
    try:
        return ended.encode(fmt.encoding, "surrogateescape" if fmt.encoding == "utf-8" else "surrogatepass")
    except UnicodeEncodeError as error:
        raise NotEncodable(encoding=fmt.encoding, characters=ended[error.start : error.end]) from error


def _replacement(text: Text, new_string: str) -> Replacement:
    as_given = encode(new_string, text.format)
    if "\n" not in new_string:
        return as_given
    line_ends = LineEnds(text)
    if not line_ends.are_there:
        return as_given
    lf = to_lf(new_string)
    if b"\r" not in text.data:
        return encode(lf, text.format)

    def by_span(start: int, end: int) -> bytes:
        return encode(_with_line_ends(line_ends, start, end, lf), text.format)

    return by_span


def _with_line_ends(line_ends: LineEnds, start: int, end: int, new: str) -> str:
    matched = decode_part(memoryview(line_ends.text.data)[start:end], line_ends.text.format)
    old_lines = matched.split("\n")
    ends = ["\r\n" if line.endswith("\r") else "\n" for line in old_lines[:-1]]
    kinds = set(ends)
    if len(kinds) == 1:
        return new.replace("\n", kinds.pop())
    if not kinds:
        return new.replace("\n", line_ends.after(end) or line_ends.before(start) or "\n")
    new_lines = new.split("\n")
    before = line_ends.before(start) or ends[0]
    return _mix_line_ends([line.removesuffix("\r") for line in old_lines[:-1]], ends, new_lines, before)


def _mix_line_ends(old_lines: list[str], ends: list[str], new_lines: list[str], before: str) -> str:
    """Return the new text. Unchanged lines keep their ends, new lines take the one before."""
    kept: dict[int, str] = {}
    old_at = new_at = 0
    complete = new_lines[:-1]
    for old_start, old_end, new_start, new_end in (
        *find_changed_ranges(old_lines, complete),
        (len(old_lines), len(old_lines), len(complete), len(complete)),
    ):
        kept.update(zip(range(new_at, new_start), ends[old_at:old_start], strict=True))
        old_at, new_at = old_end, new_end
    pieces: list[str] = []
    for index, line in enumerate(complete):
        before = kept.get(index, before)
        pieces += (line, before)
    return "".join((*pieces, new_lines[-1]))


def _coalesce(data: bytes, matches: Matches, replacement: Replacement, check: Check) -> tuple[Splice, ...]:
    """Combine adjacent matches, so that there are at most thousands of splices."""
    starts, ends = matches.starts, matches.ends
    per_group = max(_MIN_GROUP, len(starts) // MANY_MATCHES)
    splices: list[Splice] = []
    for first in range(0, len(starts), per_group):
        check()
        group = slice(first, first + per_group)
        group_starts, group_ends = starts[group], ends[group]
        start, end = group_starts[0], group_ends[-1]
        n_between = end - start - sum(group_ends) + sum(group_starts)
        if n_between > _MAX_GAP_BYTES * len(group_starts):
            splices += _each(group_starts, group_ends, replacement)
        elif matches.needle is not None and isinstance(replacement, bytes):
            splices.append(Splice(start, end, data[start:end].replace(matches.needle, replacement)))
        else:
            parts = _each(group_starts, group_ends, replacement)
            splices += coalesce(data, parts, max_gap_bytes=end - start)
    return tuple(splices)


def _each(starts: "array[int]", ends: "array[int]", replacement: Replacement) -> list[Splice]:
    if isinstance(replacement, bytes):
        return [Splice(start, end, replacement) for start, end in zip(starts, ends, strict=True)]
    return [Splice(start, end, replacement(start, end)) for start, end in zip(starts, ends, strict=True)]
