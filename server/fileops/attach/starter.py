"""Connects to the shared daemon, and starts one if none runs.

The starter creates the listening socket and hands it to the daemon, so the next client connects at once and waits in
the kernel's queue. A lock beside the socket admits one starter at a time, so fifty of them start one daemon.
"""

import errno
import os
import select
import socket
import stat
import struct
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import NamedTuple

from fileops.attach.address import Address, AttachRefused, require_private_folder
from fileops.attach.handshake import MAX_ANSWER_BYTES, BadRequest, DaemonAnswer, control_line, parse_answer

LISTENING = 3  # SD_LISTEN_FDS_START: the descriptor of the daemon's inherited socket
BACKLOG = 256  # starters that wait for the daemon's first turn
LOCK_S = 10.0  # for another starter; it holds the lock until its daemon answers
ANSWER_S = 2.0  # for an idle daemon; one that works answers within milliseconds
_CHUNK_BYTES = 64 << 10
ENDING_S = 5.0  # for a busy daemon, after the end of its client
ATTACH_S = 20.0  # for one that starts, is busy, or ends: disks may take up to 12 s
ATTEMPTS = 5  # a daemon may end while a client connects; several in a row do not
IDLE_S = 600
END_OF_INPUT = getattr(select, "POLLRDHUP", 0)  # of a socket; a pipe's is POLLHUP, which is always reported
_PAUSE_S = 0.02
_NOBODY = {errno.ENOENT, errno.ECONNREFUSED}
_FORBIDDEN = {errno.EPERM, errno.EACCES}
_GONE = {errno.ECONNRESET, errno.EPIPE}
_ENVIRONMENT = {"HOME", "USER", "LOGNAME", "PATH", "LANG", "TZ", "XDG_STATE_HOME"}
_PREFIXES = ("LC_", "FILEOPS_", "OTEL_")


class NotAttached(Exception):
    """No daemon serves the client, so this process has to serve it alone.

    No daemon could be started, the running one is silent or refuses, or the system forbids reaching it, as sandboxes
    do. The message says why, and what to do.
    """


class DaemonLost(Exception):
    """The daemon closed the connection before the client did."""


class Attached(NamedTuple):
    """A connection. answer: may be a refusal. n_bytes after the daemon's line are still in the socket."""

    connection: socket.socket
    answer: DaemonAnswer


def attach(
    address: Address,
    line: bytes,
    *,
    idle_s: float = IDLE_S,
    options: Sequence[str] = (),
    input_fd: int | None = None,
    within_s: float = ATTACH_S,
) -> Attached:
    """Connect and send the first line; start a daemon if none runs. Raises: AttachRefused, NotAttached.

    Args: idle_s, options: for a daemon that is started. input_fd: the client's; its end ends the attempt. within_s: the
    limit for a daemon that starts, is busy or is ending. An idle one has ANSWER_S.
    """
    require_private_folder(address.folder, create=True)
    patience = _Patience(address, within_s, input_fd)
    for _ in range(ATTEMPTS):
        try:
            attached = _attach(address, line, idle_s, options, patience)
            while attached.answer.ends_soon and not patience.is_over:
                attached.connection.close()
                patience.pause()
                attached = _attach(address, line, idle_s, options, patience)
        except DaemonLost:
            continue
        return attached
    raise NotAttached(
        f"The shared daemon ended {ATTEMPTS} times before it answered. Its log is {log_path(os.environ, address.stem)}."
    )


def ask(address: Address, line: bytes, timeout_s: float) -> Attached | None:
    """Connect and send the first line; return None if no daemon runs. Raises: AttachRefused, NotAttached."""
    require_private_folder(address.folder, create=False)
    deadline = time.monotonic() + timeout_s
    for _ in range(ATTEMPTS):
        connection = connect(address, max(deadline - time.monotonic(), _PAUSE_S))
        if connection is None:
            break
        try:
            remaining_s = max(deadline - time.monotonic(), _PAUSE_S)
            return _greet(connection, line, partial(_wait_readable, timeout_s=remaining_s))
        except DaemonLost:
            continue
    return None


