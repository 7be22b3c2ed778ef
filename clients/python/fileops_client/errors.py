"""What can go wrong with a call, as opposed to a tool's answer (which is a `ToolResult`)."""

from typing import Any


class ResponseError(Exception):
    """The daemon did not accept the request: a JSON-RPC error, with its code, message and data."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data


class ConnectionLost(ConnectionError):
    """The daemon is gone, or its output is no longer valid. Every pending and later call raises this.

    exit_code: of the process (negative: killed by that signal); None if it still runs or is not our child. stderr_tail:
    the last lines that it wrote to stderr, which often explain why.
    """

    def __init__(self, reason: str, *, exit_code: int | None = None, stderr_tail: str = "") -> None:
        super().__init__(reason if not stderr_tail else f"{reason}; it last wrote:\n{stderr_tail}")
        self.reason = reason
        self.exit_code = exit_code
        self.stderr_tail = stderr_tail


class RequestTimeout(TimeoutError):
    """No answer in time; the request was cancelled.

    It is then unknown whether a cancelled edit was applied.
    """

    def __init__(self, method: str, timeout_s: float) -> None:
        super().__init__(f"{method} was not answered within {timeout_s:g} s and was cancelled")
        self.method = method
        self.timeout_s = timeout_s


class CallbackFailed(Exception):
    """A callback of the program, such as `confirm_edit`, raised or did not return an answer.

    The call that needed it raises this, since no decision was made; nothing was written. callback: the parameter's
    name. The cause is the callback's own exception.
    """

    def __init__(self, callback: str, cause: BaseException) -> None:
        super().__init__(f"{callback} failed, so nothing was decided: {type(cause).__name__}: {cause}")
        self.callback = callback
        self.__cause__ = cause


class ServerMissing(OSError):
    """The server could not be started, reached or imported."""


class AttachRefused(ConnectionError):
    """The shared daemon did not accept this program. `start` works without it.

    reason: "attach" (the versions of the handshake differ), "uid" (another user's), "confined" (this program or the
    daemon is in a sandbox), "full", "retiring", "bad" (what listens is not a daemon, or the program's line is wrong),
    or "silent". ends_soon: the daemon is about to end.
    """

    def __init__(self, reason: str, message: str, *, ends_soon: bool = False) -> None:
        super().__init__(message)
        self.reason = reason
        self.ends_soon = ends_soon


REQUEST_CANCELLED = -32800
INVALID_PARAMS = -32602
METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603
