"""Shape of `capabilities.experimental.fileops`, in which the server says at `initialize` what it serves.

A module for itself, because a running server does not load it: the schema does.
"""

from typing import Literal, TypedDict


class SharedCapability(TypedDict):
    """The client's connection to a shared daemon."""

    connection: str
    """Its name."""
    role: Literal["editor", "agent"]
    """What the client is."""
    version: str
    """Of the daemon."""
    socket: str
    """Its path."""


class FileopsCapabilities(TypedDict):
    """What this server serves: `capabilities.experimental.fileops`."""

    protocol_version: int
    """Of the protocol."""
    requests: list[str]
    """Methods that are served."""
    notifications: list[str]
    """Methods that are sent."""
    strategies: list[str]
    """Ways to find a text."""
    processors: list[str]
    """The installed ones."""
    validators: list[str]
    """The installed ones."""
    shared: SharedCapability | None
    """Null in a private daemon."""
