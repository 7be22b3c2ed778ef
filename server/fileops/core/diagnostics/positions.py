"""LSP's positions as offsets in a text, and offsets as a read's lines and columns.

LSP's lines end at LF, CRLF and CR, a read's only at LF. So problems are kept as offsets in characters.
"""

import re
from array import array
from bisect import bisect_left, bisect_right
from itertools import accumulate

from fileops.core.text import n_units
from fileops.model.documents import PositionEncoding

_BREAK = re.compile(r"\r\n|\n|\r")


class Positions:
    """The lines of one text. A position beyond the end of a line, or of the text, means that end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._is_ascii = text.isascii()
        self._starts: list[int] | None = None  # of LSP's lines
        self._ends: list[int] = []
        self._units: dict[tuple[int, PositionEncoding], array[int]] = {}
        self._read_starts: list[int] | None = None  # of a read's lines

    def offset(self, line: int, character: int, encoding: PositionEncoding) -> int:
        """Return the offset of an LSP position, whose character is in units of the encoding."""
        if self._starts is None:
            breaks = list(_BREAK.finditer(self._text))
            self._starts = [0, *(found.end() for found in breaks)]
            self._ends = [*(found.start() for found in breaks), len(self._text)]
        if line < 0:
            return 0
        if line >= len(self._starts):
            return len(self._text)
        start, end = self._starts[line], self._ends[line]
        if self._is_ascii or encoding == "utf-32":
            return min(start + max(character, 0), end)
        return start + bisect_left(self._unit_starts(line, start, end, encoding), character)

    def _unit_starts(self, line: int, start: int, end: int, encoding: PositionEncoding) -> "array[int]":
        """Return where each character of a line begins, in units. Each line is counted once."""
        known = self._units.get((line, encoding))
        if known is None:
            known = array("L", accumulate((n_units(char, encoding) for char in self._text[start:end]), initial=0))
            known.pop()
            self._units[line, encoding] = known
        return known

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return both 1-based: the line as a read numbers it, the column in characters."""
        if self._read_starts is None:
            self._read_starts = [0, *(found.end() for found in re.finditer("\n", self._text))]
        line = bisect_right(self._read_starts, offset)
        return line, offset - self._read_starts[line - 1] + 1
