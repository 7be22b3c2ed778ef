"""Rewinds as values (what is asked for, what it would do, what it did), and the changes that can be kept or undone."""

from typing import Literal

from msgspec import Struct

from fileops.model.edits import Change, LineRange, Splice
from fileops.model.errors import FileOpsError
from fileops.model.files import Source
from fileops.model.record import By, Command, CountedTurn, Entry
from fileops.model.sessions import SessionName

TargetKind = Literal[
    "entry_id",
    "entry_ids",
    "command_id",
    "turn_id",
    "since_turn",
    "all_since_turn",
    "session_id",
    "rewind_id",
    "change_ids",
]
RewindOutcome = Literal["modified", "removed", "created", "unchanged"]
# Why something of a target is left: others changed the text again; the content before is not known; another file is in
# the place of a deleted one; the author is not known; a content was not kept; the text in an editor is not known; the
# file cannot be read or changed.
LeftReason = Literal["overlaps", "unknown_before", "recreated", "unsure", "not_kept", "editor", "refused"]


PlaceKind = Literal["added", "changed", "removed", "file"]
FileOperation = Literal["create", "modify", "delete"]
StepKind = Literal["create", "modify", "delete"]


class FileStep(Struct, frozen=True):
    """One change of a file, as undos and blame take it.

    step_id: of an entry. before, after: digests of the contents, None where no file was. reverse: splices over the
    content after it (after a deletion: over b""); None of a change that was only observed: the contents are compared.
    """

    step_id: str
    before: bytes | None
    after: bytes | None
    reverse: tuple[Splice, ...] | None = None

    @property
    def kind(self) -> StepKind:
        if self.before is None:
            return "create"
        return "delete" if self.after is None else "modify"


class RewindTarget(Struct, frozen=True):
    """Whose entries are undone. since_turn: that turn and all later ones of its session.

    all_since_turn: that turn, and those of all sessions that began since. change_ids: see UnkeptChange.

    ids: one, or several of entry_ids and change_ids.
    """

    kind: TargetKind
    ids: tuple[str, ...]


class RewindRequest(Struct, frozen=True, kw_only=True):
    """A wish to undo what the record has of one author.

    paths: only in these files and folders, if there are any. since: only what was changed since then, in seconds since
    the epoch. plan: of a preview that has to be as it was.
    includes_unsure: entries that may be of the target, too. fails_on_conflict: undo all or nothing. by_session: the
    session that asks, None for a person. is_approved: the person has confirmed it. reason: of the person, in one line,
    for the sessions whose changes are undone; "" for none.
    """

    target: RewindTarget
    paths: tuple[str, ...] = ()
    since: float | None = None
    dry_run: bool = False
    plan: str | None = None
    fails_on_conflict: bool = False
    includes_unsure: bool = False
    by_session: SessionName | None = None
    is_approved: bool = False
    reason: str = ""


class RewoundFile(Struct, frozen=True, kw_only=True):
    """What the rewind does to one file. entries: ids of those that are undone whole. edit_id: of the commit."""

    file_path: str
    outcome: RewindOutcome
    entries: tuple[str, ...]
    applied_to: Source
    change: Change
    edit_id: str | None = None


class RewindConflict(Struct, frozen=True, kw_only=True):
    """Entries of one file of which something is left."""

    file_path: str
    """Canonical."""
    entries: tuple[str, ...]
    """Their ids."""
    reason: LeftReason
    """Why it is left."""
    ranges: tuple[LineRange, ...] = ()
    """Of the present file."""
    by: tuple[By, ...] = ()
    """The authors of later changes."""
    message: str | None = None
    """Of what is refused: what is wrong with the file."""


class RewindResult(Struct, frozen=True, kw_only=True):
    """What a rewind did, or would do (`dry_run`), or why it did nothing (`error`). n_left: entries that are left.

    file_path: the file that could not be written. still_undone: files that could not be restored after that.
    sessions: whose entries or changes are undone, and how many of each. needs_approval: None unless it was a dry run.
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
    kind: PlaceKind
    """`file`: the whole file, of which the record has no text. It has no lines."""
    added: int
    """Lines that are there now."""
    removed: int
    """Lines that were there before."""
    removed_text: str
    """The lines before the change."""
    undoable: bool
    """False only of the kind `file`."""
    by: By
    """Of the newest entry."""
    session_id: SessionName | None
    """The author's session. Null if the author is unsure."""
    label: str
    """The session, for people."""
    turn_id: str | None
    """Of the newest entry."""
    entry_ids: tuple[str, ...]
    """The entries that changed it."""
    time: float
    """Of the newest entry, in seconds since the epoch."""


