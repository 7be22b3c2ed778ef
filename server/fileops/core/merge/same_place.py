"""Whether lines of two contents are the same place: what encloses them, which blocks moved, and which blanks changed.

Pure. Lines are bytes with their line ends. Indentation is what a line begins with, so the enclosing lines of a line are
those that a reader of most languages would name: the condition, the function, the class, the key. In a file without
indentation, it is the nearest heading: `[section]`, or `# Title` and `## Title` in Markdown.
"""

import re
from collections.abc import Sequence

from fileops.core.diff.lines import find_changed_ranges
from fileops.core.diff.regions import regions
from fileops.core.text import count_newlines, newline_style, split_lines
from fileops.model.edits import Splice
from fileops.model.files import TextFormat

MIN_BLOCK_LINES = 3  # of a block that may have moved
_CLOSES = re.compile(rb"[\])}]|</|(else|elif|except|finally|end|fi|done|esac)\b")
_HEADING = re.compile(rb"(\[.*\]|#{2,6} .*)\s*$")
_TITLE = re.compile(rb"# .*\s*$")  # or a comment, of most languages: as a title it has a blank line below


def is_blank(line: bytes) -> bool:
    """Return whether a line has no characters but blanks, in any encoding."""
    return not line.strip(b" \t\r\n\0")


def indentation(line: bytes) -> bytes:
    return line[: len(line) - len(line.lstrip(b" \t"))]


def closes(line: bytes) -> bool:
    """Return whether a line closes, or continues, what a line above with the same indentation opens."""
    return _CLOSES.match(line.lstrip(b" \t")) is not None


def find_enclosing(lines: Sequence[bytes], at: int) -> list[int]:
    """Return the lines that enclose a line, the nearest first: each next one above with less indentation.

    A line that closes something stands under the line that opens it. The last one is the nearest heading above the
    outermost of them.
    """
    found: list[int] = []
    n = at - 1
    depth = len(indentation(lines[at])) if at < len(lines) else 0
    if at < len(lines) and closes(lines[at]):
        depth += 1
    while depth and n >= 0:
        if not is_blank(lines[n]) and len(indentation(lines[n])) < depth:
            found.append(n)
            depth = len(indentation(lines[n]))
        n -= 1
    outermost = found[-1] if found else at
    heading = next((n for n in range(outermost - 1, -1, -1) if _is_heading(lines, n)), None)
    return found if heading is None else [*found, heading]


def _is_heading(lines: Sequence[bytes], n: int) -> bool:
    if _TITLE.match(lines[n]):
        return n + 1 == len(lines) or is_blank(lines[n + 1])
    return _HEADING.match(lines[n]) is not None


def find_added_lines(data: bytes, splices: Sequence[Splice], fmt: TextFormat) -> set[bytes]:
    """Return the lines that splices add, without their indentation, except blank ones."""
    added: set[bytes] = set()
    for region in regions(data, fmt, splices, None):
        kept = {line.strip() for line in region.old}
        added.update(line.strip() for line in region.new if not is_blank(line) and line.strip() not in kept)
    return added


# --- blanks -------------------------------------------------------------------------------------------------------


def is_blank_change(old: Sequence[bytes], now: Sequence[bytes]) -> bool:
    """Return whether two contents differ in indentation, blanks at line ends and blank lines only."""
    return [line.strip() for line in old if not is_blank(line)] == [line.strip() for line in now if not is_blank(line)]


