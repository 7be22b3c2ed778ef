"""Processes that run plugins for the daemon: started at the first use, used again, killed when a plugin does not end.

Thread-safe; called in worker threads of the plugins' share, each of which waits for one process.
"""

import json
import math
import os
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

START_S = 30.0  # for the interpreter to start; what a plugin imports is its own time
TIMEOUT_S = 10.0
MEMORY_MB = 1024
TIMEOUT_VARIABLE, MEMORY_VARIABLE = "FILEOPS_PLUGIN_TIMEOUT_S", "FILEOPS_PLUGIN_MEMORY_MB"

# The daemon's own search path, and not the folder that it happens to be in.
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
    def limited_by(cls, environment: Mapping[str, str]) -> "PluginProcesses":
        """Raises: ValueError, where a variable is no positive number."""
        return cls(
            _positive(environment, TIMEOUT_VARIABLE, TIMEOUT_S), _positive(environment, MEMORY_VARIABLE, MEMORY_MB)
        )

    def call(self, request: dict[str, object]) -> dict[str, Any]:
        """See host.py. Raises: PluginFailed, where no answer came in time."""
        process = self._taken()
        try:
            answer = process.answer_to(json.dumps(request).encode("ascii"), self.timeout_s)
        except TimeoutError:
            self._end(process)
            raise PluginFailed(reason=f"it did not end within {self.timeout_s:g} s and was stopped") from None
        except EOFError:
            self._end(process)
            raise PluginFailed(reason=f"it ended its process ({process.end})") from None
        except BaseException:
            self._end(process)
            raise
        with self._lock:
            if not answer.get("is_last") and not self._is_closed:
                self._idle.append(process)
                return answer
        self._end(process)
        return answer

    def close(self) -> None:
        """End them all; calls that wait for one fail."""
        with self._lock:
            self._is_closed = True
            busy = self._all.difference(self._idle)
            idle, self._idle = self._idle, []
        for process in idle:
            self._end(process)
        for process in busy:
            process.kill()  # the rest is done by its caller

    def _taken(self) -> "_Process":
        with self._lock:
            while self._idle:
                process = self._idle.pop()
                if process.is_alive:
                    return process
                self._forget(process)
        process = _Process(self.memory_mb, self.timeout_s)
        with self._lock:
            self._all.add(process)
            is_closed = self._is_closed
        try:
            if is_closed:
                raise PluginFailed(reason="the daemon is about to end")
            process.wait_until_ready(START_S)
        except (TimeoutError, EOFError) as error:
            self._end(process)
            raise PluginFailed(reason=f"its process did not start ({process.end})") from error
        except BaseException:
            self._end(process)
            raise
        return process

    def _end(self, process: "_Process") -> None:
        with self._lock:
            self._forget(process)

    def _forget(self, process: "_Process") -> None:
        """Under the lock."""
        self._all.discard(process)
        process.kill()
        process.close()


class _Process:
    """One child process, which leads a process group. Used by one thread at a time, except `kill`."""

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

    @property
    def is_alive(self) -> bool:
        with self._guard:
            if self._process.returncode is not None:
                return False
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    @property
    def end(self) -> str:
        """How it ended, once it has been killed, if it was not that which ended it."""
        code = self._process.returncode
        return f"signal {-code}" if code is not None and code < 0 else f"status {code}"

    def wait_until_ready(self, timeout_s: float) -> None:
        """Raises: TimeoutError, EOFError."""
        self._exchange(b"", timeout_s)

    def answer_to(self, request: bytes, timeout_s: float) -> dict[str, Any]:
        """Raises: TimeoutError, EOFError."""
        return cast("dict[str, Any]", json.loads(self._exchange(LENGTH.pack(len(request)) + request, timeout_s)))

    def kill(self) -> None:
        """With all of its group. From any thread, also twice."""
        with self._guard:
            if self._process.returncode is None:  # not waited for yet: the number is still its own
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()

    def close(self) -> None:
        """By the one thread that uses it."""
        self._requests.close()
        self._answers.close()

    def _exchange(self, frame: bytes, timeout_s: float) -> bytes:
        """One frame there, one frame back."""
        deadline, rest, got = time.monotonic() + timeout_s, memoryview(frame), bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            if rest:
                selector.register(self._requests, selectors.EVENT_WRITE)
            while True:
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready and time.monotonic() >= deadline:
                    raise TimeoutError
                for key, _ in ready:
                    if key.fileobj is self._answers:
                        got += self._read()
                    elif not (rest := self._written(rest)):
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

    def _written(self, rest: memoryview) -> memoryview:
        """What is left."""
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
