"""Rewinds as values (what is requested, what it would do, what it did), and the changes that can be kept or undone."""

from collections.abc import Mapping
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from fileops.model.edits import Change, LineRange, Splice
from fileops.model.errors import FileOpsError
from fileops.model.files import Source
from fileops.model.record import By, CommandRecord, CountedTurn, EditedLines, Entry
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


class FileStep(Struct, frozen=True, gc=False):
    """One change of one file, for undos and blame.

    step_id: of an entry. before, after: digests of the contents, None without a file. reverse: splices over the content
    after it (after a deletion: over b""); None for a change that was only observed: the contents are compared.
    may_format: whether it counts as a formatter's if it changes only blanks between the same words. It then goes with
    the text that it formats.
    """

    step_id: str
    before: bytes | None
    after: bytes | None
    reverse: tuple[Splice, ...] | None = None
    may_format: bool = False

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
    includes_unsure: entries that may be of the target, too. is_undecided_only: without what is kept or committed.
    fails_on_conflict: undo all or nothing. by_session: the session that asks, None for a person. is_approved: the
    person has confirmed it. reason: of the person, in one line, for the sessions whose changes are undone; "" for none.
    """

    target: RewindTarget
    paths: tuple[str, ...] = ()
    since: float | None = None
    dry_run: bool = False
    plan: str | None = None
    fails_on_conflict: bool = False
    includes_unsure: bool = False
    is_undecided_only: bool = False
    by_session: SessionName | None = None
    is_approved: bool = False
    reason: str = ""


class RewindFileOutcome(Struct, frozen=True, kw_only=True):
    """What the rewind does to one file. entries: ids of those that are completely undone. edit_id: of the commit.

    n_places: how many runs of lines change; 1 if the file comes, goes, or changes without lines. moved_from: of a file
    that the rewind renames, its other name, under which it is removed.
    """

    file_path: str
    outcome: RewindOutcome
    entries: tuple[str, ...]
    applied_to: Source
    change: Change
    edit_id: str | None = None
    n_places: int = 1
    moved_from: str | None = None


class RewindConflict(Struct, frozen=True, kw_only=True):
    """Entries of one file that are left, at least in part."""

    file_path: str
    """Canonical path."""
    entries: tuple[str, ...]
    """The ids of the entries."""
    reason: LeftReason
    """Why something is left."""
    ranges: tuple[LineRange, ...] = ()
    """Lines of the current file."""
    by: tuple[By, ...] = ()
    """The authors of later changes."""
    message: str | None = None
    """For a refused file: what is wrong with it."""


class DecidedCount(Struct, frozen=True):
    """How much a rewind leaves out, because it is kept, committed or overwritten."""

    n_entries: int
    n_files: int


class RewindResult(Struct, frozen=True, kw_only=True):
    """What a rewind did, or would do (`dry_run`), or why it did nothing (`error`). n_left: entries that are left.

    file_path: the file that could not be written. still_undone: files that could not be restored after that.
    sessions: whose entries or changes are undone, and how many of each. needs_approval: None unless it was a dry run.
    decided: what is left out; None unless only what is not decided was to be undone.
    """

    output: str
    error: FileOpsError | None = None
    rewind_id: str | None = None
    dry_run: bool = False
    plan: str | None = None
    files: tuple[RewindFileOutcome, ...] = ()
    conflicts: tuple[RewindConflict, ...] = ()
    n_undone: int = 0
    n_left: int = 0
    file_path: str | None = None
    still_undone: tuple[str, ...] = ()
    needs_approval: bool | None = None
    decided: DecidedCount | None = None
    sessions: tuple[tuple[SessionName, int], ...] = ()

    @property
    def counted_files(self) -> list[RewindFileOutcome]:
        """The files as lists count them: a renamed one is one."""
        old_names = {file.moved_from for file in self.files}
        return [file for file in self.files if file.file_path not in old_names]


# --- what is not kept yet -------------------------------------------------------------------------------------------


class UnkeptChange(Struct, frozen=True, kw_only=True, gc=False):
    """A place that unkept entries have changed. Lines are 1-based, in the current content."""

    change_id: str
    """The id of this place, as long as its text is there."""
    start_line: int
    """1-based first line in the current content."""
    end_line: int
    """1-based last line, included. Less than `start_line` if lines were only removed, before it."""
    kind: PlaceKind
    """`file`: the whole file, whose text is not in the record. It has no lines."""
    whole_file: str | UnsetType = UNSET
    """For `file`: why it has no lines, in words for people, such as `binary` or `executable bit`."""
    added: int
    """How many lines are there now."""
    removed: int
    """How many lines were there before."""
    removed_text: str
    """The lines before the change."""
    undoable: bool
    """False if its text is not in the record, or others have written in it since."""
    by: By
    """The author of the newest entry."""
    session_id: SessionName | None
    """The author's session; null if the author is unsure."""
    label: str
    """All its authors, the newest first, for people."""
    turn_id: str | None
    """The turn of the newest entry."""
    entry_ids: tuple[str, ...]
    """The entries that changed it."""
    time: float
    """The time of the newest entry, in seconds since the epoch."""
    cell_ids: tuple[str, ...] | UnsetType = UNSET
    """In a notebook: the names of the cells that have these lines; none if the lines are of no cell that is there."""


