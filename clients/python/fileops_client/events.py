"""Notifications of the daemon, as frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import msgspec

from fileops_client.reviews import DidChangeReviews


@dataclass(frozen=True, slots=True, kw_only=True)
class BecameStale:
    """A file that the session has read has changed. `source` is "external", "buffer" or "session:ID"."""

    METHOD: ClassVar[str] = "fileops/didBecomeStale"
    file_path: str
    session_id: str
    reason: Literal["modified", "deleted", "replaced"]
    source: str
    timestamp: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DidRead:
    """A session has read a file. size: bytes. timestamp, modified: seconds since the epoch."""

    METHOD: ClassVar[str] = "fileops/didRead"
    file_path: str
    session_id: str
    timestamp: float
    size: int
    modified: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DidEdit:
    """A session has edited a file. `content_length` is in characters."""

    METHOD: ClassVar[str] = "fileops/didEdit"
    file_path: str
    session_id: str
    timestamp: float
    content_length: int
    source: str
    edit_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DidConflict:
    """An edit was refused because the file has changed since the session read it. size_diff: bytes."""

    METHOD: ClassVar[str] = "fileops/didConflict"
    file_path: str
    session_id: str
    last_read: float
    last_modified: float
    current_modified: float | None
    size_diff: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WatcherHealth:
    """The file watcher works, or is replaced by checks at intervals. reason: None while it works."""

    METHOD: ClassVar[str] = "fileops/watcherHealth"
    state: Literal["ok", "degraded"]
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveredFile:
    """A file of a change set. kept_as: the path of what it was before, if another program has written it since."""

    file_path: str
    outcome: Literal["restored", "unchanged", "left"]
    kept_as: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DidRecover:
    """A daemon died while it committed a change set, and its files are as before."""

    METHOD: ClassVar[str] = "fileops/didRecover"
    set_id: str
    files: tuple[RecoveredFile, ...]


@dataclass(frozen=True, slots=True)
class Notification:
    """Any other notification, unchanged."""

    method: str
    params: Any


Event = BecameStale | DidRead | DidEdit | DidConflict | DidChangeReviews | WatcherHealth | DidRecover | Notification

_EVENTS: Mapping[
    str, type[BecameStale | DidRead | DidEdit | DidConflict | DidChangeReviews | WatcherHealth | DidRecover]
] = {
    event.METHOD: event
    for event in (BecameStale, DidRead, DidEdit, DidConflict, DidChangeReviews, WatcherHealth, DidRecover)
}
KNOWN_NAMES = frozenset(_EVENTS)


def event_of(method: str, params: Any) -> Event:
    """Return the value of a notification. Raises: msgspec.ValidationError."""
    kind = _EVENTS.get(method)
    return Notification(method, params) if kind is None else msgspec.convert(params, kind)
