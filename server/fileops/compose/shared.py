"""Composition root of a shared daemon: the connections, each with its view of what they share (`world.py`).

Belongs to the event loop, except where a comment names a thread. Imports are deferred until they are needed.
"""

import asyncio
import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fileops import __version__
from fileops.compose import parts
from fileops.compose.world import SharedParts, SharedWorld

if TYPE_CHECKING:
    from fileops.attach.handshake import Attachment
    from fileops.lsp.server import ClientContext
    from fileops.mcp.elicitation import McpApprover
    from fileops.mcp.options import McpOptions
    from fileops.mcp.server import McpServer
    from fileops.ports import Approver, EventSink
    from fileops.rpc.session import StreamSession
    from fileops.service.fileops import ClientAdapters, FileOps
    from fileops.service.hub.approvals import Approve, RoutedApprover
    from fileops.service.workspace import Workspace

log = logging.getLogger(__name__)


def shared_world(socket: str = "") -> SharedWorld:
    """Make what all connections share. Call it once, on the event loop. Args: socket: where the daemon listens."""
    return SharedWorld(socket)


def open_connection(
    world: SharedWorld, attachment: "Attachment", connection: str, for_reading: int, for_writing: int
) -> "StreamSession":
    """Return what serves one client over these descriptors; await its `serve`. Args: connection: never used twice.

    Raises: msgspec.ValidationError, if the options of an MCP client are of another shape.
    """
    if attachment.protocol == "lsp":
        return LspConnection(world, attachment, connection).serve(for_reading, for_writing)
    return McpConnection(world, attachment, connection).serve(for_reading, for_writing)


class ClientConnection:
    """One client of the shared daemon."""

    def __init__(self, world: SharedWorld, attachment: "Attachment", name: str) -> None:
        self._world, self._attachment, self._name = world, attachment, name
        self._service: FileOps | None = None
        self._host = attachment.host
        world.connections[name] = self

    @property
    def host(self) -> str:
        """The client's own name, once it has said it; before that, the one of its first line."""
        return self._host

    @property
    def is_editor(self) -> bool:
        return self._attachment.role == "editor"

    @property
    def label(self) -> str:
        """What people are shown of the connection's sessions."""
        folder = next(iter(self._folders()), self._attachment.cwd)
        return f"{self.host} in {os.path.basename(folder) or folder}"

    def describe(self) -> dict[str, object]:
        of = self._attachment
        own = (session.session_id for session in self._world.sessions.all() if session.connection == self._name)
        return {
            "name": self._name, "host": self.host, "role": of.role, "protocol": of.protocol, "version": of.version,
            "pid": of.pid, "roots": list(self._folders()), "sessions": list(own),
        }  # fmt: skip

    def notify_sessions(self) -> None:
        """Send the list of sessions, if this is an editor."""

    async def notices(self, session_id: str) -> list[str]:
        """See world.Connection. They count as reported, as with a tool's result."""
        from fileops.core.presentation.notices import notice_text

        service = self._service
        if service is None or not self._has_notices:
            return []
        told = await service.notices(service.names.local(session_id))
        return [notice_text(notice) for notice in told.others]

    def reset(self, session_id: str) -> None:
        if self._service is not None:
            self._service.files.reset(session_id)

    @property
    def _has_notices(self) -> bool:
        return self._service is not None and self._service.settings.notices != "off"

    def _folders(self) -> "tuple[str, ...]":
        return () if self._service is None else self._service.folders

    def _events(self) -> "EventSink":
        from fileops.service.hub.sessions import ConnectionEvents

        return ConnectionEvents(self._world.sessions, self._world.router, self._name, lambda: (self.host, self.label))

    def _routed(
        self,
        workspace: "Workspace",
        own: "Approver",
        *,
        approve: "Approve",
        timeout_s: float,
        on_wait: "Callable[[str], None]" = lambda _where: None,
    ) -> "RoutedApprover":
        from fileops.service.hub.approvals import RoutedApprover, SessionInfo

        return RoutedApprover(
            self._world.editors, approve=approve, mode_of=workspace.modes.get, own=own, timeout_s=timeout_s,
            on_wait=on_wait,
            info_of=lambda session_id: SessionInfo(session_id=session_id, host=self.host, label=self.label),
        )  # fmt: skip

    def _leave(self) -> None:
        """Called in a thread, once the client's part is closed."""
        self._world.leave(self._name)


