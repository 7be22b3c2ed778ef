"""What the connections of a shared daemon have in common. Part of the composition root.

Belongs to the event loop, except where a comment names a thread. Imports are deferred until they are needed.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from fileops.compose import parts
from fileops.concurrency import shares

if TYPE_CHECKING:
    from fileops.fs.remote.router import RouterFileSystem
    from fileops.service.workspace import Workspace
    from fileops.telemetry.calls import Sink
    from fileops.wire.types import Options

EXPIRE_EVERY_S = 60.0


class Connection(Protocol):
    """One client, as the others see it."""

    def describe(self) -> dict[str, object]: ...

    def notify_sessions(self) -> None:
        """Send the list of sessions, if this is an editor."""
        ...

    async def notices(self, session_id: str) -> list[str]:
        """Take the texts about what others changed, for a session of this connection."""
        ...

    def reset(self, session_id: str) -> None:
        """Forget what a session of this connection has read."""
        ...


class SharedWorld:
    """Disk, open documents, sessions, history and worker threads. They are made for the first client that needs them.

    The filesystems and the history are those that this client asks for, because a path has to mean the same to all.
    """

    def __init__(self, socket: str) -> None:
        from fileops.fs.local.filesystem import LocalFileSystem
        from fileops.service.client.unreadable import EditorGlobs
        from fileops.service.hub.approvals import AskedEditors, OpenQuestions
        from fileops.service.hub.routing import EventRouter
        from fileops.service.hub.sessions import SessionRegistry, Throttle

        self.socket = socket
        self.disk = LocalFileSystem()
        self.editor_globs = EditorGlobs()
        self.router, self.editors = EventRouter(), AskedEditors()
        self.questions = OpenQuestions()
        self.sessions = SessionRegistry()
        self.connections: dict[str, Connection] = {}
        self.sessions.on_change = Throttle(self._notify_sessions).request
        self._shared: SharedParts | None = None
        self._session_bases: set[str] = set()
        asyncio.get_running_loop().call_later(EXPIRE_EVERY_S, self._expire)

    def shared(self, options: "Options | None", warn: "Callable[[str], None]") -> "SharedParts":
        """Raises: InvalidParams, if the options differ from what the daemon has."""
        if self._shared is None:
            self._shared = SharedParts(self, options, warn)
        else:
            self._shared.require_same(options)
        return self._shared

    def session_base(self, host: str, connection: str) -> str:
        """A name for the sessions of a connection that the host has none for. It is given once."""
        name, n = connection, 0
        while name in self._session_bases or name.rpartition("-")[0] != host:
            n += 1
            name = f"{host}-{n}"
        self._session_bases.add(name)
        return name

    def leave(self, connection: str) -> None:
        """Forget a connection and its open documents; its sessions are kept. Called in any thread."""
        self.router.disconnect(connection)
        self.editors.disconnect(connection)
        self.editor_globs.disconnect(connection)
        self.connections.pop(connection, None)
        self.sessions.disconnected(connection)
        if self._shared is not None:
            self._shared.files.disconnect(connection)
            self._shared.workspace.workers.end_share(shares.of_editor(connection))

    def describe(self) -> list[dict[str, object]]:
        """Describe each connection, for `fileops-server status`."""
        return [connection.describe() for connection in tuple(self.connections.values())]

    async def notices(self, host: str, own_id: str) -> list[str]:
        """Take the texts for a session's hook; none if the session is not known. See SessionRegistry.named."""
        session = self.sessions.named(host, own_id)
        if session is None or (connection := self.connections.get(session.connections[-1])) is None:
            return []
        return await connection.notices(session.session_id)

    def reset(self, host: str, own_id: str) -> None:
        session = self.sessions.named(host, own_id)
        if session is not None and (connection := self.connections.get(session.connections[-1])) is not None:
            connection.reset(session.session_id)

    def close(self) -> None:
        """Finish the commits that have begun. Blocks; call it once all connections have ended."""
        if self._shared is not None:
            self._shared.workspace.close()
            self._shared.close_sinks()

    def end_expired_sessions(self) -> None:
        for session_id in self.sessions.expired():
            if self._shared is not None:
                self._shared.workspace.end_session(session_id)

    def _expire(self) -> None:
        self.end_expired_sessions()
        asyncio.get_running_loop().call_later(EXPIRE_EVERY_S, self._expire)

    def _notify_sessions(self) -> None:
        for connection in tuple(self.connections.values()):
            connection.notify_sessions()


class SharedParts:
    def __init__(self, world: SharedWorld, options: "Options | None", warn: "Callable[[str], None]") -> None:
        from fileops.fs.overlay.filesystem import OverlayFileSystem
        from fileops.history.journal import History
        from fileops.model.settings import EncodingRule
        from fileops.telemetry.calls import BorrowedSink

        self._telemetry = parts.telemetry()
        self.sinks: tuple[Sink, ...] = tuple(map(BorrowedSink, self._telemetry))  # for each client
        self._filesystems = [] if options is None else options.filesystems or []
        self._history = "memory" if options is None else options.history or "memory"
        self.remote: RouterFileSystem | None = None
        if self._filesystems:
            self.remote = parts.mapped_filesystems(self._filesystems, world.disk)
        self._encodings = [] if options is None else options.encodings or []
        rules = [EncodingRule(glob=entry.glob, encoding=entry.encoding) for entry in self._encodings]
        saved = parts.encoded_files(self.remote or world.disk, rules)
        self.files = OverlayFileSystem(saved)
        history = History(parts.persistent_store(warn) if self._history == "persistent" else None)
        self.workspace: Workspace = parts.build_workspace(
            self.files,
            world.router,
            history,
            freshness_mode="mtime",
            remote=self.remote,
            saved=saved,
            has_many_clients=True,
        )
        self.workspace.on_session_end = world.sessions.drop

    def close_sinks(self) -> None:
        for sink in self._telemetry:
            sink.close()

    def require_same(self, options: "Options | None") -> None:
        """Raises: InvalidParams."""
        from fileops.rpc.decode import InvalidParams

        if options is None:
            return
        advice = "differs from what the shared daemon began with; end it with `fileops-server stop`, or leave this out"
        if options.filesystems is not None and options.filesystems != self._filesystems:
            raise InvalidParams(advice, ".initializationOptions.filesystems")
        if options.encodings is not None and options.encodings != self._encodings:
            raise InvalidParams(advice, ".initializationOptions.encodings")
        if options.history is not None and options.history != self._history:
            raise InvalidParams(advice, ".initializationOptions.history")
