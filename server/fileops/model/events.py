"""Events that the daemon sends to clients as notifications.

An event has the fields of its notification (docs/PROTOCOL.md, "Notifications"). `file_path` is the path as that session
last gave it; timestamps are seconds since the epoch.
"""

from typing import Literal

from msgspec import Struct

from fileops.model.files import StaleReason
from fileops.model.settings import ApprovalMode


class BecameStale(Struct, frozen=True, kw_only=True):
    """A file that the session has read has changed. `source` is "external", "buffer" or "session:ID"."""

    file_path: str
    session_id: str
    reason: StaleReason
    source: str
    timestamp: float


class DidRead(Struct, frozen=True, kw_only=True):
    file_path: str
    session_id: str
    timestamp: float
    size: int
    modified: float


class DidEdit(Struct, frozen=True, kw_only=True):
    """A session has edited a file. `content_length` is in characters of the new content."""

    file_path: str
    session_id: str
    timestamp: float
    content_length: int
    edit_id: str
    source: str = "agent"


class DidConflict(Struct, frozen=True, kw_only=True):
    """An edit was refused because the file had changed since it was read.

    last_read, last_modified, current_modified: seconds since the epoch. size_diff: bytes, now minus then.
    """

    file_path: str
    session_id: str
    last_read: float
    last_modified: float
    current_modified: float | None
    size_diff: int


class WatcherHealth(Struct, frozen=True, kw_only=True):
    state: Literal["ok", "degraded"]
    reason: str


class ApprovalModeChanged(Struct, frozen=True, kw_only=True):
    """A request, or a user's answer "always", changed the approval mode."""

    session_id: str
    mode: ApprovalMode


# restored: as before the set. unchanged: the set had not reached it. left: another program has written it since.
RecoveryOutcome = Literal["restored", "unchanged", "left"]


class RecoveredFile(Struct, frozen=True, kw_only=True):
    """A file of a set that was undone. kept_as: the path of what it was before, if it was left."""

    file_path: str
    outcome: RecoveryOutcome
    kept_as: str | None = None


class DidRecover(Struct, frozen=True, kw_only=True):
    """A change set of a daemon that died while it was committed. file_path: canonical."""

    set_id: str
    files: tuple[RecoveredFile, ...]


Event = BecameStale | DidRead | DidEdit | DidConflict | WatcherHealth | ApprovalModeChanged | DidRecover