def is_responsive(address: Address) -> bool:
    """Return whether a daemon answers. Blocks for at most ENDING_S. Raises: AttachRefused."""
    try:
        connection = connect(address, ANSWER_S)
        if connection is None:
            return False
        patience = _Patience(address, ENDING_S, None)
        _greet(connection, control_line("status"), patience.wait_readable).connection.close()
    except (DaemonLost, NotAttached):
        return False
    return True


def is_served(address: Address) -> bool:
    """Return whether a daemon listens. Raises: AttachRefused."""
    connection = connect(address, 1.0)
    if connection is not None:
        connection.close()
    return connection is not None


def log_path(environ: Mapping[str, str], stem: str) -> str:
    """Return where a daemon writes its log if a client started it."""
    base = environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "fileops-server", f"{stem}.log")


def start_in_background(address: Address, idle_s: float = IDLE_S) -> None:
    """Start a daemon if none listens, and wait for nothing. Raises: AttachRefused, NotAttached."""
    require_private_folder(address.folder, create=True)
    if is_served(address):
        return
    with try_lock(address) as is_locked:
        if is_locked and not is_served(address):
            with create_socket(address) as listening:
                spawn_daemon(listening, address, idle_s)


# --- connecting ---------------------------------------------------------------------------------------------------


def _attach(address: Address, line: bytes, idle_s: float, options: Sequence[str], patience: "_Patience") -> Attached:
    """Raises: DaemonLost, NotAttached, AttachRefused."""
    deadline = time.monotonic() + LOCK_S
    while (connection := connect(address, ANSWER_S)) is None:
        with try_lock(address) as is_locked:
            if is_locked:
                if (connection := connect(address, ANSWER_S)) is not None:
                    break
                return _start(address, line, idle_s, options, patience)
        if time.monotonic() > deadline:
            raise NotAttached(f"Another program has been starting the shared daemon for {LOCK_S:g} s. Try again.")
        patience.pause()
    return _greet(connection, line, patience.wait_readable)


def _start(address: Address, line: bytes, idle_s: float, options: Sequence[str], patience: "_Patience") -> Attached:
    """Start a daemon, and return when it has answered. The lock is held."""
    with create_socket(address) as listening:
        spawn_daemon(listening, address, idle_s, options)
    connection = connect(address, ANSWER_S)
    try:
        if connection is not None:
            return _greet(connection, line, patience.wait_readable)
    except DaemonLost:
        pass
    raise NotAttached(f"The shared daemon could not be started. Its log is {log_path(os.environ, address.stem)}.")


def connect(address: Address, timeout_s: float) -> socket.socket | None:
    """Connect; None if no process listens. Raises: AttachRefused, NotAttached."""
    try:
        status = os.lstat(address.socket)
    except FileNotFoundError:
        return None
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.geteuid():
        raise AttachRefused(f"{address.socket} is not a socket of this user. Remove it, or name another socket.")
    connection, micros = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), int(timeout_s * 1e6)
    # Not settimeout: a non-blocking socket fails at once while the daemon's queue is full.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", *divmod(micros, 10**6)))
    try:
        connection.connect(address.socket)
    except OSError as error:
        connection.close()
        if error.errno in _NOBODY:
            return None
        if error.errno == errno.EAGAIN:
            raise NotAttached(_silent(timeout_s)) from None
        if error.errno in _FORBIDDEN:
            raise NotAttached(f"{address.socket} cannot be connected: {error.strerror}.") from None
        raise AttachRefused(f"{address.socket} cannot be connected: {error.strerror}.") from None
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 0))
    return connection


