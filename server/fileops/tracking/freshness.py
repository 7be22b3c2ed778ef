"""Freshness: whether the content that a session last read is still the current content of the file.

Thread-safe. Called in worker threads; `note_write` is called inside a file's lock. A file's lock is taken before the
registry's, and no file is touched under the latter.
"""

from collections.abc import Callable, Sequence
from functools import partial

from fileops.core.notebook.known_cells import after_host_write, after_read, after_write
from fileops.core.stamps import same_stamp
from fileops.core.tracker import FreshnessMode, ReadRecord
from fileops.model.digest import content_digest
from fileops.model.edits import Relevance
from fileops.model.errors import FileMissing, ModifiedExternally, NotRead
from fileops.model.files import Base, Committed, ReadProof, Snapshot, Stamp
from fileops.model.internal_errors import Stale
from fileops.model.notebooks import CellChange, KnownCells
from fileops.model.results import Conflict, TrackedFile
from fileops.model.sessions import SessionName
from fileops.model.settings import FreshnessRule
from fileops.ports import Clock, EventSink, FileSystem
from fileops.tracking.checker import FreshnessChecker, LinkChecker, find_changed_by_stat
from fileops.tracking.filesystem_monitors import Device, FilesystemMonitors, OnHealth
from fileops.tracking.known_changes import KnownChanges
from fileops.tracking.monitor import ChangedPaths, FileMonitor
from fileops.tracking.registry import TrackerRegistry
from fileops.tracking.reports import ForeignChanges, IsHidden, Refusals, conflicts, hide_nothing, list_tracked
from fileops.tracking.schedule import DEBOUNCE_S, SWEEP_S
from fileops.tracking.watches import FolderWatchMaker

MAX_AT_ONCE = 16  # files that the event loop stats itself, which is cheaper than a thread


