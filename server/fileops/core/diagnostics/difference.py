"""Finds which problems an edit introduced and which it resolved. Linear in the problems, times a logarithm.

A problem after the edit is the same as one before it if severity, code, source and message are the same and

1. its range is where the edit moved that of the other, or
2. it begins where the edit moved the beginning of the other, or
3. both lie in text that the edit rewrote, because text that is moved takes its problems along.

The rules are applied in this order to all problems with the same message, and each problem is matched once. So a
problem with an exact partner never takes the partner of another problem. Of the rest, two problems are also the same if
the edit wrote nothing there, the range of one is where the edit moved that of the other, and the messages differ only
in what they quote: checkers print inferred types, which an edit elsewhere may change, and some print one type in
several ways.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate

from msgspec import Struct

from fileops.core.text import decode_part
from fileops.model.diagnostics import SEVERITIES, Problem
from fileops.model.edits import Splice
from fileops.model.files import TextFormat

# In a message: "Redefinition of x from line 12", "declared at 3:4". Numbers of lines move with the text.
_LINE_NUMBER = re.compile(r"\b(lines?|ln|at|:) ?\d+(?::\d+)?")
_QUOTED = re.compile(r"""(?<!\w)'[^']*'|"[^"]*"|`[^`]*`""")
MAX_LINES = 400  # of each side of a splice whose lines are compared, which is quadratic at worst


class LineEdit(Struct, frozen=True, gc=False):
    """Characters [start, end) of the old text became [new_start, new_end) of the new text."""

    start: int
    end: int
    new_start: int
    new_end: int


class Difference(Struct, frozen=True):
    """introduced: problems after the edit. resolved: problems before it. The worst come first, then by place."""

    introduced: tuple[Problem, ...]
    resolved: tuple[Problem, ...]


def text_edits(data: bytes, fmt: TextFormat, splices: Sequence[Splice]) -> tuple[LineEdit, ...]:
    """Return the splices of a file's bytes in characters, without the heads, tails and lines that both texts share."""
    edits: list[LineEdit] = []
    reached_bytes = len(fmt.bom) if data.startswith(fmt.bom) else 0
    reached = shift = 0
    view = memoryview(data)
    for splice in splices:
        start_bytes = max(splice.start, reached_bytes)
        start = reached + len(decode_part(view[reached_bytes:start_bytes], fmt))
        old = decode_part(view[start_bytes : splice.end], fmt)
        new = decode_part(splice.new.removeprefix(fmt.bom) if fmt.bom and not splice.start else splice.new, fmt)
        edits += _find_changed_parts(old, new, start, shift)
        reached, reached_bytes = start + len(old), max(splice.end, reached_bytes)
        shift += len(new) - len(old)
    return tuple(edits)


def difference(before: Sequence[Problem], after: Sequence[Problem], edits: Sequence[LineEdit]) -> Difference:
    """Compare the problems of a whole file before and after sorted edits."""
    mapping = _Mapping(edits)
    old_by_key: defaultdict[tuple[str, ...], list[Problem]] = defaultdict(list)
    new_by_key: defaultdict[tuple[str, ...], list[Problem]] = defaultdict(list)
    for problem in before:
        old_by_key[_key(problem)].append(problem)
    for problem in after:
        new_by_key[_key(problem)].append(problem)
    introduced: list[Problem] = []
    resolved: list[Problem] = []
    for key in old_by_key.keys() | new_by_key.keys():
        added, gone = _match(old_by_key.get(key, ()), new_by_key.get(key, ()), mapping)
        introduced += added
        resolved += gone
    introduced, resolved = _without_reworded(introduced, resolved, mapping)
    return Difference(tuple(sorted(introduced, key=_rank)), tuple(sorted(resolved, key=_rank)))


def _without_reworded(
    added: Sequence[Problem], gone: Sequence[Problem], mapping: "_Mapping"
) -> tuple[list[Problem], list[Problem]]:
    """Return the rest of both without problems that stayed where they were and only quote something else now."""
    by_place: defaultdict[tuple[object, ...], list[Problem]] = defaultdict(list)
    for problem in added:
        if not mapping.is_new(problem.start, problem.end):
            by_place[problem.start, problem.end, *_key(problem)[:3], _unquote(problem)].append(problem)
    matched, left_gone = set[int](), list[Problem]()
    for problem in gone:
        place = mapping.range_of(problem.start, problem.end)
        partners = by_place.get((*place, *_key(problem)[:3], _unquote(problem)))
        if partners and not mapping.is_touched(problem.start, problem.end):
            matched.add(id(partners.pop()))
        else:
            left_gone.append(problem)
    return [problem for problem in added if id(problem) not in matched], left_gone


