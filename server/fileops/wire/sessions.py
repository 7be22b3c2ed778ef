"""Wire types of the requests about a session's files: recordRead, forget, conflicts, sessionFiles."""

import msgspec

from fileops.model.results import Conflict, SessionFile
from fileops.model.settings import ApprovalMode
from fileops.wire.types import AtLeastOne, ErrorInfo, SessionParams


class FileParams(SessionParams, frozen=True, kw_only=True):
    """Params of a request about a file of a session."""

    file_path: str
    """Absolute."""


class SessionFilesParams(SessionParams, frozen=True, kw_only=True):
    """Asks for the files of a session."""

    limit: AtLeastOne | None = None
    """At most so many files."""


class RecordReadResult(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a file counts as read."""

    recorded: bool
    """Whether it does."""
    error: ErrorInfo | None
    """Why not."""
    size_bytes: int | None
    """Null after a failure."""
    mtime: float | None
    """Seconds since the epoch. Null after a failure."""


class ForgetResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a session's record of a file."""

    forgotten: bool
    """Whether there was one."""


class ConflictsResult(msgspec.Struct, frozen=True, kw_only=True):
    """What changed since a session read it."""

    conflicts: list[Conflict]
    """In the order of first reading."""


class SessionFilesResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a session has read and edited."""

    files: list[SessionFile]
    """The most important first."""


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A session of a shared daemon, of this connection or of another one."""

    session_id: str
    """As this client calls it: of another client's session the full name."""
    full_name: str
    """Unique in the daemon: its name in the record, and for other clients."""
    host: str
    """The program, such as `codex`."""
    label: str
    """For people."""
    connected: bool
    """Whether it has a connection."""
    approval_mode: ApprovalMode
    """In the folders of this client."""
    n_reads: int
    """Since it began."""
    n_edits: int
    """Since it began."""
    last_seen: float
    """Seconds since the epoch."""


class SessionsResult(msgspec.Struct, frozen=True, kw_only=True):
    """The sessions of a shared daemon."""

    sessions: list[Session]
    """In the order of first use."""
