"""Runs git, only to read, so that a repository can neither choose a program to run nor block the server.

A repository is not trusted: an attacker may have made its configuration, attributes, hooks and objects. So git must not
be able to start anything. The git program is taken from outside the work tree, and runs with an empty PATH and no exec
path. It cannot even start another git, as it would to fetch a missing object. Each setting that names a program (hooks,
monitors, pagers, helpers, transports) is also turned off by an option or a variable. One defence would be enough for
each; there are two because versions of git differ: `GIT_NO_LAZY_FETCH` is not known before 2.39.4.

A call has a deadline, a bound on its answer and, on Linux, on its memory. So a hostile repository can harm only its own
record.
"""

import contextlib
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from typing import IO

from fileops.platform.programs import find_program

DEADLINE_S = 60.0  # per call; 50,000 files take a second
MAX_ANSWER_BYTES = 256 << 20  # the names of a million files
MAX_MEMORY_BYTES = 512 << 20
_NOWHERE = "/dev/null/nowhere"  # /dev/null is not a folder, so this never exists
_OPTIONS = (
    "--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
    "-c", "core.untrackedCache=false", "-c", "core.askPass=", "-c", "core.sshCommand=", "-c", "core.pager=",
    "-c", "core.alternateRefsCommand=", "-c", "core.preloadIndex=false", "-c", "credential.helper=",
    "-c", "diff.external=", "-c", "protocol.allow=never", "-c", "safe.bareRepository=explicit",
)  # fmt: skip


class GitFailed(Exception):
    """git could not be run, or its data could not be read."""


class GitAnswer:
    """The output of a git process, read with a deadline."""

    def __init__(self, process: "subprocess.Popen[bytes]", deadline_s: float) -> None:
        assert process.stdout is not None
        self._process, self._fd = process, process.stdout.fileno()
        self._ends_at = time.monotonic() + deadline_s
        self._buffer = b""
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)

    def read_all(self, max_bytes: int = MAX_ANSWER_BYTES) -> bytes:
        """Return the whole output if git succeeds. Raises: GitFailed."""
        pieces = [self._buffer]
        n_bytes = len(self._buffer)
        while piece := self._piece():
            pieces.append(piece)
            n_bytes += len(piece)
            if n_bytes > max_bytes:
                raise GitFailed(f"it answered with more than {max_bytes:,} bytes")
        try:
            status = self._process.wait(max(self._ends_at - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            raise GitFailed("it did not end") from None
        if status != 0:
            raise GitFailed(f"it ended with status {status}")
        return b"".join(pieces)

    def read_line(self, max_bytes: int = 1000) -> bytes:
        """Return the next line without its line end; empty at the end. Raises: GitFailed."""
        while b"\n" not in self._buffer:
            piece = self._piece()
            if not piece:
                return b""
            self._buffer += piece
            if len(self._buffer) > max_bytes and b"\n" not in self._buffer[:max_bytes]:
                raise GitFailed("a line of its answer is too long")
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def read(self, n_bytes: int) -> bytes:
        """Return exactly `n_bytes` bytes. Raises: GitFailed, including if the answer is shorter."""
        pieces = [self._buffer[:n_bytes]]
        n_left = n_bytes - len(pieces[0])
        self._buffer = self._buffer[n_bytes:]
        while n_left:
            piece = self._piece()
            if not piece:
                raise GitFailed("its answer ended early")
            pieces.append(piece[:n_left])
            self._buffer = piece[n_left:]
            n_left -= len(pieces[-1])
        return b"".join(pieces)

    def _piece(self) -> bytes:
        """Raises: GitFailed."""
        if not self._poll.poll(max(self._ends_at - time.monotonic(), 0) * 1000):
            raise GitFailed("it did not answer in time")
        return os.read(self._fd, 1 << 16)


def ask(root: str, *arguments: str, stdin: bytes = b"", deadline_s: float | None = None) -> bytes:
    """Return the whole answer of git in a work tree. Raises: GitFailed."""
    with answering(root, *arguments, stdin=stdin, deadline_s=deadline_s) as answer:
        return answer.read_all()


@contextlib.contextmanager
def answering(root: str, *arguments: str, stdin: bytes = b"", deadline_s: float | None = None) -> Generator[GitAnswer]:
    """Start git in a work tree, and end it when the block ends. Raises: GitFailed."""
    program = find_program("git", outside=(root,))
    if program is None:
        raise GitFailed("there is no git")
    with contextlib.ExitStack() as stack:
        given: IO[bytes] | int = subprocess.DEVNULL
        if stdin:  # a file, so that no thread must write while one reads
            given = stack.enter_context(tempfile.TemporaryFile())
            given.write(stdin)
            given.seek(0)
        try:
            process = subprocess.Popen(
                [program, *_OPTIONS, "-C", root, *arguments],
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
                cwd="/",
                bufsize=0,
            )
        except OSError as error:
            raise GitFailed(str(error)) from error
        stack.enter_context(process)
        stack.callback(process.kill)
        _limit_memory(process.pid)
        yield GitAnswer(process, DEADLINE_S if deadline_s is None else deadline_s)


def _limit_memory(pid: int) -> None:
    """Limit what git allocates, not what it maps: it maps packs, which may be larger than this."""
    if sys.platform == "linux":
        import resource

        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))


def _environment() -> dict[str, str]:
    """Return an environment that cannot lead git to another repository or program."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SSH_"))}
    return {
        **inherited,
        "PATH": _NOWHERE,
        "GIT_EXEC_PATH": _NOWHERE,
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }
