"""What all sessions have seen, under one lock, and the notice when a sighting goes from fresh to stale.

Touches no file. Each method is one step that nobody sees half done. Notices are published under the lock, so their
order is that of what happened.
"""

import threading
from collections.abc import Mapping

from msgspec.structs import replace

from fileops.core.stamps import is_same_file, is_unmoved
from fileops.core.tracker import FileTracker, Seen
from fileops.model.events import BecameStale
from fileops.model.files import StaleReason, Stamp
from fileops.ports import Clock, Events
from fileops.tracking.content_cache import ContentCache
from fileops.tracking.monitor import FileMonitor

# Session -> what it had seen when the file was looked at, and what is wrong with it (None: nothing).
Verdicts = Mapping[str, tuple[Seen, StaleReason | None]]


class TrackerRegistry:
    def __init__(self, monitor: FileMonitor, events: Events, clock: Clock) -> None:
        self._lookout, self._events, self._clock = monitor, events, clock
        self._lock = threading.Lock()
        self._trackers: dict[str, FileTracker] = {}
        self._readers: dict[str, tuple[str, ...]] = {}  # canonical path -> sessions that track it
        self._alone: dict[str, tuple[str]] = {}  # session -> what stands in _readers where it is the only one
        self._writers: dict[str, tuple[str, Stamp]] = {}  # canonical path -> the session that wrote it last, and what
        self._links: dict[tuple[str, str], str] = {}  # (session, canonical path) -> the other path that led there
        self._led_to: dict[tuple[str, str], str] = {}  # (session, that other path) -> canonical path
        self._recent = ContentCache()

    # --- looking things up -----------------------------------------------------------------------------------

    def seen(self, session_id: str, path: str) -> Seen | None:
        with self._lock:
            return self._seen(session_id, path)

    def by_session(self, path: str) -> dict[str, Seen]:
        """Who saw the file, and what."""
        with self._lock:
            known = ((reader, self._seen(reader, path)) for reader in self._readers.get(path, ()))
            return {reader: seen for reader, seen in known if seen is not None}

    def of_session(self, session_id: str) -> tuple[tuple[str, Seen], ...]:
        """(canonical path, what was seen) in the order of first reading."""
        with self._lock:
            tracker = self._trackers.get(session_id)
            return tuple(tracker.entries()) if tracker is not None else ()

    def links(self) -> tuple[tuple[str, str, str], ...]:
        """(session, canonical path, given path) wherever the given path is not the canonical one."""
        with self._lock:
            return tuple((session_id, path, given) for (session_id, path), given in self._links.items())

    def writer(self, path: str, stamp: Stamp | None) -> str | None:
        """The session that left the file with this very stamp."""
        with self._lock:
            return self._writer(path, stamp)

    def content(self, digest: bytes | None) -> bytes | None:
        """Content that some session saw lately, where it is still kept."""
        with self._lock:
            return self._recent.get(digest)

    # --- what sessions do ------------------------------------------------------------------------------------

    def record(self, session_id: str, path: str, seen: Seen, content: bytes | None = None) -> Stamp | None:
        """What was last seen or found there by anyone; None where nobody tracked it."""
        with self._lock:
            before = self._record(session_id, path, seen)
            if seen.digest is not None and content is not None:
                self._recent.keep(seen.digest, content)
            return before

    def record_write(self, session_id: str, path: str, seen: Seen, content: bytes, *, same_bytes_suffice: bool) -> None:
        """The writer's new base; stale for everyone else, by whichever hard link they know the file."""
        with self._lock:
            self._record(session_id, path, seen)
            if seen.digest is not None:
                self._recent.keep(seen.digest, content)
            for name in (path, *self._aliases(path, seen.stamp)):
                self._writers[name] = session_id, seen.stamp
                for reader in self._readers[name]:
                    if reader == session_id and name == path:
                        continue  # that is what has just been recorded
                    known = self._trackers[reader].seen(name)
                    if reader == session_id:
                        self._trackers[reader].record(name, replace(seen, given_path=known.given_path))
                    elif same_bytes_suffice and known.digest == seen.digest:
                        if known.stale is None:
                            self._trackers[reader].renew(name, seen.stamp, seen.taken_ns)
                    elif not is_unmoved(known.stamp, seen.stamp):  # else it was read before we could note the write
                        self._mark_stale(reader, name, "modified", f"session:{session_id}")

    def record_blind_write(self, session_id: str, path: str, stamp: Stamp) -> None:
        """A write by a session that had not seen what stood: stale for everyone who had."""
        with self._lock:
            for name in (path, *self._aliases(path, stamp)):
                readers = tuple(self._readers.get(name, ()))
                if readers:
                    self._writers[name] = session_id, stamp
                for reader in readers:
                    if not is_unmoved(self._trackers[reader].seen(name).stamp, stamp):
                        self._mark_stale(reader, name, "modified", f"session:{session_id}")

    def record_removal(self, session_id: str, path: str) -> None:
        with self._lock:
            self._drop(session_id, path)
            for reader in self._readers.get(path, ()):
                self._mark_stale(reader, path, "deleted", f"session:{session_id}")

    def record_missing(self, session_id: str, path: str) -> None:
        with self._lock:
            if self._seen(session_id, path) is not None:
                self._mark_stale(session_id, path, "deleted", "external")
                self._drop(session_id, path)

    def drop(self, session_id: str, path: str) -> None:
        with self._lock:
            self._drop(session_id, path)

    def drop_session(self, session_id: str) -> None:
        with self._lock:
            tracker = self._trackers.get(session_id)
            for path, _ in tracker.entries() if tracker is not None else ():
                self._drop(session_id, path)
            self._trackers.pop(session_id, None)
            self._alone.pop(session_id, None)

    # --- what looks find -------------------------------------------------------------------------------------

    def confirm(self, session_id: str, path: str, seen: Seen, stamp: Stamp, taken_ns: int, content: bytes) -> None:
        """An edit found the very bytes that were seen: fresh, whatever was thought before."""
        with self._lock:
            if (seen.stale is not None or seen.stamp != stamp) and self._seen(session_id, path) is seen:
                self._trackers[session_id].renew(path, stamp, taken_ns)
            if seen.digest is not None:
                self._recent.keep(seen.digest, content)

    def judge(
        self,
        path: str,
        verdicts: Verdicts,
        stamp: Stamp | None,
        taken_ns: int,
        source: str = "external",
    ) -> None:
        """What is stale stays so: only a read, or an edit that finds the very bytes, makes it fresh again."""
        is_overtaken = False
        with self._lock:
            writer = self._writer(path, stamp)
            if writer is not None and source == "external":
                source = f"session:{writer}"
            for session_id, (seen, reason) in verdicts.items():
                now = self._seen(session_id, path)
                if now is not seen:  # read or written meanwhile: newer than what we looked at, or as old as that
                    is_overtaken = is_overtaken or now is None or stamp is None or not is_unmoved(now.stamp, stamp)
                    continue
                if reason is not None:
                    is_ours = writer is not None and reason == "replaced"  # a swap is how we modify
                    self._mark_stale(session_id, path, "modified" if is_ours else reason, source)
                elif seen.stale is None and stamp is not None:
                    self._trackers[session_id].renew(path, stamp, taken_ns)
        self._lookout.observed(path, stamp)
        if is_overtaken:
            self._lookout.hint(path)

    def mark_stale(self, session_id: str, path: str, reason: StaleReason, source: str) -> None:
        with self._lock:
            if self._seen(session_id, path) is not None:
                self._mark_stale(session_id, path, reason, source)

    def mark_link_retargeted(self, session_id: str, path: str, given_path: str, reason: StaleReason) -> None:
        """The link by which the session came does not lead to the file any more."""
        with self._lock:
            if self._links.get((session_id, path)) == given_path:
                self._mark_stale(session_id, path, reason, "external")

    # --- under the lock --------------------------------------------------------------------------------------

    def _seen(self, session_id: str, path: str) -> Seen | None:
        tracker = self._trackers.get(session_id)
        return tracker.get(path) if tracker is not None else None

    def _writer(self, path: str, stamp: Stamp | None) -> str | None:
        writer = self._writers.get(path)
        return writer[0] if writer is not None and stamp is not None and is_unmoved(writer[1], stamp) else None

    def _aliases(self, path: str, stamp: Stamp) -> list[str]:
        """Other tracked names of a file with several hard links."""
        if stamp.n_links < 2:
            return []
        known = ((name, self._seen(readers[0], name)) for name, readers in self._readers.items() if name != path)
        return [name for name, seen in known if seen is not None and is_same_file(seen.stamp, stamp)]

    def _record(self, session_id: str, path: str, seen: Seen) -> Stamp | None:
        """What was last seen or found there, by anyone."""
        readers = self._readers.get(path, ())
        if readers:
            path = self._shared_path(path, readers[0])
        given_path = path if seen.given_path == path else seen.given_path
        stands = self._lookout.track(path, seen.stamp)
        stamp = stands if stands == seen.stamp else seen.stamp
        if stamp is not seen.stamp or given_path is not seen.given_path:
            seen = replace(seen, stamp=stamp, given_path=given_path)  # many sessions, few stamps and names
        before = self._led_to.get((session_id, given_path))
        if before is not None and before != path:  # the link was re-pointed: its name means the new file now
            self._drop(session_id, before)
        self._unlink(session_id, path)
        self._trackers.setdefault(session_id, FileTracker()).record(path, seen)
        if not readers:
            self._readers[path] = self._alone.setdefault(session_id, (session_id,))
        elif session_id not in readers:
            self._readers[path] = (*readers, session_id)
        if given_path != path:
            self._links[session_id, path] = given_path
            self._led_to[session_id, given_path] = path
        return stands

    def _shared_path(self, path: str, reader: str) -> str:
        """The same name, as the string that a reader of the file keeps already."""
        kept = self._trackers[reader].seen(path).given_path
        return kept if kept == path else path

    def _drop(self, session_id: str, path: str) -> None:
        tracker = self._trackers.get(session_id)
        if tracker is None or tracker.forget(path) is None:
            return
        self._unlink(session_id, path)
        readers = tuple(reader for reader in self._readers[path] if reader != session_id)
        if readers:
            self._readers[path] = readers
            return
        del self._readers[path]
        self._writers.pop(path, None)
        self._lookout.untrack(path)

    def _unlink(self, session_id: str, path: str) -> None:
        given_path = self._links.pop((session_id, path), None)
        if given_path is not None:
            self._led_to.pop((session_id, given_path), None)

    def _mark_stale(self, session_id: str, path: str, reason: StaleReason, source: str) -> None:
        tracker = self._trackers[session_id]
        if not tracker.mark_stale(path, reason, source):
            return
        self._events.publish(
            BecameStale(
                file_path=tracker.seen(path).given_path,
                session_id=session_id,
                reason=reason,
                source=source,
                timestamp=self._clock.time_ns() / 1e9,
            )
        )