class LspConnection(ClientConnection):
    def serve(self, for_reading: int, for_writing: int) -> "StreamSession":
        from fileops.lsp.server import LspServer
        from fileops.lsp.stdio import LspSession

        self._server = LspServer(self._build)
        self._server.shared = {
            "connection": self._name, "role": self._attachment.role, "version": __version__,
            "socket": self._world.socket,
        }  # fmt: skip
        return LspSession(self._server, for_reading, for_writing)

    def notify_sessions(self) -> None:
        if self.is_editor:
            self._server.notify_sessions()

    def _build(self, context: "ClientContext") -> "FileOps":
        """Build this client's view. Called at its `initialize`. Raises: InvalidParams."""
        from fileops.service.fileops import ClientAdapters, FileOps
        from fileops.service.hub.approvals import UnaskedApprover
        from fileops.service.hub.names import SharedSessionNames
        from fileops.service.hub.routing import EventView

        settings, options = context.settings, context.options
        parts.check_validators(settings.validators)
        shared = self._world.shared(options, parts.warner_of(context))
        names = SharedSessionNames(self._session_base(context.client_name), self._is_other_session)
        adapters = ClientAdapters(
            approver=UnaskedApprover(), events=self._events(), corrector=parts.corrector_of(context, names.local),
            on_closed=self._leave, names=names, is_agent=not self.is_editor, all_sessions=self._world.sessions.all,
            sinks=shared.sinks,
        )  # fmt: skip
        if self.is_editor:
            adapters = self._with_editor(adapters, context, shared)
        else:
            self._ignore_documents(context)
            routed = self._routed(
                shared.workspace, adapters.approver, approve="person", timeout_s=settings.approval_timeout_s
            )
            adapters = replace(adapters, approver=routed, mode_at=routed.mode_at)
        self._service = service = FileOps(shared.workspace, adapters, settings, context.folders)

        def is_open(path: str) -> bool:
            return self.is_editor and shared.files.is_open_in(self._name, path)

        def paths_of(session_id: str, file_path: str) -> tuple[str, ...]:
            return shared.workspace.freshness.paths_of(session_id, file_path) if self.is_editor else ()

        view = EventView(names, self._folders if self.is_editor else tuple, is_open, paths_of)
        self._server.view_of_event = view.of
        self._world.router.connect(self._name, context.events)
        service.when_work_waits(context.on_request_done)
        parts.recover_in_background(self._world.disk.recover_all, service.folders)
        if self.is_editor:
            self._add_undo_actions(service, context)
        return service

    def _with_editor(
        self, adapters: "ClientAdapters", context: "ClientContext", shared: SharedParts
    ) -> "ClientAdapters":
        """Connect the client as an editor: its documents, and its user, who is asked about agents' edits too."""
        from fileops.lsp.approver import AgentApprover, LspApprover
        from fileops.lsp.client import is_editor
        from fileops.lsp.text_sync import DocumentSync
        from fileops.lsp.workspace_edit import LspEditor
        from fileops.service.hub.approvals import AskedEditor
        from fileops.service.hub.names import editor_name

        settings, options, client = context.settings, context.options, context.client
        editor = LspEditor(client, asyncio.get_running_loop())
        documents = shared.files.connect(editor, lambda: client.position_encoding, self._name)
        DocumentSync(documents).register(context.add_standard)
        if is_editor(client.capabilities):
            shared.files.load()
        asked = AskedEditor(
            name=editor_name(context.client_name or self._attachment.host),
            approver=AgentApprover(client, use_message_fallback=options.approval_fallback != "none"),
            stated_mode=settings.agents_approval, folders=self._folders,
            is_open=lambda path: shared.files.is_open_in(self._name, path),
        )  # fmt: skip
        self._world.editors.connect(self._name, asked)
        commands = parts.command_approver_of(context)
        approver = LspApprover(
            client, timeout_s=settings.approval_timeout_s,
            use_message_fallback=options.approval_fallback == "message", local_name=adapters.names.local,
        )  # fmt: skip
        return replace(
            adapters, approver=approver, command_approver=commands,
            executor_at=parts.executors(shared.remote) if commands else None,
        )  # fmt: skip

    def _add_undo_actions(self, service: "FileOps", context: "ClientContext") -> None:
        from fileops.lsp.undo_actions import LensRefresh, UndoActions

        has_lenses = context.options.code_lens or False
        UndoActions(service, context.client, context.progress).register(context.add_standard, code_lens=has_lenses)
        if has_lenses:
            context.listen(LensRefresh(context.client).on_event)

    def _ignore_documents(self, context: "ClientContext") -> None:
        """An agent opens no documents: its text would count as a person's unsaved text."""
        from fileops.lsp import methods

        warn = parts.warner_of(context)
        is_first = True

        def ignore(_params: object) -> None:
            nonlocal is_first
            if is_first:
                warn("documents of an agent are ignored; attach with the role editor to open documents")
            is_first = False

        for method in methods.DOCUMENT_NOTIFICATIONS:
            self._server.connection.register_notification(method, ignore)

    def _is_other_session(self, name: str) -> bool:
        if not self.is_editor:
            return False
        session = self._world.sessions.get(name)
        return session is not None and session.connection != self._name

    def _session_base(self, client_name: str | None) -> str:
        from fileops.model.host_names import host_name
        from fileops.service.hub.names import MAX_ID_CHARS

        of = self._attachment
        self._host = of.host if client_name is None else host_name(client_name) or of.host
        own_id = of.session or (None if self.is_editor else of.hints.get("session"))  # editors run in agents' shells
        if isinstance(own_id, str):
            return f"{self._host}:{own_id[:MAX_ID_CHARS]}"
        return self._world.session_base(self._host, self._name)


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
            lambda approver: self._build(options, approver), options, environ, recover, of.cwd, unnamed_session
        )
        return StreamSession(
            server, for_reading, for_writing, end_of_input=lambda: 0, parser=LineParser(), frame=line_frame
        )

    def _build(self, options: "McpOptions", approver: "McpApprover") -> "FileOps":
        from fileops.service.fileops import ClientAdapters, FileOps

        shared = self._world.shared(None, log.warning)
        routed = self._routed(
            shared.workspace, approver, approve=options.approve, timeout_s=options.settings.approval_timeout_s,
            on_wait=approver.wait_elsewhere,
        )  # fmt: skip
        adapters = ClientAdapters(
            approver=routed,
            mode_at=routed.mode_at,
            events=self._events(),
            on_closed=self._leave,
            is_agent=True,
            sinks=shared.sinks,
        )
        self._service = FileOps(shared.workspace, adapters, options.settings)
        return self._service
