"""The place that an unmatched text most likely meant, and in what it differs: a hint for the caller, never applied.

Looked for in the first part of the file only, by lines that stand there literally, else by lines that are the same
but for blanks, case, quotes and what cannot be seen, else by shared words. The cost is bounded, whatever the file.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from typing import get_args

from fileops.core.text import count_newlines, cut, decode_part, line_end, line_start, to_lf
from fileops.model import DiffersIn, Nearest, Text

MAX_SCANNED_BYTES = 4 << 20  # how far into the file literal lines are looked for
MAX_FOLDED_BYTES = 256 << 10  # how far lines are decoded and compared without regard to blanks, case and quotes
MAX_OLD_LINES = 200  # of the caller's text
MAX_OLD_CHARS = 20_000
MIN_SIMILARITY = 0.5  # below, a hint misleads more than it helps
_N_ANCHORS = 6
_N_HITS = 12
_N_CANDIDATES = 5
_FEW_LINES = 20  # up to which the lines of each candidate are compared exactly
_MAX_COMPARED_CHARS = 300  # of two differing pieces that are compared character by character

_LINE_NUMBER = re.compile(r"^ *\d+(?:→|\t)")
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\'": "'", r"\r": "\r", "\\\\": "\\"}
_ESCAPE = re.compile(r"\\[nt\"'r\\]")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_BLANKS = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_QUOTES = str.maketrans("‘’‚‛′`´“”„‟″«»", "'''''''\"\"\"\"\"\"\"")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPES[found.group()], text)


_ALL_KINDS: tuple[DiffersIn, ...] = get_args(DiffersIn)
Fold = Callable[[str], str]
_FOLDS: tuple[tuple[DiffersIn, Fold], ...] = (
    ("invisible", lambda text: _BLANKS.sub(" ", _INVISIBLE.sub("", text))),
    ("quotes", lambda text: text.translate(_QUOTES)),
    ("escapes", _unescaped),
    ("case", str.casefold),
    ("line_ends", lambda text: text.replace("\r", "")),
)


@dataclass(frozen=True, slots=True)
class _Place:
    """Lines of the file, as text without their newlines, and where they begin."""

    start: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The caller's lines, at least one; whether the first and the last are wanted whole or may be parts."""

    lines: tuple[str, ...]
    whole_first: bool
    whole_last: bool


def nearest(text: Text, old: str) -> Nearest | None:
    """None where nothing comes near."""
    wanted, copied = _wanted_lines(old)
    if not any(line.strip() for line in wanted.lines):
        return None
    best: tuple[float, _Place] | None = None
    for start in _candidates(text, wanted.lines):
        place = _place_at(text, start, len(wanted.lines))
        similarity = _similarity(wanted, place.lines)
        if best is None or similarity > best[0]:
            best = similarity, place
    if best is None or best[0] < MIN_SIMILARITY:
        return None
    similarity, place = best[0], _trimmed(text, wanted, best[1])
    start_line = 1 + count_newlines(text.data, text.format, 0, place.start)
    kinds = _differences(wanted, place.lines)
    kinds = {*kinds, *copied} or {_unseen(place.lines)}
    return Nearest(
        start_line=start_line,
        end_line=start_line + len(place.lines) - 1,
        similarity=round(similarity, 3),
        diff=_diff(old, place.lines, start_line),
        differs_in=tuple(kind for kind in _ALL_KINDS if kind in kinds),
    )


def _wanted_lines(old: str) -> tuple[_Wanted, set[DiffersIn]]:
    """The caller's lines, without the line numbers and escapes that it copied or made; and which it did."""
    seen = _shown(old)
    copied: set[DiffersIn] = set()
    lines = seen.split("\n")
    if len(lines) == 1 and r"\n" in seen:
        lines = _unescaped(seen).split("\n")
        copied.add("escapes")
    numbered = [bool(_LINE_NUMBER.match(line)) for line in lines if line]
    if numbered and all(numbered):
        lines = [_LINE_NUMBER.sub("", line) for line in lines]
        copied.add("line_numbers")
    first = next((index for index, line in enumerate(lines) if line), 0)
    last = next((index for index in range(len(lines), 0, -1) if lines[index - 1]), 0)
    whole = first > 0, last < len(lines) or last - first > MAX_OLD_LINES
    return _Wanted(tuple(lines[first:last][:MAX_OLD_LINES]), *whole), copied


