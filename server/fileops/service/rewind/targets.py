"""Finds the entries of the record that a rewind concerns. Runs in worker threads."""

from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec.structs import replace

from fileops.core.roots import is_inside
from fileops.model.errors import UnknownTarget
from fileops.model.record import By, ByCommand, ByUnsure, Entry, LogQuery, TurnRecord, session_of
from fileops.model.rewind import RewindRequest, RewindTarget
from fileops.model.sessions import SessionName
from fileops.ports import RecordedChanges
from fileops.service.rewind.lineage import Lineages, follows_others

MAX_LOOKED_AT = 1000  # entries, for the sessions that an error names
MAX_NAMED = 5

MayRewind = Callable[[Entry], bool]


def entries_of(store: RecordedChanges, request: RewindRequest, may_rewind: MayRewind) -> list[Entry]:
    """Return the entries in force that the request names, newest first. Raises: UnknownTarget."""
    found = list(_find_entries(store, request.target))
    if request.includes_unsure:
        found += unsure_entries(store, request.target)
    known = {entry.entry_id: entry for entry in found if may_rewind(entry)}
    if not known and any(map(may_rewind, unsure_entries(store, request.target))):
        raise UnknownTarget(explanation="all that it may have changed may be another author's")
    if not known:
        is_session = request.target.kind == "session_id"
        others = _list_known_sessions(store, may_rewind) if is_session else ""
        raise UnknownTarget(explanation=f"no {_NAMES[request.target.kind]} has this id, or it has no entries{others}")
    # An undo is undone only by its own id: an agent's own undo is not part of its turn.
    own_kinds = {"entry_id", "entry_ids", "rewind_id"}
    in_force = [
        entry
        for entry in known.values()
        if entry.undone_by is None and (request.target.kind in own_kinds or not entry.is_undo)
    ]
    if not in_force:
        raise UnknownTarget(explanation="all of it was undone before")
    inside = in_force
    if request.paths:
        lineages = Lineages(store, follows_others(in_force))
        inside = [entry for entry in in_force if _is_in(request.paths, entry.path, lineages.present_path(entry))]
    if not inside:
        raise UnknownTarget(explanation="it has no entries in these paths")
    recent = [entry for entry in inside if request.since is None or entry.time >= request.since]
    if not recent:
        raise UnknownTarget(explanation="it has no entries since then")
    return list(_with_whole_renames(store, recent, may_rewind))


def _list_known_sessions(store: RecordedChanges, may_rewind: MayRewind) -> str:
    """Return a clause that names the sessions with recent entries; "" if there are none."""
    entries, _ = store.entries(LogQuery(limit=MAX_LOOKED_AT))
    names = dict.fromkeys(
        f"{entry.by.label.partition(' · ')[0]} ({session})"
        for entry in entries
        if (session := session_of(entry.by)) is not None and may_rewind(entry)
    )
    return f"; sessions with entries are {', '.join(list(names)[:MAX_NAMED])}" if names else ""


def find_unsure(
    store: RecordedChanges, request: RewindRequest, may_rewind: MayRewind, chosen: Collection[Entry]
) -> list[Entry]:
    """Return entries that may also be the target's, but are left because that is not certain, newest first."""
    if request.includes_unsure:
        return []
    try:
        found = entries_of(store, replace(request, includes_unsure=True), may_rewind)
    except UnknownTarget:
        return []
    ids = {entry.entry_id for entry in chosen}
    return [entry for entry in found if entry.entry_id not in ids and isinstance(entry.by, ByUnsure)]


def _with_whole_renames(store: RecordedChanges, chosen: Sequence[Entry], may_rewind: MayRewind) -> Iterator[Entry]:
    """Yield these entries and the other halves of their renames: one half alone would duplicate or lose the text."""
    ids = {entry.entry_id for entry in chosen}
    for entry in chosen:
        yield entry
        other = store.other_half(entry)
        if other is not None and other.undone_by is None and other.entry_id not in ids and may_rewind(other):
            ids.add(other.entry_id)
            yield other


_NAMES = {
    "entry_id": "entry",
    "entry_ids": "entry",
    "command_id": "command",
    "turn_id": "turn",
    "since_turn": "turn",
    "all_since_turn": "turn",
    "session_id": "session",
    "rewind_id": "undo",
    "change_ids": "change",
}


_TURNS = {"turn_id", "since_turn", "all_since_turn"}


def _is_in(folders: Sequence[str], *paths: str) -> bool:
    return any(is_inside(folder, path) for folder in folders for path in paths)


def _find_entries(store: RecordedChanges, target: RewindTarget) -> Iterator[Entry]:
    """Yield the target's entries, including undone ones, newest first."""
    (wanted, *_) = target.ids
    match target.kind:
        case "entry_id":
            entry = store.entry(wanted) or store.entry_of_edit(wanted)
            if entry is not None:
                yield entry
        case "entry_ids":
            yield from (entry for entry in map(store.entry, target.ids) if entry is not None)
        case "command_id":
            yield from (
                entry for entry in _entries(store, LogQuery(command_id=wanted)) if isinstance(entry.by, ByCommand)
            )
        case "turn_id" | "since_turn" | "all_since_turn":
            for turn in _turns(store, target):
                entries = _entries(store, LogQuery(turn_id=turn.turn_id))
                yield from (entry for entry in entries if session_of(entry.by) == turn.session_id)
        case "session_id":
            yield from _entries(store, LogQuery(session_id=SessionName(wanted)))
        case "rewind_id":
            yield from _entries(store, LogQuery(rewind_id=wanted))
        case "change_ids":
            raise AssertionError("changes are places of the present content, and no entries")


def _entries(store: RecordedChanges, query: LogQuery) -> list[Entry]:
    entries, _ = store.entries(query)
    return entries


def _turns(store: RecordedChanges, target: RewindTarget) -> list[TurnRecord]:
    """Return the turn; or it and all later ones, of its session or of all sessions, newest first."""
    turn = store.turn(target.ids[0])
    if turn is None:
        return []
    if target.kind == "turn_id":
        return [turn]
    if target.kind == "all_since_turn":
        return [counted.turn for counted in store.turns() if counted.turn.began >= turn.began]
    later = [counted.turn for counted in store.turns(session_ids=(turn.session_id,))]
    ids = [later_turn.turn_id for later_turn in later]
    if turn.turn_id not in ids:  # from an earlier daemon, where the name meant another session
        return [turn]
    return later[: ids.index(turn.turn_id) + 1]


def unsure_entries(store: RecordedChanges, target: RewindTarget) -> Iterator[Entry]:
    """Yield the entries with several possible authors, of which the target is one."""
    turns = {turn.turn_id: turn for turn in _turns(store, target)} if target.kind in _TURNS else {}

    def may_be(entry: Entry, candidate: By) -> bool:
        match target.kind:
            case "command_id":
                return isinstance(candidate, ByCommand) and candidate.command_id == target.ids[0]
            case "session_id":
                return session_of(candidate) == target.ids[0]
            case _:
                open_turns = (turns[turn_id] for turn_id in entry.during if turn_id in turns)
                return any(turn.session_id == session_of(candidate) for turn in open_turns)

    for entry in _entries(store, LogQuery(by="unsure")):
        if isinstance(entry.by, ByUnsure) and any(may_be(entry, candidate) for candidate in entry.by.candidates):
            yield entry
