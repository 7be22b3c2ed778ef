r"""Splices inside the `source` of one cell, in its own form: a string or a list, its escapes, its line breaks.

Characters that do not change keep their bytes, also those that were written as escapes. A list is changed element by
element; a new line becomes an element of its own, unless elements of this cell contain several lines.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, islice

from msgspec import Struct

from fileops.core.notebook.cell_style import ListStyle
from fileops.core.notebook.cells import Cell, Notebook, Piece
from fileops.model.edits import Splice

_UNIT = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\."
    rb"|[\x00-\x7f]|[\xc2-\xdf].|[\xe0-\xef]..|[\xf0-\xf4]...",
    re.DOTALL,
)
_SURROGATE = re.compile("[\ud800-\udfff]")


class Region(Struct, frozen=True):
    """Characters [start, end) of a source, and their new text."""

    start: int
    end: int
    new: str


def encode(text: str, *, as_ascii: bool) -> bytes:
    """Return the text as in a JSON string, without quotes."""
    escaped = json.dumps(text, ensure_ascii=as_ascii)[1:-1]
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", escaped).encode()


def splices_in(
    notebook: Notebook, cell: Cell, regions: Sequence[Region], style: ListStyle, *, as_ascii: bool
) -> list[Splice]:
    """Return the splices over the file. regions: sorted, not overlapping. style: of the list, if the source is one."""
    if not regions:
        return []
    if not cell.is_list:
        piece = notebook.pieces_of(cell)[0]
        return [_in_piece(notebook.data, piece, region, 0, as_ascii=as_ascii) for region in regions]
    return _List(notebook, cell, style, as_ascii=as_ascii).splices(regions)


def _in_piece(data: bytes, piece: Piece, region: Region, first: int, *, as_ascii: bool) -> Splice:
    """Return the splice of a region inside a JSON string. first: the number of the string's first character."""
    start, end = _offsets(data, piece, region.start - first, region.end - first)
    return Splice(start, end, encode(region.new, as_ascii=as_ascii))


def _offsets(data: bytes, piece: Piece, *numbers: int) -> list[int]:
    """Return where the characters with these numbers, which ascend, begin."""
    at, end = piece.start + 1, piece.end - 1
    if end - at == len(piece.text):  # neither escapes nor wide characters
        return [at + number for number in numbers]
    offsets, n_passed = list[int](), 0
    units = _UNIT.finditer(data, at, end)
    for number in numbers:
        for unit in islice(units, number - n_passed):
            at = unit.end()
        n_passed = number
        offsets.append(at)
    return offsets


class _Unit(Struct):
    """A character of a list's source, and its bytes. ends: whether its element ends after it."""

    char: str
    raw: bytes
    ends: bool


class _Group(Struct, frozen=True):
    """Regions that change the same elements, from `first` to `last`, both included."""

    first: int
    last: int
    regions: list[Region]


