"""Reports of what a session has read: the state of each file, and which of them have changed since."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from fileops.core.tracker import ReadRecord
from fileops.model.errors import FileOpsError
from fileops.model.files import StaleReason
from fileops.model.internal_errors import PathMoved
from fileops.ports import FileSystem
from fileops.tracking.registry import TrackerRegistry


class TrackedFile(Struct, frozen=True, kw_only=True):
    """One line of `fileops/tracked`. Times in seconds since the epoch."""

    file_path: str
    state: Literal["fresh", "stale"]
    reason: StaleReason | None
    read_at: float
    mtime: float
    size_bytes: int


class Conflict(Struct, frozen=True, kw_only=True):
    """A file that is no longer what the session read. Times in seconds, size_diff in bytes; None if it is gone."""

    file_path: str
    reason: StaleReason
    source: str
    last_read: float
    last_modified: float
    current_modified: float | None
    size_diff: int | None


IsHidden = Callable[..., bool]  # names of a file -> whether the session must not know of it


def nothing_hidden(*_names: str) -> bool:
    return False


def tracked_files(registry: TrackerRegistry, session_id: str, is_hidden: IsHidden) -> tuple[TrackedFile, ...]:
    """Return what the session has read, in the order of first reading."""
    return tuple(
        TrackedFile(
            file_path=seen.given_path,
            state="fresh" if seen.stale is None else "stale",
            reason=seen.stale,
            read_at=seen.read_ns / 1e9,
            mtime=seen.stamp.mtime_ns / 1e9,
            size_bytes=seen.stamp.size_bytes,
        )
        for path, seen in registry.of_session(session_id)
        if not is_hidden(path, seen.given_path)
    )


def conflicts(fs: FileSystem, registry: TrackerRegistry, session_id: str, is_hidden: IsHidden) -> tuple[Conflict, ...]:
    """Return what is known to have changed since the session read it. Stats these files."""
    stale = ((path, seen) for path, seen in registry.of_session(session_id) if seen.stale is not None)
    return tuple(
        _conflict_at(fs, path, seen, seen.stale)
        for path, seen in stale
        if seen.stale is not None and not is_hidden(path, seen.given_path)
    )


def _conflict_at(fs: FileSystem, path: str, seen: ReadRecord, reason: StaleReason) -> Conflict:
    try:
        stamp = fs.stat(path)
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
