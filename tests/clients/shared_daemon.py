"""A place of the test's own for the shared daemon, so that no test touches the daemon of whoever runs it."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager

import pytest

SOCKET = "FILEOPS_SOCKET"
# Of an agent's host in whose terminal the tests run: they would be taken for its.
HINTS = ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR", "GEMINI_CLI", "OPENCODE")


@contextmanager
def surroundings(monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    """A place that every program that the test starts finds by its environment; yields the socket's path."""
    with place() as socket:
        monkeypatch.setenv(SOCKET, socket)
        monkeypatch.setenv("XDG_STATE_HOME", os.path.dirname(socket))  # the daemon's log
        for name in HINTS:
            monkeypatch.delenv(name, raising=False)
        yield socket


@contextmanager
def place() -> Generator[str]:
    """Yield the socket's path; a daemon that was started there is ended at the end, and left nothing behind."""
    folder = tempfile.mkdtemp(prefix="fileops-")  # pytest's own folders have too long a path for a socket
    socket = os.path.join(folder, "s.sock")
    try:
        yield socket
        if os.path.exists(socket):
            stop = [sys.executable, "-m", "fileops", "stop", "--now"]
            subprocess.run(stop, env=os.environ | {SOCKET: socket}, timeout=50, check=True, capture_output=True)
            assert not os.path.exists(socket)
    finally:
        shutil.rmtree(folder)
