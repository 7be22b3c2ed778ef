"""Search for the place that an unmatched text most likely meant: a hint for the caller, never applied.

The search covers the first part of the file only: by lines that occur literally, else by lines that differ only in
blanks, case, quotes and invisible characters, else by shared words. Its cost is bounded for every file.
"""

import re
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher, unified_diff

from msgspec import Struct

from fileops.core.matching.differences import ALL_KINDS, differences, unseen
from fileops.core.matching.similarity import Wanted, fold, similarity_of, unescaped
from fileops.core.text import count_newlines, cut, decode_part, line_end, line_start, to_lf
from fileops.model.edits import DiffersIn, Nearest
from fileops.model.files import Text

MAX_SCANNED_BYTES = 4 << 20  # searched for literal lines
MAX_FOLDED_BYTES = 256 << 10  # compared without blanks, case and quotes
MAX_OLD_LINES = 200  # of the caller's text
MAX_OLD_CHARS = 20_000
MIN_SIMILARITY = 0.5  # below, a hint misleads more than it helps
_N_ANCHORS = 6
_N_HITS = 12
_N_CANDIDATES = 5

_LINE_NUMBER = re.compile(r"^ *\d+(?:→|\t)")
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Place(Struct, frozen=True):
    """Lines of the file without their newlines, and the byte offset at which they begin."""

    start: int
    lines: tuple[str, ...]


def nearest(text: Text, old: str) -> Nearest | None:
    """Return the nearest place, or None if no place is similar enough."""
    wanted, copied = _wanted_lines(old)
    if not any(line.strip() for line in wanted.lines):
        return None
    best: tuple[float, _Place] | None = None
    for start in _candidates(text, wanted.lines):
        place = _place_at(text, start, len(wanted.lines))
        similarity = similarity_of(wanted, place.lines)
        if best is None or similarity > best[0]:
            best = similarity, place
    if best is None or best[0] < MIN_SIMILARITY:
        return None
    similarity, place = best[0], _trimmed(text, wanted, best[1])
    start_line = 1 + count_newlines(text.data, text.format, 0, place.start)
    kinds = differences(wanted, place.lines)
    kinds = {*kinds, *copied} or {unseen(place.lines)}
    return Nearest(
        start_line=start_line,
        end_line=start_line + len(place.lines) - 1,
        similarity=round(similarity, 3),
        diff=_diff(old, place.lines, start_line),
        differs_in=tuple(kind for kind in ALL_KINDS if kind in kinds),
    )


def _wanted_lines(old: str) -> tuple[Wanted, set[DiffersIn]]:
    """Return the caller's lines without copied line numbers or added escapes, and which of the two were removed."""
    seen = _shown(old)
    copied: set[DiffersIn] = set()
    lines = seen.split("\n")
    if len(lines) == 1 and r"\n" in seen:
        lines = unescaped(seen).split("\n")
        copied.add("escapes")
    numbered = [bool(_LINE_NUMBER.match(line)) for line in lines if line]
    if numbered and all(numbered):
        lines = [_LINE_NUMBER.sub("", line) for line in lines]
        copied.add("line_numbers")
    first = next((index for index, line in enumerate(lines) if line), 0)
    last = next((index for index in range(len(lines), 0, -1) if lines[index - 1]), 0)
    whole = first > 0, last < len(lines) or last - first > MAX_OLD_LINES
    return Wanted(tuple(lines[first:last][:MAX_OLD_LINES]), *whole), copied


def _candidates(text: Text, wanted: tuple[str, ...]) -> list[int]:
    """Return offsets of lines at which the wanted text may begin, the likeliest first."""
    votes: Counter[int] = Counter()
    for index, line in _distinctive_lines(wanted):
        for hit in _hits(text, line.strip()):
            votes[_lines_up(text, line_start(text.data, text.format, hit), index)] += len(line)
    if not votes:
        votes = _folded_votes(text, wanted)
    return [start for start, _ in sorted(votes.items(), key=lambda item: (-item[1], item[0]))[:_N_CANDIDATES]]


def _distinctive_lines(wanted: tuple[str, ...]) -> list[tuple[int, str]]:
    """Return the lines that probably occur in few places, with their index: the longest."""
    lines = [(index, line) for index, line in enumerate(wanted) if _is_distinctive(line.strip())]
    return sorted(lines, key=lambda item: -len(item[1].strip()))[:_N_ANCHORS]


