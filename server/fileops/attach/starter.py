"""Connects with the shared daemon, and starts one if none runs.

The starter makes the listening socket and hands it to the daemon, so the next client connects at once and waits in the
kernel's queue. A lock beside the socket lets one starter at a time do so: fifty of them make one daemon.
"""

import errno
import fcntl
import os
import socket
import stat
import struct
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from fileops.attach.address import Address, AddressRefused, require_private_folder
from fileops.attach.handshake import MAX_LINE_BYTES, Answer, BadRequest, parse_answer

LISTENING = 3  # SD_LISTEN_FDS_START: the descriptor at which a daemon inherits its socket
BACKLOG = 256  # starters that wait for the daemon's first turn
LOCK_S = 10.0  # for another starter; it holds the lock until its daemon answers
ANSWER_S = 60.0  # hosts give up earlier, and a daemon on a busy machine is slow to start
ENDING_S = 20.0  # for a daemon that is ending: it finishes commits, and waits for disks, for up to 12 s
ATTEMPTS = 5  # a daemon may end while a client connects; several in a row do not
IDLE_S = 600
_PAUSE_S = 0.02
_NOBODY = {errno.ENOENT, errno.ECONNREFUSED}
_FORBIDDEN = {errno.EPERM, errno.EACCES}
_GONE = {errno.ECONNRESET, errno.EPIPE}
_ENVIRONMENT = {"HOME", "USER", "LOGNAME", "PATH", "LANG", "TZ", "XDG_STATE_HOME"}
_PREFIXES = ("LC_", "FILEOPS_", "OTEL_")


class NoDaemon(Exception):
    """None runs, and none was to be started."""


class NotAttached(Exception):
    """The message is a sentence that says why, and what to do."""


class StartFailed(NotAttached):
    """There is no daemon, and none could be started."""


class DaemonSilent(NotAttached):
    """There is a daemon, and it does not answer."""


class Forbidden(NotAttached):
    """The system forbids this process to reach the daemon. Sandboxes do."""


class _Gone(Exception):
    """The daemon closed the connection before it answered."""


class Attached(NamedTuple):
    """A connection. answer: may be a refusal. n_bytes after the daemon's line are still in the socket."""

    connection: socket.socket
    answer: Answer


def attach(address: Address, line: bytes, *, idle_s: float = IDLE_S, options: Sequence[str] = ()) -> Attached:
    """Connect and send the first line; start a daemon if none runs. Raises: AddressRefused, NotAttached."""
    require_private_folder(address.folder, create=True)
    ending_until = time.monotonic() + ENDING_S
    for _ in range(ATTEMPTS):
        try:
            attached = _attach(address, line, idle_s, options)
            while attached.answer.ends_soon and time.monotonic() < ending_until:
                attached.connection.close()
                time.sleep(_PAUSE_S)
                attached = _attach(address, line, idle_s, options)
        except _Gone:
            continue
        return attached
    raise StartFailed(
        f"The shared daemon ended {ATTEMPTS} times before it answered. Its log is {log_path(os.environ, address.stem)}."
    )


def ask(address: Address, line: bytes, timeout_s: float) -> Attached:
    """Connect and send the first line, without starting anything. Raises: AddressRefused, NoDaemon, NotAttached."""
    require_private_folder(address.folder, create=False)
    deadline = time.monotonic() + timeout_s
    for _ in range(ATTEMPTS):
        connection = connected(address, max(deadline - time.monotonic(), _PAUSE_S))
        if connection is None:
            break
        try:
            return _greeted(connection, line, max(deadline - time.monotonic(), _PAUSE_S))
        except _Gone:
            continue
    raise NoDaemon


def is_served(address: Address) -> bool:
    """Whether a daemon listens. Raises: AddressRefused."""
    connection = connected(address, 1.0)
    if connection is not None:
        connection.close()
    return connection is not None


def log_path(environ: Mapping[str, str], stem: str) -> str:
    """Where a daemon writes its log if it was started by a client."""
    base = environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "fileops-server", f"{stem}.log")


# --- connecting ---------------------------------------------------------------------------------------------------


def _attach(address: Address, line: bytes, idle_s: float, options: Sequence[str]) -> Attached:
    """Raises: _Gone, NotAttached, AddressRefused."""
    deadline = time.monotonic() + LOCK_S
    while (connection := connected(address, ANSWER_S)) is None:
        with try_lock(address) as is_locked:
            if is_locked:
                if (connection := connected(address, ANSWER_S)) is not None:
                    break
                return _started(address, line, idle_s, options)
        if time.monotonic() > deadline:
            raise StartFailed(f"Another program has been starting the shared daemon for {LOCK_S:g} s. Try again.")
        time.sleep(_PAUSE_S)
    return _greeted(connection, line, ANSWER_S)


def _started(address: Address, line: bytes, idle_s: float, options: Sequence[str]) -> Attached:
    """Start a daemon, and return when it has answered. The lock is held."""
    with listening_socket(address) as listening:
        spawn_daemon(listening, address, idle_s, options)
    connection = connected(address, ANSWER_S)
    try:
        if connection is not None:
            return _greeted(connection, line, ANSWER_S)
    except _Gone:
        pass
    raise StartFailed(f"The shared daemon could not be started. Its log is {log_path(os.environ, address.stem)}.")


