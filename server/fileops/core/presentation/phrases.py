"""Parts of sentences that several texts use.

A separate module, because `terminal`, a client of the wire, may import nothing else from the core.
"""

import unicodedata
from collections.abc import Sequence
from typing import Protocol

MAX_REASON_CHARS = 1000


class Lines(Protocol):
    """Lines of a text, 1-based and inclusive: the server's `LineRange`, or a client's."""

    @property
    def start_line(self) -> int: ...

    @property
    def end_line(self) -> int: ...


def format_count(n: int, noun: str) -> str:
    """Return the number and the noun, with an `s` unless the number is 1."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def lines_named(ranges: Sequence[Lines]) -> str:
    """Return lines as a sentence names them: "line 3" or "lines 3-5, 9"."""
    named = ", ".join(
        str(lines.start_line) if lines.start_line == lines.end_line else f"{lines.start_line}-{lines.end_line}"
        for lines in ranges
    )
    return f"line {named}" if named.isdecimal() else f"lines {named}"


def clean_reason(reason: str | None) -> str:
    """Return a person's reason as a model reads it: without control characters except newlines; "" if it is blank."""
    kept = "".join(char for char in reason or "" if char == "\n" or unicodedata.category(char) != "Cc")
    return kept[:MAX_REASON_CHARS] if kept.strip() else ""


def one_line_reason(reason: str | None) -> str:
    """Return the reason in one line: each run of spaces and line breaks becomes a space."""
    return clean_reason(" ".join((reason or "").split()))
