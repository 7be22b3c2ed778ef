"""Notebooks as texts for people: the sources of all cells, each below a line with the cell's name, type and outputs.

Two versions of a notebook can be compared line by line in any editor, and what a person types into such a text is a
notebook again. Pure.
"""

from collections.abc import Sequence

from fileops.core import splices as splicing
from fileops.core.diff.unified import range_of_hunk
from fileops.core.notebook.cell_plan import plan_cells
from fileops.core.notebook.cells import Cell, Notebook
from fileops.model.edits import Edit, Splice
from fileops.model.files import Text
from fileops.model.internal_errors import NotTheCells
from fileops.model.notebooks import CellEdit, DeleteCell, SetSource
from fileops.model.review import CellsView, ReviewPart, ShownPart

_SIGN = "# %%"  # begins the line above a cell, as in programs that are divided into cells


def texts_of(before: Notebook, after: Notebook) -> tuple[str, str]:
    """Return both versions as texts in the same form."""
    sign = _sign_for(before, after)
    return _text(before, sign), _text(after, sign)


def text_like(notebook: Notebook, others: Sequence[Notebook]) -> str:
    """Return the notebook as a text in the form in which `texts_of` gives the others."""
    return _text(notebook, _sign_for(*others))


def view_of(before: Notebook, after: Notebook, parts: Sequence[ReviewPart]) -> CellsView | None:
    """Return the texts with the parts of an edit that can be decided apart; None if a part is of no single cell."""
    sign = _sign_for(before, after)
    if len(parts) <= 1:
        places = [((0, len(before.cells)), (0, len(after.cells)))] * len(parts)
    elif len(before.cells) == len(after.cells):  # else cells were added or removed, which is one part
        found = [before.find(part.cell_id) for part in parts if part.cell_id is not None]
        places = [((cell.index, cell.index + 1),) * 2 for cell in found if cell is not None]
    else:
        return None
    if len(places) != len(parts):
        return None
    old, new = [_block(cell, sign) for cell in before.cells], [_block(cell, sign) for cell in after.cells]
    shown = [
        _to_shown_part(part, old, new, of_old, of_new) for part, (of_old, of_new) in zip(parts, places, strict=True)
    ]
    return CellsView(original_text="".join(old), proposed_text="".join(new), changes=tuple(shown))


def with_text(shown: Sequence[Notebook], notebook: Notebook, text: str) -> bytes:
    """Return the notebook with the sources that a person has written in its text. A cell whose lines are gone is too.

    shown: those whose texts the person saw. Raises: NotTheCells.
    """
    sign = _sign_for(*shown)
    heads = {_head(cell, sign): cell for cell in notebook.cells}
    steps, at = list[CellEdit](), 0
    blocks = _blocks_in(_with_newlines(text), sign)
    for head, source in blocks:
        if (cell := heads.get(head)) is None:
            raise NotTheCells(f"the line {head!r} is not above a cell of the proposal")
        if cell.index < at:
            raise NotTheCells(f"the line {head!r} is there twice, or has another place")
        at = cell.index + 1
        if source != _with_newlines(_to_shown(cell.source)):
            steps.append(SetSource(cell_id=cell.name, source=source))
    kept = {head for head, _ in blocks}
    steps += [DeleteCell(cell_id=cell.name) for head, cell in reversed(heads.items()) if head not in kept]
    return splicing.apply(notebook.data, plan_cells(notebook.data, steps, _no_places).splices)


def _text(notebook: Notebook, sign: str) -> str:
    return "".join([_block(cell, sign) for cell in notebook.cells])


def _sign_for(*notebooks: Notebook) -> str:
    """Return what no line of a source begins with."""
    sign = _SIGN
    sources = ["\n" + cell.source for notebook in notebooks for cell in notebook.cells]
    while any(f"\n{sign} " in source for source in sources):
        sign += "%"
    return sign


def _head(cell: Cell, sign: str) -> str:
    outputs = f" · {len(cell.outputs)} output{'s' * (len(cell.outputs) != 1)}" if cell.outputs else ""
    return f"{sign} {cell.name} · {cell.cell_type}{outputs}"


def _block(cell: Cell, sign: str) -> str:
    source = f"{_to_shown(cell.source)}\n" if cell.source else ""
    return f"{_head(cell, sign)}\n{source}\n"


def _to_shown(source: str) -> str:
    """Return the source as it can be sent: it may have lone surrogates."""
    return source.encode("utf-8", "replace").decode()


def _with_newlines(text: str) -> str:
    """Return the text as an editor that knows one kind of line end has it."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _no_places(text: Text, edit: Edit) -> Sequence[Splice]:
    raise AssertionError(f"no step replaces a part of a source: {edit} in {text}")


def _blocks_in(text: str, sign: str) -> list[tuple[str, str]]:
    """Return each line above a cell, and the source below it. Raises: NotTheCells."""
    blocks = list[tuple[str, list[str]]]()
    for line in text.split("\n"):
        if line.startswith(f"{sign} "):
            blocks.append((line, []))
        elif blocks:
            blocks[-1][1].append(line)
        elif line:
            raise NotTheCells(f"the line {line!r} is above all cells")
    return [(head, _source(lines, is_last=n == len(blocks))) for n, (head, lines) in enumerate(blocks, 1)]


def _source(lines: Sequence[str], *, is_last: bool) -> str:
    """Return the lines without the empty one that ends a block, and without what follows the last newline of a text."""
    if is_last and lines and not lines[-1]:
        lines = lines[:-1]
    return "\n".join(lines[:-1] if lines and not lines[-1] else lines)


def _to_shown_part(
    part: ReviewPart, old: Sequence[str], new: Sequence[str], of_old: tuple[int, int], of_new: tuple[int, int]
) -> ShownPart:
    """Return the part with its lines in the texts: those that differ, from the first one to the last one."""
    before, after = (_lines("".join(each[slice(*of)])) for each, of in ((old, of_old), (new, of_new)))
    shorter = min(len(before), len(after))
    first = next((n for n in range(shorter) if before[n] != after[n]), shorter)
    end = next((n for n in range(shorter - first) if before[-1 - n] != after[-1 - n]), shorter - first)
    removed, added = before[first : len(before) - end], after[first : len(after) - end]
    old_at, new_at = (
        "".join(each[: of[0]]).count("\n") + first + bool(lines)
        for each, of, lines in ((old, of_old, removed), (new, of_new, added))
    )
    head = f"@@ -{range_of_hunk(old_at, len(removed))} +{range_of_hunk(new_at, len(added))} @@\n"
    body = [f"{mark}{line}\n" for mark, lines in (("-", removed), ("+", added)) for line in lines]
    return ShownPart(
        id=part.id,
        old_start=old_at,
        old_lines=len(removed),
        new_start=new_at,
        new_lines=len(added),
        diff="".join([head, *body]),
        cell_id=part.cell_id,
    )


def _lines(text: str) -> list[str]:
    return text.split("\n")[:-1]
