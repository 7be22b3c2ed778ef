"""The log of a daemon that a client started: a file of limited size, which also receives stderr.

A separate module, because only a daemon with a log file loads the handlers of `logging`.
"""

import io
import os
from logging.handlers import RotatingFileHandler

MAX_BYTES = 1 << 20
N_OLD = 1


class LogFile(RotatingFileHandler):
    """Writes to a file that only this user can read, and keeps one old file.

    stdout and stderr go there as well: Python prints to them when the process fails.
    """

    def __init__(self, path: str) -> None:
        """Raises: OSError."""
        super().__init__(path, maxBytes=MAX_BYTES, backupCount=N_OLD, encoding="utf-8", errors="backslashreplace")

    def _open(self) -> io.TextIOWrapper:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(self.baseFilename, flags, 0o600)
        for standard in (1, 2):
            os.dup2(fd, standard)
        return io.TextIOWrapper(io.FileIO(fd, "a"), encoding=self.encoding, errors=self.errors, write_through=True)
