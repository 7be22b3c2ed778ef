"""Ports to the machine: shell commands, the clock, and what a file's content is."""

from collections.abc import Callable
from typing import Protocol


class RunningProcess(Protocol):
    """A running shell command."""

    def wait(self, timeout_s: float, on_output: Callable[[bytes], None]) -> int | None:
        """Wait until all its processes have ended, and return the exit code; None if it was killed after timeout_s.

        Args: on_output: called in this thread with what it prints, stdout and stderr as they arrive.
        """
        ...

    def kill(self) -> None:
        """End it and all that it started; then `wait` returns. Can be called at any time, from any thread."""
        ...


class Executor(Protocol):
    def start(self, command: str, cwd: str) -> RunningProcess:
        """Raises: CommandNotStarted."""
        ...


ExecutorChoice = Callable[[str], tuple[Executor, str]]  # working directory -> executor, the directory's name there


class ImageDetector(Protocol):
    def detect(self, path: str, head: bytes) -> str | None:
        """Return the media type if this is an image, else None. Called in worker threads, for binary content only.

        Args: path: canonical. head: the first bytes of the content, at least 12 where it has as many.
        """
        ...


class Clock(Protocol):
    def time_ns(self) -> int:
        """Wall clock, nanoseconds since the epoch."""
        ...
