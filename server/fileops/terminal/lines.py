"""Reviews as lines of text. What files and agents say is shown on the terminal, but the terminal never obeys it."""

import os
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from fileops.core.presentation.phrases import format_count, lines_named
from fileops_client.values import CellUiExtra, Review, ReviewChange, ReviewFile

TAB = "    "
LAST_MINUTE_S = 60.0

Kind = Literal["@", " ", "-", "+"]


class DiffLine(NamedTuple):
    """A line of a diff.

    change_id: the change it belongs to; None for context and for the heads of hunks. number: of a removed line in the
    old text, of others in the new one; None for heads, and for a change that the diff omits.
    """

    kind: Kind
    text: str
    change_id: str | None
    number: int | None = None


def visible(text: str) -> str:
    """Returns the text with control and direction characters as codes: an escape sequence could forge a line."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(char) for char in text.replace("\t", TAB))


def _visible(char: str) -> str:
    if "\udc80" <= char <= "\udcff":  # a byte of a name that is not UTF-8
        return f"<{ord(char) - 0xDC00:02x}>"
    if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
        return f"<{ord(char):02x}>"
    return char


def diff_lines(review: Review | ReviewFile) -> Iterator[DiffLine]:
    """Returns the diff of a review or of one of its files. Each line names its change.

    If the diff omits a long change, the lines of that change follow at the end. Of a notebook, the lines of each cell
    are below its name.
    """
    if review.cells:
        for cell in review.cells:
            yield from _lines_of_cell(cell, review.changes)
        return
    shown: set[str] = set()
    for kind, text, old_line, new_line in number_lines(review.diff):
        if kind in "@ ":
            yield DiffLine(kind, text, None, new_line)
            continue
        side, number = ("old", old_line) if kind == "-" else ("new", new_line)
        change_id = None if number is None else _change_at(review.changes, side, number)
        shown.add(change_id or "")
        yield DiffLine(kind, text, change_id, number)
    for change in review.changes:
        if change.id not in shown:
            yield from _lines_of(change)


def number_lines(diff: str) -> Iterator[tuple[Kind, str, int | None, int | None]]:
    """Returns the lines of a unified diff, with their places in the old and in the new text.

    Heads of hunks have no places, and neither have notes, such as "No newline at end of file".
    """
    old_line = new_line = 0
    for line in _body(diff):
        if line.startswith("@@"):
            old_line, new_line = _starts(line)
            yield "@", visible(line), None, None
        elif line[:1] == "-":
            yield "-", visible(line[1:]), old_line, new_line
            old_line += 1
        elif line[:1] == "+":
            yield "+", visible(line[1:]), old_line, new_line
            new_line += 1
        elif line[:1] == " ":
            yield " ", visible(line[1:]), old_line, new_line
            old_line, new_line = old_line + 1, new_line + 1
        else:
            yield " ", visible(line), None, None


def _body(diff: str) -> list[str]:
    """Returns the diff without the lines that name the files."""
    lines = diff.split("\n")
    first = next((n for n, line in enumerate(lines) if line.startswith("@@")), len(lines))
    return lines[first : -1 if lines[-1] == "" else None]


def _lines_of(change: ReviewChange) -> Iterator[DiffLine]:
    head = f"@@ -{change.old_start},{change.old_lines} +{change.new_start},{change.new_lines} @@"
    body = _body(change.diff)
    yield DiffLine("@", head, change.id)
    for line in body[1:]:
        yield DiffLine("-" if line[:1] == "-" else "+" if line[:1] == "+" else " ", visible(line[1:]), change.id)


def _lines_of_cell(cell: CellUiExtra, changes: Sequence[ReviewChange]) -> Iterator[DiffLine]:
    of_cell = [change for change in changes if change.cell_id == cell.cell_id]
    of_several = [change for change in changes if change.cell_id is None]
    change_id = next((change.id for change in (*of_cell, *of_several)), None)
    yield DiffLine("@", cell_heading(cell), change_id)
    for hunk in cell.hunks:
        old_line, new_line = hunk.old_start, hunk.new_start
        for line in hunk.lines:
            number = old_line if line.kind == "-" else new_line
            yield DiffLine(line.kind, visible(line.text), None if line.kind == " " else change_id, number)
            old_line, new_line = old_line + (line.kind != "+"), new_line + (line.kind != "-")


def cell_heading(cell: CellUiExtra) -> str:
    """Returns the line above the changes of a cell."""
    done = "" if cell.kind in {"edit", "source"} else f" · {_DONE[cell.kind]}"
    removed = f" · {format_count(cell.outputs_removed, 'output')} removed" if cell.outputs_removed else ""
    name = f"cell {cell.cell_id} · {cell.cell_type} · index {cell.index}" if cell.cell_id else "all code cells"
    return visible(f"{name}{done}{removed}")


_DONE = {
    "insert": "inserted", "delete": "deleted", "move": "moved", "type": "another type", "clear_outputs": "outputs",
}  # fmt: skip


def _starts(head: str) -> tuple[int, int]:
    """Returns the first lines of a hunk. On a side without lines, that is the line after the one in the hunk's head."""
    _, old, new, *_ = head.split(" ")
    return _start(old), _start(new)


