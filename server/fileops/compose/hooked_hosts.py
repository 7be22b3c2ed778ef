"""The hosts that only their hooks connect, and what their hooks ask. Part of the composition root.

Belongs to the event loop.
"""

import asyncio
import itertools
import logging
import os
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, assert_never, cast

import msgspec
from msgspec.structs import replace

from fileops.attach.handshake import BadRequest
from fileops.compose.hook_connection import QUIET_S, HookConnection
from fileops.fs.spelling import real_path
from fileops.model.diagnostics import LanguageServerSetting
from fileops.model.sessions import SessionName
from fileops.service.companion.answers import NOTHING, fit_into_answer
from fileops.service.companion.companion import Answered
from fileops.service.companion.report import CompanionReport, ReadCall
from fileops.service.hub.names import shorten
from fileops.wire.language_servers import decode_language_servers, file_of_the_user, read_language_servers

if TYPE_CHECKING:
    from fileops.compose.state import DaemonState, Hub, HubConnection

log = logging.getLogger(__name__)

MAX_HOSTS = 200
MAX_WAITING = 200
ASKS_S = 1.0  # after which a hook is told that a person has to decide


class HookedHosts:
    """See the module. on_new: called with each new connection."""

    def __init__(self, state: "DaemonState", hub: "Hub", on_new: Callable[[HookConnection], None]) -> None:
        self._state, self._hub, self._on_new = state, hub, on_new
        self.now: Callable[[], float] = time.monotonic
        self._hosts: dict[SessionName, HookConnection] = {}
        self._numbers = itertools.count(1)
        self._waiting: dict[str, tuple[HookConnection, asyncio.Task[Answered]]] = {}

    def __len__(self) -> int:
        return len(self._hosts)

    def all(self) -> tuple[HookConnection, ...]:
        return tuple(self._hosts.values())

    async def answer(
        self, report: CompanionReport, host: str, session_id: SessionName, pid: int, client: "HubConnection | None"
    ) -> Mapping[str, object]:
        """Answer a hook. Args: client: the MCP client of ours that has the session, if any. Raises: BadRequest."""
        if report.event == "decision":
            return await self._decision(report.waiting)
        if report.agent_id:  # what one agent has read, another one has not
            session_id = SessionName(f"{session_id}/{shorten(report.agent_id)}")
        if report.event == "end":
            for ended in [name for name in self._hosts if name == session_id or name.startswith(f"{session_id}/")]:
                self.end(ended)
            return {}
        connection = await self._connection(report, host, session_id, pid)
        if connection is None:
            return {}
        connection.hear(self.now())
        connection.tool_prefix = None if client is None else report.tool_prefix
        companion = connection.companion
        match report.event:
            case "start":
                companion.begin_turn()
                return {}
            case "turn":
                companion.end_turn()
                return {}
            case "before":
                await self._until_watched(connection, report)
                return await self._within_patience(
                    connection,
                    companion.before(
                        report.calls,
                        report.call_id,
                        report.mode,
                        can_correct=report.can_correct,
                        formatter=connection.formatter_like(client) if report.can_rewrite else None,
                    ),
                )
            case "after":
                answered = await companion.after(report.calls, report.call_id)
            case "failed":
                companion.end_failed(report.call_id)
                answered = Answered(answer=NOTHING)
            case "batch":
                answered = await companion.batch(report.batch)
            case "owner":
                return {}
            case _:
                assert_never(report.event)
        is_client = client is None or bool(report.agent_id)
        notices = await (connection if is_client or client is None else client).notices(session_id)
        return _mark_delivered(connection, answered, notices)

    async def tell_of_unsaved(self, session_id: SessionName, file_paths: Sequence[str]) -> Sequence[str]:
        """Return what the model is told of the unsaved text of files that its shell command has named."""
        connection = self._hosts.get(session_id)
        return () if connection is None else await connection.companion.tell_of_unsaved(file_paths)

    def end(self, session_id: SessionName) -> None:
        """End a session's connection."""
        connection = self._hosts.pop(session_id, None)
        if connection is not None:
            connection.companion.end_turn()
            connection.service.close()
            self._state.leave(connection.name)

    def end_lost(self) -> None:
        """End the sessions whose host has ended, or of which nothing was heard for long."""
        now = self.now()
        for session_id, connection in tuple(self._hosts.items()):
            if now - connection.heard_at >= QUIET_S or (connection.pid and not _exists(connection.pid)):
                self.end(session_id)

    async def _connection(
        self, report: CompanionReport, host: str, session_id: SessionName, pid: int
    ) -> HookConnection | None:
        known = self._hosts.get(session_id)
        if known is not None or not report.cwd.startswith("/") or "\0" in report.cwd:
            return known
        cwd = await asyncio.to_thread(real_path, report.cwd)
        language_servers = await asyncio.to_thread(_language_servers, cwd)
        if (known := self._hosts.get(session_id)) is not None:  # made while this waited
            return known
        while len(self._hosts) >= MAX_HOSTS:
            self.end(min(self._hosts, key=lambda name: self._hosts[name].heard_at))
        name = f"{host}-hook-{next(self._numbers)}"
        subagent = report.agent_id and (report.agent_type[:40] or report.agent_id[:8])
        connection = self._hosts[session_id] = HookConnection(
            self._state,
            self._hub,
            name,
            host,
            session_id,
            cwd,
            pid,
            language_servers=language_servers,
            subagent=subagent,
        )
        self._on_new(connection)
        return connection

    async def _until_watched(self, connection: HookConnection, report: CompanionReport) -> None:
        """Wait a short time until the folder is watched, without which a write may have no author."""
        recorder = self._state.recorder
        is_watched = recorder is None or await recorder.until_watched(connection.folders)
        if not is_watched and any(not isinstance(call, ReadCall) for call in report.calls):
            connection.service.work.note_unrecorded(connection.session_id)

    async def _within_patience(
        self, connection: HookConnection, answering: Coroutine[Any, Any, Answered]
    ) -> Mapping[str, object]:
        """Return the answer, or the name under which a hook asks for it again: a person is asked."""
        task = asyncio.create_task(answering)
        await asyncio.wait([task], timeout=ASKS_S)
        if task.done():
            return _mark_delivered(connection, task.result())
        while len(self._waiting) >= MAX_WAITING:
            self._waiting.pop(next(iter(self._waiting)))[1].cancel()
        name = f"w-{next(self._numbers)}"
        self._waiting[name] = (connection, task)
        return {"waiting": name}

    async def _decision(self, waiting: str) -> Mapping[str, object]:
        found = self._waiting.pop(waiting, None)
        if found is None:
            return {}
        connection, task = found
        return _mark_delivered(connection, await task)


def _language_servers(cwd: str) -> Sequence[LanguageServerSetting]:
    """Return what the user lets the daemon start, from their own file; nothing that the project brings. Blocks."""
    file = file_of_the_user()
    try:
        return decode_language_servers(read_language_servers(file, [cwd])) if os.path.exists(file) else ()
    except ValueError as fault:
        log.warning("%s", fault)
        return ()


def report_of(body: Mapping[str, object]) -> CompanionReport:
    """Raises: BadRequest."""
    try:
        return msgspec.convert(body, CompanionReport)
    except msgspec.ValidationError as fault:
        raise BadRequest(str(fault)) from None


def _mark_delivered(
    connection: HookConnection, answered: Answered, notices: Sequence[str] = ()
) -> Mapping[str, object]:
    """Return the answer. What it shows counts as read once it is delivered."""
    for proof in answered.read_proofs:
        connection.service.count_when_answered(proof)
    answer = answered.answer
    answer = replace(answer, contexts=fit_into_answer((*answer.contexts, *notices)))
    return cast("Mapping[str, object]", msgspec.to_builtins(answer))


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
