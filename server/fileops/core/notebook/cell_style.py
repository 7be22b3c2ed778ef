"""How a notebook is written: line breaks, indentation, colons, key order. What is inserted is written alike."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from fileops.core.notebook.cells import Cell, Member, Notebook
from fileops.model.notebooks import CellType

_WIDE = re.compile(rb"[\x80-\xff]")
# An escape of a character outside ASCII. `\\u2603` is none: it is a backslash and a word, as in a program's source.
_ESCAPED = re.compile(rb"(?<!\\)(?:\\\\)*\\u(?!00[0-7])[0-9a-fA-F]{4}")
_KEYS = ("cell_type", "execution_count", "id", "metadata", "outputs", "source")  # in nbformat's order
_HEAD_BYTES = 1 << 20  # searched for letters and escapes if no source has any


class ListStyle(Struct, frozen=True):
    """What is before the first element of a list, between elements, and after the last."""

    opening: bytes
    separator: bytes
    closing: bytes

    def interior(self, elements: Sequence[bytes]) -> bytes:
        return self.opening + self.separator.join(elements) + self.closing if elements else b""


class ObjectStyle(Struct, frozen=True):
    """What is around the members of an object. colon: between a key and its value."""

    around: ListStyle
    colon: bytes


class FileStyle(Struct, frozen=True):
    """newline: b"" if all is in one line. unit: of the indentation."""

    newline: bytes
    unit: bytes
    comma: bytes
    colon: bytes

    def list_at(self, depth: int) -> ListStyle:
        if not self.newline:
            return ListStyle(b"", self.comma, b"")
        inner = self.newline + self.unit * (depth + 1)
        return ListStyle(inner, b"," + inner, self.newline + self.unit * depth)


def style_of(notebook: Notebook) -> FileStyle:
    """Return the style of the top-level object, which is never empty."""
    data, first = notebook.data, notebook.members[0]
    opening = data[notebook.start + 1 : first.key_start]
    newline = b"\r\n" if b"\r\n" in opening else b"\n" if b"\n" in opening else b""
    unit = opening.rpartition(b"\n")[2] if newline else b""
    comma = b"," if newline else data[first.end : notebook.members[1].key_start]  # there are two keys at least
    return FileStyle(newline, unit, comma, _colon(data, first))


def object_style(data: bytes, members: Sequence[Member], start: int, end: int) -> ObjectStyle:
    """Return the style of an object with two members or more, the bytes [start, end)."""
    opening = data[start + 1 : members[0].key_start]
    separator = data[members[0].end : members[1].key_start]
    return ObjectStyle(ListStyle(opening, separator, data[members[-1].end : end - 1]), _colon(data, members[0]))


def _colon(data: bytes, member: Member) -> bytes:
    return data[data.index(b'"', member.key_start + 1) + 1 : member.start]


def cell_list_style(notebook: Notebook) -> ListStyle:
    """Return the style of the list of cells."""
    data, cells, style = notebook.data, notebook.cells, style_of(notebook)
    if not cells:
        return style.list_at(1)
    opening = data[notebook.cells_start + 1 : cells[0].start]
    closing = data[cells[-1].end : notebook.cells_end - 1]
    if len(cells) > 1:
        return ListStyle(opening, data[cells[0].end : cells[1].start], closing)
    return ListStyle(opening, b"," + opening if opening else style.comma, closing)


def source_list_style(notebook: Notebook, cell: Cell | None) -> ListStyle:
    """Return the style of the source of a cell, if it is or becomes a list: its own, else that of another cell."""
    data = notebook.data
    for other in notebook.cells if cell is None else (cell, *notebook.cells):
        if other.is_list and len(other.texts) > 1:
            source, pieces = other.source_member, notebook.pieces_of(other)
            return ListStyle(
                data[source.start + 1 : pieces[0].start],
                data[pieces[0].end : pieces[1].start],
                data[pieces[-1].end : source.end - 1],
            )
    return style_of(notebook).list_at(3)


def writes_ascii(notebook: Notebook, cell: Cell | None) -> bool:
    """Return whether characters outside ASCII are written as escapes: as in the cell, else as in all sources."""
    data = notebook.data
    for cells in ((cell,) if cell is not None else (), notebook.cells):
        parts = [data[cell.source_member.start : cell.source_member.end] for cell in cells]
        if any(_WIDE.search(part) for part in parts):
            return False
        if any(_ESCAPED.search(part) for part in parts):
            return True
    head = data[:_HEAD_BYTES]
    return not _WIDE.search(head) and _ESCAPED.search(head) is not None


def uses_lists(notebook: Notebook, near: int) -> bool:
    """Return whether sources are lists: as most are, else as the nearest; without any, lists, as Jupyter writes."""
    n_lists = Counter(cell.is_list for cell in notebook.cells)
    if n_lists[True] == n_lists[False] and notebook.cells:
        return notebook.cells[min(near, len(notebook.cells) - 1)].is_list
    return n_lists[True] >= n_lists[False]


def new_cell(
    notebook: Notebook, near: int, cell_type: CellType, values: Mapping[str, bytes], source: Sequence[bytes] | bytes
) -> bytes:
    """Return a cell written as the nearest one of its type, else of any type.

    values: all but the source, as JSON. source: of a list its elements, as JSON.
    """
    by_distance = sorted(notebook.cells, key=lambda cell: abs(cell.index - near))
    same = [cell for cell in by_distance if cell.cell_type == cell_type]
    template = next(iter(same or by_distance), None)
    if template is None:
        file_style = style_of(notebook)
        style, keys = ObjectStyle(file_style.list_at(2), file_style.colon), _KEYS
    else:
        style = object_style(notebook.data, template.members, template.start, template.end)
        keys = _order([member.key for member in template.members])
    if not isinstance(source, bytes):
        source = b"[" + source_list_style(notebook, template).interior(source) + b"]"
    members = {**values, "source": source}
    written = [b'"%s"%s%s' % (key.encode(), style.colon, members[key]) for key in keys if key in members]
    return b"{" + style.around.interior(written) + b"}"


def _order(keys: Sequence[str]) -> tuple[str, ...]:
    """Return all keys in the order of another cell; those that it lacks are where nbformat writes them."""
    order = [key for key in keys if key in _KEYS]
    for key, before in (("execution_count", "id"), ("outputs", "source"), ("id", "metadata")):
        if key not in order:
            order.insert(order.index(before) if before in order else len(order), key)
    return (*order, *(key for key in _KEYS if key not in order))
