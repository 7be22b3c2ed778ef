"""Reader of the unchanged text of a file's lines: without numbers, with its own line ends, nothing cut.

For a client that keeps whole texts, such as an editor. Takes bytes in chunks, as `WindowReader` does. `max_kb` bounds
the memory.
"""

from fileops.core.text import (
    count_lines,
    count_newlines,
    decode_part,
    find_aligned,
    newline_of,
    newline_style,
    nth_line_end,
)
from fileops.model.errors import TooLarge
from fileops.model.files import TextFormat
from fileops.model.results import Window


class RawReader:
    """Takes the file from line `start_line` on, which begins at byte `start_offset`, and builds a Window."""

    def __init__(
        self,
        *,
        offset: int | None,
        limit: int | None,
        max_kb: int,
        fmt: TextFormat,
        start_line: int = 1,
        start_offset: int = 0,
    ) -> None:
        self._format = fmt
        self._max_kb = max_kb
        self._first = max(1, offset or 1)
        self._limit = limit
        self._line = start_line  # the line that the next byte belongs to
        self._n_bom_left = 0 if start_offset else len(fmt.bom)
        self._unit = b""  # the beginning of a code unit
        self._has_begun_line = False
        self._taken = bytearray()  # of the selection
        self._n_taken_lines = 0  # whole ones
        self._is_enough = False

    @property
    def line(self) -> int:
        """The line to which the next byte belongs. Valid only while `feed` returns False."""
        return self._line

    def feed(self, chunk: bytes) -> bool:
        """Take a chunk. Return True if the reader needs no more. Raises: TooLarge."""
        if self._is_enough:
            return True
        data = self._unit + chunk
        whole = len(data) - len(data) % self._format.unit_bytes
        self._unit = data[whole:]
        if whole:
            self._take(data[:whole])
        return self._is_enough

    def finish(self) -> Window:
        """Return the window, after the last chunk or after `feed` has returned True."""
        fmt = self._format
        at_end = not self._is_enough
        if at_end and self._unit:
            self._take(self._unit)
            at_end = not self._is_enough
        taken = bytes(self._taken)
        n_lines = count_lines(taken, TextFormat(encoding=fmt.encoding))
        last_line = self._line - (0 if self._has_begun_line else 1)
        text = decode_part(taken, fmt)
        following = self._first + n_lines
        return Window(
            text=text,
            start_line=self._first,
            end_line=following - 1,
            total_lines=last_line if at_end else None,
            next_offset=None if at_end and following > last_line else following,
            n_lines_hidden=0,
            n_chars=len(text),
            newline=newline_style(taken, fmt),
            format=fmt,
            past_end=at_end and not n_lines,
            at_end=at_end,
            is_whole=at_end and self._first == 1,
        )

    def _take(self, data: bytes) -> None:
        """Take whole code units."""
        fmt = self._format
        n_bom, at = min(self._n_bom_left, len(data)), 0
        self._n_bom_left -= n_bom
        data = data[n_bom:]
        if self._line < self._first:
            n_skipped = count_newlines(data, fmt)
            if n_skipped < self._first - self._line:
                self._line += n_skipped
                self._note_end(data)
                return
            at = nth_line_end(data, fmt, self._first - self._line)
            self._line = self._first
            self._has_begun_line = False
        if at == len(data):
            return
        end = self._find_selected_end(data, at)
        self._is_enough = end < len(data)
        piece = data[at:end]
        if len(self._taken) + len(piece) > self._max_kb * 1024:
            raise TooLarge(size_bytes=len(self._taken) + len(piece), max_kb=self._max_kb)
        self._taken += piece
        n_lines = count_newlines(piece, fmt)
        self._n_taken_lines += n_lines
        self._line += n_lines
        self._note_end(piece)

    def _find_selected_end(self, data: bytes, at: int) -> int:
        if self._limit is None:
            return len(data)
        n_left = self._limit - self._n_taken_lines
        if not n_left:
            return at
        n_here = count_newlines(data, self._format, at)
        return len(data) if n_here < n_left else nth_line_end(data, self._format, n_left, at)

    def _note_end(self, data: bytes) -> None:
        if data:
            newline = newline_of(self._format)
            self._has_begun_line = find_aligned(data, newline, self._format, len(data) - len(newline)) < 0
