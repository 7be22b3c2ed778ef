"""Processes that run plugins for the daemon: started when first used, reused, killed if a plugin does not return.

Thread-safe. Called in worker threads of the plugins' share, each of which waits for one process.
"""

import json
import math
import os
import select
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from fileops.model.internal_errors import PluginFailed
from fileops.service.plugins.host import LENGTH, MAX_ANSWER_BYTES

START_S = 30.0  # for the interpreter to start; a plugin's imports count as its own time
TIMEOUT_S = 10.0
MEMORY_MB = 1024
TIMEOUT_VARIABLE, MEMORY_VARIABLE = "FILEOPS_PLUGIN_TIMEOUT_S", "FILEOPS_PLUGIN_MEMORY_MB"

# The daemon's own search path, without its current folder.
_START = (
    "import sys; sys.path[:] = sys.argv[3:]; from fileops.service.plugins.host import main; "
    "main(int(sys.argv[1]), float(sys.argv[2]))"
)


class PluginProcesses:
    """Processes with limits: `timeout_s` for one call, `memory_mb` of address space for one process."""

    def __init__(self, timeout_s: float = TIMEOUT_S, memory_mb: float = MEMORY_MB) -> None:
        self.timeout_s = timeout_s
        self.memory_mb = int(memory_mb)
        self._lock = threading.Lock()
        self._idle: list[_Process] = []
        self._all: set[_Process] = set()
        self._is_closed = False

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "PluginProcesses":
        """Raises: ValueError, if a variable is not a positive number."""
        return cls(
            _positive(environment, TIMEOUT_VARIABLE, TIMEOUT_S), _positive(environment, MEMORY_VARIABLE, MEMORY_MB)
        )

    def call(self, request: dict[str, object]) -> dict[str, Any]:
        """Call a plugin, see host.py. Raises: PluginFailed, if no answer came in time."""
        return self._begin(self._idle_process() or self._start(), request).answer(self.timeout_s)

    def begin(self, request: dict[str, object]) -> "PluginCall | None":
        """Begin a call that the caller must end; return None if no process is idle.

        Waits for nothing. Raises: PluginFailed.
        """
        process = self._idle_process()
        return None if process is None else self._begin(process, request)

    def start(self) -> None:
        """Start another process, for `begin`. Raises: PluginFailed."""
        self.give_back(self._start())

    @property
    def n_processes(self) -> int:
        with self._lock:
            return len(self._all)

    def close(self) -> None:
        """End all processes. Calls that wait for one fail."""
        with self._lock:
            self._is_closed = True
            busy = self._all.difference(self._idle)
            idle, self._idle = self._idle, []
        for process in idle:
            self.end(process)
        for process in busy:
            process.kill()  # its caller does the rest

    def give_back(self, process: "_Process") -> None:
        with self._lock:
            if not self._is_closed:
                self._idle.append(process)
                return
        self.end(process)

    def end(self, process: "_Process") -> None:
        with self._lock:
            self._forget(process)

    def _begin(self, process: "_Process", request: dict[str, object]) -> "PluginCall":
        try:
            process.send(json.dumps(request).encode("ascii"))
        except EOFError:
            self.end(process)
            raise PluginFailed(reason=f"it ended its process ({process.end})") from None
        except BaseException:
            self.end(process)
            raise
        return PluginCall(self, process)

    def _idle_process(self) -> "_Process | None":
        with self._lock:
            while self._idle:
                process = self._idle.pop()
                if process.is_alive:
                    return process
                self._forget(process)
        return None

    def _start(self) -> "_Process":
        process = _Process(self.memory_mb, self.timeout_s)
        with self._lock:
            self._all.add(process)
            is_closed = self._is_closed
        try:
            if is_closed:
                raise PluginFailed(reason="the daemon is about to end")
            process.wait_until_ready(START_S)
        except (TimeoutError, EOFError) as error:
            self.end(process)
            raise PluginFailed(reason=f"its process did not start ({process.end})") from error
        except BaseException:
            self.end(process)
            raise
        return process

    def _forget(self, process: "_Process") -> None:
        """Forget a process. The caller holds the lock."""
        self._all.discard(process)
        process.kill()
        process.close()


