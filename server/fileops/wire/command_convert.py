"""Wire ⇄ model for `fileops/bash`. Loaded at its first use."""

from fileops.requests import DEFAULT_COMMAND_TIMEOUT_S, CommandOutcome, CommandRequest
from fileops.wire import types as wire
from fileops.wire.command_types import BashParams
from fileops.wire.convert import session_of, tool_result


def command_request(params: BashParams) -> CommandRequest:
    timeout_s = DEFAULT_COMMAND_TIMEOUT_S if params.timeout_s is None else params.timeout_s
    return CommandRequest(
        command=params.command, timeout_s=timeout_s, cwd=params.cwd, description=params.description,
        session_id=session_of(params),
    )  # fmt: skip


def command_result(outcome: CommandOutcome) -> wire.ToolResult:
    details: wire.JsonObject = {
        "exit_code": outcome.exit_code,
        "cwd": outcome.cwd,
        "duration_s": outcome.duration_s,
        "n_output_bytes": outcome.n_output_bytes,
        "truncated": outcome.is_clipped,
    }
    return tool_result(outcome.output, outcome.error, None, details)
