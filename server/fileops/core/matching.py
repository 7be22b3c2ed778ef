r"""Where a text stands in a file: literal, on the bytes, with CRLF and LF taken as the same line end.

A newline of the needle matches "\r\n" or a "\n" that follows no "\r"; a "\r" of the needle matches only one
before no "\n": half a CRLF is never matched. Hits are aligned to the encoding's code units.
Other ways to find a place plug in here as a `Strategy` under a name; what they return are splices.
"""

import re
from array import array
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from fileops.core.text import count_newlines, encode, newline_of, return_of, to_lf
from fileops.errors import NotEncodable
from fileops.model import Edit, Span, Splice, Text, TextFormat


class Matches(Struct, frozen=True, kw_only=True):
    """Non-overlapping places, left to right, as arrays of byte offsets (millions of them must not cost objects).

    needle: the bytes of every match where a search for them finds just these matches, else None.
    candidates: every place that a unique match would have to be told from: `starts`, or where only one match
    does not overlap, every position at which the text stands. match: "exact" where the bytes are the needle's,
    else "newline".
    """

    starts: "array[int]"
    ends: "array[int]"
    candidates: "array[int]"
    match: str
    needle: bytes | None = None

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def n_positions(self) -> int:
        return len(self.candidates)

    @property
    def spans(self) -> tuple[Span, ...]:
        return tuple(map(Span, self.starts, self.ends))


class Step(Struct, frozen=True, kw_only=True):
    """One edit resolved on one text. match_lines: 1-based line of each replaced place."""

    splices: tuple[Splice, ...]
    n_replacements: int
    match: str
    match_lines: tuple[int, ...]


class Strategy(Protocol):
    """A way to find the place that is not literal. Its splices are validated before they are used."""

    def resolve(self, text: Text, edit: Edit) -> Step:
        """Raises: NoMatch, MultipleMatches, CountMismatch, NoChange, NotEncodable."""
        ...


EXACT = "exact"
MANY_HITS = 64
MAX_OVERLAPS = 200  # overlapping positions counted where line ends are mixed and each costs a search
STRATEGIES: dict[str, Strategy] = {}  # by name; "exact" is built in and not among them

Finder = Callable[[int, int], tuple[int, int] | None]  # the first hit within [from, to)


def find(text: Text, old: str) -> Matches:
    """Every place at which `old` stands. A needle that the encoding cannot hold stands nowhere."""
    starts, ends = array("q"), array("q")
    needle = to_lf(old)
    try:
        encoded = encode(needle, text.format)
        as_given = encode(old, text.format)
    except NotEncodable:
        return Matches(starts=starts, ends=ends, candidates=starts, match=EXACT)
    plain = _is_plain(text, needle)
    finder = _literal_finder(text, encoded) if plain else _newline_finder(text, needle)
    at, size = len(text.format.bom), len(text.data)
    is_bytewise = plain and text.format.unit_bytes == 1
    if is_bytewise:
        starts, ends = _literal_hits(text.data, encoded, at)
    else:
        while (hit := finder(at, size)) is not None:
            starts.append(hit[0])
            ends.append(hit[1])
            at = hit[1]
    candidates = starts
    if len(starts) == 1:
        candidates = _overlapping(text, finder, starts[0], ends[0], is_plain=plain)
    is_exact = as_given == encoded if plain else _all_read(text.data, starts, ends, as_given)
    return Matches(
        starts=starts,
        ends=ends,
        candidates=candidates,
        match=EXACT if is_exact else "newline",
        needle=encoded if is_bytewise else None,
    )


def lines_of(text: Text, offsets: "array[int]") -> tuple[int, ...]:
    """The 1-based line of each offset; offsets ascend."""
    data, fmt = text.data, text.format
    lines: list[int] = []
    line, at = 1, 0
    if fmt.unit_bytes == 1:
        for offset in offsets:
            line += data.count(b"\n", at, offset)
            at = offset
            lines.append(line)
        return tuple(lines)
    for offset in offsets:
        line += count_newlines(data, fmt, at, offset)
        at = offset
        lines.append(line)
    return tuple(lines)


def _is_plain(text: Text, needle: str) -> bool:
    """Whether the needle's bytes alone decide: it holds no line end, or the file no carriage return."""
    if "\r" in needle:
        return False
    return "\n" not in needle or b"\r" not in text.data


