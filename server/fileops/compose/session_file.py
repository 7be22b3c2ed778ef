"""The file with the names of all sessions, one JSON array `[session_id, label]` in each line. Blocks for the disk.

The first line has no session, and the time at which the file was begun, in seconds since the epoch.

A name belongs to one session for ever: what was recorded under it must never seem to be another session's. Daemons of
other sockets add to the same file, so it is read on and written under flock(2). A line is small, and stays in the
kernel's memory. Without the file, names are unique in this daemon only.
"""

import fcntl
import json
import logging
import os
from collections.abc import Callable, Container
from contextlib import suppress
from typing import TypeVar

import msgspec

from fileops.model.sessions import SessionName
from fileops.platform.private_files import NotPrivate, require_private
from fileops.service.hub.names import KnownNames

T = TypeVar("T")
log = logging.getLogger(__name__)

MAX_NAMES = 10_000  # beyond this, the older half is dropped


def default_file() -> str:
    """Return `$XDG_STATE_HOME/fileops-server/sessions`, by default under `~/.local/state`."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "fileops-server", "sessions")


class NamesInFile(KnownNames):
    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = file
        self._n_read_bytes = 0
        self._inode: int = 0

    def recall(self) -> None:
        try:
            self._in_file(self._read_on, os.O_RDONLY)
        except FileNotFoundError:
            pass
        except (OSError, NotPrivate) as fault:
            log.warning("%s is not used: %s", self._file, fault)

    def claim(self, session_id: SessionName, choose: "Callable[[Container[str]], str]") -> str:
        def claim(fd: int) -> str:
            self._read_on(fd)
            if self._n_read_bytes == 0:
                os.write(fd, _line("", repr(self.since)))
            is_new = session_id not in self.labels
            label = super(NamesInFile, self).claim(session_id, choose)
            if is_new:
                os.write(fd, _line(session_id, label))
                if len(self.labels) > MAX_NAMES:
                    self._drop_older(fd)
            return label

        try:
            os.makedirs(os.path.dirname(self._file), mode=0o700, exist_ok=True)
            return self._in_file(claim, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        except (OSError, NotPrivate) as fault:
            log.warning("%s is not used: %s", self._file, fault)
            return super().claim(session_id, choose)

    def _in_file(self, call: "Callable[[int], T]", flags: int) -> "T":
        """Raises: OSError, NotPrivate."""
        fd = os.open(self._file, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        try:
            require_private(os.fstat(fd))
            fcntl.flock(fd, fcntl.LOCK_EX)
            return call(fd)
        finally:
            os.close(fd)

    def _read_on(self, fd: int) -> None:
        """Take what other daemons have added since."""
        status = os.fstat(fd)
        if status.st_ino != self._inode or status.st_size < self._n_read_bytes:
            self._inode, self._n_read_bytes = status.st_ino, 0
        data = os.pread(fd, status.st_size - self._n_read_bytes, self._n_read_bytes)
        whole, newline, _ = data.rpartition(b"\n")
        self._n_read_bytes += len(whole) + len(newline)
        for line in whole.splitlines():
            with suppress(msgspec.DecodeError, ValueError):  # a daemon was killed while it wrote
                session_id, label = msgspec.json.decode(line, type=tuple[str, str])
                if session_id:
                    self.labels.setdefault(SessionName(session_id), label)
                else:
                    self.since = float(label)

    def _drop_older(self, fd: int) -> None:
        kept = list(self.labels.items())[-MAX_NAMES // 2 :]
        os.ftruncate(fd, 0)
        os.write(fd, b"".join(_line(*known) for known in [("", repr(self.since)), *kept]))
        self._n_read_bytes = 0


def _line(session_id: str, label: str) -> bytes:
    return json.dumps([session_id, label]).encode() + b"\n"
