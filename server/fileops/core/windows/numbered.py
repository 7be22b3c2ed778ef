"""Reader of the numbered window of a file. The caller feeds bytes in chunks of any size until it has enough.

The limits bound the memory, not the file: only the shown part of a line is kept, and hidden lines are only counted.
Knows nothing of files; the caller opens, feeds and stops.
"""

from collections.abc import Sequence

from fileops.core.text import (
    count_newlines,
    cut,
    cut_notice,
    decode_part,
    detect_format,
    find_aligned,
    may_begin_bom,
    newline_of,
    nth_line_end,
    style_of,
)
from fileops.core.windows.long_lines import LongLine, cut_length, has_long_line
from fileops.model.errors import TooManyChars
from fileops.model.files import TextFormat
from fileops.model.results import Window
from fileops.model.settings import Limits

_NUMBERS = tuple(f"\n{n:>6}→" for n in range(2001))  # formatting them is half the work of most reads
_LONG_LINE_BYTES = 1 << 16  # a longer unfinished line is not kept as bytes


class WindowReader:
    """Takes the file from line `start_line` on, which begins at byte `start_offset`, and builds a Window."""

    def __init__(
        self,
        *,
        offset: int | None = None,
        limit: int | None = None,
        limits: Limits,
        fmt: TextFormat | None = None,
        start_line: int = 1,
        start_offset: int = 0,
    ) -> None:
        self._limits = limits
        self._format = fmt
        self._first = max(1, offset or 1)
        self._end = None if limit is None else self._first + limit  # first line after the selection
        self._max_shown = limits.max_lines
        self._line = start_line  # the line that the next byte belongs to
        self._pending = b""  # of an unfinished line or code unit
        self._has_begun_line = False  # a byte of the current line was skipped
        self._long: LongLine | None = None
        self._shown: list[str] = []  # numbered, a newline before each line; pieces of one or more lines
        self._n_shown = 0
        self._n_selected = 0
        self._n_chars = 0
        self._n_newlines = 0
        self._n_crlf = 0
        self._is_enough = False
        self._has_cut_line = False
        self._sniffed = start_offset > 0

    @property
    def line(self) -> int:
        """The line to which the next byte belongs. Valid only while `feed` returns False."""
        return self._line

    def feed(self, chunk: bytes) -> bool:
        """Take a chunk. Return True if the reader needs no more."""
        if self._is_enough or not chunk:
            return self._is_enough
        if self._is_selected():  # all further bytes are after the selection
            self._is_enough = True
            return True
        data = self._pending + chunk if self._pending else chunk
        self._pending = b""
        if not self._sniffed:
            data = self._sniff(data, is_last=False)
        if data:
            self._take(data)
        return self._is_enough

    def finish(self) -> Window:
        """Return the window, after the last chunk or after `feed` has returned True. Raises: TooManyChars."""
        if not self._sniffed:
            data, self._pending = self._pending, b""
            self._take(self._sniff(data, is_last=True))
        at_end = not self._is_enough
        if at_end:
            self._take_rest()
        total_lines = self._line - 1 if at_end else None
        past_end = at_end and self._n_selected == 0
        if self._n_chars > self._limits.max_chars:
            raise TooManyChars(n_chars=self._n_chars, max_chars=self._limits.max_chars)
        n_hidden = self._n_selected - self._n_shown
        text = "".join(self._shown)[1:]
        following = self._first + self._n_shown
        return Window(
            text=f"{text}\n... (more {n_hidden} lines are truncated)" if n_hidden else text,
            start_line=self._first,
            end_line=following - 1,
            total_lines=total_lines,
            next_offset=None if total_lines is not None and following > total_lines else following,
            n_lines_hidden=n_hidden,
            n_chars=self._n_chars,
            newline=style_of(n_newlines=self._n_newlines, n_crlf=self._n_crlf),
            format=self._format or TextFormat(),
            past_end=past_end,
            at_end=at_end,
            is_whole=at_end and self._first == 1 and not n_hidden and not self._has_cut_line,
        )

    # --- the head of the file ---------------------------------------------------------------------------------

    def _sniff(self, data: bytes, *, is_last: bool) -> bytes:
        """Return the data after the BOM, or b"" until enough bytes are there to recognise it."""
        if self._format is None:
            if not is_last and may_begin_bom(data):
                self._pending = data
                return b""
            self._format = detect_format(data)
        bom = self._format.bom
        if len(data) < len(bom) and not is_last:
            self._pending = data
            return b""
        self._sniffed = True
        return data.removeprefix(bom)

    # --- taking data ------------------------------------------------------------------------------------------

    def _take(self, data: bytes) -> None:
        fmt = self._format or TextFormat()
        odd = len(data) % fmt.unit_bytes
        if odd:
            self._pending = data[-odd:]
            data = data[:-odd]
        at = self._skip(data, fmt) if self._line < self._first else 0
        if at < len(data) and self._line >= self._first:
            self._select(data, at, fmt)

    def _is_selected(self) -> bool:
        """Return whether every line of the selection has been taken."""
        return self._end is not None and self._line >= self._end

    def _skip(self, data: bytes, fmt: TextFormat) -> int:
        """Skip lines before the selection. Return where it begins, or the end of the data."""
        n_wanted = self._first - self._line
        n_here = count_newlines(data, fmt)
        if n_here < n_wanted:
            self._line += n_here
            if data:
                self._has_begun_line = not data.endswith(newline_of(fmt))
            return len(data)
        self._line = self._first
        self._has_begun_line = False
        return nth_line_end(data, fmt, n_wanted)

    def _select(self, data: bytes, at: int, fmt: TextFormat) -> None:
        newline = newline_of(fmt)
        if self._long is not None:
            hit = find_aligned(data, newline, fmt, at)
            if hit < 0:
                self._long.feed(data[at:])
                return
            self._long.feed(data[at:hit])
            self._end_long_line()
            at = hit + len(newline)
            if self._is_selected():
                self._is_enough = at < len(data) or bool(self._pending)
                return
        whole_end = _after_last_newline(data, fmt, at)
        if whole_end > at:
            at = self._take_lines(data, at, whole_end, fmt)
            if self._is_selected():
                self._is_enough = at < len(data) or bool(self._pending)
                return
        rest = data[at:]
        if len(rest) > _LONG_LINE_BYTES:
            self._long = LongLine(fmt, self._limits.max_line_chars)
            self._long.feed(rest)
        else:
            self._pending = rest + self._pending

    def _take_lines(self, data: bytes, at: int, end: int, fmt: TextFormat) -> int:
        """Take the selected whole lines in [at, end). Return where it stopped."""
        n_here = count_newlines(data, fmt, at, end)
        if self._end is not None and n_here > self._end - self._line:
            n_here = self._end - self._line
            end = nth_line_end(data, fmt, n_here, at)
        self._n_newlines += n_here
        n_to_show = min(n_here, self._max_shown - self._n_shown)
        if n_to_show > 0:
            shown_end = end if n_to_show == n_here else nth_line_end(data, fmt, n_to_show, at)
            self._show(decode_part(memoryview(data)[at:shown_end], fmt))
            at = shown_end
        if n_here > n_to_show:
            self._count(data[at:end], n_here - n_to_show, fmt)
        return end

    def _show(self, block: str) -> None:
        """Show lines that each end in a newline."""
        max_chars = self._limits.max_line_chars
        if "\r" in block:  # searching one character is far faster
            self._n_crlf += block.count("\r\n")
            block = block.replace("\r\n", "\n")
        lines = block.split("\n")
        lines.pop()
        if has_long_line(block, max_chars):
            self._has_cut_line = True
            lines = [cut(line, max_chars) for line in lines]
            self._n_chars += sum(map(len, lines)) + len(lines)
        else:
            self._n_chars += len(block)
        numbered = [""] * (2 * len(lines))  # joined once, without a string per line
        numbered[::2] = _numbers(self._line, len(lines))
        numbered[1::2] = lines
        self._shown.append("".join(numbered))
        self._n_shown += len(lines)
        self._line += len(lines)
        self._n_selected += len(lines)

    def _count(self, block: bytes, n_lines: int, fmt: TextFormat) -> None:
        """Count the characters of lines that are selected and hidden."""
        max_chars = self._limits.max_line_chars
        text = decode_part(block, fmt)
        if "\r" in text:
            self._n_crlf += text.count("\r\n")
            text = text.replace("\r\n", "\n")
        if has_long_line(text, max_chars):
            self._n_chars += sum(cut_length(len(line), max_chars) for line in text.split("\n")) + n_lines
        else:
            self._n_chars += len(text)
        self._line += n_lines
        self._n_selected += n_lines

    def _end_long_line(self) -> None:
        """Add the long line, whose newline has been found."""
        if self._long is None:
            return
        had_return, line, n_chars = self._long.finish(ends_in_newline=True)
        self._long = None
        self._n_newlines += 1
        self._n_crlf += had_return
        self._add_line(line, n_chars)

    def _add_line(self, head: str, n_chars: int) -> None:
        """Add a line by its shown part and the number of its characters."""
        max_chars = self._limits.max_line_chars
        self._n_chars += cut_length(n_chars, max_chars) + 1
        if self._n_shown < self._max_shown:
            if n_chars > max_chars:
                self._has_cut_line = True
                head += cut_notice(n_chars - max_chars)
            self._shown += (*_numbers(self._line, 1), head)
            self._n_shown += 1
        self._line += 1
        self._n_selected += 1

    def _take_rest(self) -> None:
        """Take a last line without a newline."""
        fmt = self._format or TextFormat()
        rest, self._pending = self._pending, b""
        if self._line < self._first:
            self._line += self._has_begun_line or bool(rest)
            return
        if self._end is not None and self._line >= self._end:
            if rest:
                self._line += 1
            return
        if self._long is not None:
            self._long.feed(rest)
            _, line, n_chars = self._long.finish(ends_in_newline=False)
            self._long = None
            self._add_line(line, n_chars)
        elif rest:
            line = decode_part(rest, fmt)
            self._add_line(line[: self._limits.max_line_chars], len(line))


def _numbers(first: int, n_lines: int) -> Sequence[str]:
    end = first + n_lines
    return _NUMBERS[first:end] if end <= len(_NUMBERS) else [f"\n{n:>6}→" for n in range(first, end)]


def _after_last_newline(data: bytes, fmt: TextFormat, at: int) -> int:
    """Return the offset after the last newline from `at` on, or `at` if there is none."""
    newline = newline_of(fmt)
    hit = data.rfind(newline, at)
    while hit % fmt.unit_bytes and hit >= 0:
        hit = data.rfind(newline, at, hit + len(newline) - 1)
    return at if hit < 0 else hit + len(newline)
