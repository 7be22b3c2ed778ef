"""The rewind of one file, planned from the record and the file's current content. Runs in worker threads."""

from collections.abc import Collection, Mapping, Sequence, Set

from msgspec import Struct
from msgspec.structs import replace

from fileops.core import text
from fileops.core.merge.authorship import ChangedPlace, find_changed_places, without_places
from fileops.core.merge.undo import MAX_COMPARED_BYTES
from fileops.core.story.memory import FileMemory
from fileops.model.edits import LineRange, Splice
from fileops.model.errors import BinaryFile
from fileops.model.files import Snapshot
from fileops.model.history import AppliedEdit
from fileops.model.record import By, Entry, FileVersion, is_by_agent
from fileops.model.rewind import FileStep, LeftReason, RewindConflict
from fileops.ports import RecordedChanges
from fileops.record.history import Look
from fileops.service.rewind.answers import FileHistory, find_rewind
from fileops.service.rewind.lineage import Lineages, follows_others

_TICK_S = 0.01  # the kernel's stamps have the time of its last tick
TOO_LONG = f"The file is too long now to be compared: more than {MAX_COMPARED_BYTES >> 20} MB."


class FileRewind(Struct, frozen=True, kw_only=True):
    """The plan for one file.

    content: None if no file remains. splices: over the current content; None if they still have to be found. undone:
    entries that are undone completely, newest first. partly: those that are undone only in some places. authors: of
    each entry, or of each single change, that is undone.
    """

    path: str
    content: bytes | None
    undone: tuple[Entry, ...]
    authors: tuple[By, ...]
    conflicts: tuple[RewindConflict, ...]
    partly: tuple[Entry, ...] = ()
    splices: tuple[Splice, ...] | None = None


class Overwritten(Struct, frozen=True):
    """The newest entries of a file, oldest first, and the text that they replaced by a content that is not kept."""

    entries: tuple[Entry, ...]
    text: bytes


def rewind_of_file(
    look: Look, path: str, chosen: Sequence[Entry], snapshot: Snapshot, lineages: Lineages | None = None
) -> FileRewind:
    """Plan the rewind of the chosen entries, newest first, of the file that is now at a path. Raises: BinaryFile.

    Args: lineages: follow the renames by others, and may have read the entries of the file already.
    """
    present = snapshot.data if snapshot.exists else None
    lineage = (lineages or Lineages(look.store, follows_others(chosen))).of(path)
    edits = look.edits_of_entries(chosen)
    overwritten = find_overwritten(look.store, lineage, {entry.entry_id for entry in chosen}, snapshot)
    replacing = () if overwritten is None else tuple(entry.entry_id for entry in overwritten.entries)
    usable = {
        entry.entry_id: entry
        for entry in chosen
        if is_usable(entry) or entry.edit_id in edits or entry.entry_id in replacing
    }
    conflicts = unknown_of(path, [entry for entry in chosen if entry.entry_id not in usable])
    if not usable:
        return FileRewind(path=path, content=present, undone=(), authors=(), conflicts=tuple(conflicts))
    if overwritten is None and present is not None and text.is_binary(present, text.detect_format(present)):
        raise BinaryFile
    history = lineage[next((n for n, entry in enumerate(lineage) if entry.entry_id in usable), len(lineage)) :]
    of_text = [entry for entry in history if entry.entry_id not in replacing]
    steps = steps_of(of_text, look.edits_of_entries(of_text))
    if overwritten is not None:
        steps.append(_step_of_overwritten(overwritten, snapshot))
    known = {step.step_id for step in steps}
    told = make_history(path, steps, history, usable.keys())
    if overwritten is None and are_all_kept(history):
        rewound = find_rewind(look.store, told, known & usable.keys(), present, look.contents())
    else:
        rewound = told.rewound(known & usable.keys(), present, look.contents())
    without_effect = {entry_id for entry_id, entry in usable.items() if _is_same(entry) or entry_id in replacing[1:]}
    undone = {*rewound.undone, *without_effect}
    if overwritten is not None and present is not None and rewound.content is not None:
        rewound = replace(rewound, splices=(Splice(0, len(present), rewound.content),))
    left = dict[LeftReason, dict[str, list[LineRange]]]()
    is_long = is_too_long(present)
    changed_again: LeftReason = "refused" if is_long else "overlaps"
    for place in rewound.left:
        reason: LeftReason = "recreated" if place.is_recreated else changed_again
        left.setdefault(reason, {}).setdefault(place.entry_id, []).extend(() if is_long else place.ranges)
    for entry_id in usable.keys() - known - without_effect:
        left.setdefault(changed_again, {}).setdefault(entry_id, [])
    conflicts += [
        RewindConflict(
            file_path=path,
            entries=tuple(entry_id for entry_id in usable if entry_id in ranges),
            reason=reason,
            ranges=_join_ranges([line_range for of_entry in ranges.values() for line_range in of_entry]),
            by=_later_authors(history, ranges, usable),
            message=TOO_LONG if reason == "refused" else None,
        )
        for reason, ranges in left.items()
    ]
    undone_entries = tuple(entry for entry_id, entry in usable.items() if entry_id in undone)
    return FileRewind(
        path=path,
        content=rewound.content,
        splices=rewound.splices,
        undone=undone_entries,
        authors=tuple(entry.by for entry in undone_entries),
        conflicts=tuple(conflicts),
        partly=tuple(entry for entry_id, entry in usable.items() if entry_id in rewound.partly),
    )