def _greet(connection: socket.socket, line: bytes, wait_readable: Callable[[socket.socket], None]) -> Attached:
    """Exchange the first lines; the connection is closed if that fails. Raises: DaemonLost, NotAttached."""
    with ExitStack() as on_failure:
        on_failure.callback(connection.close)
        try:
            connection.settimeout(ANSWER_S)  # the first line fits into the socket's buffer
            connection.sendall(line)
            answer = parse_answer(_receive_line(connection, wait_readable))
            connection.settimeout(None)
        except BadRequest as error:
            raise NotAttached(f"What listens at the shared daemon's socket is not one: {error}.") from None
        except TimeoutError:
            raise NotAttached(_silent(ANSWER_S)) from None
        except OSError as error:
            if error.errno in _GONE:
                raise DaemonLost from None
            raise
        on_failure.pop_all()
    return Attached(connection, answer)


def _receive_line(connection: socket.socket, wait_readable: Callable[[socket.socket], None]) -> bytes:
    """Receive the daemon's line. What follows it stays in the socket. Raises: DaemonLost, NotAttached."""
    line = bytearray()
    while not line.endswith(b"\n") and len(line) <= MAX_ANSWER_BYTES:
        wait_readable(connection)
        seen = connection.recv(_CHUNK_BYTES, socket.MSG_PEEK)
        if not seen:
            raise DaemonLost
        line += connection.recv(seen.find(b"\n") + 1 or len(seen))
    return bytes(line)


def _wait_readable(connection: socket.socket, timeout_s: float) -> None:
    """Raises: NotAttached."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    if not poll.poll(timeout_s * 1000):
        raise NotAttached(_silent(timeout_s))


def _silent(timeout_s: float) -> str:
    within = f"{round(timeout_s, 1):g} s"
    return f"The shared daemon did not answer within {within}. `fileops-server status --stop --now` ends it."


# --- patience -----------------------------------------------------------------------------------------------------


class _Patience:
    """Limits the wait for a daemon: ANSWER_S if it is idle, longer if it works; the end of the client's input ends it.

    A daemon that hangs must not take its clients with it, and one on a busy machine must not lose them: two clients
    that are served apart do not see each other's unsaved text. A daemon works if its process has used the processor
    since then or waits for it, or if another program holds the lock under which daemons start and end.
    """

    def __init__(self, address: Address, within_s: float, input_fd: int | None) -> None:
        self._address = address
        self._until = time.monotonic() + within_s
        self._poll = select.poll()
        self._input_fd = input_fd
        if input_fd is not None:
            self._poll.register(input_fd, END_OF_INPUT)

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._until

    def pause(self) -> None:
        """Raises: NotAttached, if the client's input has ended."""
        self._poll_until(time.monotonic() + _PAUSE_S)

    def wait_readable(self, connection: socket.socket) -> None:
        """Wait for the daemon's line. Raises: NotAttached."""
        granted_s = 0.0  # as shown to the user; a busy machine may wait longer
        self._poll.register(connection, select.POLLIN)
        try:
            pid = listening_pid(connection)
            ticks = _processor_ticks(pid)
            while True:
                now = time.monotonic()
                deadline = min(now + ANSWER_S, self._until)
                if self._poll_until(deadline):
                    break
                granted_s += max(0.0, deadline - now)
                pid = self._listening_now() or pid
                ticks_before, ticks = ticks, _processor_ticks(pid)
                is_working = ticks != ticks_before or _waits_for_machine(pid) or self._is_locked()
                if not is_working or self.is_over:
                    raise NotAttached(_silent(granted_s))
        finally:
            self._poll.unregister(connection)

    def _poll_until(self, deadline: float) -> bool:
        """Return whether the daemon has sent something. Raises: NotAttached, if the client's input has ended."""
        while True:
            events = dict(self._poll.poll(max(0.0, deadline - time.monotonic()) * 1000))
            if self._input_fd is None or self._input_fd not in events:
                return bool(events)
            if not n_readable_bytes(self._input_fd):
                raise NotAttached("The client ended its input before the shared daemon answered.")
            # What the client wrote before its end, as in `printf … | fileops-server mcp`, is still served.
            self._poll.unregister(self._input_fd)
            self._input_fd = None
            self._until = min(self._until, time.monotonic() + ANSWER_S)
            deadline = min(deadline, self._until)

    def _listening_now(self) -> int | None:
        """Return the process that listens, or None.

        A connection that was made before the daemon ran leads to the daemon, but the kernel names its starter.
        """
        try:
            connection = connect(self._address, _PAUSE_S)
        except (AttachRefused, NotAttached):  # the caller waits, so there is a daemon, and its queue is full
            return None
        if connection is None:
            return None
        with connection:
            return listening_pid(connection)

    def _is_locked(self) -> bool:
        with try_lock(self._address) as is_ours:
            return not is_ours


