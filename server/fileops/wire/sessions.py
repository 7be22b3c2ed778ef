"""Wire types of the requests about a session's files: recordRead, forget, conflicts, sessionFiles."""

from typing import Literal

import msgspec

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


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """`last_*` are as the session read the file; `current_modified` and `size_diff` are None if it is gone."""

    file_path: str
    reason: Literal["modified", "deleted", "replaced"]
    source: str
    last_read: float
    last_modified: float
    current_modified: float | None
    size_diff: int | None


class ConflictsResult(msgspec.Struct, frozen=True, kw_only=True):
    conflicts: list[Conflict]


class SessionFile(msgspec.Struct, frozen=True, kw_only=True):
    file_path: str
    state: Literal["fresh", "stale", "untracked"]
    reason: str | None
    n_reads: int
    n_edits: int
    n_conflicts: int
    read_at: float | None
    edited_at: float | None
    conflicted_at: float | None


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