def _is_distinctive(line: str) -> bool:
    """Return whether a line is distinctive. Short lines occur everywhere, undecodable bytes do not."""
    return len(line) > 3 or "\ufffd" in line


def _hits(text: Text, piece: str) -> Iterator[int]:
    needle = piece.encode(text.format.encoding, "replace")
    at, end = len(text.format.bom), min(len(text.data), MAX_SCANNED_BYTES)
    for _ in range(_N_HITS):
        hit = text.data.find(needle, at, end)
        if hit < 0:
            return
        if hit % text.format.unit_bytes == 0:
            yield hit
        at = hit + len(needle)


def _lines_up(text: Text, start: int, n_lines: int) -> int:
    for _ in range(n_lines):
        if not start:
            break
        start = line_start(text.data, text.format, start - text.format.unit_bytes)
    return start


def _folded_votes(text: Text, wanted: tuple[str, ...]) -> "Counter[int]":
    """Return votes of lines that are equal when folded (blanks, case, quotes), else of shared words."""
    end = min(len(text.data), MAX_FOLDED_BYTES)
    end -= end % text.format.unit_bytes
    lines = decode_part(memoryview(text.data)[:end], text.format).split("\n")
    folded = [fold(line) for line in lines]
    votes: Counter[int] = Counter()
    for index, line in _distinctive_lines(wanted):
        key = fold(line)
        if _is_distinctive(key):
            for number, other in enumerate(folded):
                if key in other:
                    votes[max(0, number - index)] += len(key)
    if not votes:
        index, line = max(enumerate(wanted), key=lambda item: len(item[1].strip()))
        words = set(re.findall(r"\w+", line.casefold()))
        for number, other in enumerate(lines):
            n_shared = len(words.intersection(re.findall(r"\w+", other.casefold())))
            if n_shared:
                votes[max(0, number - index)] = n_shared
    likeliest = sorted(votes, key=lambda number: (-votes[number], number))[:_N_CANDIDATES]
    return Counter({_offset_of_line(text, number): votes[number] for number in likeliest})


def _offset_of_line(text: Text, index: int) -> int:
    at = 0
    for _ in range(index):
        at = line_end(text.data, text.format, at)
    return at


def _place_at(text: Text, start: int, n_lines: int) -> _Place:
    lines: list[str] = []
    at, data, fmt = start, text.data, text.format
    while at < len(data) and len(lines) < n_lines:
        end = line_end(data, fmt, at)
        line = decode_part(memoryview(data)[at : min(end, at + MAX_OLD_CHARS * fmt.unit_bytes)], fmt)
        if not at and fmt.bom:
            line = line.removeprefix("\ufeff")
        lines.append(line.removesuffix("\n").removesuffix("\r"))
        at = end
    return _Place(start, tuple(lines))


def _trimmed(text: Text, wanted: Wanted, place: _Place) -> _Place:
    """Return the place without lines at its ends that correspond to no wanted line."""
    keys = [fold(line) for line in wanted.lines], [fold(line) for line in place.lines]
    opcodes = SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes()
    first = opcodes[0][4] if opcodes[0][0] == "insert" else 0
    last = opcodes[-1][3] if opcodes[-1][0] == "insert" else len(place.lines)
    if first >= last:
        return place
    start = place.start
    for _ in range(first):
        start = line_end(text.data, text.format, start)
    return _Place(start, place.lines[first:last])


def _diff(old: str, there: tuple[str, ...], start_line: int) -> str:
    wanted = _shown(old).split("\n")[:MAX_OLD_LINES]
    if len(wanted) > 1 and not wanted[-1]:
        wanted.pop()
    rows = unified_diff(
        [cut(line, 2000) for line in wanted],
        [cut(line, 2000) for line in there],
        "old_string",
        f"line {start_line}",
        n=1,
        lineterm="",
    )
    return "\n".join(rows) + "\n"


def _shown(old: str) -> str:
    """Return the part of the caller's text that is examined, without surrogates, which JSON cannot carry."""
    return _SURROGATE.sub("\ufffd", to_lf(old[:MAX_OLD_CHARS]))
