"""Registry of the commands that run, and of those that have ended a moment ago: who may have written a change.

A command is a bracket in time: the host says when its shell tool begins and when it ends, and no process is watched.
Both ends are said after the kernel's events were read (see `recorder`), so the commands that are open when an event is
read are those that were open when the file was written.

Called on any thread. The table is replaced under one lock and never changed in place, so readers take no lock: the
thread that reads the kernel's events waits for nothing.
"""

import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from fileops.core.roots import is_inside
from fileops.model.record import Command
from fileops.model.sessions import SessionName

MAX_OPEN_S = 2 * 3600.0  # a host that died says no end
LINGERING_S = 10.0  # how long after its end such a program may go on to write
REMEMBERED_S = 60.0  # after its end: a change is decided some seconds after it was made
MAX_OPEN = 1000  # of all sessions: a host that never says an end fills nothing


class Brackets:
    """See the module. on_change: called with each command that begins or ends, outside of the lock."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        """Args: now: seconds since the epoch, as `began` and `ended` have them."""
        self.on_change: Callable[[Command], None] = lambda _command: None
        self._now = now
        self._lock = threading.Lock()
        self._commands: Mapping[str, Command] = {}  # in the order of their beginning

    def begin(
        self,
        session_id: SessionName,
        label: str,
        roots: Sequence[str],
        *,
        turn_id: str | None = None,
        host_id: str | None = None,
        is_background: bool = False,
    ) -> Command:
        """Begin a command; the open one with this `host_id` of the session, if there is one.

        Args: host_id: the host's id of the tool use. roots: canonical; see Command.
        """
        self.expire()
        with self._lock:
            known = self._open_of(session_id, host_id) if host_id is not None else None
            if known is not None:
                return known
            command = Command(
                command_id=f"c-{uuid.uuid4().hex[:12]}",
                session_id=session_id,
                label=label,
                began=self._now(),
                roots=tuple(roots),
                turn_id=turn_id,
                host_id=host_id,
                is_background=is_background,
            )
            self._commands = {**self._commands, command.command_id: command}
            surplus = [] if len(self.open) <= MAX_OPEN else [self._ended(self.open[0], is_lost=True)]
        for changed in (*surplus, command):
            self.on_change(changed)
        return command

    def end(self, session_id: SessionName, host_id: str | None, *, is_background: bool = False) -> Command | None:
        """End a command of a session by the host's id; without one the newest open one. None if none is open."""
        with self._lock:
            found = self._open_of(session_id, host_id)
            ended = None if found is None else self._ended(found, is_background=is_background)
        return self._told(ended)

    def end_command(self, command_id: str) -> Command | None:
        """End a command by its own id, unless it has ended. None if it is not known."""
        with self._lock:
            found = self._commands.get(command_id)
            if found is None or found.ended is not None:
                return found
            ended = self._ended(found)
        return self._told(ended)

    def end_all(self, session_id: SessionName) -> list[Command]:
        """End what is open of a session, the ends of which were not said."""
        with self._lock:
            lost = [self._ended(command, is_lost=True) for command in self.open if command.session_id == session_id]
        for command in lost:
            self.on_change(command)
        return lost

    def expire(self) -> None:
        """End the commands that have been open for too long, and forget those that ended long ago."""
        with self._lock:
            now = self._now()
            lost = [
                self._ended(command, is_lost=True)
                for command in self._commands.values()
                if command.ended is None and now - command.began >= MAX_OPEN_S
            ]
            self._commands = {
                command.command_id: command
                for command in self._commands.values()
                if command.ended is None or now - command.ended < REMEMBERED_S
            }
        for command in lost:
            self.on_change(command)

    def open_with(self, host_id: str, is_of: Callable[[SessionName], bool]) -> Command | None:
        """The newest open command with this id of the host, of the sessions for which `is_of` holds."""
        return next((c for c in reversed(self.open) if c.host_id == host_id and is_of(c.session_id)), None)

    def get(self, command_id: str) -> Command | None:
        """A command that is open, or ended less than REMEMBERED_S ago."""
        return self._commands.get(command_id)

    @property
    def open(self) -> tuple[Command, ...]:
        """The open commands of all sessions, the oldest first."""
        oldest = self._now() - MAX_OPEN_S
        return tuple(command for command in self._commands.values() if command.ended is None and command.began > oldest)

    def open_during(self, path: str, began: float, ended: float) -> tuple[Command, ...]:
        """The commands that were open at some time from `began` to `ended`, and whose session's roots have `path`."""
        return tuple(
            command
            for command in self._commands.values()
            if command.began <= ended
            and began <= (command.began + MAX_OPEN_S if command.ended is None else command.ended)
            and covers(command, path)
        )

    def lingering(self, path: str, began: float) -> tuple[Command, ...]:
        """The commands that have ended, and may still have a program that wrote `path` at `began` or since.

        These were started in the background, or their end was not reported.
        """
        return tuple(
            command
            for command in self._commands.values()
            if (command.is_background or command.is_lost)
            and command.ended is not None
            and command.ended >= began - LINGERING_S
            and covers(command, path)
        )

    def _open_of(self, session_id: SessionName, host_id: str | None) -> Command | None:
        """The newest open command of a session with this id; any of them without one. The lock is held."""
        for command in reversed(self.open):
            if command.session_id == session_id and host_id in {None, command.host_id}:
                return command
        return None

    def _ended(self, command: Command, *, is_background: bool = False, is_lost: bool = False) -> Command:
        """The lock is held."""
        ended = replace(
            command,
            ended=max(self._now(), command.began),
            is_background=command.is_background or is_background,
            is_lost=is_lost,
        )
        self._commands = {**self._commands, command.command_id: ended}
        return ended

    def _told(self, command: Command | None) -> Command | None:
        if command is not None:
            self.on_change(command)
        return command


def covers(command: Command, path: str) -> bool:
    """Whether a command's session works in a folder with this canonical path."""
    return any(is_inside(root, path) for root in command.roots)
