"""The process of a shared daemon, and the state that serves its clients."""

import gc
from typing import TYPE_CHECKING

from fileops.compose.lsp_connection import LspConnection
from fileops.compose.mcp_connection import McpConnection
from fileops.compose.state import DaemonState, Hub

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fileops.attach.handshake import Attachment
    from fileops.daemon.process import DaemonOptions
    from fileops.rpc.session import StreamSession


def serve_daemon(options: "DaemonOptions") -> int:
    """Serve the clients that attach; returns the exit status."""
    gc.disable()  # thousands of classes are made by the imports, and none of them is garbage
    import fileops.fs.local.filesystem  # pyright: ignore[reportUnusedImport]  # needed by the first client
    import fileops.history.journal  # noqa: F401  # pyright: ignore[reportUnusedImport]
    from fileops.daemon import process

    gc.freeze()
    gc.enable()
    return process.serve_daemon(options, SharedDaemonState)


class SharedDaemonState(DaemonState):
    """See daemon.shared_service.SharedService."""

    def __init__(self, socket: str = "") -> None:
        """Args: socket: where the daemon listens."""
        super().__init__()
        self._hub = Hub(socket, self.end_session)

    @property
    def hub(self) -> Hub:
        return self._hub

    def open_session(self, attachment: "Attachment", name: str, for_reading: int, for_writing: int) -> "StreamSession":
        """See SharedService. Args: name: of the connection, never used twice."""
        import msgspec

        from fileops.attach.handshake import BadRequest
        from fileops.rpc.decode import InvalidParams

        connection = LspConnection if attachment.protocol == "lsp" else McpConnection
        try:
            return connection(self, attachment, name).serve(for_reading, for_writing)
        except msgspec.ValidationError as fault:
            raise BadRequest(f"options: {fault}") from None
        except InvalidParams as fault:
            option = fault.path.rpartition(".")[2]
            raise BadRequest(f"The option {option} {fault.reason}") from None

    def describe(self) -> list[dict[str, object]]:
        return [connection.describe() for connection in tuple(self.hub.connections.values())]

    def waiting_reviews(self) -> list[dict[str, object]]:
        return [
            {
                "review_id": review.review_id,
                "label": review.session.label,
                "file_path": review.asked.file_path,
                "asked_at": review.asked_at,
            }
            for review in self.reviews.waiting()
        ]

    async def notices(self, host: str, own_id: str) -> list[str]:
        session = self.hub.sessions.named(host, own_id)
        if session is None or (connection := self.hub.connections.get(session.connections[-1])) is None:
            return []
        return await connection.notices(session.session_id)

    async def note_views(self, host: str, own_id: str, file_paths: "Sequence[str]", output: str) -> None:
        session = self.hub.sessions.named(host, own_id)
        if session is not None and (connection := self.hub.connections.get(session.connections[-1])) is not None:
            await connection.note_views(session.session_id, file_paths, output)

    def reset(self, host: str, own_id: str) -> None:
        session = self.hub.sessions.named(host, own_id)
        if session is not None and (connection := self.hub.connections.get(session.connections[-1])) is not None:
            connection.reset(session.session_id)
