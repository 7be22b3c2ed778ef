"""Finds what an id of the record stands for: an entry, a command, a turn or a rewind."""

from fileops.core.diff.entry_diffs import diff_of, diff_of_rename
from fileops.model.errors import UnknownTarget
from fileops.model.internal_errors import UnknownId
from fileops.model.record import ByUnsure, Contents, CountedTurn, Entry, LogQuery, session_of
from fileops.model.rewind import RecordItem
from fileops.model.sessions import SessionName
from fileops.ports import RecordedChanges
from fileops.service.rewind.renames import edited_lines_in, with_names_of_undos

MAX_ENTRIES = 1000  # per item


def item_of(store: RecordedChanges, beginning: str) -> RecordItem:
    """Return the item whose id has this prefix. Raises: UnknownTarget, unless there is exactly one."""
    try:
        whole = store.whole_id(beginning)
    except UnknownId as fault:
        why = f"{fault.n_found} ids begin with" if fault.n_found else "nothing has the id"
        raise UnknownTarget(explanation=f"{why} {beginning}") from None
    entry = store.entry(whole)
    if entry is not None:
        (entry,) = with_names_of_undos(store, [entry])
        edited = edited_lines_in(store, [entry])
        return RecordItem(entries=(entry,), diff=_diff(store, [entry]), entry=entry, edited=edited)
    command, turn = store.command(whole), store.turn(whole)
    query = LogQuery(rewind_id=whole, limit=MAX_ENTRIES)
    if command is not None or turn is not None:
        query = LogQuery(command_id=whole if command else None, turn_id=whole if turn else None, limit=MAX_ENTRIES)
    found, is_truncated = store.entries(query)
    entries = with_names_of_undos(store, found)
    counted = None
    if turn is not None:
        counted = CountedTurn(
            turn=turn,
            n_entries=len(entries),
            n_files=len({entry.path for entry in entries}),
            n_undone=sum(entry.undone_by is not None for entry in entries),
            n_renames=sum(entry.moved_to is not None and entry.undone_by is None for entry in entries),
        )
    return RecordItem(
        entries=tuple(entries),
        diff=_diff(store, entries),
        command=command,
        turn=counted if command is None else None,
        rewind_id=whole if command is None and turn is None else None,
        edited=edited_lines_in(store, entries),
        truncated=is_truncated,
    )


def is_by(entry: Entry, session_id: SessionName | None) -> bool:
    """Return whether a session may have written the entry. Without a session, True."""
    if session_id is None or session_of(entry.by) == session_id:
        return True
    return isinstance(entry.by, ByUnsure) and any(session_of(by) == session_id for by in entry.by.candidates)


def _diff(store: RecordedChanges, entries: list[Entry]) -> str:
    """Return the diffs of the entries, oldest first. A rename of which both halves are among them has one diff."""
    departures = _departures(store, entries)
    gone = {departure.entry_id for departure in departures.values()}
    shown = (entry for entry in reversed(entries) if entry.entry_id not in gone)
    return "".join(_diff_of(store, entry, departures.get(entry.entry_id)) for entry in shown)


def _departures(store: RecordedChanges, entries: list[Entry]) -> dict[str, Entry]:
    """Return which of the entries removed the old names of renamed files, by the entries that made the new ones."""
    ids = {entry.entry_id for entry in entries}
    made = [entry for entry in entries if entry.kind == "create" and entry.moved_from is not None]
    halves = {entry.entry_id: store.other_half(entry) for entry in made}
    return {entry_id: half for entry_id, half in halves.items() if half is not None and half.entry_id in ids}


def _diff_of(store: RecordedChanges, entry: Entry, departure: Entry | None) -> str:
    contents = store.contents(entry)
    if departure is None:
        return diff_of(entry, contents)
    return diff_of_rename(departure, entry, Contents(store.contents(departure).before, contents.after))
