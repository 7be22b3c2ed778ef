"""The current turns and commands of one client's sessions."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol, TypeVar

from msgspec import Struct

from fileops.model.record import CommandRecord, CountedTurn, LogQuery
from fileops.model.review import SessionInfo
from fileops.model.sessions import SessionName
from fileops.ports import Decisions
from fileops.service.hub.names import SessionNames
from fileops.service.session_work import SessionWork, WorkingSession

T = TypeVar("T")


class RunOnDisk(Protocol):
    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]: ...


class EndedCommand(Struct, frozen=True, kw_only=True):
    """A command that has ended, and the ids of its entries, oldest first."""

    command_id: str
    entries: tuple[str, ...]
    n_unsettled: int


class ClientWork:
    """See the module. Belongs to the event loop."""

    def __init__(
        self,
        work: SessionWork,
        names: SessionNames,
        info_of: Callable[[SessionName], SessionInfo],
        folders: Callable[[], Awaitable[tuple[str, ...]]],
        store: Callable[[], Awaitable[Decisions | None]],
        run_on_disk: "RunOnDisk",
        *,
        is_agent: bool,
        scope: Callable[[], tuple[str, ...] | None],
    ) -> None:
        """Store what the client's requests need.

        Args: info_of: describes a session. folders: those in which the client works, canonical. is_agent: it sees only
        its own sessions' turns. scope: the folders that a list covers if none is named.
        """
        self._work = work
        self._names = names
        self._info_of = info_of
        self._folders = folders
        self._store = store
        self._run_on_disk = run_on_disk
        self._is_agent = is_agent
        self._scope = scope

    def note_unrecorded(self, session_id: SessionName) -> None:
        """See SessionWork."""
        self._work.note_unrecorded(session_id)

    def take_unrecorded(self, session_id: SessionName) -> bool:
        """See SessionWork."""
        return self._work.take_unrecorded(session_id)

    async def begin_turn(self, session_id: SessionName, host_id: str | None, title: str | None = None) -> str:
        """Begin a turn, unless the open one has this id; return the turn's id."""
        return (await self._work.begin_turn(await self._session(session_id), host_id, title)).turn_id

    async def begin_command(
        self, session_id: SessionName, host_id: str | None, line: str, *, is_background: bool
    ) -> tuple[str, bool]:
        """Begin a command; return its id, and whether its changes are recorded.

        Args: line: see SessionWork.begin_command.
        """
        session = await self._session(session_id)
        command = await self._work.begin_command(session, line, host_id=host_id, is_background=is_background)
        return command.command_id, await self._work.until_watched(session.roots)

    async def end_command(self, command_id: str) -> EndedCommand | None:
        """End a command of this client, given the daemon's id or the client's own. Return None if there is none."""
        command = self._work.windows.get(command_id) or self._work.windows.open_with(command_id, self._names.is_own)
        if command is None or not self._names.is_own(command.session_id):
            return None
        await self._work.end_command(command.command_id)
        await self._work.flush()
        store = await self._store()
        query = LogQuery(command_id=command.command_id)
        entries = [] if store is None else await self._run_on_disk(lambda: store.entries(query)[0])
        return EndedCommand(
            command_id=command.command_id,
            entries=tuple(entry.entry_id for entry in reversed(entries)),
            n_unsettled=sum(not entry.settled for entry in entries),
        )

    async def list(self, session_id: SessionName | None, root: str | None, limit: int | None) -> Sequence[CountedTurn]:
        """Return the turns that this client may see, newest first, of one session or of all.

        Args: root: canonical; only turns with entries in this folder. Without it, the client's own folders count.
        """
        store, names = await self._store(), self._names
        if store is None:
            return []
        await self._work.flush()
        sessions = None if session_id is None else (session_id,)
        folders = self._scope() if root is None else (root,)
        if not self._is_agent:
            return await self._run_on_disk(lambda: store.turns(session_ids=sessions, folders=folders, limit=limit))
        turns = await self._run_on_disk(lambda: store.turns(session_ids=sessions, folders=folders))
        own = [
            counted
            for counted in turns
            if names.is_own(counted.turn.session_id)
            and store.is_known_by_name(counted.turn.session_id, counted.turn.began)
        ]
        return own[:limit]

    @asynccontextmanager
    async def run_command(self, session_id: SessionName, line: str) -> AsyncGenerator[CommandRecord]:
        """Run the body as a command of a session."""
        async with self._work.run_command(await self._session(session_id), line) as command:
            yield command

    async def _session(self, session_id: SessionName) -> WorkingSession:
        folders = await self._folders()
        return WorkingSession(session_id=session_id, label=self._info_of(session_id).label, roots=folders)
