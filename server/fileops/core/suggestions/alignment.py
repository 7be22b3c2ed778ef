"""Aligns wanted lines with lines of a file near a presumed place: which correspond, and how similar they are.

Lines are first compared by their words, which takes a microsecond, and by their characters only once the alignment is
known. The alignment is the best one within a band around the presumed place, so its cost is limited.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from fileops.core.matching.similarity import fold, ratio_of, unescape

_PART = re.compile(r"[^\W\d_]+|\d+|[^\w\s]")
_MIN_PAIR = 0.3  # of the words of two lines; lines with less in common do not correspond
_MISSING = 0.3  # the cost of a wanted line missing in the file, per character
_ADDED = 0.5  # the cost of a line in the file that is not wanted
_N_COMPARED = 40  # pairs of different lines that are compared by characters; the others count by their words
_LOOKS_SAME = 0.95
_BLANKS = 0.04  # how much lines that look the same differ, by their blanks
_IN_PART = 0.9  # the weight of what a line has in common with a part of another
_MAX_TYPED_PARTS = 4  # words and signs of a short line, which one mistyped word makes another one
_MIN_LETTERS = 0.6  # of the letters of two such lines; with less in common their characters are not compared
_MIN_TYPED = 0.6  # of their characters, in their order


class LineKey(Struct, frozen=True):
    """A line as it is compared. key: equal for lines that look the same. parts: its words and signs.

    may_be_part: a wanted line that may be a part of its line there, as the first and the last line of a text may.
    """

    text: str
    key: str
    parts: frozenset[str]
    letters: frozenset[str]
    may_be_part: bool = False

    @property
    def is_short(self) -> bool:
        return len(self.parts) <= _MAX_TYPED_PARTS


def key_of(line: str, *, may_be_part: bool = False) -> LineKey:
    key = fold(line)
    return LineKey(line, key, frozenset(_PART.findall(line.lower())), frozenset(key), may_be_part)


class Alignment(Struct, frozen=True):
    """Pairs (index of a wanted line, index of a line there), ascending. score: higher is better."""

    score: float
    pairs: tuple[tuple[int, int], ...]


def align(wanted: Sequence[LineKey], there: Sequence[LineKey], shift: int, slack: int) -> Alignment:
    """Return the best alignment in which line i corresponds to one of `i + shift - slack` to `i + shift + slack`.

    Lines of the file before the first pair and after the last one cost nothing. The table has a row for each wanted
    line, and in it a cell for each line of the file within the band; a cell has the best score of an alignment of what
    is before, and which step led to it: a pair, a wanted line that is missing there, or a line there that is not
    wanted.
    """
    n_there = len(there)
    before: dict[int, float] = dict.fromkeys(range(max(0, shift - slack), min(n_there, shift + slack) + 1), 0.0)
    steps: list[dict[int, str]] = []
    for i, line in enumerate(wanted):
        row: dict[int, float] = {}
        taken: dict[int, str] = {}
        weight = len(line.key) + 1
        for j in range(max(0, i + 1 + shift - slack), min(n_there, i + 1 + shift + slack) + 1):
            best, step = float("-inf"), ""
            if j in before:
                best, step = before[j] - _MISSING * weight, "missing"
            if j - 1 in before:
                likeness = likeness_of(line, there[j - 1])
                if likeness >= _MIN_PAIR:
                    score = before[j - 1] + likeness * (weight + min(weight, len(there[j - 1].key) + 1))
                    if score >= best:
                        best, step = score, "pair"
            if j - 1 in row and row[j - 1] - _ADDED * (len(there[j - 1].key) + 1) > best:
                best, step = row[j - 1] - _ADDED * (len(there[j - 1].key) + 1), "added"
            if step:
                row[j], taken[j] = best, step
        before = row
        steps.append(taken)
    if not before:
        return Alignment(0.0, ())
    j = max(before, key=lambda at: before[at])
    score, pairs = before[j], list[tuple[int, int]]()
    i = len(wanted)
    while i:
        step = steps[i - 1].get(j)
        if step is None:
            break
        if step == "pair":
            pairs.append((i - 1, j - 1))
            i, j = i - 1, j - 1
        elif step == "missing":
            i -= 1
        else:
            j -= 1
    return Alignment(score, tuple(reversed(pairs)))


def similarity_of(wanted: Sequence[LineKey], there: Sequence[LineKey], pairs: Sequence[tuple[int, int]]) -> float:
    """Return the similarity, 0 to 1, weighted by characters. A line without a counterpart has none."""
    total = common = 0.0
    n_compared = 0
    paired = {i for i, _ in pairs}
    for i, j in pairs:
        old, new = wanted[i], there[j]
        size = len(old.text) + len(new.text) + 2
        total += size
        if old.text == new.text:
            common += size
        elif old.key == new.key:
            common += size * (_LOOKS_SAME + _BLANKS * ratio_of(old.text, new.text))
        elif n_compared < _N_COMPARED:
            n_compared += 1
            common += size * ratio_of(unescape(old.text), unescape(new.text))
        else:
            common += size * likeness_of(old, new)
    total += sum(len(line.text) + 1 for i, line in enumerate(wanted) if i not in paired)
    if pairs:
        used = {j for _, j in pairs}
        total += sum(len(there[j].text) + 1 for j in range(pairs[0][1], pairs[-1][1]) if j not in used)
    return common / total if total else 0.0


def likeness_of(old: LineKey, new: LineKey) -> float:
    """Return how many of their words two lines share, 0 to 1; for short lines, of their characters."""
    if old.key == new.key:
        return 1.0
    n_parts = len(old.parts) + len(new.parts)
    if not old.parts or not new.parts:
        return 0.0
    n_common = len(old.parts & new.parts)
    likeness = max(2 * n_common / n_parts, _IN_PART * n_common / len(old.parts) if old.may_be_part else 0.0)
    if likeness < _MIN_TYPED and old.is_short and new.is_short:
        n_letters = len(old.letters) + len(new.letters)
        if 2 * len(old.letters & new.letters) >= _MIN_LETTERS * n_letters:
            typed = ratio_of(old.key, new.key)
            return max(likeness, typed) if typed >= _MIN_TYPED else likeness
    return likeness
