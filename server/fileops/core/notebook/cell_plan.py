"""Edits of cells as splices over the bytes of the notebook. Knows nothing of files and sessions."""

import hashlib
from collections.abc import Callable, Sequence
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from fileops.core import plan as planning
from fileops.core import splices as splicing
from fileops.core.diff.unified import change_of
from fileops.core.notebook.cell_page import lines_of_cell
from fileops.core.notebook.cell_source import Region, encode, lines_of, splices_in
from fileops.core.notebook.cell_style import (
    cell_list_style,
    new_cell,
    object_style,
    source_list_style,
    uses_lists,
    writes_ascii,
)
from fileops.core.notebook.cells import Cell, Member, Notebook, after_splices, is_notebook_path, parse
from fileops.core.pausing import Check, check_nothing
from fileops.core.text import detect_format
from fileops.core.whole_text import splices_to_text
from fileops.model.edits import Edit, Plan, Splice
from fileops.model.errors import (
    CellConflict,
    CellNotFound,
    CountMismatch,
    ModifiedExternally,
    MultipleMatches,
    NoChange,
    NoMatch,
    NotebookInvalid,
    NotRead,
)
from fileops.model.files import Snapshot, Text, TextFormat
from fileops.model.notebooks import (
    Beside,
    CellChange,
    CellEdit,
    CellType,
    ClearOutputs,
    DeleteCell,
    EditInCell,
    InsertCell,
    MoveCell,
    SetSource,
    SetType,
)
from fileops.model.settings import Limits

_N_ID_DIGITS = 8
_OF_ONE_EDIT = (
    CellConflict, CellNotFound, CountMismatch, ModifiedExternally, MultipleMatches, NoChange, NoMatch, NotRead,
)  # fmt: skip
Resolve = Callable[[Text, Edit], Sequence[Splice]]
Before = Callable[[Notebook, CellEdit], None]


class CellsPlan(Struct, frozen=True, kw_only=True):
    """splices: over the notebook, of all edits. changes, n_replacements: of each edit."""

    splices: tuple[Splice, ...]
    changes: tuple[CellChange, ...]
    n_replacements: tuple[int, ...]


def plan_notebook(
    snapshot: Snapshot,
    edits: Sequence[CellEdit],
    guard: Before,
    *,
    limits: Limits,
    file_path: str,
    correction: bool = False,
    check: Check = check_nothing,
) -> Plan:
    """Resolve edits of cells into splices over the snapshot.

    guard: see `plan_cells`, as the errors. Raises NotebookInvalid also for a file that is not called a notebook.
    """
    if not is_notebook_path(snapshot.path):
        raise NotebookInvalid(fault="no_notebook", reason="its name does not end in .ipynb")

    def resolve(text: Text, edit: Edit) -> Sequence[Splice]:
        return planning.resolve(text, edit, correction=correction, check=check).splices

    planned = plan_cells(snapshot.data, edits, resolve, before=guard, check=check)
    splices = splicing.effective(snapshot.data, planned.splices)
    fmt = detect_format(snapshot.data)
    return Plan(
        snapshot=snapshot,
        format=fmt,
        splices=splices,
        edits=(),
        n_replacements=planned.n_replacements,
        matches=("exact",) * len(edits),
        match_lines=((),) * len(edits),
        creates=False,
        change=change_of(
            snapshot.data,
            fmt,
            splices,
            file_path=file_path,
            operation="modify",
            limits=limits,
            with_snippet=False,
            check=check,
        ),
        cells=planned.changes,
    )


class _Planned(Struct, frozen=True, kw_only=True):
    splices: Sequence[Splice]
    change: CellChange
    n_replacements: int = 1


def plan_cells(
    data: bytes,
    edits: Sequence[CellEdit],
    resolve: Resolve,
    *,
    before: Before = lambda notebook, edit: None,
    check: Check = check_nothing,
) -> CellsPlan:
    """Resolve the edits in order, each on the result of the one before.

    resolve: finds the places of a literal edit in a text. before: called with each edit and the notebook to which it
    applies; it may raise. Raises: NotebookInvalid; CellNotFound, CellConflict, NoChange and what `resolve` and `before`
    raise, with the index of the edit.
    """
    composed: tuple[Splice, ...] = ()
    planned, notebook = list[_Planned](), parse(data)
    for index, edit in enumerate(edits):
        check()
        try:
            before(notebook, edit)
            step = _plan(notebook, edit, resolve)
        except _OF_ONE_EDIT as failure:
            failure.edit_index = index
            raise
        content = notebook.data
        splices = splicing.effective(content, sorted(step.splices, key=lambda splice: (splice.start, splice.end)))
        splicing.validate(splices, len(content))
        composed = splicing.compose(composed, splices)
        notebook = after_splices(notebook, splices)
        planned.append(step)
    return CellsPlan(
        splices=composed,
        changes=tuple(step.change for step in planned),
        n_replacements=tuple(step.n_replacements for step in planned),
    )


