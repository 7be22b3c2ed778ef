r"""Literal search for a text in a file, on the bytes. CRLF and LF count as the same line end.

A newline in the needle matches "\r\n", or a "\n" that does not follow a "\r". A "\r" in the needle matches only a "\r"
that no "\n" follows, so half a CRLF is never matched. Hits are aligned to the encoding's code units.
Other ways to find a place are registered here by name as a `Strategy`; they return splices.
"""

import re
from array import array
from collections.abc import Callable, Iterable
from typing import AnyStr, Protocol

from msgspec import Struct

from fileops.core.linefeeds import Walk
from fileops.core.pausing import Check, check_between, check_nothing
from fileops.core.text import count_newlines, encode, n_bytes_of, to_lf, wide_text
from fileops.model.edits import ByteSpan, Edit, Splice
from fileops.model.errors import NotEncodable
from fileops.model.files import Text


class Matches(Struct, frozen=True, kw_only=True):
    """Non-overlapping places, left to right, as arrays of byte offsets (millions of them must not cost objects).

    needle: the bytes of every match if a search for them finds exactly these matches, else None.
    candidates: every place with which a unique match would be confused: `starts` or, if there is only one
    non-overlapping match, every position at which the text occurs. match: "exact" if the bytes are the needle's, else
    "newline".
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
    def spans(self) -> tuple[ByteSpan, ...]:
        return tuple(map(ByteSpan, self.starts, self.ends))


class Step(Struct, frozen=True, kw_only=True):
    """One edit, resolved on one text. `match_lines` is the 1-based line of each replaced place."""

    splices: tuple[Splice, ...]
    n_replacements: int
    match: str
    match_lines: tuple[int, ...]


class Strategy(Protocol):
    """A search that is not literal. Its splices are validated before they are used."""

    def resolve(self, text: Text, edit: Edit, check: Check = check_nothing) -> Step:
        """Resolve the edit on the text.

        Raises: NoMatch, MultipleMatches, CountMismatch, NoChange, NotEncodable, and the errors of `check`.
        """
        ...


EXACT, REGEX, BLOCK = "exact", "regex", "block"
BUILT_IN = frozenset({EXACT, REGEX, BLOCK})  # names that no plugin may take, even if `regex` is not installed
MANY_HITS = 64
_MAX_COMPILED_BYTES = 256  # of a needle; compiling a longer pattern costs more than it saves
STRATEGIES: dict[str, Strategy] = {}  # by name, without the built-in "exact"


def fault_of_strategy(name: str) -> str | None:
    """Return why edits cannot use a strategy, such as that it is not installed; None if they can."""
    if name == EXACT or name in STRATEGIES:
        return None
    installed = ", ".join((EXACT, *STRATEGIES))
    if name == REGEX:
        return f"needs the package google-re2, the extra [regex] of fileops-server. There are {installed}"
    return f"no such strategy; there are {installed}"


def find(text: Text, old: str, check: Check = check_nothing) -> Matches:
    """Return every place at which `old` occurs: none if the encoding cannot represent it.

    Raises: the errors of `check`.
    """
    needle = to_lf(old)
    try:
        encoded = encode(needle, text.format)
        as_given = encode(old, text.format)
    except NotEncodable:
        none = array("q")
        return Matches(starts=none, ends=none, candidates=none, match=EXACT)
    data, is_plain = text.data, _is_plain(text, needle)
    sought = encoded if is_plain else _with_crlf(text, encoded)
    if sought is not None and text.format.unit_bytes == 1:
        starts, candidates = _positions(data, sought, len(text.format.bom), check)
        ends = array("q", (start + len(sought) for start in check_between(starts, check)))
    elif text.format.unit_bytes == 1:
        starts, ends, candidates = _find_in_bytes(text, encoded, check)
    else:
        starts, ends, candidates = _find_in_characters(text, needle, check)
    is_exact = as_given == encoded if is_plain else _all_read(data, starts, ends, as_given)
    return Matches(
        starts=starts,
        ends=ends,
        candidates=candidates,
        match=EXACT if is_exact else "newline",
        needle=encoded if is_plain and text.format.unit_bytes == 1 else None,
    )


def lines_of(text: Text, offsets: "array[int]") -> tuple[int, ...]:
    """Return the 1-based line of each offset. Offsets ascend."""
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
    """Return whether a search for the needle's bytes is enough: it has no line end, or the file no CR."""
    if "\r" in needle:
        return False
    return "\n" not in needle or b"\r" not in text.data