def without_decided(
    rewind: FileRewind, snapshot: Snapshot, decided: Sequence[ChangedPlace], partly: Collection[str]
) -> FileRewind:
    """Return a rewind that leaves the places that are decided.

    Args: partly: the entries that have such places, and others. They are then undone in part.
    """
    if not snapshot.exists:
        return rewind
    open_places = [
        place
        for place in find_changed_places(rewind.content or b"", snapshot.data)
        if not any(_meets(place, other) for other in decided)
    ]
    return replace(
        rewind,
        content=without_places(snapshot.data, open_places),
        splices=None,
        undone=tuple(entry for entry in rewind.undone if entry.entry_id not in partly),
        partly=(*rewind.partly, *(entry for entry in rewind.undone if entry.entry_id in partly)),
    )


def _meets(place: ChangedPlace, other: ChangedPlace) -> bool:
    """Return whether two places of one content share a line, or are at the same point of it."""
    if place.start == place.end or other.start == other.end:
        return place.start <= other.end and other.start <= place.end
    return place.start < other.end and other.start < place.end


def is_too_long(present: bytes | None) -> bool:
    """Return whether the present content is too long to be compared with what was recorded."""
    return present is not None and len(present) > MAX_COMPARED_BYTES


def is_usable(entry: Entry) -> bool:
    """Return whether a rewind can undo the entry."""
    return entry.content == "kept" and entry.gap != "baseline"


def has_text(entry: Entry) -> bool:
    """Return whether the record has the text of the entry's change."""
    return is_usable(entry) and entry.kind != "mode"


def may_have_text(entry: Entry) -> bool:
    """Return whether a rewind may undo the entry: it has its contents, the text before it, or an edit's splices."""
    return is_usable(entry) or entry.edit_id is not None or _digest_of(entry.before) is not None


def find_overwritten(
    store: RecordedChanges, lineage: Sequence[Entry], chosen: Collection[str], snapshot: Snapshot
) -> Overwritten | None:
    """Return the text that the newest entries of a file replaced by a content that is not kept.

    None unless all of them are chosen, and the file still has what they left: a write that is not recorded yet changes
    the time in its stamp, which no program can set.
    """
    stamp = snapshot.stamp
    if not lineage or is_usable(lineage[-1]) or stamp is None or snapshot.source != "disk":
        return None
    if stamp.ctime_ns / 1e9 > lineage[-1].time + _TICK_S:
        return None
    for first in range(len(lineage) - 1, -1, -1):
        entry = lineage[first]
        if entry.entry_id not in chosen or entry.content not in {"binary", "too_large"} or entry.kind != "modify":
            return None
        if entry.before is not None and entry.before.digest is not None:
            content = store.content(entry.before.digest)
            return None if content is None else Overwritten(tuple(lineage[first:]), content)
    return None


def _step_of_overwritten(overwritten: Overwritten, snapshot: Snapshot) -> FileStep:
    first = overwritten.entries[0]
    reverse = (Splice(0, len(snapshot.data), overwritten.text),)
    return FileStep(first.entry_id, _digest_of(first.before), snapshot.digest, reverse)


def is_of_mode(entry: Entry) -> bool:
    """Return whether the entry changed only the executable bit, and a rewind can undo it."""
    return is_usable(entry) and entry.kind == "mode"