def _plan(notebook: Notebook, edit: CellEdit, resolve: Resolve) -> _Planned:
    match edit:
        case EditInCell():
            return _edit(notebook, edit, resolve)
        case SetSource():
            return _set_source(notebook, edit)
        case InsertCell():
            return _insert(notebook, edit)
        case DeleteCell():
            return _delete(notebook, edit)
        case MoveCell():
            return _move(notebook, edit)
        case SetType():
            return _set_type(notebook, cell_of(notebook, edit.cell_id), edit)
        case ClearOutputs():
            return _clear(notebook, edit)
        case _:
            assert_never(edit)


def cell_of(notebook: Notebook, name: str) -> Cell:
    """Raises: CellNotFound."""
    if (found := notebook.find(name)) is not None:
        return found
    number = name.removeprefix("cell-").removeprefix("#")
    index = int(number) if number.isascii() and number.isdecimal() and len(number) < 7 else len(notebook.cells)
    raise CellNotFound(
        cell_id=name,
        same_id=tuple(cell.name for cell in notebook.cells if cell.values.get("id") == name),
        at_index=notebook.cells[index].name if index < len(notebook.cells) else None,
        n_cells=len(notebook.cells),
        last=_last(notebook),
    )


def _last(notebook: Notebook) -> str | None:
    return notebook.cells[-1].name if notebook.cells else None


# --- the text of a cell ----------------------------------------------------------------------------------------------


def _edit(notebook: Notebook, edit: EditInCell, resolve: Resolve) -> _Planned:
    cell = cell_of(notebook, edit.cell_id)
    text = text_of(cell.source)
    try:
        splices = splicing.effective(text.data, resolve(text, literal(edit)))
    except NoMatch as failure:
        others = [other.name for other in notebook.cells if other is not cell and edit.old_string in other.source]
        failure.other_cell = others[0] if len(others) == 1 else None
        raise
    except (MultipleMatches, CountMismatch) as failure:
        first, _ = lines_of_cell(notebook, cell.name)
        failure.lines = tuple(first + line - 1 for line in failure.lines)  # as reads number them
        raise
    if not splices:
        raise NoChange(same_strings=False)
    return _with_source(notebook, cell, edit, text, splices, n_replacements=len(splices))


def literal(edit: EditInCell) -> Edit:
    """Return the edit of the cell's source."""
    return Edit(
        old_string=edit.old_string,
        new_string=edit.new_string,
        replace_all=edit.replace_all,
        expected_replacements=edit.expected_replacements,
    )


def source_splices(notebook: Notebook, cell: Cell, source: str, cell_type: CellType) -> Sequence[Splice]:
    """Return the splices over the notebook that give a cell this source and type; none if it has them."""
    if (cell.source, cell.cell_type) == (source, cell_type):
        return ()
    edit = SetSource(cell_id=cell.name, source=source, cell_type=cell_type)
    return sorted(_set_source(notebook, edit).splices, key=lambda splice: (splice.start, splice.end))


def _set_source(notebook: Notebook, edit: SetSource) -> _Planned:
    cell = cell_of(notebook, edit.cell_id)
    text = text_of(cell.source)
    splices = splicing.effective(text.data, splices_to_text(text, edit.source))
    is_retyped = edit.cell_type not in (None, cell.cell_type)
    if not splices and not is_retyped:
        raise NoChange(same_strings=False)
    planned = _with_source(notebook, cell, edit, text, splices, n_replacements=1)
    if edit.cell_type is None or not is_retyped:
        return planned
    retyped = _set_type(notebook, cell, SetType(cell_id=edit.cell_id, cell_type=edit.cell_type))
    change = replace(
        planned.change,
        cell_type=edit.cell_type,
        outputs_removed=retyped.change.outputs_removed,
        has_old_outputs=False,
    )
    return _Planned(splices=[*planned.splices, *retyped.splices], change=change)


