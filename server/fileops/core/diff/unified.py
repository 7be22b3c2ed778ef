"""Hunks, unified diff and snippet of a list of splices.

They are derived from the splices: only the lines that these touch, and three lines around them, are decoded. To number
lines, the newlines before the last change are counted once. Lines are split as bytes, at newlines only.
"""

from collections.abc import Iterator, Sequence
from itertools import compress, islice, takewhile
from operator import eq
from typing import Literal

import xxhash

from fileops.core.diff.lines import positional_ranges
from fileops.core.diff.regions import CONTEXT_LINES, ChangedRegion, regions
from fileops.core.pausing import Check, check_nothing
from fileops.core.text import (
    cut,
    decode_for_display,
    decode_part,
    line_end,
    line_start,
    n_shared,
    number_line,
    split_lines,
)
from fileops.model.edits import Change, Hunk, HunkLine, Operation, Splice
from fileops.model.files import TextFormat
from fileops.model.settings import Limits

MAX_LINE_CHARS = 2000  # in diff and hunks; fixed, because a cut diff does not apply

CHARS_AROUND = 200  # of a long line, before and after its first difference at least

Kind = Literal[" ", "-", "+"]


def change_of(
    data: bytes,
    fmt: TextFormat,
    splices: Sequence[Splice],
    *,
    file_path: str,
    operation: Operation,
    limits: Limits,
    max_diff_bytes: int = 1_000_000,
    with_snippet: bool = True,
    first_line: int | None = None,
    check: Check = check_nothing,
) -> Change:
    """Return the change that the splices make to the data.

    file_path: for the head of the diff. Beyond max_diff_bytes, diff and hunks are cut; the line counts and the snippet
    are not. first_line: 1-based line of the first splice if already known, so that it is not counted again. Raises: the
    errors of `check`.
    """
    page = _DiffBuilder(data, fmt, limits, max_diff_bytes, with_snippet=with_snippet)
    for region in regions(data, fmt, splices, first_line):
        check()
        page.add(region)
    return page.change(file_path=file_path, operation=operation)


