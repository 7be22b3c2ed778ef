"""A warm interpreter that forks processes of `python -m fileops`: they need not import the program once more.

Run as a program by `support/warm_start.py`, which says what is forked and what is started as ever. It has one thread,
and ends with the process of tests that started it. A process that it forks is set up as a real start would be:
descriptors, environment, working directory, umask, arguments (also in /proc), standard streams, ignored signals.
"""

import array
import asyncio
import atexit
import ctypes
import gc
import importlib
import io
import json
import os
import random
import runpy
import select
import signal
import socket
import sys
import tempfile
import time
from typing import Any

MAX_FDS = 16
PADDING = 32768  # bytes of an argument, and of a variable, in whose place forked processes show theirs
_PR_GET_TID_ADDRESS = 40
_SYS_CLONE = 56  # on x86_64
_CLONE_PARENT = 0x8000
_FLAGS_OF_FORK = 0x01200000 | signal.SIGCHLD  # CLONE_CHILD_SETTID and CLONE_CHILD_CLEARTID, as the C library's fork
N_SESSIONS = 8  # after fewer some functions are not adapted yet, and more gain nothing
OF_TYPES = {"fileops.arguments", "fileops.lsp.converter", "fileops.rpc.decode"}  # what they remember is always true
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


# What most starts import; what a rare start needs (rich, textual, asyncssh, …) it imports itself.
WARM = (
    "arguments", "attach.client", "attach.companion", "attach.control", "attach.hook", "attach.hook_record",
    "attach.hook_views", "attach.hooked_session", "attach.host_events", "attach.pump", "attach.starter",
    "attach.unguarded", "cli", "compose.daemon", "compose.lsp_connection", "compose.mcp_connection", "compose.private",
    "daemon.log_file", "daemon.process", "mcp.config.command", "record.recorder", "record.recorder_thread",
    "record.stored_edits", "rpc.standard_io", "schema", "terminal.record", "watch.inotify",
)  # fmt: skip


def ignored_signals() -> list[signal.Signals]:
    """Without those that each interpreter ignores."""
    ignored = (number for number in signal.Signals if signal.getsignal(number) == signal.SIG_IGN)
    return [number for number in ignored if number not in {signal.SIGPIPE, signal.SIGXFSZ}]


def warm_up() -> None:
    for name in WARM:
        importlib.import_module(f"fileops.{name}")
    importlib.import_module("watchdog.observers.inotify")  # by the first folder that is watched
    from fileops.arguments import parser

    parser()
    if "PYTHONPATH" not in os.environ:  # else there may be plugins, whose names a process registers once
        _play_sessions()
    gc.collect()
    gc.freeze()


def _play_sessions() -> None:
    """The interpreter adapts functions that have run some times, and lsprotocol makes code for the types that it meets.

    A forked process need not do so again, nor copy the memory that it writes to for that.
    """
    from fileops.fs import spelling
    from fileops_client import FileOpsClient

    async def play(folder: str) -> None:
        path = f"{folder}/f.txt"
        with open(path, "w", encoding="ascii") as file:
            file.write("one\ntwo\n")
        document = {"uri": f"file://{path}", "version": 1}
        async with FileOpsClient.in_process(root=folder) as client:
            await client.read(path)
            await client.edit(path, "two", "2")
            client.notify("textDocument/didOpen", {"textDocument": {**document, "languageId": "", "text": "one\n2\n"}})
            changes = {"textDocument": {**document, "version": 2}, "contentChanges": [{"text": "one\n2\n3\n"}]}
            client.notify("textDocument/didChange", changes)
            await client.read(path)
            client.notify("textDocument/didClose", {"textDocument": document})
            await client.undo()

    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder
        for _ in range(N_SESSIONS):
            asyncio.run(play(folder))
    for module in [module for name, module in sys.modules.items() if name.startswith("fileops.")]:
        for value in list(vars(module).values()):
            if hasattr(value, "cache_clear") and value.__module__ not in OF_TYPES:
                value.cache_clear()
    vars(spelling)["_ignores_case"].clear()