def _candidates(text: Text, wanted: tuple[str, ...]) -> list[int]:
    """Offsets of lines at which the wanted text may begin, the likeliest first."""
    votes: Counter[int] = Counter()
    for index, line in _telling(wanted):
        for hit in _hits(text, line.strip()):
            votes[_lines_up(text, line_start(text.data, text.format, hit), index)] += len(line)
    if not votes:
        votes = _folded_votes(text, wanted)
    return [start for start, _ in sorted(votes.items(), key=lambda item: (-item[1], item[0]))[:_N_CANDIDATES]]


def _telling(wanted: tuple[str, ...]) -> list[tuple[int, str]]:
    """The lines that most likely stand in few places, with their index: the longest."""
    lines = [(index, line) for index, line in enumerate(wanted) if _tells(line.strip())]
    return sorted(lines, key=lambda item: -len(item[1].strip()))[:_N_ANCHORS]


def _tells(line: str) -> bool:
    """Short lines stand anywhere; bytes that are no text do not."""
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
    """By lines that are the same when blanks, case, quotes and the like are ignored, else by shared words."""
    end = min(len(text.data), MAX_FOLDED_BYTES)
    end -= end % text.format.unit_bytes
    lines = decode_part(memoryview(text.data)[:end], text.format).split("\n")
    folded = [_folded(line) for line in lines]
    votes: Counter[int] = Counter()
    for index, line in _telling(wanted):
        key = _folded(line)
        if _tells(key):
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


def _trimmed(text: Text, wanted: _Wanted, place: _Place) -> _Place:
    """Without lines at either end that stand for nothing."""
    keys = [_folded(line) for line in wanted.lines], [_folded(line) for line in place.lines]
    opcodes = SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes()
    first = opcodes[0][4] if opcodes[0][0] == "insert" else 0
    last = opcodes[-1][3] if opcodes[-1][0] == "insert" else len(place.lines)
    if first >= last:
        return place
    start = place.start
    for _ in range(first):
        start = line_end(text.data, text.format, start)
    return _Place(start, place.lines[first:last])


def _similarity(wanted: _Wanted, there: tuple[str, ...]) -> float:
    """0 to 1, by characters. A first and a last line may be wanted in part."""
    total = common = 0.0
    ratio = _ratio if len(wanted.lines) <= _FEW_LINES else _quick_ratio
    for old, new in _pairs(wanted, there):
        size = len(old) + len(new) + 2
        total += size
        common += size * (1.0 if old == new else max(ratio(old, new), 0.95 * ratio(_folded(old), _folded(new))))
    return common / total if total else 0.0


