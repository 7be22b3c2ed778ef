"""Extensions of an ambiguous text by whole lines, each of which occurs only once."""

from fileops.core.pausing import Check, check_nothing
from fileops.core.suggestions.lines import LineTable

MAX_LINES_ADDED = 12


def extension(lines: LineTable, start: int, end: int, check: Check = check_nothing) -> tuple[int, int] | None:
    """Return the shortest extension [start, end) of a part by whole lines that occurs once in the text.

    It contains the part only once, so that a caller can make its new text by replacing the part in it. Of equally long
    extensions, the one with more lines before the part is taken: these identify a place more often than those after it.
    None if MAX_LINES_ADDED lines do not suffice. Raises: the errors of `check`.
    """
    part = lines.text[start:end]
    takes_newline = part.endswith("\n")
    first, last = lines.line_at(start), lines.line_at(max(start, end - 1))
    for n_added in range(MAX_LINES_ADDED + 1):
        for n_above in range(n_added, -1, -1):
            check()
            top, bottom = first - n_above, last + n_added - n_above
            if top < 0 or bottom >= lines.n_lines:
                continue
            found = lines.start(top), min(lines.end(bottom) + takes_newline, len(lines.text))
            text = lines.text[found[0] : found[1]]
            if _occurs_once(text, part) and _occurs_once(lines.text, text):
                return found
    return None


def _occurs_once(text: str, part: str) -> bool:
    at = text.find(part)
    return at >= 0 and text.find(part, at + 1) < 0