class Freshness:
    def __init__(
        self,
        fs: FileSystem,
        events: EventSink,
        clock: Clock,
        *,
        mode: FreshnessRule = "mtime",
        open_watch: FolderWatchMaker | None = None,
        changed_paths: ChangedPaths | None = None,
        has_stamp_at_once: Callable[[str, Stamp], bool] = lambda path, stamp: False,
        is_open: Callable[[str], bool] = lambda path: False,
        before_stale: Callable[[str], None] = lambda path: None,
        debounce_s: float = DEBOUNCE_S,
        sweep_s: float = SWEEP_S,
    ) -> None:
        """Nothing starts before the first file is tracked.

        open_watch: None for no watcher (only the sweep). changed_paths: a cheap way to find which of many files have
        changed, by default one `fs.stat` each. has_stamp_at_once: whether a file is known, without waiting, to have a
        stamp. is_open: whether a canonical path is open as a document; content then decides. before_stale: see
        FreshnessChecker.
        """
        self._fs = fs
        self._clock = clock
        self._open_watch = open_watch
        self._changed_paths = changed_paths or partial(find_changed_by_stat, fs)
        self._has_stamp_at_once = has_stamp_at_once
        self._debounce_s = debounce_s
        self._sweep_s = sweep_s
        self.is_open = is_open
        checked: FreshnessMode = "mtime" if mode == "mtime" else "content"
        self._same_bytes_suffice: Callable[[str], bool] = is_open if checked == "mtime" else lambda path: True
        # A read is entered in the registry, which makes the monitors track the file. A monitor then makes the checker
        # observe the file and judge the records; the checker publishes the verdicts through the registry. The first
        # read that needs the monitors creates them, so they are what connects the others.
        self._monitors = FilesystemMonitors(self._monitor_for, events.publish)
        self._registry = TrackerRegistry(self._monitors, events, clock)
        self._checker = FreshnessChecker(
            fs, self._registry, clock, mode=checked, is_open=is_open, before_stale=before_stale
        )
        self._refusals = Refusals(self._registry, events)
        self.foreign_changes = ForeignChanges(fs, self._registry)
        self.known_changes = KnownChanges()
        if mode == "relevant":
            self.keep_bases()

    def _monitor_for(self, device: Device, on_health: OnHealth) -> FileMonitor:
        links = LinkChecker(self._fs, self._registry, lambda path: self._monitors.has(device, path))
        return FileMonitor(
            check=self._checker.check,
            each_sweep=links.check,
            on_health=on_health,
            open_watch=self._open_watch,
            changed_paths=self._changed_paths,
            debounce_s=self._debounce_s,
            sweep_s=self._sweep_s,
        )

    def keep_bases(self) -> None:
        """Keep what sessions read from now on, so that their edits can be rebased: for `base_of`."""
        self._registry.keep_bases()

    # --- what sessions read and write ------------------------------------------------------------------------

    def note_read(self, read_proof: ReadProof, *, checks_later: bool = False) -> None:
        """Record a read.

        If the session has been shown the whole content, a part of the same content does not change that.

        checks_later: do not wait for the disk here, but let the monitor check whether the file has changed since.
        """
        session_id, path, digest = read_proof.session_id, read_proof.path, read_proof.digest
        is_whole = read_proof.is_whole
        if not is_whole and digest is not None and (before := self._registry.record_of(session_id, path)) is not None:
            is_whole = before.is_known_whole and before.digest == digest
        record = ReadRecord(
            given_path=read_proof.given_path,
            stamp=read_proof.stamp,
            taken_ns=read_proof.taken_ns,
            read_ns=self._clock.time_ns(),
            digest=digest,
            is_known_whole=is_whole,
            source=read_proof.source,
            version=read_proof.version,
            cells=None
            if read_proof.cells is None
            else after_read(self.find_known_cells(session_id, path), read_proof.cells),
        )
        if digest is not None:
            self.known_changes.note_read(path, digest, read_proof.content)
        known_stamp = self._registry.record_read(session_id, path, record, read_proof.content)
        if known_stamp is None and not checks_later:
            # It may have changed between its stamp and the start of its watch.
            needs_check = bool(self._changed_paths(((path, read_proof.stamp),)))
        else:
            needs_check = known_stamp is None or not same_stamp(known_stamp, read_proof.stamp)  # others may be stale
        if needs_check:
            self._monitors.hint(path)

    def note_write(
        self,
        session_id: SessionName,
        given_path: str,
        committed: Committed,
        *,
        is_known_whole: bool = False,
        shown: bytes | None = None,
        changed_by: str = "external",
        before: bytes | None = None,
        cell_changes: Sequence[CellChange] = (),
        cells: KnownCells | None = None,
    ) -> None:
        """Record a write, inside the file's lock: the writer's new base, and stale for all other sessions.

        is_known_whole: whether the session wrote the whole content. If it knew the whole before, it still does. shown:
        the content without others' changes that the session has not been shown, None if there are none; changed_by: who
        made those. before: the content that was replaced, if it may be a notebook; cell_changes: see `after_write`.
        cells: what is known of them, if that is decided already.
        """
        snapshot = committed.snapshot
        if shown == snapshot.data:
            shown = None
        if snapshot.stamp is None:
            self._registry.record_removal(session_id, snapshot.path)
            return
        known = self._registry.record_of(session_id, snapshot.path)
        if cells is None and known is not None:
            cells = known.cells
        if cells is not None and before is not None:
            cells = after_write(cells, before, snapshot.data, cell_changes)
        record = ReadRecord(
            given_path=given_path,
            stamp=snapshot.stamp,
            taken_ns=snapshot.taken_ns,
            read_ns=self._clock.time_ns(),
            digest=snapshot.digest,
            source=snapshot.source,
            version=snapshot.version,
            is_known_whole=is_known_whole or (known is not None and known.is_known_whole),
            cells=cells,
            shown=None if shown is None else content_digest(shown),
            stale_source="external" if shown is None else changed_by,
        )
        self._registry.record_write(
            session_id,
            snapshot.path,
            record,
            snapshot.data,
            same_bytes_suffice=self._same_bytes_suffice(snapshot.path),
            shown=shown,
        )

    def note_cells_written(
        self,
        session_id: SessionName,
        given_path: str,
        committed: Committed,
        before: Snapshot,
        changes: Sequence[CellChange],
        *,
        shown: bytes | None,
    ) -> None:
        """Record a change of cells by a host's own tool, which reads the notebook itself. See `note_write`."""
        known = self.find_known_cells(session_id, before.path)
        cells = after_host_write(known, before.data, committed.snapshot.data, changes)
        self.note_write(session_id, given_path, committed, shown=shown, cells=cells)

    def note_writer(self, session_id: SessionName, path: str, before: bytes) -> None:
        """Name the author of a change that was seen on the disk first. Args: before: digest of the content before."""
        self._registry.note_writer(session_id, path, before)

    def find_shown(self, session_id: SessionName, before: Snapshot) -> bytes | None:
        """Return what the session was shown of a file, if that is not all of this content; else None."""
        record = self._registry.record_of(session_id, before.path)
        if record is None or (record.shown is None and record.digest == before.digest):
            return None
        return self._registry.base(record).shown

    def note_blind_write(self, session_id: SessionName, committed: Committed) -> None:
        """Record a write by a session that had not read the file: stale for all that had. See `note_write`."""
        snapshot = committed.snapshot
        if snapshot.stamp is None:
            self._registry.record_removal(session_id, snapshot.path)
        else:
            self._registry.record_blind_write(session_id, snapshot.path, snapshot.stamp)

    def note_rename(self, session_id: SessionName, given_path: str, old_path: str, committed: Committed) -> None:
        """Record a rename, inside the locks of both paths: the session knows the new path as it knew the old."""
        before = self._registry.record_of(session_id, old_path)
        self._registry.record_removal(session_id, old_path)
        is_known_whole = before is not None and before.is_known_whole
        self.note_write(session_id, given_path, committed, is_known_whole=is_known_whole)

    def note_missing(self, session_id: SessionName, path: str) -> None:
        """Record that a request of the session found no file: drop its record."""
        self._registry.record_missing(session_id, path)

    # --- may this session edit? ------------------------------------------------------------------------------

    def is_tracked(self, session_id: SessionName, path: str) -> bool:
        return self._registry.record_of(session_id, path) is not None

    def find_known_cells(self, session_id: SessionName, path: str) -> KnownCells | None:
        """Return what the session knows of the cells of a notebook; None if it has read none of them."""
        record = self._registry.record_of(session_id, path)
        return None if record is None else record.cells

    def has_unshown(self, session_id: SessionName, path: str) -> bool:
        """Return whether the session was not shown how others changed the file before its own last edit of it."""
        record = self._registry.record_of(session_id, path)
        return record is not None and record.shown is not None

    def knows(self, session_id: SessionName, snapshot: Snapshot) -> bool:
        """Return whether the session knows all of the snapshot, from reads or from its own edits."""
        record = self._registry.record_of(session_id, snapshot.path)
        return record is not None and record.shown is None and self._knows(record, snapshot)

    def mark_unshown(self, session_id: SessionName, path: str) -> None:
        """Make the file stale for the session, whose own edit was merged with changes that it has not been shown."""
        record = self._registry.record_of(session_id, path)
        if record is not None:
            self._registry.mark_stale(session_id, path, "modified", record.stale_source)

    def require_tracked(self, session_id: SessionName, path: str) -> ReadRecord:
        """Raises: NotRead."""
        record = self._registry.record_of(session_id, path)
        if record is None:
            raise NotRead
        return record

    def require_fresh(
        self,
        session_id: SessionName,
        snapshot: Snapshot,
        *,
        needs_whole: bool = False,
        same_bytes_suffice: bool = False,
        dry_run: bool = False,
    ) -> None:
        """Require that the snapshot is what the session has read, byte for byte if it read all of it.

        needs_whole: whether the session must have been shown the whole content. same_bytes_suffice: whether equal bytes
        pass even with another time, as they always do if this object's mode is not "mtime". A dry run changes no record
        and publishes nothing.

        Raises: FileMissing, NotRead, ModifiedExternally; Stale if the snapshot is older than what the session has read
        or written since, so that the caller reads again.
        """
        path = snapshot.path
        record = self._require_read(session_id, snapshot, needs_whole=needs_whole, dry_run=dry_run)
        is_known = self._knows if same_bytes_suffice else self._checker.matches
        if record.shown is not None or not is_known(record, snapshot):
            with self._fs.lock(path):  # our own write is recorded before it unlocks
                record = self.require_tracked(session_id, path)
                if record.shown is not None or not is_known(record, snapshot):
                    if self._checker.is_outdated(record, snapshot):
                        raise Stale(path=path)
                    raise self._refusals.refusal(session_id, record, snapshot, dry_run=dry_run)
        if not dry_run and snapshot.stamp is not None:
            self._registry.confirm(session_id, path, record, snapshot.stamp, snapshot.taken_ns, snapshot.data)

    def base_of(
        self, session_id: SessionName, snapshot: Snapshot, *, needs_whole: bool = False, dry_run: bool = False
    ) -> Base | None:
        """Return what the session knows of the file, if that is not all of the snapshot; otherwise None.

        The arguments and errors are those of `require_fresh`. Raises: FileMissing, NotRead, Stale.
        """
        path = snapshot.path
        record = self._require_read(session_id, snapshot, needs_whole=needs_whole, dry_run=dry_run)
        if not self._knows(record, snapshot):
            with self._fs.lock(path):  # as in `require_fresh`
                record = self.require_tracked(session_id, path)
                if not self._knows(record, snapshot):
                    if self._checker.is_outdated(record, snapshot):
                        raise Stale(path=path)
                    return self._registry.base(record)
        if not dry_run and snapshot.stamp is not None:
            self._registry.confirm(session_id, path, record, snapshot.stamp, snapshot.taken_ns, snapshot.data)
        return None if record.shown is None else self._registry.base(record)

    def find_changer(self, session_id: SessionName, snapshot: Snapshot) -> str:
        """Return who has changed the file since the session read it: "external", "buffer" or "session:ID".

        Raises: NotRead.
        """
        record = self.require_tracked(session_id, snapshot.path)
        return self._refusals.last_changed_by(snapshot) if record.digest != snapshot.digest else record.stale_source

    def refusal(
        self,
        session_id: SessionName,
        snapshot: Snapshot,
        relevance: Relevance,
        *,
        dry_run: bool = False,
        edit_index: int | None = None,
    ) -> ModifiedExternally:
        """Return the error for an edit to which others' changes are relevant, see `require_fresh`.

        Args: edit_index: the step of a notebook to which they are.
        Raises: NotRead, Stale.
        """
        with self._fs.lock(snapshot.path):
            record = self.require_tracked(session_id, snapshot.path)
            knows_all = record.shown is None and self._knows(record, snapshot)
            if knows_all or self._checker.is_outdated(record, snapshot):  # the session has read or written since
                raise Stale(path=snapshot.path)
            return self._refusals.refusal(
                session_id, record, snapshot, dry_run=dry_run, relevance=relevance, edit_index=edit_index
            )

    def _knows(self, record: ReadRecord, snapshot: Snapshot) -> bool:
        """Return whether the snapshot is what the session last knew: equal bytes suffice."""
        return record.digest == snapshot.digest or self._checker.matches(record, snapshot)

    def _require_read(
        self, session_id: SessionName, snapshot: Snapshot, *, needs_whole: bool, dry_run: bool
    ) -> ReadRecord:
        """Raises: FileMissing, NotRead."""
        if not snapshot.exists:
            if not dry_run:
                self.note_missing(session_id, snapshot.path)
            raise FileMissing
        record = self.require_tracked(session_id, snapshot.path)
        if needs_whole and not record.is_known_whole:
            raise NotRead(is_partial=True)
        return record

    # --- what is tracked -------------------------------------------------------------------------------------

    def list_tracked(self, session_id: SessionName, is_hidden: IsHidden = hide_nothing) -> tuple[TrackedFile, ...]:
        """Return the tracked files in the order of first reading. Stats them, so call it in a worker thread.

        is_hidden: whether a file with these names is left out.
        """
        self.check_all(session_id)
        return list_tracked(self._registry, session_id, is_hidden)

    def conflicts(self, session_id: SessionName, is_hidden: IsHidden = hide_nothing) -> tuple[Conflict, ...]:
        """Return what has changed since the session read it. Stats the files, as `list_tracked` does."""
        self.check_all(session_id)
        return conflicts(self._fs, self._registry, session_id, is_hidden)

    def check_all(self, session_id: SessionName) -> None:
        """Check everything that the session has read. Stats the files, so call it in a worker thread."""
        files = [(path, record.stamp) for path, record in self._registry.of_session(session_id)]
        for path in self._changed_paths(files):
            self.check(path)

    def is_known_current(self, session_id: SessionName) -> bool:
        """Return whether `check_all` would find nothing, and nothing was found before. Does not wait for a disk.

        False if that cannot be known at once, or only by checking many files.
        """
        files = self._registry.of_session(session_id)
        return (
            len(files) <= MAX_AT_ONCE
            and not self.foreign_changes.paths(session_id)
            and all(self._has_stamp_at_once(path, record.stamp) for path, record in files)
        )

    def paths_of(self, session_id: SessionName, given_path: str) -> tuple[str, ...]:
        """Return the canonical paths of what the session read under this name."""
        return self._registry.paths_under(session_id, given_path)

    def forget(self, session_id: SessionName, path: str) -> None:
        self._registry.drop(session_id, path)

    def close_session(self, session_id: SessionName) -> None:
        self._registry.drop_session(session_id)

    def close(self) -> None:
        """Stop all checks, and end the thread."""
        self._monitors.close()

    # --- checks ----------------------------------------------------------------------------------------------

    def hint(self, path: str) -> None:
        """Take a hint that something may have happened to this canonical path, or its open document. Never waits."""
        self._monitors.hint(path)

    def check(self, path: str) -> None:
        """Check one file now in the calling thread, or later in the monitor's if another thread has locked it."""
        self._monitors.check(path)

    def sweep(self) -> None:
        """Check all files now, in the calling thread."""
        self._monitors.sweep_now()
