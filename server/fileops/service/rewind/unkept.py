"""Finds the places in the present files that agents changed and no person has kept yet. Runs in worker threads.

It computes a rewind of all entries that are not kept, but never applies it. A place is where the present content
differs from the result. So a place is exactly what an undo of these entries would change. It excludes what others wrote
beside it or over it.

Entries belong to a path. If a person renames a file, it is still followed: its *lineage* is the entries of all its
names. If an agent renames a file, that counts as a deletion and a creation, and neither is kept yet.
"""

import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import xxhash
from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from fileops.core import text
from fileops.core.diff.entry_diffs import count_lines
from fileops.core.merge.authorship import (
    ChangedPlace,
    find_formatted,
    find_named_places,
    find_shared_places,
    own_places,
    owners_of_lines,
    without_places,
    without_returns,
)
from fileops.core.merge.stored_contents import StoredContents
from fileops.core.merge.texts import ContentOf
from fileops.core.notebook.cells import Notebook, is_notebook_path, parse
from fileops.core.roots import is_inside
from fileops.model.changes import is_executable
from fileops.model.edits import LineRange, Splice
from fileops.model.errors import FileOpsError, IsDirectory, NotebookInvalid, UnknownTarget
from fileops.model.files import Snapshot
from fileops.model.internal_errors import PathMoved, UnknownId
from fileops.model.record import By, EditedLines, Entry, LogQuery, is_by_agent, session_of
from fileops.model.rewind import (
    FileOperation,
    FileStep,
    KeepOutcome,
    KeepRequest,
    PlaceKind,
    RewindConflict,
    UndonePlace,
    UnkeptChange,
    UnkeptFile,
    UnkeptOfFile,
    UnkeptResult,
    UnkeptSession,
    UnkeptTurn,
)
from fileops.model.sessions import SessionName
from fileops.ports import Decisions, FileSystem
from fileops.service.rewind.answers import (
    FileHistory,
    KnownContents,
    find_answer,
    find_rewind,
    keep_answer,
    key_of,
)
from fileops.service.rewind.blame import owners_in, prepare_blame
from fileops.service.rewind.committed import CommittedFiles, GitState, UnkeptPlace
from fileops.service.rewind.files import (
    TOO_LONG,
    FileRewind,
    Overwritten,
    are_all_kept,
    executable_bit_without,
    find_overwritten,
    find_undone,
    has_text,
    is_of_mode,
    is_too_long,
    make_history,
    steps_of,
    tool_edits_of,
    unknown_of,
)
from fileops.service.rewind.items import is_by
from fileops.service.rewind.lineage import Lineages
from fileops.service.rewind.memories import MIN_BLAMED_STEPS, Memories, store_memory

MAX_FILES = 1000  # in one list
MAX_UNDONE = 20  # the newest undos of one file that are examined
_UNRECORDED = ""  # instead of an entry's id
_WHOLE_FILE = "file"  # instead of a digest, in the id of a change without lines

VersionOf = Callable[[str, Snapshot], int | None]


# By path: the inputs from which the places were computed, and the places.
PlacesCache = dict[str, tuple[tuple[object, ...], list[UnkeptPlace]]]


class KnownPlaces(Struct, frozen=True):
    """The places of a file. is_whole: whether an undo of all would leave nothing."""

    places: list[UnkeptPlace]
    is_whole: bool


class UndecidedEntries(Struct, frozen=True):
    """The parts of some entries that are neither kept nor committed.

    entry_ids: of the entries with such parts. partly: of these, those that also have decided parts. decided:
    by present path, the decided places of a file that also has open ones.
    """

    entry_ids: frozenset[str]
    partly: frozenset[str]
    decided: Mapping[str, Sequence[ChangedPlace]]


