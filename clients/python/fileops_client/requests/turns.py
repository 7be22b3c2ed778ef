"""Turns and commands: what a session did between two prompts, and while one of its programs ran."""

import msgspec

from fileops_client.requests.sender import FilePath, Sender, given, path_or_none
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
        """Begin a turn of the session, and return its id. Repeating the `turn_id` of the open turn does nothing.

        turn_id: your own id of it. title: the prompt; only the beginning of its first line is kept.
        """
        params = given(turn_id=turn_id, title=title, session_id=session_id)
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

        What is written until its end counts as written by it. label: the command line, of which only the programs and
        their first arguments are kept. command_id: your own id of it. background: a program may continue after the end.
        """
        params = given(label=label, command_id=command_id, background=background, session_id=session_id)
        return (await self.request("fileops/beginCommand", params, timeout_s=timeout_s))["command_id"]

    async def end_command(self, command_id: str, *, timeout_s: float | None = None) -> EndedCommand:
        """Report that a command has ended, by its id or your own, and return what it changed."""
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
        """Return the turns, newest first; of all sessions without `session_id`. root: only those in one folder."""
        params = given(session_id=session_id, root=path_or_none(root), limit=limit)
        answer = await self.request("fileops/turns", params, timeout_s=timeout_s)
        return msgspec.convert(answer["turns"], list[Turn])
