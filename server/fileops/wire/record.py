"""Wire types of the record: fileops/log, fileops/entry, fileops/recordStatus and fileops/didRecord."""

from collections.abc import Iterable

import msgspec

from fileops.model.record import (
    By,
    ByKind,
    ContentKind,
    Entry,
    EntryKind,
    Evidence,
    Found,
    GapKind,
    LogQuery,
    RecordedFolder,
)
from fileops.model.sessions import SessionName
from fileops.wire.types import AtLeastOne, Params

MAX_ENTRIES = 1000
DEFAULT_ENTRIES = 100


class LogParams(Params, frozen=True, kw_only=True):
    """Which entries to list."""

    root: str | None = None
    """Absolute: only changes in this folder."""
    file_path: str | None = None
    """Absolute, a file or a folder. `root` does not count then."""
    session_id: str | None = None
    """Only those of this session and its commands."""
    turn_id: str | None = None
    """Only those of this turn."""
    command_id: str | None = None
    """Only those of this command."""
    by: ByKind | None = None
    """Only those of this kind of author."""
    since: float | None = None
    """Seconds since the epoch."""
    limit: AtLeastOne | None = None
    """100 by default, 1,000 at most."""
    before: str | None = None
    """An entry id: only older ones."""


class EntryParams(Params, frozen=True, kw_only=True):
    """Asks for an entry."""

    entry_id: str
    """Its whole id."""


class RecordStatusParams(Params, frozen=True, kw_only=True):
    """Asks how far the recording is."""

    root: str | None = None
    """Absolute: only the recorded folder that contains it."""


class RecordEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One change of one file."""

    entry_id: str
    """Unique in the record."""
    time: float
    """Seconds since the epoch."""
    path: str
    """Canonical."""
    kind: EntryKind
    """`mode`: the executable bit alone."""
    by: By
    """The author."""
    turn_id: str | None
    """The author's turn."""
    command_id: str | None
    """The author's command."""
    edit_id: str | None
    """Of an edit through the daemon: its id in the history."""
    set_id: str | None
    """Of an edit that is a part of a change set: the id of the set."""
    during: tuple[str, ...]
    """The turns that were open then, of all sessions."""
    added: int
    """Lines."""
    removed: int
    """Lines."""
    content: ContentKind
    """Whether the contents are kept, or why not; `gone`: removed by the limits of the record."""
    gap: GapKind | None
    """`baseline`: the content before is not known. `away`: made while no daemon recorded."""
    found: Found
    """By an event, or by comparing files."""
    evidence: Evidence
    """Why `by` is believed."""
    settled: bool
    """False while `by` may still change."""
    moved_from: str | None
    """The path before, if the file was renamed."""
    moved_to: str | None
    """The path after, if the file was renamed."""
    undoable: bool
    """It is in force, and both contents are known."""
    undone_by: str | None
    """The entry that undid this one."""
    undoes: tuple[str, ...]
    """The entries that this one undid."""
    rewind_id: str | None
    """Of the rewind that made it."""
    kept: bool
    """Whether a person has accepted the change."""


class LogResult(msgspec.Struct, frozen=True, kw_only=True):
    """Entries of the record."""

    entries: list[RecordEntry]
    """The newest first."""
    more: bool
    """Whether there are older ones."""


class EntryResult(msgspec.Struct, frozen=True, kw_only=True):
    """An entry, and what it changed."""

    entry: RecordEntry
    """The entry."""
    diff: str
    """Unified."""
    before_text: str | None
    """Null over 1 MB, or if it is not kept."""
    after_text: str | None
    """As `before_text`."""


class RecordStatusResult(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded folders."""

    folders: list[RecordedFolder]
    """None in a private daemon."""


class DidRecordParams(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Entries that were added, or changed their author."""

    entries: list[RecordEntry]
    """The oldest first."""
    n_more: int = 0
    """How many entries are not listed."""


def log_query(params: LogParams, *, session_id: SessionName | None) -> LogQuery:
    """Args: session_id: the full name."""
    return LogQuery(
        session_id=session_id,
        turn_id=params.turn_id,
        command_id=params.command_id,
        by=params.by,
        since=params.since,
        before=params.before,
        limit=min(params.limit or DEFAULT_ENTRIES, MAX_ENTRIES),
    )


def entry_view(entry: Entry) -> RecordEntry:
    fields = {name: getattr(entry, name) for name in RecordEntry.__struct_fields__ if name != "undoable"}
    return RecordEntry(**fields, undoable=entry.is_undoable)


def did_record(entries: Iterable[Entry], n_more: int) -> DidRecordParams:
    return DidRecordParams(entries=list(map(entry_view, entries)), n_more=n_more)


def log_result(entries: Iterable[Entry], *, more: bool) -> LogResult:
    return LogResult(entries=list(map(entry_view, entries)), more=more)
