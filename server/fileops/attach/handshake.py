"""The first line of each side of a connection to the shared daemon: who attaches, and whether it may.

Each line is one JSON object. After the daemon's line, the bytes of the chosen protocol follow in both directions.
docs/PROTOCOL.md, section "Attaching to a shared daemon", describes the lines for clients in other languages.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar, cast

from fileops import __version__
from fileops.model.sessions import host_name

ATTACH = 1  # raised by incompatible changes of the handshake or what follows
MAX_LINE_BYTES = 64 << 10
MAX_ANSWER_BYTES = 16 << 20  # of the daemon's line; older clients read MAX_LINE_BYTES
LINE_S = 5.0  # until the client's line, after it has connected
MAX_HOST_CHARS = 18  # a connection's name adds "-NNNNN" and has at most 24 characters
MAX_TEXT_CHARS = 4096
MAX_UMASK = 0o777

_T = TypeVar("_T", bound=str)
Protocol = Literal["lsp", "mcp"]
Role = Literal["editor", "agent"]
Command = Literal["status", "stop", "outcome", "notices", "reset", "record", "companion"]
Reason = Literal["attach", "uid", "confined", "full", "exhausted", "retiring", "bad"]

PROTOCOLS: tuple[Protocol, ...] = ("lsp", "mcp")
ROLES: tuple[Role, ...] = ("editor", "agent")
COMMANDS: tuple[Command, ...] = ("status", "stop", "outcome", "notices", "reset", "record", "companion")
# What the environment may say about the agent's host. Nothing else is sent, since it contains secrets.
HINTS = {
    "session": "CLAUDE_CODE_SESSION_ID",
    "copilot_session": "COPILOT_AGENT_SESSION_ID",
    "project": "CLAUDE_PROJECT_DIR",
}
HOST_MARKERS = {"CLAUDECODE": "claude-code", "GEMINI_CLI": "gemini-cli", "OPENCODE": "opencode"}


class BadRequest(ValueError):
    """The line is not a request; the message says why."""


class AttachMismatch(Exception):
    """The client speaks another version of the handshake. about: what its line says about it, as far as it is text."""

    def __init__(self, about: Mapping[str, str]) -> None:
        super().__init__()
        self.about = about


class AttachRequest(NamedTuple):
    """Who attaches, as the first line says.

    version: of the client's fileops-server. host: the agent's or editor's program, `[a-z0-9-]`. cwd, roots: absolute
    paths. session: the name given with `--session`. hints: those of HINTS that the environment has,
    and `markers`, the names of HOST_MARKERS that are set. options: of `fileops-server mcp`, see `McpOptions`; defaults
    are left out. pid: of the client; the daemon trusts the kernel's instead. umask: of the client; None: the daemon's.
    """

    version: str
    protocol: Protocol
    role: Role
    host: str
    cwd: str
    roots: tuple[str, ...] = ()
    session: str | None = None
    hints: Mapping[str, object] = {}
    options: Mapping[str, object] = {}
    pid: int = 0
    umask: int | None = None


class ControlRequest(NamedTuple):
    """A question or a request about the daemon itself. The daemon's line answers it, and nothing follows.

    It has the same form in every version of the handshake, so that any `status` works with any daemon.
    """

    command: Command
    params: Mapping[str, object]


# --- the client's line --------------------------------------------------------------------------------------------


def attach_line(attachment: AttachRequest) -> bytes:
    return _line({"fileops_attach": ATTACH, **attachment._asdict()})


def control_line(command: Command, **params: object) -> bytes:
    return _line(
        {"fileops_attach": ATTACH, "version": __version__, "protocol": "control", "command": command, **params}
    )


def parse_request(line: bytes) -> AttachRequest | ControlRequest:
    """Parse the client's line. Unknown keys are ignored. Raises: BadRequest, AttachMismatch."""
    request = _parse(line)
    if request is None or "fileops_attach" not in request:
        raise BadRequest("the first line is not a request to attach")
    if request.get("protocol") == "control":
        return ControlRequest(_choice(request, "command", COMMANDS), request)
    if request["fileops_attach"] != ATTACH:
        keys = ("host", "role", "protocol", "version")
        raise AttachMismatch({key: str(request.get(key, ""))[:MAX_HOST_CHARS] for key in keys})
    pid, session = request.get("pid"), request.get("session")
    return AttachRequest(
        version=_version(request),
        protocol=_choice(request, "protocol", PROTOCOLS),
        role=_choice(request, "role", ROLES),
        host=host_of(_text(request, "host")),
        cwd=_path(request.get("cwd"), "cwd"),
        roots=_paths(request.get("roots")),
        session=None if session is None else _text(request, "session"),
        hints=_object(request, "hints"),
        options=_object(request, "options"),
        pid=pid if isinstance(pid, int) else 0,
        umask=_umask(request.get("umask")),
    )


