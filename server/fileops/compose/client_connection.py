"""Base of a daemon's connections: what they have in common, in LSP and MCP, in private and shared daemons.

Part of the composition root. Belongs to the event loop, except where a comment names a thread.
"""

import os
from typing import TYPE_CHECKING

from fileops import __version__
from fileops.attach.handshake import AttachRequest
from fileops.compose.state import DaemonState, Hub
from fileops.core.presentation.companion_texts import UNRECORDED
from fileops.core.presentation.notices import notice_text
from fileops.core.presentation.problems import problems_text
from fileops.daemon.peer import is_of_one_host
from fileops.model.review import SessionInfo
from fileops.model.sessions import SessionName
from fileops.service.hub.names import agent_name, program_name
from fileops.service.hub.sessions import ConnectionEvents
from fileops.service.review.client import ReviewAsker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fileops.model.settings import Settings
    from fileops.ports import EventSink
    from fileops.service.fileops import FileOps
    from fileops.service.hub.sessions import SessionRecord
    from fileops.service.review.queue import HostApprover

MAX_UNREAD_BYTES = 64 << 20  # for one client of several: twice the limit that stops its requests


def attachment_of_only_client() -> "AttachRequest":
    """Return what a private daemon's LSP client would have said to attach to a shared one: it has a user."""
    return AttachRequest(version=__version__, protocol="lsp", role="editor", host="", cwd="", pid=os.getppid())


class ClientConnection:
    """One client. name: of the connection, never used twice; "" in a private daemon."""

    def __init__(self, state: DaemonState, attachment: "AttachRequest", name: str = "") -> None:
        self._state = state
        self._attachment = attachment
        self._name = name
        self._service: FileOps | None = None
        self._host = attachment.host
        if state.hub is not None:
            state.hub.connections[name] = self

    @property
    def name(self) -> str:
        """See ClientConnection."""
        return self._name

    @property
    def host(self) -> str:
        """The client's own name, once known; before that, the name in its first line."""
        return self._host

    @property
    def pid(self) -> int:
        """The pid of the client's process: a child of the host, unless another program starts the host's servers."""
        return self._attachment.pid

    @property
    def agent_host(self) -> int:
        """The process of the agent's host; 0 if this is no agent's connection, or it cannot be known."""
        return 0

    def _is_of_another_host(self, own_id: str) -> bool:
        """Return whether an unrelated program is connected with a session of this host's id.

        Ids are not secret, so a program that names one must come from the same host while the session exists.
        """
        hub = self._state.hub
        if hub is None:
            return False
        names = hub.sessions.connections_of(own_id) - {self._name}
        others = [other for name, other in hub.connections.items() if name in names]
        return any(not is_of_one_host(self.pid, other.pid) for other in others)

    @property
    def is_editor(self) -> bool:
        return self._attachment.role == "editor"

    @property
    def program(self) -> str:
        """The name of the client's program, as people write it."""
        return program_name(self.host) if self.is_editor else agent_name(self.host)

    def describe(self) -> dict[str, object]:
        of, hub = self._attachment, self._state.hub
        sessions = () if hub is None else hub.sessions.all()
        own = [session for session in sessions if self._name in session.connections]
        labels = [session.label for session in own]
        return {
            "name": self._name,
            "host": self.host,
            "role": of.role,
            "protocol": of.protocol,
            "version": of.version,
            "pid": of.pid,
            "roots": list(self._folders()),
            "sessions": [session.session_id for session in own],
            "label": labels[0] if labels else self.program,
            "labels": labels,
        }

    def notify_sessions(self) -> None:
        """Send the list of sessions, if this is an editor."""

    def notify_ask(self) -> None:
        """Send the value of the switch "ask before each edit", if this is an editor."""

    async def save_document(self, uri: str, version: int) -> bool:
        """Have an editor save a document, if its user wants that. Returns whether it did."""
        return False

    @property
    def folders(self) -> "tuple[str, ...]":
        """The client's folders, as given and canonical."""
        return self._folders()

    @property
    def settings(self) -> "Settings | None":
        """See state.HubConnection."""
        return None if self._service is None else self._service.settings

    async def notices(self, session_id: SessionName) -> list[str]:
        """See state.Connection. The notices count as reported, as in a tool's result."""
        service = self._service
        if service is None or not self._has_notices:
            return []
        notices = service.names.show_notices(await service.notices(session_id))
        rewound = service.history.take_notices(session_id)
        late = () if service.diagnosis is None else service.diagnosis.late(session_id)
        problems = (problems_text(report, is_late=True) for report in late)
        unrecorded = [UNRECORDED] if service.work.take_unrecorded(session_id) else []
        return [*unrecorded, *rewound, *(notice_text(notice) for notice in notices.others), *problems]

    async def note_views(self, session_id: SessionName, file_paths: "Sequence[str]", output: str) -> None:
        """See state.Connection. Only with suggestions: without them a session reads for itself."""
        if self._service is not None and self._service.settings.shows_lines:
            await self._service.note_views(session_id, file_paths, output)

    def describe_session(self, session_id: SessionName) -> "tuple[str, tuple[str, ...]]":
        """See state.Connection."""
        return self._label_of(session_id), self._folders()

    def reset(self, session_id: SessionName) -> None:
        if self._service is not None:
            self._service.files.reset(session_id)

    @property
    def _has_notices(self) -> bool:
        return self._service is not None and self._service.settings.notices != "off"

    def _folders(self) -> "tuple[str, ...]":
        return () if self._service is None else self._service.folders

    def _events(self, hub: Hub) -> "EventSink":

        def describe() -> "tuple[str, str, tuple[str, ...]]":
            return self.host, self.program, self._folders()

        return ConnectionEvents(hub.sessions, hub.router, self._name, describe)

    def _asker(self, host: "HostApprover", can_ask: "Callable[[], bool]", timeout_s: float) -> "ReviewAsker":
        """Return what asks about the edits of this client's sessions. Args: host: asked if no view is left."""
        hub = self._state.hub

        def info_of(full_name: SessionName) -> SessionInfo:
            if hub is None:
                return SessionInfo(session_id=full_name, host=self.host, label=self.program)
            session = self._meet(hub, full_name)
            return SessionInfo(session_id=full_name, host=session.host, label=session.label)

        return ReviewAsker(queue=self._state.reviews, info_of=info_of, host=host, can_ask=can_ask, timeout_s=timeout_s)

    def _label_of(self, session_id: SessionName) -> str:
        """Return the name for people of a session of this connection, which may not have done anything yet."""
        hub = self._state.hub
        return self.program if hub is None else self._meet(hub, session_id).label

    def _meet(self, hub: Hub, session_id: SessionName) -> "SessionRecord":
        return hub.sessions.meet(session_id, self._name, self.host, self.program, self._folders())

    @property
    def _place(self) -> str:
        """Return the name that the client keeps when it connects again; "" in a private daemon."""
        return "" if self._state.hub is None else f"{self._attachment.host} in {self._attachment.cwd}"

    def _leave(self) -> None:
        """Called in a thread, after the client's part is closed."""
        if self._state.hub is None:  # it was the only client
            self._state.close()
        else:
            self._state.leave(self._name)