def _unquote(problem: Problem) -> str:
    return _QUOTED.sub("", _key(problem)[-1])


def _key(problem: Problem) -> tuple[str, ...]:
    return problem.severity, problem.code, problem.source, _LINE_NUMBER.sub(r"\1", problem.message)


def _rank(problem: Problem) -> tuple[int, int, int, str]:
    return SEVERITIES.index(problem.severity), problem.start, problem.end, problem.message


def _n_shared(one: str, other: str) -> int:
    """Return how many leading characters both share, by halving: slices are compared at the speed of memory."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _find_changed_parts(old: str, new: str, start: int, shift: int) -> Iterator[LineEdit]:
    """Yield the parts of a splice that differ: for each run of differing lines, without what its ends share.

    start: of the splice in the old text. shift: by how much earlier splices have moved it.
    """
    old_lines, new_lines = old.splitlines(keepends=True), new.splitlines(keepends=True)
    if max(len(old_lines), len(new_lines)) > MAX_LINES:
        runs = [(0, len(old), 0, len(new))]
    else:
        old_ends, new_ends = [0, *accumulate(map(len, old_lines))], [0, *accumulate(map(len, new_lines))]
        runs = [
            (old_ends[old_from], old_ends[old_to], new_ends[new_from], new_ends[new_to])
            for tag, old_from, old_to, new_from, new_to in SequenceMatcher(
                None, old_lines, new_lines, autojunk=False
            ).get_opcodes()
            if tag != "equal"
        ]
    for old_from, old_to, new_from, new_to in runs:
        before, after = old[old_from:old_to], new[new_from:new_to]
        n_head = _n_shared(before, after)
        n_tail = _n_shared(before[n_head:][::-1], after[n_head:][::-1])
        if n_head < max(len(before), len(after)):
            yield LineEdit(
                start + old_from + n_head,
                start + old_to - n_tail,
                start + shift + new_from + n_head,
                start + shift + new_to - n_tail,
            )


def _match(old: Sequence[Problem], new: Sequence[Problem], mapping: "_Mapping") -> tuple[list[Problem], list[Problem]]:
    """Match problems that say the same; return the rest of the new ones and of the old ones."""
    if not old or not new:
        return list(new), list(old)
    moved = [mapping.range_of(problem.start, problem.end) for problem in old]
    left_old, left_new = list(range(len(old))), dict.fromkeys(range(len(new)))
    ranges = moved, [(problem.start, problem.end) for problem in new]
    starts = [(start, 0) for start, _ in moved], [(problem.start, 0) for problem in new]
    for old_places, new_places in (ranges, starts):
        by_place: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        for index in left_new:
            by_place[new_places[index]].append(index)
        still_left: list[int] = []
        for index in left_old:
            if partners := by_place.get(old_places[index]):
                del left_new[partners.pop()]
            else:
                still_left.append(index)
        left_old = still_left
    rewritten = [index for index in left_new if mapping.is_new(new[index].start, new[index].end)]
    gone: list[Problem] = []
    for index in left_old:
        if rewritten and mapping.is_touched(old[index].start, old[index].end):
            del left_new[rewritten.pop(0)]
        else:
            gone.append(old[index])
    return [new[index] for index in left_new], gone


class _Mapping:
    """How edits have moved the text around them."""

    def __init__(self, edits: Sequence[LineEdit]) -> None:
        self._edits = tuple(edits)
        self._ends = [edit.end for edit in edits]
        self._new_ends = [edit.new_end for edit in edits]

    def range_of(self, start: int, end: int) -> tuple[int, int]:
        """Return where the range is afterwards. Text that was inserted at one of its edges is outside it."""
        new_start = self._offset(start, is_end=False)
        return new_start, max(new_start, self._offset(end, is_end=True))

    def _offset(self, at: int, *, is_end: bool) -> int:
        index = bisect_left(self._ends, at)  # the first edit that ends at or after the offset
        while index < len(self._edits):
            edit = self._edits[index]
            if at < edit.start or (at == edit.start and is_end):
                break
            if at == edit.end and not is_end:
                index += 1
                continue
            if at == edit.end:
                return edit.new_end
            return edit.new_start + min(at - edit.start, edit.new_end - edit.new_start)
        if index == 0:
            return at
        last = self._edits[index - 1]
        return at - last.end + last.new_end

    def is_touched(self, start: int, end: int) -> bool:
        """Return whether a range of the text before meets an edit."""
        index = bisect_left(self._ends, start)
        return index < len(self._edits) and self._edits[index].start <= end

    def is_new(self, start: int, end: int) -> bool:
        """Return whether a range of the text after meets text that an edit has written."""
        index = bisect_left(self._new_ends, start)
        return index < len(self._edits) and self._edits[index].new_start <= end
