"""Journal of a change set: which names it changes, and what they were before and will be after.

A journal is a private file in the state folder, in `sets`, and its creator holds flock(2) on it. It is a sequence of
records, each a line: a digest, a space, JSON, a line feed. A line without its line feed was never complete and counts
as not written. The records, in the order in which they are written:

- `folders`: folders that the set creates for new files. Written and synced before they are created.
- `steps`: everything that recovery needs. It is synced before the first name changes: the set is PREPARED.
- `committed`: synced after all names have changed: the set is applied. Its space is reserved with the steps, so that a
  full disk cannot make it fail.
- `settled`: steps that a recovery has proven done, while others have to wait for their folders. It is written by the
  recovery, and more than once if need be.

A complete line that cannot be understood, before `steps`, is no proof that nothing was changed: such a journal is kept.
After `steps`, the set counts as not committed. Writer and reader have one bound, `MAX_JOURNAL_BYTES`.

`set_recovery.py` acts on a journal.
"""

import errno
import json
import os
import time
from typing import Any, Literal, Self, cast

import msgspec
import xxhash
from msgspec import Struct

from fileops.fs.local.own_files import is_set_file, is_temp_file
from fileops.model.events import RecoveryOutcome
from fileops.platform import descriptors, sync
from fileops.platform.private_files import create_locked

# Daemons up to 1.0 remove a journal with fields that they do not know; they look for ".journal" only.
SUFFIX = ".journal2"
SUFFIXES = (SUFFIX, ".journal")
MAX_JOURNAL_BYTES = 64 << 20  # 2,000 steps with two paths of 4 kB, each byte written as two, and a margin
_COMMITTED = {"committed": True}

in_use: set[str] = set()  # names of the journals of sets that this process is committing

StepKind = Literal["swap", "make", "drop", "move"]


class SetStep(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a set does to one name, or to two. Paths are canonical, as latin-1 of their bytes.

    kind: "swap" replaces the file at `path` by `temp`, "make" gives `temp` the name `path`, "drop" gives `path` the
    name `backup`, "move" gives `path` the name `new_path`. temp, backup: names in the folder of `path`; `kept` is the
    name of the new file before the steps were written. ino, digest, uid, mode: of the old file, `new_*` of the new one.
    folder_ino, new_folder_ino: of the folders of `path` and `new_path`; 0 in journals of older versions.
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
    folder_ino: int = 0
    new_folder_ino: int = 0

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


class SettledStep(Struct, frozen=True, kw_only=True):
    """What a recovery has done about a step. index: of the step. kept_as: a path, as latin-1 of its bytes."""

    index: int
    outcome: RecoveryOutcome
    kept_as: str | None = None


class ReadJournal(Struct, frozen=True, kw_only=True):
    """The contents of a journal.

    record: None if the set was never prepared, or if the journal is damaged. end: where the last intact record ends.
    """

    folders: tuple[str, ...] = ()
    record: SetRecord | None = None
    is_committed: bool = False
    settled: tuple[SettledStep, ...] = ()
    is_damaged: bool = False
    end: int = 0


def to_latin(path: str) -> str:
    return os.fsencode(path).decode("latin-1")


def from_latin(path: str) -> str:
    return os.fsdecode(path.encode("latin-1"))


class SetJournal:
    """The journal of a set that is being committed."""

    def __init__(self, folder: str, set_id: str) -> None:
        """Create it. Raises: OSError."""
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._name = f"{set_id}{SUFFIX}"
        self._dir_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        in_use.add(self._name)
        try:
            self._fd = create_locked(self._name, self._dir_fd)
        except OSError:
            in_use.discard(self._name)
            descriptors.close(self._dir_fd)
            raise
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
        _require_bound(self._n_bytes + len(line))
        sync.write_at(self._fd, line, self._n_bytes)
        self._n_bytes += len(line)


def note_settled(fd: int, journal: ReadJournal, settled: tuple[SettledStep, ...]) -> None:
    """Write and sync, after the last intact record, what a recovery has done. Raises: OSError."""
    line = _line({"settled": msgspec.to_builtins(settled)})
    _require_bound(journal.end + len(line))
    sync.write_at(fd, line, journal.end)
    os.ftruncate(fd, journal.end + len(line))
    sync.sync(fd)


def read_journal(fd: int) -> ReadJournal:
    """Return the intact part of a journal. Raises: OSError."""
    n_bytes = os.fstat(fd).st_size
    if n_bytes > MAX_JOURNAL_BYTES:
        return ReadJournal(is_damaged=True)
    journal = ReadJournal()
    *lines, _unfinished = sync.read_at(fd, 0, n_bytes).split(b"\n")
    for line in lines:
        try:
            journal = _with_record(journal, _parse(line))
        except ValueError:
            return msgspec.structs.replace(journal, is_damaged=journal.record is None)
        journal = msgspec.structs.replace(journal, end=journal.end + len(line) + 1)
    return journal


def _with_record(journal: ReadJournal, fields: dict[str, Any]) -> ReadJournal:
    """Return the journal with one more record. Raises: ValueError (as msgspec's ValidationError), if it is not one."""
    changed = msgspec.structs.replace
    if journal.record is None and "folders" in fields:
        folders = msgspec.convert(fields["folders"], tuple[str, ...])
        _require(all(map(_is_canonical, folders)))
        return changed(journal, folders=tuple(map(from_latin, folders)))
    if journal.record is None:
        record = msgspec.convert(fields, SetRecord)
        _require(all(step.is_sane() for step in record.steps))
        return changed(journal, record=record)
    if fields == _COMMITTED:
        return changed(journal, is_committed=True)
    settled = msgspec.convert(fields.get("settled"), tuple[SettledStep, ...])
    _require(all(0 <= step.index < len(journal.record.steps) for step in settled))
    return changed(journal, settled=settled)


def _require(is_sane: bool) -> None:
    if not is_sane:
        raise ValueError


def _require_bound(n_bytes: int) -> None:
    """Raises: OSError, if no recovery would read so much."""
    if n_bytes > MAX_JOURNAL_BYTES:
        raise OSError(errno.EFBIG, "the names of the files need a longer journal than is read")


def new_record(set_id: str, steps: tuple[SetStep, ...]) -> SetRecord:
    return SetRecord(set_id=set_id, prepared_at=time.time(), steps=steps)


def _line(fields: dict[str, Any]) -> bytes:
    body = json.dumps(fields, ensure_ascii=False).encode()  # escapes would make six bytes of each of a foreign name
    return xxhash.xxh3_128_hexdigest(body).encode() + b" " + body + b"\n"


def _parse(line: bytes) -> dict[str, Any]:
    """Raises: ValueError, if the line is not a record."""
    digest, _, body = line.partition(b" ")
    _require(digest == xxhash.xxh3_128_hexdigest(body).encode())
    try:
        fields = json.loads(body)
    except RecursionError as error:  # nested brackets
        raise ValueError from error
    _require(isinstance(fields, dict))
    return cast("dict[str, Any]", fields)


def _is_canonical(path: str) -> bool:
    names = path.split("/")
    return (
        max(map(ord, path), default=256) < 256
        and "\0" not in path
        and names[0] == ""
        and len(names) > 1
        and all(name not in {"", ".", ".."} for name in names[1:])
    )