def _with_crlf(text: Text, needle: bytes) -> bytes | None:
    """Return the bytes of every match of a needle with newlines; None unless each line of the data ends in CRLF.

    Most files with CRLF are like that, and counting is faster than searching a copy with LF (see `_find_in_bytes`).
    """
    if text.format.unit_bytes > 1 or b"\r" in needle or text.data.count(b"\n") != text.data.count(b"\r\n"):
        return None
    return needle.replace(b"\n", b"\r\n")


def _all_read(data: bytes, starts: "array[int]", ends: "array[int]", expected: bytes) -> bool:
    size = len(expected)
    return all(
        end - start == size and data.startswith(expected, start) for start, end in zip(starts, ends, strict=True)
    )


def _find_in_bytes(text: Text, needle: bytes, check: Check) -> "tuple[array[int], array[int], array[int]]":
    """Return starts, ends and candidates of a search that treats all line ends as equal."""
    n_bom = len(text.format.bom)
    content = text.data[n_bom:]
    starts, candidates = _positions(content.replace(b"\r\n", b"\n"), needle, 0, check)

    def in_file(offsets: Iterable[int]) -> "array[int]":
        walk = Walk(content, b"\r\n")
        return array("q", (n_bom + walk.to(offset) for offset in check_between(offsets, check)))

    return _triple(starts, len(needle), candidates, in_file)


def _find_in_characters(text: Text, needle: str, check: Check) -> "tuple[array[int], array[int], array[int]]":
    """Do as `_find_in_bytes`, for code units of several bytes: a byte search would also match between two units."""
    fmt = text.format
    decoded = wide_text(text)
    starts, candidates = _positions(decoded.replace("\r\n", "\n"), needle, 0, check)

    def in_file(offsets: Iterable[int]) -> "array[int]":
        walk = Walk(decoded, "\r\n")
        passed, at = 0, len(fmt.bom)
        found = array("q")
        for offset in check_between(offsets, check):
            reached = walk.to(offset)
            at += n_bytes_of(decoded, passed, reached, fmt)
            passed = reached
            found.append(at)
        return found

    return _triple(starts, len(needle), candidates, in_file)


def _triple(
    starts: "array[int]", width: int, candidates: "array[int]", in_file: Callable[[Iterable[int]], "array[int]"]
) -> "tuple[array[int], array[int], array[int]]":
    borders = in_file(border for start in starts for border in (start, start + width))
    found = borders[::2]
    return found, borders[1::2], found if len(candidates) == len(starts) else in_file(candidates)


def _positions(content: AnyStr, needle: AnyStr, at: int, check: Check) -> "tuple[array[int], array[int]]":
    """Return matches and candidates (see Matches)."""
    starts = _hits(content, needle, at, check)
    return starts, _find_overlapping(content, needle, starts[0]) if len(starts) == 1 else starts


def _hits(content: AnyStr, needle: AnyStr, at: int, check: Check) -> "array[int]":
    """Return the non-overlapping hits from left to right."""
    starts, width = array("q"), len(needle)
    is_short = width <= _MAX_COMPILED_BYTES
    while (not is_short or len(starts) < MANY_HITS) and (hit := content.find(needle, at)) >= 0:
        starts.append(hit)
        at = hit + width
    if is_short and len(starts) == MANY_HITS:  # a pattern is faster if hits are frequent, slower if rare
        found = re.compile(re.escape(needle)).finditer(content, at)
        starts.extend(hit.start() for hit in check_between(found, check))
    return starts


def _find_overlapping(content: AnyStr, needle: AnyStr, start: int) -> "array[int]":
    """Return every position, from the only non-overlapping match on, at which the text occurs, including overlaps.

    All begin inside that match. Occurrences that overlap pairwise are at equal distances. So after the second each
    further one costs a comparison of that distance, independent of the length of the text.
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
            added = content[at + width - distance : at + width]
            if added != content[at + width - 2 * distance : at + width - distance]:
                break
        positions.append(at)
        at += distance
    return positions
