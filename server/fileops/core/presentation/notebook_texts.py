"""Sentences about edits of cells, for models and people."""

from collections.abc import Sequence

from fileops.core.diff.unified import change_of
from fileops.core.presentation.phrases import format_count
from fileops.core.text import TextFormat
from fileops.core.whole_text import splices_to_text
from fileops.model.edits import Change
from fileops.model.errors import NotebookInvalid
from fileops.model.files import Text
from fileops.model.notebooks import MENDED_AS_TEXT, CellChange, Compared, OtherChange
from fileops.model.settings import Limits

MAX_DIFF_LINES = 40


def not_cells_text(fault: NotebookInvalid) -> str:
    """Return why the text of a notebook is shown and not its cells."""
    where = "" if fault.line is None else f", line {fault.line}"
    can = "It is shown, and can be edited, as text." if fault.fault in MENDED_AS_TEXT else "It is shown as text."
    return f"This .ipynb is not a notebook that can be shown by cells: {fault.reason}{where}. {can}"


def change_of_source(change: CellChange, file_path: str) -> Change:
    """Return how the source of the cell changes, as a diff of its own lines."""
    old, new = _lines(change.old), _lines(change.new)
    text = Text(data=old.encode("utf-8", "replace"), format=TextFormat())
    return change_of(
        text.data,
        text.format,
        splices_to_text(text, new) if change.old != change.new else (),
        file_path=f"{file_path}#{change.cell_id}",
        operation="create" if change.old is None else "delete" if change.new is None else "modify",
        limits=Limits(),
        with_snippet=False,
    )


def _lines(source: str | None) -> str:
    """Return the source with an end of its last line, so that a diff does not speak of one that is missing."""
    return f"{source}\n".encode("utf-8", "replace").decode() if source else ""


def edited_cells_text(path: str, changes: Sequence[CellChange]) -> str:
    """Return the output of an edit of cells."""
    if len(changes) == 1:
        text = f"{sentence_about(changes[0])}{_diff(changes[0], path)}"
    else:
        numbered = [f"{number}. {sentence_about(change)}" for number, change in enumerate(changes, 1)]
        text = "\n".join([f"Made {len(changes)} changes in {path}:", *numbered])
    if any(change.shifts_places for change in changes):
        text += "\nCells after it have new ids: read the notebook again before you name one of them."
    return text


def compared_cells_text(compared: Compared, path: str) -> str:
    """Return how the cells of two versions differ, or what else does, for a model."""
    if isinstance(compared, str):
        return _OTHER_CHANGES[compared]
    return "\n".join(f"{sentence_about(change)}{_hunks(change, path)}" for change in compared)


_OTHER_CHANGES: dict[OtherChange, str] = {
    "outputs only": "Only outputs of cells, which a run writes. The sources are the same.",
    "form only": "Only how the file is written. The cells are the same.",
}


def sentence_about(change: CellChange) -> str:
    name = f"{change.cell_type} cell {change.cell_id} (index {change.index})"
    outputs = format_count(change.outputs_removed, "output")
    match change.kind:
        case "insert":
            return f"Inserted {name}."
        case "delete":
            return f"Deleted {name} and its {outputs}." if change.outputs_removed else f"Deleted {name}."
        case "move":
            return f"Moved {name}; its index was {change.old_index}."
        case "type":
            lost = f", without its {outputs}" if change.outputs_removed else ""
            return f"Cell {change.cell_id} (index {change.index}) is a {change.cell_type} cell now{lost}."
        case "clear_outputs":
            removed = outputs if change.outputs_removed else "the execution count"
            return f"Removed {removed} of {name}." if change.cell_id else f"Removed {removed} of all code cells."
        case "edit" | "source":
            lost = f" Its {outputs} were removed." if change.outputs_removed else ""
            return f"Updated {name}." + (" Its outputs are from before this edit." if change.has_old_outputs else lost)


def _diff(change: CellChange, path: str) -> str:
    return _hunks(change, path) if change.kind in ("edit", "source") else ""


def _hunks(change: CellChange, path: str) -> str:
    if change.old == change.new:
        return ""
    lines = change_of_source(change, path).unified.removesuffix("\n").split("\n")[2:]
    if (n_more := len(lines) - MAX_DIFF_LINES) > 0:
        lines = [*lines[:MAX_DIFF_LINES], f"... {format_count(n_more, 'more line')}"]
    return "\n" + "\n".join(lines)
