"""Lets the fork server (`support/fork_server.py`) start `python -m fileops`: a tenth of the time of a real start.

`install` puts it below `subprocess.Popen` and `os.execve` of this process. What starts the program, or the daemon of
`support/seam_daemon.py`, notices no difference: the process is a child of this one, with its own number, descriptors,
signals and environment. A start that the server cannot repeat exactly is a real one: other arguments of the
interpreter, other variables that it reads, other limits, users or namespaces, inherited descriptors, functions to call
before. So is every start of a test that is marked `real_start`, and with FILEOPS_TEST_PROCESSES=1 or under measurement
of coverage every start at all.
"""

import array
import atexit
import ctypes
import inspect
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.ending import IS_MEASURED
from support.fork_server import MAX_FDS, PADDING

SEAM = str(Path(__file__).with_name("seam_daemon.py"))
PROGRAM = Path(__file__).with_name("fork_server.py")
OF_INTERPRETER = ("PYTHON", "LC_", "LD_", "LANG", "MALLOC_", "COVERAGE_", "GLIBC_")  # read once, at a start
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def is_wanted() -> bool:
    return sys.platform == "linux" and os.environ.get("FILEOPS_TEST_PROCESSES") != "1" and not IS_MEASURED


class _Server:
    """The server of this process. `is_off`: for a test that wants real starts."""

    def __init__(self) -> None:
        self.is_off = False
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._address: str | None = None
        self._interpreter: dict[str, str] = {}
        self._surroundings: object = None

    def meet(self, address: str) -> None:
        """Use the server at this address, which has the environment of this process."""
        self._address = address
        self._interpreter = _of_interpreter(os.environ)
        self._surroundings = surroundings()

    def end(self) -> None:
        if self._process is not None and os.getpid() == self._owner:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            self._process.stdout.close()
            self._process.wait()

    def start_child(
        self, argv: Sequence[str], environ: Mapping[str, str], cwd: str, fds: Mapping[int, int], *, is_leader: bool
    ) -> int | None:
        """Start a child of this process. Returns its number, None if it has to be a real start."""
        if self.is_off or os.getpid() != self._owner or not _is_program(argv):
            return None
        with self._lock:
            self._ensure_running()
            if not self._can_repeat(environ):
                return None
            # The server forks twice, and the second process comes to the next subreaper above it.
            _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
            try:
                return self._ask(argv, environ, cwd, fds, is_leader=is_leader)
            finally:
                _libc.prctl(_PR_SET_CHILD_SUBREAPER, 0)

    def execute(self, argv: Sequence[str], environ: Mapping[str, str]) -> bool:
        """Start a process in place of this one, which ends. Returns False if it has to be a real start."""
        if self.is_off or self._address is None or not _is_program(argv) or not self._can_repeat(environ):
            return False
        fds = {fd: fd for fd in map(int, os.listdir("/proc/self/fd")) if _is_inherited(fd)}
        if len(fds) > MAX_FDS:
            return False
        self._ask(argv, environ, os.getcwd(), fds, is_detached=True)
        return True

    def _ensure_running(self) -> None:
        if self._address is not None:
            return
        self._folder = tempfile.TemporaryDirectory(prefix="fileops-fork-")
        address = os.path.join(self._folder.name, "s")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(address)
            listening.listen(64)
            command = [sys.executable, "-P", str(PROGRAM), str(listening.fileno()), "-" * PADDING]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[listening.fileno()], cwd="/"
            )
        atexit.register(self.end)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"
        self.meet(address)

    def _can_repeat(self, environ: Mapping[str, str]) -> bool:
        return _of_interpreter(environ) == self._interpreter and surroundings() == self._surroundings

    def _ask(
        self,
        argv: Sequence[str],
        environ: Mapping[str, str],
        cwd: str,
        fds: Mapping[int, int],
        *,
        is_leader: bool = False,
        is_detached: bool = False,
    ) -> int:
        assert self._address is not None
        asked = {
            "argv": list(argv), "environ": dict(environ), "cwd": cwd, "umask": _umask(), "numbers": list(fds),
            "is_leader": is_leader, "is_detached": is_detached, "pid": os.getpid(),
        }  # fmt: skip
        data = json.dumps(asked).encode("ascii") + b"\n"
        with socket.socket(socket.AF_UNIX) as channel:
            channel.connect(self._address)
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds.values()))]
            sent = channel.sendmsg([data], rights)
            if sent < len(data):
                channel.sendall(data[sent:])
            with channel.makefile("rb") as answer:
                return int(answer.readline())


