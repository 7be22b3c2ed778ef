"""The present content of files as the record explains it: who wrote its lines, and which changes are not kept yet.

Runs in worker threads.
"""

from collections.abc import Collection, Iterable, Sequence

import xxhash
from msgspec import Struct

from fileops.core import text
from fileops.core.merge.authorship import ChangedPlace, OwnedLines, own_places, owners_of_lines, without_places
from fileops.core.merge.rewind import rewind_file
from fileops.model.errors import FileMissing, FileOpsError
from fileops.model.files import Snapshot
from fileops.model.internal_errors import PathMoved
from fileops.model.record import ByUnsure, Entry, LogQuery, session_of
from fileops.model.rewind import BlamedLines, FileStep, UnkeptChange, UnkeptFile
from fileops.model.sessions import SessionName
from fileops.ports import FileSystem
from fileops.record.store import RecordStore
from fileops.service.rewind.files import FileRewind, cancelled_of, history_of, is_usable, steps_of
from fileops.service.rewind.items import is_by

MAX_FILES = 1000  # in one list


class UnkeptPlace(Struct, frozen=True):
    """A change as a list has it, and its place in the present content."""

    change: UnkeptChange
    place: ChangedPlace


class RecordPlaces(Struct, frozen=True):
    store: RecordStore
    fs: FileSystem

    def blame(self, file_path: str) -> list[BlamedLines]:
        """Who changed each line of the present content last, top to bottom. Raises: the failures of reading."""
        path = self.fs.resolve(file_path)
        snapshot = self._read(path)
        if snapshot is None or not snapshot.exists:
            raise FileMissing
        entries, _ = self.store.entries(LogQuery(path=path), is_file=True)
        entries.reverse()
        steps = steps_of(self.store, entries, ())
        undoes = {entry.entry_id: entry.undoes for entry in entries if entry.undoes}
        known = {entry.entry_id: entry for entry in entries}
        return [_blamed(lines, known) for lines in owners_of_lines(steps, snapshot.data, undoes)]

    def unkept(
        self, paths: Iterable[str] | None = None, *, session_id: SessionName | None = None, turn_id: str | None = None
    ) -> list[UnkeptFile]:
        """The files with changes that are not kept yet. Args: paths: canonical; all files if there are none."""
        wanted = self._paths(paths, session_id=session_id, turn_id=turn_id)
        files: list[UnkeptFile] = []
        for path in wanted[:MAX_FILES]:
            snapshot = self._read(path)
            if snapshot is None:
                continue
            places = self.places(path, snapshot)
            changes = tuple(found.change for found in places if _is_of(found.change, session_id, turn_id))
            if changes:
                digest = snapshot.digest.hex() if snapshot.exists else ""
                files.append(UnkeptFile(file_path=path, digest=digest, changes=changes))
        return files

    def places(self, path: str, snapshot: Snapshot) -> list[UnkeptPlace]:
        """The places of one file that are not kept yet, top to bottom."""
        unkept, _ = self.store.entries(LogQuery(path=path, kept=False, in_force=True), is_file=True)
        chosen = {entry.entry_id: entry for entry in unkept if is_usable(entry)}
        if not chosen:
            return []
        history = history_of(self.store, path, chosen)
        steps: Sequence[FileStep] = steps_of(self.store, history, chosen)
        present = snapshot.data if snapshot.exists else None
        found: list[UnkeptPlace] = []
        n_same: dict[str, int] = {}
        kept = self.store.kept_places()
        rewound = rewind_file(steps, chosen, present, cancelled_of(history)).content
        for place in own_places(steps, chosen, present, rewound):
            entries = [chosen[entry_id] for entry_id in place.entry_ids]
            change = _change_of(place, entries, snapshot, n_same)
            if change.change_id not in kept:
                found.append(UnkeptPlace(change, place))
        return found

    def rewind_of(self, path: str, snapshot: Snapshot, change_ids: Collection[str]) -> FileRewind:
        """Plan the rewind of single changes of a file. Those that are not there any more are left out."""
        places = self.places(path, snapshot)
        chosen = [found for found in places if found.change.change_id in change_ids]
        content: bytes | None = without_places(snapshot.data, [found.place for found in chosen])
        ids = dict.fromkeys(entry_id for found in reversed(chosen) for entry_id in found.change.entry_ids)
        in_use = {entry_id for found in places if found not in chosen for entry_id in found.change.entry_ids}
        undone = [entry for entry in map(self.store.entry, ids) if entry is not None and entry.entry_id not in in_use]
        is_created = any(entry.kind == "create" for entry in undone)
        if not snapshot.exists or (not content and is_created):
            content = None
        return FileRewind(path=path, content=content, undone=tuple(undone), conflicts=())

    def keep_places(self, change_ids: Collection[str], *, kept: bool) -> int:
        """Accept single changes, or (`kept=False`) not. Returns how many entries are kept as a whole now, or not."""
        n_changed = 0
        for path, ids in self.paths_of(change_ids).items():
            of_entry = {change_id: entry_of_change(change_id) for change_id in ids}
            self.store.set_places_kept(of_entry.items(), kept=kept)
            if not kept:
                n_changed += self.store.set_kept(of_entry.values(), kept=False)
                continue
            snapshot = self._read(path)
            left = self.places(path, snapshot) if snapshot is not None else []
            in_use = {entry_id for found in left for entry_id in found.change.entry_ids}
            unkept, _ = self.store.entries(LogQuery(path=path, kept=False, in_force=True), is_file=True)
            done = [entry.entry_id for entry in unkept if is_usable(entry) and entry.entry_id not in in_use]
            n_changed += self.store.set_kept(done, kept=True)
        return n_changed

    def paths_of(self, change_ids: Iterable[str]) -> dict[str, list[str]]:
        """The changes by their files. A change that is not known is left out."""
        groups: dict[str, list[str]] = {}
        for change_id in change_ids:
            entry = self.store.entry(entry_of_change(change_id))
            if entry is not None:
                groups.setdefault(entry.path, []).append(change_id)
        return groups

    def _paths(self, paths: Iterable[str] | None, *, session_id: SessionName | None, turn_id: str | None) -> list[str]:
        if paths is not None:
            return list(paths)
        # An unsure entry has no session: its candidates are compared one by one.
        entries, _ = self.store.entries(LogQuery(kept=False, in_force=True))
        wanted = [entry for entry in entries if is_by(entry, session_id) and turn_id in {None, entry.turn_id}]
        return list(dict.fromkeys(entry.path for entry in wanted))

    def _read(self, path: str) -> Snapshot | None:
        """The present content, of the unsaved document if there is one; None if it cannot be read as text."""
        try:
            snapshot = self.fs.read(path)
        except (FileOpsError, PathMoved):
            return None
        is_binary = snapshot.exists and text.is_binary(snapshot.data, text.detect_format(snapshot.data))
        return None if is_binary else snapshot


