"""What can go wrong with a call, as opposed to what a tool answers (that is a `ToolResult`)."""

from typing import Any


class ResponseError(Exception):
    """The daemon did not take the request: a JSON-RPC error, with its code, message and data."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data


class ConnectionLost(ConnectionError):
    """The daemon is gone, or its output is no protocol any more. Every pending and later call gets this.

    exit_code: of the process (negative: killed by that signal), None where it still runs.
    stderr_tail: the last lines it wrote to stderr, which often say why.
    """

    def __init__(self, reason: str, *, exit_code: int | None = None, stderr_tail: str = "") -> None:
        super().__init__(reason if not stderr_tail else f"{reason}; its last words:\n{stderr_tail}")
        self.reason = reason
        self.exit_code = exit_code
        self.stderr_tail = stderr_tail


class ServerMissing(OSError):
    """The daemon's command could not be started."""


REQUEST_CANCELLED = -32800
INVALID_PARAMS = -32602
METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603
