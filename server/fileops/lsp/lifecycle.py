"""The lifecycle of an LSP connection as a table: which message is allowed in which state, and the state after it.

This module knows only states and kinds of messages: no params, no handlers, no transport. Source: LSP 3.17, "Server
lifecycle".
"""

from enum import Enum, auto

from lsprotocol import types

from fileops.rpc import errors
from fileops.rpc.errors import RpcError


class State(Enum):
    UNINITIALIZED = auto()  # nothing but `initialize` and `exit`
    RUNNING = auto()
    SHUT_DOWN = auto()  # nothing but `exit`


class Kind(Enum):
    INITIALIZE = auto()
    SHUTDOWN = auto()
    REQUEST = auto()  # any other
    NOTIFICATION = auto()  # any but `exit`, which is allowed in every state


_KINDS = {types.INITIALIZE: Kind.INITIALIZE, types.SHUTDOWN: Kind.SHUTDOWN}
_NOT_INITIALIZED = errors.not_initialized()
_INITIALIZED = errors.invalid_request("already initialized")
_SHUT_DOWN = errors.invalid_request("shut down; only exit can follow")

# The state after a message, or the error that refuses it. A refused notification is ignored.
TRANSITIONS: dict[tuple[State, Kind], State | RpcError] = {
    (State.UNINITIALIZED, Kind.INITIALIZE): State.RUNNING,
    (State.UNINITIALIZED, Kind.SHUTDOWN): _NOT_INITIALIZED,
    (State.UNINITIALIZED, Kind.REQUEST): _NOT_INITIALIZED,
    (State.UNINITIALIZED, Kind.NOTIFICATION): _NOT_INITIALIZED,
    (State.RUNNING, Kind.INITIALIZE): _INITIALIZED,
    (State.RUNNING, Kind.SHUTDOWN): State.SHUT_DOWN,
    (State.RUNNING, Kind.REQUEST): State.RUNNING,
    (State.RUNNING, Kind.NOTIFICATION): State.RUNNING,
    (State.SHUT_DOWN, Kind.INITIALIZE): _INITIALIZED,
    (State.SHUT_DOWN, Kind.SHUTDOWN): _SHUT_DOWN,
    (State.SHUT_DOWN, Kind.REQUEST): _SHUT_DOWN,
    (State.SHUT_DOWN, Kind.NOTIFICATION): _SHUT_DOWN,
}  # fmt: skip


class Lifecycle:
    """The state of one connection."""

    def __init__(self) -> None:
        self.state = State.UNINITIALIZED

    def refusal(self, method: str) -> RpcError | None:
        """Return why a request is not allowed in this state; None if it is."""
        target = TRANSITIONS[self.state, _KINDS.get(method, Kind.REQUEST)]
        return target if isinstance(target, RpcError) else None

    def allows_notifications(self) -> bool:
        return isinstance(TRANSITIONS[self.state, Kind.NOTIFICATION], State)

    def advance(self, method: str) -> None:
        """Enter the state after a request. A failed `initialize` changes nothing and must not be passed here."""
        target = TRANSITIONS[self.state, _KINDS.get(method, Kind.REQUEST)]
        if isinstance(target, State):
            self.state = target

    @property
    def exit_status(self) -> int:
        """Return the status with which `exit` ends the process: 0 only after `shutdown`."""
        return 0 if self.state is State.SHUT_DOWN else 1
