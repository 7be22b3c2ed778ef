"""All sessions' trackers together: is what a session saw still what stands there, and who is told when it is not.

Thread-safe; called in worker threads, the lookout's thread and inside a file's lock (`note_write`). Where both are
needed the file's lock is taken before ours, and no file is touched under ours. Verdicts come from the disk and from
the bytes, never from a flag or an event: those only say when to look.
"""

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import xxhash

from fileops.core.digest import content_digest
from fileops.core.stamps import is_same_file, is_unmoved
from fileops.core.tracker import FRESH, NEEDS_CONTENT, FileTracker, Seen, Verdict, assess
from fileops.errors import (
    FileMissing,
    FileOpsError,
    IsDirectory,
    ModifiedExternally,
    NotRead,
    NotRegularFile,
    PathMoved,
    Stale,
)
from fileops.lookout import DEBOUNCE_S, SWEEP_S, FolderWatchMaker, Lookout, Moved
from fileops.model import BecameStale, Committed, DidConflict, Snapshot, Source, StaleReason, Stamp
from fileops.ports import Clock, Events, FileSystem
from fileops.recent import RecentContents, diff_between, is_same_text

CHUNK_BYTES = 1 << 20
MAX_SETTLED_BYTES = 4_000_000  # of a file with an unmoved but too young stamp, in a look; an edit compares any size
MAX_LINKS_PER_SWEEP = 300  # given paths resolved anew, some 15 us each: under one percent of a core

