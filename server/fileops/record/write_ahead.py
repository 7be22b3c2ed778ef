"""Edits that this daemon is about to write, in a file beside the record, so that a kill costs none its author.

An edit is answered once its file is written, and its entry is stored a moment later. If the daemon is killed in
between, the next one finds a content that nobody is known to have written. So before each write, its author and the
digests of both contents are appended to a file of this process, without a sync: what was written survives a kill. As
soon as the record has all of these edits, the file is emptied.

The file is locked (flock) while its process lives, so other daemons can tell which files were left behind. A daemon
takes over their notes at its start, and drops each one once it has compared its folder. Thread-safe.
"""

import fcntl
import logging
import os
import threading
import uuid
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct

from fileops.core.roots import is_inside
from fileops.model.commits import IntendedWrite
from fileops.model.sessions import SessionName

log = logging.getLogger(__name__)

_PREFIX = "ahead-"
_MAX_BYTES = 16 << 20  # read of one file: of 50,000 edits that waited for a locked database


class _Row(Struct, frozen=True, array_like=True):
    """One line of the file. path: it need not be UTF-8. The other fields are those of IntendedWrite."""

    path: bytes
    session_id: str
    label: str
    before: bytes | None
    after: bytes
    time: float


class WriteAhead:
    """See the module. folder: that of the record."""

    def __init__(self, folder: str, oldest: float) -> None:
        """Args: oldest: when notes were made that are not taken over any more, in seconds since the epoch."""
        self._folder, self._oldest = folder, oldest
        self._path = os.path.join(folder, f"{_PREFIX}{uuid.uuid4().hex}")
        self._lock = threading.Lock()
        self._fd = -1
        self._pending = Counter[str]()  # by path: writes whose entries are not in the record yet
        self._left: dict[str, list[IntendedWrite]] = {}  # by path, oldest first: writes of daemons that were killed

    def begin(self, intended: IntendedWrite) -> None:
        """Note a write that is about to be made. If the disk does not take the note, the write is made without it."""
        with self._lock:
            self._pending[intended.path] += 1
            self._append(intended)

    def end(self, path: str, *, is_stored: bool = True) -> None:
        """Note that the record has the write of a file, or that it was not made. Args: is_stored: on the disk."""
        with self._lock:
            self._pending[path] -= 1
            if self._pending[path] <= 0:
                del self._pending[path]
            if is_stored and not self._pending and self._fd >= 0:
                self._empty()

    def is_pending(self, path: str) -> bool:
        with self._lock:
            return path in self._pending

    # --- what was left behind ----------------------------------------------------------------------------------

    def take_over(self) -> None:
        """Take over the notes of daemons that were killed. Raises: OSError."""
        with self._lock:
            for name in sorted(os.listdir(self._folder)):
                if name.startswith(_PREFIX):
                    self._take(os.path.join(self._folder, name))

    def list_unfinished(self, root: str) -> list[str]:
        """Return the files in a folder that a killed daemon may have written."""
        with self._lock:
            return [path for path in self._left if is_inside(root, path)]

    def is_left(self, path: str) -> bool:
        with self._lock:
            return path in self._left

    def drop(self, path: str) -> list[IntendedWrite]:
        """Drop the notes of a killed daemon about a file, and return them, oldest first."""
        with self._lock:
            return self._left.pop(path, [])

    def close(self) -> None:
        """Remove the file, unless it has notes that the next daemon needs."""
        with self._lock:
            if self._fd >= 0:
                if not self._pending and not self._left:
                    with suppress(OSError):
                        os.unlink(self._path)
                os.close(self._fd)
                self._fd = -1

    # --- with the lock -----------------------------------------------------------------------------------------

    def _append(self, intended: IntendedWrite) -> None:
        row = _Row(
            os.fsencode(intended.path),
            intended.session_id,
            intended.label,
            intended.before,
            intended.after,
            intended.time,
        )
        try:
            if self._fd < 0:
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                self._fd = os.open(self._path, flags, 0o600)
                # Another daemon that looks before this removes an empty file; notes in it are then lost at a kill.
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(self._fd, msgspec.json.encode(row) + b"\n")
        except OSError as error:
            log.warning("an edit is made without a note of its author: %s", error)

    def _empty(self) -> None:
        with suppress(OSError):
            os.ftruncate(self._fd, 0)
        for intended in (each for of_path in self._left.values() for each in of_path):
            self._append(intended)

    def _take(self, path: str) -> None:
        """Take over one file, unless its process lives."""
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:  # another daemon was faster
            return
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lines = os.read(fd, _MAX_BYTES).split(b"\n")[:-1]  # after the last newline is what a kill cut off
            for row in (msgspec.json.decode(line, type=_Row) for line in lines):
                intended = _to_intended(row)
                if intended.time < self._oldest:
                    continue
                self._left.setdefault(intended.path, []).append(intended)
                self._append(intended)
            os.unlink(path)
        except BlockingIOError:
            return
        except msgspec.DecodeError as error:
            log.warning("the notes of a killed daemon are damaged, and dropped: %s", error)
            os.unlink(path)
        finally:
            os.close(fd)


def _to_intended(row: _Row) -> IntendedWrite:
    return IntendedWrite(
        path=os.fsdecode(row.path),
        session_id=SessionName(row.session_id),
        label=row.label,
        before=row.before,
        after=row.after,
        time=row.time,
    )


def is_of_one(writes: Sequence[IntendedWrite], before: bytes | None) -> bool:
    """Return whether a session made the last content of the one before it by nothing but these writes, oldest first."""
    session_id, content = writes[-1].session_id, writes[-1].after
    for write in reversed(writes):
        if write.session_id != session_id or write.after != content:
            return False
        if write.before == before:
            return True
        if write.before is None:
            return False
        content = write.before
    return False
