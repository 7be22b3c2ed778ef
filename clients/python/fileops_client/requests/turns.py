"""Turns and commands: what a session did between two prompts, and while one of its programs ran."""

import msgspec

from fileops_client.requests.sender import FilePath, Sender, drop_none, path_or_none
from fileops_client.values import EndedCommand, Turn


class TurnRequests(Sender):
    async def begin_turn(
        self,
        *,
        turn_id: str | None = None,
        title: str | None = None,
        session_id: str | None = None,
        timeout_s: float | None = None,
    ) -> str:
        """Begin a turn of the session: what it does for one prompt. Return its id. It ends the turn before.

        Args:
            turn_id: your own id of it; by default the daemon makes one. That of the open turn again does nothing.
            title: the prompt; only the beginning of its first line is kept.
            session_id: by default this client's session.
            timeout_s: seconds until the request is cancelled; by default the client's `timeout_s`.
        """
        params = drop_none(turn_id=turn_id, title=title, session_id=session_id)
        return (await self.request("fileops/beginTurn", params, timeout_s=timeout_s))["turn_id"]

    async def begin_command(
        self,
        label: str | None = None,
        *,
        command_id: str | None = None,
        background: bool | None = None,
        session_id: str | None = None,
        timeout_s: float | None = None,
    ) -> str:
        """Report that a program of the session starts to run, and return the id of the command.

        What is written until its end counts as written by it.

        Args:
            label: the command line, of which only the programs and their first arguments are kept.
            command_id: your own id of it; by default the daemon makes one.
            background: a program of it may continue after the end.
            session_id: by default this client's session.
            timeout_s: seconds until the request is cancelled; by default the client's `timeout_s`.
        """
        params = drop_none(label=label, command_id=command_id, background=background, session_id=session_id)
        return (await self.request("fileops/beginCommand", params, timeout_s=timeout_s))["command_id"]

    async def end_command(self, command_id: str, *, timeout_s: float | None = None) -> EndedCommand:
        """Report that a command has ended, and return what it changed.

        Args:
            command_id: its id, or your own, as given to `begin_command`.
            timeout_s: seconds until the request is cancelled; by default the client's `timeout_s`.

        Raises: ResponseError if no such command is open.
        """
        answer = await self.request("fileops/endCommand", {"command_id": command_id}, timeout_s=timeout_s)
        return msgspec.convert(answer, EndedCommand)

    async def turns(
        self,
        *,
        session_id: str | None = None,
        root: FilePath | None = None,
        limit: int | None = None,
        timeout_s: float | None = None,
    ) -> list[Turn]:
        """Return the turns, newest first.

        Args:
            session_id: only of this session; by default of all.
            root: an absolute folder; only turns of sessions in it.
            limit: at most so many; by default 100.
            timeout_s: seconds until the request is cancelled; by default the client's `timeout_s`.
        """
        params = drop_none(session_id=session_id, root=path_or_none(root), limit=limit)
        answer = await self.request("fileops/turns", params, timeout_s=timeout_s)
        return msgspec.convert(answer["turns"], list[Turn])
