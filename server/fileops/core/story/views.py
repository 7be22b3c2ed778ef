"""What the vector of a content says about its lines and its places. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate

from fileops.core.diff.contents import is_blank, line_spans
from fileops.core.story.spans import OLDER, Span, Texts, Vector
from fileops.core.text import detect_format, newline_of


def writers_of_lines(
    vector: Vector, data: bytes, texts: Texts, carriers: Collection[int], formats: Collection[int] = ()
) -> list[int]:
    """Return the newest event of a word of each line, top to bottom.

    A removal inside a line counts for the line, and so do blanks, but not those of carriers: undos, and events that
    only bring text. Blanks of formatters count in blank lines only. An empty line after the final newline is none.
    """
    carriers, formats = set(carriers), set(formats)
    fmt = detect_format(data)
    newline = newline_of(fmt)
    lines = [line for line in line_spans(data, fmt) if line.start < line.stop]
    owners, n, at = [OLDER] * len(lines), 0, 0
    for span in vector:
        while n < len(lines) and lines[n].stop <= at and lines[n].end < lines[n].stop:
            n += 1
        if n == len(lines):
            break
        if span.removers:
            text = texts.of(span)
            is_in_line = text == newline or (newline not in text and not is_blank(text, fmt))
            if lines[n].start < at and is_in_line:
                removers = (event for event in span.removers if event not in carriers and event not in formats)
                owners[n] = max(owners[n], *removers, OLDER)
            continue
        at += span.n_bytes
        m = n
        while m < len(lines) and lines[m].start < at:
            part = data[max(lines[m].start, at - span.n_bytes) : min(lines[m].stop, at)]
            is_passed_over = span.writer in carriers or (
                span.writer in formats and not is_blank(data[lines[m].start : lines[m].stop], fmt)
            )
            if not is_passed_over or not is_blank(part, fmt):
                owners[m] = max(owners[m], span.writer)
            m += 1
    return owners


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
