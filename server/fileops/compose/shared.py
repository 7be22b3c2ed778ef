"""Composition root of a shared daemon: what the connections share (`world.py`), and the choice of a connection's kind.

Belongs to the event loop, except where a comment names a thread. Imports are deferred until they are needed.
"""

from typing import TYPE_CHECKING

from fileops.compose.lsp_connection import LspConnection
from fileops.compose.mcp_connection import McpConnection
from fileops.compose.world import SharedWorld

if TYPE_CHECKING:
    from fileops.attach.handshake import Attachment
    from fileops.rpc.session import StreamSession


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
