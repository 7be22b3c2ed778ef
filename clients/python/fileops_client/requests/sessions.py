"""Requests about one session: its files (recorded, forgotten, changed, listed), its statistics, its end."""

import msgspec

from fileops_client.requests.sender import FilePath, Sender, drop_none, path_of
from fileops_client.values import CallStats, Conflict, RecordedRead, SessionFile, TrackedFile


class SessionRequests(Sender):
    async def tracked(self, *, session_id: str | None = None) -> tuple[TrackedFile, ...]:
        """Return the files that the session has read, with their current state.

        Args:
            session_id: by default this client's session.
        """
        answer = await self.request("fileops/tracked", drop_none(session_id=session_id))
        return msgspec.convert(answer["files"], tuple[TrackedFile, ...])

    async def close_session(self, session_id: str) -> None:
        """Forget the session: what it has read, and its approval mode. Its edits stay in the history.

        Args:
            session_id: which one; an unknown id changes nothing.
        """
        await self.request("fileops/closeSession", {"session_id": session_id})

    async def stats(self, *, session_id: str | None = None) -> CallStats:
        """Return the statistics of calls: how many, how many failed, and how long they took.

        Args:
            session_id: of this session; by default of all.
        """
        return msgspec.convert(await self.request("fileops/stats", drop_none(session_id=session_id)), CallStats)

    async def record_read(self, file_path: FilePath, *, session_id: str | None = None) -> RecordedRead:
        """Record that the agent has read the whole current file by other means, so that it may be edited.

        Args:
            file_path: absolute.
            session_id: whose read it is; by default this client's session.

        The result's `error` says why nothing was recorded, as `not_found`.
        """
        params = drop_none(file_path=path_of(file_path), session_id=session_id)
        return msgspec.convert(await self.request("fileops/recordRead", params), RecordedRead)

    async def forget(self, file_path: FilePath, *, session_id: str | None = None) -> bool:
        """Forget that the session has read the file: its next edit needs a read again. Return whether it had.

        Args:
            file_path: absolute, under any of the file's names.
            session_id: by default this client's session.
        """
        params = drop_none(file_path=path_of(file_path), session_id=session_id)
        return (await self.request("fileops/forget", params))["forgotten"]

    async def conflicts(self, *, session_id: str | None = None) -> tuple[Conflict, ...]:
        """Return the files that have changed since the session read them, checked now, in the order of first reading.

        Args:
            session_id: by default this client's session.
        """
        answer = await self.request("fileops/conflicts", drop_none(session_id=session_id))
        return msgspec.convert(answer["conflicts"], tuple[Conflict, ...])

    async def session_files(
        self, *, session_id: str | None = None, limit: int | None = None
    ) -> tuple[SessionFile, ...]:
        """Return the files to read again when an agent's context is rebuilt, most important first.

        Args:
            session_id: by default this client's session.
            limit: at most so many; by default all (10,000 are kept).
        """
        answer = await self.request("fileops/sessionFiles", drop_none(session_id=session_id, limit=limit))
        return msgspec.convert(answer["files"], tuple[SessionFile, ...])

    async def reset_session(self, *, session_id: str | None = None) -> None:
        """Forget what the session has read and done, as if it were new. Its approval mode stays.

        Args:
            session_id: by default this client's session.
        """
        await self.request("fileops/resetSession", drop_none(session_id=session_id))