def install() -> None:
    """Start the program through the server from here on, in this process and in those that the server forks."""
    if not is_wanted():
        return
    popen: Any = subprocess.Popen  # the method is private: the same from Python 3.11 to 3.14
    real_start = popen._execute_child
    signature = inspect.signature(real_start)

    def start(self: Any, *given: Any) -> None:
        named = signature.bind(self, *given).arguments
        pid = _start_child(named)
        if pid is None:
            real_start(self, *given)
            return
        self.pid = pid
        self._child_created = True
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(named[name] for name in pipes))

    popen._execute_child = start
    install_exec()


def install_exec() -> None:
    """Let a process that becomes the program by exec be one that the server forks; its own number ends."""
    real_exec = os.execve

    def execute(path: Any, argv: Any, env: Any) -> None:
        if path == sys.executable and SERVER.execute(argv, env):
            os._exit(0)
        real_exec(path, argv, env)

    os.execve = execute


def _start_child(named: dict[str, Any]) -> int | None:
    """named: arguments of `Popen._execute_child`."""
    is_plain = (
        named["close_fds"] and named["restore_signals"] and named["executable"] is None and named["umask"] == -1
        and not (named["preexec_fn"] or named["pass_fds"] or named["shell"])
        and all(named[name] is None for name in ("gid", "gids", "uid"))
        and named.get("process_group", -1) in {-1, None}
    )  # fmt: skip
    if not is_plain or isinstance(named["args"], str | bytes | os.PathLike):
        return None
    cwd = os.getcwd() if named["cwd"] is None else os.path.abspath(os.fsdecode(named["cwd"]))
    if not os.access(cwd, os.X_OK):
        return None
    standard = {0: named["p2cread"], 1: named["c2pwrite"], 2: named["errwrite"]}
    fds = {number: number if fd == -1 else fd for number, fd in standard.items()}
    environ = os.environ if named["env"] is None else named["env"]
    if not all(isinstance(part, str) for item in environ.items() for part in item):
        return None
    argv = [os.fsdecode(word) for word in named["args"]]
    return SERVER.start_child(argv, environ, cwd, fds, is_leader=named["start_new_session"])


def _is_program(argv: Sequence[str]) -> bool:
    words = [word for word in argv[1:2] if word != "-P"] + list(argv[2:])
    return argv[0] == sys.executable and (words[:2] == ["-m", "fileops"] or words[:1] == [SEAM])


def _is_inherited(fd: int) -> bool:
    try:
        return os.get_inheritable(fd)
    except OSError:  # that of the listing
        return False


def _of_interpreter(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name.startswith(OF_INTERPRETER)}


def surroundings() -> object:
    """What a process hands on to those it starts, besides what the server is told."""
    assert sys.platform == "linux"  # see `is_wanted`
    namespaces = [os.readlink(f"/proc/self/ns/{name}") for name in NAMESPACES]
    users = [os.getresuid(), os.getresgid(), sorted(os.getgroups())]
    limits = [resource.getrlimit(limit) for limit in LIMITS]
    return [namespaces, users, limits, os.readlink("/proc/self/root"), _signals(), os.getpriority(0, 0)]


def _signals() -> tuple[int, str]:
    """Signals that a new process ignores or blocks, without those that the interpreter ignores at each start."""
    of_interpreter = 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1
    return int(_status("SigIgn"), 16) & ~of_interpreter, _status("SigBlk")


def _umask() -> int:
    return int(_status("Umask"), 8)


def _status(name: str) -> str:
    with open("/proc/thread-self/status", encoding="utf-8", errors="replace") as file:
        return next(line.split()[1] for line in file if line.startswith(f"{name}:"))


SERVER = _Server()
