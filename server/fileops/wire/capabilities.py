"""Shape of `capabilities.experimental.fileops`, in which the server says at `initialize` what it serves.

A module for itself, because a running server does not load it: the schema does.
"""

from typing import Literal, TypedDict


class SharedCapability(TypedDict):
    """The client's connection to a shared daemon."""

    connection: str
    role: Literal["editor", "agent"]
    version: str
    socket: str


class FileopsCapabilities(TypedDict):
    """`processors` and `validators` are the installed ones. `shared` is null in a private daemon."""

    protocol_version: int
    requests: list[str]
    notifications: list[str]
    strategies: list[str]
    processors: list[str]
    validators: list[str]
    shared: SharedCapability | None
