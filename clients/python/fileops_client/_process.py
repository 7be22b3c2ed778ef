"""The daemon as a child process: starts it, keeps its stderr, ends it."""

import asyncio
import os
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec

from fileops_client.errors import ServerMissing

STDERR_LINES_KEPT = 40
STREAM_LIMIT_BYTES = 1 << 20  # asyncio's buffer before the daemon has to wait


def _default_command() -> tuple[str, ...]:
    """Return the command that starts the server: this interpreter if it has one, otherwise the program on the PATH."""
    spec = find_spec("fileops")
    if spec is None or spec.origin is None:  # no module, or a folder of that name
        return (_on_path("fileops-server"),)
    return (sys.executable, "-P", "-m", "fileops")  # -P: a module in the current folder must not replace the daemon's


def _on_path(name: str) -> str:
    """Return where a program is, or its name if it is nowhere.

    A relative entry of the PATH means the current folder.
    """
    candidates = (os.path.join(folder, name) for folder in os.get_exec_path() if os.path.isabs(folder))
    return next((path for path in candidates if os.access(path, os.X_OK) and os.path.isfile(path)), name)


DEFAULT_COMMAND = _default_command()


def cannot_start(program: str, error: OSError) -> ServerMissing:
    """Return the exception to raise if the system did not start the server."""
    advice = (
        ". Install the server (docs/guide/installing.md in its sources says how), or name its program with `command`"
        if isinstance(error, FileNotFoundError)
        else ""
    )
    return ServerMissing(error.errno, f"cannot start {program}: {error.strerror}{advice}")


def require_words(command: object) -> None:
    """Refuse a command that is one string, since its characters would be the words. Raises: TypeError."""
    if isinstance(command, (str, bytes, os.PathLike)):
        raise TypeError(
            f"command must be a list of words, such as ['ssh', 'host', 'fileops-server'], not {command!r}. "
            f"If this is the folder to work in, write root={command!r}"
        )


class ChildProcess:
    """See Transport."""

    def __init__(self, process: asyncio.subprocess.Process, on_stderr: Callable[[str], None] | None) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.process = process
        self.writer = process.stdin
        self.reader = process.stdout
        self._stderr = process.stderr
        self._on_stderr = on_stderr
        self._tail: deque[str] = deque(maxlen=STDERR_LINES_KEPT)
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        cwd: str | None,
        env: Mapping[str, str] | None,
        on_stderr: Callable[[str], None] | None,
    ) -> "ChildProcess":
        """Start the daemon. `env` is added to our environment. Raises: ServerMissing."""
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=cwd,
                env={**os.environ, **env} if env else None,
                limit=STREAM_LIMIT_BYTES,
            )
        except OSError as error:
            raise cannot_start(command[0], error) from error
        return cls(process, on_stderr)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def stderr_tail(self) -> str:
        return "".join(self._tail).rstrip()

    async def wait(self, timeout_s: float) -> int | None:
        """Wait for the exit code. Return None if the daemon still runs after `timeout_s`."""
        try:
            async with asyncio.timeout(timeout_s):
                code = await self.process.wait()
                await asyncio.shield(self._listening)
        except TimeoutError:
            return self.process.returncode
        return code

    async def end(self, grace_s: float) -> int:
        """Close its stdin and wait, then terminate it, then kill it. Return the exit code."""
        self.writer.close()
        if await self.wait(grace_s) is None:
            self.process.terminate()
            if await self.wait(grace_s) is None:
                self.process.kill()
        code = await self.process.wait()
        self._listening.cancel()  # a grandchild may still hold the pipe
        await asyncio.gather(self._listening, return_exceptions=True)
        return code

    def kill(self) -> None:
        if self.process.returncode is None:
            self.process.kill()

    async def _listen(self) -> None:
        while True:
            try:
                line = await self._stderr.readline()
            except ValueError:  # a line over the limit
                continue
            if not line:
                return
            text = line.decode("utf-8", "replace")
            self._tail.append(text)
            if self._on_stderr is not None:
                self._on_stderr(text)
