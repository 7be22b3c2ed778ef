"""What the vector of a content says about its lines and its places. Pure."""

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Literal

from msgspec import Struct

from fileops.core.diff.contents import Line, is_blank, line_spans
from fileops.core.story.spans import OLDER, Span, Texts, Vector
from fileops.core.text import detect_format, newline_of


class Origin(Struct, frozen=True):
    """Bytes start to stop of what an event left, which it brought back: the event `writer` had written this text."""

    start: int
    stop: int
    writer: int


def writers_of_lines(
    vector: Vector,
    data: bytes,
    texts: Texts,
    carriers: Collection[int],
    formats: Collection[int] = (),
    origins: Mapping[int, Sequence[Origin]] | None = None,
) -> list[int]:
    """Return the newest event of a word of each line, top to bottom.

    An event that removed words of a line counts for what is left of it; one that removed whole lines counts for none.
    Blanks count, but not those of carriers: undos, and events that only bring text; nor does the end of a line of which
    the rest has gone. Blanks of formatters count in blank lines only. An empty line after the final newline is none.
    """
    carriers, formats = set(carriers), set(formats)
    fmt = detect_format(data)
    lines = [line for line in line_spans(data, fmt) if line.start < line.stop]
    owners, n, at = [OLDER] * len(lines), 0, 0
    spans, removals = tuple(vector), list[tuple[int, int, int]]()
    last: Span | None = None  # the one before that is there
    for number, span in enumerate(spans):
        while n < len(lines) and lines[n].stop <= at and lines[n].end < lines[n].stop:
            n += 1
        if n == len(lines):
            break
        if span.removers:
            # What was removed between two lines need not be of the one behind it.
            if lines[n].start < at or _is_torn(spans, number):
                removals.append((number, n, at))
            continue
        is_left_over = _is_left_over(span, last, texts)
        last = span
        at += span.n_bytes
        m = n
        while m < len(lines) and lines[m].start < at:
            start, stop = max(lines[m].start, at - span.n_bytes), min(lines[m].stop, at)
            part = data[start:stop]
            is_passed_over = (
                span.writer in carriers
                or bool(span.loans)
                or (is_left_over and m == n and lines[m].stop <= at)
                or (span.writer in formats and not is_blank(data[lines[m].start : lines[m].stop], fmt))
            )
            if not is_passed_over or not is_blank(part, fmt):
                shift = span.stop - at
                owners[m] = max(owners[m], _writer_of(span.writer, start + shift, stop + shift, origins))
            m += 1
    earlier = _EarlierLines(spans, data, texts)
    for number, n, at in removals:
        for event in spans[number].removers:
            if event in carriers or event in formats or event <= owners[n]:
                continue
            if earlier.has_rest(number, event, lines[n], at):
                owners[n] = event
    return owners


def _writer_of(event: int, start: int, stop: int, origins: Mapping[int, Sequence[Origin]] | None) -> int:
    """Return the newest writer of a part of what an event wrote."""
    found = [each.writer for each in (origins or {}).get(event, ()) if each.start < stop and start < each.stop]
    return max(found, default=event)


