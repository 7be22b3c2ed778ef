"""The history of edits on disk: one append-only file per daemon, each record with its length and checksum.

A record is on the disk when `append` returns; what a crash cut short is recognised and ends its file. Files are
private, die of age, and the oldest go first where all together are too large. Several daemons share the folder.
"""

import fcntl
import logging
import os
import struct
import threading
import time
import uuid
import zlib
from collections.abc import Iterator

import msgspec

from fileops.model import AppliedEdit, Splice

log = logging.getLogger(__name__)

MAX_AGE_S = 30 * 24 * 3600
MAX_BYTES = 256 << 20
MAX_FILE_BYTES = 16 << 20  # then a new one is begun, so that old records can go
MAX_LOADED_BYTES = 64 << 20  # what the history holds in memory
_HEAD = struct.Struct("<II")  # length and crc32 of the payload
_MAX_RECORD_BYTES = 64 << 20
_SUFFIX = ".edits"


def default_folder() -> str:
    """`$XDG_STATE_HOME/fileops-server/history`, by default under `~/.local/state`."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "fileops-server", "history")


class _Record(msgspec.Struct, frozen=True, array_like=True):
    """The fields of AppliedEdit, and the content after it, zlib-compressed. Appended to only at its end."""

    edit_id: str
    session_id: str
    file_path: bytes
    path: bytes
    timestamp: float
    kind: str
    reverse: list[tuple[int, int, bytes]]
    before: bytes | None
    after: bytes | None
    summary: str
    diff: bytes
    n_added: int
    n_removed: int
    undoes: list[str]
    content: bytes | None


class DiskHistoryStore:
    """See ports.HistoryStore. folder: made, for the user alone, when there is something to keep."""

    def __init__(self, folder: str, *, max_age_s: float = MAX_AGE_S, max_bytes: int = MAX_BYTES) -> None:
        self._folder, self._max_age_s, self._max_bytes = folder, max_age_s, max_bytes
        self._lock = threading.Lock()
        self._fd = -1
        self._n_bytes = 0
        self._is_broken = False

    def load(self) -> list[tuple[AppliedEdit, bytes | None]]:
        self._prune()
        oldest = time.time() - self._max_age_s
        records = [record for path in self._newest() for record in _records_of(path) if record.timestamp >= oldest]
        records.sort(key=lambda record: record.timestamp)
        return [(_edit_of(record), record.content) for record in records]

    def append(self, edit: AppliedEdit, content: bytes | None) -> None:
        payload = msgspec.msgpack.encode(_record_of(edit, None if content is None else zlib.compress(content, 1)))
        if len(payload) > _MAX_RECORD_BYTES:
            return
        with self._lock:
            if self._is_broken:
                return
            try:
                self._write(_HEAD.pack(len(payload), zlib.crc32(payload)) + payload)
            except OSError as error:
                log.warning("the history is not kept on disk any more: %s", error.strerror)
                self._is_broken = True

    def close(self) -> None:
        with self._lock:
            self._end_file()

    # --- writing -----------------------------------------------------------------------------------------------

    def _write(self, record: bytes) -> None:
        if self._fd < 0 or self._n_bytes + len(record) > MAX_FILE_BYTES:
            self._begin_file()
        view = memoryview(record)
        while view:
            view = view[os.write(self._fd, view) :]
        os.fsync(self._fd)
        self._n_bytes += len(record)

    def _begin_file(self) -> None:
        self._end_file()
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        name = f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}{_SUFFIX}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._fd = os.open(os.path.join(self._folder, name), flags, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # tells other daemons that it is in use
        self._n_bytes = 0

    def _end_file(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    # --- pruning -----------------------------------------------------------------------------------------------

    def _files(self) -> list[str]:
        """Oldest first."""
        try:
            names = sorted(os.listdir(self._folder))
        except OSError:
            return []
        return [os.path.join(self._folder, name) for name in names if name.endswith(_SUFFIX)]

    def _newest(self) -> list[str]:
        """As many of the newest files as are worth reading at the start."""
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
        for path in reversed(self._files()):
            try:
                status = os.stat(path)
                kept_bytes += status.st_size
                is_old = status.st_mtime < time.time() - self._max_age_s
                if (is_old or kept_bytes > self._max_bytes) and not _is_in_use(path):
                    os.unlink(path)
                    kept_bytes -= status.st_size
            except OSError as error:
                log.info("an old history file stays: %s", error.strerror)


def _size_of(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _is_in_use(path: str) -> bool:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def _records_of(path: str) -> Iterator[_Record]:
    """Up to the first that is not whole."""
    decoder = msgspec.msgpack.Decoder(_Record)
    try:
        with open(path, "rb") as file:
            while len(head := file.read(_HEAD.size)) == _HEAD.size:
                length, checksum = _HEAD.unpack(head)
                payload = file.read(min(length, _MAX_RECORD_BYTES))
                if len(payload) != length or zlib.crc32(payload) != checksum:
                    return
                yield decoder.decode(payload)
    except (OSError, msgspec.DecodeError) as error:
        log.info("a part of the history cannot be read: %s", error)


def _record_of(edit: AppliedEdit, content: bytes | None) -> _Record:
    return _Record(
        edit_id=edit.edit_id,
        session_id=_kept(edit.session_id),
        file_path=edit.file_path.encode("utf-8", "surrogatepass"),
        path=edit.path.encode("utf-8", "surrogatepass"),
        timestamp=edit.timestamp,
        kind=edit.kind,
        reverse=[(splice.start, splice.end, splice.new) for splice in edit.reverse],
        before=edit.before,
        after=edit.after,
        summary=_kept(edit.summary),
        diff=edit.diff.encode("utf-8", "surrogatepass"),
        n_added=edit.n_added,
        n_removed=edit.n_removed,
        undoes=list(edit.undoes),
        content=content,
    )


def _edit_of(record: _Record) -> AppliedEdit:
    return AppliedEdit(
        edit_id=record.edit_id,
        session_id=record.session_id,
        file_path=record.file_path.decode("utf-8", "surrogatepass"),
        path=record.path.decode("utf-8", "surrogatepass"),
        timestamp=record.timestamp,
        kind="create" if record.kind == "create" else "delete" if record.kind == "delete" else "modify",
        reverse=tuple(Splice(start, end, new) for start, end, new in record.reverse),
        before=record.before,
        after=record.after,
        summary=record.summary,
        diff=record.diff.decode("utf-8", "surrogatepass"),
        n_added=record.n_added,
        n_removed=record.n_removed,
        undoes=tuple(record.undoes),
    )


def _kept(text: str) -> str:
    """Msgpack's strings hold no lone surrogates."""
    return text.encode("utf-8", "replace").decode()
