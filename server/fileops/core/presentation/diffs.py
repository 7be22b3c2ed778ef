"""Unified diffs for a model or a person, cut to whole lines."""

from collections.abc import Callable, Iterable

from fileops.core.presentation.phrases import format_count
from fileops.model.edits import Hunk

NO_NEWLINE = "\\ No newline at end of file"


def hunks_of(unified: str) -> str:
    """Return a diff without its header."""
    return unified[unified.find("@@ ") :] if "@@ " in unified else ""


def format_changed_lines(hunks: Iterable[Hunk]) -> str:
    """Return the removed and added lines, without context and without a final newline.

    Each run of adjacent lines begins with `@@ line N`, N being its first line in the new text.
    """
    lines: list[str] = []
    for hunk in hunks:
        number = hunk.new_start + (hunk.new_lines == 0)  # a side without lines starts at the line before it
        is_context = True
        for line in hunk.lines:
            if line.kind != " ":
                if is_context:
                    lines.append(f"@@ line {number}")
                lines.append(line.kind + line.text)
                if line.no_newline:
                    lines.append(NO_NEWLINE)
            is_context = line.kind == " "
            number += line.kind != "-"
    return "\n".join(lines)


def first_lines(diff: str, *, max_lines: int, max_chars: int) -> tuple[str, int]:
    """Return the first lines of a diff, without a final newline, and the number of lines left out."""
    lines = diff.split("\n")
    if not lines[-1]:
        lines.pop()
    n_kept = n_chars = 0
    for line in lines:
        n_chars += len(line) + 1
        if n_kept == max_lines or n_chars > max_chars:
            break
        n_kept += 1
    return "\n".join(lines[:n_kept]), len(lines) - n_kept


def n_more_lines(n: int) -> str:
    return f"… {format_count(n, 'more line')}"


def cut_diff(diff: str, *, max_lines: int, max_chars: int, cut_line: Callable[[int], str] = n_more_lines) -> str:
    """Return the first lines of a diff. cut_line: makes the last line, given the number of lines left out."""
    kept, n_more = first_lines(diff, max_lines=max_lines, max_chars=max_chars)
    return "\n".join(filter(None, (kept, cut_line(n_more)))) if n_more else kept
