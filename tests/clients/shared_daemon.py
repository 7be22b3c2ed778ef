"""A place of the test's own for the shared daemon, so that no test touches the daemon of whoever runs it."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager

SOCKET = "FILEOPS_SOCKET"


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
