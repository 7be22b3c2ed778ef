"""Events that the daemon sends to clients as notifications.

An event has the fields of its notification (docs/PROTOCOL.md, "Notifications"). `file_path` is the path as that session
last gave it; timestamps are seconds since the epoch.
"""

from typing import Literal

from msgspec import Struct

from fileops.model.diagnostics import DiagnosticsReport
from fileops.model.files import StaleReason
from fileops.model.sessions import SessionName
from fileops.model.settings import ApprovalMode


class BecameStale(Struct, frozen=True, kw_only=True):
    """A file that the session has read has changed."""

    file_path: str
    """As the session gave it."""
    session_id: SessionName
    """The session that has read it."""
    reason: StaleReason
    """What happened to it."""
    source: str
    """`external`, `buffer` or `session:ID`."""
    timestamp: float
    """Seconds since the epoch."""


class DidRead(Struct, frozen=True, kw_only=True):
    """A session has read a file."""

    file_path: str
    """As the session gave it."""
    session_id: SessionName
    """The session."""
    timestamp: float
    """Seconds since the epoch."""
    size: int
    """Bytes."""
    modified: float
    """Of the file. Seconds since the epoch."""


class DidEdit(Struct, frozen=True, kw_only=True):
    """A session has edited a file."""

    file_path: str
    """As the session gave it."""
    session_id: SessionName
    """The session."""
    timestamp: float
    """Seconds since the epoch."""
    content_length: int
    """Characters of the new content."""
    edit_id: str
    """Of the edit in the history."""
    source: str = "agent"
    """Always `agent`."""


class DidConflict(Struct, frozen=True, kw_only=True):
    """An edit was refused because the file had changed since it was read."""

    file_path: str
    """As the session gave it."""
    session_id: SessionName
    """The session."""
    last_read: float
    """Seconds since the epoch."""
    last_modified: float
    """As the session read it. Seconds since the epoch."""
    current_modified: float | None
    """Seconds since the epoch. Null if the file is gone."""
    size_diff: int
    """Bytes, now minus then."""


class WatcherHealth(Struct, frozen=True, kw_only=True):
    """Whether changes of files are noticed at once, or by sweeps."""

    state: Literal["ok", "degraded"]
    """`degraded`: by sweeps, in some folders."""
    reason: str
    """For people."""


class ApprovalModeChanged(Struct, frozen=True, kw_only=True):
    """A request, or a user's answer "always", changed the approval mode."""

    session_id: SessionName
    """The session."""
    mode: ApprovalMode
    """How often the user is asked about edits."""


RecoveryOutcome = Literal["restored", "unchanged", "left"]


class RecoveredFile(Struct, frozen=True, kw_only=True):
    """A file of a set that was undone."""

    file_path: str
    """Canonical."""
    outcome: RecoveryOutcome
    """`restored`: as before the set. `unchanged`: the set had not reached it. `left`: another program changed it."""
    kept_as: str | None = None
    """The path of what it was before, if it was left."""


class DidRecover(Struct, frozen=True, kw_only=True):
    """A change set that was undone, because its daemon died while it was committed."""

    set_id: str
    """Of the change set."""
    files: tuple[RecoveredFile, ...]
    """All files of the set."""


class DidDiagnose(Struct, frozen=True, kw_only=True):
    """What edits did to the problems of their files, known after they were answered."""

    file_path: str
    """The first of the edited files, as the session gave it."""
    session_id: SessionName
    """The session that made the edits."""
    timestamp: float
    """Seconds since the epoch."""
    diagnostics: DiagnosticsReport
    """What they did."""


Event = BecameStale | DidRead | DidEdit | DidConflict | WatcherHealth | ApprovalModeChanged | DidRecover | DidDiagnose
