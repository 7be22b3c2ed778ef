"""A client of the shared daemon that speaks LSP: an editor, or an agent. Part of the composition root.

Belongs to the event loop, except where a comment names a thread. Imports are deferred until they are needed.
"""

import asyncio
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fileops import __version__
from fileops.compose import parts
from fileops.compose.client_connection import MAX_UNREAD_BYTES, ClientConnection
from fileops.compose.world import SharedParts

if TYPE_CHECKING:
    from fileops.lsp.server import ClientContext
    from fileops.rpc.session import StreamSession
    from fileops.service.client.adapters import ClientAdapters
    from fileops.service.fileops import FileOps


class LspConnection(ClientConnection):
    def serve(self, for_reading: int, for_writing: int) -> "StreamSession":
        from fileops.lsp.server import LspServer
        from fileops.lsp.stdio import LspSession

        self._server = LspServer(self._build)
        self._server.shared = {
            "connection": self._name, "role": self._attachment.role, "version": __version__,
            "socket": self._world.socket,
        }  # fmt: skip
        return LspSession(self._server, for_reading, for_writing, max_unread_bytes=MAX_UNREAD_BYTES)

    def notify_sessions(self) -> None:
        if self.is_editor:
            self._server.notify_sessions()

    def _build(self, context: "ClientContext") -> "FileOps":
        """Build this client's view. Called at its `initialize`. Raises: InvalidParams."""
        from fileops.service.client.adapters import ClientAdapters
        from fileops.service.fileops import FileOps
        from fileops.service.hub.approvals import UnaskedApprover
        from fileops.service.hub.names import SharedSessionNames
        from fileops.service.hub.routing import EventView

        settings, options = context.settings, context.options
        parts.check_plugins(settings)
        warn = parts.warner_of(context)
        shared = self._world.shared(options, warn)
        names = SharedSessionNames(self._session_base(context.client_name), self._is_other_session)
        adapters = ClientAdapters(
            approver=UnaskedApprover(), events=self._events(), corrector=parts.corrector_of(context),
            on_closed=self._leave, names=names, is_agent=not self.is_editor,
            is_editor=self.is_editor, all_sessions=self._world.sessions.all,
            sinks=shared.sinks, place=self._place, warn=warn,
        )  # fmt: skip
        if self.is_editor:
            adapters = self._with_editor(adapters, context, shared)
        else:
            self._ignore_documents(context)
            routed = self._routed(
                shared.workspace, adapters.approver, approve="person", timeout_s=settings.approval_timeout_s
            )
            adapters = replace(adapters, approver=routed, routed=routed, globs_at=self._world.editor_globs.at)
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
        from fileops.service.hub.names import program_name

        settings, options, client = context.settings, context.options, context.client
        editor = LspEditor(client, asyncio.get_running_loop())
        documents = shared.files.connect(editor, lambda: client.position_encoding, self._name)
        DocumentSync(documents).register(context.add_standard)
        if is_editor(client.capabilities):
            shared.files.load()
        asked = AskedEditor(
            name=program_name(context.client_name or self._attachment.host),
            approver=AgentApprover(client, use_message_fallback=options.approval_fallback != "none"),
            stated_mode=settings.agents_approval, folders=self._folders,
            is_open=lambda path: shared.files.is_open_in(self._name, path),
        )  # fmt: skip
        self._world.editors.connect(self._name, asked)
        self._world.editor_globs.connect(self._name, settings.unreadable, asked.folders, asked.is_open)
        commands = parts.command_approver_of(context)
        approver = LspApprover(
            client, timeout_s=settings.approval_timeout_s,
            use_message_fallback=options.approval_fallback == "message",
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
        return session is not None and self._name not in session.connections

    def _session_base(self, client_name: str | None) -> str:
        from fileops.model.host_names import host_name
        from fileops.service.hub.names import base_of

        of = self._attachment
        self._host = of.host if client_name is None else host_name(client_name) or of.host
        own_id = of.session or (None if self.is_editor else of.hints.get("session"))  # editors run in agents' shells
        if isinstance(own_id, str):
            return base_of(self._host, own_id)
        return self._world.session_base(self._host, self._name)
