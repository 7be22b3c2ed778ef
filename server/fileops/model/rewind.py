"""A rewind as values: what is asked for, what it would do, and what it did."""

from typing import Literal

from msgspec import Struct

from fileops.model.edits import Change, LineRange
from fileops.model.errors import FileOpsError
from fileops.model.files import Source
from fileops.model.record import By, Command, CountedTurn, Entry
from fileops.model.sessions import SessionName

TargetKind = Literal[
    "entry_id", "entry_ids", "command_id", "turn_id", "since_turn", "session_id", "rewind_id", "change_ids"
]
RewindOutcome = Literal["modified", "removed", "created", "unchanged"]
# Why something of a target is left: others changed the text again; the content before is not known; another file is in
# the place of a deleted one; the author is not known; a content was not kept; the text in an editor is not known.
LeftReason = Literal["overlaps", "unknown_before", "recreated", "unsure", "not_kept", "editor"]


class FileStep(Struct, frozen=True):
    """One recorded change of a file; a content is None where no file was."""

    entry_id: str
    before: bytes | None
    after: bytes | None


class RewindTarget(Struct, frozen=True):
    """Whose entries are undone. since_turn: that turn and all later ones of its session. change_ids: see UnkeptChange.

    ids: one, or several of entry_ids and change_ids.
    """

    kind: TargetKind
    ids: tuple[str, ...]


class RewindRequest(Struct, frozen=True, kw_only=True):
    """A wish to undo what the record has of one author.

    paths: only in these files and folders, if there are any. plan: of a preview that has to be as it was.
    includes_unsure: entries that may be of the target, too. fails_on_conflict: undo all or nothing. by_session: the
    session that asks, None for a person. is_approved: the person has confirmed it.
    """

    target: RewindTarget
    paths: tuple[str, ...] = ()
    dry_run: bool = False
    plan: str | None = None
    fails_on_conflict: bool = False
    includes_unsure: bool = False
    by_session: SessionName | None = None
    is_approved: bool = False


class RewoundFile(Struct, frozen=True, kw_only=True):
    """What the rewind does to one file. entries: ids of those that are undone whole. edit_id: of the commit."""

    file_path: str
    outcome: RewindOutcome
    entries: tuple[str, ...]
    applied_to: Source
    change: Change
    edit_id: str | None = None


class RewindConflict(Struct, frozen=True, kw_only=True):
    """What is left of some entries of one file, and why. ranges: of the present content. by: who overlaps it."""

    file_path: str
    entries: tuple[str, ...]
    reason: LeftReason
    ranges: tuple[LineRange, ...] = ()
    by: tuple[By, ...] = ()


class RewindResult(Struct, frozen=True, kw_only=True):
    """What a rewind did, or would do (`dry_run`), or why it did nothing (`error`). n_left: entries that are left.

    file_path: the file that could not be written. still_undone: files that could not be restored after that.
    sessions: whose entries are undone, and how many of each. needs_approval: None unless it was a dry run.
    """

    output: str
    error: FileOpsError | None = None
    rewind_id: str | None = None
    dry_run: bool = False
    plan: str | None = None
    files: tuple[RewoundFile, ...] = ()
    conflicts: tuple[RewindConflict, ...] = ()
    n_undone: int = 0
    n_left: int = 0
    file_path: str | None = None
    still_undone: tuple[str, ...] = ()
    needs_approval: bool | None = None
    sessions: tuple[tuple[SessionName, int], ...] = ()


# --- what is not kept yet -------------------------------------------------------------------------------------------


class UnkeptChange(Struct, frozen=True, kw_only=True):
    """A place that entries which are not kept yet have changed. Lines are 1-based, of the present content."""

    change_id: str
    """It names this place as long as its text is there."""
    start_line: int
    """1-based, of the present content."""
    end_line: int
    """1-based, included. Before `start_line` if lines were only removed, in front of it."""
    removed_text: str
    """The lines before the change."""
    by: By
    """Of the newest entry."""
    turn_id: str | None
    """Of the newest entry."""
    entry_ids: tuple[str, ...]
    """The entries that changed it."""
    time: float
    """Of the newest entry, in seconds since the epoch."""


class UnkeptFile(Struct, frozen=True, kw_only=True):
    """A file with changes that are not kept yet."""

    file_path: str
    """Canonical."""
    digest: str
    """Of the content that the lines are of."""
    changes: tuple[UnkeptChange, ...]
    """Top to bottom."""


class KeepRequest(Struct, frozen=True, kw_only=True):
    """Which changes a person has accepted; `kept=False`: not any more. All there are if none are named."""

    entry_ids: tuple[str, ...] | None = None
    change_ids: tuple[str, ...] | None = None
    file_path: str | None = None
    turn_id: str | None = None
    session_id: SessionName | None = None
    kept: bool = True


class BlamedLines(Struct, frozen=True, kw_only=True):
    """Lines of the present content, and the newest entry that changed a word of each."""

    first_line: int
    """1-based."""
    n_lines: int
    """How many."""
    by: By | None
    """Null if they are older than the record."""
    entry_id: str | None
    """Null if they are older than the record."""
    time: float | None
    """Seconds since the epoch. Null if they are older than the record."""


# --- what has an id in the record -----------------------------------------------------------------------------------


class RecordItem(Struct, frozen=True, kw_only=True):
    """What an id of the record means: exactly one of entry, command, turn and rewind (its id).

    entries: the item's, newest first. diff: of all of them.
    """

    entries: tuple[Entry, ...]
    diff: str
    entry: Entry | None = None
    command: Command | None = None
    turn: CountedTurn | None = None
    rewind_id: str | None = None
