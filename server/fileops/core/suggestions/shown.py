"""The lines around the places of an edit, as a Read shows them."""

from collections.abc import Iterable, Sequence

from fileops.core.suggestions.lines import LineTable
from fileops.model.edits import LineRange
from fileops.model.suggestions import ShownLines

N_CONTEXT = 3
MAX_LINES = 60


def find_shown_lines(
    lines: LineTable, places: Iterable[tuple[int, int]], max_line_chars: int, max_chars: int
) -> ShownLines | None:
    """Return the lines around all of the places (1-based, both ends included); None if they are too many or too long.

    Nothing is cut: what is shown counts as read.
    """
    ranges = _windows(sorted(places), lines.n_lines)
    if not ranges or sum(last - first + 1 for first, last in ranges) > MAX_LINES:
        return None
    blocks = ["\n".join(_number(lines, first, last)) for first, last in ranges]
    text = "\n...\n".join(blocks)
    is_cut = any(len(lines.bodies[line - 1]) > max_line_chars for a, b in ranges for line in range(a, b + 1))
    if len(text) > max_chars or is_cut:
        return None
    return ShownLines(ranges=tuple(LineRange(start_line=first, end_line=last) for first, last in ranges), text=text)


def _windows(places: Sequence[tuple[int, int]], n_lines: int) -> list[tuple[int, int]]:
    windows: list[tuple[int, int]] = []
    for first, last in places:
        low, high = max(1, first - N_CONTEXT), min(n_lines, last + N_CONTEXT)
        if windows and low <= windows[-1][1] + 1:
            low, high = windows[-1][0], max(high, windows.pop()[1])
        windows.append((low, high))
        if len(windows) > MAX_LINES:
            return windows
    return windows


def _number(lines: LineTable, first: int, last: int) -> list[str]:
    return [f"{number:>6}→{lines.bodies[number - 1]}" for number in range(first, last + 1)]