def executable_bit_without(history: Sequence[Entry], undone: Collection[str]) -> bool | None:
    """Return whether the file would be executable without some of its entries; None if they did not change that.

    history: all entries of the file, oldest first. If others set the bit after the oldest undone entry, their value
    counts, even if it is the same as that of the undone entries.
    """
    history = history[next((n for n, entry in enumerate(history) if entry.entry_id in undone), len(history)) :]
    first = history[0].before if history else None
    bit = None if first is None else first.is_executable
    is_changed, without_effect = False, _find_undone_and_undos(history)
    for entry in history:
        before, after = entry.before, entry.after
        if before is not None and after is not None and before.is_executable == after.is_executable:
            continue
        if entry.entry_id in undone:
            is_changed = True
        elif entry.entry_id not in without_effect:
            bit = None if after is None else after.is_executable
    return bit if is_changed else None


def _find_undone_and_undos(history: Sequence[Entry]) -> set[str]:
    """Return the undone entries, and the undos that undid nothing before this history.

    A rewind that was redone is no longer an undo, because it is itself undone.
    """
    undone_by = {entry.entry_id: entry.undone_by for entry in history}
    undos = [entry for entry in history if entry.undoes]
    pairs = (undo for undo in undos if all(undone_by.get(undone) == undo.entry_id for undone in undo.undoes))
    return {entry_id for undo in pairs for entry_id in (undo.entry_id, *undo.undoes)}


def _is_same(entry: Entry) -> bool:
    """Return whether the entry only records an undo, without a change of the content."""
    before, after = entry.before, entry.after
    return before is not None and after is not None and before.digest is not None and before.digest == after.digest


def unknown_of(path: str, chosen: Sequence[Entry]) -> list[RewindConflict]:
    """Return the entries that cannot be undone because a content is unknown."""
    unknown: dict[tuple[LeftReason, str | None], list[str]] = {}
    for entry in chosen:
        if is_usable(entry):
            continue
        because: tuple[LeftReason, str | None] = ("not_kept", None)
        if entry.gap == "baseline":
            because = "unknown_before", None
        elif entry.content == "link":
            because = "refused", "A link is or was in its place."
        unknown.setdefault(because, []).append(entry.entry_id)
    return [
        RewindConflict(file_path=path, entries=tuple(ids), reason=reason, message=message)
        for (reason, message), ids in unknown.items()
    ]


def steps_of(
    history: Sequence[Entry], edits: Mapping[str, AppliedEdit] | None = None, *, all_undos: bool = False
) -> list[FileStep]:
    """Return the changes of the file whose contents are known, oldest first.

    Args: edits: by id, for their splices. all_undos: include undos of text that was no longer there.
    """
    steps: list[FileStep] = []
    for entry in history:
        edit = None if edits is None else edits.get(entry.edit_id or "")
        if edit is not None and edit.renamed_from is None:
            if edit.before != edit.after:
                steps.append(_step_of(entry, edit))
        elif entry.kind != "mode" and entry.content == "kept" and (not _is_same(entry) or (all_undos and entry.undoes)):
            may_format = entry.edit_id is None and not entry.is_undo and not is_by_agent(entry.by)
            before, after = _digest_of(entry.before), _digest_of(entry.after)
            if steps and before == steps[-1].after:
                before = steps[-1].after  # so a content has one digest in memory, if its steps are remembered
            steps.append(FileStep(entry.entry_id, before, after, may_format=may_format))
    return steps


def steps_with_renames(
    history: Sequence[Entry],
    store: RecordedChanges,
    edits: Mapping[str, AppliedEdit] | None = None,
    *,
    all_undos: bool = False,
) -> list[FileStep]:
    """Return the changes of the file under all its names, oldest first; of a rename, its change of the text.

    history: includes the second halves of renames. edits, all_undos: see steps_of.
    """
    steps: list[FileStep] = []
    for entry in history:
        departure = store.other_half(entry) if entry.kind == "create" else None
        edit = None if edits is None else edits.get(entry.edit_id or "")
        # An undo that gives a file its name back is not a rename in the record. No entry before it here is of its file.
        is_first_name_again = (
            not steps and entry.kind == "create" and edit is not None and edit.renamed_from is not None
        )
        if edit is not None and (departure is not None or is_first_name_again):
            steps.append(_step_of(entry, edit))
        elif departure is not None and departure.before is not None and entry.content == "kept":
            steps.append(FileStep(entry.entry_id, departure.before.digest, _digest_of(entry.after)))
        else:
            steps += steps_of([entry], edits, all_undos=all_undos)
    return [step for step in steps if step.before != step.after or (all_undos and step.before is not None)]


