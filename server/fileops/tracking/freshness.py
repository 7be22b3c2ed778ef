"""Is what a session saw still what stands there? All that the service asks and tells of it.

Thread-safe; called in worker threads and, `note_write`, inside a file's lock. Where both are needed, the file's lock is
taken before that of the registry, and no file is touched under the latter.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal

from msgspec import Struct

from fileops.core.stamps import is_unmoved
from fileops.core.tracker import Seen
from fileops.model.errors import FileMissing, FileOpsError, ModifiedExternally, NotRead, PathMoved, Stale
from fileops.model.events import DidConflict
from fileops.model.files import Committed, Snapshot, Source, StaleReason, Stamp
from fileops.model.results import ForeignChange
from fileops.ports import Clock, Events, FileSystem
from fileops.tracking.checker import FreshnessChecker, Mode, moved_by_stat, reason_of
from fileops.tracking.content_cache import diff_between
from fileops.tracking.monitor import DEBOUNCE_S, SWEEP_S, FileMonitor, Moved
from fileops.tracking.registry import TrackerRegistry
from fileops.tracking.watches import FolderWatchMaker


class TrackedFile(Struct, frozen=True, kw_only=True):
    """One line of `fileops/tracked`. Times in seconds since the epoch."""

    file_path: str
    state: Literal["fresh", "stale"]
    reason: StaleReason | None
    read_at: float
    mtime: float
    size_bytes: int


class Conflict(Struct, frozen=True, kw_only=True):
    """A file that is no longer what the session saw. Times in seconds, size_diff in bytes; None where it is gone."""

    file_path: str
    reason: StaleReason
    source: str
    last_read: float
    last_modified: float
    current_modified: float | None
    size_diff: int | None


class Freshness:
    def __init__(
        self,
        fs: FileSystem,
        events: Events,
        clock: Clock,
        *,
        mode: Mode = "mtime",
        open_watch: FolderWatchMaker | None = None,
        moved: Moved | None = None,
        is_open: Callable[[str], bool] = lambda path: False,
        debounce_s: float = DEBOUNCE_S,
        sweep_s: float = SWEEP_S,
    ) -> None:
        """Nothing is started before the first file is tracked.

        open_watch: None for no watcher (the sweep alone). moved: a cheap way to see which of many files moved, by
        default one `fs.stat` each. is_open: whether a canonical path is open as a document; then content decides.
        """
        self._fs, self._events, self._clock = fs, events, clock
        self._moved = moved or partial(moved_by_stat, fs)
        self._lookout = FileMonitor(
            look=self.look,
            each_sweep=self._check_links,
            moved=self._moved,
            on_health=events.publish,
            open_watch=open_watch,
            debounce_s=debounce_s,
            sweep_s=sweep_s,
        )
        self._sightings = TrackerRegistry(self._lookout, events, clock)
        self._looker = FreshnessChecker(fs, self._sightings, clock, mode=mode, is_open=is_open)
        self._same_bytes_suffice: Callable[[str], bool] = (lambda path: True) if mode == "content" else is_open

    # --- what sessions see and write -------------------------------------------------------------------------

    def note_read(
        self,
        session_id: str,
        given_path: str,
        path: str,
        stamp: Stamp,
        taken_ns: int,
        digest: bytes | None,
        *,
        source: Source = "disk",
        version: int | None = None,
        content: bytes | None = None,
    ) -> None:
        """A read succeeded. digest: of the whole content, None where only a part was seen; content: if at hand."""
        seen = Seen(
            given_path=given_path, stamp=stamp, taken_ns=taken_ns, read_ns=self._clock.time_ns(),
            digest=digest, source=source, version=version,
        )  # fmt: skip
        before = self._sightings.record(session_id, path, seen, content)
        if before is None:
            self._lookout.check(path)
        elif not is_unmoved(before, stamp):  # somebody may be behind
            self._lookout.hint(path)

    def note_write(self, session_id: str, given_path: str, committed: Committed) -> None:
        """Inside the file's lock, directly after the commit: the writer's new base, and stale for everyone else."""
        snapshot = committed.snapshot
        if snapshot.stamp is None:
            self._sightings.record_removal(session_id, snapshot.path)
            return
        seen = Seen(
            given_path=given_path, stamp=snapshot.stamp, taken_ns=snapshot.taken_ns,
            read_ns=self._clock.time_ns(), digest=snapshot.digest, source=snapshot.source, version=snapshot.version,
        )  # fmt: skip
        self._sightings.record_write(
            session_id, snapshot.path, seen, snapshot.data,
            same_bytes_suffice=self._same_bytes_suffice(snapshot.path),
        )  # fmt: skip

    def note_blind_write(self, session_id: str, committed: Committed) -> None:
        """As `note_write`, of a session that had not seen what stood: stale for everyone who had."""
        snapshot = committed.snapshot
        if snapshot.stamp is None:
            self._sightings.record_removal(session_id, snapshot.path)
        else:
            self._sightings.record_blind_write(session_id, snapshot.path, snapshot.stamp)

    def note_missing(self, session_id: str, path: str) -> None:
        """The session was told that the file does not exist: nothing of it counts as seen any more."""
        self._sightings.record_missing(session_id, path)

    # --- may this session edit? ------------------------------------------------------------------------------

    def is_tracked(self, session_id: str, path: str) -> bool:
        return self._sightings.seen(session_id, path) is not None

    def require_tracked(self, session_id: str, path: str) -> Seen:
        """Raises: NotRead."""
        seen = self._sightings.seen(session_id, path)
        if seen is None:
            raise NotRead
        return seen

    def require_fresh(self, session_id: str, snapshot: Snapshot, *, dry_run: bool = False) -> None:
        """Whether the session saw what is in the snapshot, to the byte where all of it was seen.

        A dry run changes no entry and publishes nothing. Raises: FileMissing, NotRead, ModifiedExternally; Stale
        where the snapshot is behind what the session saw or wrote meanwhile: look again.
        """
        path = snapshot.path
        if not snapshot.exists:
            if not dry_run:
                self.note_missing(session_id, path)
            raise FileMissing
        seen = self.require_tracked(session_id, path)
        if not self._looker.is_seen(seen, snapshot):
            with self._fs.hold(path):  # an own write is noted before its lock is free: now it has been
                seen = self.require_tracked(session_id, path)
                if not self._looker.is_seen(seen, snapshot):
                    if self._looker.is_outdated(seen, snapshot):
                        raise Stale(path=path)
                    raise self._conflict(session_id, seen, snapshot, dry_run=dry_run)
        if not dry_run and snapshot.stamp is not None:
            self._sightings.confirm(session_id, path, seen, snapshot.stamp, snapshot.taken_ns, snapshot.data)

    def _conflict(self, session_id: str, seen: Seen, snapshot: Snapshot, *, dry_run: bool) -> ModifiedExternally:
        """What the caller is told; unless in a dry run, everyone else too."""
        path, stamp = snapshot.path, snapshot.stamp
        writer = self._sightings.writer(path, stamp)
        changed_by = "buffer" if snapshot.source == "buffer" else writer or "external"
        if not dry_run:
            source = changed_by if changed_by in {"buffer", "external"} else f"session:{changed_by}"
            self._sightings.mark_stale(session_id, path, reason_of(seen, stamp), source)
            self._events.publish(
                DidConflict(
                    file_path=seen.given_path,
                    session_id=session_id,
                    last_read=seen.read_ns / 1e9,
                    last_modified=seen.stamp.mtime_ns / 1e9,
                    current_modified=stamp.mtime_ns / 1e9 if stamp is not None else None,
                    size_diff=len(snapshot.data) - seen.stamp.size_bytes,
                )
            )
        first_changed_by = seen.stale_source.removeprefix("session:") if seen.stale is not None else changed_by
        base = self._sightings.content(seen.digest)
        return ModifiedExternally(
            changed_by=changed_by,
            diff_since_read=None if base is None else diff_between(base, snapshot.data, seen.given_path),
            also_changed_by=first_changed_by if first_changed_by != changed_by else None,
        )

    # --- what is tracked -------------------------------------------------------------------------------------

    def tracked(self, session_id: str) -> tuple[TrackedFile, ...]:
        """In the order of first reading. Looks at the files, so call it in a worker thread."""
        files = [(path, seen.stamp) for path, seen in self._sightings.of_session(session_id)]
        for path in self._moved(files):
            self.look(path)
        return tuple(
            TrackedFile(
                file_path=seen.given_path,
                state="fresh" if seen.stale is None else "stale",
                reason=seen.stale,
                read_at=seen.read_ns / 1e9,
                mtime=seen.stamp.mtime_ns / 1e9,
                size_bytes=seen.stamp.size_bytes,
            )
            for _, seen in self._sightings.of_session(session_id)
        )

    def conflicts(self, session_id: str) -> tuple[Conflict, ...]:
        """Of what the session has read, what has changed since. Looks at the files, as `tracked` does."""
        self.tracked(session_id)
        stale = ((path, seen) for path, seen in self._sightings.of_session(session_id) if seen.stale is not None)
        return tuple(self._conflict_at(path, seen, seen.stale) for path, seen in stale if seen.stale is not None)

    def foreign_changes(self, session_id: str) -> tuple[ForeignChange, ...]:
        """What others changed in files that the session has read, in the order of first reading.

        Reads the stale files, so call it in a worker thread. A file whose content is again as it was read is left out.
        """
        self.tracked(session_id)
        stale = [(path, seen) for path, seen in self._sightings.of_session(session_id) if seen.stale is not None]
        changes = (self._foreign_change(path, seen) for path, seen in stale)
        return tuple(change for change in changes if change is not None)

    def _foreign_change(self, path: str, seen: Seen) -> ForeignChange | None:
        """None where nothing differs, or the file cannot be read at the moment."""
        changed_by = seen.stale_source.removeprefix("session:")
        try:
            snapshot = self._fs.read(path)
        except PathMoved:
            return None
        except FileOpsError:  # it is there, and cannot be read: only that is known
            return ForeignChange(path=path, file_path=seen.given_path, changed_by=changed_by, digest=b"", diff=None)
        if not snapshot.exists:
            return ForeignChange(path=path, file_path=seen.given_path, changed_by=changed_by, digest=None, diff=None)
        if snapshot.digest == seen.digest:
            return None
        base = self._sightings.content(seen.digest)
        diff = None if base is None else diff_between(base, snapshot.data, seen.given_path)
        return ForeignChange(
            path=path, file_path=seen.given_path, changed_by=changed_by, digest=snapshot.digest, diff=diff
        )

    def _conflict_at(self, path: str, seen: Seen, reason: StaleReason) -> Conflict:
        try:
            stamp = self._fs.stat(path)
        except (FileOpsError, PathMoved):
            stamp = None
        return Conflict(
            file_path=seen.given_path,
            reason=reason,
            source=seen.stale_source,
            last_read=seen.read_ns / 1e9,
            last_modified=seen.stamp.mtime_ns / 1e9,
            current_modified=None if stamp is None else stamp.mtime_ns / 1e9,
            size_diff=None if stamp is None else stamp.size_bytes - seen.stamp.size_bytes,
        )

    def paths_of(self, session_id: str, given_path: str) -> tuple[str, ...]:
        """Canonical paths of what the session read under this name."""
        known = self._sightings.of_session(session_id)
        return tuple(path for path, seen in known if given_path in {path, seen.given_path})

    def forget(self, session_id: str, path: str) -> None:
        self._sightings.drop(session_id, path)

    def close_session(self, session_id: str) -> None:
        self._sightings.drop_session(session_id)

    def close(self) -> None:
        """Look no more; ends the thread."""
        self._lookout.close()

    # --- looking again ---------------------------------------------------------------------------------------

    def hint(self, path: str) -> None:
        """Something may have happened to this canonical path (or to the document open on it). Never waits."""
        self._lookout.hint(path)

    def look(self, path: str) -> None:
        """Look at one file now, in the calling thread."""
        self._looker.look(path)

    def sweep(self) -> None:
        """Look at everything now, in the calling thread."""
        self._lookout.sweep_now()

    def _check_links(self) -> None:
        self._looker.check_links()
