"""A notebook as bytes with the places of its cells: where each key, value and piece of source begins and ends.

The bytes are the file's. A decoder checks them, and a scan finds the places, so an edit is a list of splices and
everything else stays as it is: the order of keys, indentation, escapes, outputs, and the end of the file.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import cast, get_args

from msgspec import Struct
from msgspec.structs import replace

from fileops.core import splices as splicing
from fileops.model.edits import Splice
from fileops.model.errors import NotebookInvalid
from fileops.model.notebooks import CellType

MAX_BYTES = 64 << 20
MAX_CELLS = 20_000
FORMAT = 4  # of nbformat; 3 and older have another structure
FIRST_WITH_IDS = (4, 5)

_SINGLE_KEYS = ("cells", "nbformat", "nbformat_minor")
_SINGLE_KEYS_OF_CELL = ("source", "cell_type", "id", "outputs", "execution_count")
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_BOM = b"\xef\xbb\xbf"
_SPACE = re.compile(rb"[ \t\r\n]*")
_BETWEEN_BRACKETS = re.compile(rb'(?:[^"{}\[\]]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.DOTALL)
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_LITERAL = re.compile(rb"[^ \t\r\n,\]}]+")


class Member(Struct, frozen=True, gc=False):
    """A member of an object: its key, where the key begins, and the bytes [start, end) of its value."""

    key: str
    key_start: int
    start: int
    end: int


class Piece(Struct, frozen=True, gc=False):
    """A JSON string of a source: the bytes [start, end) with its quotes, and its text."""

    start: int
    end: int
    text: str


class Cell(Struct, frozen=True):
    """A cell: the bytes [start, end).

    name: what an edit calls it by, unique in the notebook. inside: its members, counted from its own first byte, so
    that they hold when the cell moves. values: the members, decoded. texts: of its source; one, or those of a list.
    """

    name: str
    index: int
    start: int
    end: int
    inside: tuple[Member, ...]
    values: Mapping[str, object]
    cell_type: CellType
    texts: Sequence[str]
    is_list: bool

    @property
    def source(self) -> str:
        return "".join(self.texts)

    @property
    def has_own_id(self) -> bool:
        """Whether its name is its id, which stays valid when cells move."""
        return self.values.get("id") == self.name

    @property
    def outputs(self) -> Sequence[object]:
        outputs = self.values.get("outputs")
        return cast("list[object]", outputs) if isinstance(outputs, list) else ()

    @property
    def members(self) -> tuple[Member, ...]:
        return tuple(self._in_file(member) for member in self.inside)

    def member(self, key: str) -> Member | None:
        return next((self._in_file(member) for member in self.inside if member.key == key), None)

    @property
    def source_member(self) -> Member:
        return next(self._in_file(member) for member in self.inside if member.key == "source")

    def _in_file(self, member: Member) -> Member:
        return _shift(member, self.start)


class Notebook(Struct, frozen=True):
    """start: of the top-level object. cells_start, cells_end: of the list, with its brackets."""

    data: bytes
    start: int
    members: tuple[Member, ...]
    cells_start: int
    cells_end: int
    cells: tuple[Cell, ...]
    version: tuple[int, int]
    metadata: Mapping[str, object]

    @property
    def has_ids(self) -> bool:
        return self.version >= FIRST_WITH_IDS

    def pieces_of(self, cell: Cell) -> tuple[Piece, ...]:
        """Return the strings of the cell's source. Only an edited cell is asked: a file may have many."""
        member = cell.source_member
        spans = (found.span() for found in _STRING.finditer(self.data, member.start, member.end))
        return tuple(Piece(start, end, text) for (start, end), text in zip(spans, cell.texts, strict=True))

    def find(self, name: str) -> Cell | None:
        return next((cell for cell in self.cells if cell.name == name), None)

    def cells_at(self, start: int, end: int) -> list[Cell]:
        """Return the cells of which a source, id or output has some of these bytes, else the cell that has the most.

        Lines that are alike in every cell do not count: a diff may take those of the next one.
        """
        first = bisect_right(self.cells, start, key=lambda cell: cell.end)
        touched = [*takewhile(lambda cell: cell.start < max(end, start + 1), islice(self.cells, first, None))]
        found = [cell for cell in touched if self._tells(cell, start, end)]
        return found or sorted(touched, key=lambda cell: max(start, cell.start) - min(end, cell.end))[:1]

    def _tells(self, cell: Cell, start: int, end: int) -> bool:
        spans = [(piece.start, piece.end) for piece in self.pieces_of(cell)]
        for key in ("id", "outputs"):
            member = cell.member(key)
            if member is not None and cell.values[key]:
                spans.append((member.start, member.end))
        return any(a < end and start < b for a, b in spans)


