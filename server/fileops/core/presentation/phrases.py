"""Parts of sentences that several texts use."""

from collections.abc import Sequence

from fileops.model.edits import LineRange


def counted(n: int, noun: str) -> str:
    """Return the number and the noun, with an `s` unless it is 1."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def lines_named(ranges: Sequence[LineRange]) -> str:
    named = ", ".join(
        str(lines.start_line) if lines.start_line == lines.end_line else f"{lines.start_line}-{lines.end_line}"
        for lines in ranges
    )
    return f"line {named}" if named.isdecimal() else f"lines {named}"
