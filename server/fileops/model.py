"""The values that cross rooms: contents, edits and what becomes of them. All frozen.

`gc=False`: it holds nothing that could lead back to it, so the garbage collector need not look. There may be tens of
thousands of them.
"""

from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct

from fileops.core.digest import content_digest

Encoding = Literal["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
NewlineStyle = Literal["\n", "\r\n", "mixed"]
Source = Literal["disk", "buffer"]
StaleReason = Literal["modified", "deleted", "replaced"]

DEFAULT_SESSION = "default"  # the session of a request that names none


class TextFormat(Struct, frozen=True, kw_only=True, gc=False):
    """How a file's bytes are text. `bom` is b"" where the file has none."""

    encoding: Encoding = "utf-8"
    bom: bytes = b""

    @property
    def unit_bytes(self) -> int:
        """Width of a code unit: 1, 2 or 4."""
        return {"utf-8": 1, "utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4}[self.encoding]


class Text(Struct, frozen=True, kw_only=True):
    """The whole content of a file, as bytes (BOM included) and the way to read them."""

    data: bytes
    format: TextFormat


class Stamp(Struct, frozen=True, kw_only=True, gc=False):
    """What stat says of a file. Times in nanoseconds since the epoch."""

    dev: int
    ino: int
    size_bytes: int
    mtime_ns: int
    ctime_ns: int
    mode: int
    uid: int
    gid: int
    n_links: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A file's content at one moment; a missing file is a snapshot too (`stamp` None, `data` empty).

    path: canonical (no symlink in it). taken_ns: wall clock just before `stamp` was taken, to tell a stamp that
    is too young to be trusted ("racy"). version: the LSP document version of a buffer, else None.
    """

    path: str
    stamp: Stamp | None
    data: bytes
    taken_ns: int
    source: Source = "disk"
    version: int | None = None
    _digest: bytes | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def exists(self) -> bool:
        return self.stamp is not None or self.source == "buffer"

    @property
    def digest(self) -> bytes:
        """Of the data; computed once, when it is first asked for."""
        digest = self._digest
        if digest is None:
            digest = content_digest(self.data)
            object.__setattr__(self, "_digest", digest)
        return digest


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


class CommitReport(Struct, frozen=True, kw_only=True):
    """How a change reached its place.

    method: "swap" (temp file renamed over), "in_place" (journalled), "create", "delete", "buffer" (through the
    editor), "none" (nothing to write). durability: "synced" (file and folder), "file_synced" (the folder's sync
    is not to be had), "not_synced", "editor".
    """

    method: Literal["swap", "in_place", "create", "delete", "buffer", "remote", "none"]
    durability: Literal["synced", "file_synced", "not_synced", "editor"]
    reason: str | None = None


class Committed(Struct, frozen=True, kw_only=True):
    """snapshot: what stands now, with the stamp taken from the handle that was written."""

    snapshot: Snapshot
    report: CommitReport


EditKind = Literal["modify", "create", "delete"]


class AppliedEdit(Struct, frozen=True, kw_only=True):
    """One applied edit, as history keeps it.

    file_path: as the session gave it; path: canonical. timestamp: seconds since the epoch. reverse: over the content
    after the edit (of a deletion: over nothing). before, after: digests, None where no file stood. undoes: the edits
    that it took back. undone_by: the edit that took it back.
    """

    edit_id: str
    session_id: str
    file_path: str
    path: str
    timestamp: float
    kind: EditKind
    reverse: tuple[Splice, ...]
    before: bytes | None
    after: bytes | None
    summary: str
    diff: str
    n_added: int
    n_removed: int
    undoes: tuple[str, ...] = ()
    undone_by: str | None = None
