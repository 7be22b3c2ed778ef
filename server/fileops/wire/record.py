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
    """Which entries to list. root, file_path: absolute. since: seconds since the epoch. before: an entry id."""

    root: str | None = None
    file_path: str | None = None
    session_id: str | None = None
    turn_id: str | None = None
    command_id: str | None = None
    by: ByKind | None = None
    since: float | None = None
    limit: AtLeastOne | None = None
    before: str | None = None


class EntryParams(Params, frozen=True, kw_only=True):
    entry_id: str


class RecordStatusParams(Params, frozen=True, kw_only=True):
    root: str | None = None


class RecordEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One change of one file. time: seconds since the epoch. undoable: it is in force, and both contents are known."""

    entry_id: str
    time: float
    path: str
    kind: EntryKind
    by: By
    turn_id: str | None
    command_id: str | None
    edit_id: str | None
    during: tuple[str, ...]
    added: int
    removed: int
    content: ContentKind
    gap: GapKind | None
    found: Found
    evidence: Evidence
    settled: bool
    moved_from: str | None
    moved_to: str | None
    undoable: bool
    undone_by: str | None
    undoes: tuple[str, ...]
    rewind_id: str | None
    kept: bool


class LogResult(msgspec.Struct, frozen=True, kw_only=True):
    entries: list[RecordEntry]
    more: bool


class EntryResult(msgspec.Struct, frozen=True, kw_only=True):
    """An entry with its change. before_text, after_text: None over 1 MB, or where the content is not kept."""

    entry: RecordEntry
    diff: str
    before_text: str | None
    after_text: str | None


class RecordStatusResult(msgspec.Struct, frozen=True, kw_only=True):
    folders: list[RecordedFolder]


class DidRecordParams(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was recorded or changed its author. n_more: entries that are not listed; ask `fileops/log` for them."""

    entries: list[RecordEntry]
    n_more: int = 0


def log_query(params: LogParams, *, session_id: SessionName | None) -> LogQuery:
    """Args: session_id: the full name."""
    return LogQuery(
        session_id=session_id, turn_id=params.turn_id, command_id=params.command_id, by=params.by,
        since=params.since, before=params.before, limit=min(params.limit or DEFAULT_ENTRIES, MAX_ENTRIES),
    )  # fmt: skip


def entry_view(entry: Entry) -> RecordEntry:
    fields = {name: getattr(entry, name) for name in RecordEntry.__struct_fields__ if name != "undoable"}
    return RecordEntry(**fields, undoable=entry.is_undoable)


def did_record(entries: Iterable[Entry], n_more: int) -> DidRecordParams:
    return DidRecordParams(entries=list(map(entry_view, entries)), n_more=n_more)


def log_result(entries: Iterable[Entry], *, more: bool) -> LogResult:
    return LogResult(entries=list(map(entry_view, entries)), more=more)
