"""Requests about one session: its files (recorded, forgotten, changed, listed), its statistics, its end."""

import msgspec

from fileops_client.requests.sender import FilePath, Sender, given, path_of
from fileops_client.values import CallStats, Conflict, RecordedRead, SessionFile, TrackedFile


class SessionRequests(Sender):
    async def tracked(self, *, session_id: str | None = None) -> tuple[TrackedFile, ...]:
        """Return the files that the session has read, with their current state."""
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
        """Return the files to read again when an agent's context is rebuilt, most important first."""
        answer = await self.request("fileops/sessionFiles", given(session_id=session_id, limit=limit))
        return msgspec.convert(answer["files"], tuple[SessionFile, ...])

    async def reset_session(self, *, session_id: str | None = None) -> None:
        """Forget what the session has read and done. Its approval mode stays."""
        await self.request("fileops/resetSession", given(session_id=session_id))