class _DiffBuilder:
    """Takes regions in order, builds hunks until the diff is full, and counts the rest.

    A hunk is built while its regions arrive, so that a very long one costs no more than the size limit of the diff.
    """

    def __init__(
        self, data: bytes, fmt: TextFormat, limits: Limits, max_diff_bytes: int, *, with_snippet: bool
    ) -> None:
        self._data = data
        self._fmt = fmt
        self._max_line_chars = limits.max_line_chars
        self._left = max_diff_bytes
        self._with_snippet = with_snippet
        self._exact = fmt.encoding == "utf-8"
        self._truncated = False
        self._is_full = False
        self._hunks: list[Hunk] = []
        self._snippet: list[str] = []
        self._n_added = self._n_removed = 0
        self._first_changed = 0
        # The hunk under construction: its lines, what its id is a digest of, its start, the end of its last region, the
        # next line's number.
        self._is_open = False
        self._kinds: list[Kind] = []
        self._lines: list[bytes] = []
        self._hashed: list[bytes] = []
        self._old_at = self._new_at = 0
        self._end_bytes = self._old_end = 0
        self._number = 0

    def add(self, region: ChangedRegion) -> None:
        n_equal = sum(map(eq, region.old, region.new)) if region.in_pairs else 0
        self._n_removed += len(region.old) - n_equal
        self._n_added += len(region.new) - n_equal
        self._first_changed = self._first_changed or _first_line(self._data, region)
        if self._is_full and not self._with_snippet:
            return
        if self._is_open and region.old_at - self._old_end > 2 * CONTEXT_LINES:
            self._close()
        if self._is_open:
            self._put(" ", split_lines(self._data[self._end_bytes : region.start], self._fmt))
        else:
            self._open(region)
        if n_equal:
            self._put_pairs(region)
        else:
            self._put("-", region.old)
            self._put("+", region.new)
        self._end_bytes = region.end
        self._old_end = region.old_at + len(region.old)

    def change(self, *, file_path: str, operation: Operation) -> Change:
        if self._is_open:
            self._close()
        return Change(
            operation=operation,
            unified=format_unified_diff(self._hunks, file_path=file_path, creates=operation == "create"),
            exact=self._exact,
            truncated=self._truncated,
            hunks=tuple(self._hunks),
            n_added=self._n_added,
            n_removed=self._n_removed,
            first_changed_line=max(1, self._first_changed),
            snippet="\n".join(self._snippet),
        )

    def _open(self, region: ChangedRegion) -> None:
        above: list[bytes] = []
        start = region.start
        while start and len(above) < CONTEXT_LINES:
            line = line_start(self._data, self._fmt, start - self._fmt.unit_bytes)
            above.insert(0, self._data[line:start])
            start = line
        self._is_open = True
        self._old_at = region.old_at - len(above)
        self._new_at = region.new_at - len(above)
        self._number = self._new_at
        self._put(" ", above)

    def _close(self) -> None:
        end, data = self._end_bytes, self._data
        below: list[bytes] = []
        while end < len(data) and len(below) < CONTEXT_LINES:
            line = line_end(data, self._fmt, end)
            below.append(data[end:line])
            end = line
        self._put(" ", below)
        self._is_open = False
        if not self._lines:
            return
        kinds = self._kinds
        n_old, n_new = len(kinds) - kinds.count("+"), len(kinds) - kinds.count("-")
        self._hunks.append(
            Hunk(
                id=f"{len(self._hunks) + 1}-{xxhash.xxh3_64_hexdigest(b''.join(self._hashed))}",
                old_start=self._old_at + bool(n_old),
                old_lines=n_old,
                new_start=self._new_at + bool(n_new),
                new_lines=n_new,
                lines=tuple(self._rows()),
            )
        )
        self._kinds, self._lines, self._hashed = [], [], []

    def _put(self, kind: Kind, lines: Sequence[bytes]) -> None:
        if not lines:
            return
        joined = b"".join(lines)
        if self._with_snippet and kind != "-":
            self._number_lines(decode_part(joined, self._fmt))
        if self._is_full:
            return
        n_bytes = len(joined) + len(lines)
        if n_bytes > self._left:
            self._is_full = self._truncated = True
            lines = self._fit(lines)
            joined = b"".join(lines)
            if not joined:
                return
        self._left -= n_bytes
        self._kinds += (kind,) * len(lines)
        self._lines += lines
        self._hashed += (kind.encode(), joined)

    def _number_lines(self, text: str) -> None:
        """Append whole lines to the snippet, with their numbers."""
        texts = text.split("\n")
        last = texts.pop()
        if "\r" in text:
            texts = [line.removesuffix("\r") for line in texts]
        if last:
            texts.append(last)
        if self._number == 0 and self._fmt.bom:
            texts[0] = texts[0].removeprefix("\ufeff")  # the byte order mark is not shown
        self._snippet += [number_line(n, line, self._max_line_chars) for n, line in enumerate(texts, self._number + 1)]
        self._number += len(texts)

    def _rows(self) -> Sequence[HunkLine]:
        """Return the lines of the hunk. They are decoded together, which is far cheaper, if each has its line end."""
        texts = self._decode(b"".join(self._lines)).split("\n")
        last = texts.pop()
        if not last and len(texts) == len(self._lines):
            rows = list(map(HunkLine, self._kinds, texts))
        else:
            texts = list(map(self._decode, self._lines))
            rows = [
                HunkLine(kind, line.removesuffix("\n"), no_newline=not line.endswith("\n"))
                for kind, line in zip(self._kinds, texts, strict=True)
            ]
        if max([len(row.text) for row in rows]) <= MAX_LINE_CHARS:
            return rows
        self._truncated = True
        return list(_cut_lines(rows))

    def _decode(self, lines: bytes) -> str:
        text = decode_part(lines, self._fmt)
        if self._fmt.encoding == "utf-8" and "\ufffd" in text and text.encode() != lines:
            self._exact = False
            return decode_for_display(lines)
        return text

    def _put_pairs(self, region: ChangedRegion) -> None:
        """Put equal lines as context, and the changed lines between two of them as a block."""
        equal = list(map(eq, region.old, region.new))
        n_bytes = sum(map(len, region.old)) + sum(map(len, region.new)) + len(region.old) + len(region.new)
        n_bytes -= sum(map(len, compress(region.new, equal))) + sum(equal)
        if self._with_snippet or n_bytes > self._left:
            for kind, lines in _runs(region.old, region.new):
                self._put(kind, lines)
            return
        self._left -= n_bytes
        self._hashed += (*region.old, *region.new)
        removed: list[bytes] = []
        added: list[bytes] = []
        for old, new, is_equal in zip(region.old, region.new, equal, strict=True):
            if is_equal:
                self._put_block(removed, added)
                self._kinds.append(" ")
                self._lines.append(old)
                removed, added = [], []
            else:
                removed.append(old)
                added.append(new)
        self._put_block(removed, added)

    def _put_block(self, removed: Sequence[bytes], added: Sequence[bytes]) -> None:
        sides: tuple[tuple[Kind, Sequence[bytes]], ...] = (("-", removed), ("+", added))
        for kind, lines in sides:
            self._kinds += (kind,) * len(lines)
            self._lines += lines

    def _fit(self, lines: Sequence[bytes]) -> Sequence[bytes]:
        left = self._left
        for index, line in enumerate(lines):
            left -= len(line) + 1
            if left < 0:
                return lines[:index]
        return lines


