"""Shape of `capabilities.experimental.fileops`, with which the server announces at `initialize` what it serves.

A separate module, because only the schema loads it, not a running server.
"""

from typing import Literal, TypedDict


class SharedCapability(TypedDict):
    """The client's connection to a shared daemon."""

    connection: str
    """The connection's name."""
    role: Literal["editor", "agent"]
    """The client's role."""
    version: str
    """The daemon's version."""
    socket: str
    """The path of the socket."""


class FileopsCapabilities(TypedDict):
    """What this server serves: `capabilities.experimental.fileops`."""

    protocol_version: int
    """The protocol's version."""
    requests: list[str]
    """Methods that the server handles."""
    notifications: list[str]
    """Notifications that the server sends."""
    strategies: list[str]
    """Ways to find the text of an edit."""
    processors: list[str]
    """Installed processors."""
    validators: list[str]
    """Installed validators."""
    shared: SharedCapability | None
    """The shared daemon's connection; null in a private daemon."""