def _with_source(
    notebook: Notebook, cell: Cell, edit: CellEdit, text: Text, splices: Sequence[Splice], *, n_replacements: int
) -> _Planned:
    """Return the plan of a change of the source, whose splices are over its text."""
    regions, n_chars, at = list[Region](), 0, 0
    for splice in splices:
        n_chars += len(_decode(text.data[at : splice.start]))
        n_old = len(_decode(text.data[splice.start : splice.end]))
        regions.append(Region(n_chars, n_chars + n_old, _decode(splice.new)))
        n_chars, at = n_chars + n_old, splice.end
    style = source_list_style(notebook, cell)
    as_ascii = not all(region.new.isascii() for region in regions) and writes_ascii(notebook, cell)
    change = CellChange(
        kind=edit.kind,
        cell_id=cell.name,
        index=cell.index,
        cell_type=cell.cell_type,
        old=cell.source,
        new=_decode(splicing.apply(text.data, splices)),
        has_old_outputs=bool(cell.outputs),
    )
    inside = splices_in(notebook, cell, regions, style, as_ascii=as_ascii)
    return _Planned(splices=inside, change=change, n_replacements=n_replacements)


def text_of(source: str) -> Text:
    """Return the source as a text. A lone surrogate, which JSON can escape, has the three bytes it would have."""
    return Text(data=source.encode("utf-8", "surrogatepass"), format=TextFormat())


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


# --- cells -----------------------------------------------------------------------------------------------------------


def _insert(notebook: Notebook, edit: InsertCell) -> _Planned:
    at, names_places = _index_at(notebook, edit.place), not notebook.has_ids
    new_id = _new_id(notebook, edit, at) if notebook.has_ids else None
    written = format_cell(notebook, at, edit.cell_type, edit.source, new_id)
    if not notebook.cells:
        splice = Splice(notebook.cells_start + 1, notebook.cells_end - 1, cell_list_style(notebook).interior([written]))
    else:
        splice = _put_before(notebook, at, written)
    change = CellChange(
        kind="insert",
        cell_id=new_id or _place_name(notebook, at),
        index=at,
        cell_type=edit.cell_type,
        old=None,
        new=edit.source,
        shifts_places=at < len(notebook.cells) and (names_places or _has_places_from(notebook, at)),
    )
    return _Planned(splices=[splice], change=change)


def format_cell(notebook: Notebook, at: int, cell_type: CellType, source: str, cell_id: str | None) -> bytes:
    """Return a new cell for this index, written as the cells near it. cell_id: None for one without an id."""
    values = {"cell_type": f'"{cell_type}"'.encode(), "metadata": b"{}"}
    if cell_type == "code":
        values |= {"execution_count": b"null", "outputs": b"[]"}
    if cell_id is not None:
        values["id"] = f'"{cell_id}"'.encode()
    as_ascii = not source.isascii() and writes_ascii(notebook, None)
    written: list[bytes] | bytes = b'"%s"' % encode(source, as_ascii=as_ascii)
    if uses_lists(notebook, at):
        written = [b'"%s"' % encode(line, as_ascii=as_ascii) for line in lines_of(source)]
    return new_cell(notebook, at, cell_type, values, written)


def _index_at(notebook: Notebook, place: Beside | None) -> int:
    """Return before which index the place is. Raises: CellNotFound."""
    if place is not None:
        return cell_of(notebook, place.cell_id).index + place.is_after
    if notebook.cells:
        n_cells = len(notebook.cells)
        raise CellNotFound(cell_id="", same_id=(), at_index=None, n_cells=n_cells, last=_last(notebook))
    return 0


def _put_before(notebook: Notebook, index: int, written: bytes) -> Splice:
    """Return the splice that puts a cell before this index of a list that is not empty."""
    cells, separator = notebook.cells, cell_list_style(notebook).separator
    if index:
        return Splice(cells[index - 1].end, cells[index - 1].end, separator + written)
    return Splice(cells[0].start, cells[0].start, written + separator)


def _place_name(notebook: Notebook, index: int) -> str:
    name = f"cell-{index}"
    return f"#{index}" if any(cell.values.get("id") == name for cell in notebook.cells) else name


def _has_places_from(notebook: Notebook, index: int) -> bool:
    return any(not cell.has_own_id for cell in notebook.cells[index:])


def _new_id(notebook: Notebook, edit: InsertCell, at: int) -> str:
    """Return an id that follows from the cells and the new one, so that a preview has the one of the edit after it."""
    names = [cell.name for cell in notebook.cells]
    taken = {cell.values.get("id") for cell in notebook.cells} | set(names)
    content = "\0".join([*names, str(at), edit.cell_type, edit.source])
    seed = hashlib.sha256(content.encode("utf-8", "surrogatepass")).digest()
    while (new_id := seed.hex()[:_N_ID_DIGITS]) in taken:
        seed = hashlib.sha256(seed).digest()
    return new_id


