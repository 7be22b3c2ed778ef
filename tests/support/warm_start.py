"""Lets the fork server (`support/fork_server.py`) start `python -m fileops`: a tenth of the time of a real start.

`install` puts it below `subprocess.Popen` and `os.execve` of this process. What starts the program, or one of
`SCRIPTS`, notices no difference: the process is a child of this one, with its own number, descriptors, signals and
environment. A start that the server cannot repeat exactly is a real one: other arguments of the interpreter, other
variables that it reads, other limits, users or namespaces, inherited descriptors, functions to call before. So is every
start of a test that is marked `real_start`, and with FILEOPS_TEST_PROCESSES=1 or under measurement of coverage every
start at all.
"""

import array
import ctypes
import inspect
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.ending import IS_MEASURED
from support.fork_server import MAX_FDS, PADDING

SCRIPTS = {str(Path(__file__).with_name(f"{name}.py")) for name in ("seam_daemon", "hasty_daemon")}
PROGRAM = Path(__file__).with_name("fork_server.py")
OF_INTERPRETER = ("PYTHON", "LC_", "LD_", "LANG", "MALLOC_", "GLIBC_", "FAULTS_")  # read once, at a start
MAX_SERVERS = 3
EXECUTABLE = sys.executable  # a test may set another one, which is none that the server repeats
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def is_wanted() -> bool:
    is_able = sys.platform == "linux" and os.path.isdir("/proc/self/ns")
    return is_able and os.environ.get("FILEOPS_TEST_PROCESSES") != "1" and not IS_MEASURED


Environment = Mapping[str, str]
Key = tuple[tuple[str, str], ...]


