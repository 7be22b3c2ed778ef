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
    """The client's own id. Repeating the id of the open turn begins no other turn."""
    title: str | None = None
    """The prompt, of which only the beginning of the first line is kept."""


class BeginTurnResult(msgspec.Struct, frozen=True, kw_only=True):
    """The turn that has begun, or is open."""

    turn_id: str
    """The turn's own id."""


class TurnsParams(SessionParams, frozen=True, kw_only=True):
    """Asks for turns; without `session_id` for those of all sessions."""

    root: str | None = None
    """Absolute path: turns with entries in this folder, or none yet."""
    limit: AtLeastOne | None = None
    """How many turns at most; 100 by default."""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A session's work between two prompts of its user, and how many entries of the record it has."""

    turn_id: str
    """Unique in the record."""
    session_id: str
    """The client's name for the session."""
    label: str
    """The session's name for people."""
    title: str | None
    """The beginning of the prompt; null if it is not kept."""
    began: float
    """When it began, in seconds since the epoch."""
    ended: float | None
    """When it ended, in seconds since the epoch; null while it is open."""
    n_entries: int
    """How many entries of the record."""
    n_files: int
    """How many files these entries concern."""
    n_undone: int
    """How many entries are no longer in force."""
    n_renames: int = 0
    """How many entries in force only say that a renamed file's old name is gone: lists count neither them nor it."""


class TurnsResult(msgspec.Struct, frozen=True, kw_only=True):
    """The turns that the client may know of."""

    turns: list[Turn]
    """Newest first."""


class BeginCommandParams(SessionParams, frozen=True, kw_only=True):
    """A command that begins."""

    command_id: HostId | None = None
    """The client's own id. Repeating the id of an open command begins no other command."""
    label: str | None = None
    """The command line, of which only the programs and their first arguments are kept."""
    background: bool | None = None
    """Whether a program may continue after the command's end."""


class BeginCommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """The command that has begun."""

    command_id: str
    """The command's own id."""
    recorded: bool
    """Whether its folders are watched, so that everything it changes is recorded."""


class EndCommandParams(Params, frozen=True, kw_only=True):
    """A command that ends."""

    command_id: str
    """The command's own id, or the client's."""


class EndCommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a command changed."""

    command_id: str
    """The command's own id."""
    entries: list[str]
    """Ids of its entries, oldest first."""
    unsettled: int
    """How many of the entries may still change their author."""
