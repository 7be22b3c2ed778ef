"""Formats only the lines that an edit changes, whatever a formatter does to the rest of the text.

Texts have LF line ends. Ranges of lines are 0-based, their ends exclusive; offsets are in characters.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from fileops.core.diff.lines import find_changed_ranges

LineRange = tuple[int, int]
Replacement = tuple[int, int, str]  # start, end, and the new text between them


def find_changed_lines(before: str | None, after: str) -> list[LineRange]:
    """Return the ranges of lines of `after` that are not in `before`. before: None for a new file."""
    lines = after.split("\n")
    if before is None:
        return [(0, len(lines))]
    return [(start, stop) for _, _, start, stop in find_changed_ranges(before.split("\n"), lines) if start < stop]


def apply_changes(text: str, ranges: Sequence[LineRange], made: Sequence[Sequence[Replacement]]) -> str:
    """Return `text` with the line changes that lie in the ranges; one that reaches beyond its range is left out.

    made: for each range, in order, what a formatter replaces in `text`. Raises: ValueError, if two of these overlap.
    """
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines[:-1])]
    result: list[str] = []
    at = 0
    for (first, last), replacements in zip(ranges, made, strict=True):
        for start, stop, new in _find_changes(text, lines, starts, replacements):
            if first <= start and stop <= last:
                result += [*lines[at:start], *new]
                at = stop
    return "\n".join([*result, *lines[at:]])


def _find_changes(
    text: str, lines: Sequence[str], starts: Sequence[int], replacements: Sequence[Replacement]
) -> list[tuple[int, int, list[str]]]:
    """Return which lines the replacements change, in order and as small as possible, and the new lines."""
    groups: list[tuple[int, int, list[Replacement]]] = []  # replacements that share lines
    end_before = 0
    for replacement in sorted(replacements, key=lambda each: each[:2]):
        start, end, _ = replacement
        if not end_before <= start <= end:
            raise ValueError("two replacements overlap")
        end_before = end
        first, last = bisect_right(starts, start) - 1, bisect_right(starts, end)
        if groups and first < groups[-1][1]:
            groups[-1] = groups[-1][0], max(last, groups[-1][1]), [*groups[-1][2], replacement]
        else:
            groups.append((first, last, [replacement]))
    changed: list[tuple[int, int, list[str]]] = []
    for first, last, group in groups:
        at, parts = starts[first], list[str]()
        for start, end, new_text in group:
            parts += text[at:start], new_text
            at = end
        new = "".join([*parts, text[at : starts[last - 1] + len(lines[last - 1])]]).split("\n")
        for old_start, old_stop, new_start, new_stop in find_changed_ranges(lines[first:last], new):
            changed.append((first + old_start, first + old_stop, new[new_start:new_stop]))
    return changed


def indentation_of(text: str) -> tuple[int, bool]:
    """Return how many columns a text indents by, and whether with spaces, for servers without their own settings."""
    indented = [line for line in text.split("\n") if line[:1] in {" ", "\t"} and line.strip()]
    widths = [len(line) - len(line.lstrip(" ")) for line in indented if line[0] == " "]
    return min(*widths, 8) if widths else 4, len(widths) * 2 >= len(indented)
