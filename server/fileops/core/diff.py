"""What splices do to a text, for people: hunks, the unified diff, the snippet of an edit's answer.

Derived from the splices: only the lines that they touch, and three lines around, are ever decoded. Line numbers
cost one count of the newlines before the last change. Lines are split in bytes, at newlines only.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import xxhash

from fileops.core.linediff import changed_ranges, positional_ranges
from fileops.core.text import count_newlines, cut, decode_part, line_end, line_start, newline_of, numbered, split_lines
from fileops.model import Change, Hunk, HunkLine, Limits, Splice, TextFormat

CONTEXT_LINES = 3
MAX_LINE_CHARS = 2000  # of a line in diff and hunks; fixed, so that `limits` cannot make a diff that does not apply
_LINE_DIFF_BUDGET = 200_000  # lines × lines compared in search of the smallest difference, over all splices

Kind = Literal[" ", "-", "+"]


def change_of(
    data: bytes,
    fmt: TextFormat,
    splices: Sequence[Splice],
    *,
    file_path: str,
    operation: Literal["create", "modify"],
    limits: Limits,
    max_diff_bytes: int = 1_000_000,
) -> Change:
    """What the splices do to the data.

    file_path: as it is to stand in the diff's head. Past max_diff_bytes diff and hunks are cut; the counts of
    lines are not, and the snippet of a single splice is not.
    """
    page = _Page(fmt, limits, max_diff_bytes, wants_whole_snippet=len(splices) == 1 and operation == "modify")
    group: list[_Region] = []
    for region in _regions(data, fmt, splices):
        if group and region.old_at - group[-1].old_end > 2 * CONTEXT_LINES:
            page.add(data, group)
            group = []
        group.append(region)
    if group:
        page.add(data, group)
    return page.change(file_path=file_path, operation=operation)


@dataclass(slots=True, kw_only=True)
class _Region:
    """Lines that go and lines that come. old_at, new_at: 0-based line where they stand; start, end: bytes of data."""

    old_at: int
    new_at: int
    start: int
    end: int
    old: Sequence[bytes]
    new: Sequence[bytes]

    @property
    def old_end(self) -> int:
        return self.old_at + len(self.old)


@dataclass(slots=True, kw_only=True)
class _Block:
    """Whole lines [start, end) of the data that one or more splices touch, and what becomes of them."""

    start: int
    end: int
    pieces: list[bytes]
    reached: int  # end of the last splice; the data up to `end` follows it


def _regions(data: bytes, fmt: TextFormat, splices: Sequence[Splice]) -> Iterator[_Region]:
    counted_at, old_at, shift = 0, 0, 0
    budget = _LINE_DIFF_BUDGET
    for block in _blocks(data, fmt, splices):
        old_at += count_newlines(data, fmt, counted_at, block.start)
        counted_at = block.start
        old = split_lines(data[block.start : block.end], fmt)
        new = split_lines(b"".join((*block.pieces, data[block.reached : block.end])), fmt)
        if budget > 0:
            ranges = changed_ranges(old, new)
            budget -= len(old) * len(new)
        else:
            ranges = positional_ranges(old, new)
        start, at = block.start, 0
        for a, a_end, b, b_end in ranges:
            start += sum(map(len, old[at:a]))
            end = start + sum(map(len, old[a:a_end]))
            yield _Region(
                old_at=old_at + a, new_at=old_at + shift + b, start=start, end=end,
                old=old[a:a_end], new=new[b:b_end],
            )  # fmt: skip
            start, at = end, a_end
        shift += len(new) - len(old)


def _blocks(data: bytes, fmt: TextFormat, splices: Sequence[Splice]) -> Iterator[_Block]:
    """Always up to the end of the line in which a splice ends: the text behind it may join another line."""
    block: _Block | None = None
    for splice in splices:
        if block is not None and (splice.start < block.end or block.end == len(data)):
            block.pieces += (data[block.reached : splice.start], splice.new)
        else:
            if block is not None:
                yield block
            start = line_start(data, fmt, splice.start)
            block = _Block(start=start, end=start, pieces=[data[start : splice.start], splice.new], reached=start)
        block.reached = splice.end
        if splice.end >= block.end:
            block.end = line_end(data, fmt, splice.end)
    if block is not None:
        yield block


class _Page:
    """Collects hunks until the diff is full, and counts on."""

    def __init__(self, fmt: TextFormat, limits: Limits, max_diff_bytes: int, *, wants_whole_snippet: bool) -> None:
        self._fmt = fmt
        self._newline = newline_of(fmt)
        self._max_line_chars = limits.max_line_chars
        self._left = max_diff_bytes
        self._wants_whole_snippet = wants_whole_snippet
        self._exact = fmt.encoding == "utf-8"
        self._truncated = False
        self._is_full = False
        self._hunks: list[Hunk] = []
        self._snippet: list[str] = []
        self._n_added = self._n_removed = 0
        self._first_changed = 1

    def add(self, data: bytes, group: Sequence[_Region]) -> None:
        if not self._n_added and not self._n_removed:
            self._first_changed = _first_line(data, group[0])
        for region in group:
            self._n_added += len(region.new)
            self._n_removed += len(region.old)
        if self._is_full and not self._wants_whole_snippet:
            return
        above, below = self._context(data, group[0].start, group[-1].end)
        old_at, new_at = group[0].old_at - len(above), group[0].new_at - len(above)
        rows = list(self._rows(data, group, above, below))
        self._add_snippet(rows, new_at)
        if not self._is_full:
            self._add_hunk(rows, old_at, new_at)

    def change(self, *, file_path: str, operation: Literal["create", "modify"]) -> Change:
        return Change(
            operation=operation,
            unified=unified_diff(self._hunks, file_path=file_path, creates=operation == "create"),
            exact=self._exact,
            truncated=self._truncated,
            hunks=tuple(self._hunks),
            n_added=self._n_added,
            n_removed=self._n_removed,
            first_changed_line=self._first_changed,
            snippet="\n".join(self._snippet),
        )

    def _context(self, data: bytes, start: int, end: int) -> tuple[list[bytes], list[bytes]]:
        above: list[bytes] = []
        while start and len(above) < CONTEXT_LINES:
            line = line_start(data, self._fmt, start - self._fmt.unit_bytes)
            above.insert(0, data[line:start])
            start = line
        below: list[bytes] = []
        while end < len(data) and len(below) < CONTEXT_LINES:
            line = line_end(data, self._fmt, end)
            below.append(data[end:line])
            end = line
        return above, below

    def _rows(
        self, data: bytes, group: Sequence[_Region], above: list[bytes], below: list[bytes]
    ) -> Iterator[tuple[Kind, bytes]]:
        for line in above:
            yield " ", line
        end = group[0].start
        for region in group:
            for line in split_lines(data[end : region.start], self._fmt):
                yield " ", line
            for line in region.old:
                yield "-", line
            for line in region.new:
                yield "+", line
            end = region.end
        for line in below:
            yield " ", line

    def _add_snippet(self, rows: list[tuple[Kind, bytes]], new_at: int) -> None:
        number = new_at
        for kind, line in rows:
            if kind == "-":
                continue
            number += 1
            if number == 1:
                line = line.removeprefix(self._fmt.bom)  # noqa: PLW2901 - the BOM is not shown
            text = decode_part(line.removesuffix(self._newline), self._fmt).removesuffix("\r")
            self._snippet.append(numbered(number, text, self._max_line_chars))

    def _add_hunk(self, rows: list[tuple[Kind, bytes]], old_at: int, new_at: int) -> None:
        lines: list[HunkLine] = []
        n_old = n_new = 0
        digest = xxhash.xxh3_64()
        for kind, line in rows:
            self._left -= len(line) + 1
            if self._left < 0:
                self._is_full = self._truncated = True
                break
            has_newline = line.endswith(self._newline)
            body = line[: -len(self._newline)] if has_newline else line
            lines.append(HunkLine(kind=kind, text=self._shown(body), no_newline=not has_newline))
            digest.update(kind.encode() + line)
            n_old += kind != "+"
            n_new += kind != "-"
        if not lines:
            return
        self._hunks.append(
            Hunk(
                id=f"{len(self._hunks) + 1}-{digest.hexdigest()}",
                old_start=old_at + bool(n_old),
                old_lines=n_old,
                new_start=new_at + bool(n_new),
                new_lines=n_new,
                lines=tuple(lines),
            )
        )

    def _shown(self, line: bytes) -> str:
        if self._exact:
            try:
                text = line.decode()
            except UnicodeDecodeError:
                self._exact = False
                text = decode_part(line, self._fmt)
        else:
            text = decode_part(line, self._fmt)
        if len(text) <= MAX_LINE_CHARS:
            return text
        self._truncated = True
        return cut(text, MAX_LINE_CHARS)


def unified_diff(hunks: Sequence[Hunk], *, file_path: str, creates: bool = False) -> str:
    """As GNU patch takes it; "" without hunks."""
    if not hunks:
        return ""
    name = diff_name(file_path)
    pieces = [f"--- {'/dev/null' if creates else name}\n+++ {name}\n"]
    for hunk in hunks:
        old, new = _range(hunk.old_start, hunk.old_lines), _range(hunk.new_start, hunk.new_lines)
        pieces.append(f"@@ -{old} +{new} @@\n")
        for line in hunk.lines:
            pieces += (line.kind, line.text, "\n")
            if line.no_newline:
                pieces.append("\\ No newline at end of file\n")
    return "".join(pieces)


def diff_name(path: str) -> str:
    """A path as the head of a diff can carry it: quoted as git does where it holds what would end the name."""
    if path.isprintable() and '"' not in path and "\\" not in path:
        return path + "\t" if " " in path else path
    quoted = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}"
        for byte in path.encode("utf-8", "surrogateescape" if _is_escaped_name(path) else "surrogatepass")
    )
    return f'"{quoted}"'


def _range(start: int, n_lines: int) -> str:
    return str(start) if n_lines == 1 else f"{start},{n_lines}"


def _first_line(data: bytes, region: _Region) -> int:
    """1-based; behind a deletion at the end of the text, its last line."""
    gone_at_end = not region.new and region.end == len(data)
    return max(1, region.new_at + (not gone_at_end))


def _is_escaped_name(path: str) -> bool:
    return all(not 0xD800 <= ord(char) <= 0xDFFF or 0xDC80 <= ord(char) <= 0xDCFF for char in path)
