"""The commands `--shared` and `attach`: connect a client on stdin and stdout to the shared daemon."""

import os
import socket
import sys
from collections.abc import Mapping, Sequence

from fileops import __version__
from fileops.attach.address import Address, AttachRefused, find_address
from fileops.attach.handshake import (
    HOST_MARKERS,
    AttachRequest,
    Protocol,
    Role,
    attach_line,
    control_line,
    hints_of,
    host_of,
)
from fileops.attach.pump import STDIN, STDOUT, Bytes, Pump
from fileops.attach.starter import Attached, DaemonLost, NotAttached, ask, attach, is_responsive

LOST = 1  # exit status, after which an editor restarts its server
STOPPED = 0  # exit status, after which an editor waits for the next daemon
OUTCOME_S = 5.0  # an ending daemon may be busy
_NO_PROGRAM = {
    "sh",
    "bash",
    "dash",
    "zsh",
    "fish",
    "env",
    "node",
    "python",
    "python3",
    "bun",
    "uv",
    "uvx",
    "npx",
    "ssh",
}


def attachment_here(
    protocol: Protocol,
    role: Role,
    host: str | None = None,
    *,
    roots: Sequence[str] = (),
    session: str | None = None,
    options: Mapping[str, object] | None = None,
) -> AttachRequest:
    """Describe this process. Args: host: the name of the agent's or editor's program; None to find it out."""
    return AttachRequest(
        version=__version__,
        protocol=protocol,
        role=role,
        host=host_of(host or _host(role)),
        cwd=_working_folder(),
        roots=tuple(roots),
        session=session,
        hints=hints_of(os.environ),
        options=options or {},
        pid=os.getpid(),
        umask=_umask(),
    )


def serve_attached(attachment: AttachRequest, socket_path: str | None) -> int:
    """Serve LSP on stdin and stdout; return the exit status. Raises: NotAttached; nothing has been read then."""
    try:
        address, attached = _attach(attachment, socket_path)
    except AttachRefused as refused:
        say(str(refused))
        return LOST
    try:
        return Pump(attached.connection, Bytes(), lambda: _is_responsive(address)).run()
    except DaemonLost:
        status = _outcome(address, attached.answer.connection)  # the daemon runs until the connection is closed
        attached.connection.close()
        if status is not None:
            return status
        # Only a daemon that ends in order removes both. The next one replaces them; the socket is missing for a moment.
        if not os.path.lexists(address.socket) and not os.path.lexists(address.record):
            return STOPPED
        say("The shared daemon is gone.")
        return LOST


def serve_mcp_attached(attachment: AttachRequest, socket_path: str | None) -> int:
    """Serve MCP on stdin and stdout; return the exit status. Raises: NotAttached; nothing has been read then."""
    from fileops.attach.mcp_pump import McpTraffic

    def attach_again() -> socket.socket:
        try:
            return _attach(attachment, socket_path)[1].connection
        except AttachRefused as refused:
            say(str(refused))
            raise DaemonLost from None
        except NotAttached as reason:
            say(f"{reason} This session began with another daemon and cannot be served privately now.")
            raise DaemonLost from None

    try:
        address, attached = _attach(attachment, socket_path)
    except AttachRefused as refused:
        say(str(refused))
        return LOST
    try:
        return Pump(attached.connection, McpTraffic(attach_again), lambda: _is_responsive(address)).run()
    except DaemonLost:
        say("The shared daemon is gone. Start this server again from the agent's host, or start the host again.")
        return LOST


def _attach(attachment: AttachRequest, socket_path: str | None) -> tuple[Address, Attached]:
    """Attach, and start a daemon if none runs. Raises: AttachRefused, NotAttached."""
    for fd, name in ((STDIN, "stdin"), (STDOUT, "stdout")):
        try:
            os.fstat(fd)
        except OSError:
            raise AttachRefused(f"{name} was closed at the start.") from None
    address = find_address(socket_path, os.environ)
    attached = attach(address, attach_line(attachment), input_fd=STDIN)
    if attached.answer.is_ok:
        return address, attached
    attached.connection.close()
    if attached.answer.reason in {"bad", "uid"}:
        raise AttachRefused(attached.answer.message)
    raise NotAttached(attached.answer.message)


def say(sentence: str) -> None:
    sys.stderr.write(f"fileops-server: {sentence}\n")


def _is_responsive(address: Address) -> bool:
    """Return whether the daemon answers after its client's end; if not, say so."""
    try:
        if is_responsive(address):
            return True
    except AttachRefused as refused:
        say(str(refused))
        return False
    say(
        "The shared daemon does not answer, so its last answers are lost. `fileops-server status --stop --now` ends it."
    )
    return False


def _outcome(address: Address, connection: str) -> int | None:
    """Return the connection's exit status if the daemon ended it properly; None if the daemon is gone."""
    try:
        attached = ask(address, control_line("outcome", connection=connection), OUTCOME_S)
    except (AttachRefused, NotAttached):
        return None
    if attached is None:
        return None
    attached.connection.close()
    status = attached.answer.fields.get("status")
    return status if isinstance(status, int) else None


def _umask() -> int:
    """Return this process's umask, which can only be read by setting it. No other thread runs yet."""
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def _working_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # it was removed
        return "/"


def _host(role: Role) -> str:
    """Return the program that this process serves: the agent that the environment names, or the parent process."""
    for variable, host in HOST_MARKERS.items():
        if os.environ.get(variable):
            return host
    try:
        with open(f"/proc/{os.getppid()}/comm", encoding="utf-8", errors="replace") as comm:
            program = comm.read().strip()
    except OSError:
        program = ""
    return role if program in _NO_PROGRAM or not program else program
