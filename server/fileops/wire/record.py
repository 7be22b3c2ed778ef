"""Wire types of the record: fileops/log, fileops/entry, fileops/recordStatus and fileops/didRecord."""

from collections.abc import Iterable, Mapping

import msgspec

from fileops.model.notebooks import CellPlace, Compared, OtherChange, place_of
from fileops.model.record import (
    By,
    ByKind,
    ContentKind,
    EditedLines,
    Entry,
    EntryKind,
    Evidence,
    Found,
    GapKind,
    LogQuery,
    RecordedFolder,
)
from fileops.model.sessions import SessionName
from fileops.wire.types import AtLeastOne, CellUiExtra, Params

MAX_ENTRIES = 1000
DEFAULT_ENTRIES = 100


class LogParams(Params, frozen=True, kw_only=True):
    """Which entries to list."""

    root: str | None = None
    """Absolute path: only changes in this folder."""
    file_path: str | None = None
    """Absolute path of a file or folder. `root` is then ignored."""
    session_id: str | None = None
    """Only changes by this session and its commands."""
    turn_id: str | None = None
    """Only changes in this turn."""
    command_id: str | None = None
    """Only changes by this command."""
    by: ByKind | None = None
    """Only changes by this kind of author."""
    since: float | None = None
    """Only changes since then, in seconds since the epoch."""
    limit: AtLeastOne | None = None
    """How many entries at most: 100 by default, and no more than 1,000."""
    before: str | None = None
    """An entry id: only older entries."""


class EntryParams(Params, frozen=True, kw_only=True):
    """Asks for an entry."""

    entry_id: str
    """The complete id of the entry."""


class RecordStatusParams(Params, frozen=True, kw_only=True):
    """Asks how far the recording is."""

    root: str | None = None
    """Absolute path: only the recorded folder that contains it."""


class RecordEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One change of one file."""

    entry_id: str
    """Unique in the record."""
    time: float
    """Time of the change, in seconds since the epoch."""
    path: str
    """Canonical path of the file."""
    kind: EntryKind
    """What happened. `mode`: only the executable bit changed."""
    by: By
    """The author."""
    turn_id: str | None
    """The turn of the author."""
    command_id: str | None
    """The command of the author."""
    edit_id: str | None
    """For an edit through the daemon: its id in the history."""
    set_id: str | None
    """For an edit of a change set: the id of the set."""
    during: tuple[str, ...]
    """The turns of all sessions that were open at that time."""
    added: int
    """How many lines were added."""
    removed: int
    """How many lines were removed."""
    content: ContentKind
    """Whether the contents are kept, or why not; `gone`: deleted because of the record's limits."""
    gap: GapKind | None
    """`baseline`: the content before is unknown. `away`: the change was made while no daemon recorded."""
    found: Found
    """How it was found: by an event, or by comparing files."""
    evidence: Evidence
    """The evidence for `by`."""
    settled: bool
    """False while `by` may still change."""
    moved_from: str | None
    """If the file was renamed: the path before."""
    moved_to: str | None
    """If the file was renamed: the path after."""
    undoable: bool
    """Whether it is in force and both contents are known."""
    undone_by: str | None
    """The entry that undid this one."""
    undoes: tuple[str, ...]
    """The entries that this one undid."""
    rewind_id: str | None
    """The rewind that made it."""
    kept: bool
    """Whether a person has accepted the change."""
    cells: list[CellPlace] | msgspec.UnsetType = msgspec.UNSET
    """In `fileops/log` and `fileops/entry`, for a notebook before and after: the cells that differ."""
    other_change: OtherChange | msgspec.UnsetType = msgspec.UNSET
    """There, for a notebook whose cells have the same sources, types and order: what differs."""
    edited: EditedLines | msgspec.UnsetType = msgspec.UNSET
    """In `fileops/log` and `fileops/recordItem`, with `moved_from`: how it differs from the text under the old name."""


class LogResult(msgspec.Struct, frozen=True, kw_only=True):
    """Entries of the record."""

    entries: list[RecordEntry]
    """Newest first."""
    more: bool
    """Whether there are older ones."""


class EntryResult(msgspec.Struct, frozen=True, kw_only=True):
    """An entry, and what it changed."""

    entry: RecordEntry
    """The entry."""
    diff: str
    """Unified diff."""
    before_text: str | None
    """The text before; null over 1 MB, or if it is not kept."""
    after_text: str | None
    """The text after; null over 1 MB, or if it is not kept."""
    cells: list[CellUiExtra] | msgspec.UnsetType = msgspec.UNSET
    """For a notebook before and after: how its cells differ, to be shown instead of the diff."""
    other_change: OtherChange | msgspec.UnsetType = msgspec.UNSET
    """For a notebook whose cells have the same sources, types and order: what differs."""


class RecordStatusResult(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded folders."""

    folders: list[RecordedFolder]
    """The recorded folders; empty in a private daemon."""


class DidRecordParams(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Entries that were added, or whose author changed."""

    entries: list[RecordEntry]
    """Oldest first."""
    n_more: int = 0
    """How many further entries are not listed."""


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


_NOT_OF_ENTRY = {"undoable", "cells", "other_change", "edited"}


def entry_view(entry: Entry, compared: Compared = (), edited: EditedLines | None = None) -> RecordEntry:
    """Args: compared: how the cells of a notebook differ. edited: of a renamed file."""
    fields = {name: getattr(entry, name) for name in RecordEntry.__struct_fields__ if name not in _NOT_OF_ENTRY}
    has_cells = isinstance(compared, tuple)
    return RecordEntry(
        **fields,
        undoable=entry.is_undoable,
        cells=(list(map(place_of, compared)) or msgspec.UNSET) if has_cells else msgspec.UNSET,
        other_change=msgspec.UNSET if has_cells else compared,
        edited=msgspec.UNSET if edited is None else edited,
    )


def did_record(entries: Iterable[Entry], n_more: int) -> DidRecordParams:
    return DidRecordParams(entries=list(map(entry_view, entries)), n_more=n_more)


def log_result(
    entries: Iterable[Entry], compared: Mapping[str, Compared], edited: Mapping[str, EditedLines], *, more: bool
) -> LogResult:
    """Args: compared: of notebooks, by entry. edited: of renamed files, by entry."""
    views = (entry_view(each, compared.get(each.entry_id, ()), edited.get(each.entry_id)) for each in entries)
    return LogResult(entries=list(views), more=more)