class UnkeptPlaces(Struct, frozen=True):
    """See the module. version_of: the version of the client's open document, if it has the snapshot's text.

    cache: belongs to this record. Threads may share it: an entry is always replaced as a whole, and is used only while
    it fits. committed: leaves changes that git also has out of lists; None if a commit does not count as a keep.
    states: what git answered for this request, None for a file that it does not know. memories: of this record's files.
    """

    store: Decisions
    fs: FileSystem
    version_of: VersionOf = lambda _path, _snapshot: None
    cache: PlacesCache = field(default_factory=dict)
    committed: CommittedFiles | None = None
    states: dict[str, GitState | None] = field(default_factory=dict)
    memories: Memories = field(default_factory=Memories)

    # --- lists -------------------------------------------------------------------------------------------------

    def find(
        self,
        path: str | None = None,
        *,
        folders: tuple[str, ...] | None = None,
        session_id: SessionName | None = None,
        turn_id: str | None = None,
    ) -> UnkeptResult:
        """Return what is not kept yet.

        Args: path: a canonical file path. folders: without a path, only what is in one of these.
        """
        names = Lineages(self.store, _is_rename)
        paths = self._paths(folders, names) if path is None else [path]
        lineages = {each: names.of(each) for each in paths}
        self._ask_git(lineages)
        files = (self._file(each, lineage, session_id, turn_id) for each, lineage in lineages.items())
        found = [file for file in files if file is not None]
        old_names = self._find_earlier_names(found)
        with_changes = [file for file in found if file.changes and file.file_path not in old_names]
        listed = sorted(found, key=lambda file: not file.changes)[:MAX_FILES]  # may omit files without changes
        return UnkeptResult(
            n_files=len(with_changes),
            n_changes=sum(len(file.changes) for file in with_changes),
            added=sum(file.added for file in found),
            removed=sum(file.removed for file in found),
            files=tuple(sorted(listed, key=lambda file: file.file_path)),
            sessions=tuple(self._sessions([file for file in listed if file.changes], old_names)),
            truncated=len(found) > len(listed),
        )

    def prepare(self, paths: Iterable[str]) -> Iterator[None]:
        """Compute what a list of these files would have, so that the record has the answers. Yields after each file.

        A file with very many new changes is computed in parts, because a daemon that ends waits for one of them.
        """
        lineages = Lineages(self.store, _is_rename)
        chosen = {path: lineages.of(path) for path in paths}
        self._ask_git(chosen)
        for path, lineage in chosen.items():
            snapshot = self._read(path)
            if snapshot is not None and snapshot.exists and _is_text(snapshot):
                if len(lineage) >= MIN_BLAMED_STEPS:  # blame may be asked for the places
                    yield from prepare_blame(self.store, path, snapshot, self.memories)
                yield from self._tell_ahead(path, lineage, snapshot)
            self._all_places_in(path, lineage, snapshot)
            yield

    def _tell_ahead(self, path: str, lineage: Sequence[Entry], snapshot: Snapshot) -> Iterator[None]:
        """Tell the story of a file in parts, so that few changes are left for its places."""
        chosen = _with_text(self._open(path, lineage, snapshot))
        _, told = self._history(path, lineage, chosen)
        yield from told.tell_ahead(chosen.keys(), snapshot.data, StoredContents(self.store))

    def _is_in(self, path: str, folders: tuple[str, ...] | None) -> bool:
        return folders is None or self.store.covers(folders, path)

    def _find_earlier_names(self, files: Sequence[UnkeptFile]) -> set[str]:
        """Return the old names of the renamed files among these: a rename counts as one change of one file."""
        gone = {file.file_path for file in files if file.operation == "delete"}
        return {file.moved_from for file in files if file.changes and file.moved_from in gone}

    def _paths(self, folders: tuple[str, ...] | None, lineages: Lineages) -> list[str]:
        """Return the present paths, sorted, of files with entries that are not kept or were undone."""
        paths = set(map(lineages.present_path, self.store.newest_unkept()))
        undos, _ = self.store.entries(LogQuery(by="person", in_force=True, limit=MAX_FILES))
        paths |= {entry.path for entry in undos if self._is_shown_undo(entry) and not lineages.has_left(entry)}
        return sorted(path for path in paths if self._is_in(path, folders))

    def _file(
        self,
        path: str,
        lineage: Sequence[Entry],
        session_id: SessionName | None,
        turn_id: str | None,
    ) -> UnkeptFile | None:
        snapshot = self._read(path)
        places = self._list_places(path, lineage, snapshot)
        of_these = [found for found in places if _is_of(found.change, session_id, turn_id)]
        changes = tuple(found.change for found in _name_cells(path, of_these, snapshot))
        undone: tuple[UndonePlace, ...] = ()
        if snapshot is not None:
            found = self._find_undone_places(lineage, snapshot)
            undone = tuple(place for place in found if _is_of(place, session_id, turn_id))
        if not changes and not undone:
            return None
        moved_from = _find_earlier_name(self._open(path, lineage, snapshot))
        return UnkeptFile(
            file_path=path,
            digest=snapshot.digest.hex() if snapshot is not None and snapshot.exists else "",
            document_version=None if snapshot is None else self.version_of(path, snapshot),
            operation=_operation(changes, lineage, snapshot),
            moved_from=moved_from,
            added=sum(change.added for change in changes),
            removed=sum(change.removed for change in changes),
            changes=changes,
            undone=undone,
            edited=UNSET if moved_from is None else self._compare_with_earlier(moved_from, snapshot),
        )

    def _compare_with_earlier(self, old_path: str, snapshot: Snapshot | None) -> EditedLines | UnsetType:
        """Return how a renamed file differs from its text under the old name; UNSET if that is not known."""
        gone = self._read(old_path)
        if snapshot is None or not snapshot.exists or gone is None or gone.exists:
            return UNSET
        places = [found.place for found in self._list_places(old_path, self.lineage(old_path), gone)]
        if not places or None in places:
            return UNSET
        before = b"".join(place.removed for place in places if place is not None)
        added, removed = count_lines(before, snapshot.data)
        return EditedLines(added=added, removed=removed)

    def _sessions(self, files: Sequence[UnkeptFile], old_names: Collection[str]) -> Iterator[UnkeptSession]:
        """Group the changes of the files in a tree.

        If the author is unsure, each possible name gets its own branch. old_names: these files are not counted.
        """
        found = [(change, file.file_path) for file in files for change in file.changes]
        newest_first = sorted(found, key=lambda pair: pair[0].time, reverse=True)
        branches: dict[tuple[str, str | None], dict[str | None, list[tuple[UnkeptChange, str]]]] = {}
        for change, path in newest_first:
            turns = branches.setdefault((change.session_id or _label(change.by), change.session_id), {})
            turns.setdefault(change.turn_id, []).append((change, path))
        for (_, session_id), turns in branches.items():
            nodes = tuple(self._turn(turn_id, turns[turn_id], old_names) for turn_id in turns)
            (newest, _), *_ = next(iter(turns.values()))
            yield UnkeptSession(
                session_id=None if session_id is None else SessionName(session_id),
                label=_label(newest.by),
                n_changes=sum(turn.n_changes for turn in nodes),
                added=sum(turn.added for turn in nodes),
                removed=sum(turn.removed for turn in nodes),
                change_ids=tuple(change_id for turn in nodes for change_id in turn.change_ids),
                turns=nodes,
            )

    def _turn(
        self, turn_id: str | None, found: Sequence[tuple[UnkeptChange, str]], old_names: Collection[str]
    ) -> UnkeptTurn:
        in_files = sorted(found, key=lambda pair: (pair[1], pair[0].start_line))
        by_path = groupby(in_files, lambda pair: pair[1])
        files = tuple(_of_file(path, [change for change, _ in of_path]) for path, of_path in by_path)
        turn = None if turn_id is None else self.store.turn(turn_id)
        return UnkeptTurn(
            turn_id=turn_id,
            title=None if turn is None else turn.title,
            began=None if turn is None else turn.began,
            n_changes=sum(file.n_changes for file in files if file.file_path not in old_names),
            added=sum(file.added for file in files),
            removed=sum(file.removed for file in files),
            change_ids=tuple(change_id for file in files for change_id in file.change_ids),
            files=files,
        )

    # --- places of one file ------------------------------------------------------------------------------------

    def places(self, path: str, snapshot: Snapshot) -> list[UnkeptPlace]:
        """Return the places in one file that are not kept yet, top to bottom."""
        return self._places_in(path, self.lineage(path), snapshot)

    def find_undecided(self, entries: Iterable[Entry], lineages: Lineages) -> UndecidedEntries:
        """Return the parts of these entries that lists show. An entry goes with the one that replaced its text.

        Args: lineages: read the entries of the files, which a rewind needs as well.
        """
        lineages, by_path = lineages.following(_is_rename), dict[str, list[Entry]]()
        for entry in entries:
            by_path.setdefault(lineages.present_path(entry), []).append(entry)
        self._ask_git({path: lineages.of(path) for path in by_path})
        found, partly, decided = set[str](), set[str](), dict[str, list[ChangedPlace]]()
        for path, of_file in by_path.items():
            lineage, snapshot = lineages.of(path), self._read(path)
            candidates = {entry.entry_id for entry in self._open(path, lineage, snapshot)}
            listed = self._list_places(path, lineage, snapshot) if candidates else []
            if not listed:
                continue
            ids = {each.change.change_id for each in listed}
            rest = [each for each in self._all_places_in(path, lineage, snapshot) if each.change.change_id not in ids]
            of_listed = {entry_id for each in listed for entry_id in each.change.entry_ids}
            of_rest = {entry_id for each in rest for entry_id in each.change.entry_ids}
            mine = {entry.entry_id for entry in of_file} & candidates & (of_listed | (candidates - of_rest))
            found |= mine
            partly |= mine & of_rest
            decided[path] = [each.place for each in rest if each.place is not None]
        return UndecidedEntries(frozenset(found), frozenset(partly), decided)

    def _ask_git(self, lineages: Mapping[str, Sequence[Entry]]) -> None:
        """Ask about all files at once. Args: lineages: by present path."""
        if self.committed is not None:
            with_bit = {path for path, lineage in lineages.items() if any(map(is_of_mode, filter(_is_open, lineage)))}
            found = self.committed.states_of(lineages, with_bit=with_bit)
            self.states.update((path, found.get(path)) for path in lineages)

    def _open(self, path: str, lineage: Sequence[Entry], snapshot: Snapshot | None) -> list[Entry]:
        """Return the entries that are neither kept nor undone, without those that led to what git has."""
        unkept = list(filter(_is_open, lineage))
        if not unkept or self.committed is None:
            return unkept
        if path not in self.states:
            self._ask_git({path: lineage})
        state = self.states[path]
        decided = frozenset[str]() if state is None else self.committed.find_committed(path, lineage, snapshot, state)
        return [entry for entry in unkept if entry.entry_id not in decided]

    def _list_places(self, path: str, lineage: Sequence[Entry], snapshot: Snapshot | None) -> list[UnkeptPlace]:
        """Return the places that are neither kept nor committed."""
        places = self._places_in(path, lineage, snapshot)
        state = self.states.get(path)
        if self.committed is None or state is None or not places:
            return places
        committed = self.committed.among(places, path, snapshot, state)
        return [found for found in places if found.change.change_id not in committed]

    def _places_in(self, path: str, lineage: Sequence[Entry], snapshot: Snapshot | None) -> list[UnkeptPlace]:
        """Args: snapshot: None if the file cannot be read; then all of it is one change without lines."""
        found, kept = self._all_places_in(path, lineage, snapshot), self.store.kept_places()
        # A letter typed into a kept change gives it a new id, but the change has still been decided.
        decided = Counter(map(entry_of_change, kept - {each.change.change_id for each in found}))
        if any(map(_is_shared, found)):
            found = [each for each in found if not _is_shared(each) or decided.keys().isdisjoint(each.change.entry_ids)]
        found = [each for each in found if each.change.change_id not in kept]
        may_be_decided = [each for each in found if entry_of_change(each.change.change_id) in decided]
        if may_be_decided and snapshot is not None:
            formatted = self._find_formatted(may_be_decided, lineage, snapshot)
            n_formatted = Counter(map(entry_of_change, formatted))
            found = [
                each
                for each in found
                if each.change.change_id not in formatted
                or n_formatted[entry := entry_of_change(each.change.change_id)] > decided[entry]
            ]
        return found

    def _find_formatted(self, places: Sequence[UnkeptPlace], lineage: Sequence[Entry], snapshot: Snapshot) -> set[str]:
        """Return the ids of the changes in which a formatter has changed blanks, and nobody else has written."""
        own = {each.change.change_id: each.place for each in places if each.place and not _is_shared(each)}
        steps, contents = steps_of(lineage), StoredContents(self.store)
        has_blanks = find_formatted(
            steps, snapshot.data, list(own.values()), contents, find_undone(lineage), tool_edits_of(lineage)
        )
        return {change_id for change_id, is_formatted in zip(own, has_blanks, strict=True) if is_formatted}

    def _all_places_in(self, path: str, lineage: Sequence[Entry], snapshot: Snapshot | None) -> list[UnkeptPlace]:
        """Return the places of entries that are not kept as a whole, also those places that are kept."""
        unkept = self._open(path, lineage, snapshot)
        if not unkept:
            return []
        if snapshot is None:
            return [UnkeptPlace(_change_of_file(unkept, "not readable", is_undoable=False), None)]
        bit = None if snapshot.stamp is None else is_executable(snapshot.stamp.mode)
        made_of = (snapshot.digest if snapshot.exists else None, bit, tuple(lineage), len(unkept))
        if (cached := self.cache.get(snapshot.path)) is not None and cached[0] == made_of:
            return cached[1]
        is_long = is_too_long(snapshot.data)
        opaque = [entry for entry in unkept if is_long or not has_text(entry)]
        overwritten = find_overwritten(self.store, lineage, {entry.entry_id for entry in opaque}, snapshot)
        opaque = opaque if overwritten is None else list(overwritten.entries)
        is_undoable = overwritten is not None or all(map(is_of_mode, opaque))
        if is_undoable and overwritten is None and bit is not None:
            without = executable_bit_without(lineage, {entry.entry_id for entry in opaque})
            opaque = [] if without == bit else opaque  # it was set back
        key = None
        if not opaque and overwritten is None and snapshot.source == "disk" and are_all_kept(lineage):
            key = key_of("places", lineage, [entry.entry_id for entry in unkept], made_of[0])
        chosen = {} if is_long or overwritten is not None else _with_text(unkept)
        known = find_answer(self.store, snapshot.path, key, KnownPlaces)
        if known is None:
            of_file = []
            if opaque:
                words = "too large" if is_long else _without_lines(opaque[-1])
                of_file = [UnkeptPlace(_change_of_file(opaque, words, is_undoable=is_undoable), None)]
            contents = KnownContents(StoredContents(self.store))
            known = self._compute_places(of_file, lineage, chosen, snapshot, contents)
            if contents.are_complete:
                oldest = min(entry.time for entry in lineage)
                keep_answer(self.store, snapshot.path, "places", key, known, oldest=oldest)
        found = self._with_named(known, chosen, snapshot)
        self._note_places(snapshot.path, made_of, found)
        return found

    def _compute_places(
        self,
        of_file: list[UnkeptPlace],
        lineage: Sequence[Entry],
        chosen: Mapping[str, Entry],
        snapshot: Snapshot,
        contents: ContentOf,
    ) -> KnownPlaces:
        """Args: of_file: its changes without lines."""
        n_same: dict[str, int] = {}
        own, shared, is_whole = self._find_changed(lineage, chosen, snapshot, contents)
        found = [*of_file, *(_unkept_place(place, chosen, snapshot, n_same) for place in own)]
        if shared:
            found += (_unkept_place(place, chosen, snapshot, n_same, is_shared=True) for place in shared)
            found.sort(key=lambda each: each.change.start_line)
        return KnownPlaces(found, is_whole)

    def _with_named(self, known: KnownPlaces, chosen: Mapping[str, Entry], snapshot: Snapshot) -> list[UnkeptPlace]:
        """Return the places and, if an undo of all would leave a part, all other lines for which blame names an entry.

        The entry indented such a line, for example, or removed a word from it, beside what others have written since.
        """
        if known.is_whole:
            return known.places
        owned = owners_in(self.store, snapshot.path, snapshot, self.memories)
        places = [each.place for each in known.places if each.place is not None]
        n_same = Counter(_digest_in(each.change.change_id) for each in known.places)
        named = find_named_places(snapshot.data, owned, chosen, places)
        found = [_unkept_place(place, chosen, snapshot, n_same, is_shared=True) for place in named]
        return sorted((*known.places, *found), key=lambda each: each.change.start_line)

    def _note_places(self, path: str, made_of: tuple[object, ...], found: list[UnkeptPlace]) -> None:
        if len(self.cache) >= MAX_FILES:
            self.cache.clear()
        self.cache[path] = made_of, found

    def _find_changed(
        self, lineage: Sequence[Entry], chosen: Collection[str], snapshot: Snapshot, contents: ContentOf
    ) -> tuple[list[ChangedPlace], list[ChangedPlace], bool]:
        """Return the places that the chosen entries made, and those of them in which others have written since.

        True if an undo of the entries would leave nothing.
        """
        if not chosen or (snapshot.exists and not _is_text(snapshot)):
            return [], [], True
        present = snapshot.data if snapshot.exists else None
        history, told = self._history(snapshot.path, lineage, chosen)
        steps, memory = told.steps, told.memory
        if are_all_kept(history) and snapshot.source == "disk":
            rewound = find_rewind(self.store, told, chosen, present, contents, kind="rewind of places")
        else:
            rewound = told.rewound(chosen, present, contents)
        of_file = steps, chosen, present, rewound.content, contents, told.undoes, told.tool_edits, memory
        found = own_places(*of_file), find_shared_places(*of_file) if rewound.left else [], not rewound.left
        store_memory(self.store, snapshot.path, memory, "places", steps, chosen, history)
        return found

    def _history(
        self, path: str, lineage: Sequence[Entry], chosen: Collection[str]
    ) -> tuple[Sequence[Entry], FileHistory]:
        """Return the entries from the first chosen one on, and what a rewind of the chosen ones is computed from."""
        first = next((n for n, entry in enumerate(lineage) if entry.entry_id in chosen), len(lineage))
        history = lineage[first:]
        decided = {entry.entry_id for entry in history if entry.kept and is_by_agent(entry.by)}
        steps = without_returns(steps_of(history), chosen, decided)
        memory = self.memories.of(self.store, path, len(steps))
        return history, make_history(path, steps, history, set(chosen), memory)

    def _find_undone_places(self, lineage: Sequence[Entry], snapshot: Snapshot) -> Iterator[UndonePlace]:
        """Yield what people undid in one file since the newest turn of the session that wrote it."""
        by_id = {entry.entry_id: entry for entry in lineage}
        undos = [entry for entry in lineage if self._is_shown_undo(entry)]
        chosen = {entry.entry_id for entry in undos[-MAX_UNDONE:]}
        for place in self._find_changed(lineage, chosen, snapshot, StoredContents(self.store))[0]:
            if not place.removed:  # the undo only restored lines
                continue
            undo = by_id[place.entry_ids[-1]]
            author = self._find_undone_agent_entry(undo)
            if author is None:
                continue
            yield UndonePlace(
                start_line=place.first_line,
                end_line=place.first_line + place.n_lines - 1,
                removed_text=_decode(place.removed, snapshot),
                entry_id=undo.entry_id,
                rewind_id=undo.rewind_id,
                session_id=session_of(author.by),
                label=_label(author.by),
                turn_id=author.turn_id,
                time=undo.time,
            )

    def _is_shown_undo(self, entry: Entry) -> bool:
        """Whether a person undid what an agent wrote, after the session's newest turn began."""
        if not entry.is_undo or entry.undone_by is not None or is_by_agent(entry.by) or not has_text(entry):
            return False
        author = self._find_undone_agent_entry(entry)
        if author is None:
            return False
        session_id = session_of(author.by)
        newest = None if session_id is None else self.store.newest_turn(session_id)
        return newest is None or newest.began <= entry.time

    def _find_undone_agent_entry(self, undo: Entry) -> Entry | None:
        """Return the newest agent's entry that this undo took back.

        The undo does not name an entry that it took back only in part. Then this is the newest entry before the undo.
        """
        written = [entry for entry in map(self.store.entry, undo.undoes) if entry is not None]
        if not undo.undoes:
            written, _ = self.store.entries(LogQuery(path=undo.path, before=undo.entry_id), is_file=True)
        return max((entry for entry in written if is_by_agent(entry.by)), key=lambda entry: entry.time, default=None)

    def lineage(self, path: str) -> list[Entry]:
        """Return the entries of the file that is now at this path, oldest first. See Lineages."""
        return Lineages(self.store, _is_rename).of(path)

    def paths_of(self, change_ids: Iterable[str]) -> dict[str, list[str]]:
        """Group changes by the present paths of their files. Unknown changes are left out."""
        lineages, groups = Lineages(self.store, _is_rename), dict[str, list[str]]()
        for change_id in change_ids:
            entry = self.store.entry(entry_of_change(change_id))
            if entry is not None:
                groups.setdefault(lineages.present_path(entry), []).append(change_id)
        return groups

    def with_renames(self, change_ids: Collection[str], *, undoable: bool = False) -> tuple[str, ...]:
        """Return the changes, with those under the other name of each file that an agent renamed.

        A rename is decided as one. Otherwise an undo under the new name would leave neither file, and one under the
        old name both.

        Args: undoable: only of those that can be undone as a whole.
        """
        lineages, ids = Lineages(self.store, _is_rename), dict.fromkeys(change_ids)
        groups = self.paths_of(change_ids)
        self._ask_git({path: lineages.of(path) for path in groups})  # what is decided is asked next
        for path, named in groups.items():
            arrivals = {entry.entry_id: entry for entry in lineages.of(path) if _is_arrival(entry)}
            departures = {entry.entry_id: entry for entry in lineages.of(path) if _is_departure(entry)}
            if not arrivals and not departures:
                continue
            for found in self._places_in(path, lineages.of(path), self._read(path)):
                if found.change.change_id not in named or (undoable and not found.change.undoable):
                    continue
                for entry_id in arrivals.keys() & set(found.change.entry_ids):
                    ids |= dict.fromkeys(self._departures(lineages, arrivals[entry_id]))
                for entry_id in departures.keys() & set(found.change.entry_ids):
                    arrived = self._list_arrived(lineages, departures[entry_id])
                    ids |= dict.fromkeys(each.change_id for each in arrived if each.undoable or not undoable)
        return tuple(ids)

    def _departures(self, lineages: Lineages, arrival: Entry) -> Iterator[str]:
        """Yield the change by which the old name of a renamed file is gone, while it is, and is not decided."""
        departure = self.store.other_half(arrival)
        if departure is None:
            return
        for found in self._places_in(departure.path, lineages.of(departure.path), self._read(departure.path)):
            if departure.entry_id in found.change.entry_ids:
                yield found.change.change_id

    def _list_arrived(self, lineages: Lineages, departure: Entry) -> list[UnkeptChange]:
        """Return what is not decided in the file with the new name: its creation, and the edits in it."""
        arrival = self.store.other_half(departure)
        if arrival is None or not _is_arrival(arrival):
            return []
        path = lineages.present_path(arrival)
        return [found.change for found in self._places_in(path, lineages.of(path), self._read(path))]

    # --- keep and undo -----------------------------------------------------------------------------------------

    def keep(self, request: KeepRequest) -> KeepOutcome:
        """Accept changes."""
        keep_id = f"k-{uuid.uuid4().hex[:12]}"
        if request.change_ids is not None:
            return self._keep_places(keep_id, request.change_ids)
        if request.entry_ids is not None:
            entries = [entry for entry in map(self.store.entry, request.entry_ids) if entry is not None]
        else:
            entries, _ = self.store.entries(LogQuery(turn_id=request.turn_id, kept=False))
            entries = [entry for entry in entries if is_by(entry, request.session_id)]
        lineages = Lineages(self.store, _is_rename)
        if request.file_path is not None:
            folder = request.file_path
            entries = [entry for entry in entries if is_inside(folder, lineages.present_path(entry))]
            halves = (self.store.other_half(entry) for entry in entries if _is_arrival(entry) or _is_departure(entry))
            for half in [half for half in halves if half is not None]:
                of_file = lineages.of(lineages.present_path(half)) if _is_arrival(half) else [half]
                entries += (entry for entry in of_file if not entry.kept and is_by_agent(entry.by))
            entries = list({entry.entry_id: entry for entry in entries}.values())
        elif request.entry_ids is None:
            entries = [entry for entry in entries if self._is_in(lineages.present_path(entry), request.folders)]
        paths = set(map(lineages.present_path, {entry.path: entry for entry in entries}.values()))
        n_entries = self.store.keep(keep_id, [entry.entry_id for entry in entries])
        return KeepOutcome(keep_id=keep_id if n_entries else None, n_entries=n_entries, paths=frozenset(paths))

    def undo_keep(self, keep_id: str | None, folders: tuple[str, ...] | None = None) -> KeepOutcome:
        """Undo a keep, as far as it is still in force. Raises: UnknownTarget.

        Args: folders: without an id, the newest keep in one of these is meant.
        """
        if keep_id is None:
            keep_id = next((kept for kept, path in self.store.keeps() if self._is_in(path, folders)), None)
        if keep_id is None:
            raise UnknownTarget(explanation="nothing was kept here, or it was undone")
        try:
            entries, n_entries, n_changes = self.store.undo_keep(keep_id)
        except UnknownId as fault:
            raise UnknownTarget(explanation=f"no keep has the id {fault.wanted}, or it was undone") from None
        lineages = Lineages(self.store, _is_rename)
        paths = frozenset(map(lineages.present_path, entries))
        return KeepOutcome(keep_id=None, n_entries=n_entries, n_changes=n_changes, paths=paths)

    def _keep_places(self, keep_id: str, change_ids: Collection[str]) -> KeepOutcome:
        """Accept single changes. Those that were already undone or kept are left out and not counted."""
        n_entries = n_changes = 0
        groups = self.paths_of(self.with_renames(change_ids))
        for path, named in groups.items():
            snapshot, lineage = self._read(path), self.lineage(path)
            ids = {found.change.change_id for found in self._places_in(path, lineage, snapshot)}.intersection(named)
            if not ids:
                continue
            of_entries = [(change_id, entry_of_change(change_id)) for change_id in ids]
            n_changes += self.store.keep_places(keep_id, of_entries)  # another daemon may have kept some
            remaining = self._places_in(path, lineage, snapshot)
            whole = {change_id for change_id in ids if change_id.endswith(f".{_WHOLE_FILE}")}
            in_use = {
                entry_id
                for found in remaining
                if found.change.change_id not in whole
                for entry_id in found.change.entry_ids
            }
            open_ids = [entry.entry_id for entry in self._open(path, lineage, snapshot)]
            done = [entry_id for entry_id in open_ids if entry_id not in in_use]
            n_entries += self.store.keep(keep_id, done)
        return KeepOutcome(
            keep_id=keep_id if n_changes else None, n_entries=n_entries, n_changes=n_changes, paths=frozenset(groups)
        )

    def rewind_of(
        self, path: str, snapshot: Snapshot, change_ids: Collection[str], may_rewind: Callable[[Entry], bool]
    ) -> FileRewind:
        """Plan the rewind of single changes in a file. Changes that no longer exist are left out."""
        lineage = {entry.entry_id: entry for entry in self.lineage(path)}
        history = list(lineage.values())
        places = self._places_in(path, history, snapshot)
        chosen = [
            found
            for found in places
            if found.change.change_id in change_ids
            and all(may_rewind(lineage[entry_id]) for entry_id in found.change.entry_ids)
        ]
        opaque = [lineage[entry_id] for found in chosen if found.place is None for entry_id in found.change.entry_ids]
        overwritten = find_overwritten(self.store, history, {entry.entry_id for entry in opaque}, snapshot)
        if overwritten is not None:
            return _restore_overwritten(path, overwritten, snapshot)
        conflicts = unknown_of(path, opaque)
        if not_compared := tuple(entry.entry_id for entry in opaque if has_text(entry)):
            conflicts.append(RewindConflict(file_path=path, entries=not_compared, reason="refused", message=TOO_LONG))
        shared = [found for found in chosen if _is_shared(found)]
        conflicts += (self._overlap(path, found.change, lineage, snapshot) for found in shared)
        with_lines = [found for found in chosen if found.place is not None and found.change.undoable]
        own = [found.place for found in with_lines if found.place is not None]
        content: bytes | None = without_places(snapshot.data, own)
        ids = dict.fromkeys(entry_id for found in reversed(with_lines) for entry_id in found.change.entry_ids)
        taken = {found.change.change_id for found in with_lines}
        every = self._all_places_in(path, history, snapshot)
        remaining = [found.change for found in every if found.change.change_id not in taken]
        in_use = {entry_id for change in remaining for entry_id in change.entry_ids}
        undone = [lineage[entry_id] for entry_id in ids if entry_id not in in_use]
        bits = [entry for entry in opaque if is_of_mode(entry)]
        partly = [lineage[entry_id] for entry_id in ids if entry_id in in_use]
        undone += bits
        is_created = any(entry.kind == "create" for entry in undone)
        if (not snapshot.exists and not with_lines) or (snapshot.exists and not content and is_created):
            content = None
        authors = tuple(found.change.by for found in with_lines) + tuple(entry.by for entry in bits)
        return FileRewind(
            path=path,
            content=content,
            undone=tuple(undone),
            authors=authors,
            conflicts=tuple(conflicts),
            partly=tuple(partly),
        )

    def _overlap(
        self, path: str, change: UnkeptChange, lineage: Mapping[str, Entry], snapshot: Snapshot
    ) -> RewindConflict:
        """Return the lines of a change in which others have written since, and who they are."""
        history = list(lineage.values())
        history = history[next(n for n, entry in enumerate(history) if entry.entry_id == change.entry_ids[0]) :]
        stored, steps = StoredContents(self.store), steps_of(history)
        # Anything not recorded yet, such as unsaved text, also counts as a change by others.
        steps.append(FileStep(_UNRECORDED, steps[-1].after, snapshot.digest))

        def content_of(digest: bytes) -> bytes | None:
            return snapshot.data if digest == snapshot.digest else stored(digest)

        others = [
            owned
            for owned in owners_of_lines(steps, snapshot.data, content_of, find_undone(history), tool_edits_of(history))
            if owned.entry_id not in change.entry_ids
            and owned.first_line <= change.end_line
            and owned.first_line + owned.n_lines > change.start_line
        ]
        ranges = (
            LineRange(
                start_line=max(owned.first_line, change.start_line),
                end_line=min(owned.first_line + owned.n_lines - 1, change.end_line),
            )
            for owned in others
        )
        found = (lineage.get(owned.entry_id or _UNRECORDED) for owned in others)
        authors = dict.fromkeys(entry.by for entry in found if entry is not None)
        whole = LineRange(start_line=change.start_line, end_line=change.end_line)  # if others wrote just beside it
        return RewindConflict(
            file_path=path,
            entries=change.entry_ids,
            reason="overlaps",
            ranges=tuple(ranges) or (whole,),
            by=tuple(authors),
        )

    def _read(self, path: str) -> Snapshot | None:
        """Return the present content, unsaved if the document is open; None if it cannot be read.

        A folder in place of the file means that the file is gone.
        """
        try:
            return self.fs.read(path)
        except IsDirectory:
            return Snapshot(path=path, stamp=None, data=b"", taken_ns=0)
        except (FileOpsError, PathMoved):  # now a link or a pipe, or a file that the daemon may not open
            return None