def _shift(member: Member, n_bytes: int) -> Member:
    return Member(member.key, member.key_start + n_bytes, member.start + n_bytes, member.end + n_bytes)


def is_notebook_path(path: str) -> bool:
    return path.lower().endswith(".ipynb")


def is_cell_id(text: str) -> bool:
    """Return whether nbformat allows this id."""
    return _ID.fullmatch(text) is not None


def fault_of(data: bytes) -> NotebookInvalid | None:
    """Return why the cells cannot be named, None if they can."""
    try:
        parse(data)
    except NotebookInvalid as invalid:
        return invalid
    return None


def parse(data: bytes) -> Notebook:
    """Raises: NotebookInvalid."""
    if len(data) > MAX_BYTES:
        raise _too_large_in_bytes()
    start = len(_BOM) if data.startswith(_BOM) else 0
    content = _decode(data, start)
    version, values = _version(content), content.get("cells")
    if not isinstance(values, list):
        raise NotebookInvalid(fault="no_notebook", reason="it has no list of cells")
    values = cast("list[object]", values)
    _require_few(len(values))
    start = _after_space(data, start)
    scan = _Scan(data)
    members, _ = scan.members(start, "cells")
    if (twice := _first_twice(members, _SINGLE_KEYS)) is not None:
        raise NotebookInvalid(fault="cell", reason=f"the notebook has the key {twice!r} twice")
    cells = next(member for member in members if member.key == "cells")
    metadata = content.get("metadata")
    return Notebook(
        data=data,
        start=start,
        members=members,
        cells_start=cells.start,
        cells_end=cells.end,
        cells=_cells(data, scan.elements, values),
        version=version,
        metadata=cast("dict[str, object]", metadata) if isinstance(metadata, dict) else {},
    )


def after_splices(notebook: Notebook, splices: Sequence[Splice]) -> Notebook:
    """Return what `parse` would of the notebook after the splices, without another look at cells that stay as they are.

    splices: sorted; inside the list of cells, of whole cells with their separators or of parts of cells.
    Raises: NotebookInvalid.
    """
    data = splicing.apply(notebook.data, splices)
    if len(data) > MAX_BYTES:
        raise _too_large_in_bytes()
    kept = _find_untouched_cells(notebook.cells, splices)
    places, was_at = list[_Element](), dict[int, Cell]()
    at = _after_space(data, notebook.cells_start + 1)
    while data[at] != _LIST_END:
        cell = kept.get(at)
        end = _value_end(data, at) if cell is None else at + cell.end - cell.start
        if cell is not None:
            was_at[len(places)] = cell
        places.append(_Element(at, end))
        at = _after_comma(data, end)
    _require_few(len(places))
    values = [
        was_at[index].values if index in was_at else json.loads(data[place.start : place.end])
        for index, place in enumerate(places)
    ]
    growth = len(data) - len(notebook.data)
    members = [
        Member(member.key, member.key_start, member.start, member.end + growth)
        if member.start == notebook.cells_start
        else _shift(member, growth if member.start > notebook.cells_start else 0)
        for member in notebook.members
    ]
    return Notebook(
        data=data,
        start=notebook.start,
        members=tuple(members),
        cells_start=notebook.cells_start,
        cells_end=notebook.cells_end + growth,
        cells=_cells(data, places, values, was_at),
        version=notebook.version,
        metadata=notebook.metadata,
    )


def _too_large_in_bytes() -> NotebookInvalid:
    return NotebookInvalid(fault="too_large", reason=f"it has over {MAX_BYTES >> 20} MB")


