"""An agent's host that speaks MCP with the shared daemon. Part of the composition root.

Belongs to the event loop, except where a comment names a thread. Imports are deferred until they are needed.
"""

import logging
import os
from functools import partial
from typing import TYPE_CHECKING

from fileops.compose import parts
from fileops.compose.client_connection import MAX_UNREAD_BYTES, ClientConnection

if TYPE_CHECKING:
    from fileops.mcp.elicitation import McpApprover
    from fileops.mcp.host_sessions import HostSessions
    from fileops.mcp.options import McpOptions
    from fileops.mcp.server import McpServer
    from fileops.rpc.session import StreamSession
    from fileops.service.fileops import FileOps
    from fileops.wire.types import Options

log = logging.getLogger(__name__)


class McpConnection(ClientConnection):
    _server: "McpServer | None" = None
    _options: "McpOptions | None" = None

    @property
    def _has_notices(self) -> bool:
        return self._options is not None and self._options.notices == "on"

    @property
    def host(self) -> str:
        return self._host if self._server is None else self._server.host or self._host

    def serve(self, for_reading: int, for_writing: int) -> "StreamSession":
        import msgspec

        from fileops.mcp.options import McpOptions
        from fileops.mcp.server import McpServer
        from fileops.rpc.line_framing import LineParser, line_frame
        from fileops.rpc.session import StreamSession

        of = self._attachment
        given = {"session": of.session, "roots": of.roots, **of.options}
        self._options = options = msgspec.convert(given, McpOptions)

        def recover() -> None:
            parts.recover_in_background(self._world.disk.recover_all, server.service.folders)

        def unnamed_session(host: str) -> str:
            return self._world.session_base(host, self._name)

        environ = {"HOME": os.environ.get("HOME", "")}
        for name, hint in (("CLAUDE_CODE_SESSION_ID", "session"), ("CLAUDE_PROJECT_DIR", "project")):
            if isinstance(value := of.hints.get(hint), str):
                environ[name] = value
        self._server = server = McpServer(
            partial(self._build, options), options, environ, recover, of.cwd, unnamed_session
        )
        return StreamSession(
            server, for_reading, for_writing, end_of_input=lambda: 0, parser=LineParser(), frame=line_frame,
            max_unread_bytes=MAX_UNREAD_BYTES,
        )  # fmt: skip

    def _build(self, options: "McpOptions", approver: "McpApprover", names: "HostSessions") -> "FileOps":
        from fileops.service.client.adapters import ClientAdapters
        from fileops.service.fileops import FileOps

        shared = self._world.shared(_common_options(options), log.warning)
        routed = self._routed(
            shared.workspace, approver, approve=options.approve, timeout_s=options.settings.approval_timeout_s,
            on_wait=approver.wait_elsewhere,
        )  # fmt: skip
        adapters = ClientAdapters(
            approver=routed,
            routed=routed,
            events=self._events(),
            on_closed=self._leave,
            names=names,
            is_agent=True,
            globs_at=self._world.editor_globs.at,
            sinks=shared.sinks,
            place=self._place,
        )
        self._service = FileOps(shared.workspace, adapters, options.settings)
        return self._service


def _common_options(options: "McpOptions") -> "Options | None":
    """The options that are the same for all clients of a daemon, None if the host gives none of them."""
    if not options.encodings:
        return None
    from fileops.wire.types import EncodingOptions, Options

    return Options(encodings=[EncodingOptions(glob=rule.glob, encoding=rule.encoding) for rule in options.encodings])