class Hook(NamedTuple):
    """A hook that asks about its session. host: the prefix of the session's name. pid: of its process, 0 if unknown."""

    host: str
    own_id: str
    pid: int


def hook_of(request: ControlRequest, pid: int) -> Hook:
    """Return who asks. Args: pid: as the kernel reports it. Raises: BadRequest."""
    return Hook(_text(request.params, "host"), _text(request.params, "session"), pid)


def views_of_request(request: ControlRequest) -> tuple[list[str], str] | None:
    """Return the files that a command line names, and its output; None without them. Raises: BadRequest."""
    from fileops.attach.hook_views import MAX_FILES, unpack

    if not (views := _object(request.params, "views")):
        return None
    try:
        return [*_paths(views.get("files"))][:MAX_FILES], unpack(str(views.get("output", "")))
    except ValueError as fault:
        raise BadRequest(f"views cannot be read: {fault}") from None


def host_of(program: str) -> str:
    """Reduce a program's name to the characters allowed in a connection's name."""
    return host_name(program, max_chars=MAX_HOST_CHARS) or "client"


def hints_of(environ: Mapping[str, str]) -> dict[str, object]:
    """Return what the environment says about the agent's host."""
    hints: dict[str, object] = {key: environ[name] for key, name in HINTS.items() if environ.get(name)}
    if markers := [name for name in HOST_MARKERS if environ.get(name)]:
        hints["markers"] = markers
    return hints


# --- the daemon's line --------------------------------------------------------------------------------------------


class DaemonAnswer(NamedTuple):
    """The daemon's line. A newer daemon may have further reasons and keys."""

    fields: Mapping[str, Any]

    @property
    def is_ok(self) -> bool:
        return self.fields.get("ok") is True

    @property
    def connection(self) -> str:
        return str(self.fields.get("connection", ""))

    @property
    def reason(self) -> str:
        return str(self.fields.get("reason", ""))

    @property
    def ends_soon(self) -> bool:
        return self.fields.get("ends_soon") is True

    @property
    def message(self) -> str:
        return str(self.fields.get("message", ""))


def answer_line(connection: str) -> bytes:
    return _line({"ok": True, "version": __version__, "connection": connection, "pid": os.getpid()})


def control_answer_line(**fields: object) -> bytes:
    return _line({"ok": True, "version": __version__, "pid": os.getpid(), **fields})


def refusal_line(reason: Reason, message: str, *, ends_soon: bool = False) -> bytes:
    """Args: ends_soon: the daemon is about to end, so it is worth connecting again in a moment."""
    return _line({"ok": False, "reason": reason, "message": message, "attach": [ATTACH], "ends_soon": ends_soon})


def parse_answer(line: bytes) -> DaemonAnswer:
    """Parse the daemon's line. Raises: BadRequest."""
    answer = _parse(line)
    if answer is None or not isinstance(answer.get("ok"), bool):
        raise BadRequest("the daemon's first line is not an answer")
    return DaemonAnswer(answer)


# --- JSON ---------------------------------------------------------------------------------------------------------


def _line(fields: Mapping[str, object]) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode("ascii") + b"\n"


def _parse(line: bytes) -> "dict[str, Any] | None":
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _text(request: Mapping[str, object], key: str) -> str:
    value = request.get(key)
    if not isinstance(value, str) or len(value) > MAX_TEXT_CHARS:
        raise BadRequest(f"{key} must be a text of at most {MAX_TEXT_CHARS} characters")
    return value


def _version(request: Mapping[str, object]) -> str:
    version = _text(request, "version")
    if not re.match(r"\d+(\.\d+)*", version):
        raise BadRequest("version must be a number, such as 1.0.0")
    return version


def _choice(request: Mapping[str, object], key: str, choices: Sequence[_T]) -> _T:
    for choice in choices:
        if request.get(key) == choice:
            return choice
    raise BadRequest(f"{key} must be one of {', '.join(choices)}")


def _object(request: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = request.get(key)
    if value is not None and not isinstance(value, dict):
        raise BadRequest(f"{key} must be an object")
    return cast("Mapping[str, object]", value or {})


def _paths(value: object) -> tuple[str, ...]:
    if value is not None and not isinstance(value, list):
        raise BadRequest("roots must be a list")
    return tuple(_path(root, "roots") for root in cast("list[object]", value or []))


def _umask(value: object) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_UMASK:
        raise BadRequest(f"umask must be a number from 0 to {MAX_UMASK}")
    return value


def _path(value: object, key: str) -> str:
    if not isinstance(value, str) or not value.startswith("/") or "\0" in value:
        raise BadRequest(f"{key} must be an absolute path")
    return value