def _start(side: str) -> int:
    start, _, n_lines = side[1:].partition(",")
    return int(start) + (1 if n_lines == "0" else 0)


def _change_at(changes: Sequence[ReviewChange], side: Literal["old", "new"], line: int) -> str | None:
    for change in changes:
        start, n_lines = (change.old_start, change.old_lines) if side == "old" else (change.new_start, change.new_lines)
        if start <= line < start + n_lines:
            return change.id
    return None


# --- about a review -----------------------------------------------------------------------------------------------


def size(review: Review | ReviewFile) -> str:
    """Says how many lines are added and removed."""
    files = review.files if isinstance(review, Review) and review.files else (review,)
    added = sum(change.new_lines for file in files for change in file.changes)
    removed = sum(change.old_lines for file in files for change in file.changes)
    return f"+{added} -{removed}"


def place(review: Review | ReviewFile, folder: str) -> str:
    """Names the file relative to the folder; of a change set, says how many files it has and names the first ones."""
    if isinstance(review, Review) and review.files:
        return (
            f"{format_count(len(review.files), 'file')}: {', '.join(place(file, folder) for file in review.files[:3])}"
            + (", ..." if len(review.files) > 3 else "")
        )
    return relative(review.file_path, folder)


def relative(path: str, folder: str) -> str:
    shown = os.path.relpath(path, folder)
    return visible(path if shown.startswith("..") else shown)


def shorten_folder(folder: str) -> str:
    """Returns the folder with `~` in place of the home folder."""
    home = os.path.expanduser("~")
    return "~" + folder.removeprefix(home) if folder.startswith(home + "/") else folder


def operation_of(file: Review | ReviewFile, folder: str) -> str:
    """Says what else happens to the file besides changes of its text; "" if nothing does."""
    if isinstance(file, ReviewFile) and file.new_path is not None:
        return f"renamed to {relative(file.new_path, folder)}"
    return {"create": "new", "delete": "deleted"}.get(file.operation, "")


def seconds(amount: float) -> str:
    return f"{max(0, round(amount))} s" if amount < 2 * LAST_MINUTE_S else f"{round(amount / 60)} min"


def previous_lines(review: Review | ReviewFile) -> Iterator[str]:
    """Says what was decided before the file changed, and why that decision no longer holds."""
    if (previous := review.previous) is None:
        return
    if previous.text is not None and previous.change_ids is None:
        decided = "accepted, as it was or with another text"
    elif previous.change_ids is not None:
        decided = f"accepted in part, {format_count(len(previous.change_ids), 'change')}"
    else:
        decided = "accepted"
    where = f" ({lines_named(previous.ranges)})" if previous.ranges else ""
    yield f"Decided before: {decided}. The file has changed since{where}."
    yield f"It could not be merged: {_REASONS.get(previous.reason, visible(previous.reason))}. Please decide again."


_REASONS = {
    "near": "the change is within 3 lines of it",
    "deleted": "the file was deleted",
    "created": "the file has been created since",
    "another_file": "another file is in its place",
    "no_match_now": "the text to replace is no longer there",
    "count": "the text to replace now occurs a different number of times",
    "format": "the format of the file changed",
    "too_large": "the file is too large to compare",
}