def connected(address: Address, timeout_s: float) -> socket.socket | None:
    """Connect; None if no process listens. Raises: AddressRefused, NotAttached."""
    try:
        status = os.lstat(address.socket)
    except FileNotFoundError:
        return None
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.geteuid():
        raise AddressRefused(f"{address.socket} is not a socket of this user. Remove it, or name another socket.")
    connection, micros = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), int(timeout_s * 1e6)
    # Not settimeout: a socket that does not block fails at once while the daemon's queue is full.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", *divmod(micros, 10**6)))
    try:
        connection.connect(address.socket)
    except OSError as error:
        connection.close()
        if error.errno in _NOBODY:
            return None
        if error.errno == errno.EAGAIN:
            raise DaemonSilent(_silent(timeout_s)) from None
        if error.errno in _FORBIDDEN:
            raise Forbidden(f"{address.socket} cannot be connected: {error.strerror}.") from None
        raise AddressRefused(f"{address.socket} cannot be connected: {error.strerror}.") from None
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 0))
    return connection


def _greeted(connection: socket.socket, line: bytes, timeout_s: float) -> Attached:
    """Exchange the first lines. Raises: _Gone, NotAttached."""
    try:
        connection.settimeout(timeout_s)
        connection.sendall(line)
        answer = parse_answer(_received_line(connection))
        connection.settimeout(None)
    except TimeoutError:
        connection.close()
        raise DaemonSilent(_silent(timeout_s)) from None
    except BadRequest as error:
        connection.close()
        raise StartFailed(f"What listens at the shared daemon's socket is none: {error}.") from None
    except OSError as error:
        connection.close()
        if error.errno in _GONE:
            raise _Gone from None
        raise
    except _Gone:
        connection.close()
        raise
    return Attached(connection, answer)


def _received_line(connection: socket.socket) -> bytes:
    """The daemon's line. What follows it stays in the socket: it belongs to the protocol. Raises: _Gone."""
    line = b""
    while not line.endswith(b"\n") and len(line) <= MAX_LINE_BYTES:
        seen = connection.recv(MAX_LINE_BYTES, socket.MSG_PEEK)
        if not seen:
            raise _Gone
        line += connection.recv(seen.find(b"\n") + 1 or len(seen))
    return line


def _silent(timeout_s: float) -> str:
    return f"The shared daemon did not answer within {round(timeout_s, 1):g} s. `fileops-server stop --now` ends it."


# --- starting -----------------------------------------------------------------------------------------------------


@contextmanager
def try_lock(address: Address) -> Generator[bool]:
    """Try to hold the lock that guards the socket's name. Raises: AddressRefused."""
    try:
        fd = os.open(address.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise AddressRefused(f"{address.lock} could not be opened: {error.strerror}. Name another socket.") from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(fd)


def listening_socket(address: Address) -> socket.socket:
    """Make the socket, in place of one at which no process listens. The lock is held. Raises: AddressRefused."""
    with suppress(FileNotFoundError):
        os.unlink(address.socket)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    umask = os.umask(0o177)
    try:
        listening.bind(address.socket)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise AddressRefused(f"{address.socket} could not be made: {error.strerror}. Name another socket.") from None
    finally:
        os.umask(umask)
    return listening


def spawn_daemon(listening: socket.socket, address: Address, idle_s: float, options: Sequence[str] = ()) -> None:
    """Start a daemon that is no child of this process: it has its own session, and nothing of the host's.

    Whether it starts is known when it answers.
    """
    import signal

    log, path = _open_log(log_path(os.environ, address.stem))
    command = [
        sys.executable, "-P", "-m", "fileops", "--log-level", "info", "--log-file", path,
        "daemon", "--detached", "--socket", address.socket, "--idle-s", f"{idle_s:g}", *options,
    ]  # fmt: skip
    child = os.fork()
    if child != 0:
        os.waitpid(child, 0)
        os.close(log)
        return
    try:  # nothing of the parent's Python may run after this, also after an error
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        os.chdir("/")
        null = os.open(os.devnull, os.O_RDONLY)
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (null, log, log, listening.fileno())]
        for target, fd in enumerate(high):
            os.dup2(fd, target)
        os.closerange(LISTENING + 1, os.sysconf("SC_OPEN_MAX"))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execve(sys.executable, command, _daemon_environment())
    except BaseException as fault:  # noqa: BLE001 - the process must end here
        os.write(2, f"fileops-server: the daemon could not be started: {fault}\n".encode(errors="replace"))
    finally:
        os._exit(127)


def _daemon_environment() -> dict[str, str]:
    """Nothing that a host put into its environment reaches the daemon, which outlives it and serves others."""
    kept = {name: value for name, value in os.environ.items() if name in _ENVIRONMENT or name.startswith(_PREFIXES)}
    return {**kept, "LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}


def _open_log(path: str) -> tuple[int, str]:
    """Open the log, or /dev/null where none can be written: the daemon is worth more than its log."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        return os.open(path, flags, 0o600), path
    except OSError:
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), os.devnull
