"""Edits, splices, diffs and plans, as frozen values.

`gc=False` marks values that cannot be part of a reference cycle. There may be tens of thousands of them, and the
garbage collector then need not track them.
"""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from fileops.model.files import Snapshot, TextFormat
from fileops.model.notebooks import CellChange, ComparedCells


class Splice(Struct, frozen=True, gc=False):
    """Replace bytes [start, end) of the original by `new`. Offsets are in bytes and include the BOM."""

    start: int
    end: int
    new: bytes


class ByteSpan(Struct, frozen=True, gc=False):
    """Bytes [start, end) of a text."""

    start: int
    end: int


class LineRange(Struct, frozen=True, kw_only=True, gc=False):
    """A range of lines: 1-based, both ends included."""

    start_line: int
    """The first line."""
    end_line: int
    """The last line."""


# What the session read is not kept ("no_base"), cannot be compared ("format", "too_large"), was changed "near" the
# edit, or does not lead to the same edit: its text would be replaced "elsewhere", is not found any more
# ("no_match_now"), was not there before ("no_match_then"), or does not occur as often as requested ("count").
RelevanceReason = Literal[
    "no_base", "format", "too_large", "near", "elsewhere", "no_match_now", "no_match_then", "count", "cell"
]


class Relevance(Struct, frozen=True, kw_only=True):
    """Why a change by others keeps an edit from being applied."""

    reason: RelevanceReason
    """The reason: docs/PROTOCOL.md, R-REL-2, has the conditions."""
    ranges: tuple[LineRange, ...] = ()
    """The lines that others changed."""
    cell_id: str | UnsetType = UNSET
    """For `cell`: the cell of a notebook that others changed or removed."""


class Rebased(Struct, frozen=True, kw_only=True):
    """What others had changed in a file when an edit was applied to it nevertheless.

    changed_by: the last writer, as in BecameStale.source; what a client is shown instead is hub.names.changed_by.
    ranges: the lines that they changed, one range per change, in the file as the edit found it. diff: unified, None if
    it would be too long. cells: how the cells of a notebook differ, to be shown instead of the diff. shown: the content
    as the session knew it before the edit. unseen: splices from what it knows after the edit to the file after it, if
    that is known exactly. is_reviewed: whether a user decided about the edit before the file changed.
    """

    changed_by: str
    ranges: tuple[LineRange, ...]
    diff: str | None
    shown: bytes
    cells: ComparedCells | None = None
    unseen: tuple[Splice, ...] | None = None
    is_reviewed: bool = False


class Edit(Struct, frozen=True, kw_only=True, gc=False):
    """One requested replacement. `is_proposed` says that the client's model has corrected the caller's strings."""

    old_string: str
    new_string: str
    replace_all: bool = False
    expected_replacements: int | None = None
    strategy: str = "exact"
    is_proposed: bool = False


DiffersIn = Literal[
    "tabs",
    "indentation",
    "trailing_blanks",
    "quotes",
    "invisible",
    "case",
    "escapes",
    "words",
    "invalid_bytes",
    "line_ends",
    "line_numbers",
]


class SuggestedPlace(Struct, frozen=True, kw_only=True):
    """The place that a text which was not found most likely meant. Never applied."""

    start_line: int
    """1-based first line."""
    end_line: int
    """1-based last line, included."""
    similarity: float
    """Similarity, from 0 to 1."""
    diff: str
    """Unified diff, from the caller's text to the text at that place."""
    differs_in: tuple[DiffersIn, ...]
    """The kinds of differences."""


class HunkLine(Struct, frozen=True, omit_defaults=True, gc=False):
    """A line of a hunk."""

    kind: Literal[" ", "-", "+"]
    """Context, removed or added."""
    text: str
    """The text without its line feed, but with its carriage return."""
    no_newline: bool = False
    """Whether the file ends in this line, without a line feed."""


class PatchHunk(Struct, frozen=True, kw_only=True):
    """Lines of a file that are kept, removed and added, in order.

    lines: without their newline; a carriage return before it is part of the line. `no_newline` marks the last line of
    the old or the new file if it has no line end; only unified diffs say so. at: the 1-based line of the patch where
    the hunk begins. anchors: lines of the file above the hunk, outermost first, which say in what part of the file it
    is. old_start: the 1-based line of the file, None if the patch does not say it. is_at_end: whether nothing follows.
    """

    lines: tuple[HunkLine, ...]
    at: int
    anchors: tuple[str, ...] = ()
    old_start: int | None = None
    is_at_end: bool = False

    @property
    def old_lines(self) -> tuple[str, ...]:
        return tuple(line.text for line in self.lines if line.kind != "+")

    @property
    def new_lines(self) -> tuple[str, ...]:
        return tuple(line.text for line in self.lines if line.kind != "-")


class Hunk(Struct, frozen=True, kw_only=True):
    """A hunk of a unified diff, sent as it is. A side of zero lines starts at the line before it."""

    id: str
    """Unique in the diff."""
    old_start: int
    """1-based first line of the old side."""
    old_lines: int
    """How many lines the old side has."""
    new_start: int
    """1-based first line of the new side."""
    new_lines: int
    """How many lines the new side has."""
    lines: tuple[HunkLine, ...]
    """The lines, with context."""


# What happens to a file. A rename may also change its text.
Operation = Literal["create", "modify", "rename", "delete"]


class Change(Struct, frozen=True, kw_only=True):
    """The readable form of a list of splices. It is derived from the splices, never by comparing two whole files.

    unified: a diff that `patch` accepts, "" if there is nothing to show. exact: whether JSON text can carry the bytes
    without loss. snippet: the numbered lines in the result of an edit. n_added, n_removed: lines.
    first_changed_line: 1-based, in the new text. is_executable: what the file becomes, None if that does not change.
    cells: of a notebook, how its cells change, to be shown instead of the diff.
    """

    operation: Operation
    unified: str
    exact: bool
    truncated: bool
    hunks: tuple[Hunk, ...]
    n_added: int
    n_removed: int
    first_changed_line: int
    snippet: str
    is_executable: bool | None = None
    cells: tuple[CellChange, ...] = ()


class Plan(Struct, frozen=True, kw_only=True):
    """An edit that is fully resolved against one snapshot and not yet written.

    splices: sorted, not overlapping, over `snapshot.data`. n_replacements: per edit, in order.
    matches: how each edit's text was found ("exact", "newline" or a strategy's name). creates: no file exists yet.
    match_lines: per edit, the 1-based line of each replaced place in the text to which that edit applies. rebased: if
    the snapshot is not what the session had read. processed_by: the processors that changed the text, in order.
    not_formatted: why a language server did not format the changed lines, a clause.
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
    rebased: Rebased | None = None
    processed_by: tuple[str, ...] = ()
    not_formatted: str | None = None
    cells: tuple[CellChange, ...] = ()

    @property
    def shown(self) -> Change:
        """The change as people and models see it."""
        return replace(self.change, cells=self.cells) if self.cells else self.change
