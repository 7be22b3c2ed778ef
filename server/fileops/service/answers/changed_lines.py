"""The lines that an edit changes, and the parts of a file around them that are parsed alone.

What a part is, and why parsing it suffices, is the subject of each language's module.
"""

import re
from collections.abc import Callable, Sequence

import msgspec

from fileops.core import splices as splicing
from fileops.core import text
from fileops.model.edits import Splice
from fileops.model.files import TextFormat

# 4 kB of Python are parsed within 0.3 ms, and even deep nesting needs less than 512 kB of stack (CPython 3.11).
MAX_PART_BYTES = 1 << 12
_OTHER_LINE_ENDS = re.compile("\r(?!\n)|\f")  # Python ends a line; the indentation is 0 again


class Part(msgspec.Struct, frozen=True):
    """The bytes [start, end) of the old content. before, after: texts that represent what is around them."""

    start: int
    end: int
    before: bytes = b""
    after: bytes = b""


def changed_lines(data: bytes, splices: Sequence[Splice]) -> list[Splice]:
    """Return the same change as splices of whole lines, without the lines that both sides share at their ends.

    Of a splice of whole lines either side may be no line at all: then it adds or removes lines. The requests of models
    repeat lines around a change, which would double what has to be parsed.
    """
    result: list[Splice] = []
    group: list[Splice] = []
    start = end = 0
    for splice in splices:
        line = data.rfind(b"\n", 0, splice.start) + 1
        if group and line >= end:
            result += _differing(data, group, start, end)
            group = []
        if not group:
            start = line
        group.append(splice)
        end = data.find(b"\n", splice.end) + 1 or len(data)
    return result + _differing(data, group, start, end)


def parts_parse(
    data: bytes,
    changes: Sequence[Splice],
    fmt: TextFormat,
    part_of: Callable[[bytes, Splice], Part | None],
    parses: Callable[[str], bool],
) -> bool:
    """Whether the parts around the changed lines parse, of which those that overlap are one.

    Where the old text of a part does not parse, one of its ends is inside a string. That matters only to a change that
    may move the ends of strings of several lines, so only then the old text has to parse, too.
    """
    groups: list[tuple[Part, list[Splice]]] = []
    n_bytes = 0
    for change in changes:
        n_bytes += len(change.new)
        part = part_of(data, change) if n_bytes <= MAX_PART_BYTES else None
        if part is None:
            return False
        group = [change]
        while groups and part.start < groups[-1][0].end:
            earlier, its_changes = groups.pop()
            part = _united(earlier, part)
            group = its_changes + group
        groups.append((part, group))
    n_bytes += sum(part.end - part.start for part, _ in groups)
    return n_bytes <= MAX_PART_BYTES and all(_parses(data, part, group, fmt, parses) for part, group in groups)


def _united(one: Part, other: Part) -> Part:
    first = min(one, other, key=lambda part: part.start)
    last = max(one, other, key=lambda part: part.end)
    return Part(first.start, last.end, first.before, last.after)


def _parses(data: bytes, part: Part, changes: Sequence[Splice], fmt: TextFormat, parses: Callable[[str], bool]) -> bool:
    contents = [splicing.apply_within(data, changes, part.start, part.end)]
    if any(_has_triple_quotes(lines) for each in changes for lines in (data[each.start : each.end], each.new)):
        contents.append(data[part.start : part.end])
    for content in contents:
        if content.rstrip(b"\r\n").endswith(b"\\"):
            return False  # the last line takes in the one after the part, whose indentation then counts for nothing
        source = text.decode(part.before + content + part.after, fmt)
        if _OTHER_LINE_ENDS.search(source) or not parses(source):
            return False
    return True


def _has_triple_quotes(lines: bytes) -> bool:
    return b'"""' in lines or b"'''" in lines


def _differing(data: bytes, splices: Sequence[Splice], start: int, end: int) -> list[Splice]:
    """Return a splice of the lines [start, end) from the first that differs to the last; nothing if none does."""
    old, new = data[start:end], splicing.apply_within(data, splices, start, end)
    if old == new:
        return []
    head = old.rfind(b"\n", 0, text.n_shared(old, new)) + 1
    old, new = old[head:], new[head:]
    tail = text.n_shared(old[::-1], new[::-1])
    if not (_begins_line(old, len(old) - tail) and _begins_line(new, len(new) - tail)):
        tail -= old[len(old) - tail :].find(b"\n") + 1 or tail
    return [Splice(start + head, start + head + len(old) - tail, new[: len(new) - tail])]


def _begins_line(lines: bytes, at: int) -> bool:
    return at == 0 or lines[at - 1] == 0x0A
