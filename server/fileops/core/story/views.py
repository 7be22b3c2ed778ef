"""What the vector of a content says about its lines. Pure."""

from collections.abc import Collection

from fileops.core.diff.contents import is_blank, line_spans
from fileops.core.story.spans import OLDER, Texts, Vector
from fileops.core.text import detect_format, newline_of


def writers_of_lines(vector: Vector, data: bytes, texts: Texts, carriers: Collection[int]) -> list[int]:
    """Return the newest event of a word of each line, top to bottom.

    A removal inside a line counts for the line, and so do blanks, but not those of carriers: undos, and events that
    only bring text. An empty line after the final newline is none.
    """
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
                owners[n] = max(owners[n], *(event for event in span.removers if event not in carriers), OLDER)
            continue
        at += span.n_bytes
        m = n
        while m < len(lines) and lines[m].start < at:
            part = data[max(lines[m].start, at - span.n_bytes) : min(lines[m].stop, at)]
            if span.writer not in carriers or not is_blank(part, fmt):
                owners[m] = max(owners[m], span.writer)
            m += 1
    return owners
