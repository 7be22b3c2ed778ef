"""Checks one file and updates the record of every session that has read it.

A check goes once through the records of all sessions: observe the file, judge each record by the observation
(`core/tracker.py`), and publish the verdicts through the registry. Verdicts depend only on the disk and on content.
Watch events only start a check.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress

from fileops.core.stamps import same_stamp
from fileops.core.tracker import (
    FRESH,
    NEEDS_CONTENT,
    FileObservation,
    FreshnessMode,
    ReadRecord,
    assess,
    fault_of,
    reason_of,
    verdict_on,
)
from fileops.model.digest import Hasher
from fileops.model.errors import FileOpsError, IsDirectory, NotRegularFile
from fileops.model.files import Snapshot, StaleReason, Stamp
from fileops.model.internal_errors import PathMoved
from fileops.model.sessions import SessionName
from fileops.platform.locks import LockTable
from fileops.ports import Clock, FileSystem
from fileops.tracking.content_cache import is_same_text
from fileops.tracking.monitor import CheckReport
from fileops.tracking.registry import TrackerRegistry, Verdicts

MAX_RACY_BYTES = 4_000_000  # of files with an equal but too recent stamp that a check reads
MAX_RESOLVED_PER_SWEEP = 100  # some 15 us each: half a percent of a core
MAX_LINKS_PER_SWEEP = 2000

NOT_OBSERVED = CheckReport(is_observed=False)
LOCKED = CheckReport(is_observed=False, is_due_again=True)
_NO_FILE = (IsDirectory, NotRegularFile, PathMoved)  # something else is at the path now


class FreshnessChecker:
    """Compares files with what sessions have read of them.

    is_open: whether a canonical path is open as a document; content then decides, not time or inode. before_stale:
    called with a canonical path before sessions become stale there, outside the registry's lock.
    """

    def __init__(
        self,
        fs: FileSystem,
        registry: TrackerRegistry,
        clock: Clock,
        *,
        mode: FreshnessMode,
        is_open: Callable[[str], bool],
        before_stale: Callable[[str], None],
    ) -> None:
        self._fs = fs
        self._registry = registry
        self._clock = clock
        self._mode: FreshnessMode = mode
        self._is_open = is_open
        self._before_stale = before_stale
        self._checks = LockTable()

    # --- one check -------------------------------------------------------------------------------------------

    def check(self, path: str) -> CheckReport:
        """Compare the current file with what every session has read of it.

        If another thread holds the file's lock, the check is due again. That thread may wait for an editor or a host,
        so this never waits for it. It waits for a check of the file by another thread, which may have begun before the
        file changed: a request would otherwise find neither's verdict.
        """
        with self._checks.of(path):
            return self._check(path)

    def _check(self, path: str) -> CheckReport:
        records = self._registry.by_session(path)
        if not self._is_by_content(path, records):
            observation = self._observe_stamp(path)
            if observation is None:
                return NOT_OBSERVED
            if all(verdict_on(record, observation, self._mode) == FRESH for record in records.values()):
                return self._publish(path, records, observation)
        with suppress(FileOpsError, PathMoved), self._fs.lock(path, waits=False) as is_locked:
            if not is_locked:
                return LOCKED
            records = self._registry.by_session(path)  # our own write is recorded before it unlocks
            observation = self._observe(path, records)
            if observation is not None:
                return self._publish(path, records, observation)
        return NOT_OBSERVED

    def _is_by_content(self, path: str, records: dict[SessionName, ReadRecord]) -> bool:
        return self._is_open(path) or any(record.source == "buffer" for record in records.values())

    def _publish(self, path: str, records: dict[SessionName, ReadRecord], observation: FileObservation) -> CheckReport:
        """Judge the records by the observation, and enter the verdicts."""
        snapshot = observation.snapshot
        source = "buffer" if snapshot is not None and snapshot.is_typed else "external"
        verdicts: Verdicts = {
            session_id: (record, self._fault(record, observation)) for session_id, record in records.items()
        }
        if any(reason is not None and record.stale is None for record, reason in verdicts.values()):
            self._before_stale(path)
        stamp = observation.stamp
        is_overtaken = self._registry.apply_verdicts(path, verdicts, stamp, observation.taken_ns, source)
        return CheckReport(is_observed=True, stamp=stamp, is_due_again=is_overtaken)

    def _fault(self, record: ReadRecord, observation: FileObservation) -> StaleReason | None:
        """Return why the record is stale; None if it is fresh."""
        if observation.snapshot is None:
            return fault_of(record, observation, self._mode)
        return None if self.matches(record, observation.snapshot) else reason_of(record, observation.stamp)

    # --- observing -------------------------------------------------------------------------------------------

    def _observe(self, path: str, records: dict[SessionName, ReadRecord]) -> FileObservation | None:
        """Return what is at the path now, as far as the records need it; None if the system does not let us see it."""
        if self._is_by_content(path, records):
            return self._observe_content(path)
        observation = self._observe_stamp(path)
        if observation is not None and any(self._is_worth_reading(record, observation) for record in records.values()):
            return self._observe_digest(path)
        return observation

    def _is_worth_reading(self, record: ReadRecord, observation: FileObservation) -> bool:
        is_small = record.stamp.size_bytes <= MAX_RACY_BYTES
        return verdict_on(record, observation, self._mode) == NEEDS_CONTENT and (
            record.stamp != observation.stamp or is_small
        )

    def _observe_stamp(self, path: str) -> FileObservation | None:
        taken_ns = self._clock.time_ns()
        try:
            return FileObservation(stamp=self._fs.stat(path), taken_ns=taken_ns)
        except _NO_FILE:
            return FileObservation(stamp=None, taken_ns=taken_ns, reason="replaced")
        except FileOpsError:
            return None

    def _observe_digest(self, path: str) -> FileObservation | None:
        digest = Hasher()
        try:
            with self._fs.open(path) as stream:
                digest.update_from(stream.read)
                return FileObservation(stamp=stream.stamp, taken_ns=stream.taken_ns, digest=digest.digest())
        except (FileOpsError, PathMoved):
            return self._observe_absence(path)

    def _observe_content(self, path: str) -> FileObservation | None:
        try:
            snapshot = self._fs.read(path)
        except (FileOpsError, PathMoved):
            return self._observe_absence(path)
        return FileObservation(stamp=snapshot.stamp, taken_ns=snapshot.taken_ns, snapshot=snapshot)

    def _observe_absence(self, path: str) -> FileObservation | None:
        """After a failed read: return an observation if there is no file, None if there is one."""
        observation = self._observe_stamp(path)
        return observation if observation is not None and observation.stamp is None else None

    # --- a comparison with a whole content --------------------------------------------------------------------

    def matches(self, record: ReadRecord, snapshot: Snapshot) -> bool:
        """Return whether the snapshot is what was read: by its stamp, and byte for byte if all of it was read."""
        if not snapshot.exists:
            return False
        if record.digest is None and snapshot.source == "buffer":  # a clean document has the stamp of its file
            return snapshot.stamp is not None and same_stamp(record.stamp, snapshot.stamp)
        by_content = "buffer" in {record.source, snapshot.source} or self._is_open(snapshot.path)
        if snapshot.stamp is not None and not by_content:
            verdict = assess(record, snapshot.stamp, freshness=self._mode)
            if verdict not in {FRESH, NEEDS_CONTENT}:
                return False
        if record.digest is None or record.digest == snapshot.digest:
            return True
        if record.source == snapshot.source:
            return False
        base = self._registry.content(record.digest)
        return base is not None and is_same_text(base, snapshot.data)

    def is_outdated(self, record: ReadRecord, snapshot: Snapshot) -> bool:
        """Return whether the snapshot is older than the current file, which may well be what was read."""
        if snapshot.source == "buffer":
            return False
        stamp = self._fs.stat(snapshot.path)
        if stamp is None or stamp == snapshot.stamp:
            return False
        return assess(record, stamp, freshness=self._mode) in {FRESH, NEEDS_CONTENT}


class LinkChecker:
    """Marks files stale for sessions that read them through a link whose target has changed.

    belongs: whether a canonical path is on the filesystem whose links this checks.
    """

    def __init__(self, fs: FileSystem, registry: TrackerRegistry, belongs: Callable[[str], bool]) -> None:
        self._fs = fs
        self._registry = registry
        self._belongs = belongs
        self._next = 0

    def check(self) -> None:
        """Check some of the links, in turn; the links in one folder cost one resolution of that folder."""
        first = self._next
        links = self._registry.links(first, MAX_LINKS_PER_SWEEP)
        if not links and first:
            first, links = 0, self._registry.links(0, MAX_LINKS_PER_SWEEP)
        folders: dict[str, str | None] = {}
        n_resolved = 0
        for i, (session_id, path, given_path) in enumerate(links):
            if not self._belongs(path):
                continue
            if n_resolved >= MAX_RESOLVED_PER_SWEEP:
                self._next = first + i
                return
            folder, name = os.path.split(given_path)
            if folder not in folders:
                folders[folder] = self._resolve(folder)
                n_resolved += 1
            if os.path.join(folders[folder] or "", name) == path:
                continue
            n_resolved += 1
            target = self._resolve(given_path)
            if target is not None and target != path:
                reason: StaleReason = "replaced" if self._has_file(target) else "deleted"
                self._registry.mark_link_retargeted(session_id, path, given_path, reason)
        self._next = first + MAX_LINKS_PER_SWEEP

    def _has_file(self, path: str) -> bool:
        try:
            return self._fs.stat(path) is not None
        except (FileOpsError, PathMoved):
            return False

    def _resolve(self, path: str) -> str | None:
        try:
            return self._fs.resolve(path)
        except FileOpsError:
            return None


def find_changed_by_stat(fs: FileSystem, files: Iterable[tuple[str, Stamp | None]]) -> list[str]:
    """Return those whose stamp has changed; for filesystems that know nothing cheaper than a stat of each file."""
    changed: list[str] = []
    for path, stamp in files:
        try:
            now = fs.stat(path)
        except _NO_FILE:
            now = None
        except FileOpsError:
            continue
        if now != stamp:
            changed.append(path)
    return changed