Mode = Literal["mtime", "content"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedFile:
    """One line of `fileops/tracked`. Times in seconds since the epoch."""

    file_path: str
    state: Literal["fresh", "stale"]
    reason: StaleReason | None
    read_at: float
    mtime: float
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    """What stands at a path now. stamp None: no file, for that `reason`. digest: where the content was read."""

    stamp: Stamp | None
    taken_ns: int
    reason: StaleReason = "deleted"
    digest: bytes | None = None


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
        content_decides: Callable[[str], bool] = lambda path: False,
        debounce_s: float = DEBOUNCE_S,
        sweep_s: float = SWEEP_S,
    ) -> None:
        """Nothing is started before the first file is tracked.

        open_watch: None for no watcher (the sweep alone). moved: a cheap way to see which of many files moved, by
        default one `fs.stat` each. content_decides: whether a canonical path is open as a document.
        """
        self._fs, self._events, self._clock = fs, events, clock
        self._mode: Mode = mode
        self._content_decides = content_decides
        self._lock = threading.Lock()
        self._trackers: dict[str, FileTracker] = {}
        self._readers: dict[str, tuple[str, ...]] = {}  # canonical path -> sessions that track it
        self._writers: dict[str, tuple[str, Stamp]] = {}  # canonical path -> last session that wrote it, and what
        self._links: dict[tuple[str, str], str] = {}  # (session, canonical path) -> another path that led there
        self._next_link = 0
        self._recent = RecentContents()
        self._moved = moved or self._moved_by_stat
        self._lookout = Lookout(
            look=self.look,
            each_sweep=self._check_links,
            on_health=events.publish,
            open_watch=open_watch,
            moved=self._moved,
            debounce_s=debounce_s,
            sweep_s=sweep_s,
        )

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
            given_path=given_path, stamp=stamp, taken_ns=taken_ns, read_ns=self._clock.time_ns(), digest=digest,
            source=source, version=version,
        )  # fmt: skip
        with self._lock:
            others_saw_else = any(
                other is not None and not is_unmoved(other.stamp, stamp)
                for other in (self._trackers[reader].get(path) for reader in self._readers.get(path, ()))
            )
            self._record(session_id, path, seen)
            if digest is not None and content is not None:
                self._recent.keep(digest, content)
        if others_saw_else:
            self._lookout.hint(path)
        self._lookout.check(path)

    def note_write(self, session_id: str, given_path: str, committed: Committed) -> None:
        """Inside the file's lock, directly after the commit: the writer's new base, and stale for everyone else."""
        snapshot = committed.snapshot
        path, stamp, now_ns = snapshot.path, snapshot.stamp, self._clock.time_ns()
        if stamp is None:
            self._note_removal(session_id, path)
            return
        digest = content_digest(snapshot.data)
        seen = Seen(
            given_path=given_path, stamp=stamp, taken_ns=snapshot.taken_ns, read_ns=now_ns, digest=digest,
            source=snapshot.source, version=snapshot.version,
        )  # fmt: skip
        same_bytes_suffice = self._mode == "content" or self._content_decides(path)
        with self._lock:
            self._record(session_id, path, seen)
            self._writers[path] = session_id, stamp
            self._recent.keep(digest, snapshot.data)
            for other in self._readers[path]:
                known = self._trackers[other].get(path)
                if other == session_id or known is None:
                    continue
                if same_bytes_suffice and known.digest == digest:
                    self._trackers[other].renew(path, stamp, snapshot.taken_ns)
                else:
                    self._mark_stale(other, path, "modified", f"session:{session_id}")

    def _note_removal(self, session_id: str, path: str) -> None:
        with self._lock:
            self._drop(session_id, path)
            for other in self._readers.get(path, ()):
                self._mark_stale(other, path, "deleted", f"session:{session_id}")

    def note_missing(self, session_id: str, path: str) -> None:
        """The session was told that the file does not exist: nothing of it counts as seen any more."""
        with self._lock:
            if self._seen(session_id, path) is not None:
                self._mark_stale(session_id, path, "deleted", "external")
                self._drop(session_id, path)

    # --- may this session edit? ------------------------------------------------------------------------------

    def is_tracked(self, session_id: str, path: str) -> bool:
        with self._lock:
            return self._seen(session_id, path) is not None

    def require_tracked(self, session_id: str, path: str) -> None:
        """Raises: NotRead."""
        if not self.is_tracked(session_id, path):
            raise NotRead

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
        seen = self._require_seen(session_id, path)
        if not self._is_seen(seen, snapshot):
            with self._fs.hold(path):  # an own write is noted before its lock is free: now it has been
                seen = self._require_seen(session_id, path)
                if not self._is_seen(seen, snapshot):
                    self._require_current(seen, snapshot)
                    raise self._conflict(session_id, seen, snapshot, dry_run=dry_run)
        if not dry_run:
            self._confirm(session_id, seen, snapshot)

    def _is_seen(self, seen: Seen, snapshot: Snapshot) -> bool:
        by_content = "buffer" in {seen.source, snapshot.source} or self._content_decides(snapshot.path)
        if seen.digest is None and snapshot.source == "buffer":
            return seen.source == "buffer" and seen.version == snapshot.version
        if snapshot.stamp is not None and not by_content:
            verdict = assess(seen, snapshot.stamp, freshness=self._mode)
            if verdict not in {FRESH, NEEDS_CONTENT}:
                return False
        if seen.digest is None or seen.digest == content_digest(snapshot.data):
            return True
        if seen.source == snapshot.source:
            return False
        with self._lock:
            base = self._recent.get(seen.digest)
        return base is not None and is_same_text(base, snapshot.data)

    def _require_current(self, seen: Seen, snapshot: Snapshot) -> None:
        """Raises: Stale, PathMoved."""
        if snapshot.source == "buffer":
            return
        stamp = self._fs.stat(snapshot.path)
        if stamp is None or stamp == snapshot.stamp:
            return
        if assess(seen, stamp, freshness=self._mode) in {FRESH, NEEDS_CONTENT}:
            raise Stale(path=snapshot.path)

    def _confirm(self, session_id: str, seen: Seen, snapshot: Snapshot) -> None:
        with self._lock:
            if snapshot.stamp is not None and self._seen(session_id, snapshot.path) is seen:
                self._trackers[session_id].renew(snapshot.path, snapshot.stamp, snapshot.taken_ns)
            if seen.digest is not None:
                self._recent.keep(seen.digest, snapshot.data)

    def _conflict(self, session_id: str, seen: Seen, snapshot: Snapshot, *, dry_run: bool) -> ModifiedExternally:
        """What the caller is told; unless in a dry run, everyone else too."""
        path, stamp = snapshot.path, snapshot.stamp
        with self._lock:
            writer = self._writers.get(path)
            base = self._recent.get(seen.digest)
            if snapshot.source == "buffer":
                changed_by = "buffer"
            else:
                changed_by = writer[0] if writer is not None and writer[1] == stamp else "external"
            if not dry_run:
                source = changed_by if changed_by in {"buffer", "external"} else f"session:{changed_by}"
                self._mark_stale(session_id, path, _reason(seen, stamp), source)
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
            earlier = seen.stale_source.removeprefix("session:") if seen.stale is not None else changed_by
        diff = None if base is None else diff_between(base, snapshot.data, seen.given_path)
        return ModifiedExternally(
            changed_by=changed_by,
            diff_since_read=diff,
            also_changed_by=earlier if earlier != changed_by else None,
        )

    # --- what is tracked -------------------------------------------------------------------------------------

    def tracked(self, session_id: str) -> tuple[TrackedFile, ...]:
        """In the order of first reading. Looks at the files, so call it in a worker thread."""
        with self._lock:
            tracker = self._trackers.get(session_id)
            files = [(path, seen.stamp) for path, seen in tracker.entries()] if tracker is not None else []
        for path in self._moved(files):
            self.look(path)
        with self._lock:
            tracker = self._trackers.get(session_id)
            entries = tuple(tracker.entries()) if tracker is not None else ()
        return tuple(
            TrackedFile(
                file_path=seen.given_path,
                state="fresh" if seen.stale is None else "stale",
                reason=seen.stale,
                read_at=seen.read_ns / 1e9,
                mtime=seen.stamp.mtime_ns / 1e9,
                size_bytes=seen.stamp.size_bytes,
            )
            for _, seen in entries
        )

    def forget(self, session_id: str, path: str) -> None:
        with self._lock:
            self._drop(session_id, path)

    def close_session(self, session_id: str) -> None:
        with self._lock:
            tracker = self._trackers.get(session_id)
            for path, _ in tracker.entries() if tracker is not None else ():
                self._drop(session_id, path)
            self._trackers.pop(session_id, None)

    def close(self) -> None:
        """Look no more; ends the thread."""
        self._lookout.close()

    # --- looking again ---------------------------------------------------------------------------------------

    def hint(self, path: str) -> None:
        """Something may have happened to this canonical path (or to the document open on it). Never waits."""
        self._lookout.hint(path)

    def sweep(self) -> None:
        """Look at everything now, in the calling thread."""
        self._lookout.sweep_now()

    def look(self, path: str) -> None:
        """Judge what all sessions saw of this file by what stands there now.

        What was stale stays so: only a read, or an edit that finds the very bytes, makes it fresh again.
        """
        before = self._all_seen(path)
        if not self._is_by_content(path, before):
            standing = self._stat(path)
            if standing is None:
                return
            if all(self._verdict(seen, standing) == FRESH for seen in before.values()):
                self._judge(path, before, standing)
                return
        with suppress(PathMoved), self._fs.hold(path):  # a write of ours, not yet noted, would look foreign
            self._look_held(path)

    def _look_held(self, path: str) -> None:
        before = self._all_seen(path)
        if self._is_by_content(path, before):
            self._judge_by_content(path, before)
            return
        standing = self._stat(path)
        if standing is not None and any(
            self._verdict(seen, standing) == NEEDS_CONTENT
            and (seen.stamp != standing.stamp or seen.stamp.size_bytes <= MAX_SETTLED_BYTES)
            for seen in before.values()
        ):
            standing = self._stat_and_digest(path)
        if standing is not None:
            self._judge(path, before, standing)

    def _is_by_content(self, path: str, before: dict[str, Seen]) -> bool:
        return self._content_decides(path) or any(seen.source == "buffer" for seen in before.values())

    def _verdict(self, seen: Seen, standing: _Standing) -> Verdict:
        if standing.stamp is None:
            return "stale", standing.reason
        return assess(seen, standing.stamp, freshness=self._mode)

    def _judge(self, path: str, before: dict[str, Seen], standing: _Standing) -> None:
        with self._lock:
            for session_id, seen in before.items():
                if self._seen(session_id, path) is not seen:
                    continue  # read or written meanwhile: newer than what we looked at
                verdict = self._verdict(seen, standing)
                if verdict == NEEDS_CONTENT:
                    is_same = standing.digest is None or standing.digest == seen.digest
                    verdict = FRESH if is_same else ("stale", "modified")
                if verdict != FRESH:
                    self._mark_stale(session_id, path, verdict[1], "external")
                elif seen.stale is None and standing.stamp is not None:
                    self._trackers[session_id].renew(path, standing.stamp, standing.taken_ns)
        self._lookout.observed(path, standing.stamp)

    def _judge_by_content(self, path: str, before: dict[str, Seen]) -> None:
        try:
            snapshot = self._fs.read(path)
        except (FileOpsError, PathMoved):
            standing = self._stat(path)
            if standing is not None and standing.stamp is None:
                self._judge(path, before, standing)
            return
        source = "buffer" if snapshot.source == "buffer" else "external"
        changed = {
            session_id
            for session_id, seen in before.items()
            if not snapshot.exists or not self._is_seen(seen, snapshot)
        }
        with self._lock:
            for session_id, seen in before.items():
                if self._seen(session_id, path) is not seen:
                    continue
                if session_id in changed:
                    self._mark_stale(session_id, path, _reason(seen, snapshot.stamp), source)
                elif seen.stale is None and snapshot.stamp is not None:
                    self._trackers[session_id].renew(path, snapshot.stamp, snapshot.taken_ns)
        self._lookout.observed(path, snapshot.stamp)

    def _check_links(self) -> None:
        """A session that came by a symlink does not have the file any more once the link leads elsewhere."""
        with self._lock:
            links = tuple(self._links.items())
        first = self._next_link if self._next_link < len(links) else 0
        self._next_link = first + MAX_LINKS_PER_SWEEP
        for (session_id, path), given_path in links[first : self._next_link]:
            try:
                target = self._fs.resolve(given_path)
            except FileOpsError:
                continue
            if target == path:
                continue
            standing = self._stat(target)
            reason = "replaced" if standing is not None and standing.stamp is not None else "deleted"
            with self._lock:
                if self._links.get((session_id, path)) == given_path:
                    self._mark_stale(session_id, path, reason, "external")

    # --- the disk --------------------------------------------------------------------------------------------

    def _stat(self, path: str) -> _Standing | None:
        """None where the system does not let us see."""
        taken_ns = self._clock.time_ns()
        try:
            return _Standing(stamp=self._fs.stat(path), taken_ns=taken_ns)
        except (IsDirectory, NotRegularFile, PathMoved):
            return _Standing(stamp=None, taken_ns=taken_ns, reason="replaced")
        except FileOpsError:
            return None

    def _stat_and_digest(self, path: str) -> _Standing | None:
        digest = xxhash.xxh3_128()
        try:
            with self._fs.open(path) as stream:
                while chunk := stream.read(CHUNK_BYTES):
                    digest.update(chunk)
                return _Standing(stamp=stream.stamp, taken_ns=stream.taken_ns, digest=digest.digest())
        except (FileOpsError, PathMoved):
            standing = self._stat(path)
            return standing if standing is not None and standing.stamp is None else None

    def _moved_by_stat(self, files: Iterable[tuple[str, Stamp | None]]) -> list[str]:
        looks = ((path, stamp, self._stat(path)) for path, stamp in files)
        return [path for path, stamp, standing in looks if standing is not None and standing.stamp != stamp]

    # --- under the lock --------------------------------------------------------------------------------------

    def _seen(self, session_id: str, path: str) -> Seen | None:
        tracker = self._trackers.get(session_id)
        return tracker.get(path) if tracker is not None else None

    def _record(self, session_id: str, path: str, seen: Seen) -> None:
        self._trackers.setdefault(session_id, FileTracker()).record(path, seen)
        readers = self._readers.get(path, ())
        if session_id not in readers:
            self._readers[path] = (*readers, session_id)
        if seen.given_path != path:
            self._links[session_id, path] = seen.given_path
        else:
            self._links.pop((session_id, path), None)
        self._lookout.track(path, seen.stamp)

    def _drop(self, session_id: str, path: str) -> None:
        tracker = self._trackers.get(session_id)
        if tracker is None or tracker.forget(path) is None:
            return
        self._links.pop((session_id, path), None)
        readers = tuple(reader for reader in self._readers[path] if reader != session_id)
        if readers:
            self._readers[path] = readers
            return
        del self._readers[path]
        self._writers.pop(path, None)
        self._lookout.untrack(path)

    def _mark_stale(self, session_id: str, path: str, reason: StaleReason, source: str) -> None:
        """Publishing under the lock keeps the order of events that of what happened."""
        if not self._trackers[session_id].mark_stale(path, reason, source):
            return
        self._events.publish(
            BecameStale(
                file_path=self._trackers[session_id].seen(path).given_path,
                session_id=session_id,
                reason=reason,
                source=source,
                timestamp=self._clock.time_ns() / 1e9,
            )
        )

    # --- taking the lock -------------------------------------------------------------------------------------

    def _all_seen(self, path: str) -> dict[str, Seen]:
        with self._lock:
            known = ((reader, self._seen(reader, path)) for reader in self._readers.get(path, ()))
            return {reader: seen for reader, seen in known if seen is not None}

    def _require_seen(self, session_id: str, path: str) -> Seen:
        """Raises: NotRead."""
        with self._lock:
            seen = self._seen(session_id, path)
        if seen is None:
            raise NotRead
        return seen


def _reason(seen: Seen, stamp: Stamp | None) -> StaleReason:
    if stamp is None:
        return "deleted"
    return "modified" if is_same_file(seen.stamp, stamp) else "replaced"
