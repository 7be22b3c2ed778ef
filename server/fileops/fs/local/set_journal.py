"""Journal of a change set: which names it changes, and what they were before and will be after.

A journal is a private file in the state folder, in `sets`, and its creator holds flock(2) on it. It is a sequence of
records, each a line: a digest, a space, JSON, a line feed. Anything from the first damaged record on is ignored. The
records, in the order in which they are written:

- `folders`: folders that the set creates for new files. Written and synced before they are created.
- `steps`: everything that recovery needs. It is synced before the first name changes: the set is PREPARED.
- `committed`: synced after all names have changed: the set is applied. Its space is reserved with the steps, so that a
  full disk cannot make it fail.

`set_recovery.py` acts on a journal.
"""

import json
import os
import time
from typing import Any, Literal, Self, cast

import msgspec
import xxhash
from msgspec import Struct

from fileops.fs.local.own_files import is_set_file, is_temp_file
from fileops.platform import descriptors, sync
from fileops.platform.locks import try_lock

_COMMITTED = {"committed": True}
_MAX_JOURNAL_BYTES = 1 << 20  # 64 steps with two escaped paths of 4 kB each, and a margin

in_use: set[str] = set()  # names of the journals of sets that this process is committing

StepKind = Literal["swap", "make", "drop", "move"]


class SetStep(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a set does to one name, or to two. Paths are canonical, as latin-1 of their bytes.

    kind: "swap" replaces the file at `path` by `temp`, "make" gives `temp` the name `path`, "drop" gives `path` the
    name `backup`, "move" gives `path` the name `new_path`. temp, backup: names in the folder of `path`; `kept` is the
    name of the new file before the steps were written. ino, digest, uid, mode: of the old file, `new_*` of the new one.
    """

    kind: StepKind
    path: str
    new_path: str = ""
    kept: str = ""
    temp: str = ""
    backup: str = ""
    ino: int = 0
    digest: str = ""
    uid: int = 0
    mode: int = 0
    new_ino: int = 0
    new_digest: str = ""

    @property
    def file_path(self) -> str:
        return from_latin(self.path)

    def is_sane(self) -> bool:
        """Return whether a recovery may act on it: it names only files of our own, beside the files that it changes."""
        paths = [self.path, self.new_path] if self.kind == "move" else [self.path]
        wants = {"swap": (True, True, True), "make": (True, True, False), "drop": (False, False, True)}
        kept, temp, backup = wants.get(self.kind, (False, False, False))
        return (
            all(_is_canonical(path) for path in paths)
            and (is_temp_file(self.kept) if kept else not self.kept)
            and ((is_temp_file(self.temp) or is_set_file(self.temp)) if temp else not self.temp)
            and (is_set_file(self.backup) if backup else not self.backup)
        )


class SetRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The `steps` of a journal. prepared_at: seconds since the epoch."""

    magic: Literal["fileops set 1"] = "fileops set 1"
    set_id: str
    prepared_at: float
    steps: tuple[SetStep, ...]


class ReadJournal(Struct, frozen=True, kw_only=True):
    """The contents of a journal. record: None if the set was never prepared."""

    folders: tuple[str, ...] = ()
    record: SetRecord | None = None
    is_committed: bool = False


def to_latin(path: str) -> str:
    return os.fsencode(path).decode("latin-1")


def from_latin(path: str) -> str:
    return os.fsdecode(path.encode("latin-1"))


class SetJournal:
    """The journal of a set that is being committed."""

    def __init__(self, folder: str, set_id: str) -> None:
        """Create it. Raises: OSError."""
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._name = f"{set_id}.journal"
        self._dir_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._fd = os.open(self._name, flags, 0o600, dir_fd=self._dir_fd)
        except OSError:
            descriptors.close(self._dir_fd)
            raise
        try_lock(self._fd)
        in_use.add(self._name)
        self._n_bytes = 0

    def note_folders(self, folders: tuple[str, ...]) -> None:
        """Write and sync which folders are about to be created. Raises: OSError."""
        self._append(_line({"folders": [to_latin(folder) for folder in folders]}))
        sync.sync(self._fd)
        sync.sync_folder(self._dir_fd)

    def prepare(self, record: SetRecord) -> None:
        """Write and sync the steps. Raises: OSError."""
        self._append(_line(msgspec.to_builtins(record)))
        sync.reserve(self._fd, self._n_bytes, len(_line(_COMMITTED)))
        sync.sync(self._fd)
        sync.sync_folder(self._dir_fd)

    def commit(self) -> None:
        """Write and sync that the set is applied. Raises: OSError; the set then counts as not applied."""
        at = self._n_bytes
        try:
            self._append(_line(_COMMITTED))
            sync.sync(self._fd)
        except OSError:
            # The set is rolled back next. If this process dies during that, a record that has reached the disk after
            # all would make a mixture count as applied, so it is withdrawn first. That fails to help only if the disk
            # refuses this write as well and the process dies before the journal is removed.
            os.ftruncate(self._fd, at)
            self._n_bytes = at
            sync.sync(self._fd)
            raise

    def remove(self) -> bool:
        """Remove the journal. Return False if that fails; the next recovery then finds the set settled."""
        try:
            os.unlink(self._name, dir_fd=self._dir_fd)
        except OSError:
            return False
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        in_use.discard(self._name)
        descriptors.close(self._fd)
        descriptors.close(self._dir_fd)

    def _append(self, line: bytes) -> None:
        sync.write_at(self._fd, line, self._n_bytes)
        self._n_bytes += len(line)


def read_journal(fd: int) -> ReadJournal:
    """Return the intact part of a journal. Raises: OSError."""
    journal = ReadJournal()
    for line in sync.read_at(fd, 0, _MAX_JOURNAL_BYTES).splitlines():
        fields = _parse(line)
        if fields is None:
            break
        if fields == _COMMITTED and journal.record is not None:
            return msgspec.structs.replace(journal, is_committed=True)
        try:
            if "folders" in fields:
                folders = msgspec.convert(fields["folders"], tuple[str, ...])
                if journal.record is not None or not all(map(_is_canonical, folders)):
                    break
                journal = msgspec.structs.replace(journal, folders=tuple(map(from_latin, folders)))
            elif journal.record is None:
                record = msgspec.convert(fields, SetRecord)
                if not all(step.is_sane() for step in record.steps):
                    break
                journal = msgspec.structs.replace(journal, record=record)
            else:
                break
        except msgspec.ValidationError:
            break
    return journal


def new_record(set_id: str, steps: tuple[SetStep, ...]) -> SetRecord:
    return SetRecord(set_id=set_id, prepared_at=time.time(), steps=steps)


def _line(fields: dict[str, Any]) -> bytes:
    body = json.dumps(fields).encode("ascii")
    return xxhash.xxh3_128_hexdigest(body).encode() + b" " + body + b"\n"


def _parse(line: bytes) -> dict[str, Any] | None:
    digest, _, body = line.partition(b" ")
    if digest != xxhash.xxh3_128_hexdigest(body).encode():
        return None
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):  # RecursionError: nested brackets
        return None
    return cast("dict[str, Any]", fields) if isinstance(fields, dict) else None


def _is_canonical(path: str) -> bool:
    names = path.split("/")
    return (
        max(map(ord, path), default=256) < 256
        and "\0" not in path
        and names[0] == ""
        and len(names) > 1
        and all(name not in {"", ".", ".."} for name in names[1:])
    )
