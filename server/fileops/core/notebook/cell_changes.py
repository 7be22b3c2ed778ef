"""How the cells of two versions of a notebook differ, whoever made the change and in whatever form it was written.

Cells correspond by their ids, else by their sources. For reviews, the record, and writers that name no cells.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from fileops.core.notebook.cells import Cell, Notebook, is_notebook_path, parse
from fileops.model.errors import NotebookInvalid
from fileops.model.notebooks import CellChange, CellEditKind, Compared, ComparedCells

_MAX_COMPARED = 2_000  # cells without ids that are aligned; beyond this, by their places


def changes_between(before: Notebook, after: Notebook) -> tuple[CellChange, ...]:
    """Return a change for each cell that was removed, added, moved, or has another source, type or fewer outputs.

    In the order of the cells afterwards; a removed cell is before the one that followed it.
    """
    pairs = _pairs(before, after)
    new_of = {old.index: new for old, new in pairs}
    old_of = {new.index: old for old, new in pairs}
    moved = _find_moved(pairs)
    changes = list[CellChange]()
    next_old = 0
    for cell in after.cells:
        old = old_of.get(cell.index)
        if old is None:
            changes.append(_to_insertion_or_deletion("insert", cell))
            continue
        if cell.index not in moved:
            changes += _find_removed(before.cells[next_old : old.index], new_of)
            next_old = old.index + 1
        if cell.index in moved:
            changes.append(_to_change("move", old, cell))
        if (kind := _kind(old, cell)) is not None:
            changes.append(_to_change(kind, old, cell))
    return (*changes, *_find_removed(before.cells[next_old:], new_of))


def changes_of_contents(path: str, before: bytes, after: bytes) -> tuple[CellChange, ...]:
    """Return how the cells of a file differ; none if it is no notebook, before or after."""
    differences = compare(path, before, after)
    return differences if isinstance(differences, tuple) else ()


def cells_since_read(path: str, file_path: str, read: bytes, present: bytes) -> ComparedCells | None:
    """Return how the cells differ from those that a session has read; None if it is no notebook."""
    differences = compare(path, read, present)
    return ComparedCells(file_path=file_path, compared=differences) if differences else None


def compare(path: str, before: bytes | None, after: bytes | None) -> Compared:
    """Return how the cells of a file differ, or what else does; no changes if it is no notebook on both sides."""
    if before is None or after is None or not is_notebook_path(path):
        return ()
    try:
        old, new = parse(before), parse(after)
    except NotebookInvalid:
        return ()
    if changes := changes_between(old, new):
        return changes
    runs = [[(cell.outputs, cell.values.get("execution_count")) for cell in cells] for cells in (old.cells, new.cells)]
    return "form only" if runs[0] == runs[1] else "outputs only"


def _find_removed(cells: Sequence[Cell], new_of: dict[int, Cell]) -> Iterator[CellChange]:
    return (_to_insertion_or_deletion("delete", cell) for cell in cells if cell.index not in new_of)


def _kind(old: Cell, new: Cell) -> CellEditKind | None:
    if old.source != new.source:
        return "source"
    if old.cell_type != new.cell_type:
        return "type"
    return "clear_outputs" if old.outputs and not new.outputs and new.cell_type == "code" else None


def _to_change(kind: CellEditKind, old: Cell, new: Cell) -> CellChange:
    return CellChange(
        kind=kind,
        cell_id=new.name,
        index=new.index,
        cell_type=new.cell_type,
        old=old.source,
        new=old.source if kind == "move" else new.source,
        old_index=old.index if kind == "move" else None,
        has_old_outputs=kind == "source" and bool(new.outputs) and old.outputs == new.outputs,
        outputs_removed=0 if kind == "move" or new.outputs else len(old.outputs),
    )


def _to_insertion_or_deletion(kind: CellEditKind, cell: Cell) -> CellChange:
    is_added = kind == "insert"
    return CellChange(
        kind=kind,
        cell_id=cell.name,
        index=cell.index,
        cell_type=cell.cell_type,
        old=None if is_added else cell.source,
        new=cell.source if is_added else None,
        outputs_removed=0 if is_added else len(cell.outputs),
    )


def _pairs(before: Notebook, after: Notebook) -> list[tuple[Cell, Cell]]:
    """Return the cells that correspond, in the order of `after`."""
    new_by_id = {cell.name: cell for cell in after.cells if cell.has_own_id}
    pairs = [(cell, new_by_id[cell.name]) for cell in before.cells if cell.has_own_id and cell.name in new_by_id]
    old_paired, new_paired = {old.index for old, _ in pairs}, {new.index for _, new in pairs}
    old = [cell for cell in before.cells if cell.index not in old_paired]
    new = [cell for cell in after.cells if cell.index not in new_paired]
    pairs += _pairs_by_source(old, new)
    return sorted(pairs, key=lambda pair: pair[1].index)


def _pairs_by_source(old: Sequence[Cell], new: Sequence[Cell]) -> Iterator[tuple[Cell, Cell]]:
    """Yield pairs of equal cells in order, and between these, cells of one type at corresponding places."""
    if max(len(old), len(new), 1) > _MAX_COMPARED:
        yield from zip(old, new, strict=False)
        return
    keys_of_old, keys_of_new = ([f"{cell.cell_type}\0{cell.source}" for cell in cells] for cells in (old, new))
    for tag, a, a_end, b, b_end in SequenceMatcher(None, keys_of_old, keys_of_new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from zip(old[a:a_end], new[b:b_end], strict=True)
        elif tag == "replace":
            corresponding = zip(old[a:a_end], new[b:b_end], strict=False)
            yield from ((one, other) for one, other in corresponding if one.has_own_id == other.has_own_id)


def _find_moved(pairs: Sequence[tuple[Cell, Cell]]) -> set[int]:
    """Return the indexes afterwards of the fewest cells that must have been moved."""
    order = [old.index for old, _ in pairs]
    if order == sorted(order):
        return set()
    stays = _longest_ascending(order)
    return {new.index for number, (_, new) in enumerate(pairs) if number not in stays}


def _longest_ascending(numbers: Sequence[int]) -> set[int]:
    """Return the places of a longest ascending subsequence."""
    tails, places, before = list[int](), list[int](), list[int | None]()
    for place, number in enumerate(numbers):
        at = bisect_left(tails, number)
        tails[at : at + 1] = [number]
        places[at : at + 1] = [place]
        before.append(places[at - 1] if at else None)
    found, place = set[int](), places[-1] if places else None
    while place is not None:
        found.add(place)
        place = before[place]
    return found