class _Server:
    """A warm process. `process` and `folder`: of one that belongs to this process."""

    def __init__(
        self,
        address: str,
        process: "subprocess.Popen[bytes] | None" = None,
        folder: "tempfile.TemporaryDirectory[str] | None" = None,
    ) -> None:
        self._address = address
        self._process = process
        self._folder = folder

    @classmethod
    def started(cls, environ: Environment) -> "_Server":
        folder = tempfile.TemporaryDirectory(prefix="fileops-fork-", ignore_cleanup_errors=True)
        address = os.path.join(folder.name, "s")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(address)
            listening.listen(64)
            process = subprocess.Popen(
                [EXECUTABLE, "-P", str(PROGRAM), str(listening.fileno()), "-" * PADDING],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=[listening.fileno()],
                cwd="/",
                env={**environ, "FILEOPS_TEST_PADDING": "-" * PADDING},
            )
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return cls(address, process, folder)

    def fork(
        self,
        argv: Sequence[str],
        environ: Environment,
        cwd: str,
        fds: Mapping[int, int],
        *,
        is_leader: bool = False,
        is_detached: bool = False,
    ) -> int:
        """Returns the number of a new process, which is this one's child if this one is a subreaper.

        Raises: OSError, ValueError (the server has ended).
        """
        asked = {
            "argv": list(argv), "environ": dict(environ), "cwd": cwd, "umask": int(_status("Umask"), 8),
            "numbers": list(fds), "is_leader": is_leader, "is_detached": is_detached, "pid": os.getpid(),
            "ignored": int(_status("SigIgn"), 16),
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

    def end(self) -> None:
        """What it has forked goes on."""
        if self._process is None or self._folder is None:
            return
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._folder.cleanup()


class _Pool:
    """The servers that this process may ask: one for each set of the variables that the interpreter reads.

    Besides the first one, a server pays only if such a set is used again: it is started with the second use.
    `is_off`: for a test that wants real starts.
    """

    def __init__(self) -> None:
        self.is_off = False
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._servers: OrderedDict[Key, _Server] = OrderedDict()  # used last: last
        self._n_used: Counter[Key] = Counter()
        self._own_key: Key = ()
        self._surroundings: object = None

    def begin(self, address: str | None = None) -> None:
        """Repeat starts from these surroundings. address: of the server that has forked this process."""
        self._surroundings = surroundings()
        self._own_key = _key_of(os.environ)
        if address is not None:
            self._servers[self._own_key] = _Server(address)

    def end(self) -> None:
        if os.getpid() == self._owner:
            while self._servers:
                self._servers.popitem()[1].end()

    def start_child(
        self, argv: Sequence[str], environ: Environment, cwd: str, fds: Mapping[int, int], *, is_leader: bool
    ) -> int | None:
        """Start a child of this process. Returns its number, None if it has to be a real start."""
        if self.is_off or os.getpid() != self._owner or not _is_program(argv) or not self._can_repeat(environ):
            return None
        with self._lock:
            server = self._server_for(environ)
            if server is None:
                return None
            # The server forks twice, and the second process comes to the next subreaper above it.
            _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
            try:
                return server.fork(argv, environ, cwd, fds, is_leader=is_leader)
            except (OSError, ValueError):  # it was killed: the next start makes another one
                self._servers.pop(_key_of(environ)).end()
                return None
            finally:
                _libc.prctl(_PR_SET_CHILD_SUBREAPER, 0)

    def execute(self, argv: Sequence[str], environ: Environment) -> bool:
        """Start a process in place of this one, which ends. Returns False if it has to be a real start."""
        server = self._servers.get(_key_of(environ))
        if self.is_off or server is None or not _is_program(argv) or not self._can_repeat(environ):
            return False
        fds = {fd: fd for fd in map(int, os.listdir("/proc/self/fd")) if _is_inherited(fd)}
        if len(fds) > MAX_FDS:
            return False
        try:
            server.fork(argv, environ, os.getcwd(), fds, is_detached=True)
        except (OSError, ValueError):  # it was killed
            return False
        return True

    def _can_repeat(self, environ: Environment) -> bool:
        return surroundings() == self._surroundings and not _has_site_module(environ)

    def _server_for(self, environ: Environment) -> _Server | None:
        key = _key_of(environ)
        self._n_used[key] += 1
        if key not in self._servers:
            if key != self._own_key and self._n_used[key] == 1:
                return None
            while len(self._servers) >= MAX_SERVERS:
                self._servers.popitem(last=False)[1].end()
            others = {name: value for name, value in os.environ.items() if not name.startswith(OF_INTERPRETER)}
            self._servers[key] = _Server.started({**others, **dict(key)})
        self._servers.move_to_end(key)
        return self._servers[key]


def install() -> None:
    """Start the program through the server from here on, in this process and in those that the server forks."""
    if not is_wanted():
        return
    POOL.begin()
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
        if path == EXECUTABLE and POOL.execute(argv, env):
            os._exit(0)
        real_exec(path, argv, env)

    os.execve = execute  # pyrefly: ignore[bad-assignment]


def _start_child(named: dict[str, Any]) -> int | None:
    """named: arguments of `Popen._execute_child`."""
    is_plain = (
        named["close_fds"] and named["restore_signals"] and named["executable"] is None and named["umask"] == -1
        and not (named["preexec_fn"] or named["pass_fds"] or named["shell"])
        and all(named[name] is None for name in ("gid", "gids", "uid"))
        and named.get("process_group", -1) in {-1, None}
    )  # fmt: skip
    words: Any = named["args"]
    if not is_plain or type(words) not in {list, tuple}:
        return None
    try:
        cwd = os.getcwd() if named["cwd"] is None else os.path.abspath(os.fsdecode(named["cwd"]))
    except FileNotFoundError:
        return None
    if not os.path.isdir(cwd) or not os.access(cwd, os.X_OK):
        return None
    standard = {0: named["p2cread"], 1: named["c2pwrite"], 2: named["errwrite"]}
    fds = {number: number if fd == -1 else fd for number, fd in standard.items()}
    environ = os.environ if named["env"] is None else named["env"]
    if not all(isinstance(part, str) for item in environ.items() for part in item):
        return None
    argv = [os.fsdecode(word) for word in words]
    return POOL.start_child(argv, environ, cwd, fds, is_leader=named["start_new_session"])


def _is_program(argv: Sequence[str]) -> bool:
    words = [word for word in argv[1:2] if word != "-P"] + list(argv[2:])
    return argv[0] == EXECUTABLE and (words[:2] == ["-m", "fileops"] or not SCRIPTS.isdisjoint(words[:1]))


def _is_inherited(fd: int) -> bool:
    try:
        return os.get_inheritable(fd)
    except OSError:  # that of the listing
        return False


def _key_of(environ: Environment) -> Key:
    return tuple(sorted((name, value) for name, value in environ.items() if name.startswith(OF_INTERPRETER)))


def _has_site_module(environ: Environment) -> bool:
    """Whether the interpreter would run a module of a user at its start."""
    folders = environ.get("PYTHONPATH", "").split(os.pathsep)
    names = ("sitecustomize.py", "usercustomize.py")
    return any(os.path.exists(os.path.join(folder, name)) for folder in folders if folder for name in names)


def surroundings() -> object:
    """What a process hands on to those it starts, besides what the server is told."""
    assert sys.platform == "linux"  # see `is_wanted`
    namespaces = [os.readlink(f"/proc/self/ns/{name}") for name in NAMESPACES]
    users = [os.getresuid(), os.getresgid(), sorted(os.getgroups())]
    limits = [resource.getrlimit(limit) for limit in LIMITS]
    return [namespaces, users, limits, os.readlink("/proc/self/root"), _status("SigBlk"), os.getpriority(0, 0)]


def _status(name: str) -> str:
    with open("/proc/thread-self/status", encoding="utf-8", errors="replace") as file:
        return next(line.split()[1] for line in file if line.startswith(f"{name}:"))


POOL = _Pool()
