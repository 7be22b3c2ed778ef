"""Wire types of shell commands and their translation, see docs/PROTOCOL.md, "fileops/bash"."""

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from fileops.model.requests import DEFAULT_COMMAND_TIMEOUT_S, CommandRequest
from fileops.model.results import CommandResult
from fileops.model.sessions import SessionName
from fileops.wire import types as wire
from fileops.wire.convert import tool_result
from fileops.wire.types import SessionParams

if TYPE_CHECKING:
    from fileops.wire.details import BashDetails


class BashParams(SessionParams, frozen=True, kw_only=True):
    """Runs a shell command."""

    command: Annotated[str, Meta(min_length=1)]
    """The command, for `sh -c`."""
    timeout_s: Annotated[float, Meta(gt=0, le=86_400)] | None = None
    """Time limit in seconds; 120 by default."""
    cwd: str | None = None
    """Absolute path of the working directory; by default the first workspace folder."""
    description: str | None = None
    """The command's purpose, for the user who is asked."""


class ConfirmCommandParams(msgspec.Struct, frozen=True, kw_only=True):
    """Asks the user about a command."""

    command: str
    """The command to run."""
    cwd: str
    """The working directory."""
    session_id: str
    """The session that runs the command."""
    description: str | None
    """The command's purpose, as the agent gave it."""


def command_request(params: BashParams, session: SessionName) -> CommandRequest:
    timeout_s = DEFAULT_COMMAND_TIMEOUT_S if params.timeout_s is None else params.timeout_s
    return CommandRequest(
        command=params.command,
        timeout_s=timeout_s,
        cwd=params.cwd,
        description=params.description,
        session_id=session,
    )


def command_result(outcome: CommandResult) -> wire.ToolResult:
    details: BashDetails = {
        "exit_code": outcome.exit_code,
        "cwd": outcome.cwd,
        "duration_s": outcome.duration_s,
        "n_output_bytes": outcome.n_output_bytes,
        "truncated": outcome.is_clipped,
    }
    return tool_result(outcome.output, outcome.error, None, details)
