"""Refusals of edits to files that others changed: who changed the file, and how."""

from fileops.core.tracker import ReadRecord
from fileops.model.edits import Relevance
from fileops.model.errors import ModifiedExternally
from fileops.model.events import DidConflict
from fileops.model.files import Snapshot
from fileops.ports import EventSink
from fileops.tracking.checker import reason_of
from fileops.tracking.content_cache import diff_between
from fileops.tracking.registry import TrackerRegistry


class Refusals:
    def __init__(self, registry: TrackerRegistry, events: EventSink) -> None:
        self._registry, self._events = registry, events

    def last_changed_by(self, snapshot: Snapshot) -> str:
        """Return who made the present content: "external", "buffer" or "session:ID"."""
        if snapshot.is_typed:
            return "buffer"
        writer = self._registry.writer(snapshot.path, snapshot.stamp)
        return f"session:{writer}" if writer else "external"

    def refusal(
        self,
        session_id: str,
        seen: ReadRecord,
        snapshot: Snapshot,
        *,
        dry_run: bool,
        relevance: Relevance | None = None,
    ) -> ModifiedExternally:
        """The error for the caller; unless it is a dry run, the other clients are notified too."""
        path, stamp = snapshot.path, snapshot.stamp
        is_unseen = seen.digest == snapshot.digest and seen.shown is not None
        changed_by = seen.stale_source if is_unseen else self.last_changed_by(snapshot)
        if not dry_run:
            self._registry.mark_stale(session_id, path, reason_of(seen, stamp), changed_by)
            self._events.publish(
                DidConflict(
                    file_path=seen.given_path,
                    session_id=session_id,
                    last_read=seen.read_ns / 1e9,
                    last_modified=seen.stamp.mtime_ns / 1e9,
                    current_modified=stamp.mtime_ns / 1e9 if stamp is not None else None,
                    size_diff=(len(snapshot.data) if stamp is None else stamp.size_bytes) - seen.stamp.size_bytes,
                )
            )
        first_changed_by = seen.stale_source if seen.stale is not None else changed_by
        base = self._registry.content(seen.shown or seen.digest)
        return ModifiedExternally(
            changed_by=changed_by,
            diff_since_read=None if base is None else diff_between(base, snapshot.data, seen.given_path),
            also_changed_by=first_changed_by if first_changed_by != changed_by else None,
            relevance=relevance,
        )
