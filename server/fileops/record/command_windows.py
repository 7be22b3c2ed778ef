"""Registry of the shell commands that are running or ended recently, and so may have written a change.

A command is a window in time: the host says when its shell tool begins and when it ends, and no process is watched.
The starts and ends of all commands are numbered as *edges*. A change is observed between two edges: the last one at
which every earlier change had been read, and the one at which the file was read. So it is known, without a clock,
which commands were open for all of that time and which for a part of it.

Called on any thread. The table is replaced under one lock and never changed in place, so readers take no lock: the
thread that reads the kernel's events waits for nothing.
"""

import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fileops.core.roots import is_inside
from fileops.model.record import CommandRecord
from fileops.model.sessions import SessionName
from fileops.platform.steady_clock import steady_time
from fileops.record import git

MAX_OPEN_S = 2 * 3600.0  # a host that died reports no end
LINGERING_S = 10.0  # how long such a program may write after the end
REMEMBERED_S = 60.0  # after its end: a change is decided some seconds after it was made
MAX_OPEN = 1000  # in all sessions: bounds a host that reports no ends


class _Window(Struct, frozen=True):
    """A command with its edges and their times on the steady clock. An open command has no end.

    names_git: whether its command line does, so that what git writes may be its work.
    """

    command: CommandRecord
    began_edge: int
    began: float
    names_git: bool
    ended_edge: int | None = None
    ended: float | None = None

    def was_open(self, since: int, until: int) -> bool:
        """Whether it was open at some time between two edges."""
        return self.began_edge <= until and (self.ended_edge is None or self.ended_edge > since)

    def was_open_throughout(self, since: int, until: int) -> bool:
        return self.began_edge <= since and (self.ended_edge is None or self.ended_edge > until)


class OpenCommands(Struct, frozen=True):
    """The commands that were open between two edges. is_certain: at all times at least one of these was open.

    names_git: whether the command line of one of them does.
    """

    commands: tuple[CommandRecord, ...] = ()
    is_certain: bool = True
    names_git: bool = False