class UndonePlace(Struct, frozen=True, kw_only=True):
    """A place where a person has undone what an agent wrote. It is listed until the session's next turn."""

    start_line: int
    """1-based, of the present content."""
    end_line: int
    """1-based, included. Before `start_line` if no lines are there instead."""
    removed_text: str
    """The agent's lines."""
    entry_id: str
    """The entry that undid them. A rewind of it restores them."""
    rewind_id: str | None
    """The rewind that undid them; a rewind of it restores all that it undid. Null if it was an undo of an edit."""
    session_id: SessionName | None
    """The agent's session."""
    label: str
    """The session, for people."""
    turn_id: str | None
    """The turn in which the agent wrote them."""
    time: float
    """When they were undone, in seconds since the epoch."""


class UnkeptFile(Struct, frozen=True, kw_only=True):
    """A file with changes that are not kept yet, or that were undone a moment ago."""

    file_path: str
    """Canonical."""
    digest: str
    """Of the content that the lines are of. Empty if there is no file."""
    document_version: int | None
    """The version of the client's open document whose text the lines are of. Null if it has none with this text."""
    operation: FileOperation
    """What became of the file by the changes."""
    moved_from: str | None
    """The file's name before an agent renamed it. Null if none did."""
    added: int
    """Lines, of all changes."""
    removed: int
    """Lines, of all changes."""
    changes: tuple[UnkeptChange, ...]
    """Top to bottom."""
    undone: tuple[UndonePlace, ...]
    """Top to bottom."""


class UnkeptOfFile(Struct, frozen=True, kw_only=True):
    """The changes of one turn in one file."""

    file_path: str
    """Canonical."""
    n_changes: int
    """How many changes."""
    added: int
    """Lines."""
    removed: int
    """Lines."""
    change_ids: tuple[str, ...]
    """The changes, to keep or to undo them."""


class UnkeptTurn(Struct, frozen=True, kw_only=True):
    """The changes of one turn."""

    turn_id: str | None
    """Null if the author is unsure."""
    title: str | None
    """The beginning of the prompt; null if it is not kept."""
    began: float | None
    """Seconds since the epoch."""
    n_changes: int
    """How many changes."""
    added: int
    """Lines."""
    removed: int
    """Lines."""
    change_ids: tuple[str, ...]
    """The changes, to keep or to undo them."""
    files: tuple[UnkeptOfFile, ...]
    """In the order of their paths."""


class UnkeptSession(Struct, frozen=True, kw_only=True):
    """The changes of one session."""

    session_id: SessionName | None
    """Null if the author is unsure."""
    label: str
    """For people."""
    n_changes: int
    """How many changes."""
    added: int
    """Lines."""
    removed: int
    """Lines."""
    change_ids: tuple[str, ...]
    """The changes, to keep or to undo them."""
    turns: tuple[UnkeptTurn, ...]
    """The newest first."""


class UnkeptResult(Struct, frozen=True, kw_only=True):
    """The changes that no person has accepted yet, by files and by authors."""

    n_files: int
    """Files with such changes."""
    n_changes: int
    """How many changes."""
    added: int
    """Lines."""
    removed: int
    """Lines."""
    files: tuple[UnkeptFile, ...]
    """In the order of their paths."""
    sessions: tuple[UnkeptSession, ...]
    """The same changes by session, turn and file; the session with the newest change first."""
    truncated: bool = False
    """Whether there are more files than are listed; the counts are of all."""


class KeepRequest(Struct, frozen=True, kw_only=True):
    """Which changes a person has accepted. All there are if none are named.

    folders: only in one of these, but for changes and entries that are named; None for all.
    """

    entry_ids: tuple[str, ...] | None = None
    change_ids: tuple[str, ...] | None = None
    file_path: str | None = None
    turn_id: str | None = None
    session_id: SessionName | None = None
    folders: tuple[str, ...] | None = None


class KeepOutcome(Struct, frozen=True, kw_only=True):
    """What a KeepRequest came to. n_entries: whose `kept` changed. paths: the files concerned.

    keep_id: to undo it; None if nothing changed.
    n_changes: how many of the request's `change_ids` were there; None if it named changes in another way.
    """

    keep_id: str | None
    n_entries: int
    n_changes: int | None = None
    paths: frozenset[str]


# --- who wrote what --------------------------------------------------------------------------------------------------


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

    entries: the item's, newest first. diff: of all of them. truncated: whether it has more entries than these.
    """

    entries: tuple[Entry, ...]
    diff: str
    entry: Entry | None = None
    command: Command | None = None
    turn: CountedTurn | None = None
    rewind_id: str | None = None
    truncated: bool = False