def n_readable_bytes(fd: int) -> int:
    """Return how many bytes can be read from a pipe, a socket or a terminal; 0 for others."""
    import fcntl  # a hook, for which a host waits, needs neither
    import termios

    try:
        return struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))[0]
    except OSError:
        return 0


def _processor_ticks(pid: int | None) -> tuple[str, str] | None:
    """Return the processor time that the process has used, in user and system mode; None if unknown."""
    stat_fields = _stat_fields(f"/proc/{pid}/stat")
    return None if stat_fields is None else (stat_fields[11], stat_fields[12])


def _waits_for_machine(pid: int | None) -> bool:
    """Return whether a thread of the process waits for the processor or for a disk; others may wait for that thread."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return False
    found = (_stat_fields(f"/proc/{pid}/task/{thread}/stat") for thread in threads)
    return any(stat_fields is not None and stat_fields[0] in {"R", "D"} for stat_fields in found)


def _stat_fields(path: str) -> list[str] | None:
    """Return the fields of a /proc/PID/stat from `state` on, see proc(5); None if it cannot be read."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return None


def listening_pid(connection: socket.socket) -> int | None:
    """Return the process that listens, as the kernel knows it, since a daemon that hangs cannot say so; or None."""
    if sys.platform == "linux":
        pid, _uid, _gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return pid
    return None


# --- starting -----------------------------------------------------------------------------------------------------


@contextmanager
def try_lock(address: Address) -> Generator[bool]:
    """Try to take the lock that guards the socket's name. Raises: AttachRefused."""
    import fcntl

    try:
        fd = os.open(address.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise AttachRefused(f"{address.lock} could not be opened: {error.strerror}. Name another socket.") from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(fd)


def create_socket(address: Address) -> socket.socket:
    """Create the socket, replacing one at which no process listens. The lock is held. Raises: AttachRefused."""
    with suppress(FileNotFoundError):
        os.unlink(address.socket)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    umask = os.umask(0o177)
    try:
        listening.bind(address.socket)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise AttachRefused(f"{address.socket} could not be made: {error.strerror}. Name another socket.") from None
    finally:
        os.umask(umask)
    return listening


def spawn_daemon(listening: socket.socket, address: Address, idle_s: float, options: Sequence[str] = ()) -> None:
    """Start a daemon as no child of this process: it has its own session, and inherits nothing of the host's.

    Whether it started is known when it answers.
    """
    import signal

    log, path = _open_log(log_path(os.environ, address.stem))
    command = [
        sys.executable,
        "-P",
        "-m",
        "fileops",
        "--log-level",
        "info",
        "--log-file",
        path,
        "daemon",
        "--detached",
        "--socket",
        address.socket,
        "--idle-s",
        f"{idle_s:g}",
        *options,
    ]
    import fcntl

    child = os.fork()
    if child != 0:
        os.waitpid(child, 0)
        os.close(log)
        return
    try:  # from here on none of the parent's Python may run, even on errors
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
    """Return the daemon's environment: no variables of the host's own, since the daemon outlives it."""
    kept = {name: value for name, value in os.environ.items() if name in _ENVIRONMENT or name.startswith(_PREFIXES)}
    if "PATH" in kept:  # relative entries would mean other folders there
        kept["PATH"] = ":".join(filter(os.path.isabs, kept["PATH"].split(":")))
    return {**kept, "LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}


def _open_log(path: str) -> tuple[int, str]:
    """Open the log, or /dev/null if that fails: the daemon matters more than its log."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        return os.open(path, flags, 0o600), path
    except OSError:
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), os.devnull
