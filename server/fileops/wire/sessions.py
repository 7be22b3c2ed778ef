"""Wire types of the requests about a session's files: recordRead, forget, conflicts, sessionFiles."""

import msgspec

from fileops.model.results import Conflict, SessionFile
from fileops.model.settings import ApprovalMode
from fileops.wire.types import AtLeastOne, ErrorInfo, SessionParams


class FileParams(SessionParams, frozen=True, kw_only=True):
    file_path: str


class SessionFilesParams(SessionParams, frozen=True, kw_only=True):
    limit: AtLeastOne | None = None


class RecordReadResult(msgspec.Struct, frozen=True, kw_only=True):
    recorded: bool
    error: ErrorInfo | None
    size_bytes: int | None  # None after a failure, as mtime
    mtime: float | None


class ForgetResult(msgspec.Struct, frozen=True, kw_only=True):
    forgotten: bool


class ConflictsResult(msgspec.Struct, frozen=True, kw_only=True):
    conflicts: list[Conflict]


class SessionFilesResult(msgspec.Struct, frozen=True, kw_only=True):
    files: list[SessionFile]


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A session of a shared daemon. last_seen: seconds since the epoch."""

    session_id: str
    host: str
    label: str
    connected: bool
    approval_mode: ApprovalMode
    n_reads: int
    n_edits: int
    last_seen: float


class SessionsResult(msgspec.Struct, frozen=True, kw_only=True):
    sessions: list[Session]
