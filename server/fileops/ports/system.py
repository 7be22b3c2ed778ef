"""Ports to the machine: shell commands, the clock, and the type of a file's content."""

from collections.abc import Callable
from typing import Protocol


class RunningProcess(Protocol):
    """A running shell command."""

    def wait(self, timeout_s: float, on_output: Callable[[bytes], None]) -> int | None:
        """Wait until all its processes have ended, and return the exit code; None if it was killed after timeout_s.

        Args: on_output: called in this thread with output, stdout and stderr as they arrive.
        """
        ...

    def kill(self) -> None:
        """End it and everything that it started; `wait` then returns. May be called at any time, from any thread."""
        ...


class Executor(Protocol):
    def start(self, command: str, cwd: str) -> RunningProcess:
        """Raises: CommandNotStarted."""
        ...


ExecutorChoice = Callable[[str], tuple[Executor, str]]  # working directory -> executor, the directory's name there


class ImageDetector(Protocol):
    def detect(self, path: str, head: bytes) -> str | None:
        """Return the media type if this is an image, else None. Called in worker threads, only for binary content.

        Args: path: canonical. head: the first bytes of the content, at least 12 if there are as many.
        """
        ...


class Clock(Protocol):
    def time_ns(self) -> int:
        """Wall clock, nanoseconds since the epoch."""
        ...
