"""An agent's host that speaks MCP. Part of the composition root.

Belongs to the event loop, except where a comment names a thread.
"""

import asyncio
import logging
import os
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fileops.attach.handshake import HINTS
from fileops.compose.client_connection import MAX_UNREAD_BYTES, ClientConnection
from fileops.compose.recording import record_folders
from fileops.daemon.peer import host_of
from fileops.mcp.options import McpOptions, mcp_options
from fileops.mcp.server import McpServer
from fileops.rpc.line_framing import LineParser, line_frame
from fileops.rpc.session import StreamSession
from fileops.service.client.adapters import ClientAdapters
from fileops.service.fileops import FileOps
from fileops.service.hub.approvals import AgentRouting

if TYPE_CHECKING:
    from fileops.compose.state import Hub
    from fileops.mcp.elicitation import McpApprover
    from fileops.mcp.host_sessions import HostSessions
    from fileops.model.events import Event
    from fileops.model.sessions import SessionName

log = logging.getLogger(__name__)

NAMED_S = 5.0  # until a server's first message; some hosts call hooks before it
NAMES_THREADS = {"codex"}  # hosts (of `mcp hook`) whose calls contain their session's id


class NoEvents:
    """See ports.EventSink: the client is not notified, since no host shows notifications to its model."""

    def publish(self, event: "Event") -> None:
        pass


class McpConnection(ClientConnection):
    _server: "McpServer | None" = None
    _options: "McpOptions | None" = None

    @property
    def _has_notices(self) -> bool:
        return self._options is not None and self._options.notices == "on"

    @property
    def host(self) -> str:
        return self._host if self._server is None else self._server.host or self._host

    @property
    def agent_host(self) -> int:
        return host_of(self.pid)

    def has_session(self, host: str, own_id: str) -> bool:
        """Return whether the host gave this server the id when it started it. Args: host: see is_of_host."""
        return self._server is not None and self._server.names.is_given(host, own_id)

    async def session_of_hook(self, host: str, own_id: str) -> "SessionName | None":
        """Return the session that the host's hook means; None if the host does not name it.

        If calls name their session, as Codex's do, it is the one with this id.
        """
        if self._server is None:
            return None
        names = self._server.names
        try:
            async with asyncio.timeout(NAMED_S):
                await names.is_named.wait()
        except TimeoutError:
            return None
        return names.session_of({"threadId": own_id} if host in NAMES_THREADS else {})

    def _session_of_hooks(self, hub: "Hub", host: str) -> str | None:
        """Return the session that hooks of this server's host began in its folder before it was asked for one.

        So the turn of the first prompt has the edits, where the host gives its server no id. None if there is none, or
        more than one: a host's process may serve several.
        """
        from fileops.compose.hook_connection import HookConnection

        own = (host, self.agent_host, self._attachment.cwd)
        found = [
            hooked.session_id
            for hooked in hub.connections.values()
            if isinstance(hooked, HookConnection) and (hooked.host, hooked.pid, hooked.cwd) == own
        ]
        return found[0] if len(found) == 1 else None

    def serve(self, for_reading: int, for_writing: int, *, notice: str | None = None) -> "StreamSession":
        """Return what serves the client.

        notice: a message for its model. Raises: msgspec.ValidationError (its options).
        """
        of, hub = self._attachment, self._state.hub
        session, hints = of.session, of.hints
        if session is not None and self._is_of_another_host(session):
            session = None
        for name in ("session", "copilot_session"):
            if isinstance(own_id := hints.get(name), str) and self._is_of_another_host(own_id):
                hints = {hint: value for hint, value in hints.items() if hint != name}
        given = {"session": session, "roots": of.roots, **of.options}
        self._options = options = mcp_options(given)

        def name_session(host: str) -> str:
            if hub is None:
                return f"{host}-1"
            return self._session_of_hooks(hub, host) or hub.session_base(host, self._name)

        environ = {"HOME": os.environ.get("HOME", "")}
        for hint, name in HINTS.items():
            if isinstance(value := hints.get(hint), str):
                environ[name] = value
        self._server = server = McpServer(
            partial(self._build, options),
            options,
            environ,
            lambda: self._state.recover(server.service.folders),
            of.cwd,
            name_session,
            notice,
        )
        return StreamSession(
            server,
            for_reading,
            for_writing,
            end_of_input=lambda: 0,
            parser=LineParser(),
            frame=line_frame,
            max_unread_bytes=None if hub is None else MAX_UNREAD_BYTES,
        )

    def _build(self, options: "McpOptions", approver: "McpApprover", names: "HostSessions") -> "FileOps":
        hub, settings, no_events = self._state.hub, options.settings, NoEvents()
        if hub is None:
            shared = self._state.parts(settings, log.warning, settings.freshness, no_events)
        else:
            shared = self._state.parts(settings, log.warning, "mtime", hub.router)
        adapters = ClientAdapters(
            asker=self._asker(approver, lambda: True, settings.approval_timeout_s),
            events=no_events if hub is None else self._events(hub),
            on_closed=self._leave,
            names=names,
            is_agent=True,
            sinks=shared.sinks,
            place=self._place,
            umask=self._attachment.umask,
            label_of=self._label_of,
        )
        if hub is not None:
            routing = AgentRouting(hub.editors, approve=options.approve, modes=shared.workspace.modes)
            adapters = replace(adapters, routing=routing, editor_globs=hub.editor_globs)
        self._service = FileOps(shared.workspace, adapters, settings)
        if shared.recorder is not None:
            record_folders(shared.recorder, self._service, self._name)
        return self._service
