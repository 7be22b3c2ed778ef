"""Wire types of turns and commands, see docs/PROTOCOL.md, "Turns and commands"."""

from typing import Annotated

import msgspec
from msgspec import Meta

from fileops.wire.types import AtLeastOne, Params, SessionParams

MAX_HOST_ID_CHARS = 200
HostId = Annotated[str, Meta(max_length=MAX_HOST_ID_CHARS)]


class BeginTurnParams(SessionParams, frozen=True, kw_only=True):
    """A turn that begins.

    turn_id: the client's id of it. title: the prompt, of which the beginning of the first line is kept.
    """

    turn_id: HostId | None = None
    title: str | None = None


class BeginTurnResult(msgspec.Struct, frozen=True, kw_only=True):
    turn_id: str


class TurnsParams(SessionParams, frozen=True, kw_only=True):
    """Without session_id the turns are those of all sessions. root: turns with entries in this folder, or none yet."""

    root: str | None = None
    limit: AtLeastOne | None = None


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn, and how many entries it has. Times are in seconds since the epoch; ended: null while it is open."""

    turn_id: str
    session_id: str
    label: str
    title: str | None
    began: float
    ended: float | None
    n_entries: int
    n_files: int
    n_undone: int


class TurnsResult(msgspec.Struct, frozen=True, kw_only=True):
    turns: list[Turn]


class BeginCommandParams(SessionParams, frozen=True, kw_only=True):
    """A command that begins.

    command_id: the client's id of it. label: the command line, of which the program and its first argument are kept.
    """

    command_id: HostId | None = None
    label: str | None = None
    background: bool | None = None


class BeginCommandResult(msgspec.Struct, frozen=True, kw_only=True):
    command_id: str


class EndCommandParams(Params, frozen=True, kw_only=True):
    """A command that ends. command_id: the command's own id, or that of the client."""

    command_id: str


class EndCommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a command changed.

    entries: ids, the oldest first. unsettled: how many of the entries may still get another author.
    """

    command_id: str
    entries: list[str]
    unsettled: int
