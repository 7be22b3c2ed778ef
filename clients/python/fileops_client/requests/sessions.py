"""Requests about one session: its files (recorded, forgotten, changed, listed), its statistics, its end."""

from dataclasses import dataclass
from typing import Literal

import msgspec

from fileops_client.models import Stats, ToolError, TrackedFile
from fileops_client.requests.sender import FilePath, Sender, given, path_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRead:
    """The result of `record_read`. `mtime` is in seconds since the epoch."""

    recorded: bool
    error: ToolError | None = None
    size_bytes: int | None = None
    mtime: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A file that has changed since the session read it. `current_modified`, `size_diff`: None if it is missing."""

    file_path: str
    reason: Literal["modified", "deleted", "replaced"]
    source: str
    last_read: float
    last_modified: float
    current_modified: float | None = None
    size_diff: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFile:
    """A file of a session. Times are in seconds since the epoch, None for what never happened."""

    file_path: str
    state: Literal["fresh", "stale", "untracked"]
    reason: str | None = None
    n_reads: int = 0
    n_edits: int = 0
    n_conflicts: int = 0
    read_at: float | None = None
    edited_at: float | None = None
    conflicted_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Latencies in milliseconds."""

    n: int
    p50: float
    p90: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EditStats:
    """Counts of applied edits. The others are shares of `applied`."""

    applied: int
    modified_by_user: int
    undone: int
    share_modified: float
    share_undone: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorStats:
    """Calls that ended in an error. `share` is of all calls, from 0 to 1."""

    n: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStats:
    """Statistics of calls.

    session_id: None for all. since: seconds since the epoch. calls, latency_ms: by method; matches: by tier.
    """

    session_id: str | None
    since: float
    calls: dict[str, int]
    outcomes: dict[str, int]
    matches: dict[str, int]
    lines: Stats
    edits: EditStats
    latency_ms: dict[str, Latency]
    errors: ErrorStats = ErrorStats(n=0, share=0.0)  # an older server does not send it


class SessionRequests(Sender):
    async def tracked(self, *, session_id: str | None = None) -> tuple[TrackedFile, ...]:
        """Return the files that the session has read, with their present state."""
        answer = await self.request("fileops/tracked", given(session_id=session_id))
        return msgspec.convert(answer["files"], tuple[TrackedFile, ...])

    async def close_session(self, session_id: str) -> None:
        """Forget the session: what it has read, and its approval mode. Its edits stay in the history."""
        await self.request("fileops/closeSession", {"session_id": session_id})

    async def stats(self, *, session_id: str | None = None) -> CallStats:
        """Return the statistics of a session, or of all sessions if none is named."""
        return msgspec.convert(await self.request("fileops/stats", given(session_id=session_id)), CallStats)

    async def record_read(self, file_path: FilePath, *, session_id: str | None = None) -> RecordedRead:
        """Record that the agent has read the whole current file by other means."""
        params = given(file_path=path_of(file_path), session_id=session_id)
        return msgspec.convert(await self.request("fileops/recordRead", params), RecordedRead)

    async def forget(self, file_path: FilePath, *, session_id: str | None = None) -> bool:
        """Forget that the session has read the file. Return whether it had."""
        params = given(file_path=path_of(file_path), session_id=session_id)
        return (await self.request("fileops/forget", params))["forgotten"]

    async def conflicts(self, *, session_id: str | None = None) -> tuple[Conflict, ...]:
        """Return the files that have changed since the session read them, checked now."""
        answer = await self.request("fileops/conflicts", given(session_id=session_id))
        return msgspec.convert(answer["conflicts"], tuple[Conflict, ...])

    async def session_files(
        self, *, session_id: str | None = None, limit: int | None = None
    ) -> tuple[SessionFile, ...]:
        """Return the files to read again when an agent's context is rebuilt, the most important first."""
        answer = await self.request("fileops/sessionFiles", given(session_id=session_id, limit=limit))
        return msgspec.convert(answer["files"], tuple[SessionFile, ...])

    async def reset_session(self, *, session_id: str | None = None) -> None:
        """Forget what the session has read and done. Its approval mode stays."""
        await self.request("fileops/resetSession", given(session_id=session_id))
