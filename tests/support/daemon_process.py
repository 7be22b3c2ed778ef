"""A separate place for a shared daemon, and its certain end: no test touches a user's socket or leaves a daemon."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.ending import end_daemon
from support.in_memory import IN_MEMORY
from support.patience import PATIENCE_S, wait_until
from support.rawclient import RawClient

FILEOPS = (sys.executable, "-m", "fileops")
# The name of an agent's host in the environment would be the name of the connection.
NO_HOST = {"CLAUDECODE": "", "GEMINI_CLI": "", "OPENCODE": "", "CLAUDE_PROJECT_DIR": "", "CLAUDE_CODE_SESSION_ID": ""}


@dataclass(frozen=True)
class Place:
    """Where a shared daemon may run. folder: short, since a socket's path has at most 107 bytes."""

    folder: Path

    @property
    def socket(self) -> Path:
        return self.folder / "a.sock"

    @property
    def log(self) -> Path:
        return self.folder / "state" / "fileops-server" / "a.log"

    @property
    def env(self) -> dict[str, str]:
        return {**NO_HOST, "FILEOPS_SOCKET": str(self.socket), "XDG_STATE_HOME": str(self.folder / "state")}

    @property
    def process_env(self) -> dict[str, str]:
        """The environment of this process, with the place in it."""
        return {**os.environ, **self.env}

    def run(
        self, *arguments: str, env: dict[str, str] | None = None, close_fds: bool = True, cwd: Path | None = None
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run a command with nothing on its stdin."""
        return subprocess.run(
            (*FILEOPS, *arguments),
            env={**os.environ, **self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
            close_fds=close_fds,
            cwd=cwd,
        )

    def start(self, *options: str, idle_s: float = 600) -> int:
        """Start a daemon if none runs; returns its process."""
        done = self.run("daemon", "--detach", "--idle-s", str(idle_s), *options)
        assert done.returncode == 0, done.stderr
        (pid,) = self.daemons()
        return pid

    def status(self) -> dict[str, Any]:
        described: dict[str, Any] = json.loads(self.run("status", "--json").stdout)
        return described

    def daemons(self) -> list[int]:
        """The processes that serve this place, or are about to."""
        found: list[int] = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            with contextlib.suppress(OSError):
                arguments = Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
                if b"daemon" in arguments and b"--detached" in arguments and bytes(self.socket) in arguments:
                    found.append(int(entry))
        return found

    def wait_for_end(self, pid: int) -> None:
        assert _has_ended(pid, PATIENCE_S), f"process {pid} is still there; log: {self.log_text()[-2000:]}"

    def log_text(self) -> str:
        return self.log.read_text() if self.log.exists() else ""


@contextlib.contextmanager
def place() -> Generator[Place]:
    with tempfile.TemporaryDirectory(prefix="fo-", dir=IN_MEMORY or "/tmp") as folder:
        made = Place(Path(folder))
        try:
            yield made
        finally:
            for pid in made.daemons():
                end_daemon(pid, partial(_has_ended, pid))
                made.wait_for_end(pid)
        # A client is told no more of a defect of the daemon than the id under which the log has it.
        assert "incident " not in made.log_text(), made.log_text()[-20_000:]


def suspend(pid: int) -> None:
    """Stop a process, and wait until all its threads have stopped: they may run for a moment after the signal."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: _is_suspended(pid))


def _is_suspended(pid: int) -> bool:
    try:
        states = [path.read_text().rpartition(")")[2][1] for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    except FileNotFoundError:  # a thread has just ended
        return False
    return set(states) == {"T"}


def _has_ended(pid: int, timeout_s: float) -> bool:
    """Wait for the end of a process, which may be no child of this one."""
    until = time.monotonic() + timeout_s
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][1] != "Z":
            if time.monotonic() >= until:
                return False
            time.sleep(0.01)
    return True


@contextlib.contextmanager
def place_of_test(monkeypatch: pytest.MonkeyPatch) -> Generator[Place]:
    """A place that every program that the test starts finds by its environment."""
    with place() as made:
        for name, value in made.env.items():
            monkeypatch.setenv(name, value)
        yield made


@contextlib.contextmanager
def attached(made: Place, *options: str, cwd: Path | None = None, **env: str) -> Generator[RawClient]:
    """A client over the pump. options: default `--shared`."""
    command = (*FILEOPS, *(options or ("--shared",)))
    client = RawClient(command, env={**made.env, **env}, cwd=None if cwd is None else str(cwd))
    try:
        yield client
    finally:
        client.close()
