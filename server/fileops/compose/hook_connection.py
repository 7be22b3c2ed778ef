"""A host whose own tools are guarded and recorded, as its hooks report them. Part of the composition root.

Hooks are short processes, so this connection has no socket. It is listed with the others, may be the only one of its
session, and ends with the session, with the host, or when nothing was heard of it for a while. Belongs to the event
loop.
"""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fileops import __version__
from fileops.attach.handshake import AttachRequest
from fileops.compose.client_connection import ClientConnection
from fileops.compose.recording import record_folders
from fileops.model.diagnostics import LanguageServerSetting
from fileops.model.errors import FileOpsError
from fileops.model.internal_errors import PathMoved
from fileops.model.settings import Settings
from fileops.service.client.adapters import ClientAdapters
from fileops.service.companion.companion import Companion
from fileops.service.fileops import FileOps
from fileops.service.formatting import Formatter
from fileops.service.hub.approvals import AgentRouting
from fileops.service.hub.names import SharedSessionNames
from fileops.service.review.client import NoHost

if TYPE_CHECKING:
    from fileops.compose.state import DaemonState, Hub, HubConnection
    from fileops.fs.overlay.filesystem import OverlayFileSystem
    from fileops.fs.overlay.state import OpenDocument
    from fileops.model.sessions import SessionName

QUIET_S = 1800.0  # without an event, the session is over
# Where the host may write is the host's business.
SETTINGS = Settings(
    freshness="relevant", notices="output", suggestions="output", diagnostics="details", confine="off",
    approval_mode="auto_edit", approval_timeout_s=240, correction=True, diagnostics_wait_s=1.0,
)  # fmt: skip  # a hook waits for 2 s in all


def _saveable(files: "OverlayFileSystem", service: FileOps, path: str) -> "OpenDocument | None":
    """Return the document that could be saved before a host's own tool uses the file. Blocks."""
    try:
        return files.saveable_at(service.guarded_files.resolve(path))
    except (FileOpsError, PathMoved):  # the checks that follow say what is wrong
        return None


class HookConnection(ClientConnection):
    def __init__(
        self,
        state: "DaemonState",
        hub: "Hub",
        name: str,
        host: str,
        session_id: "SessionName",
        cwd: str,
        pid: int,
        *,
        language_servers: Sequence[LanguageServerSetting],
        subagent: str = "",
    ) -> None:
        """Args: name: of the connection. pid: of the host's process. subagent: its name for people.

        language_servers: which the user lets the daemon start.
        """
        self._subagent = subagent
        attachment = AttachRequest(
            version=__version__, protocol="mcp", role="agent", host=host, cwd=cwd, roots=(cwd,), pid=pid
        )
        super().__init__(state, attachment, name)
        self.session_id = session_id
        self.tool_prefix: str | None = None  # of our tools, while an MCP client of ours has the session
        self.heard_at = 0.0
        self.guarded_since = time.time()
        settings = replace(SETTINGS, language_servers=list(language_servers))
        shared = state.parts(settings, lambda _text: None, "mtime", hub.router)
        adapters = ClientAdapters(
            asker=self._asker(NoHost(), lambda: True, SETTINGS.approval_timeout_s),
            events=self._events(hub),
            names=SharedSessionNames(session_id, lambda _name, _own: False),
            is_agent=True,
            sinks=shared.sinks,
            place=self._place,
            label_of=self._label_of,
            routing=AgentRouting(hub.editors, approve="person", modes=shared.workspace.modes),
            editor_globs=hub.editor_globs,
        )
        self.service = self._service = service = FileOps(shared.workspace, adapters, settings, [cwd] if cwd else [])
        self._diagnosis = shared.workspace.diagnosis
        self._meet(hub, session_id)
        if shared.recorder is not None and cwd:
            record_folders(shared.recorder, self.service, name)

        def editor_at(path: str) -> str | None:
            opened = shared.files.last_open_at(path)
            found = (hub.connections.get(document.editor) for document in opened)
            return next((editor.program for editor in found if editor is not None), None)

        async def save(path: str) -> None:
            document = await service.run_on_disk(lambda: _saveable(shared.files, service, path))
            editor = None if document is None else hub.connections.get(document.editor)
            if document is not None and editor is not None:
                await editor.save_document(document.uri, document.version)

        self.companion = Companion(
            self.service,
            shared.workspace,
            session_id,
            label=lambda: self._label_of(session_id),
            editor_at=editor_at,
            save=save,
            tool_prefix=lambda: self.tool_prefix,
        )

    @property
    def program(self) -> str:
        """The name of the host's program; of a subagent, with what the host calls it."""
        return f"{super().program} ({self._subagent})" if self._subagent else super().program

    @property
    def _has_notices(self) -> bool:
        return True

    @property
    def agent_host(self) -> int:
        return self.pid

    @property
    def cwd(self) -> str:
        return self._attachment.cwd

    def hear(self, now: float) -> None:
        self.heard_at = now

    def formatter_like(self, client: "HubConnection | None") -> Formatter | None:
        """Return what formats the lines that this session's own edits change, as those of its client of ours."""
        settings = None if client is None else client.settings
        if settings is None or settings.format == "off" or self._diagnosis is None:
            return None
        return Formatter(self._diagnosis, lambda: self.service.folders, settings.language_servers)

    def describe_guard(self) -> dict[str, object]:
        """Return what `status` prints of a session whose host's own tools are guarded."""
        return {
            "label": self._label_of(self.session_id),
            "session_id": self.session_id,
            "host": self.host,
            "pid": self.pid,
            "cwd": self.cwd,
            "mode": "companion",
            "guarded_since": self.guarded_since,
            "has_tools": self.tool_prefix is not None,
        }