class Start:
    """What a process is to be. numbers: the descriptors it has; fds: the same, as they came."""

    def __init__(self, asked: dict[str, Any], fds: list[int], gate: int) -> None:
        self.asked = asked
        self.fds = fds
        self.gate = gate

    def become(self, generators: list[random.Random]) -> None:
        """Make this process what was asked for, up to the first line of the program. generators: to be seeded."""
        if os.read(self.gate, 1) != b"g":
            os._exit(1)
        asked = self.asked
        if asked["is_leader"]:
            os.setsid()
        high = [_duplicate_above(fd, 64) for fd in self.fds]
        for number, fd in zip(asked["numbers"], high, strict=True):
            os.dup2(fd, number)
        last = -1
        for number in [*sorted(asked["numbers"]), os.sysconf("SC_OPEN_MAX")]:
            if number > last + 1:  # an empty range that begins with 0 would close everything
                os.closerange(last + 1, number)
            last = number
        os.umask(asked["umask"])
        for number in signal.Signals:
            if asked["ignored"] >> number - 1 & 1:
                signal.signal(number, signal.SIG_IGN)
        os.environ.clear()
        os.environ.update(asked["environ"])
        if asked["environ"].get("LISTEN_PID") == str(asked["pid"]):
            os.environ["LISTEN_PID"] = str(os.getpid())
        time.tzset()
        for generator in generators:
            generator.seed()
        os.chdir(asked["cwd"])
        tempfile.tempdir = None
        variables = [b"%b=%b" % variable for variable in os.environb.items()]
        _show_in_proc([os.fsencode(word) for word in asked["argv"]], variables)
        sys.stdin = sys.__stdin__ = _stream(0, "r", sys.stdin)
        sys.stdout = sys.__stdout__ = _stream(1, "w", sys.stdout)
        sys.stderr = sys.__stderr__ = _stream(2, "w", sys.stderr)
        words = asked["argv"][1:]
        while words[0] in {"-P", "-m"}:  # options of the interpreter
            del words[0]
        sys.argv = words


def _generators() -> list[random.Random]:
    """Those that the program has made by now: else all forked processes would give their edits the same ids.

    Looked for once, since a look at a value writes into its page, which a forked process then has to copy.
    """
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "fileops"]
    return [value for module in modules for value in vars(module).values() if type(value) is random.Random]


def _duplicate_above(fd: int, lowest: int) -> int:
    import fcntl

    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, lowest)


def _stream(fd: int, mode: str, like: Any) -> Any:
    """A standard stream as the interpreter makes it at its start, or None where the descriptor is closed."""
    try:
        os.fstat(fd)
    except OSError:
        return None
    if mode == "w" and like.write_through:  # as PYTHONUNBUFFERED asks
        raw = io.FileIO(fd, "w", closefd=False)
        return io.TextIOWrapper(raw, encoding=like.encoding, errors=like.errors, write_through=True)
    is_terminal = os.isatty(fd)
    buffering = 1 if is_terminal or fd == 2 else -1
    return open(fd, mode, buffering, encoding=like.encoding, errors=like.errors, closefd=False)


