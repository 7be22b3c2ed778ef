"""Tracks what the sessions are doing: when their turns and commands begin and end.

Both ends of a command are exact. All events that the kernel has queued are read before it begins or ends, so a write
before the end is inside, and a write after it is outside. Belongs to the event loop; any thread may read the
registries.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from msgspec import Struct

from fileops.core.presentation.record_texts import command_of, does_name_git, label_of, title_of
from fileops.model.record import CommandRecord, TurnRecord
from fileops.model.sessions import SessionName
from fileops.record.command_windows import CommandWindows
from fileops.record.turns import TurnRegistry

T = TypeVar("T")


class WorkingSession(Struct, frozen=True, kw_only=True):
    """A working session. session_id: its full name. roots: the folders in which it works, canonical."""

    session_id: SessionName
    label: str
    roots: tuple[str, ...] = ()


async def _now(then: Callable[[], None], roots: Sequence[str]) -> None:
    del roots
    then()


async def _do_nothing() -> None: ...


async def _is_watched(roots: Sequence[str]) -> bool:
    del roots
    return False


MAX_UNRECORDED = 1000  # sessions


class SessionWork:
    """Tracks turns and commands, see the module. at_edge: reads the kernel's queued events, then calls its argument.

    Nothing is read between the last event and that call, which may be made in another thread.
    """

    def __init__(
        self,
        windows: CommandWindows | None = None,
        turns: TurnRegistry | None = None,
        *,
        at_edge: Callable[[Callable[[], None], Sequence[str]], Awaitable[None]] = _now,
        until_watched: Callable[[Sequence[str]], Awaitable[bool]] = _is_watched,
        flush: Callable[[], Awaitable[object]] = _do_nothing,
    ) -> None:
        """Args: until_watched: waits briefly for the recording of folders to begin; returns whether it has.

        flush: returns when everything that was read is in the record.
        """
        self.windows, self.turns = windows or CommandWindows(), turns or TurnRegistry()
        self._read_events, self.until_watched, self.flush = at_edge, until_watched, flush
        self.keeps_titles = True
        self._has_record = windows is not None
        self._unrecorded: dict[SessionName, bool] = {}  # sessions that worked in folders that were not watched

    def note_unrecorded(self, session_id: SessionName) -> None:
        """Note that a session changes files in folders whose record has not begun. It is told so once."""
        if self._has_record:
            self._unrecorded.setdefault(session_id, True)
            while len(self._unrecorded) > MAX_UNRECORDED:
                del self._unrecorded[next(iter(self._unrecorded))]

    def take_unrecorded(self, session_id: SessionName) -> bool:
        """Return whether the session has yet to be told of that."""
        is_new = self._unrecorded.get(session_id, False)
        if is_new:
            self._unrecorded[session_id] = False
        return is_new

    async def begin_turn(self, session: WorkingSession, host_id: str | None, title: str | None) -> TurnRecord:
        """Begin a turn, unless the open one has this id.

        Args: host_id: the host's id for the turn. title: its prompt; None for no title.
        """
        newest = self.turns.newest(session.session_id)
        if newest is not None and newest.ended is None and host_id is not None and newest.host_id == host_id:
            return newest
        kept = title_of(title) if title is not None and self.keeps_titles else None
        return await self._at_edge(
            lambda: self.turns.begin(
                session.session_id, session.label, host_id=host_id, title=kept, roots=session.roots
            )
        )

    async def end_turn(self, session_id: SessionName) -> None:
        """End a session's turn, and its commands whose own ends were not reported."""

        def end() -> None:
            self.windows.end_all(session_id)
            self.turns.end(session_id)

        await self._at_edge(end)

    async def begin_command(
        self,
        session: WorkingSession,
        line: str,
        *,
        host_id: str | None = None,
        is_background: bool = False,
        names_git: bool = False,
    ) -> CommandRecord:
        """Begin a command once its folders are watched.

        Args: line: the command line (only its label is kept), or the label itself. names_git: whether the
        command line names git, if only its label is given.
        """
        if not await self.until_watched(session.roots):
            self.note_unrecorded(session.session_id)

        def begin() -> CommandRecord:
            turn = self.turns.newest(session.session_id)
            return self.windows.begin(
                session.session_id,
                label_of(session.label, command_of(line)),
                session.roots,
                turn_id=None if turn is None else turn.turn_id,
                host_id=host_id,
                is_background=is_background,
                names_git=names_git or does_name_git(line),
            )

        return await self._at_edge(begin, session.roots)

    async def end_command(self, command_id: str) -> CommandRecord | None:
        """End a command by its own id; return None if it is unknown."""
        return await self._at_edge(
            lambda: self.windows.end_command(command_id), _roots_of(self.windows.get(command_id))
        )

    async def end_command_of(
        self, session_id: SessionName, host_id: str | None, *, is_background: bool = False
    ) -> CommandRecord | None:
        """End a command by the host's id, or else the session's newest; return None if none is open."""
        command = next((c for c in self.windows.open if c.session_id == session_id), None)
        return await self._at_edge(
            lambda: self.windows.end(session_id, host_id, is_background=is_background), _roots_of(command)
        )

    async def end_commands(self, session_id: SessionName) -> None:
        """End the session's open commands, whose ends were not reported."""
        if any(command.session_id == session_id for command in self.windows.open):
            await self._at_edge(lambda: self.windows.end_all(session_id))

    @asynccontextmanager
    async def run_command(self, session: WorkingSession, line: str) -> AsyncGenerator[CommandRecord]:
        """Run the body as a command."""
        command = await self.begin_command(session, line)
        try:
            yield command
        finally:
            await self.end_command(command.command_id)

    def move_turn(self, unattached_id: SessionName, session: WorkingSession) -> None:
        """Move the turn of a session without a client to the session that it turned out to belong to."""
        self.windows.end_all(unattached_id)
        self.turns.move(unattached_id, session.session_id, session.label, session.roots)

    def session_ended(self, session_id: SessionName) -> None:
        """End everything open in a session that has ended, including its turn."""
        self.windows.end_all(session_id)
        self.turns.forget(session_id)

    def disconnect(self, session_ids: list[SessionName]) -> None:
        """End the commands of sessions whose host is gone. What they wrote may not have been read yet: see R-BY-4."""
        for session_id in session_ids:
            self.windows.end_all(session_id)

    async def _at_edge(self, act: Callable[[], T], roots: Sequence[str] = ()) -> T:
        results: list[T] = []
        await self._read_events(lambda: results.append(act()), roots)
        (result,) = results
        return result


def _roots_of(command: CommandRecord | None) -> Sequence[str]:
    return () if command is None else command.roots
