"""The history of edits on disk: one append-only file per daemon, each record with its length and checksum.

A record is on the disk when `append` returns; a record that a crash has cut off is recognised and ends its file. Files
are private and expire; if all together are too large, the oldest are removed. Several daemons share the folder.

The folder is not trusted: a file that this user's daemons cannot have written is renamed, and the client is notified.
The client is also notified when nothing can be written (a full disk), and again when that works.
"""

import errno
import fcntl
import logging
import os
import stat
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress

from fileops.history.records import MAX_RECORD_BYTES, DamagedRecord, packed, unpacked
from fileops.model.history import AppliedEdit
from fileops.platform import descriptors, sync
from fileops.platform.locks import lock_between_processes
from fileops.platform.private_files import NotPrivate, open_private, require_private_folder

log = logging.getLogger(__name__)

MAX_AGE_S = 30 * 24 * 3600
MAX_BYTES = 256 << 20
MAX_FILE_BYTES = 16 << 20  # then a new file begins, so that old ones can be removed
MAX_LOADED_BYTES = 64 << 20  # what the history holds in memory
_LOCK_WAIT_S = 1.0  # another daemon holds the lock for microseconds
_SUFFIX = ".edits"
_ASIDE = ".damaged"

Loaded = list[tuple[AppliedEdit, bytes | None]]


def default_folder() -> str:
    """`$XDG_STATE_HOME/fileops-server/history`, by default under `~/.local/state`."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "fileops-server", "history")


class DiskHistoryStore:
    """See ports.HistoryStore. folder: created when there is something to keep, accessible to the user only.

    `tell` gets sentences for the client, in the thread that calls the store.
    """

    def __init__(
        self,
        folder: str,
        *,
        tell: Callable[[str], None] = log.warning,
        max_age_s: float = MAX_AGE_S,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._folder = folder
        self._tell = tell
        self._max_age_s = max_age_s
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._fd = -1
        self._n_bytes = 0
        self._n_missing = 0  # edits since the last one that was kept

    # --- reading -----------------------------------------------------------------------------------------------

    def load(self) -> Loaded:
        try:
            require_private_folder(self._folder)
        except OSError as error:
            if error.errno != errno.ENOENT:
                self._tell(f"The history of edits in {self._folder} is not read: {error.strerror}.")
            return []
        self._prune()
        oldest = time.time() - self._max_age_s
        loaded = [
            (edit, content)
            for path in self._newest()
            for edit, content in self._loaded_from(path)
            if edit.timestamp >= oldest
        ]
        loaded.sort(key=lambda item: item[0].timestamp)
        return list({edit.edit_id: (edit, content) for edit, content in reversed(loaded)}.values())[::-1]

    def _loaded_from(self, path: str) -> Loaded:
        """The records of one file; none if it is renamed instead."""
        try:
            with os.fdopen(open_private(path), "rb") as file:
                return list(unpacked(file))
        except NotPrivate as refusal:
            self._put_aside(path, refusal.reason)
        except DamagedRecord as damage:
            log.warning("%s: %s", path, damage)
            self._put_aside(path, "has a record that is no edit")
        except OSError as error:
            log.warning("a part of the history cannot be read: %s", error)
        return []

    def _put_aside(self, path: str, reason: str) -> None:
        aside = path + _ASIDE
        try:
            os.rename(path, aside)
        except OSError as error:
            self._tell(f"The history file {path} is not read: it {reason}. It could not be renamed: {error.strerror}.")
        else:
            self._tell(f"The history file {path} is not read: it {reason}. It is now {aside}; remove it when you like.")

    # --- writing -----------------------------------------------------------------------------------------------

    def append(self, edit: AppliedEdit, content: bytes | None) -> None:
        record = packed(edit, content)
        with self._lock:
            try:
                if len(record) > MAX_RECORD_BYTES:
                    raise OSError(errno.EFBIG, "the edit is too large")
                self._write(record)
            except OSError as error:
                self._n_missing += 1
                sentence = _missing_sentence(self._folder, error) if self._n_missing == 1 else ""
            else:
                sentence = _kept_again_sentence(self._n_missing) if self._n_missing else ""
                self._n_missing = 0
        if sentence:
            self._tell(sentence)

    def close(self) -> None:
        with self._lock:
            self._end_file()

    def _write(self, record: bytes) -> None:
        if self._fd >= 0 and not os.fstat(self._fd).st_nlink:  # the folder was cleared
            self._end_file()
        if self._fd < 0 or self._n_bytes + len(record) > MAX_FILE_BYTES:
            self._begin_file()
        try:
            sync.write_all(self._fd, record)
            os.fsync(self._fd)
        except OSError:
            self._truncate()
            raise
        self._n_bytes += len(record)

    def _truncate(self) -> None:
        """Remove an incomplete record, which would end the file for all later ones."""
        try:
            os.ftruncate(self._fd, self._n_bytes)
        except OSError:
            self._end_file()

    def _begin_file(self) -> None:
        self._end_file()
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        require_private_folder(self._folder)
        path = os.path.join(self._folder, f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}{_SUFFIX}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(path, flags, 0o600)
        try:
            lock_between_processes(fd, _LOCK_WAIT_S)  # other daemons see that it is in use
        except OSError:
            descriptors.close(fd)
            with suppress(OSError):  # an empty file is harmless
                os.unlink(path)
            raise
        self._fd = fd
        self._n_bytes = 0

    def _end_file(self) -> None:
        if self._fd >= 0:
            descriptors.close(self._fd)
            self._fd = -1

    # --- pruning -----------------------------------------------------------------------------------------------

    def _files(self, suffix: str = _SUFFIX) -> list[str]:
        """Oldest first."""
        try:
            names = sorted(os.listdir(self._folder))
        except OSError:
            return []
        return [os.path.join(self._folder, name) for name in names if name.endswith(suffix)]

    def _newest(self) -> list[str]:
        """The newest files, as many as are read at the start."""
        chosen: list[str] = []
        n_bytes = 0
        for path in reversed(self._files()):
            n_bytes += _size_of(path)
            if n_bytes > MAX_LOADED_BYTES and chosen:
                break
            chosen.append(path)
        return chosen[::-1]

    def _prune(self) -> None:
        kept_bytes = 0
        for path in (*reversed(self._files()), *self._files(_ASIDE)):
            try:
                status = os.lstat(path)
                if not stat.S_ISREG(status.st_mode):
                    continue
                kept_bytes += status.st_size
                is_old = status.st_mtime < time.time() - self._max_age_s
                if (is_old or kept_bytes > self._max_bytes) and (path.endswith(_ASIDE) or not _is_in_use(path)):
                    os.unlink(path)
                    kept_bytes -= status.st_size
            except (OSError, NotPrivate) as error:
                log.info("an old history file stays: %s", error)


def _missing_sentence(folder: str, error: OSError) -> str:
    return (
        f"The history of edits cannot be kept in {folder}: {error.strerror}. Edits are still made, and can be undone "
        "until this daemon ends, but not after it. A message follows when the history is kept again."
    )


def _kept_again_sentence(n_missing: int) -> str:
    edits = "1 edit that was" if n_missing == 1 else f"{n_missing} edits that were"
    return f"The history of edits is kept on disk again. It lacks {edits} made meanwhile."


def _size_of(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def _is_in_use(path: str) -> bool:
    """Raises: OSError, NotPrivate."""
    fd = open_private(path)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        descriptors.close(fd)
    return False