def entry_of_change(change_id: str) -> str:
    """The id of the newest entry of a change."""
    return change_id.partition(".")[0]


def _blamed(lines: OwnedLines, known: dict[str, Entry]) -> BlamedLines:
    entry = None if lines.entry_id is None else known[lines.entry_id]
    return BlamedLines(
        first_line=lines.first_line,
        n_lines=lines.n_lines,
        by=None if entry is None else entry.by,
        entry_id=lines.entry_id,
        time=None if entry is None else entry.time,
    )


def _change_of(
    place: ChangedPlace, entries: Sequence[Entry], snapshot: Snapshot, n_same: dict[str, int]
) -> UnkeptChange:
    """The change of one place. Its id depends on the texts before and after it, and not on the lines above it."""
    newest = entries[-1]
    written = snapshot.data[place.start : place.end]
    digest = xxhash.xxh3_64_hexdigest(b"%d\0%b%b" % (len(written), written, place.removed))
    n = n_same[digest] = n_same.get(digest, 0) + 1
    return UnkeptChange(
        change_id=f"{newest.entry_id}.{digest}" + (f".{n}" if n > 1 else ""),
        start_line=place.first_line,
        end_line=place.first_line + place.n_lines - 1,
        removed_text=text.decode(place.removed, text.TextFormat(encoding=text.detect_format(snapshot.data).encoding)),
        by=newest.by,
        turn_id=newest.turn_id,
        entry_ids=place.entry_ids,
        time=newest.time,
    )


def _is_of(change: UnkeptChange, session_id: SessionName | None, turn_id: str | None) -> bool:
    is_by = session_id is None or session_of(change.by) == session_id
    if not is_by and isinstance(change.by, ByUnsure):
        is_by = any(session_of(candidate) == session_id for candidate in change.by.candidates)
    return is_by and turn_id in {None, change.turn_id}
