"""What others changed in the files that a session has read, as diffs.

Reads the files, so it is called in worker threads. Which files changed is found out by checks (`checker.py`).
"""

from msgspec.structs import replace

from fileops.core.tracker import ReadRecord
from fileops.model.errors import FileOpsError
from fileops.model.files import Stamp
from fileops.model.internal_errors import PathMoved
from fileops.model.results import ForeignChange
from fileops.ports import FileSystem
from fileops.tracking.content_cache import diff_between
from fileops.tracking.registry import TrackerRegistry


class ForeignChanges:
    def __init__(self, fs: FileSystem, registry: TrackerRegistry) -> None:
        self._fs, self._registry = fs, registry

    def paths(self, session_id: str) -> tuple[str, ...]:
        """Canonical paths of the files that changed, or that have changes which the session was not shown."""
        return tuple(path for path, seen in self._registry.of_session(session_id) if _has_changed(seen))

    def at(self, session_id: str, path: str) -> ForeignChange | None:
        """None where nothing differs, or the file cannot be read at the moment."""
        seen = self._registry.seen(session_id, path)
        if seen is None or not _has_changed(seen):
            return None
        base, changed_by = seen.shown or seen.digest, seen.stale_source
        change = ForeignChange(
            path=path, file_path=seen.given_path, changed_by=changed_by, digest=None, diff=None, base=base
        )
        try:
            snapshot = self._fs.read(path)
        except PathMoved:
            return None
        except FileOpsError:  # it is there, and cannot be read: only that is known
            return replace(change, digest=b"")
        if not snapshot.exists:
            return change
        if snapshot.digest == base:
            return None
        old = self._registry.content(base)
        diff = None if old is None else diff_between(old, snapshot.data, seen.given_path)
        return replace(change, digest=snapshot.digest, diff=diff, snapshot=snapshot)

    def stamp_at(self, path: str) -> Stamp | None:
        """None if there is no file, or if that cannot be known."""
        try:
            return self._fs.stat(path)
        except (FileOpsError, PathMoved):
            return None

    def note_shown(self, session_id: str, change: ForeignChange) -> None:
        """Record that the session was shown all of the change: it knows the present content, and the file is fresh."""
        snapshot, seen = change.snapshot, self._registry.seen(session_id, change.path)
        if seen is None or snapshot is None or snapshot.stamp is None or (seen.shown or seen.digest) != change.base:
            return
        now = replace(
            seen, stamp=snapshot.stamp, taken_ns=snapshot.taken_ns, digest=snapshot.digest, shown=None,
            source=snapshot.source, version=snapshot.version, stale=None, stale_source="external",
        )  # fmt: skip
        self._registry.record_shown(session_id, change.path, seen, now, snapshot.data)


def _has_changed(seen: ReadRecord) -> bool:
    return seen.stale is not None or seen.shown is not None
