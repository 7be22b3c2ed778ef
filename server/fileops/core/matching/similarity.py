"""Similarity of two texts by lines: which lines correspond, and which are equal but for blanks, case and quotes."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from msgspec import Struct

_FEW_LINES = 20  # lines up to which candidates are compared exactly
_MAX_COMPARED_CHARS = 300  # of two differing lines, compared by character

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_BLANKS = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_QUOTES = str.maketrans("‘’‚‛′`´“”„‟″«»", "'''''''\"\"\"\"\"\"\"")
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\'": "'", r"\r": "\r", "\\\\": "\\"}
_ESCAPE = re.compile(r"\\[nt\"'r\\]")


class Wanted(Struct, frozen=True):
    """The caller's lines, at least one. The flags say whether the first and last must match whole lines."""

    lines: tuple[str, ...]
    whole_first: bool
    whole_last: bool


def similarity_of(wanted: Wanted, there: tuple[str, ...]) -> float:
    """Return the similarity, 0 to 1, weighted by characters."""
    total = common = 0.0
    ratio = ratio_of if len(wanted.lines) <= _FEW_LINES else _quick_ratio
    for old, new in pairs_of(wanted, there):
        size = len(old) + len(new) + 2
        total += size
        common += size * (1.0 if old == new else max(ratio(old, new), 0.95 * ratio(fold(old), fold(new))))
    return common / total if total else 0.0


def pairs_of(asked: Wanted, there: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the corresponding pieces. A piece without a counterpart is paired with ""."""
    wanted, ends = asked.lines, list(there)
    if len(wanted) == 1 and ends:
        is_whole = asked.whole_first or asked.whole_last
        yield wanted[0], ends[0] if is_whole else _best_part(wanted[0], ends[0])
        return
    if ends and not asked.whole_first and ends[0].endswith(wanted[0]):
        ends[0] = wanted[0]
    if len(ends) == len(wanted) and not asked.whole_last and ends[-1].startswith(wanted[-1]):
        ends[-1] = wanted[-1]
    keys = [fold(line) for line in wanted], [fold(line) for line in ends]
    matcher = SequenceMatcher(None, keys[0], keys[1], autojunk=False)
    for _, a, a_end, b, b_end in matcher.get_opcodes():
        n_paired = min(a_end - a, b_end - b)
        yield from zip(wanted[a : a + n_paired], ends[b : b + n_paired], strict=True)
        for line in wanted[a + n_paired : a_end]:
            yield line, ""
        for line in ends[b + n_paired : b_end]:
            yield "", line


def _best_part(wanted: str, line: str) -> str:
    """Return the part of a line that one wanted piece most likely means, by the substrings that they share."""
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


def ratio_of(old: str, new: str) -> float:
    if not old.strip() and not new.strip():
        return 0.9  # the lines differ only in blanks
    a, b = old[:_MAX_COMPARED_CHARS], new[:_MAX_COMPARED_CHARS]
    return SequenceMatcher(None, a, b, autojunk=False).ratio()


def _quick_ratio(old: str, new: str) -> float:
    """Return an upper bound of the ratio, in linear time."""
    return SequenceMatcher(None, old[:_MAX_COMPARED_CHARS], new[:_MAX_COMPARED_CHARS], autojunk=False).quick_ratio()


def fold(line: str) -> str:
    """Return a key that is equal for lines that look the same."""
    return without_blanks(with_plain_quotes(visible(line)).casefold())


def visible(text: str) -> str:
    """Remove invisible characters and replace other blanks by spaces."""
    return _BLANKS.sub(" ", _INVISIBLE.sub("", text))


def with_plain_quotes(text: str) -> str:
    return text.translate(_QUOTES)


def unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPES[found.group()], text)


def without_blanks(text: str) -> str:
    return "".join(text.split())
