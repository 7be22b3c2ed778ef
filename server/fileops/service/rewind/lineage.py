"""A file of the record under all its names. Runs in worker threads.

Entries belong to a path. A rename is a deletion and a creation that name each other. The entries before it, under the
removed name, and those after it, under the new name, belong to one file.
"""

from collections.abc import Callable, Collection, Iterable, Iterator

from fileops.model.history import AppliedEdit
from fileops.model.record import Entry, LogQuery
from fileops.ports import RecordedChanges

MAX_RENAMES = 1000  # followed per file; more only in a circle, which a damaged record could have


class Lineages:
    """Reads each path once, so it serves a single query of the record.

    follows: whether a rename, given one of its halves, only changed the file's name.
    """

    def __init__(self, store: RecordedChanges, follows: Callable[[Entry], bool]) -> None:
        self._store, self._follows = store, follows
        self._entries: dict[str, list[Entry]] = {}
        self._departures: dict[str, list[tuple[int, Entry]]] = {}
        self._places: dict[str, dict[str, int]] = {}

    def following(self, follows: Callable[[Entry], bool]) -> "Lineages":
        """Return lineages that follow other renames in the entries that these have read."""
        others = Lineages(self._store, follows)
        others._entries, others._places = self._entries, self._places
        return others

    def of(self, path: str, *, has_arrivals: bool = False) -> list[Entry]:
        """Return the entries of the file that is now at a path, oldest first, including those under earlier names.

        Args: has_arrivals: include the second halves of the renames between these names.
        """
        found: list[Entry] = []
        entries, taken_back = self.entries_at(path), tuple[str, ...]()
        for _ in range(MAX_RENAMES):
            created = [n for n, entry in enumerate(entries) if entry.kind == "create"]
            moved = next((n for n in reversed(created) if self._arrives(entries[n], taken_back)), None)
            if moved is None:
                break
            found = entries[moved if has_arrivals else moved + 1 :] + found
            departure = self._store.other_half(entries[moved])
            entries = [] if departure is None else self._entries_until(departure)
            # Before an undo gave the file its name back, it had the one that the undone rename gave to it.
            taken_back = () if departure is None else departure.undoes
        return entries + found

    def present_path(self, entry: Entry) -> str:
        """Return where an entry's file is now."""
        for _ in range(MAX_RENAMES):
            departures = self._departures_at(entry.path)
            if not departures:
                break
            place = self._place_of(entry)
            move = next((departure for at, departure in departures if at > place), None)
            created = None if move is None else self._store.other_half(move)
            if created is None:  # it is here still, or it was removed at once, like an editor's backup
                break
            entry = created
        return entry.path

    def present_path_of_edit(self, edit: AppliedEdit) -> str:
        """Return where an edit's file is now; the path of the edit if the record does not know."""
        if edit.kind == "delete" or not self._departures_at(edit.path):
            return edit.path
        entries = (entry for entry in self.entries_at(edit.path) if entry.edit_id == edit.edit_id)
        entry = next((entry for entry in entries if entry.kind != "delete"), None)
        if entry is None:
            return edit.path
        path = self.present_path(entry)
        lineage = self.of(path, has_arrivals=True)
        known = next((n for n, known in enumerate(lineage) if known.entry_id == entry.entry_id), None)
        # Otherwise the file was removed, and another was created under its name or a later one.
        is_same_file = known is not None and not any(map(_is_new_file, lineage[known + 1 :]))
        return path if is_same_file else edit.path

    def _arrives(self, created: Entry, taken_back: Collection[str]) -> bool:
        return (created.entry_id in taken_back or self._is_followed(created)) and self._is_half(created)

    def has_left(self, entry: Entry) -> bool:
        """Return whether the entry only gave its file another name."""
        return entry.kind == "delete" and self._is_followed(entry) and self._is_half(entry)

    def _is_followed(self, entry: Entry) -> bool:
        """Return whether the entry is followed, and so is what it redoes: both gave the file the same name."""
        return self._follows(entry) and all(map(self._is_followed, self._find_redone(entry)))

    def _find_redone(self, entry: Entry) -> Iterator[Entry]:
        for undo in filter(None, map(self._store.entry, entry.undoes)):
            if undo.path == entry.path and undo.kind != entry.kind:
                undone = filter(None, map(self._store.entry, undo.undoes))
                yield from (each for each in undone if (each.path, each.kind) == (entry.path, entry.kind))

    def _is_half(self, entry: Entry) -> bool:
        """Return whether the entry is half of a rename, or of the undo of one."""
        is_named = entry.moved_from is not None or entry.moved_to is not None
        return is_named or (bool(entry.undoes) and self._store.other_half(entry) is not None)

    def _departures_at(self, path: str) -> list[tuple[int, Entry]]:
        """Return the entries by which a file has left a path, oldest first, and where they are among its entries."""
        if path not in self._departures:
            entries = self.entries_at(path) if self._store.was_removed(path) else ()
            self._departures[path] = [(at, entry) for at, entry in enumerate(entries) if self.has_left(entry)]
        return self._departures[path]

    def _place_of(self, entry: Entry) -> int:
        """Return where an entry is among those of its path; after the last one if it is not there."""
        if entry.path not in self._places:
            entries = self.entries_at(entry.path)
            self._places[entry.path] = {known.entry_id: at for at, known in enumerate(entries)}
        return self._places[entry.path].get(entry.entry_id, len(self.entries_at(entry.path)))

    def _entries_until(self, entry: Entry) -> list[Entry]:
        """Return the entries of the entry's path before it, oldest first."""
        return self.entries_at(entry.path)[: self._place_of(entry)]

    def entries_at(self, path: str) -> list[Entry]:
        """Return all entries of a path, oldest first."""
        if path not in self._entries:
            entries, _ = self._store.entries(LogQuery(path=path), is_file=True)
            self._entries[path] = entries[::-1]
        return self._entries[path]


def follows_others(chosen: Iterable[Entry]) -> Callable[[Entry], bool]:
    """For a rewind: follow each rename in force, except those that the rewind undoes."""
    ids = {entry.entry_id for entry in chosen}
    return lambda entry: entry.undone_by is None and entry.entry_id not in ids


def follows_all(entry: Entry) -> bool:
    """For an undo: follow each rename in force."""
    return entry.undone_by is None


def _is_new_file(entry: Entry) -> bool:
    return entry.kind == "create" and entry.moved_from is None and not entry.is_undo
