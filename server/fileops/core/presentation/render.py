"""View model of a call and its result: one line for the call, the first lines of the result, a diff as rows.

Pure. A view is sent as it is. Its texts contain no colours or escapes; an editor adds them. Models never see it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from fileops.core.presentation.outputs import reminder_part
from fileops.core.presentation.titles import METHODS, Arguments, line_range, one_line, steps_of, subject_of, text_of
from fileops.model.edits import Hunk, Operation

N_COLLAPSED_LINES = 10
MAX_CALL_PATH_CHARS = 60
MAX_CALL_CHARS = 120

_NUMBERED = re.compile(r" *(\d+)→(.*)", re.DOTALL)
_NAMES = {method: {"MultiEdit": "multi_edit"}.get(tool, tool.lower()) for tool, method in METHODS.items()}


class ShownResult(Struct, frozen=True, kw_only=True):
    """The parts of a tool's result that are shown. `message` is a failure's; `hunks` is None without a change."""

    is_error: bool
    output: str
    message: str = ""
    operation: Operation = "modify"
    hunks: tuple[Hunk, ...] | None = None
    n_added: int = 0
    n_removed: int = 0
    is_cut: bool = False
    is_dry: bool = False


class ViewLine(Struct, frozen=True, kw_only=True):
    """A line of a view."""

    number: int | None
    """1-based line in the file; null for a line of a message."""
    text: str
    """The text without its line end."""


class DiffRow(Struct, frozen=True, kw_only=True):
    """A row of a diff as it is shown."""

    kind: Literal["hunk", " ", "-", "+"]
    """A separator of hunks, or a context, removed or added line."""
    old_line: int | None
    """1-based line of the old text; null for an added line."""
    new_line: int | None
    """1-based line of the new text; null for a removed line."""
    text: str
    """The text without its line end."""
    no_newline: bool
    """Whether the file ends in this line, without a line feed."""


class DiffView(Struct, frozen=True, kw_only=True):
    """A diff as it is shown."""

    title: str
    """The file, and what happens to it."""
    operation: Operation
    """What happens to the file."""
    added: int
    """How many lines were added."""
    removed: int
    """How many lines were removed."""
    truncated: bool
    """Whether the result lacked part of the diff."""
    rows: tuple[DiffRow, ...]
    """From top to bottom."""


class View(Struct, frozen=True, kw_only=True):
    """A call and its result in the form that a client shows."""

    call: str
    """The call's title."""
    state: Literal["pending", "success", "error"]
    """How the call ended, or that it has not."""
    lines: tuple[ViewLine, ...]
    """Lines of the result, for a call without a diff."""
    diff: DiffView | None
    """The diff of an edit; null without one."""
    n_more: int
    """How many lines or rows are not shown."""
    more: str
    """The line that says how many are not shown, or empty."""
    summary: str
    """A line about the result as a whole, or empty."""


def render(
    method: str,
    arguments: Arguments,
    folders: Iterable[str],
    *,
    result: ShownResult | None = None,
    is_partial: bool = False,
    expanded: bool = False,
    reminder: str | None = None,
) -> View:
    """Return the view of a call. `is_partial` says that the arguments or the result are incomplete.

    Args: reminder: the text after the lines of a read, see Texts; it is not shown.
    """
    method = METHODS.get(method, method)
    folders = tuple(folders)
    call = render_call(method, arguments, folders)
    if result is None:
        return View(call=call, state="pending", lines=(), diff=None, n_more=0, more="", summary="")
    state = "error" if result.is_error else "pending" if is_partial else "success"
    n_shown = None if expanded else N_COLLAPSED_LINES
    if result.hunks is not None and not result.is_error:
        rows = tuple(_rows(result.hunks))
        diff = DiffView(
            title=one_line(subject_of(method, arguments, folders, MAX_CALL_PATH_CHARS)),
            operation=result.operation,
            added=result.n_added,
            removed=result.n_removed,
            truncated=result.is_cut,
            rows=rows[:n_shown],
        )
        n_more = len(rows) - len(diff.rows)
        is_created = result.operation == "create" and not result.is_dry
        return View(
            call=call,
            state=state,
            lines=(),
            diff=diff,
            n_more=n_more,
            more=more_text(n_more),
            summary=one_line(f"Created {subject_of(method, arguments, folders)}") if is_created else "",
        )
    lines = tuple(_lines(method, result, reminder))
    n_more = len(lines[n_shown:]) if n_shown is not None else 0
    return View(
        call=call, state=state, lines=lines[:n_shown], diff=None, n_more=n_more, more=more_text(n_more), summary=""
    )


def render_call(method: str, arguments: Arguments, folders: Iterable[str]) -> str:
    """Return a line such as `read src/x.py:10-50`, or `read ...` while the path is not known."""
    name = _NAMES.get(method, method.removeprefix("fileops/"))
    if method == "fileops/bash":
        return one_line(f"{name} {text_of(arguments, 'command') or '...'}")[:MAX_CALL_CHARS]
    path = subject_of(method, arguments, folders, MAX_CALL_PATH_CHARS)
    more = line_range(arguments) if method == "fileops/read" else ""
    steps = steps_of(method, arguments)
    if method == "fileops/multiEdit" and steps:
        more = f" ({len(steps)} edit{'s' if len(steps) != 1 else ''})"
    return one_line(f"{name} {path}{more}")


def more_text(n_more: int) -> str:
    return "" if not n_more else f"... ({n_more} more line{'s' if n_more != 1 else ''})"


def _lines(method: str, result: ShownResult, reminder: str | None) -> Iterator[ViewLine]:
    if result.is_error:
        yield ViewLine(number=None, text=result.message or result.output)
        return
    output = result.output.removesuffix(reminder_part(reminder))
    is_read = method == "fileops/read"
    for text in output.removesuffix("\n").split("\n"):
        numbered = _NUMBERED.fullmatch(text) if is_read else None
        yield ViewLine(number=int(numbered[1]), text=numbered[2]) if numbered else ViewLine(number=None, text=text)


def _rows(hunks: Sequence[Hunk]) -> Iterator[DiffRow]:
    for hunk in hunks:
        header = f"@@ -{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines} @@"
        yield DiffRow(kind="hunk", old_line=None, new_line=None, text=header, no_newline=False)
        old, new = hunk.old_start, hunk.new_start
        for line in hunk.lines:
            is_old, is_new = line.kind != "+", line.kind != "-"
            yield DiffRow(
                kind=line.kind,
                old_line=old if is_old else None,
                new_line=new if is_new else None,
                text=line.text,
                no_newline=line.no_newline,
            )
            old, new = old + is_old, new + is_new
