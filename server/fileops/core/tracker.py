"""Tracks what one session has read of each file, and whether that is still the current content. Pure.

It reads no disk: it is given stamps and digests, and returns `NEEDS_CONTENT` if a stamp does not suffice. Keys are
canonical paths, so a symlink and its target are one file.
"""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from fileops.core.stamps import is_racy, is_same_file
from fileops.model.files import Snapshot, Source, StaleReason, Stamp
from fileops.model.notebooks import KnownCells


class ReadRecord(Struct, frozen=True, kw_only=True, gc=False):
    """What a session has read of one file.

    given_path: as the session last gave it. taken_ns: wall clock just before `stamp` was taken. digest: of the whole
    content, None if not all bytes were examined. is_known_whole: whether the session was shown all of it, and
    may write a whole new text. shown: digest of the same content without those changes of others that the session has
    not been shown; None if there are none. read_ns: time of the session's last read or write. stale: None while fresh.
    stale_source: the cause of that, or of what was not shown: "external", "buffer" or "session:ID". cells: what it
    knows of the cells of a notebook.
    """

    given_path: str
    stamp: Stamp
    taken_ns: int
    read_ns: int
    digest: bytes | None = None
    is_known_whole: bool = False
    shown: bytes | None = None
    source: Source = "disk"
    version: int | None = None
    stale: StaleReason | None = None
    stale_source: str = "external"
    cells: KnownCells | None = None


Verdict = Literal["fresh", "needs_content"] | tuple[Literal["stale"], StaleReason]
FreshnessMode = Literal["mtime", "content"]
FRESH: Literal["fresh"] = "fresh"
NEEDS_CONTENT: Literal["needs_content"] = "needs_content"


class FileObservation(Struct, frozen=True, kw_only=True):
    """What one check found at a path. taken_ns: wall clock just before.

    stamp: None if there is no file; `reason` says why. digest, snapshot: present if the check has read the content.
    """

    stamp: Stamp | None
    taken_ns: int
    reason: StaleReason = "deleted"
    digest: bytes | None = None
    snapshot: Snapshot | None = None


def verdict_on(record: ReadRecord, observation: FileObservation, freshness: FreshnessMode) -> Verdict:
    """Return the verdict for the observed stamp, or for the absence of a file."""
    if observation.stamp is None:
        return "stale", observation.reason
    return assess(record, observation.stamp, freshness=freshness)


def fault_of(record: ReadRecord, observation: FileObservation, freshness: FreshnessMode) -> StaleReason | None:
    """Return why the record is stale by the observed stamp and digest; None if it is fresh, or that is unknown."""
    verdict = verdict_on(record, observation, freshness)
    if verdict == NEEDS_CONTENT:
        return None if observation.digest is None or observation.digest == record.digest else "modified"
    return None if verdict == FRESH else verdict[1]


def assess(record: ReadRecord, stamp: Stamp, *, freshness: FreshnessMode = "mtime") -> Verdict:
    """Return whether a file with this stamp is still what was read, as far as stamps can prove it.

    `NEEDS_CONTENT` is returned only if there is a digest to compare with.
    """
    old, is_whole = record.stamp, record.digest is not None
    if old == stamp:
        return NEEDS_CONTENT if is_whole and is_racy(old, record.taken_ns) else FRESH
    replaced = not is_same_file(old, stamp)
    if old.size_bytes != stamp.size_bytes or old.mtime_ns != stamp.mtime_ns or replaced:
        if freshness == "content" and is_whole and old.size_bytes == stamp.size_bytes:
            return NEEDS_CONTENT
        return ("stale", "replaced" if replaced else "modified")
    if is_whole:
        return NEEDS_CONTENT
    explained = (old.mode, old.uid, old.gid, old.n_links) != (stamp.mode, stamp.uid, stamp.gid, stamp.n_links)
    return FRESH if explained else ("stale", "modified")


def reason_of(record: ReadRecord, stamp: Stamp | None) -> StaleReason:
    """Return why a stale record is stale, by the stamp that the file has now, None if it is gone."""
    if stamp is None:
        return "deleted"
    return "modified" if is_same_file(record.stamp, stamp) else "replaced"


class FileTracker:
    """The files that one session has read. Not thread-safe: its owner locks."""

    __slots__ = ("_records",)

    def __init__(self) -> None:
        self._records: dict[str, ReadRecord] = {}

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, path: str) -> bool:
        return path in self._records

    def get(self, path: str) -> ReadRecord | None:
        return self._records.get(path)

    def __getitem__(self, path: str) -> ReadRecord:
        """Raises: KeyError."""
        return self._records[path]

    def entries(self) -> Iterator[tuple[str, ReadRecord]]:
        """Return canonical path and record, in the order of first reading."""
        return iter(tuple(self._records.items()))

    def put(self, path: str, record: ReadRecord) -> None:
        self._records[path] = record

    def renew(self, path: str, stamp: Stamp, taken_ns: int) -> None:
        """Record that the content is still what was read, under this stamp; the file is fresh (again)."""
        record = self._records[path]
        if record.stale is not None or record.stamp != stamp or is_racy(record.stamp, record.taken_ns):
            source = "external" if record.shown is None else record.stale_source
            self._records[path] = replace(record, stamp=stamp, taken_ns=taken_ns, stale=None, stale_source=source)

    def mark_stale(self, path: str, reason: StaleReason, source: str) -> bool:
        """Mark the file stale; return whether it was fresh until now.

        A file that is already stale keeps its first source.
        """
        record = self._records[path]
        if record.stale is None:
            self._records[path] = replace(record, stale=reason, stale_source=source)
            return True
        if record.stale != reason:
            self._records[path] = replace(record, stale=reason)
        return False

    def forget(self, path: str) -> ReadRecord | None:
        """Return the dropped record; None if there was none."""
        return self._records.pop(path, None)