def _cut_lines(lines: Sequence[HunkLine]) -> Iterator[HunkLine]:
    """Cut long lines, a removed line and the added one in its place so that both show where they begin to differ."""
    at = 0
    while at < len(lines):
        removed = list(takewhile(lambda line: line.kind == "-", islice(lines, at, None)))
        added = list(takewhile(lambda line: line.kind == "+", islice(lines, at + len(removed), None)))
        if not removed and not added:
            yield _cut_line(lines[at], 0)
            at += 1
            continue
        starts = [n_shared(old.text, new.text) for old, new in zip(removed, added, strict=False)]
        for side in (removed, added):
            yield from (_cut_line(line, starts[n] if n < len(starts) else 0) for n, line in enumerate(side))
        at += len(removed) + len(added)


def _cut_line(line: HunkLine, first_difference: int) -> HunkLine:
    if len(line.text) <= MAX_LINE_CHARS:
        return line
    n_before = 0 if first_difference <= MAX_LINE_CHARS - CHARS_AROUND else first_difference - CHARS_AROUND
    notice = f"(the first {n_before} characters of this line are truncated) ..." if n_before else ""
    return HunkLine(line.kind, notice + cut(line.text[n_before:], MAX_LINE_CHARS), line.no_newline)


def _runs(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[tuple[Kind, Sequence[bytes]]]:
    """Yield two sides of equal length as runs of equal, removed and added lines."""
    at = 0
    for start, end, _, _ in positional_ranges(old, new):
        yield " ", old[at:start]
        yield "-", old[start:end]
        yield "+", new[start:end]
        at = end
    yield " ", old[at:]


def format_unified_diff(hunks: Sequence[Hunk], *, file_path: str, creates: bool = False, removes: bool = False) -> str:
    """Format hunks as GNU patch accepts them; "" without hunks."""
    if not hunks:
        return ""
    name = diff_name(file_path)
    pieces = [f"--- {'/dev/null' if creates else name}\n+++ {'/dev/null' if removes else name}\n"]
    for hunk in hunks:
        old, new = range_of_hunk(hunk.old_start, hunk.old_lines), range_of_hunk(hunk.new_start, hunk.new_lines)
        pieces.append(f"@@ -{old} +{new} @@\n")
        for line in hunk.lines:
            pieces += (line.kind, line.text, "\n")
            if line.no_newline:
                pieces.append("\\ No newline at end of file\n")
    return "".join(pieces)


def diff_name(path: str) -> str:
    """Return a path for the head of a diff, quoted as git does if it contains characters that would end the name."""
    if path.isprintable() and '"' not in path and "\\" not in path:
        return path + "\t" if " " in path else path
    quoted = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}"
        for byte in path.encode("utf-8", "surrogateescape" if _is_escaped_name(path) else "surrogatepass")
    )
    return f'"{quoted}"'


def range_of_hunk(start: int, n_lines: int) -> str:
    return str(start) if n_lines == 1 else f"{start},{n_lines}"


def _first_line(data: bytes, region: ChangedRegion) -> int:
    """Return the 1-based first changed line; after a deletion at the end, the last line of the text."""
    deletes_end = not region.new and region.end == len(data)
    return max(1, region.new_at + (not deletes_end))


def _is_escaped_name(path: str) -> bool:
    return all(not 0xD800 <= ord(char) <= 0xDFFF or 0xDC80 <= ord(char) <= 0xDCFF for char in path)
