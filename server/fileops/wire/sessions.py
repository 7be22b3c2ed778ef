"""Wire types of the requests about a session's files: recordRead, forget, conflicts, sessionFiles."""

import msgspec

from fileops.model.results import Conflict, SessionFile
from fileops.model.settings import ApprovalMode
from fileops.wire.types import AtLeastOne, ErrorInfo, SessionParams


class FileParams(SessionParams, frozen=True, kw_only=True):
    """Params of a request about a file of a session."""

    file_path: str
    """Absolute path of the file."""


class SessionFilesParams(SessionParams, frozen=True, kw_only=True):
    """Asks for the files of a session."""

    limit: AtLeastOne | None = None
    """How many files at most."""


class RecordReadResult(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a file counts as read."""

    recorded: bool
    """Whether the file counts as read."""
    error: ErrorInfo | None
    """Why it does not."""
    size_bytes: int | None
    """Size of the file in bytes; null after a failure."""
    mtime: float | None
    """Modification time, in seconds since the epoch; null after a failure."""


class ForgetResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a session's record of a file."""

    forgotten: bool
    """Whether there was a record of the file."""


class ConflictsResult(msgspec.Struct, frozen=True, kw_only=True):
    """What has changed since a session read it."""

    conflicts: list[Conflict]
    """In the order of first reading."""


class SessionFilesResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a session has read and edited."""

    files: list[SessionFile]
    """Most important first."""


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A session of a shared daemon, of this connection or another."""

    session_id: str
    """The client's name for it; for another client's session the full name."""
    full_name: str
    """Unique in the daemon: its name in the record, and for other clients."""
    host: str
    """The session's program, such as `codex`."""
    label: str
    """The session's name for people."""
    connected: bool
    """Whether it has a connection."""
    approval_mode: ApprovalMode
    """The approval mode in this client's folders."""
    n_reads: int
    """How many reads, since it began."""
    n_edits: int
    """How many edits, since it began."""
    last_seen: float
    """The last use, in seconds since the epoch."""
    in_folders: bool = True
    """Whether one of its folders contains one of this client's, or is in one, so that it is of this project."""


class SessionsResult(msgspec.Struct, frozen=True, kw_only=True):
    """The sessions of a shared daemon."""

    sessions: list[Session]
    """In the order of first use."""
