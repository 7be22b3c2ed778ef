"""Composition root of a shared daemon: what its connections have in common, and one connection's view of that.

Belongs to the event loop, except where a comment names a thread. Imports are deferred until they are needed.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from fileops.compose import parts

if TYPE_CHECKING:
    from fileops.attach.handshake import Attachment
    from fileops.fs.remote.router import RouterFileSystem
    from fileops.lsp.server import ClientContext, LspServer
    from fileops.mcp.elicitation import McpApprover
    from fileops.mcp.options import McpOptions
    from fileops.rpc.session import StreamSession
    from fileops.service.fileops import FileOps
    from fileops.service.workspace import Workspace
    from fileops.wire.types import Options

log = logging.getLogger(__name__)


def shared_world() -> "SharedWorld":
    """Make what all connections share. Call it once, on the event loop."""
    return SharedWorld()


def open_connection(
    world: "SharedWorld", attachment: "Attachment", connection: str, for_reading: int, for_writing: int
) -> "StreamSession":
    """Return what serves one client over these descriptors; await its `serve`. connection: HOST-N, never used twice.

    Raises: msgspec.ValidationError, if the options of an MCP client are of another shape.
    """
    opened = _Connection(world, attachment, connection)
    return (
        opened.serve_lsp(for_reading, for_writing)
        if attachment.protocol == "lsp"
        else opened.serve_mcp(for_reading, for_writing)
    )


class SharedWorld:
    """Disk, open documents, sessions, history and worker threads. They are made for the first client that needs them.

    The filesystems and the history are those that this client asks for, because a path has to mean the same to all.
    """

    def __init__(self) -> None:
        from fileops.fs.local.filesystem import LocalFileSystem
        from fileops.service.hub.routing import EventRouter

        self.router = EventRouter()
        self.disk = LocalFileSystem()
        self.connections: dict[str, _Connection] = {}
        self._shared: _Shared | None = None
        self._session_bases: set[str] = set()

    def leave(self, connection: str) -> None:
        """Forget a connection and its open documents. Called in any thread."""
        self.router.disconnect(connection)
        self.connections.pop(connection, None)
        if self._shared is not None:
            self._shared.files.disconnect(connection)

    def shared(self, options: "Options | None", warn: "Callable[[str], None]") -> "_Shared":
        """Raises: InvalidParams, if the options differ from what the daemon has."""
        if self._shared is None:
            self._shared = _Shared(self, options, warn)
        else:
            self._shared.require_same(options)
        return self._shared

    def session_base(self, host: str, connection: str) -> str:
        """A name for the sessions of a connection that the host has none for. It is given once, see R-HUB-2."""
        name, n = connection, 0
        while name in self._session_bases or name.rpartition("-")[0] != host:
            n += 1
            name = f"{host}-{n}"
        self._session_bases.add(name)
        return name

    def describe(self) -> list[dict[str, object]]:
        """Describe each connection, for `fileops-server status`."""
        return [connection.describe() for connection in self.connections.values()]

    def close(self) -> None:
        """Finish the commits that have begun. Blocks; call it once all connections have ended."""
        if self._shared is not None:
            self._shared.workspace.close()


class _Shared:
    def __init__(self, world: SharedWorld, options: "Options | None", warn: "Callable[[str], None]") -> None:
        from fileops.fs.overlay.filesystem import OverlayFileSystem
        from fileops.history.journal import History
        from fileops.model.settings import EncodingRule

        self._filesystems = [] if options is None else options.filesystems or []
        self._history = "memory" if options is None else options.history or "memory"
        self.remote: RouterFileSystem | None = None
        if self._filesystems:
            self.remote = parts.mapped_filesystems(self._filesystems, world.disk)
        self._encodings = [] if options is None else options.encodings or []
        rules = [EncodingRule(glob=entry.glob, encoding=entry.encoding) for entry in self._encodings]
        self.files = OverlayFileSystem(parts.encoded_files(self.remote or world.disk, rules))
        history = History(parts.persistent_store(warn) if self._history == "persistent" else None)
        self.workspace: Workspace = parts.build_workspace(
            self.files, world.router, history, freshness_mode="mtime", remote=self.remote
        )

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


class _Connection:
    """One client of the shared daemon."""

    def __init__(self, world: SharedWorld, attachment: "Attachment", name: str) -> None:
        self._world, self._attachment, self._name = world, attachment, name
        self._service: FileOps | None = None
        self._folders: Callable[[], tuple[str, ...]] = tuple
        world.connections[name] = self

    @property
    def is_editor(self) -> bool:
        return self._attachment.role == "editor"

    def describe(self) -> dict[str, object]:
        of = self._attachment
        folders = () if self._service is None else self._service.folders
        return {
            "name": self._name, "host": of.host, "role": of.role, "protocol": of.protocol, "version": of.version,
            "pid": of.pid, "roots": list(folders), "sessions": [],
        }  # fmt: skip

    # --- LSP ---------------------------------------------------------------------------------------------------

    def serve_lsp(self, for_reading: int, for_writing: int) -> "StreamSession":
        from fileops.lsp.server import LspServer
        from fileops.lsp.stdio import LspSession

        server = LspServer(lambda context: self._build_lsp(context, server))
        return LspSession(server, for_reading, for_writing)

    def _build_lsp(self, context: "ClientContext", server: "LspServer") -> "FileOps":
        """Build this client's view. Called at its `initialize`. Raises: InvalidParams."""
        from fileops.lsp.approver import LspApprover
        from fileops.lsp.client import is_editor
        from fileops.lsp.text_sync import DocumentSync
        from fileops.lsp.undo_actions import LensRefresh, UndoActions
        from fileops.lsp.workspace_edit import LspEditor
        from fileops.service.fileops import ClientAdapters, FileOps
        from fileops.service.hub.names import SharedSessionNames
        from fileops.service.hub.routing import EventView

        settings, options, client = context.settings, context.options, context.client
        parts.check_validators(settings.validators)
        shared = self._world.shared(options, parts.warner_of(context))
        names = SharedSessionNames(self._session_base(context.client_name), lambda name: False)
        approver = LspApprover(
            client, timeout_s=settings.approval_timeout_s,
            use_message_fallback=options.approval_fallback == "message",
        )  # fmt: skip
        commands = parts.command_approver_of(context) if self.is_editor else None
        if self.is_editor:
            editor = LspEditor(client, asyncio.get_running_loop())
            documents = shared.files.connect(editor, lambda: client.position_encoding, self._name)
            DocumentSync(documents).register(context.add_standard)
            if is_editor(client.capabilities):
                shared.files.load()
        self._service = service = FileOps(
            shared.workspace,
            ClientAdapters(
                approver=approver, events=self._world.router, corrector=parts.corrector_of(context),
                executor_at=parts.executors(shared.remote) if commands else None, command_approver=commands,
                on_closed=self._leave, names=names, is_agent=not self.is_editor,
            ),
            settings,
            context.folders,
        )  # fmt: skip
        view = EventView(names, lambda: service.folders if self.is_editor else (), lambda path: False)
        server.view_of_event = view.of
        self._world.router.connect(self._name, context.events)
        service.when_work_waits(context.on_request_done)
        parts.recover_in_background(self._world.disk.recover_all, service.folders)
        if self.is_editor:
            actions = UndoActions(service, client, context.progress)
            actions.register(context.add_standard, code_lens=options.code_lens or False)
            if options.code_lens:
                context.listen(LensRefresh(client).on_event)
        return service

    def _session_base(self, client_name: str | None) -> str:
        from fileops.service.hub.names import MAX_ID_CHARS, host_name

        of = self._attachment
        host = of.host if client_name is None else host_name(client_name) or of.host
        own_id = of.session or of.hints.get("session")
        if isinstance(own_id, str):
            return f"{host}:{own_id[:MAX_ID_CHARS]}"
        return self._world.session_base(host, self._name)

    # --- MCP ---------------------------------------------------------------------------------------------------

    def serve_mcp(self, for_reading: int, for_writing: int) -> "StreamSession":
        import os

        import msgspec

        from fileops.mcp.options import McpOptions
        from fileops.mcp.server import McpServer
        from fileops.rpc.line_framing import LineParser, line_frame
        from fileops.rpc.session import StreamSession

        options = msgspec.convert(dict(self._attachment.options), McpOptions)

        def recover() -> None:
            parts.recover_in_background(self._world.disk.recover_all, server.service.folders)

        environ = {"HOME": os.environ.get("HOME", "")}
        for name, hint in (("CLAUDE_CODE_SESSION_ID", "session"), ("CLAUDE_PROJECT_DIR", "project")):
            if isinstance(value := self._attachment.hints.get(hint), str):
                environ[name] = value
        server = McpServer(
            lambda approver: self._build_mcp(options, approver),
            options,
            environ,
            recover,
            cwd=self._attachment.cwd,
            unnamed_session=lambda host: self._world.session_base(host, self._name),
        )
        return StreamSession(
            server, for_reading, for_writing, end_of_input=lambda: 0, parser=LineParser(), frame=line_frame
        )

    def _build_mcp(self, options: "McpOptions", approver: "McpApprover") -> "FileOps":
        from fileops.service.fileops import ClientAdapters, FileOps

        shared = self._world.shared(None, log.warning)
        self._service = FileOps(
            shared.workspace,
            ClientAdapters(
                approver=approver,
                events=self._world.router,
                on_closed=lambda: self._world.leave(self._name),
                is_agent=True,
            ),
            options.settings,
        )
        return self._service

    def _leave(self) -> None:
        """Called in a thread, once the client's part is closed."""
        self._world.leave(self._name)
