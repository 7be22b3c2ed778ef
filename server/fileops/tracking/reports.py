"""Reports on what a session has read: which files, what others changed in them, and how.

A report reads or stats its files, so it is made in a worker thread. The checks (`checker.py`) have found out before
which files have changed.
"""

from collections.abc import Callable

from msgspec.structs import replace

from fileops.core.notebook.cell_changes import cells_since_read, compare
from fileops.core.tracker import ReadRecord, reason_of
from fileops.model.edits import Relevance
from fileops.model.errors import FileOpsError, ModifiedExternally
from fileops.model.events import DidConflict
from fileops.model.files import Snapshot, StaleReason, Stamp
from fileops.model.internal_errors import PathMoved
from fileops.model.results import Conflict, ForeignChange, TrackedFile
from fileops.model.sessions import SessionName
from fileops.ports import EventSink, FileSystem
from fileops.tracking.content_cache import diff_between
from fileops.tracking.registry import TrackerRegistry

IsHidden = Callable[..., bool]  # names of a file -> whether the session must not know of it


def hide_nothing(*_names: str) -> bool:
    return False


# --- which files a session has read ------------------------------------------------------------------------------


def list_tracked(registry: TrackerRegistry, session_id: SessionName, is_hidden: IsHidden) -> tuple[TrackedFile, ...]:
    """Return what the session has read, in the order of first reading."""
    return tuple(
        TrackedFile(
            file_path=record.given_path,
            state="fresh" if record.stale is None else "stale",
            reason=record.stale,
            read_at=record.read_ns / 1e9,
            mtime=record.stamp.mtime_ns / 1e9,
            size_bytes=record.stamp.size_bytes,
        )
        for path, record in registry.of_session(session_id)
        if not is_hidden(path, record.given_path)
    )


def conflicts(
    fs: FileSystem, registry: TrackerRegistry, session_id: SessionName, is_hidden: IsHidden
) -> tuple[Conflict, ...]:
    """Return what is known to have changed since the session read it. Stats these files."""
    return tuple(
        _conflict_at(record, record.stale, _stamp_at(fs, path))
        for path, record in registry.of_session(session_id)
        if record.stale is not None and not is_hidden(path, record.given_path)
    )


def _conflict_at(record: ReadRecord, reason: StaleReason, stamp: Stamp | None) -> Conflict:
    return Conflict(
        file_path=record.given_path,
        reason=reason,
        source=record.stale_source,
        last_read=record.read_ns / 1e9,
        last_modified=record.stamp.mtime_ns / 1e9,
        current_modified=None if stamp is None else stamp.mtime_ns / 1e9,
        size_diff=None if stamp is None else stamp.size_bytes - record.stamp.size_bytes,
    )


def _stamp_at(fs: FileSystem, path: str) -> Stamp | None:
    """Return the stamp; None if there is no file, or if that cannot be known."""
    try:
        return fs.stat(path)
    except (FileOpsError, PathMoved):
        return None


# --- why an edit is refused --------------------------------------------------------------------------------------


class Refusals:
    """Refusals of edits to files that others changed: who changed the file, and how."""

    def __init__(self, registry: TrackerRegistry, events: EventSink) -> None:
        self._registry = registry
        self._events = events

    def last_changed_by(self, snapshot: Snapshot) -> str:
        """Return who made the current content: "external", "buffer" or "session:ID"."""
        if snapshot.is_typed:
            return "buffer"
        writer = self._registry.writer(snapshot.path, snapshot.stamp)
        return f"session:{writer}" if writer else "external"

    def refusal(
        self,
        session_id: SessionName,
        record: ReadRecord,
        snapshot: Snapshot,
        *,
        dry_run: bool,
        relevance: Relevance | None = None,
        edit_index: int | None = None,
    ) -> ModifiedExternally:
        """Return the error for the caller; unless it is a dry run, other clients are notified as well."""
        path, stamp = snapshot.path, snapshot.stamp
        is_unshown = record.digest == snapshot.digest and record.shown is not None
        changed_by = record.stale_source if is_unshown else self.last_changed_by(snapshot)
        if not dry_run:
            self._registry.mark_stale(session_id, path, reason_of(record, stamp), changed_by)
            self._events.publish(
                DidConflict(
                    file_path=record.given_path,
                    session_id=session_id,
                    last_read=record.read_ns / 1e9,
                    last_modified=record.stamp.mtime_ns / 1e9,
                    current_modified=stamp.mtime_ns / 1e9 if stamp is not None else None,
                    size_diff=(len(snapshot.data) if stamp is None else stamp.size_bytes) - record.stamp.size_bytes,
                )
            )
        first_changed_by = record.stale_source if record.stale is not None else changed_by
        base = self._registry.content(record.shown or record.digest)
        return ModifiedExternally(
            changed_by=changed_by,
            diff_since_read=None if base is None else diff_between(base, snapshot.data, record.given_path),
            cells_since_read=None if base is None else cells_since_read(path, record.given_path, base, snapshot.data),
            also_changed_by=first_changed_by if first_changed_by != changed_by else None,
            relevance=relevance,
            edit_index=edit_index,
        )


# --- what others changed -----------------------------------------------------------------------------------------


class ForeignChanges:
    """What others changed in the files that a session has read, as diffs."""

    def __init__(self, fs: FileSystem, registry: TrackerRegistry) -> None:
        self._fs = fs
        self._registry = registry

    def paths(self, session_id: SessionName) -> tuple[str, ...]:
        """Return the canonical paths of files that changed, or that have changes which the session was not shown."""
        return tuple(path for path, record in self._registry.of_session(session_id) if _has_changed(record))

    def at(self, session_id: SessionName, path: str) -> ForeignChange | None:
        """Return the change; None if nothing differs or the file cannot be read now."""
        record = self._registry.record_of(session_id, path)
        if record is None or not _has_changed(record):
            return None
        base = record.shown or record.digest
        change = ForeignChange(
            path=path,
            file_path=record.given_path,
            changed_by=record.stale_source,
            digest=None,
            diff=None,
            base=base,
        )
        try:
            snapshot = self._fs.read(path)
        except PathMoved:
            return None
        except FileOpsError:  # it exists but cannot be read; nothing more is known
            return replace(change, digest=b"")
        if not snapshot.exists:
            return change
        if snapshot.digest == base:
            return None
        old = self._registry.content(base)
        diff = None if old is None else diff_between(old, snapshot.data, record.given_path)
        cells = () if record.cells is None else compare(path, old, snapshot.data)
        return replace(change, digest=snapshot.digest, diff=diff, snapshot=snapshot, compared=cells)

    def stamp_at(self, path: str) -> Stamp | None:
        """Return the stamp; None if there is no file, or if that cannot be known."""
        return _stamp_at(self._fs, path)

    def note_shown(self, session_id: SessionName, change: ForeignChange) -> None:
        """Record that the session was shown all of the change: it knows the current content, and the file is fresh."""
        snapshot, record = change.snapshot, self._registry.record_of(session_id, change.path)
        if record is None or snapshot is None or snapshot.stamp is None:
            return
        if (record.shown or record.digest) != change.base:
            return  # the session has read or written since
        shown = replace(
            record,
            stamp=snapshot.stamp,
            taken_ns=snapshot.taken_ns,
            digest=snapshot.digest,
            shown=None,
            source=snapshot.source,
            version=snapshot.version,
            stale=None,
            stale_source="external",
        )
        self._registry.record_shown(session_id, change.path, record, shown, snapshot.data)


def _has_changed(record: ReadRecord) -> bool:
    return record.stale is not None or record.shown is not None