def reindent(
    data: bytes, lines: Sequence[bytes], present: bytes, now: Sequence[bytes], fmt: TextFormat, splice: Splice
) -> Splice | None:
    """Carry a splice over a change of blanks only; None if an indentation has no certain counterpart.

    Lines that the splice keeps are left as they are now. A new line gets the indentation that its own has become: each
    line of the file with the same one must have become the same.
    """
    if fmt.unit_bytes > 1:
        return None
    became: dict[bytes, set[bytes]] = {}
    visible = [n for n, line in enumerate(lines) if not is_blank(line)]
    visible_now = [n for n, line in enumerate(now) if not is_blank(line)]
    for n, m in zip(visible, visible_now, strict=True):
        became.setdefault(indentation(lines[n]), set()).add(indentation(now[m]))
    first = count_newlines(data, fmt, 0, splice.start)
    last = count_newlines(data, fmt, 0, max(splice.start, splice.end - 1))
    start = sum(map(len, lines[:first]))
    stop = start + sum(map(len, lines[first : last + 1]))
    wanted = split_lines(data[start : splice.start] + splice.new + data[splice.end : stop], fmt)
    at = {n: m for n, m in zip(visible, visible_now, strict=True) if first <= n <= last}
    if first not in at or last not in at or at[last] - at[first] != last - first:
        return None
    old = lines[first : last + 1]
    end = b"\r\n" if newline_style(present, fmt) == "\r\n" else b"\n"
    result: list[bytes] = []
    reached = 0
    for a, a_end, b, b_end in [*find_changed_ranges(old, wanted), (len(old), len(old), len(wanted), len(wanted))]:
        result += [now[at[first + n]] if first + n in at else old[n] for n in range(reached, a)]
        for line in wanted[b:b_end]:
            targets = became.get(indentation(line), set())
            if is_blank(line):
                result.append(line.lstrip(b" \t"))
            elif len(targets) == 1:
                result.append(next(iter(targets)) + line.strip() + (end if line.endswith(b"\n") else b""))
            else:
                return None
        reached = a_end
    start_now = sum(map(len, now[: at[first]]))
    stop_now = sum(map(len, now[: at[last] + 1]))
    return Splice(start_now, stop_now, b"".join(result))


# --- blocks that moved --------------------------------------------------------------------------------------------


def is_in_moved_block(
    old: bytes,
    lines: Sequence[bytes],
    present: bytes,
    now: Sequence[bytes],
    then_splices: Sequence[Splice],
    now_splices: Sequence[Splice],
    fmt: TextFormat,
) -> bool:
    """Return whether an edit is within blocks that are in both contents once, as a whole and byte for byte.

    A block is a line without indentation and what stands under it. then_splices, now_splices: the edit on both.
    """
    if len(then_splices) != len(now_splices) or fmt.unit_bytes > 1:
        return False
    text, text_now = (b"\n" + b"".join(each) for each in (lines, now))  # so that each line follows a newline
    for then, there in zip(then_splices, now_splices, strict=True):
        first = count_newlines(old, fmt, 0, then.start)
        last = count_newlines(old, fmt, 0, max(then.start, then.end - fmt.unit_bytes))
        first_now = count_newlines(present, fmt, 0, there.start)
        block, block_now = _block_around(lines, first, last), _block_around(now, first_now, first_now + last - first)
        if block is None or block_now is None or lines[slice(*block)] != now[slice(*block_now)]:
            return False
        body = b"\n" + b"".join(lines[slice(*block)])
        at, at_now = _only_place(text, body), _only_place(text_now, body)
        if not body.endswith(b"\n") or at < 0 or at_now < 0 or then.start - at != there.start - at_now:
            return False
    return True


def _block_around(lines: Sequence[bytes], first: int, last: int) -> tuple[int, int] | None:
    """Return the block [start, stop) that contains these lines and those beside them, if it is long enough."""
    start = first
    while start >= 0 and (is_blank(lines[start]) or indentation(lines[start])):
        start -= 1
    stop = start + 1
    while stop < len(lines) and (is_blank(lines[stop]) or indentation(lines[stop])):
        stop += 1
    while stop > start + 1 and is_blank(lines[stop - 1]):
        stop -= 1
    is_inside = 0 <= start < first and last < stop - 1
    return (start, stop) if is_inside and stop - start >= MIN_BLOCK_LINES else None


def _only_place(text: bytes, part: bytes) -> int:
    """Return the only place of a part; -1 if there is none or more than one."""
    at = text.find(part)
    return -1 if at < 0 or text.find(part, at + 1) >= 0 else at
