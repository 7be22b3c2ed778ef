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

    exit_code: of the process (negative: killed by that signal), None if it still runs or is not our child.
    stderr_tail: the last lines it wrote to stderr, which often say why.
    """

    def __init__(self, reason: str, *, exit_code: int | None = None, stderr_tail: str = "") -> None:
        super().__init__(reason if not stderr_tail else f"{reason}; its last words:\n{stderr_tail}")
        self.reason = reason
        self.exit_code = exit_code
        self.stderr_tail = stderr_tail


class RequestTimeout(TimeoutError):
    """No answer in time; the request was cancelled. Whether a cancelled edit was applied is then not known."""

    def __init__(self, method: str, timeout_s: float) -> None:
        super().__init__(f"{method} was not answered within {timeout_s:g} s and was cancelled")
        self.method = method
        self.timeout_s = timeout_s


class CallbackFailed(Exception):
    """A callback of the program, such as `confirm_edit`, raised or returned something else than an answer.

    The call that it was asked for raises this, since no decision was made; nothing was written.
    callback: the parameter's name. The cause is the callback's own exception.
    """

    def __init__(self, callback: str, cause: BaseException) -> None:
        super().__init__(f"{callback} failed, so nothing was decided: {type(cause).__name__}: {cause}")
        self.callback = callback
        self.__cause__ = cause


class ServerMissing(OSError):
    """The server could not be started, reached or imported."""


class AttachRefused(ConnectionError):
    """The shared daemon did not take this program. `start` serves it without one.

    reason: "attach" (the versions of the handshake differ), "uid" (of another user), "confined" (this program or the
    daemon is in a sandbox), "full", "retiring", "bad" (what listens is no daemon, or the program's line is wrong), or
    "silent". ends_soon: the daemon is ending by itself.
    """

    def __init__(self, reason: str, message: str, *, ends_soon: bool = False) -> None:
        super().__init__(message)
        self.reason = reason
        self.ends_soon = ends_soon


REQUEST_CANCELLED = -32800
INVALID_PARAMS = -32602
METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603
