"""Serves one client on stdin and stdout, in a private daemon: a state with one connection."""

import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fileops.attach.handshake import AttachRequest
    from fileops.rpc.standard_io import ServedSession


def serve(notice: str | None = None) -> int:
    """Serve one LSP client; return the exit status. Args: notice: shown to the client's user."""
    gc.disable()  # the imports create thousands of classes, none of them garbage
    from fileops.compose.client_connection import attachment_of_only_client
    from fileops.compose.lsp_connection import LspConnection
    from fileops.compose.state import DaemonState
    from fileops.rpc.standard_io import serve_standard_io

    gc.freeze()
    gc.enable()

    def session(for_reading: int, for_writing: int) -> "ServedSession":
        return LspConnection(DaemonState(), attachment_of_only_client()).serve(for_reading, for_writing, notice=notice)

    return serve_standard_io(session)


def serve_mcp(attachment: "AttachRequest", notice: str | None = None) -> int:
    """Serve one MCP client; return the exit status. Args: notice: given to the client's model."""
    gc.disable()  # as in `serve`
    from fileops.compose.mcp_connection import McpConnection
    from fileops.compose.state import DaemonState
    from fileops.rpc.standard_io import serve_standard_io

    gc.freeze()
    gc.enable()

    def session(for_reading: int, for_writing: int) -> "ServedSession":
        return McpConnection(DaemonState(), attachment).serve(for_reading, for_writing, notice=notice)

    return serve_standard_io(session)
