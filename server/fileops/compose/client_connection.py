"""Base of the connections of a shared daemon: what they all do, in LSP and in MCP.

Part of the composition root. Belongs to the event loop, except where a comment names a thread. Imports are deferred.
"""

from typing import TYPE_CHECKING

from fileops.compose.world import SharedWorld

if TYPE_CHECKING:
    from collections.abc import Callable

    from fileops.attach.handshake import Attachment
    from fileops.ports import Approver, EventSink
    from fileops.service.fileops import FileOps
    from fileops.service.hub.approvals import Approve, RoutedApprover
    from fileops.service.workspace import Workspace

MAX_UNREAD_BYTES = 64 << 20  # for one client: twice what stops its requests


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
    def program(self) -> str:
        """The name of the client's program as people write it."""
        from fileops.service.hub.names import program_name

        return program_name(self.host)

    def describe(self) -> dict[str, object]:
        of = self._attachment
        own = [session for session in self._world.sessions.all() if self._name in session.connections]
        labels = [session.label for session in own]
        return {
            "name": self._name, "host": self.host, "role": of.role, "protocol": of.protocol, "version": of.version,
            "pid": of.pid, "roots": list(self._folders()), "sessions": [session.session_id for session in own],
            "label": labels[0] if labels else self.program, "labels": labels,
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

        return ConnectionEvents(self._world.sessions, self._world.router, self._name, lambda: (self.host, self.program))

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

        def info_of(session_id: str) -> SessionInfo:
            session = self._world.sessions.meet(session_id, self._name, self.host, self.program)
            return SessionInfo(session_id=session_id, host=session.host, label=session.label)

        return RoutedApprover(
            self._world.editors, approve=approve, modes=workspace.modes, own=own, timeout_s=timeout_s,
            questions=self._world.questions, on_wait=on_wait,
            info_of=info_of,
        )  # fmt: skip

    @property
    def _place(self) -> str:
        """What the client keeps when it connects again."""
        return f"{self._attachment.host} in {self._attachment.cwd}"

    def _leave(self) -> None:
        """Called in a thread, once the client's part is closed."""
        self._world.leave(self._name)
