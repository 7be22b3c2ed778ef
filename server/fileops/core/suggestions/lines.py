"""A text by lines, for searches that go from offsets to lines and back."""

from bisect import bisect_right
from itertools import accumulate


class LineTable:
    """The lines of a text with LF line ends, without these. Lines are 0-based here."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.bodies = text.split("\n")
        self._starts = [0, *accumulate(len(body) + 1 for body in self.bodies)]

    @property
    def n_lines(self) -> int:
        """Return the number of lines as an editor counts them: a final newline begins none."""
        return len(self.bodies) - (not self.bodies[-1] and len(self.bodies) > 1)

    def start(self, line: int) -> int:
        return self._starts[line]

    def end(self, line: int) -> int:
        """Return the offset after the line, before its newline."""
        return self._starts[line] + len(self.bodies[line])

    def line_at(self, offset: int) -> int:
        return min(bisect_right(self._starts, offset), len(self.bodies)) - 1

    def slice(self, first: int, last: int) -> str:
        """Return the lines from `first` to `last`, both included, without a final newline."""
        return self.text[self.start(first) : self.end(last)]