def _all_read(data: bytes, starts: "array[int]", ends: "array[int]", expected: bytes) -> bool:
    size = len(expected)
    return all(
        end - start == size and data.startswith(expected, start) for start, end in zip(starts, ends, strict=True)
    )


def _literal_hits(data: bytes, needle: bytes, at: int) -> "tuple[array[int], array[int]]":
    """All of them where no alignment is to be checked."""
    starts, width = array("q"), len(needle)
    while len(starts) < MANY_HITS and (hit := data.find(needle, at)) >= 0:
        starts.append(hit)
        at = hit + width
    if len(starts) == MANY_HITS:  # a pattern steps faster from hit to hit, and more slowly through what is none
        starts.extend(hit.start() for hit in re.compile(re.escape(needle)).finditer(data, at))
    return starts, array("q", [start + width for start in starts])


def _literal_finder(text: Text, needle: bytes) -> Finder:
    data, unit, width = text.data, text.format.unit_bytes, len(needle)

    def find_within(at: int, to: int) -> tuple[int, int] | None:
        hit = data.find(needle, at, to)
        while hit % unit and hit >= 0:
            hit = data.find(needle, hit + 1, to)
        return None if hit < 0 else (hit, hit + width)

    return find_within


def _newline_finder(text: Text, needle: str) -> Finder:
    r"""By a byte pattern.

    A newline in front is searched by its "\n" alone, which gives the search a literal to run on, and the hit is
    widened over the "\r" before it afterwards.
    """
    data, fmt, unit = text.data, text.format, text.format.unit_bytes
    cr, lf = return_of(fmt), newline_of(fmt)
    begins_with_newline = needle.startswith("\n")
    rest = _pattern(needle[begins_with_newline:], fmt)
    pattern = re.compile(re.escape(lf) + rest if begins_with_newline else rest, re.DOTALL)

    def find_within(at: int, to: int) -> tuple[int, int] | None:
        found = pattern.search(data, at, to)
        while found is not None and found.start() % unit:
            found = pattern.search(data, found.start() + 1, to)
        if found is None:
            return None
        start, end = found.span()
        if begins_with_newline and data.endswith(cr, 0, start):
            start -= unit
        return start, end

    return find_within


def _pattern(needle: str, fmt: TextFormat) -> bytes:
    cr, lf = re.escape(return_of(fmt)), re.escape(newline_of(fmt))
    either = b"(?:%b%b|(?<!%b)%b)" % (cr, lf, cr, lf)
    lone = b"%b(?!%b)" % (cr, lf)
    pieces = (
        either if piece == "\n" else lone if piece == "\r" else re.escape(encode(piece, fmt))
        for piece in re.split(r"([\r\n])", needle)
    )
    return b"".join(pieces)


def _overlapping(text: Text, finder: Finder, start: int, end: int, *, is_plain: bool) -> "array[int]":
    """Every position, from the only non-overlapping match on, at which the text stands, overlaps included.

    All begin inside that match. Literal occurrences that overlap pairwise lie at equal distances, so once the
    second is known each further one costs a comparison of that distance, however long the text is.
    """
    data, width = text.data, end - start
    positions = array("q", [start])
    reach = end + 2 * width  # an occurrence with other line ends is at most twice as long
    second = finder(_behind_first(text, start), reach)
    if second is None or second[0] >= end:
        return positions
    positions.append(second[0])
    if not is_plain:
        while len(positions) < MAX_OVERLAPS:
            hit = finder(_behind_first(text, positions[-1]), reach)
            if hit is None or hit[0] >= end:
                break
            positions.append(hit[0])
        return positions
    distance = second[0] - start
    at = second[0] + distance
    while at < end:
        come = data[at + width - distance : at + width]
        if come != data[at + width - 2 * distance : at + width - distance]:
            break
        positions.append(at)
        at += distance
    return positions


def _behind_first(text: Text, start: int) -> int:
    """Behind the first unit of a match, or behind the CRLF it begins with."""
    unit = text.format.unit_bytes
    crlf = return_of(text.format) + newline_of(text.format)
    return start + (2 * unit if text.data.startswith(crlf, start) else unit)