def _pairs(asked: _Wanted, there: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Pieces that stand for each other. What has no counterpart is paired with nothing."""
    wanted, ends = asked.lines, list(there)
    if len(wanted) == 1 and ends:
        is_whole = asked.whole_first or asked.whole_last
        yield wanted[0], ends[0] if is_whole else _best_part(wanted[0], ends[0])
        return
    if ends and not asked.whole_first and ends[0].endswith(wanted[0]):
        ends[0] = wanted[0]
    if len(ends) == len(wanted) and not asked.whole_last and ends[-1].startswith(wanted[-1]):
        ends[-1] = wanted[-1]
    keys = [_folded(line) for line in wanted], [_folded(line) for line in ends]
    matcher = SequenceMatcher(None, keys[0], keys[1], autojunk=False)
    for _, a, a_end, b, b_end in matcher.get_opcodes():
        n_paired = min(a_end - a, b_end - b)
        yield from zip(wanted[a : a + n_paired], ends[b : b + n_paired], strict=True)
        for line in wanted[a + n_paired : a_end]:
            yield line, ""
        for line in ends[b + n_paired : b_end]:
            yield "", line


def _best_part(wanted: str, line: str) -> str:
    """The part of a line that one wanted piece most likely means, by the pieces that they share."""
    if len(line) * len(wanted) > _MAX_COMPARED_CHARS * _MAX_COMPARED_CHARS:
        return line
    blocks = SequenceMatcher(None, wanted, line, autojunk=False).get_matching_blocks()[:-1]
    longest = max(blocks, key=lambda block: block.size, default=None)
    if longest is None:
        return line
    start = max(0, longest.b - longest.a)
    near = [b for b in blocks if start - 2 <= b.b and b.b + b.size <= start + len(wanted) + 8]
    last = near[-1] if near else longest
    end = last.b + last.size + len(wanted) - last.a - last.size
    return line[start:end]


def _ratio(old: str, new: str) -> float:
    if not old.strip() and not new.strip():
        return 0.9  # blank lines of different blanks
    a, b = old[:_MAX_COMPARED_CHARS], new[:_MAX_COMPARED_CHARS]
    return SequenceMatcher(None, a, b, autojunk=False).ratio()


def _quick_ratio(old: str, new: str) -> float:
    """An upper bound, in linear time."""
    return SequenceMatcher(None, old[:_MAX_COMPARED_CHARS], new[:_MAX_COMPARED_CHARS], autojunk=False).quick_ratio()


def _differences(wanted: _Wanted, there: tuple[str, ...]) -> set[DiffersIn]:
    kinds: set[DiffersIn] = set()
    for old, new in _pairs(wanted, there):
        if old != new:
            kinds |= _kinds(old, new)
    return kinds


def _kinds(old: str, new: str) -> set[DiffersIn]:
    kinds: set[DiffersIn] = set()
    old_body, new_body = old.strip(" \t\r"), new.strip(" \t\r")
    if not old_body and not new_body:
        return {"trailing_blanks"}
    if not old_body or not new_body:
        return {"words"}
    old_tail, new_tail = old[len(old.rstrip(" \t\r")) :], new[len(new.rstrip(" \t\r")) :]
    if old_tail != new_tail:
        kinds.add("line_ends" if "\r" in old_tail + new_tail else "trailing_blanks")
    old_indent, new_indent = old[: len(old) - len(old.lstrip(" \t"))], new[: len(new) - len(new.lstrip(" \t"))]
    if old_indent != new_indent:
        kinds.add("tabs" if ("\t" in old_indent) != ("\t" in new_indent) else "indentation")
    if old_body != new_body:
        kinds |= _body_kinds(old_body, new_body)
    return kinds


def _body_kinds(old: str, new: str) -> set[DiffersIn]:
    """Which folds it takes to make the two the same; "words" where none do, beside those that bring them nearer."""
    kinds: set[DiffersIn] = set()
    if "\ufffd" in new and _NOT_ASCII.search(old):
        kinds.add("invalid_bytes")
        old, new = _NOT_ASCII.sub("?", old), _NOT_ASCII.sub("?", new)
    for kind, fold in _FOLDS:
        folded = fold(old), fold(new)
        if old != new and folded != (old, new) and (folded[0] == folded[1] or _ratio(*folded) > _ratio(old, new)):
            kinds.add(kind)
            old, new = folded
    if old != new:
        kinds.add("tabs" if _without_blanks(old) == _without_blanks(new) and "\t" in old + new else "words")
    return kinds


def _unseen(there: tuple[str, ...]) -> DiffersIn:
    """What differs where the decoded text is the same."""
    return "invalid_bytes" if any("\ufffd" in line for line in there) else "line_ends"


def _diff(old: str, there: tuple[str, ...], start_line: int) -> str:
    wanted = _shown(old).split("\n")[:MAX_OLD_LINES]
    if len(wanted) > 1 and not wanted[-1]:
        wanted.pop()
    rows = unified_diff(
        [cut(line, 2000) for line in wanted], [cut(line, 2000) for line in there], "old_string",
        f"line {start_line}", n=1, lineterm="",
    )  # fmt: skip
    return "\n".join(rows) + "\n"


def _folded(line: str) -> str:
    """For telling lines that are the same to the eye."""
    line = _BLANKS.sub(" ", _INVISIBLE.sub("", line)).translate(_QUOTES).casefold()
    return _without_blanks(line)


def _without_blanks(text: str) -> str:
    return "".join(text.split())


def _shown(old: str) -> str:
    """What the caller gave, as far as it is looked at, with nothing that JSON cannot carry."""
    return _SURROGATE.sub("\ufffd", to_lf(old[:MAX_OLD_CHARS]))
