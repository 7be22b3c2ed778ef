"""The language servers of a daemon: one for each setting and folder, shared by all clients, started when needed.

Belongs to the event loop of `languages/service.py`.
"""

import asyncio
import logging
import os
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Literal

import msgspec
from lsprotocol.types import FileChangeType

from fileops.core.diagnostics.places import ServerPlace
from fileops.core.roots import is_inside
from fileops.languages.connection import ServerEnded
from fileops.languages.language_server import LanguageServer
from fileops.model.diagnostics import LanguageServerStatus, Problem

log = logging.getLogger(__name__)

MAX_SERVERS = 4  # one may need 200 to 600 MB
IDLE_S = 600.0
CRASH_WINDOW_S = 600.0
RESTARTS_AFTER_S = (0.0, 1.0, 5.0)  # after no, one and two ends within the window; no more after three
MAX_FILES_AT_ONCE = 1_000  # changed on disk; beyond this a server is restarted


class LanguageServerPool:
    """on_correction: see LanguageServer."""

    def __init__(
        self, on_correction: Callable[[LanguageServer, str, tuple[Problem, ...], tuple[Problem, ...]], None]
    ) -> None:
        self._on_correction = on_correction
        self._servers: dict[bytes, LanguageServer] = {}
        self._starts: defaultdict[bytes, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._ends: defaultdict[bytes, list[float]] = defaultdict(list)  # of servers that ended unasked
        self._n_users: defaultdict[bytes, int] = defaultdict(int)

    @asynccontextmanager
    async def server(self, place: ServerPlace) -> AsyncGenerator[LanguageServer]:
        """Yield a running server, which is not ended as idle in the meantime. Raises: ServerEnded."""
        key = _key(place)
        self._n_users[key] += 1
        try:
            async with self._starts[key]:
                server = self._servers.get(key)
                if server is None or not server.is_alive:
                    server = await self._start(key, place)
            yield server
        finally:
            self._n_users[key] -= 1

    def is_running(self, place: ServerPlace) -> bool:
        """Return whether a server has started, and not ended."""
        server = self._servers.get(_key(place))
        return server is not None and server.is_alive and server.start_s is not None

    def refusal_of(self, place: ServerPlace) -> str | None:
        """Return why a server will not be started now, a clause; None if it will."""
        return self._refusal(_key(place))

    def _refusal(self, key: bytes) -> str | None:
        now = time.monotonic()
        ends = self._ends[key] = [at for at in self._ends[key] if now - at < CRASH_WINDOW_S]
        is_refused = len(ends) >= len(RESTARTS_AFTER_S)
        return f"it ended {len(ends)} times and is not started again for now" if is_refused else None

    async def _start(self, key: bytes, place: ServerPlace) -> LanguageServer:
        if (refusal := self._refusal(key)) is not None:
            raise ServerEnded(refusal)
        await asyncio.sleep(RESTARTS_AFTER_S[len(self._ends[key])])
        await self._make_room(key)
        if (former := self._servers.get(key)) is not None:
            await former.stop()  # it has ended; a child of it may keep the pipes open
        server = LanguageServer(
            place.setting, place.root, lambda reason: self._note_end(key, reason), self._on_correction
        )
        self._servers[key] = server
        try:
            await server.start()
        except ServerEnded:
            if server.is_alive and server.pid is not None:  # it was started but does not initialize
                self._ends[key].append(time.monotonic())
            await server.stop()
            raise
        except asyncio.CancelledError:
            server.kill()  # the next user would take it for one that has started
            raise
        return server

    def _note_end(self, key: bytes, reason: str) -> None:
        server = self._servers[key]
        log.warning("the language server %s in %s: %s", server.setting.name, server.root, reason)
        self._ends[key].append(time.monotonic())

    async def _make_room(self, wanted: bytes) -> None:
        """Raises: ServerEnded."""
        running = [key for key, server in self._servers.items() if server.is_alive and key != wanted]
        if len(running) < MAX_SERVERS:
            return
        idle = [key for key in running if not self._n_users[key]]
        if not idle:
            raise ServerEnded(f"it is not started: {MAX_SERVERS} language servers are in use")
        await self._servers.pop(min(idle, key=lambda key: self._servers[key].used_at)).stop()

    async def end_idle(self) -> None:
        """End the servers that were not used for a long time."""
        now = time.monotonic()
        for key, server in list(self._servers.items()):
            if not self._n_users[key] and (not server.is_alive or now - server.used_at > IDLE_S):
                del self._servers[key]
                await server.stop()

    async def note_files_changed(self, changes: Sequence[tuple[str, FileChangeType]]) -> None:
        """Notify servers of files in their folders that others have changed."""
        for key, server in list(self._servers.items()):
            own = [(path, kind) for path, kind in changes if is_inside(server.root, path)]
            if len(own) > MAX_FILES_AT_ONCE and server.start_s is not None:
                del self._servers[key]
                await server.stop()
            elif own:
                await server.note_files_changed(own)

    def describe(self) -> list[LanguageServerStatus]:
        """Return the servers that were started, for people."""
        return [_status_of(server, n_ends=len(self._ends[key])) for key, server in self._servers.items()]

    async def close(self) -> None:
        """End all servers."""
        await asyncio.gather(*(server.stop() for server in self._servers.values()), return_exceptions=True)

    def kill_processes(self) -> None:
        """End the processes of all servers, from any thread."""
        for server in list(self._servers.values()):
            server.kill_process()


def _status_of(server: LanguageServer, *, n_ends: int) -> LanguageServerStatus:
    state: Literal["starting", "running", "ended"] = "ended"
    if server.is_alive:
        state = "starting" if server.start_s is None else "running"
    pid = server.pid if server.is_alive else None
    return LanguageServerStatus(
        name=server.setting.name,
        root=server.root,
        state=state,
        pid=pid,
        n_ends=n_ends,
        start_s=server.start_s,
        memory_bytes=None if pid is None else _resident_bytes(pid),
    )


def _resident_bytes(leader: int) -> int | None:
    """Return the memory of all processes of a server's group by proc(5): a server may be a wrapper that starts another.

    None where the system does not provide it.
    """
    n_pages = 0
    for entry in _numbers_in("/proc"):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as stat:
                # The name of the program, in parentheses, may contain any character.
                _state, _parent, group, _session, *rest = stat.read().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        if int(group) == leader:
            n_pages += int(rest[17])
    return n_pages * os.sysconf("SC_PAGE_SIZE") or None


def _numbers_in(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.isdecimal()]
    except OSError:
        return []


def _key(place: ServerPlace) -> bytes:
    return msgspec.json.encode([place.root, place.setting])
