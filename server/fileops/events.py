"""What the daemon tells unasked. An event's fields are those of its notification (docs/PROTOCOL.md, "Notifications").

file_path is the path as that session last gave it; timestamps are seconds since the epoch.
"""

from dataclasses import dataclass
from typing import Literal

from fileops.model import StaleReason
from fileops.settings import ApprovalMode


@dataclass(frozen=True, slots=True, kw_only=True)
class BecameStale:
    """source: "external", "buffer" or "session:ID"."""

    file_path: str
    session_id: str
    reason: StaleReason
    source: str
    timestamp: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DidRead:
    file_path: str
    session_id: str
    timestamp: float
    size: int
    modified: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DidEdit:
    """content_length: characters of the new content."""

    file_path: str
    session_id: str
    timestamp: float
    content_length: int
    edit_id: str
    source: str = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class DidConflict:
    """last_read, last_modified, current_modified: seconds since the epoch. size_diff: bytes, now minus then."""

    file_path: str
    session_id: str
    last_read: float
    last_modified: float
    current_modified: float | None
    size_diff: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WatcherHealth:
    state: Literal["ok", "degraded"]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalModeChanged:
    """By a request, or by a person who answered "always"."""

    session_id: str
    mode: ApprovalMode


Event = BecameStale | DidRead | DidEdit | DidConflict | WatcherHealth | ApprovalModeChanged