def _show_in_proc(argv: list[bytes], environ: list[bytes]) -> None:
    """Show these in /proc, where tests look for daemons, and daemons for the hosts of those who ask them.

    They take the place of what the server was started with, which nothing refers to any more.
    """
    with open("/proc/self/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    argv_begin, argv_end, environ_begin, environ_end = map(int, fields[45:49])  # see proc(5)
    for begin, end, words in ((argv_begin, argv_end, argv), (environ_begin, environ_end, environ)):
        shown = b"\0".join(words)[: end - begin - 1]
        ctypes.memset(begin, 0, end - begin)
        ctypes.memmove(begin, shown, len(shown))


class _QuickEnd:
    """Ends a forked process when its functions of `atexit` have run, its threads ended and its output is written.

    The interpreter would take each module apart, and with that copy all the memory that is shared with the server: it
    is the dearest part of a short command. Of an end by an exception nothing is left out.
    """

    def __init__(self) -> None:
        self.status: int | None = None
        atexit.register(self._end)  # before all others, so it is called last

    def run_program(self) -> None:
        try:
            if sys.argv[0] == "fileops":
                runpy.run_module("fileops", run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(sys.argv[0], run_name="__main__")
        except SystemExit as end:
            if end.code is None or isinstance(end.code, int):
                self.status = end.code or 0
            raise
        self.status = 0

    def _end(self) -> None:
        if self.status is None:
            return
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except (OSError, ValueError):  # the interpreter will meet it as well, and say so
            return
        os._exit(self.status & 0xFF)


def serve(listening: socket.socket) -> Start | None:
    """Fork what is asked for. Returns in each forked process with what it is to be, and at the end with None."""
    fork_for_parent = _ForkForParent()
    while True:
        readable, _, _ = select.select([listening, 0], [], [])
        if 0 in readable:  # the process of tests has ended
            return None
        connection, _ = listening.accept()
        with connection:
            asked, fds = _receive(connection)
            gate, opening = os.pipe()
            if asked["pid"] == os.getppid() and not asked["is_detached"]:
                pid = fork_for_parent()
            else:
                pid = _fork_orphan(is_detached=asked["is_detached"])
            if pid == 0:
                os.close(opening)
                return Start(asked, fds, gate)
            os.write(opening, b"g")
            for fd in (gate, opening, *fds):
                os.close(fd)
            connection.sendall(b"%d\n" % pid)


class _ForkForParent:
    """Forks a process that is not this one's child, but its parent's. Returns 0 in it.

    The C library has no function for that. So here is what its fork and the interpreter's do for a process of one
    thread: the kernel writes the number of the new thread where the C library keeps it.
    """

    def __init__(self) -> None:
        library = ctypes.PyDLL(None, use_errno=True)
        self._syscall = library.syscall
        self._syscall.restype = ctypes.c_long
        self._after_in_child = ctypes.pythonapi.PyOS_AfterFork_Child
        self._after_in_parent = ctypes.pythonapi.PyOS_AfterFork_Parent
        self._before = ctypes.pythonapi.PyOS_BeforeFork
        self._tid = ctypes.c_void_p()
        is_known = library.prctl(_PR_GET_TID_ADDRESS, ctypes.byref(self._tid)) == 0
        self._is_able = is_known and os.uname().machine == "x86_64"

    def __call__(self) -> int:
        if not self._is_able:
            return _fork_orphan(is_detached=False)
        self._before()
        pid = self._syscall(_SYS_CLONE, _FLAGS_OF_FORK | _CLONE_PARENT, None, None, self._tid, None)
        if pid == 0:
            self._after_in_child()
            return 0
        self._after_in_parent()
        if pid < 0:
            raise OSError(ctypes.get_errno(), "no process could be forked")
        return pid


def _fork_orphan(*, is_detached: bool) -> int:
    """Fork a process whose parent has ended: it goes to the next subreaper, or to init. Returns 0 in it."""
    for_reading, for_writing = os.pipe()
    between = os.fork()
    if between == 0:
        if is_detached:
            os.setsid()
        pid = os.fork()
        if pid == 0:
            os.close(for_reading)
            os.close(for_writing)
            return 0
        os.write(for_writing, b"%d" % pid)
        os._exit(0)
    os.close(for_writing)
    os.waitpid(between, 0)
    pid = int(os.read(for_reading, 32))
    os.close(for_reading)
    return pid


def _receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    fds = array.array("i")
    data, ancillary, _, _ = connection.recvmsg(1 << 16, socket.CMSG_LEN(MAX_FDS * fds.itemsize))
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
    while not data.endswith(b"\n"):
        data += connection.recv(1 << 16)
    return json.loads(data), list(fds)


def main() -> None:
    listening = socket.socket(fileno=int(sys.argv[1]))
    end = _QuickEnd()
    for number in ignored_signals():  # of a job in the background, whose processes may ignore less
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    warm_up()
    generators = _generators()
    sys.path.insert(0, TESTS)
    from support import huge_pages, warm_start

    sys.path.remove(TESTS)
    warm_start.POOL.begin(listening.getsockname())
    warm_start.install_exec()
    huge_pages.collapse()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    start = serve(listening)
    if start is None:
        return
    listening.detach()  # `become` closes the descriptor
    start.become(generators)
    end.run_program()


if __name__ == "__main__":
    main()
