"""What a session knows of its files: seen by other means, forgotten, changed since, worked on; and what it did."""

import os
from dataclasses import dataclass
from typing import Literal

import msgspec

from fileops_client.sender import FilePath, Sender, given
from fileops_client.values import Stats, ToolError


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRead:
    """mtime: seconds since the epoch."""

    recorded: bool
    error: ToolError | None = None
    size_bytes: int | None = None
    mtime: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A file that changed since the session read it. current_modified, size_diff: None where it is gone."""

    file_path: str
    reason: Literal["modified", "deleted", "replaced"]
    source: str
    last_read: float
    last_modified: float
    current_modified: float | None = None
    size_diff: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFile:
    """Times in seconds since the epoch, None for what never happened."""

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
    """Milliseconds."""

    n: int
    p50: float
    p90: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EditStats:
    """Of applied edits; shares of `applied`."""

    applied: int
    modified_by_user: int
    undone: int
    share_modified: float
    share_undone: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStats:
    """session_id: None for all. since: seconds since the epoch. calls, latency_ms: by method; matches: by tier."""

    session_id: str | None
    since: float
    calls: dict[str, int]
    outcomes: dict[str, int]
    matches: dict[str, int]
    lines: Stats
    edits: EditStats
    latency_ms: dict[str, Latency]


class SessionFileRequests(Sender):
    async def stats(self, *, session_id: str | None = None) -> CallStats:
        """What was asked and what came of it; without a session, of all of them."""
        return msgspec.convert(await self.request("fileops/stats", given(session_id=session_id)), CallStats)

    async def record_read(self, file_path: FilePath, *, session_id: str | None = None) -> RecordedRead:
        """The agent has seen the whole file by other means, as it stands now."""
        params = given(file_path=os.fspath(file_path), session_id=session_id)
        return msgspec.convert(await self.request("fileops/recordRead", params), RecordedRead)

    async def forget(self, file_path: FilePath, *, session_id: str | None = None) -> bool:
        """Whether the session had seen the file. From now on it has not."""
        params = given(file_path=os.fspath(file_path), session_id=session_id)
        return (await self.request("fileops/forget", params))["forgotten"]

    async def conflicts(self, *, session_id: str | None = None) -> tuple[Conflict, ...]:
        answer = await self.request("fileops/conflicts", given(session_id=session_id))
        return msgspec.convert(answer["conflicts"], tuple[Conflict, ...])

    async def session_files(
        self, *, session_id: str | None = None, limit: int | None = None
    ) -> tuple[SessionFile, ...]:
        """The most important first: what to read again when an agent's context is rebuilt."""
        answer = await self.request("fileops/sessionFiles", given(session_id=session_id, limit=limit))
        return msgspec.convert(answer["files"], tuple[SessionFile, ...])

    async def reset_session(self, *, session_id: str | None = None) -> None:
        """Forget what the session has seen and done; its approval mode stays."""
        await self.request("fileops/resetSession", given(session_id=session_id))
