"""What Claude Code's NotebookEdit makes of a notebook: it decodes the JSON, changes a cell, and rewrites the file.

The form and the id of a new cell are the host's, so two contents are compared by their values.
"""

import json
import re
from typing import Any, cast

from fileops.model.announcements import Content
from fileops.service.companion.report import NotebookCall

_PLACE = re.compile(r"cell-([0-9]+)")
_FIRST_WITH_IDS = (4, 5)


def is_made_by(call: NotebookCall, before: Content, after: Content) -> bool:
    """Return whether `after` is `before` with this change of a cell, and nothing else."""
    if before is None or after is None:
        return False
    try:
        old, new = _decode(before), _decode(after)
        old["cells"] = _cells_after(call, old, new["cells"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False  # no notebook, or one without this cell
    return old == new


def _decode(content: bytes) -> dict[str, Any]:
    """Return the values as JavaScript has them, whose numbers are all floats. Raises: ValueError, RecursionError."""
    return cast("dict[str, Any]", json.loads(content.decode("utf-8-sig"), parse_int=float))


def _cells_after(call: NotebookCall, old: dict[str, Any], written: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the cells after the change. Raises: LookupError, TypeError, AttributeError, if they are no such cells."""
    cells: list[dict[str, Any]] = old["cells"]
    index = _index_of(call, cells)
    if call.mode == "delete":
        return [*cells[:index], *cells[index + 1 :]]
    if call.mode == "insert":
        has_id = (old["nbformat"], old["nbformat_minor"]) >= _FIRST_WITH_IDS
        return [*cells[:index], _insert(call, written[index]["id"] if has_id else None), *cells[index:]]
    cell = {**cells[index], "source": call.source}
    if cell["cell_type"] == "code":
        cell |= {"execution_count": None, "outputs": []}
    return [*cells[:index], {**cell, "cell_type": call.cell_type or cell["cell_type"]}, *cells[index + 1 :]]


def _insert(call: NotebookCall, cell_id: object) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": call.cell_type, "source": call.source, "metadata": {}}
    if cell_id is not None:
        cell["id"] = cell_id
    return cell if call.cell_type == "markdown" else {**cell, "execution_count": None, "outputs": []}


def _index_of(call: NotebookCall, cells: list[dict[str, Any]]) -> int:
    """Return the place of the cell, or of a new one. Raises: LookupError."""
    is_new = call.mode == "insert"
    if not call.cell_id and is_new:
        return 0
    index = next((n for n, cell in enumerate(cells) if cell.get("id") == call.cell_id), None)
    place = _PLACE.fullmatch(call.cell_id)
    if index is None and place is not None and int(place[1]) < len(cells):
        index = int(place[1])
    if index is None:
        raise LookupError(call.cell_id)
    return index + 1 if is_new else index
