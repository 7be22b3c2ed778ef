"""Which cells of Python an edit of a notebook has changed, to look for syntax errors in them."""

from collections.abc import Sequence
from typing import cast

from msgspec import Struct

from fileops.core.notebook.cell_page import lines_of_cell
from fileops.core.notebook.cells import Notebook
from fileops.model.notebooks import CellChange


class ChangedCode(Struct, frozen=True, kw_only=True):
    """A code cell. first_line: as a read numbers it. before: "" if there was no code."""

    cell_id: str
    first_line: int
    before: str
    after: str


def is_python(notebook: Notebook) -> bool:
    """Return whether the notebook's kernel runs Python. A notebook that does not say so is not taken for Python."""
    names = [
        cast("dict[str, object]", part).get(key)
        for part, key in (
            (notebook.metadata.get("kernelspec"), "language"),
            (notebook.metadata.get("language_info"), "name"),
        )
        if isinstance(part, dict)
    ]
    return any(isinstance(name, str) and name.lower() in {"python", "ipython"} for name in names)


def find_changed_code(notebook: Notebook, changes: Sequence[CellChange]) -> list[ChangedCode]:
    """Return the code cells with new code, in the order of the changes. notebook: after them, with a Python kernel."""
    first = dict[str, CellChange]()
    for change in changes:
        if change.kind in {"edit", "source", "insert", "type"}:
            first.setdefault(change.cell_id, change)
    found = list[ChangedCode]()
    for name, change in first.items():
        cell = notebook.find(name)
        if cell is None or cell.cell_type != "code":
            continue
        was_code = change.kind != "type" and change.old is not None
        first_line, _ = lines_of_cell(notebook, name)
        before = (change.old or "") if was_code else ""
        found.append(ChangedCode(cell_id=name, first_line=first_line, before=before, after=cell.source))
    return found
