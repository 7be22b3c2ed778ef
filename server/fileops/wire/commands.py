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
    command: Annotated[str, Meta(min_length=1)]
    timeout_s: Annotated[float, Meta(gt=0, le=86_400)] | None = None
    cwd: str | None = None
    description: str | None = None


class ConfirmCommandParams(msgspec.Struct, frozen=True, kw_only=True):
    """Params of the request that asks the user about a command. The description is the agent's."""

    command: str
    cwd: str
    session_id: str
    description: str | None


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