def _step_of(entry: Entry, edit: AppliedEdit) -> FileStep:
    return FileStep(entry.entry_id, edit.before, edit.after, edit.reverse)


def _digest_of(version: FileVersion | None) -> bytes | None:
    return None if version is None else version.digest


def find_cancelled(history: Sequence[Entry], chosen: Set[str]) -> set[str]:
    """Return the undos of chosen entries that were redone, with their redos, unless one is chosen itself.

    Together they change nothing. That does not hold if another change, such as git's, took back one of the two; then
    the other one would be undone alone. So undos of entries that are not chosen count as changes of others.

    An undo and the entries that it undid do not count, because the undo may also have undone parts of other entries.
    Nor do an undo and its redo if what they undid and redid was undone again later, which would then be without effect;
    or if one of them had no effect, because then it was another change that took back the other one's.
    """
    by_id = {entry.entry_id: entry for entry in history}

    def is_undone(entry_id: str) -> bool:
        return entry_id in by_id and by_id[entry_id].undone_by in by_id

    return {
        entry_id
        for entry in history
        if entry.undone_by in by_id and entry.is_undo and not chosen.isdisjoint(entry.undoes)
        if chosen.isdisjoint({entry.entry_id, entry.undone_by})
        if not any(map(is_undone, entry.undoes)) and _is_same(entry) == _is_same(by_id[entry.undone_by])
        for entry_id in (entry.entry_id, entry.undone_by)
    }


def make_history(
    path: str,
    steps: Sequence[FileStep],
    history: Sequence[Entry],
    chosen: Set[str],
    memory: FileMemory | None = None,
) -> FileHistory:
    """Return what a rewind of the chosen entries is computed from. Args: history: from the oldest chosen one on."""
    return FileHistory(
        path=path,
        steps=steps,
        cancelled=find_cancelled(history, chosen),
        undoes=find_undone(history),
        tool_edits=tool_edits_of(history),
        oldest=min((entry.time for entry in history), default=0.0),
        memory=memory,
    )


def are_all_kept(history: Sequence[Entry]) -> bool:
    """Return whether the record has all contents of these entries, so that it may keep an answer with their text."""
    return all(entry.content == "kept" for entry in history)


def tool_edits_of(entries: Sequence[Entry]) -> set[str]:
    """Return the edits through the daemon: what they inserted is their own, even if the same text was there before."""
    return {entry.entry_id for entry in entries if entry.edit_id is not None and not entry.is_undo}


def find_carried(entries: Sequence[Entry]) -> set[str]:
    """Return the entries in which git brought text. If no known content has the text, it belongs to nobody."""
    return {entry.entry_id for entry in entries if entry.is_carried}


def find_undone(entries: Sequence[Entry]) -> dict[str, Collection[str]]:
    """Return the entries that each undo undid; none if it is partial."""
    return {entry.entry_id: entry.undoes for entry in entries if entry.is_undo}


def _later_authors(history: Sequence[Entry], left: Collection[str], chosen: Collection[str]) -> tuple[By, ...]:
    """Return the authors of later changes to the file, newest first, each once."""
    authors: list[By] = []
    first = next((n for n, entry in enumerate(history) if entry.entry_id in left), len(history))
    for entry in reversed(history[first:]):
        if entry.entry_id not in chosen and entry.undone_by is None and entry.by not in authors:
            authors.append(entry.by)
    return tuple(authors)


def _join_ranges(ranges: Sequence[LineRange]) -> tuple[LineRange, ...]:
    """Return the ranges from top to bottom. Ranges that touch or share a line become one."""
    joined: list[LineRange] = []
    for line_range in sorted(ranges, key=lambda line_range: line_range.start_line):
        if joined and line_range.start_line <= joined[-1].end_line + 1:
            end_line = max(joined[-1].end_line, line_range.end_line)
            joined[-1] = LineRange(start_line=joined[-1].start_line, end_line=end_line)
        else:
            joined.append(line_range)
    return tuple(joined)
