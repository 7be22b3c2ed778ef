"""The record of a workspace as frozen values: entries, their authors, turns and commands.

Authors (`By`) have the shape of the wire and are sent as they are.
"""

from typing import Literal

from msgspec import Struct

from fileops.model.sessions import SessionName

EntryKind = Literal["create", "modify", "delete", "mode"]
ContentKind = Literal["kept", "binary", "too_large", "protected", "link", "gone"]
GapKind = Literal["baseline", "away"]
FaultKind = Literal["fault", "hangs"]  # why a folder's recording has ended; `hangs`: its disk does not answer
Found = Literal["event", "scan"]
Evidence = Literal["commit", "save", "command", "none"]
ByKind = Literal["session", "command", "person", "outside", "unsure"]
RecordState = Literal["starting", "on", "limited", "off"]


class BySession(Struct, frozen=True, kw_only=True, gc=False, tag_field="kind", tag="session"):
    """A session by a tool of the daemon, or by one of several of its commands that cannot be distinguished."""

    session_id: SessionName
    """The session's full name in the daemon."""
    label: str
    """The name for people."""


class ByCommand(Struct, frozen=True, kw_only=True, gc=False, tag_field="kind", tag="command"):
    """A program that a session ran."""

    session_id: SessionName
    """The session's full name in the daemon."""
    command_id: str
    """The command's id."""
    label: str
    """The session and the program, for people."""


class ByPerson(Struct, frozen=True, kw_only=True, gc=False, tag_field="kind", tag="person"):
    """A person, at an attached editor or the command line."""

    session_id: str
    """The connection of their editor; empty for the command line."""
    label: str
    """The name of their editor."""


class ByOutside(Struct, frozen=True, kw_only=True, gc=False, tag_field="kind", tag="outside"):
    """A program that is not known to have been started by a session."""

    label: str = "outside"
    """The name for people."""


KnownBy = BySession | ByCommand | ByPerson | ByOutside


class ByUnsure(Struct, frozen=True, kw_only=True, gc=False, tag_field="kind", tag="unsure"):
    """One of the candidates; the daemon cannot know which."""

    label: str
    """The name for people."""
    candidates: tuple[KnownBy, ...]
    """The possible authors."""


By = KnownBy | ByUnsure
OUTSIDE = ByOutside()


def unsure(*candidates: KnownBy) -> ByUnsure:
    """Return one of these, in this order."""
    return ByUnsure(label="unsure: " + " or ".join(by.label for by in candidates), candidates=candidates)


def kind_of(by: By) -> ByKind:
    match by:
        case BySession():
            return "session"
        case ByCommand():
            return "command"
        case ByPerson():
            return "person"
        case ByOutside():
            return "outside"
        case ByUnsure():
            return "unsure"


def is_by_agent(by: By) -> bool:
    """Return whether a session may have written it, so that it starts as not kept."""
    match by:
        case BySession() | ByCommand():
            return True
        case ByPerson() | ByOutside():
            return False
        case ByUnsure():
            return any(map(is_by_agent, by.candidates))


def session_of(by: By) -> SessionName | None:
    """Return the session whose own entry it is; None for people, `outside` and unsure authors."""
    return by.session_id if isinstance(by, (BySession, ByCommand)) else None  # a union would be made anew at each call


class FileVersion(Struct, frozen=True, gc=False, omit_defaults=True):
    """What the record knows of a file at one moment. digest: None if the content is not kept.

    It is stored as Entry is.
    """

    digest: bytes | None
    is_executable: bool = False


