"""The values that cross rooms: contents, edits and what becomes of them. All frozen.

`gc=False`: it holds nothing that could lead back to it, so the garbage collector need not look. There may be tens of
thousands of them.
"""

from typing import Literal

from msgspec import Struct

from fileops.model.files import Snapshot, TextFormat


class Splice(Struct, frozen=True, gc=False):
    """Replace bytes [start, end) of the original by `new`. Offsets in bytes, BOM included."""

    start: int
    end: int
    new: bytes


class Span(Struct, frozen=True, gc=False):
    """Bytes [start, end) of a text."""

    start: int
    end: int


class LineRange(Struct, frozen=True, kw_only=True, gc=False):
    """1-based, both ends included."""

    start_line: int
    end_line: int


class Edit(Struct, frozen=True, kw_only=True, gc=False):
    """One wish of a caller, as given; or, with `is_proposed`, in the words that his client's model put for his."""

    old_string: str
    new_string: str
    replace_all: bool = False
    expected_replacements: int | None = None
    strategy: str = "exact"
    is_proposed: bool = False


DiffersIn = Literal[
    "tabs", "indentation", "trailing_blanks", "quotes", "invisible", "case", "escapes", "words", "invalid_bytes",
    "line_ends", "line_numbers",
]  # fmt: skip


class Nearest(Struct, frozen=True, kw_only=True):
    """The place that an unmatched text most likely meant. A hint: it is never applied.

    similarity: 0 to 1. diff: unified diff from the caller's text to the text that stands there.
    """

    start_line: int
    end_line: int
    similarity: float
    diff: str
    differs_in: tuple[DiffersIn, ...]


class HunkLine(Struct, frozen=True, omit_defaults=True, gc=False):
    """text: without its newline, with a carriage return that stands before it. Goes over the wire as it is."""

    kind: Literal[" ", "-", "+"]
    text: str
    no_newline: bool = False


class Hunk(Struct, frozen=True, kw_only=True):
    """Lines are 1-based as in a unified diff: a side of zero lines starts at the line before it."""

    id: str
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[HunkLine, ...]


class Change(Struct, frozen=True, kw_only=True):
    """What a list of splices does to a text, for people. Derived from the splices, never from two whole files.

    unified: the diff as `patch` takes it, "" where nothing is to be shown. exact: whether JSON text carries the
    bytes unharmed. snippet: the numbered lines that an edit answers with. n_added, n_removed: lines.
    first_changed_line: 1-based, in the new text.
    """

    operation: Literal["create", "modify"]
    unified: str
    exact: bool
    truncated: bool
    hunks: tuple[Hunk, ...]
    n_added: int
    n_removed: int
    first_changed_line: int
    snippet: str


class Plan(Struct, frozen=True, kw_only=True):
    """An edit fully resolved against one snapshot, written nowhere yet.

    splices: sorted, not overlapping, over `snapshot.data`. n_replacements: per edit, in order.
    matches: the name of what found each edit's text ("exact", "newline", or a strategy's). creates: no file stood.
    match_lines: per edit, 1-based line of each replaced place in the text that step saw.
    """

    snapshot: Snapshot
    format: TextFormat
    splices: tuple[Splice, ...]
    edits: tuple[Edit, ...]
    n_replacements: tuple[int, ...]
    matches: tuple[str, ...]
    match_lines: tuple[tuple[int, ...], ...]
    creates: bool
    change: Change