class _List:
    """A source that is a list of strings, and how its elements change."""

    def __init__(self, notebook: Notebook, cell: Cell, style: ListStyle, *, as_ascii: bool) -> None:
        self._data, self._style, self._as_ascii = notebook.data, style, as_ascii
        self._start, self._end = cell.source_member.start, cell.source_member.end
        self._pieces = notebook.pieces_of(cell)
        self._firsts = list(accumulate(map(len, cell.texts), initial=0))  # first characters
        self._has_one_line_each = not any("\n" in text[:-1] for text in cell.texts)

    def splices(self, regions: Sequence[Region]) -> list[Splice]:
        if not self._pieces:
            text = "".join(region.new for region in regions)
            elements = [b'"%s"' % encode(line, as_ascii=self._as_ascii) for line in lines_of(text)]
            return [Splice(self._start + 1, self._end - 1, self._style.interior(elements))] if text else []
        groups = list[_Group]()
        for region in regions:
            first, last = self._find_touched(region, groups[-1].last if groups else -1)
            if groups and first <= groups[-1].last:
                before = groups.pop()
                groups.append(_Group(before.first, max(last, before.last), [*before.regions, region]))
            else:
                groups.append(_Group(first, last, [region]))
        if sum(group.last - group.first + 1 for group in groups) == len(self._pieces) and len(groups) > 1:
            # All elements may go, and an empty list has no separators: that is one change.
            groups = [_Group(0, len(self._pieces) - 1, list(regions))]
        return [self._to_splice(group) for group in groups]

    def _find_touched(self, region: Region, changed: int) -> tuple[int, int]:
        """Return the first and the last element that the region changes.

        If an element loses the newline at its end, the next one continues its line, so that it changes too.
        changed: the last element that the regions before this one change; it may leave text there.
        """
        n = len(self._pieces)
        first = min(bisect_right(self._firsts, region.start, hi=n) - 1, n - 1)
        while not self._pieces[first].text and first + 1 < n:
            first += 1
        last = first
        while last + 1 < n and self._firsts[last + 1] < region.end:
            last += 1
        loses_end = region.end == self._firsts[last + 1] > region.start and self._pieces[last].text.endswith("\n")
        leaves_text = bool(region.new) or region.start > self._firsts[first] or first <= changed
        if loses_end and leaves_text and not region.new.endswith("\n") and last + 1 < n:
            last += 1
        return first, last

    def _to_splice(self, group: _Group) -> Splice:
        first, last, region = group.first, group.last, group.regions[0]
        is_inside = len(group.regions) == 1 and first == last and region.end < self._firsts[first + 1]
        if is_inside and not (self._has_one_line_each and "\n" in region.new):
            return _in_piece(self._data, self._pieces[first], region, self._firsts[first], as_ascii=self._as_ascii)
        elements = _join(self._units_after(self._units(first, last), self._firsts[first], group.regions))
        if elements:
            new = self._separator().join(b'"%s"' % element for element in elements)
            return Splice(self._pieces[first].start, self._pieces[last].end, new)
        if last - first + 1 == len(self._pieces):
            return Splice(self._start + 1, self._end - 1, b"")
        if first:
            return Splice(self._pieces[first - 1].end, self._pieces[last].end, b"")
        return Splice(self._pieces[0].start, self._pieces[last + 1].start, b"")

    def _units(self, first: int, last: int) -> list[_Unit]:
        units: list[_Unit] = []
        for piece in self._pieces[first : last + 1]:
            raws = [found[0] for found in _UNIT.finditer(self._data, piece.start + 1, piece.end - 1)]
            units += [_Unit(char, raw, False) for char, raw in zip(piece.text, raws, strict=True)]
            if piece.text:
                units[-1].ends = True
        return units

    def _units_after(self, units: list[_Unit], offset: int, regions: Sequence[Region]) -> list[_Unit]:
        """Return the characters after the change, and where elements end. offset: the first character of `units`."""
        changed, at = list[_Unit](), 0
        for region in regions:
            start, end = region.start - offset, region.end - offset
            changed += units[at:start]
            removed = units[start:end]
            new = [
                _Unit(char, encode(char, as_ascii=self._as_ascii), char == "\n" and self._has_one_line_each)
                for char in region.new
            ]
            if removed and removed[-1].ends and new and (removed[-1].char != "\n" or new[-1].char == "\n"):
                new[-1].ends = True
            if not removed and new and changed and changed[-1].ends and changed[-1].char != "\n":
                changed[-1].ends, new[-1].ends = False, True  # text after an element without a newline continues it
            changed += new
            at = end
        return changed + units[at:]

    def _separator(self) -> bytes:
        if len(self._pieces) > 1:
            return self._data[self._pieces[0].end : self._pieces[1].start]
        return self._style.separator


def _join(units: Sequence[_Unit]) -> list[bytes]:
    """Return the elements, without quotes."""
    elements, raws = list[bytes](), list[bytes]()
    for unit in units:
        raws.append(unit.raw)
        if unit.ends:
            elements.append(b"".join(raws))
            raws = []
    return [*elements, b"".join(raws)] if raws else elements


def lines_of(text: str) -> list[str]:
    """Split after each newline only, as Jupyter does in the browser."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