# How entries come about, and what may happen at the same time. As in jj's operation log, what happened is added, and
# what is undone is marked: an undo is an entry of its own.
#
# 1. Any number of programs write to the files, and any number of daemons record them in one database. No writer waits:
#    an edit through a daemon is a compare-and-swap, and everything else is seen only after it was made.
# 2. A watch event, a comparison of stamps or the end of an edit names a file (`found`). One thread of each daemon reads
#    it, and compares it with what it knew. What happened between two readings is one change.
# 3. A change is written in one transaction: the entry, its contents, and what it undoes. The order of the rows is the
#    order of the contents. An edit may come in before what another daemon has seen of it and of what followed.
# 4. If two daemons see one change, the second one finds its content in the newest entry, and only adds what it knows of
#    the author.
# 5. The author (`by`) may become known later: a save is reported, or a command ends. Until then the entry is not
#    `settled`. Of one writer, entries a moment apart become one, and what was made and taken back at once is no entry.
# 6. After a kill, the next daemon compares the files with the newest contents, and adds what it missed as "away".
# 7. A person keeps an agent's entry, which can be taken back, or undoes it: the undo names this entry in `undoes`, and
#    is this one's `undone_by`. To redo is to undo the undo, which puts this entry in force again.
# 8. Otherwise an entry never changes. The oldest ones are removed when the record has reached its limits.
class Entry(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """One change of one file. A file that does not exist has no version (None).

    time: seconds since the epoch. path: canonical. before: also None if the content before is not known
    (`gap="baseline"`). gap "away": made while no daemon recorded the folder. found: by a watch event, or by comparing
    stamps. evidence: why `by` is believed. settled: False while `by` may still change. during: turns that were open.
    edit_id: of an edit through the daemon, its id in the history of edits; set_id: of its change set. undone_by,
    undoes: ids of entries. rewind_id: of the rewind that made the entry. kept: whether a person has accepted the
    change. recorder: the run of a daemon that made the entry. mode: permission bits of a file that was deleted.
    is_beside_git: whether git held the lock of its index at that time. parents: the blobs of the file in the commits
    from which git may have brought it, as (object id, bytes).

    A field with its default is not stored, so a default cannot change: it would change the entries that there are.
    """

    entry_id: str
    time: float
    path: str
    kind: EntryKind
    by: By
    before: FileVersion | None
    after: FileVersion | None
    turn_id: str | None = None
    command_id: str | None = None
    edit_id: str | None = None
    set_id: str | None = None
    during: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0
    content: ContentKind = "kept"
    gap: GapKind | None = None
    found: Found = "event"
    evidence: Evidence = "none"
    settled: bool = True
    moved_from: str | None = None
    moved_to: str | None = None
    undone_by: str | None = None
    undoes: tuple[str, ...] = ()
    rewind_id: str | None = None
    kept: bool = True
    recorder: str = ""
    mode: int | None = None
    is_beside_git: bool = False
    parents: tuple[tuple[bytes, int], ...] = ()

    @property
    def is_carried(self) -> bool:
        """Whether git may have brought the text, which it did not write. A save or an edit is certain to be none."""
        return self.is_beside_git and self.evidence in {"command", "none"}

    @property
    def is_undo(self) -> bool:
        """Whether it is an undo or a rewind. One that undid an entry only in part does not name it in `undoes`."""
        return bool(self.undoes) or self.rewind_id is not None

    @property
    def is_undoable(self) -> bool:
        """Whether it is in force and both contents are known."""
        return self.undone_by is None and self.content == "kept" and self.gap != "baseline"


class EditedLines(Struct, frozen=True, kw_only=True):
    """How a renamed file differs from its text under the old name."""

    added: int
    """How many lines were added."""
    removed: int
    """How many lines were removed."""


class Known(Struct, frozen=True, kw_only=True, gc=False):
    """What the recorder knows of a file that exists. content: its kind.

    digest: of a content that the store has. oid: of a blob of git, which has the content; digest is None then. Neither:
    the content is not known, or not kept. is_unsaved: it is the text of an unsaved document, and the file has another.
    mode: permission bits, None if they are not known.
    """

    content: ContentKind
    digest: bytes | None = None
    oid: bytes | None = None
    mtime_ns: int = 0
    size_bytes: int = 0
    inode: int = 0
    is_executable: bool = False
    is_unsaved: bool = False
    ctime_ns: int = 0
    mode: int | None = None

    @property
    def has_content(self) -> bool:
        return self.digest is not None or self.oid is not None


class Staged(Struct, frozen=True, gc=False):
    """A path in which git's index differs from HEAD. oid: of its blob, None if the index has none.

    is_by_agent: whether it came there while an agent's command ran, so that no person has decided it.
    """

    oid: bytes | None
    is_by_agent: bool


class KeptEdit(Struct, frozen=True, kw_only=True):
    """An edit through the daemon as the record keeps it, beside its entry.

    time: seconds since the epoch. path: canonical. body: see record.stored_edits; empty if no disk may have it.
    """

    edit_id: str
    time: float
    path: str
    body: bytes


class RecordedFolder(Struct, frozen=True, kw_only=True):
    """A folder whose changes are recorded, and how far the recording is."""

    root: str
    """Canonical path."""
    state: RecordState
    """The state; `limited`: not everything is recorded, see `reason`."""
    reason: str | None
    """For `limited`: what is not covered; for `off`: why."""
    n_files: int
    """How many files are recorded."""
    n_copied: int
    """How many contents have been copied."""
    n_to_copy: int
    """How many contents are still to be copied."""
    watched: bool
    """Whether its changes are found by watch events."""
    n_bytes: int
    """Size of the whole record on disk, in bytes."""
    since: float | None
    """When the recording began, in seconds since the epoch; what is older than 30 days is removed. Null: just now."""


class Contents(Struct, frozen=True):
    """The bytes before and after an entry; None without a file, or if the content is not kept."""

    before: bytes | None
    after: bytes | None


class TurnRecord(Struct, frozen=True, kw_only=True):
    """A session's work between two prompts. host_id: the host's id. Times are in seconds since the epoch."""

    turn_id: str
    session_id: SessionName
    label: str
    began: float
    title: str | None = None
    ended: float | None = None
    host_id: str | None = None


class CountedTurn(Struct, frozen=True, kw_only=True):
    """A turn and its number of entries.

    n_undone: those that are no longer in force. n_renames: those in force that only took a file's old name away.
    """

    turn: TurnRecord
    n_entries: int
    n_files: int
    n_undone: int
    n_renames: int


class CommandRecord(Struct, frozen=True, kw_only=True):
    """A period in which a session's program runs. Times are in seconds since the epoch.

    label: of the session and the program. roots: canonical folders of the session. host_id: the host's tool-use id.
    is_background: it may continue after its end. is_lost: its end was not reported.
    """

    command_id: str
    session_id: SessionName
    label: str
    began: float
    roots: tuple[str, ...]
    turn_id: str | None = None
    ended: float | None = None
    host_id: str | None = None
    is_background: bool = False
    is_lost: bool = False


class LogQuery(Struct, frozen=True, kw_only=True):
    """Which entries to list; None does not restrict.

    path: a canonical file or folder, with all in it. folders: only in one of these. since: seconds since the epoch.
    before: the id of an entry; older ones are listed. in_force: without those that were undone. sessions: own entries
    of one of these sessions.
    """

    path: str | None = None
    folders: tuple[str, ...] | None = None
    session_id: SessionName | None = None
    turn_id: str | None = None
    command_id: str | None = None
    rewind_id: str | None = None
    by: ByKind | None = None
    since: float | None = None
    before: str | None = None
    in_force: bool = False
    kept: bool | None = None
    sessions: tuple[SessionName, ...] | None = None
    limit: int | None = None