def _delete(notebook: Notebook, edit: DeleteCell) -> _Planned:
    cell = cell_of(notebook, edit.cell_id)
    change = CellChange(
        kind="delete",
        cell_id=cell.name,
        index=cell.index,
        cell_type=cell.cell_type,
        old=cell.source,
        new=None,
        outputs_removed=len(cell.outputs),
        shifts_places=_has_places_from(notebook, cell.index + 1),
    )
    return _Planned(splices=[_without(notebook, cell)], change=change)


def _without(notebook: Notebook, cell: Cell) -> Splice:
    cells = notebook.cells
    if len(cells) == 1:
        return Splice(notebook.cells_start + 1, notebook.cells_end - 1, b"")
    if cell.index:
        return Splice(cells[cell.index - 1].end, cell.end, b"")
    return Splice(cell.start, cells[1].start, b"")


def _move(notebook: Notebook, edit: MoveCell) -> _Planned:
    cell = cell_of(notebook, edit.cell_id)
    at = _index_at(notebook, edit.place)
    if at in (cell.index, cell.index + 1):
        raise NoChange(same_strings=False)
    index = at - (at > cell.index)
    change = CellChange(
        kind="move",
        cell_id=cell.name if cell.has_own_id else _place_name(notebook, index),
        index=index,
        old_index=cell.index,
        cell_type=cell.cell_type,
        old=cell.source,
        new=cell.source,
        shifts_places=_has_places_from(notebook, min(index, cell.index)),
    )
    there = _put_before(notebook, at, notebook.data[cell.start : cell.end])
    return _Planned(splices=[_without(notebook, cell), there], change=change)


def _set_type(notebook: Notebook, cell: Cell, edit: SetType) -> _Planned:
    members = {member.key: member for member in cell.members}
    if edit.cell_type == cell.cell_type:
        raise NoChange(same_strings=False)
    if edit.cell_type == "code" and "attachments" in members:
        raise CellConflict(cell_id=cell.name, reason="it has attachments, which a code cell cannot have")
    splices = [Splice(members["cell_type"].start, members["cell_type"].end, f'"{edit.cell_type}"'.encode())]
    if cell.cell_type == "code":
        splices += _without_members(cell, {"outputs", "execution_count"})
    elif edit.cell_type == "code":
        style = object_style(notebook.data, cell.members, cell.start, cell.end)
        if "execution_count" not in members:
            at = members["cell_type"].end
            splices.append(Splice(at, at, style.around.separator + b'"execution_count"' + style.colon + b"null"))
        if "outputs" not in members:
            at = members["source"].key_start
            splices.append(Splice(at, at, b'"outputs"' + style.colon + b"[]" + style.around.separator))
    change = CellChange(
        kind="type",
        cell_id=cell.name,
        index=cell.index,
        cell_type=edit.cell_type,
        old=cell.source,
        new=cell.source,
        outputs_removed=len(cell.outputs) if cell.cell_type == "code" else 0,
    )
    return _Planned(splices=splices, change=change)


def _without_members(cell: Cell, keys: set[str]) -> list[Splice]:
    """Return the splices that remove these members. `cell_type` and `source` remain."""
    members, splices, at = cell.members, list[Splice](), 0
    while at < len(members):
        first = at
        while at < len(members) and members[at].key in keys:
            at += 1
        if first == at:
            at += 1
        elif first:
            splices.append(Splice(members[first - 1].end, members[at - 1].end, b""))
        else:
            splices.append(Splice(members[0].key_start, members[at].key_start, b""))
    return splices


def _clear(notebook: Notebook, edit: ClearOutputs) -> _Planned:
    cell = None if edit.cell_id is None else cell_of(notebook, edit.cell_id)
    if cell is not None and cell.cell_type != "code":
        raise CellConflict(cell_id=cell.name, reason=f"it is a {cell.cell_type} cell, which has no outputs")
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"] if cell is None else [cell]
    splices, n_outputs, n_cells = list[Splice](), 0, 0
    for one in cells:
        found = [
            Splice(member.start, member.end, new)
            for key, new in (("execution_count", b"null"), ("outputs", b"[]"))
            if (member := one.member(key)) is not None and not _is_empty(notebook, member)
        ]
        splices += found
        n_cells += bool(found)
        n_outputs += len(one.outputs)
    if not splices:
        raise NoChange(same_strings=False)
    change = CellChange(
        kind="clear_outputs",
        cell_id="" if cell is None else cell.name,
        index=-1 if cell is None else cell.index,
        cell_type="code",
        old=None if cell is None else cell.source,
        new=None if cell is None else cell.source,
        outputs_removed=n_outputs,
    )
    return _Planned(splices=splices, change=change, n_replacements=n_cells)


def _is_empty(notebook: Notebook, member: Member) -> bool:
    return b"".join(notebook.data[member.start : member.end].split()) in (b"null", b"[]")
