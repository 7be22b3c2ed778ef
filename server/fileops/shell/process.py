"""Shell commands as process groups that always end: here, or on a host reached by ssh.

A small wrapper runs the command in a separate session and reads its stdin, the lifeline, to which nothing is ever
written. When the lifeline ends, because we close it, because we die, or because the connection is lost, the whole group
is killed. It is also killed when the command itself has ended: no process of a command outlives it.
"""

import contextlib
import os
import selectors
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence

from fileops.model.errors import CommandNotStarted

GRACE_S = 5.0  # for the wrapper to end once its lifeline has
CHUNK_BYTES = 1 << 16
MAX_SELECT_S = 3600.0  # epoll takes at most 2**31 ms; a longer wait is several

# $1 is the shell to use (sh, if it does not exist), $2 the command.
WRAPPER = """\
exec 3<&0 </dev/null 2>/dev/null
command -v "$1" >/dev/null || set -- sh "$2"
setsid "$1" -c "$2" 3<&- 2>&1 &
p=$!
{ read -r _ <&3; kill -s KILL -- -$p || kill -s KILL $p; kill -s KILL -- -$p; } >/dev/null &
g=$!
exec 3<&-
wait $p; c=$?
kill -s KILL $g; kill -s KILL -- -$p
exit $c
"""


class ShellExecutor:
    """See ports.Executor. host: the ssh command up to and including the host, None for this machine."""

    def __init__(self, host: Sequence[str] | None = None, shell: str = "bash") -> None:
        self._host = host
        self._shell = shell

    def start(self, command: str, cwd: str) -> "RunningCommand":
        wrapped = ["/bin/sh", "-c", WRAPPER, "sh", self._shell, command]
        if self._host is None:
            return RunningCommand(wrapped, cwd)
        there = f"cd -- {shlex.quote(cwd)} && exec {shlex.join(wrapped)}"
        return RunningCommand([*self._host, there], None)


class RunningCommand:
    """See ports.RunningProcess."""

    def __init__(self, argv: Sequence[str], cwd: str | None) -> None:
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=0,
                start_new_session=True,
                cwd=cwd,
            )
        except OSError as error:
            raise CommandNotStarted(reason=f"{error.strerror}: {error.filename}") from error
        except ValueError as error:  # a NUL
            raise CommandNotStarted(reason="it holds what no command can hold") from error

    def wait(self, timeout_s: float, on_output: Callable[[bytes], None]) -> int | None:
        """Read output until the end, in the calling thread. See ports.RunningProcess."""
        assert self._process.stdout is not None
        output, (woken, waker) = self._process.stdout, os.pipe()
        waiter = threading.Thread(target=self._signal_exit, args=(waker,), name="fileops-command-end", daemon=True)
        waiter.start()
        deadline, timed_out = time.monotonic() + timeout_s, False
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(output, selectors.EVENT_READ)
                selector.register(woken, selectors.EVENT_READ)
                while True:
                    ready = selector.select(min(MAX_SELECT_S, max(0.0, deadline - time.monotonic())))
                    if any(key.fileobj == woken for key, _ in ready):
                        break
                    if ready and not _pass_on(output.fileno(), on_output):
                        selector.unregister(output)
                    if time.monotonic() >= deadline:
                        if timed_out:
                            self._force()
                        self.kill()
                        deadline, timed_out = time.monotonic() + GRACE_S, True
            os.set_blocking(output.fileno(), False)  # a process that left the group may still hold the pipe
            with contextlib.suppress(BlockingIOError):
                while _pass_on(output.fileno(), on_output):
                    pass
        finally:
            waiter.join()
            os.close(woken)
            output.close()
            self.kill()
        return None if timed_out else _exit_code(self._process.returncode)

    def kill(self) -> None:
        """From any thread: cut the lifeline."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def _force(self) -> None:
        """Kill the local processes when the lifeline has no effect, as over a dead connection."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _signal_exit(self, waker: int) -> None:
        self._process.wait()
        os.close(waker)


def _exit_code(status: int) -> int:
    """Return the exit code as a shell would: 128 + number if a signal ended the process (-number in Popen)."""
    return 128 - status if status < 0 else status


def _pass_on(fd: int, on_output: Callable[[bytes], None]) -> bool:
    """Return False at the end. Raises BlockingIOError."""
    chunk = os.read(fd, CHUNK_BYTES)
    if chunk:
        on_output(chunk)
    return bool(chunk)
