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
    """Path as the session gave it."""
    session_id: SessionName
    """The session that has read it."""
    reason: StaleReason
    """What happened to the file."""
    source: str
    """The author: `external`, `buffer` or `session:ID`."""
    timestamp: float
    """When it was noticed, in seconds since the epoch."""


class DidRead(Struct, frozen=True, kw_only=True):
    """A session has read a file."""

    file_path: str
    """Path as the session gave it."""
    session_id: SessionName
    """The session."""
    timestamp: float
    """When it was read, in seconds since the epoch."""
    size: int
    """Size of the file in bytes."""
    modified: float
    """The file's modification time, in seconds since the epoch."""


class DidEdit(Struct, frozen=True, kw_only=True):
    """A session has edited a file."""

    file_path: str
    """Path as the session gave it."""
    session_id: SessionName
    """The session."""
    timestamp: float
    """When it was edited, in seconds since the epoch."""
    content_length: int
    """How many characters the new content has."""
    edit_id: str
    """The edit's id in the history."""
    source: str = "agent"
    """Always `agent`."""


class DidConflict(Struct, frozen=True, kw_only=True):
    """An edit was refused because the file had changed since it was read."""

    file_path: str
    """Path as the session gave it."""
    session_id: SessionName
    """The session."""
    last_read: float
    """When the session last read the file, in seconds since the epoch."""
    last_modified: float
    """The modification time that the session read, in seconds since the epoch."""
    current_modified: float | None
    """The current modification time, in seconds since the epoch; null if the file is gone."""
    size_diff: int
    """The change in size, in bytes."""


class WatcherHealth(Struct, frozen=True, kw_only=True):
    """Whether changes of files are noticed at once, or only by sweeps."""

    state: Literal["ok", "degraded"]
    """`degraded`: only by sweeps, in some folders."""
    reason: str
    """The reason, for people."""


class ApprovalModeChanged(Struct, frozen=True, kw_only=True):
    """A request, or a user's answer "always", changed the approval mode."""

    session_id: SessionName
    """The session."""
    mode: ApprovalMode
    """How often the user is asked about edits."""


RecoveryOutcome = Literal["restored", "unchanged", "left"]


class RecoveredFile(Struct, frozen=True, kw_only=True):
    """A file of a change set that was undone."""

    file_path: str
    """Canonical path."""
    outcome: RecoveryOutcome
    """`restored`: as before the set. `unchanged`: the set had not reached it. `left`: another program changed it."""
    kept_as: str | None = None
    """Where the old content is kept, if the file was left."""


class DidRecover(Struct, frozen=True, kw_only=True):
    """A change set that was undone because its daemon died during the commit."""

    set_id: str
    """The set's id."""
    files: tuple[RecoveredFile, ...]
    """The files of the set that are settled."""
    waits_for: tuple[str, ...] = ()
    """Folders that are not there or cannot be written; their files are settled when they are used again."""


class DidDiagnose(Struct, frozen=True, kw_only=True):
    """How edits changed their files' problems, known after the edits were answered."""

    file_path: str
    """Path of the first edited file, as the session gave it."""
    session_id: SessionName
    """The session that made the edits."""
    timestamp: float
    """When it was known, in seconds since the epoch."""
    diagnostics: DiagnosticsReport
    """The report."""


Event = BecameStale | DidRead | DidEdit | DidConflict | WatcherHealth | ApprovalModeChanged | DidRecover | DidDiagnose