def _require_few(n_cells: int) -> None:
    if n_cells > MAX_CELLS:
        raise NotebookInvalid(fault="too_large", reason=f"it has over {MAX_CELLS:,} cells")


def _find_untouched_cells(cells: Sequence[Cell], splices: Sequence[Splice]) -> dict[int, Cell]:
    """Return the cells that no splice touches, by where they begin afterwards."""
    kept, shift, at = dict[int, Cell](), 0, 0
    for cell in cells:
        while at < len(splices) and splices[at].end <= cell.start:
            shift += len(splices[at].new) - splices[at].end + splices[at].start
            at += 1
        if at == len(splices) or splices[at].start >= cell.end:
            kept[cell.start + shift] = cell
    return kept


def _decode(data: bytes, start: int) -> Mapping[str, object]:
    try:
        content: object = json.loads(data[start:].decode("utf-8"))
    except UnicodeDecodeError as failure:
        line = data.count(b"\n", 0, start + failure.start) + 1
        reason = f"byte {start + failure.start} is not UTF-8"
        raise NotebookInvalid(fault="encoding", reason=reason, line=line) from None
    except json.JSONDecodeError as failure:
        if b"\0" in data:  # never in JSON, but in every notebook in UTF-16 or UTF-32
            raise NotebookInvalid(fault="encoding", reason="it has bytes of 0, so it is not UTF-8") from None
        reason = f"{failure.msg} (column {failure.colno})"
        raise NotebookInvalid(fault="json", reason=reason, line=failure.lineno) from None
    except RecursionError:
        raise NotebookInvalid(fault="json", reason="it is nested too deeply") from None
    except ValueError:  # Python refuses integers of over 4,300 digits
        raise NotebookInvalid(fault="json", reason="it has a number with too many digits") from None
    if not isinstance(content, dict):
        raise NotebookInvalid(fault="no_notebook", reason="it is no JSON object")
    return cast("dict[str, object]", content)


def _version(content: Mapping[str, object]) -> tuple[int, int]:
    if "nbformat" not in content:
        raise NotebookInvalid(fault="no_notebook", reason="it has no nbformat")
    if (major := _to_int(content["nbformat"])) is None:
        raise NotebookInvalid(fault="no_notebook", reason="its nbformat is no integer")
    if major != FORMAT:
        raise NotebookInvalid(fault="version", reason=f"its format is nbformat {major}, and {FORMAT} is needed")
    return FORMAT, _to_int(content.get("nbformat_minor")) or 0


