"""A client that speaks LSP: an editor, or an agent. Part of the composition root.

Belongs to the event loop, except where a comment names a thread.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fileops import __version__
from fileops.attach.handshake import HOST_MARKERS
from fileops.compose import client_adapters
from fileops.compose.client_connection import MAX_UNREAD_BYTES, ClientConnection
from fileops.compose.recording import record_folders
from fileops.compose.state import DaemonState, Hub, SharedParts
from fileops.core.roots import is_inside
from fileops.daemon.peer import MAX_ANCESTORS_OF_COMMANDS, ancestors_of, variables_of
from fileops.lsp.change_actions import ChangeActions, LensRefresh
from fileops.lsp.diagnostics import LspEditorProblems
from fileops.lsp.document_save import save_document
from fileops.lsp.notebook_sync import NotebookSync
from fileops.lsp.reviews import ReviewingClient
from fileops.lsp.server import LspServer
from fileops.lsp.stdio import LspSession
from fileops.lsp.text_sync import DocumentSync, ignore_documents
from fileops.lsp.workspace_edit import LspEditor
from fileops.model.approval import Always
from fileops.model.review import Decider
from fileops.model.sessions import SessionName, has_host_id, host_name
from fileops.service.client.adapters import ClientAdapters, ignore
from fileops.service.fileops import FileOps
from fileops.service.hub.approvals import AgentRouting, AskedEditor
from fileops.service.hub.ask import ProjectAsk
from fileops.service.hub.names import SessionNames, SharedSessionNames, base_of, program_name
from fileops.service.hub.routing import EventView
from fileops.service.review.client import NoHost, PersonReviews

if TYPE_CHECKING:
    from fileops.attach.handshake import AttachRequest
    from fileops.lsp.client import Client
    from fileops.lsp.server import ClientContext
    from fileops.model.settings import Ask
    from fileops.rpc.session import StreamSession
    from fileops.service.review.queue import WaitingReview


TERMINAL = "terminal"  # the host of `review`, `undo` and similar commands


class LspConnection(ClientConnection):
    _view: "ReviewingClient | None" = None
    _client: "Client | None" = None  # of an editor, from `initialize` on

    def __init__(self, state: DaemonState, attachment: "AttachRequest", name: str = "") -> None:
        super().__init__(state, attachment, name)
        # For as long as they all live: a shell may end before what it has started.
        self._ancestors = ancestors_of(attachment.pid, MAX_ANCESTORS_OF_COMMANDS) if state.hub is not None else []
        self._markers = variables_of(attachment.pid, HOST_MARKERS) if state.hub is not None else []

    def serve(
        self, for_reading: int, for_writing: int, *, notice: str | None = None, is_embedded: bool = False
    ) -> "StreamSession":
        """Return what serves the client. notice: a message for its user. is_embedded: in another program's process."""
        self._server = LspServer(self._build, notice)
        max_unread_bytes: int | None = None
        if (hub := self._state.hub) is not None:
            max_unread_bytes = MAX_UNREAD_BYTES
            self._server.shared = {
                "connection": self._name,
                "role": self._attachment.role,
                "version": __version__,
                "socket": hub.socket,
            }
        return LspSession(
            self._server, for_reading, for_writing, watch_parent=not is_embedded, max_unread_bytes=max_unread_bytes
        )

    def notify_sessions(self) -> None:
        if self.is_editor:
            self._server.notify_sessions()

    def notify_ask(self) -> None:
        if self.is_editor:
            self._server.notify_ask()

    async def save_document(self, uri: str, version: int) -> bool:
        return self._client is not None and await save_document(self._client, uri, version)

    def _build(self, context: "ClientContext") -> "FileOps":
        """Build this client's view. Called at its `initialize`. Raises: InvalidParams."""
        state, hub, settings = self._state, self._state.hub, context.settings
        if (own := state.own) is not None:
            settings = own.add_to(settings)
        client_adapters.check_plugins(settings)
        warn = client_adapters.warner_of(context)
        if hub is None:
            shared = state.parts(settings, warn, settings.freshness, context.events)
        else:
            shared = state.parts(settings, warn, "mtime", hub.router)
        names = self._names(hub, context)
        adapters = ClientAdapters(
            asker=self._asker(NoHost(), lambda: True, settings.approval_timeout_s),
            events=context.events if hub is None else self._events(hub),
            corrector=client_adapters.corrector_of(context, names),
            on_closed=self._leave,
            names=names,
            agent_above=self._agent_above,
            is_agent=not self.is_editor,
            is_editor=self.is_editor and hub is not None,
            sinks=shared.sinks,
            place=self._place,
            umask=self._attachment.umask,
            label_of=self._label_of,
            warn=warn if state.is_on_disk else ignore,
        )
        if hub is not None:
            adapters = replace(adapters, all_sessions=hub.all_sessions, person=hub.person_of(self._name))
            if self.is_editor:
                adapters = replace(adapters, ask=self._switch(hub, shared, warn))
        if own is not None and own.image_detector is not None:
            adapters = replace(adapters, image_detector=own.image_detector)
        if self.is_editor:
            adapters = self._with_editor(adapters, context, shared)
        elif hub is not None:
            self._ignore_documents(context)
            routing = AgentRouting(hub.editors, approve="person", modes=shared.workspace.modes)
            adapters = replace(adapters, routing=routing, editor_globs=hub.editor_globs)
        self._service = service = FileOps(shared.workspace, adapters, settings, context.folders)
        if hub is not None:
            self._join(hub, context, adapters.names, shared)
            if shared.recorder is not None:
                record_folders(shared.recorder, service, self._name)
                if self.is_editor:
                    hub.recorded.connect_warnings(self._name, warn, self._has_to_do_with)
                if self.is_editor and context.client.capability("experimental.fileops.record") is True:
                    self._show_record(hub, shared)
                if self.is_editor and context.client.capability("experimental.fileops.unkept") is True:
                    self._show_unkept(hub, shared)
        service.when_work_waits(context.on_request_done)
        state.recover(service.folders)
        if self.is_editor:
            self._add_change_actions(service, context)
        if self._view is not None and self._agent_above() is None:
            grace_s = 0.0 if hub is None else settings.review_grace_s  # a private daemon can have no other view
            self._show_reviews(service, self._view, grace_s)
        return service

    def _agent_above(self) -> str | None:
        """Return the program of the agent below whose host the client was started; None if none is known.

        The host has started an attached MCP server, itself or through a shell, `uvx` or `npx`. An editor that is itself
        such a host starts its client as another child, while a command of its agent's shell is below a shell, or is a
        command of a terminal. The latter is also known by what hosts set in the environment of these shells, because
        its ancestors may have ended.
        """
        if not self.is_editor or self._state.hub is None:
            return None

        is_command = self._attachment.host == TERMINAL
        if is_command and self._markers:
            return program_name(HOST_MARKERS[self._markers[0]])
        above = self._ancestors if is_command else self._ancestors[1:]
        agents = tuple(self._state.hub.connections.values())
        return next((agent.program for agent in agents if (host := agent.agent_host) and host in above), None)

    def _names(self, hub: "Hub | None", context: "ClientContext") -> "SessionNames":

        if hub is None:
            return SessionNames()

        def is_other(name: "SessionName", own_name: "SessionName") -> bool:
            session = hub.sessions.get(name) if self.is_editor else None
            if session is not None:
                return self._name not in session.connections
            # It may be in the record, from an earlier daemon.
            is_own = not self.is_editor or hub.sessions.get(own_name) is not None
            return not is_own and (has_host_id(name) or hub.sessions.was_there(name))

        return SharedSessionNames(self._session_base(hub, context.client_name), is_other)

    def _session_base(self, hub: Hub, client_name: str | None) -> str:

        of = self._attachment
        self._host = of.host if client_name is None else host_name(client_name) or of.host
        own_id = of.session or (
            None if self.is_editor else of.hints.get("session")
        )  # an editor may run in an agent's shell
        if isinstance(own_id, str) and not self._is_of_another_host(own_id):
            return base_of(self._host, own_id)
        return hub.session_base(self._host, self._name)

    def _with_editor(
        self, adapters: "ClientAdapters", context: "ClientContext", shared: SharedParts
    ) -> "ClientAdapters":
        """Connect the client as an editor: its documents, its user, and its commands."""
        client, own = context.client, self._state.own
        self._client = client
        editor = LspEditor(client, asyncio.get_running_loop())
        documents = shared.files.connect(editor, lambda: client.position_encoding, self._name)

        def update_reviews() -> None:
            self._state.reviews.update(self._name)

        texts = DocumentSync(documents, update_reviews)
        texts.register(context.server)
        NotebookSync(documents, on_opened=update_reviews, on_change=texts.classify_soon).register(context.server)
        view = ReviewingClient(client, context.settings, adapters.names, None if own is None else own.approver)
        if (hub := self._state.hub) is not None:
            self._concern_agents(hub, context, shared, view)
        self._view = view
        self._know_problems(context, shared)
        commands = client_adapters.command_approver_of(context, adapters.names)
        executor = None if own is None else own.executor
        asker = self._asker(NoHost(), lambda: view.can_ask(is_own=True), context.settings.approval_timeout_s)
        return replace(
            adapters,
            version_of=client_adapters.version_of(shared.files, self._name),
            asker=asker,
            reviews=self._reviews(context, view),
            command_approver=commands,
            executor_at=client_adapters.executors(shared.remote, executor) if commands else None,
        )

    def _know_problems(self, context: "ClientContext", shared: SharedParts) -> None:
        """Ask this editor, if it can answer, which problems an edit introduced in its documents."""
        diagnosis = shared.workspace.diagnosis
        if diagnosis is None or context.client.capability("experimental.fileops.diagnostics") is not True:
            return
        name = program_name(context.client_name or self._attachment.host) or "the editor"
        is_open = partial(shared.files.is_open_in, self._name)
        diagnosis.editors[self._name] = LspEditorProblems(context.client, name, is_open)

    def _switch(self, hub: Hub, shared: SharedParts, warn: "Callable[[str], None]") -> ProjectAsk:
        """Return the switch "ask before each edit" for this editor's folders."""

        async def set_in(folders: "tuple[str, ...]", ask: "Ask") -> None:
            fault = await hub.set_ask(shared.workspace.modes, folders, ask)
            if fault is not None:
                warn(f"How often you are asked is as you said until the daemon ends: it could not be kept: {fault}.")

        return ProjectAsk(folders=self._folders, ask_at=hub.editors.ask_at, set_in=set_in)

    def _concern_agents(self, hub: Hub, context: "ClientContext", shared: SharedParts, view: "ReviewingClient") -> None:
        """Let agents' edits in this editor's folders and documents be decided here."""
        settings = context.settings
        asked = AskedEditor(
            can_ask=view.can_ask(is_own=False) and self._agent_above() is None,
            stated=settings.ask,
            folders=self._folders,
            is_open=lambda path: shared.files.is_open_in(self._name, path),
        )
        hub.editors.connect(self._name, asked)
        hub.editor_globs.connect(self._name, settings.unreadable, asked.folders, asked.is_open)

    def _reviews(self, context: "ClientContext", view: "ReviewingClient") -> "PersonReviews":
        """Return what this client's user decides: edits of its sessions, and others' in its folders and documents."""
        hub, name = self._state.hub, self._name

        def concerns(review: "WaitingReview") -> bool:
            if view.is_own(review):
                return view.can_ask(is_own=True)
            return hub is not None and any(hub.editors.is_asked(name, path) for path in review.asked.paths)

        def is_listed(review: "WaitingReview") -> bool:
            if concerns(review) or view.can_ask(is_own=False):
                return concerns(review)
            return hub is not None and any(hub.editors.has(name, path) for path in review.asked.paths)

        def always_for(review: "WaitingReview") -> Always:
            return Always() if hub is None or view.is_own(review) else hub.editors.always_at(name, *review.asked.paths)

        person = Decider(program_name(context.client_name or self._attachment.host) or "the client")
        return PersonReviews(
            queue=self._state.reviews,
            person=person,
            concerns=concerns,
            is_listed=is_listed,
            always_for=always_for,
        )

    def _show_reviews(self, service: "FileOps", view: "ReviewingClient", grace_s: float) -> None:
        """Make this client a view of the reviews, once its `initialize` has been answered."""
        queue, reviews = self._state.reviews, service.reviews
        if reviews is None:
            return
        shown = view.view(queue, self._name, reviews, grace_s)

        def connect() -> None:
            queue.connect(self._name, shown)
            queue.update_all()

        asyncio.get_running_loop().call_soon(connect)
        service.when_folders_change(queue.update_all)

    def _join(self, hub: Hub, context: "ClientContext", names: "SessionNames", shared: SharedParts) -> None:
        """Send the client the events that concern it, and no others."""

        def is_open(path: str) -> bool:
            return self.is_editor and shared.files.is_open_in(self._name, path)

        def paths_of(session_id: SessionName, file_path: str) -> tuple[str, ...]:
            return shared.workspace.freshness.paths_of(session_id, file_path) if self.is_editor else ()

        def is_connected(session_id: SessionName) -> bool:
            session = hub.sessions.get(session_id)
            return session is None or session.is_connected

        folders = self._folders if self.is_editor else tuple[str, ...]
        view = EventView(names, folders, is_open, paths_of, is_connected)
        self._server.view_of_event = view.of
        hub.router.connect(self._name, context.events)

    def _show_record(self, hub: Hub, shared: SharedParts) -> None:
        """Send the editor what is recorded in its folders and documents."""
        hub.recorded.connect(self._name, self._server.notify_recorded, self._concerns(shared))

    def _show_unkept(self, hub: Hub, shared: SharedParts) -> None:
        """Notify the editor of files whose changes to keep have changed."""
        hub.unkept.connect(self._name, self._server.notify_unkept, self._concerns(shared))

    def _has_to_do_with(self, root: str) -> bool:
        """Return whether a recorded folder is one of the editor's folders, contains one, or is in one."""
        return any(is_inside(root, folder) or is_inside(folder, root) for folder in self._folders())

    def _concerns(self, shared: SharedParts) -> "Callable[[str], bool]":
        """Return whether a path is in the editor's folders, or open in it."""

        def concerns(path: str) -> bool:
            inside = any(is_inside(folder, path) for folder in self._folders())
            return inside or shared.files.is_open_in(self._name, path)

        return concerns

    def _add_change_actions(self, service: "FileOps", context: "ClientContext") -> None:

        has_lenses = context.settings.code_lens
        ChangeActions(service, context.client).register(context.server, code_lens=has_lenses)
        if has_lenses:
            context.listen(LensRefresh(context.client).on_event)

    def _ignore_documents(self, context: "ClientContext") -> None:
        """Ignore an agent's documents: their text would count as a person's unsaved text."""
        ignore_documents(context.server)