class CommandWindows:
    """See the module. on_change: called with each command that begins or ends, outside of the lock."""

    def __init__(self, now: Callable[[], float] = steady_time, wall: Callable[[], float] = time.time) -> None:
        """Args: now: decides how long a command has run. wall: seconds since the epoch, for `began` and `ended`."""
        self.on_change: Callable[[CommandRecord], None] = lambda _command: None
        self._now, self._wall = now, wall
        self._lock = threading.Lock()
        self._windows: Mapping[str, _Window] = {}  # in the order of their beginning
        self.edge = 0  # number of starts and ends so far; written under _lock

    def begin(
        self,
        session_id: SessionName,
        label: str,
        roots: Sequence[str],
        *,
        turn_id: str | None = None,
        host_id: str | None = None,
        is_background: bool = False,
        names_git: bool = False,
    ) -> CommandRecord:
        """Begin a command, or return the session's open command with this `host_id`.

        Args: host_id: the host's id of the tool use. roots: canonical; see CommandRecord.
        """
        self.expire()
        with self._lock:
            known = self._open_of(session_id, host_id) if host_id is not None else None
            if known is not None:
                return known
            command = CommandRecord(
                command_id=f"c-{uuid.uuid4().hex[:12]}",
                session_id=session_id,
                label=label,
                began=self._wall(),
                roots=tuple(roots),
                turn_id=turn_id,
                host_id=host_id,
                is_background=is_background,
            )
            # The window is in the table before its edge counts: a reader that sees the edge sees the window.
            window = _Window(command, self.edge + 1, self._now(), names_git)
            self._windows = {**self._windows, command.command_id: window}
            self.edge += 1
            surplus = [] if len(self.open) <= MAX_OPEN else [self._end(self.open[0], is_lost=True)]
        for changed in (*surplus, command):
            self.on_change(changed)
        return command

    def end(self, session_id: SessionName, host_id: str | None, *, is_background: bool = False) -> CommandRecord | None:
        """End a session's command by the host's id; without an id, the newest open one. None if none is open."""
        with self._lock:
            found = self._open_of(session_id, host_id)
            ended = None if found is None else self._end(found, is_background=is_background)
        return self._report(ended)

    def end_command(self, command_id: str) -> CommandRecord | None:
        """End a command by its own id, unless it has ended. None if it is not known."""
        with self._lock:
            found = self.get(command_id)
            if found is None or found.ended is not None:
                return found
            ended = self._end(found)
        return self._report(ended)

    def end_all(self, session_id: SessionName) -> list[CommandRecord]:
        """End all open commands of a session, whose ends were not reported."""
        with self._lock:
            lost = [self._end(command, is_lost=True) for command in self.open if command.session_id == session_id]
        for command in lost:
            self.on_change(command)
        return lost

    def expire(self) -> None:
        """End the commands that have been open for too long, and forget those that ended long ago."""
        with self._lock:
            now = self._now()
            lost = [
                self._end(window.command, is_lost=True)
                for window in self._windows.values()
                if window.ended is None and now - window.began >= MAX_OPEN_S
            ]
            self._windows = {
                command_id: window
                for command_id, window in self._windows.items()
                if window.ended is None or now - window.ended < REMEMBERED_S
            }
        for command in lost:
            self.on_change(command)

    def open_with(self, host_id: str, is_of: Callable[[SessionName], bool]) -> CommandRecord | None:
        """Return the newest open command with this host id among the sessions that `is_of` accepts."""
        return next((c for c in reversed(self.open) if c.host_id == host_id and is_of(c.session_id)), None)

    def get(self, command_id: str) -> CommandRecord | None:
        """Return a command that is open, or that ended less than REMEMBERED_S ago."""
        window = self._windows.get(command_id)
        return None if window is None else window.command

    @property
    def open(self) -> tuple[CommandRecord, ...]:
        """Return the open commands of all sessions, oldest first."""
        oldest = self._now() - MAX_OPEN_S
        return tuple(
            window.command for window in self._windows.values() if window.ended is None and window.began > oldest
        )

    @property
    def roots(self) -> Iterable[str]:
        """Return the folders of the sessions of all remembered commands."""
        return (root for window in self._windows.values() for root in window.command.roots)

    def open_between(self, path: str, project: str, since: int, until: int) -> OpenCommands:
        """Return the commands that were open at some time between two edges and whose sessions work on `path`.

        Args: project: the recorded folder that contains the path.
        """
        oldest = self._now() - MAX_OPEN_S
        found = [
            window
            for window in self._windows.values()
            if window.was_open(since, until)
            and (window.ended is not None or window.began > oldest)
            and covers(window.command, path, project)
        ]
        is_certain = not found or any(window.was_open_throughout(since, until) for window in found)
        names_git = any(window.names_git for window in found)
        return OpenCommands(tuple(window.command for window in found), is_certain, names_git)

    def find_lingering(self, path: str, project: str, began: float, ended: float) -> tuple[CommandRecord, ...]:
        """Return the ended commands that may have left a program that wrote `path` between two steady times.

        These were started in the background, or their end was not reported.
        """
        return tuple(
            window.command
            for window in self._windows.values()
            if (window.command.is_background or window.command.is_lost)
            and window.ended is not None
            and began - LINGERING_S <= window.ended <= ended
            and covers(window.command, path, project)
        )

    def _open_of(self, session_id: SessionName, host_id: str | None) -> CommandRecord | None:
        """Return the newest open command of a session, with this id if one is given. The lock is held."""
        for command in reversed(self.open):
            if command.session_id == session_id and host_id in {None, command.host_id}:
                return command
        return None

    def _end(self, command: CommandRecord, *, is_background: bool = False, is_lost: bool = False) -> CommandRecord:
        """End a command and return it. The lock is held."""
        ended = replace(
            command,
            ended=max(self._wall(), command.began),
            is_background=command.is_background or is_background,
            is_lost=is_lost,
        )
        window = self._windows[command.command_id]
        window = replace(window, command=ended, ended_edge=self.edge + 1, ended=self._now())
        self._windows = {**self._windows, command.command_id: window}
        self.edge += 1
        return ended

    def _report(self, command: CommandRecord | None) -> CommandRecord | None:
        if command is not None:
            self.on_change(command)
        return command


def covers(command: CommandRecord, path: str, project: str) -> bool:
    """Whether a command's session works in a folder with this canonical path.

    An agent chooses its folders itself, and `/` contains everything. So a folder above a project counts only if the
    project is a part of it, as a repository inside another one is; a home or a folder of several projects does not.
    """
    return any(
        is_inside(root, path) and (is_inside(project, root) or git.project_of(root) is not None)
        for root in command.roots
    )
