"""Wire types of turns and commands, see docs/PROTOCOL.md, "Turns and commands"."""

from typing import Annotated

import msgspec
from msgspec import Meta

from fileops.wire.types import AtLeastOne, Params, SessionParams

MAX_HOST_ID_CHARS = 200
HostId = Annotated[str, Meta(max_length=MAX_HOST_ID_CHARS)]


class BeginTurnParams(SessionParams, frozen=True, kw_only=True):
    """A turn that begins."""

    turn_id: HostId | None = None
    """The client's id of it. Repeating the id of the open turn begins none."""
    title: str | None = None
    """The prompt, of which the beginning of the first line is kept."""


class BeginTurnResult(msgspec.Struct, frozen=True, kw_only=True):
    """The turn that has begun, or is open."""

    turn_id: str
    """The turn's own id."""


class TurnsParams(SessionParams, frozen=True, kw_only=True):
    """Asks for turns. Without `session_id` they are those of all sessions."""

    root: str | None = None
    """Absolute: turns with entries in this folder, or none yet."""
    limit: AtLeastOne | None = None
    """100 by default."""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """The work of a session between two prompts of its user, and how many entries of the record it has."""

    turn_id: str
    """Unique in the record."""
    session_id: str
    """A session, by the name that this client knows."""
    label: str
    """For people."""
    title: str | None
    """The beginning of the prompt; null if it is not kept."""
    began: float
    """Seconds since the epoch."""
    ended: float | None
    """Seconds since the epoch. Null while it is open."""
    n_entries: int
    """Entries of the record."""
    n_files: int
    """Files that they are of."""
    n_undone: int
    """Entries that are not in force."""


class TurnsResult(msgspec.Struct, frozen=True, kw_only=True):
    """The turns that the client may know of."""

    turns: list[Turn]
    """The newest first."""


class BeginCommandParams(SessionParams, frozen=True, kw_only=True):
    """A command that begins."""

    command_id: HostId | None = None
    """The client's id of it. Repeating the id of an open command begins none."""
    label: str | None = None
    """The command line, of which the program and its first argument are kept."""
    background: bool | None = None
    """A program may continue after the end."""


class BeginCommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """The command that has begun."""

    command_id: str
    """The command's own id."""
    recorded: bool
    """Whether its folders are watched, so that all that it changes is recorded."""


class EndCommandParams(Params, frozen=True, kw_only=True):
    """A command that ends."""

    command_id: str
    """The command's own id, or the client's."""


class EndCommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a command changed."""

    command_id: str
    """The command's own id."""
    entries: list[str]
    """Ids, the oldest first."""
    unsettled: int
    """How many of the entries may still get another author."""
