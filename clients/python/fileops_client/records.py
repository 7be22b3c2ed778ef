"""The record of who changed what in a workspace, and rewinds of it, as values."""

from dataclasses import dataclass
from typing import Literal

from fileops_client.models import ToolError, UiExtra
from fileops_client.requests.turns import Turn
from fileops_client.reviews import LineRange

AuthorKind = Literal["session", "command", "person", "outside", "unsure"]
EntryKind = Literal["create", "modify", "delete", "mode"]
ContentKind = Literal["kept", "binary", "too_large", "protected", "gone"]
RewindOutcome = Literal["modified", "removed", "created", "unchanged"]
RewindReason = Literal["overlaps", "unknown_before", "recreated", "unsure", "not_kept", "editor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who wrote a change. label: for people. candidates: of `unsure`, the possible authors."""

    kind: AuthorKind
    label: str
    session_id: str | None = None
    command_id: str | None = None
    candidates: tuple["Author", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordEntry:
    """One change of one file. time: seconds since the epoch. settled: False while `by` may still change.

    gap: "baseline" if the content before is not known, "away" if no daemon recorded the folder then. evidence: why `by`
    is believed. during: the turns that were open. undone_by, undoes: ids of entries. kept: a person accepted it.
    """

    entry_id: str
    time: float
    path: str
    kind: EntryKind
    by: Author
    turn_id: str | None = None
    command_id: str | None = None
    edit_id: str | None = None
    set_id: str | None = None
    during: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0
    content: ContentKind = "kept"
    gap: Literal["baseline", "away"] | None = None
    found: Literal["event", "scan"] = "event"
    evidence: Literal["commit", "save", "bracket", "none"] = "none"
    settled: bool = True
    moved_from: str | None = None
    moved_to: str | None = None
    undoable: bool = False
    undone_by: str | None = None
    undoes: tuple[str, ...] = ()
    rewind_id: str | None = None
    kept: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """Entries, the newest first. more: there are older ones."""

    entries: tuple[RecordEntry, ...]
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedChange:
    """An entry, and what it changed. The texts are None over 1 MB, and where the content is not kept."""

    entry: RecordEntry
    diff: str
    before_text: str | None
    after_text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedFolder:
    """How far the recording of a folder is. reason: of `limited`, what is not covered."""

    root: str
    state: Literal["starting", "on", "limited", "off"]
    reason: str | None
    n_files: int
    n_copied: int
    n_to_copy: int
    watched: bool
    n_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCommand:
    """A program that a session ran. Times in seconds since the epoch."""

    command_id: str
    session_id: str
    label: str
    began: float
    turn_id: str | None = None
    ended: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRewind:
    """A rewind that was made."""

    rewind_id: str
    time: float
    by: Author


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordItem:
    """What has an id in the record: exactly one of them, with its entries, the newest first, and their diffs."""

    entries: tuple[RecordEntry, ...]
    diff: str
    entry: RecordEntry | None = None
    command: RecordedCommand | None = None
    turn: Turn | None = None
    rewind: RecordedRewind | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlamedLines:
    """Lines of a file that one entry changed last. by, entry_id, time: None of lines older than the record."""

    first_line: int
    n_lines: int
    by: Author | None = None
    entry_id: str | None = None
    time: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnkeptChange:
    """A place that changes which are not kept yet have changed. start_line, end_line: of the present file.

    An `end_line` before the `start_line` says that lines were only removed, before `start_line`. kind: "file" is a
    whole file of which the record has no text. added, removed: numbers of lines. session_id: None if the author is
    unsure. label: the session, for people.
    """

    change_id: str
    start_line: int
    end_line: int
    kind: Literal["added", "changed", "removed", "file"]
    added: int
    removed: int
    removed_text: str
    undoable: bool
    by: Author
    label: str
    entry_ids: tuple[str, ...]
    time: float
    session_id: str | None = None
    turn_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UndonePlace:
    """A place where your user has undone what an agent wrote; until the session's next turn. removed_text: that text.

    A rewind of `rewind_id`, or of `entry_id` if there is none, restores it.
    """

    start_line: int
    end_line: int
    removed_text: str
    entry_id: str
    label: str
    time: float
    rewind_id: str | None = None
    session_id: str | None = None
    turn_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnkeptFile:
    """A file with changes that are not kept yet, or that were undone a moment ago.

    digest: of the content that the lines are of. moved_from: its name before an agent renamed it.
    """

    file_path: str
    digest: str
    operation: Literal["create", "modify", "delete"]
    added: int
    removed: int
    changes: tuple[UnkeptChange, ...]
    undone: tuple[UndonePlace, ...] = ()
    document_version: int | None = None
    moved_from: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnkeptOfFile:
    """The changes of one turn in one file. added, removed: numbers of lines."""

    file_path: str
    n_changes: int
    added: int
    removed: int
    change_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnkeptTurn:
    """The changes of one turn. title: the beginning of the prompt. began: seconds since the epoch."""

    n_changes: int
    added: int
    removed: int
    change_ids: tuple[str, ...]
    files: tuple[UnkeptOfFile, ...]
    turn_id: str | None = None
    title: str | None = None
    began: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnkeptSession:
    """The changes of one session, the newest turn first. session_id: None if the author is unsure."""

    label: str
    n_changes: int
    added: int
    removed: int
    change_ids: tuple[str, ...]
    turns: tuple[UnkeptTurn, ...]
    session_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unkept:
    """What agents changed and your user has not kept yet: by files, and the same by sessions, turns and files.

    The `change_ids` of each part are what `keep` and `rewind` take.
    """

    n_files: int
    n_changes: int
    added: int
    removed: int
    files: tuple[UnkeptFile, ...]
    sessions: tuple[UnkeptSession, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """What was kept. n_changes: how many of the `change_ids` were there. keep_id: to undo it, None if nothing was."""

    n_entries: int
    n_changes: int | None = None
    keep_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoneKeep:
    """What is not kept any more. n_changes: places of entries that were kept alone."""

    n_entries: int
    n_changes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RewoundFile:
    """What a rewind did, or would do, to one file. entries: the ids of those that are undone."""

    file_path: str
    outcome: RewindOutcome
    entries: tuple[str, ...]
    applied_to: Literal["disk", "buffer"]
    added: int
    removed: int
    ui_extra: UiExtra


@dataclass(frozen=True, slots=True, kw_only=True)
class RewindConflict:
    """Entries of one file of which something is left, and why. by: the authors of what overlaps them."""

    file_path: str
    entries: tuple[str, ...]
    reason: RewindReason
    ranges: tuple[LineRange, ...] = ()
    by: tuple[Author, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewind:
    """What a rewind did, or would do (`dry_run`), or why it did nothing (`error`). plan: the id of a preview.

    file_path: the file that could not be written; still_undone: files that could not be restored after that.
    """

    output: str = ""
    error: ToolError | None = None
    rewind_id: str | None = None
    dry_run: bool = False
    plan: str | None = None
    files: tuple[RewoundFile, ...] = ()
    conflicts: tuple[RewindConflict, ...] = ()
    n_undone: int = 0
    n_left: int = 0
    needs_approval: bool | None = None
    file_path: str | None = None
    still_undone: tuple[str, ...] = ()
