"""Registry of what every session has read, guarded by one lock. Publishes `BecameStale` when a record turns stale.

Touches no file. Each method is atomic. Events are published under the lock, so their order is that of the changes.
"""

import threading
from collections.abc import Mapping
from itertools import islice

from msgspec.structs import replace

from fileops.core.stamps import is_same_file, same_stamp
from fileops.core.tracker import FileTracker, ReadRecord
from fileops.model.events import BecameStale
from fileops.model.files import Base, StaleReason, Stamp
from fileops.model.sessions import NO_SESSION, SessionName
from fileops.ports import Clock, EventSink
from fileops.tracking.content_cache import ContentCache
from fileops.tracking.filesystem_monitors import FilesystemMonitors

# Session -> its record at the time of the check, and why that is stale (None: it is fresh).
Verdicts = Mapping[SessionName, tuple[ReadRecord, StaleReason | None]]


class TrackerRegistry:
    def __init__(self, monitors: FilesystemMonitors, events: EventSink, clock: Clock) -> None:
        """Create an empty registry. monitors: kept up to date with what is tracked, under the registry's lock."""
        self._monitors = monitors
        self._events = events
        self._clock = clock
        self._lock = threading.Lock()
        self._trackers: dict[SessionName, FileTracker] = {}
        self._readers: dict[str, tuple[SessionName, ...]] = {}  # canonical path -> sessions that track it
        self._single_reader: dict[SessionName, tuple[SessionName]] = {}  # the value of _readers for its files
        self._writers: dict[str, tuple[SessionName, Stamp]] = {}  # path -> last writer, and the stamp of its write
        self._links: dict[tuple[SessionName, str], str] = {}  # (session, path) -> the link that the session used
        self._target_of_link: dict[tuple[SessionName, str], str] = {}  # (session, link) -> path
        self._contents = ContentCache()

    # --- looking things up -----------------------------------------------------------------------------------

    def record_of(self, session_id: SessionName, path: str) -> ReadRecord | None:
        with self._lock:
            return self._record_of(session_id, path)

    def by_session(self, path: str) -> dict[SessionName, ReadRecord]:
        """Return the records of the file, by session."""
        with self._lock:
            records = ((reader, self._record_of(reader, path)) for reader in self._readers.get(path, ()))
            return {reader: record for reader, record in records if record is not None}

    def of_session(self, session_id: SessionName) -> tuple[tuple[str, ReadRecord], ...]:
        """Return (canonical path, record) in the order of first reading."""
        with self._lock:
            tracker = self._trackers.get(session_id)
            return tuple(tracker.entries()) if tracker is not None else ()

    def paths_under(self, session_id: SessionName, name: str) -> tuple[str, ...]:
        """Return the canonical paths that the session tracks under a name: the name itself, and where it led as a link.

        Each event of a session asks for them, so this does not go through everything that it tracks.
        """
        with self._lock:
            target = self._target_of_link.get((session_id, name))
            own = (name,) if self._record_of(session_id, name) is not None else ()
        return own if target is None else (*own, target)

    def links(self, start: int, n: int) -> list[tuple[SessionName, str, str]]:
        """Return (session, canonical path, given path) of n files that were not given by their canonical paths."""
        with self._lock:
            links = islice(self._links.items(), start, start + n)
            return [(session_id, path, given) for (session_id, path), given in links]

    def writer(self, path: str, stamp: Stamp | None) -> SessionName | None:
        """Return the session whose write left the file with this stamp."""
        with self._lock:
            return self._writer(path, stamp)

    def content(self, digest: bytes | None) -> bytes | None:
        """Return content that a session has read recently, if it is still in the cache."""
        with self._lock:
            return self._contents.get(digest)

    def base(self, record: ReadRecord) -> Base:
        """Return what the session of this record knows of the file."""
        with self._lock:
            content = self._contents.get(record.digest)
            return Base(content=content, shown=content if record.shown is None else self._contents.get(record.shown))

    def keep_bases(self) -> None:
        """Keep larger contents from now on, and more of them."""
        with self._lock:
            self._contents.keep_bases()

    # --- what sessions do ------------------------------------------------------------------------------------

    def record_read(
        self, session_id: SessionName, path: str, record: ReadRecord, content: bytes | None = None
    ) -> Stamp | None:
        """Record a read. Return the stamp that the file had for the sessions so far; None if none tracked it."""
        with self._lock:
            before = self._put(session_id, path, record)
            if record.digest is not None and content is not None:
                self._contents.keep(record.digest, content)
            return before

    def record_write(
        self,
        session_id: SessionName,
        path: str,
        record: ReadRecord,
        content: bytes,
        *,
        same_bytes_suffice: bool,
        shown: bytes | None = None,
    ) -> None:
        """Record a write: the writer's new base, stale for all other sessions under each hard link that they use.

        shown: the content whose digest is `record.shown`.
        """
        with self._lock:
            self._put(session_id, path, record)
            if record.shown is not None and shown is not None:
                self._contents.keep(record.shown, shown)
            if record.digest is not None:
                self._contents.keep(record.digest, content)
            for name in (path, *self._aliases(path, record.stamp)):
                self._writers[name] = session_id, record.stamp
                for reader in self._readers[name]:
                    if reader == session_id and name == path:
                        continue  # recorded above
                    known = self._trackers[reader][name]
                    if reader == session_id:
                        self._trackers[reader].put(name, replace(record, given_path=known.given_path))
                    elif same_bytes_suffice and known.digest == record.digest:
                        if known.stale is None:
                            self._trackers[reader].renew(name, record.stamp, record.taken_ns)
                    elif not same_stamp(known.stamp, record.stamp):  # otherwise it was read after the write
                        self._mark_stale(reader, name, "modified", _source_of(session_id))

    def record_blind_write(self, session_id: SessionName, path: str, stamp: Stamp) -> None:
        """Record a write by a session that had not read the file, or by the client's user: stale for all that had."""
        with self._lock:
            for name in (path, *self._aliases(path, stamp)):
                readers = tuple(self._readers.get(name, ()))
                if readers:
                    self._writers[name] = session_id, stamp
                for reader in readers:
                    if not same_stamp(self._trackers[reader][name].stamp, stamp):
                        self._mark_stale(reader, name, "modified", _source_of(session_id))

    def record_shown(
        self, session_id: SessionName, path: str, record: ReadRecord, now: ReadRecord, content: bytes
    ) -> None:
        """Record that the session was shown how the file differs from `record`, if that is still its record."""
        with self._lock:
            if self._record_of(session_id, path) is record:
                self._put(session_id, path, now)
                if now.digest is not None:
                    self._contents.keep(now.digest, content)

    def record_removal(self, session_id: SessionName, path: str) -> None:
        with self._lock:
            self._drop(session_id, path)
            for reader in self._readers.get(path, ()):
                self._mark_stale(reader, path, "deleted", _source_of(session_id))

    def record_missing(self, session_id: SessionName, path: str) -> None:
        with self._lock:
            if self._record_of(session_id, path) is not None:
                self._mark_stale(session_id, path, "deleted", "external")
                self._drop(session_id, path)

    def drop(self, session_id: SessionName, path: str) -> None:
        with self._lock:
            self._drop(session_id, path)

    def drop_session(self, session_id: SessionName) -> None:
        with self._lock:
            tracker = self._trackers.get(session_id)
            for path, _ in tracker.entries() if tracker is not None else ():
                self._drop(session_id, path)
            self._trackers.pop(session_id, None)
            self._single_reader.pop(session_id, None)

    # --- what checks find ------------------------------------------------------------------------------------

    def confirm(
        self, session_id: SessionName, path: str, record: ReadRecord, stamp: Stamp, taken_ns: int, content: bytes
    ) -> None:
        """Make the record fresh: an edit has found exactly the bytes that were read."""
        with self._lock:
            if (record.stale is not None or record.stamp != stamp) and self._record_of(session_id, path) is record:
                self._trackers[session_id].renew(path, stamp, taken_ns)
            if record.digest is not None:
                self._contents.keep(record.digest, content)

    def apply_verdicts(
        self,
        path: str,
        verdicts: Verdicts,
        stamp: Stamp | None,
        taken_ns: int,
        source: str = "external",
    ) -> bool:
        """Enter the verdicts of a check.

        A stale record stays stale until a read, or an edit that finds its bytes, renews it.

        Returns whether a session has read or written another state of the file during the check, so that the file must
        be checked again.
        """
        is_overtaken = False
        with self._lock:
            writer = self._writer(path, stamp)
            if writer is not None and source == "external":
                source = _source_of(writer)
            for session_id, (record, reason) in verdicts.items():
                current = self._record_of(session_id, path)
                if current is not record:  # read or written during the check
                    is_overtaken = (
                        is_overtaken or current is None or stamp is None or not same_stamp(current.stamp, stamp)
                    )
                    continue
                if reason is not None:
                    is_ours = writer is not None and reason == "replaced"  # we write by replacing
                    self._mark_stale(session_id, path, "modified" if is_ours else reason, source)
                elif record.stale is None and stamp is not None:
                    self._trackers[session_id].renew(path, stamp, taken_ns)
        return is_overtaken

    def note_writer(self, session_id: SessionName, path: str, before: bytes) -> None:
        """Note which session has made a change that was seen first: those that read the content before know the cause.

        Args: before: digest of the content before.
        """
        with self._lock:
            for reader in self._readers.get(path, ()):
                known = self._trackers[reader][path]
                if reader != session_id and known.stale is not None and known.digest == before:
                    self._trackers[reader].put(path, replace(known, stale_source=_source_of(session_id)))

    def mark_stale(self, session_id: SessionName, path: str, reason: StaleReason, source: str) -> None:
        with self._lock:
            if self._record_of(session_id, path) is not None:
                self._mark_stale(session_id, path, reason, source)

    def mark_link_retargeted(self, session_id: SessionName, path: str, given_path: str, reason: StaleReason) -> None:
        """Mark the file stale for a session whose link has another target now."""
        with self._lock:
            if self._links.get((session_id, path)) == given_path:
                self._mark_stale(session_id, path, reason, "external")

    # --- under the lock --------------------------------------------------------------------------------------

    def _record_of(self, session_id: SessionName, path: str) -> ReadRecord | None:
        tracker = self._trackers.get(session_id)
        return tracker.get(path) if tracker is not None else None

    def _writer(self, path: str, stamp: Stamp | None) -> SessionName | None:
        writer = self._writers.get(path)
        return writer[0] if writer is not None and stamp is not None and same_stamp(writer[1], stamp) else None

    def _aliases(self, path: str, stamp: Stamp) -> list[str]:
        """Return the other tracked paths of a file with several hard links."""
        if stamp.n_links < 2:
            return []
        known = ((name, self._record_of(readers[0], name)) for name, readers in self._readers.items() if name != path)
        return [name for name, record in known if record is not None and is_same_file(record.stamp, stamp)]

    def _put(self, session_id: SessionName, path: str, record: ReadRecord) -> Stamp | None:
        """See `record_read`."""
        readers = self._readers.get(path, ())
        if readers:
            path = self._share_path(path, readers[0])
        given_path = path if record.given_path == path else record.given_path
        before_stamp = self._monitors.track(path, record.stamp)
        stamp = before_stamp if before_stamp == record.stamp else record.stamp
        if stamp is not record.stamp or given_path is not record.given_path:
            record = replace(record, stamp=stamp, given_path=given_path)  # many sessions, few stamps and names
        before = self._target_of_link.get((session_id, given_path))
        if before is not None and before != path:  # the link has a new target
            self._drop(session_id, before)
        self._unlink(session_id, path)
        self._trackers.setdefault(session_id, FileTracker()).put(path, record)
        if not readers:
            self._readers[path] = self._single_reader.setdefault(session_id, (session_id,))
        elif session_id not in readers:
            self._readers[path] = (*readers, session_id)
        if given_path != path:
            self._links[session_id, path] = given_path
            self._target_of_link[session_id, given_path] = path
        return before_stamp

    def _share_path(self, path: str, reader: SessionName) -> str:
        """Return the equal string that a reader of the file already keeps."""
        kept = self._trackers[reader][path].given_path
        return kept if kept == path else path

    def _drop(self, session_id: SessionName, path: str) -> None:
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
        self._monitors.untrack(path)

    def _unlink(self, session_id: SessionName, path: str) -> None:
        given_path = self._links.pop((session_id, path), None)
        if given_path is not None:
            self._target_of_link.pop((session_id, given_path), None)

    def _mark_stale(self, session_id: SessionName, path: str, reason: StaleReason, source: str) -> None:
        tracker = self._trackers[session_id]
        if not tracker.mark_stale(path, reason, source):
            return
        self._events.publish(
            BecameStale(
                file_path=tracker[path].given_path,
                session_id=session_id,
                reason=reason,
                source=source,
                timestamp=self._clock.time_ns() / 1e9,
            )
        )


def _source_of(writer: SessionName) -> str:
    """Return who wrote, in the form for events; a write by the client's user has no session."""
    return "external" if writer == NO_SESSION else f"session:{writer}"
