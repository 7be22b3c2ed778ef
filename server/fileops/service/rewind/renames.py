"""Renames that a rewind undoes. Runs in worker threads.

A rename is recorded as a deletion and a creation. Suppose only one is undone. The first name would get the text from
before the rename; if others have changed the file since, it would also stay under its second name, so its text would
exist twice. Or another file may have the first name by now; then the text would be gone. So either both halves are
undone, or neither is.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fileops.core.diff.entry_diffs import count_lines
from fileops.model.record import EditedLines, Entry
from fileops.model.rewind import RewindFileOutcome
from fileops.ports import RecordedChanges
from fileops.service.rewind.files import is_usable


class Rename(Struct, frozen=True, kw_only=True):
    """Both halves of a rename. old_path, new_path: where the files of the halves are now."""

    departure: Entry
    arrival: Entry
    old_path: str
    new_path: str

    @property
    def halves(self) -> tuple[Entry, Entry]:
        return self.departure, self.arrival

    @property
    def is_alone(self) -> bool:
        """Return whether it changed only the name, and the first name still belongs to its folder's file."""
        is_same_file = all(map(is_usable, self.halves)) and self.departure.before == self.arrival.after
        return is_same_file and self.departure.path == self.old_path != self.new_path


def renames_of(store: RecordedChanges, groups: Mapping[str, Sequence[Entry]]) -> list[Rename]:
    """Return the renames with both halves among these entries, which are grouped by their file's current path."""
    arrivals = {
        (_other_name(store, entry), entry.path): (path, entry)
        for path, entries in groups.items()
        for entry in entries
        if entry.kind == "create"
    }
    renames: list[Rename] = []
    for old_path, entries in groups.items():
        for entry in entries:
            found = arrivals.get((entry.path, _other_name(store, entry) or "")) if entry.kind == "delete" else None
            if found is not None:
                renames.append(Rename(departure=entry, arrival=found[1], old_path=old_path, new_path=found[0]))
    return renames


def with_other_names(store: RecordedChanges, files: Sequence[RewindFileOutcome]) -> tuple[RewindFileOutcome, ...]:
    """Return the files of a rewind, those that it renames with their other names."""
    removed = {entry_id: file.file_path for file in files if file.outcome == "removed" for entry_id in file.entries}

    def other_name(file: RewindFileOutcome) -> str | None:
        if file.outcome != "created" or not removed:
            return None
        entries = (store.entry(entry_id) for entry_id in file.entries)
        halves = (store.other_half(entry) for entry in entries if entry is not None and entry.kind == "delete")
        return next((removed[half.entry_id] for half in halves if half is not None and half.entry_id in removed), None)

    return tuple(replace(file, moved_from=other_name(file)) for file in files)


def with_names_of_undos(store: RecordedChanges, entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries, those of undone renames with their other names, too. The record does not have these."""

    def with_name(entry: Entry) -> Entry:
        is_half = bool(entry.undoes) and entry.kind in {"create", "delete"}
        if not is_half or entry.moved_from is not None or entry.moved_to is not None:
            return entry
        other = store.other_half(entry)
        if other is None:
            return entry
        return replace(entry, moved_from=other.path) if entry.kind == "create" else replace(entry, moved_to=other.path)

    return [with_name(entry) for entry in entries]


def edited_lines_in(store: RecordedChanges, entries: Iterable[Entry]) -> dict[str, EditedLines]:
    """Return how files were changed by their renames, by the entries that made the new names."""
    found = ((entry.entry_id, _edited_lines_of(store, entry)) for entry in entries)
    return {entry_id: edited for entry_id, edited in found if edited is not None}


def _edited_lines_of(store: RecordedChanges, arrival: Entry) -> EditedLines | None:
    """Return None for other entries, or if a content is not known."""
    if arrival.kind != "create" or arrival.moved_from is None:
        return None
    departure = store.other_half(replace(arrival, moved_from=None) if arrival.undoes else arrival)  # as it is recorded
    if departure is None or not all(map(is_usable, (departure, arrival))):
        return None
    if departure.before == arrival.after:
        return EditedLines(added=0, removed=0)
    before, after = store.contents(departure).before, store.contents(arrival).after
    if before is None or after is None:
        return None
    added, removed = count_lines(before, after)
    return EditedLines(added=added, removed=removed)


def _other_name(store: RecordedChanges, entry: Entry) -> str | None:
    """Return the other name of a rename that this entry is half of. Undoing a rename is also a rename."""
    name = entry.moved_to if entry.kind == "delete" else entry.moved_from
    undone = (store.entry(entry_id) for entry_id in entry.undoes)
    halves = (half for half in undone if half is not None and half.path == entry.path and half.kind != entry.kind)
    return name or next((of_half for half in halves if (of_half := _other_name(store, half)) is not None), None)