class UndonePlace(Struct, frozen=True, kw_only=True, gc=False):
    """A place where a person has undone what an agent wrote. It is listed until the session's next turn."""

    start_line: int
    """1-based first line in the current content."""
    end_line: int
    """1-based last line, included. Less than `start_line` if no lines are there now."""
    removed_text: str
    """The agent's lines."""
    entry_id: str
    """The entry that undid them. A rewind of it restores them."""
    rewind_id: str | None
    """The rewind that undid them; a rewind of it restores everything that it undid. Null if an edit was undone."""
    session_id: SessionName | None
    """The agent's session."""
    label: str
    """The session, for people."""
    turn_id: str | None
    """The turn in which the agent wrote them."""
    time: float
    """When they were undone, in seconds since the epoch."""


class UnkeptFile(Struct, frozen=True, kw_only=True):
    """A file with unkept changes, or with changes that were undone a moment ago."""

    file_path: str
    """Canonical path."""
    digest: str
    """Digest of the content with these lines; empty if there is no file."""
    document_version: int | None
    """Version of the client's open document with these lines; null if it has no document with this text."""
    operation: FileOperation
    """What the changes did to the file."""
    moved_from: str | None
    """The file's path before an agent renamed it; null if none did."""
    added: int
    """How many lines all changes added."""
    removed: int
    """How many lines all changes removed."""
    changes: tuple[UnkeptChange, ...]
    """From top to bottom."""
    undone: tuple[UndonePlace, ...]
    """From top to bottom."""
    edited: EditedLines | UnsetType = UNSET
    """If an agent renamed it, and the old name is gone: how it differs from the text under that name."""


class UnkeptOfFile(Struct, frozen=True, kw_only=True):
    """The changes of one turn in one file."""

    file_path: str
    """Canonical path."""
    n_changes: int
    """How many changes."""
    added: int
    """How many lines were added."""
    removed: int
    """How many lines were removed."""
    change_ids: tuple[str, ...]
    """Ids of the changes, to keep or undo them."""


class UnkeptTurn(Struct, frozen=True, kw_only=True):
    """The changes of one turn."""

    turn_id: str | None
    """The turn; null if the author is unsure."""
    title: str | None
    """The beginning of the prompt; null if it is not kept."""
    began: float | None
    """When it began, in seconds since the epoch."""
    n_changes: int
    """How many changes."""
    added: int
    """How many lines were added."""
    removed: int
    """How many lines were removed."""
    change_ids: tuple[str, ...]
    """Ids of the changes, to keep or undo them."""
    files: tuple[UnkeptOfFile, ...]
    """In the order of their paths."""


class UnkeptSession(Struct, frozen=True, kw_only=True):
    """The changes of one session."""

    session_id: SessionName | None
    """The session; null if the author is unsure."""
    label: str
    """The name for people."""
    n_changes: int
    """How many changes."""
    added: int
    """How many lines were added."""
    removed: int
    """How many lines were removed."""
    change_ids: tuple[str, ...]
    """Ids of the changes, to keep or undo them."""
    turns: tuple[UnkeptTurn, ...]
    """Newest first."""


class UnkeptResult(Struct, frozen=True, kw_only=True):
    """The changes that nobody has accepted yet, by file and by author."""

    n_files: int
    """How many files have such changes."""
    n_changes: int
    """How many changes."""
    added: int
    """How many lines were added."""
    removed: int
    """How many lines were removed."""
    files: tuple[UnkeptFile, ...]
    """In the order of their paths."""
    sessions: tuple[UnkeptSession, ...]
    """The same changes by session, turn and file; the session with the newest change first."""
    truncated: bool = False
    """Whether there are more files than are listed. The counts are of all that is recorded: a command may have changed
    more files than could be read yet."""


class KeepRequest(Struct, frozen=True, kw_only=True):
    """Which changes a person has accepted; all if none are named.

    folders: only in one of these, except changes and entries that are named; None for all.
    """

    entry_ids: tuple[str, ...] | None = None
    change_ids: tuple[str, ...] | None = None
    file_path: str | None = None
    turn_id: str | None = None
    session_id: SessionName | None = None
    folders: tuple[str, ...] | None = None


class KeepOutcome(Struct, frozen=True, kw_only=True):
    """The result of a KeepRequest. n_entries: whose `kept` changed. paths: the files concerned.

    keep_id: to undo it; None if nothing changed. n_changes: how many of the request's `change_ids` were found; None if
    it named changes in another way.
    """

    keep_id: str | None
    n_entries: int
    n_changes: int | None = None
    paths: frozenset[str]


# --- who wrote what --------------------------------------------------------------------------------------------------


class BlamedLines(Struct, frozen=True, kw_only=True):
    """Lines of the current content, and the newest entry that changed a word of each."""

    first_line: int
    """1-based first line."""
    n_lines: int
    """How many lines."""
    by: By | None
    """The author; null if the lines are older than the record."""
    entry_id: str | None
    """The entry; null if the lines are older than the record."""
    time: float | None
    """When they were changed, in seconds since the epoch; null if they are older than the record."""
    cell_id: str | UnsetType = UNSET
    """Of a notebook that is blamed by cells: the cell whose source has these lines."""


# --- what has an id in the record -----------------------------------------------------------------------------------


class RecordItem(Struct, frozen=True, kw_only=True):
    """What an id of the record stands for: exactly one of entry, command, turn and rewind (its id).

    entries: the item's, newest first. diff: of all of them. edited: by entry, how renamed files differ. truncated:
    whether it has more entries than these.
    """

    entries: tuple[Entry, ...]
    diff: str
    entry: Entry | None = None
    command: CommandRecord | None = None
    turn: CountedTurn | None = None
    rewind_id: str | None = None
    edited: Mapping[str, EditedLines] = {}
    truncated: bool = False
