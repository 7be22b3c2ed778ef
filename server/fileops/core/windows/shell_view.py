"""Finds out what the output of a shell command proves that a reader was shown of a file.

Only the bytes count, not the command: `cat`, `sed -n`, `nl` and a test's report are treated alike. What can be proved
is the whole text, or runs of MIN_RUN whole lines at one place. Lines may have numbers before them, as `cat -n`, `grep
-n` and `bat` print them; then the numbers must be right, too.
"""

import re
from collections.abc import Sequence
from typing import Literal

from fileops.core.text import to_lf

View = Literal["whole", "part"]
MIN_RUN = 3

_NUMBER = re.compile(r"[ \t]*(\d{1,9})")
_BETWEEN = re.compile(r"(?:[:\-\t→]| {0,3}[│|] ?| {1,3})?")


def view_of(text: str, output: str) -> View | None:
    """Return what the output proves; None if nothing. Linear in both."""
    lines, shown = _lines(to_lf(text)), _lines(to_lf(output))
    if not any(line.strip() for line in lines):
        return None
    if shown == lines or (len(lines) >= MIN_RUN and _contains(shown, lines)):
        return "whole"
    numbered = _find_numbered(lines, shown)
    if all(numbered) and len(lines) >= MIN_RUN:
        return "whole"
    if _longest_run(numbered) >= MIN_RUN or _has_unique_run(lines, shown):
        return "part"
    return None


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else lines


def _contains(shown: Sequence[str], lines: Sequence[str]) -> bool:
    """Return whether the lines are in the output, in order and without others between them."""
    return "\n".join(("", *lines, "")) in "\n".join(("", *shown, ""))


def _find_numbered(lines: Sequence[str], shown: Sequence[str]) -> list[bool]:
    """Return, for each line of the file, whether it is in the output with its number."""
    found = [False] * len(lines)
    for line in shown:
        number = _NUMBER.match(line)
        index = int(number[1]) - 1 if number else -1
        if number is None or not 0 <= index < len(lines) or not line.endswith(lines[index]):
            continue
        between = line[number.end() : len(line) - len(lines[index])]
        if (between or not lines[index]) and _BETWEEN.fullmatch(between):
            found[index] = True
    return found


def _longest_run(found: Sequence[bool]) -> int:
    longest = run = 0
    for is_found in found:
        run = run + 1 if is_found else 0
        longest = max(longest, run)
    return longest


def _has_unique_run(lines: Sequence[str], shown: Sequence[str]) -> bool:
    """Return whether MIN_RUN adjacent lines of the output are at exactly one place in the file.

    Two of them must have words: braces and blank lines are in every file.
    """
    places: dict[tuple[str, ...], int] = {}
    for at in range(len(lines) - MIN_RUN + 1):
        run = tuple(lines[at : at + MIN_RUN])
        places[run] = places.get(run, 0) + 1
    for at in range(len(shown) - MIN_RUN + 1):
        run = tuple(shown[at : at + MIN_RUN])
        if places.get(run) == 1 and sum(any(char.isalnum() for char in line) for line in run) >= MIN_RUN - 1:
            return True
    return False
