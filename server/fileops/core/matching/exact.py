r"""Where a text stands in a file: literal, on the bytes, with CRLF and LF taken as the same line end.

A newline of the needle matches "\r\n" or a "\n" that follows no "\r"; a "\r" of the needle matches only one
before no "\n": half a CRLF is never matched. Hits are aligned to the encoding's code units.
Other ways to find a place plug in here as a `Strategy` under a name; what they return are splices.
"""

import re
from array import array
from collections.abc import Callable, Iterable
from typing import AnyStr, Protocol

from msgspec import Struct

from fileops.core.linefeeds import Walk
from fileops.core.pausing import Check, checked, unchecked
from fileops.core.text import count_newlines, encode, n_bytes_of, to_lf, wide_text
from fileops.model.edits import Edit, Span, Splice
from fileops.model.errors import NotEncodable
from fileops.model.files import Text


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

    def resolve(self, text: Text, edit: Edit, check: Check = unchecked) -> Step:
        """Raises: NoMatch, MultipleMatches, CountMismatch, NoChange, NotEncodable, and what the check raises."""
        ...


EXACT = "exact"
MANY_HITS = 64
_MAX_COMPILED_BYTES = 256  # of a needle that is searched as a pattern: compiling costs more than it saves beyond
STRATEGIES: dict[str, Strategy] = {}  # by name; "exact" is built in and not among them


def find(text: Text, old: str, check: Check = unchecked) -> Matches:
    """Every place at which `old` stands. A needle that the encoding cannot hold stands nowhere.

    Raises: what the check raises.
    """
    needle = to_lf(old)
    try:
        encoded = encode(needle, text.format)
        as_given = encode(old, text.format)
    except NotEncodable:
        none = array("q")
        return Matches(starts=none, ends=none, candidates=none, match=EXACT)
    data, is_plain = text.data, _is_plain(text, needle)
    if is_plain and text.format.unit_bytes == 1:
        starts, candidates = _positions(data, encoded, len(text.format.bom), check)
        ends = array("q", (start + len(encoded) for start in checked(starts, check)))
    elif text.format.unit_bytes == 1:
        starts, ends, candidates = _found_in_bytes(text, encoded, check)
    else:
        starts, ends, candidates = _found_in_characters(text, needle, check)
    is_exact = as_given == encoded if is_plain else _all_read(data, starts, ends, as_given)
    return Matches(
        starts=starts,
        ends=ends,
        candidates=candidates,
        match=EXACT if is_exact else "newline",
        needle=encoded if is_plain and text.format.unit_bytes == 1 else None,
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


def _found_in_bytes(text: Text, needle: bytes, check: Check) -> "tuple[array[int], array[int], array[int]]":
    """Starts, ends and candidates, where line ends have to be taken as the same."""
    n_bom = len(text.format.bom)
    content = text.data[n_bom:]
    starts, candidates = _positions(content.replace(b"\r\n", b"\n"), needle, 0, check)

    def in_file(offsets: Iterable[int]) -> "array[int]":
        walk = Walk(content, b"\r\n")
        return array("q", (n_bom + walk.to(offset) for offset in checked(offsets, check)))

    return _told(starts, len(needle), candidates, in_file)


def _found_in_characters(text: Text, needle: str, check: Check) -> "tuple[array[int], array[int], array[int]]":
    """The same where a unit has several bytes: a search in bytes would stop at each hit between two units."""
    fmt = text.format
    decoded = wide_text(text)
    starts, candidates = _positions(decoded.replace("\r\n", "\n"), needle, 0, check)

    def in_file(offsets: Iterable[int]) -> "array[int]":
        walk = Walk(decoded, "\r\n")
        passed, at = 0, len(fmt.bom)
        found = array("q")
        for offset in checked(offsets, check):
            reached = walk.to(offset)
            at += n_bytes_of(decoded, passed, reached, fmt)
            passed = reached
            found.append(at)
        return found

    return _told(starts, len(needle), candidates, in_file)


def _told(
    starts: "array[int]", width: int, candidates: "array[int]", in_file: Callable[[Iterable[int]], "array[int]"]
) -> "tuple[array[int], array[int], array[int]]":
    borders = in_file(border for start in starts for border in (start, start + width))
    found = borders[::2]
    return found, borders[1::2], found if len(candidates) == len(starts) else in_file(candidates)


def _positions(content: AnyStr, needle: AnyStr, at: int, check: Check) -> "tuple[array[int], array[int]]":
    """Matches, and what a unique one would have to be told from: see Matches.candidates."""
    starts = _hits(content, needle, at, check)
    return starts, _overlapping(content, needle, starts[0]) if len(starts) == 1 else starts


def _hits(content: AnyStr, needle: AnyStr, at: int, check: Check) -> "array[int]":
    """Non-overlapping, left to right."""
    starts, width = array("q"), len(needle)
    is_short = width <= _MAX_COMPILED_BYTES
    while (not is_short or len(starts) < MANY_HITS) and (hit := content.find(needle, at)) >= 0:
        starts.append(hit)
        at = hit + width
    if is_short and len(starts) == MANY_HITS:  # a pattern steps faster from hit to hit, and more slowly through none
        found = re.compile(re.escape(needle)).finditer(content, at)
        starts.extend(hit.start() for hit in checked(found, check))
    return starts


def _overlapping(content: AnyStr, needle: AnyStr, start: int) -> "array[int]":
    """Every position, from the only non-overlapping match on, at which the text stands, overlaps included.

    All begin inside that match. Occurrences that overlap pairwise lie at equal distances, so once the second is
    known each further one costs a comparison of that distance, however long the text is.
    """
    width, end = len(needle), start + len(needle)
    positions = array("q", [start])
    second = content.find(needle, start + 1, end + width - 1)
    if second < 0:
        return positions
    distance = second - start
    at = second
    while at < end:
        if at > second:
            come = content[at + width - distance : at + width]
            if come != content[at + width - 2 * distance : at + width - distance]:
                break
        positions.append(at)
        at += distance
    return positions
