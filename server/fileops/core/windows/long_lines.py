"""Lines that are too long to be shown: their head, their length, and how much of them is cut."""

import codecs

from fileops.core.text import cut_notice
from fileops.model.files import TextFormat


class LongLine:
    """The head and the length of a line that is too long to keep."""

    def __init__(self, fmt: TextFormat, max_chars: int) -> None:
        self._decoder = codecs.getincrementaldecoder(fmt.encoding)("replace")
        self._max_chars = max_chars
        self._head = ""
        self._n_chars = 0
        self._ends_in_return = False

    def feed(self, data: bytes) -> None:
        self._add(self._decoder.decode(data))

    def finish(self, *, ends_in_newline: bool) -> tuple[bool, str, int]:
        """Return whether the line ends in CRLF, its head, and its length in characters."""
        self._add(self._decoder.decode(b"", final=True))
        is_crlf = ends_in_newline and self._ends_in_return
        n_chars = self._n_chars - is_crlf
        return is_crlf, self._head[: min(n_chars, self._max_chars)], n_chars

    def _add(self, text: str) -> None:
        if not text:
            return
        if len(self._head) < self._max_chars:
            self._head += text[: self._max_chars - len(self._head)]
        self._n_chars += len(text)
        self._ends_in_return = text.endswith("\r")


def has_long_line(text: str, max_chars: int) -> bool:
    """Return whether any line has more than `max_chars` characters, in steps of up to that many."""
    at = 0
    while len(text) - at > max_chars:
        newline = text.rfind("\n", at, at + max_chars + 1)
        if newline < 0:
            return True
        at = newline + 1
    return False


def cut_length(n_chars: int, max_chars: int) -> int:
    if n_chars <= max_chars:
        return n_chars
    return max_chars + len(cut_notice(n_chars - max_chars))