def _to_int(value: object) -> int | None:
    """Return an integer, which JSON may write as 4.0 or 4e0; None for what is no integer."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _cells(
    data: bytes, places: Sequence["_Element"], values: Sequence[object], kept: Mapping[int, Cell] | None = None
) -> tuple[Cell, ...]:
    """Return the cells at these places. kept: by index, those whose bytes are as they were."""
    ids = [cast("dict[str, object]", value).get("id") if isinstance(value, dict) else None for value in values]
    n_of_id: dict[str, int] = {}
    for cell_id in ids:
        if isinstance(cell_id, str):
            n_of_id[cell_id] = n_of_id.get(cell_id, 0) + 1
    cells = list[Cell]()
    for index, (place, value, cell_id) in enumerate(zip(places, values, ids, strict=True)):
        if isinstance(cell_id, str) and n_of_id[cell_id] == 1 and is_cell_id(cell_id):
            name = cell_id
        else:
            name = f"cell-{index}" if f"cell-{index}" not in n_of_id else f"#{index}"  # no usable id begins with #
        was = None if kept is None else kept.get(index)
        if was is None:
            cells.append(_cell(data, name, index, place, value))
        elif (was.name, was.index, was.start) == (name, index, place.start):
            cells.append(was)
        else:
            cells.append(replace(was, name=name, index=index, start=place.start, end=place.end))
    return tuple(cells)


def _cell(data: bytes, name: str, index: int, place: "_Element", value: object) -> Cell:
    """Raises: NotebookInvalid."""
    if not isinstance(value, dict):
        raise _bad_cell(data, place, f"cell {index} is no object")
    values = cast("dict[str, object]", value)
    members, _ = _Scan(data).members(place.start)
    if (twice := _first_twice(members, _SINGLE_KEYS_OF_CELL)) is not None:
        raise _bad_cell(data, place, f"cell {index} has the key {twice!r} twice")
    cell_type, source = values.get("cell_type"), values.get("source")
    if cell_type not in get_args(CellType):
        raise _bad_cell(data, place, f"cell {index} has an unknown type")
    is_list = isinstance(source, list)
    texts = cast("list[object]", source) if is_list else [source]
    if not all(isinstance(text, str) for text in texts):
        raise _bad_cell(data, place, f"cell {index} has no source of strings")
    return Cell(
        name=name,
        index=index,
        start=place.start,
        end=place.end,
        inside=tuple(_shift(member, -place.start) for member in members),
        values=values,
        cell_type=cast("CellType", cell_type),
        texts=cast("list[str]", texts),
        is_list=is_list,
    )


def _bad_cell(data: bytes, place: "_Element", reason: str) -> NotebookInvalid:
    return NotebookInvalid(fault="cell", reason=reason, line=data.count(b"\n", 0, place.start) + 1)


def _first_twice(members: Sequence[Member], keys: Sequence[str]) -> str | None:
    """Return a key that occurs twice: a reader and a writer could take different ones of the two."""
    names = [member.key for member in members]
    return next((key for key in keys if names.count(key) > 1), None)


# --- places in bytes that a decoder has accepted ---------------------------------------------------------------------


class _Element(Struct, frozen=True, gc=False):
    """An element of a list: the bytes [start, end)."""

    start: int
    end: int


class _Scan:
    """Finds members. elements: those of the list that was asked for, so that no byte is searched twice."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.elements: list[_Element] = []

    def members(self, at: int, listed: str | None = None) -> tuple[tuple[Member, ...], int]:
        """Return the members of the object that begins at `at`, and its end. listed: whose elements are kept."""
        data, members = self._data, list[Member]()
        at = _after_space(data, at + 1)
        while data[at] != _OBJECT_END:
            key_start, key_end = at, _find_string_end(data, at)
            start = _after_space(data, _after_space(data, key_end) + 1)
            key = cast("str", json.loads(data[key_start:key_end]))
            if key == listed and data[start] == _LIST_START:
                self.elements = list(_elements(data, start))
                end = _after_space(data, self.elements[-1].end if self.elements else start + 1) + 1
            else:
                end = _value_end(data, start)
            members.append(Member(key, key_start, start, end))
            at = _after_comma(data, end)
        return tuple(members), at + 1


def _elements(data: bytes, at: int) -> Iterator[_Element]:
    at = _after_space(data, at + 1)
    while data[at] != _LIST_END:
        end = _value_end(data, at)
        yield _Element(at, end)
        at = _after_comma(data, end)


def _value_end(data: bytes, at: int) -> int:
    if data[at] == _QUOTE:
        return _find_string_end(data, at)
    if data[at] not in b"{[":
        found = _LITERAL.match(data, at)
        return at if found is None else found.end()
    depth = 0
    while True:
        found = _BETWEEN_BRACKETS.match(data, at)
        at = (at if found is None else found.end()) + 1
        depth += 1 if data[at - 1] in b"{[" else -1
        if not depth:
            return at


def _find_string_end(data: bytes, at: int) -> int:
    """Return where the string that begins at `at` ends. `find` passes an image in a thousandth of a regex's time."""
    while True:
        at = data.find(b'"', at + 1)
        escapes = at
        while data[escapes - 1] == _BACKSLASH:
            escapes -= 1
        if (at - escapes) % 2 == 0:
            return at + 1


def _after_comma(data: bytes, at: int) -> int:
    at = _after_space(data, at)
    return _after_space(data, at + 1) if data[at] == _COMMA else at


def _after_space(data: bytes, at: int) -> int:
    found = _SPACE.match(data, at)
    return at if found is None else found.end()


_QUOTE, _BACKSLASH, _COMMA, _LIST_START, _LIST_END, _OBJECT_END = b'"\\,[]}'