def _restore_overwritten(path: str, overwritten: Overwritten, snapshot: Snapshot) -> FileRewind:
    """Return the rewind to the text that an unrecorded content replaced. No other change has lines then."""
    undone = overwritten.entries[::-1]
    return FileRewind(
        path=path,
        content=overwritten.text,
        splices=(Splice(0, len(snapshot.data), overwritten.text),),
        undone=undone,
        authors=tuple(entry.by for entry in undone),
        conflicts=(),
    )


def entry_of_change(change_id: str) -> str:
    """Return the id of a change's newest entry."""
    return change_id.partition(".")[0]


def _digest_in(change_id: str) -> str:
    return change_id.split(".")[1]


def _is_text(snapshot: Snapshot) -> bool:
    """Return whether the content can be compared with others."""
    data = snapshot.data
    return not is_too_long(data) and not text.is_binary(data, text.detect_format(data))


def _with_text(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Return the entries of which the record has the text, by their ids."""
    return {entry.entry_id: entry for entry in entries if has_text(entry)}


def _is_open(entry: Entry) -> bool:
    """Whether it is neither kept nor undone."""
    return not entry.kept and entry.undone_by is None


def _is_arrival(entry: Entry) -> bool:
    """Whether an agent gave a file this name, and that is not decided."""
    return _is_open(entry) and entry.kind == "create" and entry.moved_from is not None


def _is_departure(entry: Entry) -> bool:
    """Whether an agent took this name from a file, and that is not decided."""
    return _is_open(entry) and entry.kind == "delete" and entry.moved_to is not None


def _is_rename(entry: Entry) -> bool:
    """Whether this entry is half of a rename by a person, or of an agent's undo of its own rename.

    Such a rename only gives another name to what is not kept.
    """
    is_own_undo = entry.kept and bool(entry.undoes)
    return entry.undone_by is None and (is_own_undo or not is_by_agent(entry.by))


def _label(by: By) -> str:
    """Return the name of the author's session as people see it, without the program that it ran."""
    return by.label if session_of(by) is None else by.label.partition(" · ")[0]


def _labels(entries: Sequence[Entry]) -> str:
    """Return the names of all authors, the newest first. Two agents can write side by side, or in the same line."""
    *others, last = dict.fromkeys(_label(entry.by) for entry in reversed(entries))
    return f"{', '.join(others)} and {last}" if others else last


def _decode(data: bytes, snapshot: Snapshot) -> str:
    return text.decode(data, text.TextFormat(encoding=text.detect_format(snapshot.data or data).encoding))


def _n_lines(data: bytes, snapshot: Snapshot) -> int:
    return text.count_lines(data, text.detect_format(snapshot.data or data)) if data else 0


def _unkept_place(
    place: ChangedPlace,
    chosen: Mapping[str, Entry],
    snapshot: Snapshot,
    n_same: dict[str, int],
    *,
    is_shared: bool = False,
) -> UnkeptPlace:
    """Describe one place as a change.

    Its id depends on the text before and after the change, not on the lines above it.
    """
    entries = [chosen[entry_id] for entry_id in place.entry_ids]
    newest = entries[-1]
    written = snapshot.data[place.start : place.end]
    digest = xxhash.xxh3_64_hexdigest(b"%d\0%b%b" % (len(written), written, place.removed))
    n = n_same[digest] = n_same.get(digest, 0) + 1
    kind: PlaceKind = "changed" if place.removed and place.n_lines else "added" if place.n_lines else "removed"
    change = UnkeptChange(
        change_id=f"{newest.entry_id}.{digest}" + (f".{n}" if n > 1 else ""),
        start_line=place.first_line,
        end_line=place.first_line + place.n_lines - 1,
        kind=kind,
        added=place.n_lines,
        removed=_n_lines(place.removed, snapshot),
        removed_text=_decode(place.removed, snapshot),
        undoable=not is_shared,
        by=newest.by,
        session_id=session_of(newest.by),
        label=_labels(entries),
        turn_id=newest.turn_id,
        entry_ids=place.entry_ids,
        time=newest.time,
    )
    return UnkeptPlace(change, place)


def _name_cells(path: str, places: Sequence[UnkeptPlace], snapshot: Snapshot | None) -> Sequence[UnkeptPlace]:
    """Return the places; in a notebook, with the cells that they are in."""
    if not places or snapshot is None or not is_notebook_path(path):
        return places
    try:
        notebook = parse(snapshot.data)
    except NotebookInvalid:
        return places
    return [replace(found, change=_name_cells_of(found, notebook)) for found in places]


def _name_cells_of(found: UnkeptPlace, notebook: Notebook) -> UnkeptChange:
    place = found.place
    if place is None:
        return found.change
    is_of_gone_cell = place.start == place.end and b'"cell_type"' in place.removed
    cells = [] if is_of_gone_cell else notebook.cells_at(place.start, place.end)
    return replace(found.change, cell_ids=tuple(cell.name for cell in cells))


def _is_shared(found: UnkeptPlace) -> bool:
    """Return whether others wrote in the text of the change, so that an undo leaves it."""
    return found.place is not None and not found.change.undoable


def _without_lines(entry: Entry) -> str:
    """Return why the change of the entry has no lines, in words for people."""
    if entry.content != "kept":
        return entry.content.replace("_", " ")
    return "executable bit" if entry.kind == "mode" else "earlier content unknown"


def _change_of_file(entries: Sequence[Entry], words: str, *, is_undoable: bool) -> UnkeptChange:
    """Describe the change of a whole file. words: why it has no lines, for people."""
    newest = entries[-1]
    return UnkeptChange(
        change_id=f"{newest.entry_id}.{_WHOLE_FILE}",
        start_line=1,
        end_line=0,
        kind="file",
        whole_file=words,
        added=0,
        removed=0,
        removed_text="",
        undoable=is_undoable,
        by=newest.by,
        session_id=session_of(newest.by),
        label=_labels(entries),
        turn_id=newest.turn_id,
        entry_ids=tuple(entry.entry_id for entry in entries),
        time=newest.time,
    )


def _operation(changes: Sequence[UnkeptChange], lineage: Sequence[Entry], snapshot: Snapshot | None) -> FileOperation:
    if snapshot is not None and not snapshot.exists:
        return "delete"
    ids = {entry_id for change in changes for entry_id in change.entry_ids}
    return "create" if any(entry.kind == "create" and entry.entry_id in ids for entry in lineage) else "modify"


def _find_earlier_name(unkept: Iterable[Entry]) -> str | None:
    """Return the file's earlier name, if an agent renamed it and that is not decided yet."""
    return next((entry.moved_from for entry in unkept if entry.moved_from is not None), None)


def _of_file(path: str, changes: Sequence[UnkeptChange]) -> UnkeptOfFile:
    return UnkeptOfFile(
        file_path=path,
        n_changes=len(changes),
        added=sum(change.added for change in changes),
        removed=sum(change.removed for change in changes),
        change_ids=tuple(change.change_id for change in changes),
    )


def _is_of(place: UnkeptChange | UndonePlace, session_id: SessionName | None, turn_id: str | None) -> bool:
    is_by = session_id is None or place.session_id == session_id
    if not is_by and isinstance(place, UnkeptChange):
        candidates = getattr(place.by, "candidates", ())
        is_by = any(session_of(candidate) == session_id for candidate in candidates)
    return is_by and turn_id in {None, place.turn_id}