class PluginCall:
    """A call in progress. Exactly one `answer` or `drop` ends it."""

    def __init__(self, processes: PluginProcesses, process: "_Process") -> None:
        self._processes, self._process = processes, process

    def answer(self, timeout_s: float) -> dict[str, Any]:
        """Return the answer. Raises: PluginFailed, if none came in time."""
        processes, process = self._processes, self._process
        try:
            answer = process.answer(timeout_s)
        except TimeoutError:
            processes.end(process)
            raise PluginFailed(reason=f"it did not end within {timeout_s:g} s and was stopped") from None
        except EOFError:
            processes.end(process)
            raise PluginFailed(reason=f"it ended its process ({process.end})") from None
        except BaseException:
            processes.end(process)
            raise
        if answer.get("is_last"):
            processes.end(process)
        else:
            processes.give_back(process)
        return answer

    def drop(self) -> None:
        self._processes.end(self._process)


class _Process:
    """One child process, which leads a process group. Used by one thread at a time, except for `kill`."""

    def __init__(self, memory_mb: int, timeout_s: float) -> None:
        """Raises: PluginFailed."""
        command = [sys.executable, "-P", "-c", _START, str(memory_mb), str(timeout_s), *sys.path]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
            )
        except OSError as error:
            raise PluginFailed(reason=f"its process did not start ({error.strerror})") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests = self._process.stdin
        self._answers = self._process.stdout
        for pipe in (self._requests, self._answers):
            os.set_blocking(pipe.fileno(), False)
        self._guard = threading.Lock()
        self._unsent = memoryview(b"")

    @property
    def is_alive(self) -> bool:
        with self._guard:
            if self._process.returncode is not None:
                return False
            if sys.platform == "linux":
                return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        return not self._has_closed_its_answers()

    def _has_closed_its_answers(self) -> bool:
        """Return whether the pipe is at its end.

        A child of the process may keep the pipe open. Then the next call fails.
        """
        poll = select.poll()
        poll.register(self._answers, select.POLLHUP)
        return bool(poll.poll(0))

    @property
    def end(self) -> str:
        """Return how the process ended. Ask only after `kill`, which changes nothing if it had ended before."""
        code = self._process.returncode
        return f"signal {-code}" if code is not None and code < 0 else f"status {code}"

    def wait_until_ready(self, timeout_s: float) -> None:
        """Raises: TimeoutError, EOFError."""
        self._receive(timeout_s)

    def send(self, request: bytes) -> None:
        """Send as much as the pipe takes at once. `answer` sends the rest. Raises: EOFError."""
        self._unsent = self._write(memoryview(LENGTH.pack(len(request)) + request))

    def answer(self, timeout_s: float) -> dict[str, Any]:
        """Raises: TimeoutError, EOFError."""
        return cast("dict[str, Any]", json.loads(self._receive(timeout_s)))

    def kill(self) -> None:
        """Kill it with its whole group. May be called from any thread, more than once."""
        with self._guard:
            if self._process.returncode is None:  # not waited for yet, so the pid is still its own
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()

    def close(self) -> None:
        """Close it. Called by the only thread that uses it."""
        self._requests.close()
        self._answers.close()

    def _receive(self, timeout_s: float) -> bytes:
        """Send what is left to send, and return one frame."""
        deadline, got = time.monotonic() + timeout_s, bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            if self._unsent:
                selector.register(self._requests, selectors.EVENT_WRITE)
            while True:
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready and time.monotonic() >= deadline:
                    raise TimeoutError
                for key, _ in ready:
                    if key.fileobj is self._answers:
                        got += self._read()
                        continue
                    self._unsent = self._write(self._unsent)
                    if not self._unsent:
                        selector.unregister(self._requests)
                if len(got) >= LENGTH.size:
                    n_bytes = LENGTH.unpack_from(got)[0]
                    if n_bytes > MAX_ANSWER_BYTES:
                        raise EOFError
                    if len(got) >= LENGTH.size + n_bytes:
                        return bytes(got[LENGTH.size :])

    def _read(self) -> bytes:
        chunk = os.read(self._answers.fileno(), 1 << 18)
        if not chunk:
            raise EOFError
        return chunk

    def _write(self, rest: memoryview) -> memoryview:
        """Write as much as possible, and return what is left to write."""
        try:
            return rest[os.write(self._requests.fileno(), rest) :]
        except BrokenPipeError:
            raise EOFError from None


def _positive(environment: Mapping[str, str], name: str, default: float) -> float:
    given = environment.get(name)
    if given is None:
        return default
    try:
        number = float(given)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise ValueError(f"{name} must be a positive number: {given!r}")
    return number