class _EarlierLines:
    """The lines from which text was removed, as they were just before that.

    What was removed is not always where it was, beside the present lines: an undo that puts lines back between those
    that stay can leave removed lines within a present one.
    """

    def __init__(self, spans: Sequence[Span], data: bytes, texts: Texts) -> None:
        self._spans, self._data, self._texts = spans, data, texts
        self._fmt = detect_format(data)
        self._newline = newline_of(self._fmt)
        # The newest event before which each span may have been there, and by direction the next span with a newer one:
        # those between have no part in any line that is asked for.
        newest = [max(event for event, _ in span.effects) if span.removers else sys.maxsize for span in spans]
        self._newest = newest
        self._next_newer = {-1: _next_greater(newest, -1), 1: _next_greater(newest, 1)}

    def has_rest(self, number: int, event: int, line: Line, at: int) -> bool:
        """Return whether a present line has words of one from which an event removed other words, or which it joined.

        Args: number: of the removed span. line, at: the present line in which it is, and where.
        """
        text = self._texts.of(self._spans[number])
        first, newline, behind = text.partition(self._newline)
        last = behind.rpartition(self._newline)[2] if newline else first
        has_before = self._has_word(number, event, line, at, -1)
        has_behind = self._has_word(number, event, line, at, 1)
        if newline and has_before and (has_behind or line.end == line.stop):
            return True
        return (has_before and not is_blank(first, self._fmt)) or (has_behind and not is_blank(last, self._fmt))

    def _has_word(self, number: int, event: int, line: Line, at: int, step: Literal[-1, 1]) -> bool:
        """Return whether a word of the earlier line is there before or behind a span, and in the same present line.

        If the present line is blank, a blank is enough.
        """
        is_line_blank = is_blank(self._data[line.start : line.stop], self._fmt)
        end, removed = (line.start if step < 0 else line.stop), self._spans[number]
        number += step
        while at != end and 0 <= number < len(self._spans):
            span = self._spans[number]
            if self._newest[number] < event:
                number = self._next_newer[step][number]
                continue
            was_there = span.was_there(event)
            if was_there and span.writer == removed.writer and (span.start < removed.start) != (step < 0):
                return False  # one of them was moved
            if span.removers:
                if was_there and self._newline in self._texts.of(span):
                    return False
            else:
                beside = max(at - span.n_bytes, end) if step < 0 else min(at + span.n_bytes, end)
                part = self._data[min(at, beside) : max(at, beside)]
                if was_there and (is_line_blank or not is_blank(part, self._fmt)):
                    return True
                at = beside
            number += step
        return False


def _is_left_over(span: Span, before: Span | None, texts: Texts) -> bool:
    """Return whether what its writer wrote just before a span is not there any more, as before the end of a line.

    Args: before: the span before it that is there.
    """
    is_whole = before is not None and before.writer == span.writer and before.stop == span.start
    return not is_whole and texts.has(span.writer, span.start - 1)


def _is_torn(spans: Sequence[Span], number: int) -> bool:
    """Return whether a removed span, which never came back, was written in one piece with what is there behind it."""
    span, behind = spans[number], spans[number + 1 : number + 2]
    return len(span.effects) == 1 and any(
        span.writer == other.writer and span.stop == other.start and not other.removers for other in behind
    )


def _next_greater(numbers: Sequence[int], step: Literal[-1, 1]) -> list[int]:
    """Return for each number the index of the next greater one in this direction; an end, if there is none."""
    result = [-1 if step < 0 else len(numbers)] * len(numbers)
    for n in range(len(numbers)) if step < 0 else reversed(range(len(numbers))):
        m = n + step
        while 0 <= m < len(numbers) and numbers[m] <= numbers[n]:
            m = result[m]
        result[n] = m
    return result


def events_by_line(vector: Vector, data: bytes) -> list[set[int]]:
    """Return the events that wrote or brought back the text of each line, top to bottom; blanks do not count."""
    fmt = detect_format(data)
    lines = [line for line in line_spans(data, fmt) if line.start < line.stop]
    events, stops, at = [set[int]() for _ in lines], [line.stop for line in lines], 0
    for span in vector:
        start, at = at, at + span.n_bytes
        line = bisect_right(stops, start)
        while start < at and line < len(lines):
            if not is_blank(data[start : min(at, stops[line])], fmt):
                events[line] |= span.bringers
            start, line = stops[line], line + 1
    return events


def spans_between(vector: Vector, places: Sequence[tuple[int, int]]) -> Iterator[list[Span]]:
    """Yield for each place of the content the spans with text in it, and those that are not there in it or beside it.

    Args: places: where each begins and ends.
    """
    every = tuple(vector)
    stops = list(accumulate(span.n_bytes for span in every))
    for start, end in places:
        first, stop = bisect_left(stops, start), bisect_right(stops, end)
        spans = every[first : stop + 1]
        starts = (at - span.n_bytes for span, at in zip(spans, stops[first : stop + 1], strict=True))
        yield [
            span
            for span, at in zip(spans, starts, strict=True)
            if (start <= at <= end if not span.n_bytes else at < end and at + span.n_bytes > start)
        ]
