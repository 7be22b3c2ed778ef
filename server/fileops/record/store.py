"""The record on disk: one SQLite file with entries, contents, turns, commands, and what is known of each file.

Thread-safe: there is one connection, guarded by one lock. Each method is one transaction. `transaction` joins several,
so that many entries are written at once. With WAL and `synchronous=normal`, a transaction survives a crash of the
process. A crash of the machine or a loss of power may lose the latest transactions, but never part of one.

Each content is stored once, under its digest, as a delta (record.blobs). Paths are bytes, because a name need not be
UTF-8. This module does not decide what is recorded. It is one module because one lock guards all tables, and most
transactions change several of them.
"""

import json
import logging
import os
import sqlite3
import sys
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import msgspec
from msgspec.structs import force_setattr, replace

from fileops.model.digest import content_digest
from fileops.model.internal_errors import UnknownId
from fileops.model.record import (
    CommandRecord,
    Contents,
    CountedTurn,
    Entry,
    FileVersion,
    KeptEdit,
    Known,
    LogQuery,
    Staged,
    TurnRecord,
    kind_of,
    session_of,
)
from fileops.model.sessions import SessionName, has_host_id
from fileops.platform.private_files import require_private_folder
from fileops.record import blobs
from fileops.record.work_trees import WorkTrees

log = logging.getLogger(__name__)

FILE_NAME = "record.db"
_NOT_OPEN = (0, 0)
_ASIDE = ".damaged-"  # then nanoseconds since the epoch
T = TypeVar("T")
VERSION = 5
MAX_AGE_S = 30 * 24 * 3600.0
MAX_BYTES = 1 << 30
MAX_MEMORY_BYTES = 64 << 20  # while the file cannot be written
_STEP = 500  # entries or contents removed in one step of pruning
_BUSY_MS = 100  # another daemon of this user writes for milliseconds
_BUSY_PAUSE_S = 0.02
_BUSY_S = 2.0  # how long a request waits for another program's lock
MAX_ANSWER_BYTES = 4 << 20  # of one, packed; a longer one is computed each time
MAX_EDITS_BYTES = 16 << 20  # of edits in one list: about 10,000
_ENTRIES_AT_ONCE = 500  # rows asked for by their ids
_ENTRY = msgspec.msgpack.Decoder(Entry)
_NAMES = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()  # as os.fsdecode has them, for many rows
_EDITS_AT_ONCE = 100  # rows read together: most lists end earlier

# Each one upgrades a database to the next version; the first one creates the tables of an empty one.
_UPGRADES = (
    """
CREATE TABLE entry (
    seq REAL PRIMARY KEY, entry_id TEXT NOT NULL UNIQUE, time REAL NOT NULL, path BLOB NOT NULL, by TEXT NOT NULL,
    session_id TEXT, turn_id TEXT, command_id TEXT, edit_id TEXT, rewind_id TEXT, undone_by TEXT,
    kept INTEGER NOT NULL, before BLOB, after BLOB, moved_from BLOB, moved_to BLOB, body BLOB NOT NULL);
CREATE INDEX entry_path ON entry (path, seq);
CREATE INDEX entry_session ON entry (session_id, seq);
CREATE INDEX entry_turn ON entry (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX entry_command ON entry (command_id) WHERE command_id IS NOT NULL;
CREATE INDEX entry_edit ON entry (edit_id) WHERE edit_id IS NOT NULL;
CREATE INDEX entry_rewind ON entry (rewind_id) WHERE rewind_id IS NOT NULL;
CREATE INDEX entry_unkept ON entry (path) WHERE kept = 0;
CREATE INDEX entry_before ON entry (before) WHERE before IS NOT NULL;
CREATE INDEX entry_after ON entry (after) WHERE after IS NOT NULL;
CREATE TABLE blob (digest BLOB PRIMARY KEY, base BLOB, n_deltas INTEGER NOT NULL, packed BLOB NOT NULL);
CREATE INDEX blob_base ON blob (base) WHERE base IS NOT NULL;
CREATE TABLE turn (turn_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, began REAL NOT NULL, body BLOB NOT NULL);
CREATE TABLE command (command_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, began REAL NOT NULL, body BLOB NOT NULL);
CREATE TABLE known (
    root BLOB NOT NULL, path BLOB NOT NULL, digest BLOB, body BLOB NOT NULL, PRIMARY KEY (root, path)) WITHOUT ROWID;
CREATE TABLE kept_place (change_id TEXT PRIMARY KEY, entry_id TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX kept_place_entry ON kept_place (entry_id);
CREATE INDEX known_digest ON known (digest) WHERE digest IS NOT NULL;
""",
    """
CREATE TABLE edit (edit_id TEXT PRIMARY KEY, time REAL NOT NULL, path BLOB NOT NULL, body BLOB NOT NULL);
CREATE INDEX edit_time ON edit (time);
CREATE INDEX edit_path ON edit (path);
""",
    """
CREATE TABLE keep (keep_id TEXT NOT NULL, entry_id TEXT NOT NULL, change_id TEXT);
CREATE INDEX keep_id ON keep (keep_id);
CREATE INDEX keep_entry ON keep (entry_id);
""",
    """
CREATE TABLE folder (root BLOB PRIMARY KEY, since REAL NOT NULL) WITHOUT ROWID;
""",
    """
CREATE TABLE staged (path BLOB PRIMARY KEY, root BLOB NOT NULL, oid BLOB, by_agent INTEGER NOT NULL) WITHOUT ROWID;
""",
)
# Answers that took long to compute, one of each kind for a file. They can be removed at any time, so no version of the
# record needs the table. oldest: the time of the oldest entry that the answer has text of.
_ANSWERS = """
CREATE TABLE IF NOT EXISTS answer (
    path BLOB NOT NULL, kind TEXT NOT NULL, key BLOB NOT NULL, oldest REAL NOT NULL, packed BLOB NOT NULL,
    PRIMARY KEY (path, kind)) WITHOUT ROWID;
"""
# See model.sessions.has_host_id.
_HAS_HOST_ID = "instr(substr({0}, 1, instr({0} || '/', '/') - 1), ':') > 0"
_ENTRY_COLUMNS = (
    "entry_id", "time", "path", "by", "session_id", "turn_id", "command_id", "edit_id", "rewind_id", "undone_by",
    "kept", "before", "after", "moved_from", "moved_to", "body",
)  # fmt: skip
# The tables that change while the file cannot be written, and their key columns. Contents never change.
TABLE_KEYS = {
    "entry": ("entry_id",), "turn": ("turn_id",), "command": ("command_id",), "kept_place": ("change_id",),
    "keep": ("keep_id", "entry_id"), "edit": ("edit_id",), "known": ("root", "path"),
    "folder": ("root",), "staged": ("path",),
}  # fmt: skip
_COLUMNS = "seq, path, moved_from, moved_to, body"


def default_folder() -> str:
    """Return `$XDG_STATE_HOME/fileops-server/record`, by default under `~/.local/state`."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "fileops-server", "record")


def is_locked(error: sqlite3.Error) -> bool:
    """Whether another program has locked the database, for a while."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def put_aside(folder: str) -> str:
    """Rename a damaged database, so that a new one can be created. Returns the new path. Raises: OSError."""
    path = os.path.join(folder, FILE_NAME)
    aside = f"{path}{_ASIDE}{time.time_ns()}"
    for suffix in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.rename(path + suffix, aside + suffix)
    os.rename(path, aside)
    return aside


def is_damage(error: Exception) -> bool:
    """Whether an error says that what is in the database is not what was written there."""
    if isinstance(error, RecordDamaged | msgspec.DecodeError):
        return True
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return True
    return isinstance(error, sqlite3.OperationalError) and str(error).startswith(("no such table", "no such column"))


def asides(folder: str) -> list[str]:
    """Return the damaged databases that were put aside, with their further files, oldest first."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name.startswith(f"{FILE_NAME}{_ASIDE}")]


class RecordDamaged(sqlite3.DatabaseError):
    """The database is damaged. It was put aside, and the next attempt finds a new one."""


class NewerRecord(Exception):
    """The database was written by a newer version of the server."""


class RecordStore:
    """A record in one folder. Missing folders are created, private to this user. Without a folder it is in memory.

    Raises (from `__init__`): OSError, sqlite3.Error, NewerRecord.
    """

    def __init__(self, folder: str | None, *, is_usable: bool = True, waits: bool = True) -> None:
        """Args: is_usable: False keeps the record in memory for now. waits: see `transaction`."""
        self.folder = folder
        # Before this time, a session name without a host's id may have belonged to another session.
        self.named_since = 0.0
        self.recorder = uuid.uuid4().hex[:8]  # marks the entries added by this process
        self._work_trees = WorkTrees()
        self._lock = threading.RLock()
        self._n_open = 0  # depth of transactions
        self.path = ":memory:" if folder is None or not is_usable else _private_file(folder)
        self._db = _connect(self.path)
        # Called with the reason, and where the database is now, when a damaged one was put aside; under the lock.
        self.on_begun_again: Callable[[str, str | None], None] = lambda _reason, _aside: None
        self._inode = _NOT_OPEN
        try:
            self._set_up(waits=waits)
            self._first_seq = self._next_seq()  # of what is written from now on
            if not is_usable:
                self._note_changes()
        except BaseException:
            self._db.close()
            raise

    def _set_up(self, *, waits: bool = True) -> None:
        self._db.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        with self.transaction(waits=waits):
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if version > VERSION:
                raise NewerRecord(f"it was written by a newer version ({version})")
            for upgrade in _UPGRADES[version:]:
                for statement in upgrade.split(";"):
                    self._db.execute(statement)
            if version < VERSION:
                self._db.execute(f"PRAGMA user_version = {VERSION}")
            self._db.execute(_ANSWERS)
            tables = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not {*TABLE_KEYS, "blob"} <= tables:
                raise RecordDamaged("a table is missing")
        if self.path != ":memory:":
            status = os.stat(self.path)
            self._inode = status.st_dev, status.st_ino

    @contextmanager
    def transaction(self, *, waits: bool = True) -> Generator[None]:
        """Run the body as one transaction, which an exception rolls back. Nests.

        Args: waits: whether to wait up to 2 s if another program has locked the database. Raises: sqlite3.Error.
        """
        self._acquire_lock(_BUSY_S if waits else 0.0)
        try:
            self._n_open += 1
            try:
                yield
            except BaseException as error:
                self._n_open -= 1
                if self._n_open == 0:
                    self._roll_back(error)
                raise
            self._n_open -= 1
            if self._n_open == 0:
                self._db.execute("COMMIT")
        finally:
            self._lock.release()

    def _roll_back(self, error: BaseException) -> None:
        """Roll back after an error. A damaged record is put aside, so that the next attempt finds a new one."""
        is_open = self._inode != _NOT_OPEN  # else it is being opened, and who opens it decides
        if not is_open or not isinstance(error, Exception) or not is_damage(error) or self.is_in_memory:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            return
        self._begin_again(error)

    def _acquire_lock(self, wait_s: float) -> None:
        """Take our lock and, unless this thread has it, the database's. While it waits for that one, ours is free."""
        ends_at = time.monotonic() + wait_s
        while True:
            self._lock.acquire()
            try:
                if self._n_open == 0:
                    self._db.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as error:
                self._lock.release()
                if not is_locked(error) or time.monotonic() >= ends_at:
                    raise
                time.sleep(_BUSY_PAUSE_S)
            else:
                return

    def is_known_by_name(self, session_id: SessionName, at: float) -> bool:
        """Whether this name meant the same session at that time as now."""
        return has_host_id(session_id) or at >= self.named_since

    def sync(self) -> bool:
        """Write everything through to the disk. False if another daemon was in the way. Raises: sqlite3.Error."""
        ((is_busy, _, _),) = self._rows("PRAGMA wal_checkpoint(FULL)")
        return not is_busy

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @property
    def n_bytes(self) -> int:
        """The size of the record, without the free space inside its file."""
        (n_pages,), (n_free,), (n_page_bytes,) = (
            self._rows(f"PRAGMA {name}")[0] for name in ("page_count", "freelist_count", "page_size")
        )
        return (n_pages - n_free) * n_page_bytes

    def move_to_memory(self) -> None:
        """Continue in memory, with what was recorded so far unless it is too large: the file cannot be written."""
        with self._lock:
            memory = _connect(":memory:")
            try:
                if self.n_bytes <= MAX_MEMORY_BYTES:
                    self._db.backup(memory)
            except sqlite3.Error as error:
                log.warning("the record begins again in memory: %s", error)
                memory.close()
                memory = _connect(":memory:")
            with suppress(sqlite3.Error):
                self._db.close()
            self._db, self._n_open, self.path = memory, 0, ":memory:"
            self._set_up()
            self._note_changes()

    def _note_changes(self) -> None:
        """From now on, note which rows change, for `return_to_disk`."""
        self._db.execute("CREATE TABLE changed (name TEXT, key BLOB, key2 BLOB, PRIMARY KEY (name, key, key2))")
        for table, keys in TABLE_KEYS.items():
            for event, row in (("INSERT", "new"), ("UPDATE", "new"), ("DELETE", "old")):
                columns = [f"{row}.{key}" for key in keys] + ["''"] * (2 - len(keys))
                self._db.execute(
                    f"CREATE TRIGGER changed_{table}_{event} AFTER {event} ON {table} BEGIN "
                    f"INSERT OR IGNORE INTO changed VALUES ('{table}', {', '.join(columns)}); END"
                )

    def return_to_disk(self) -> None:
        """Write what was recorded in memory into the file, and continue there. Raises: OSError, sqlite3.Error."""
        with self._lock:
            disk = RecordStore(self.folder, waits=False)
            disk.named_since, disk.recorder = self.named_since, self.recorder
            disk.close()
            self._db.execute("ATTACH ? AS disk", (disk.path,))
            try:
                with self.transaction(waits=False):
                    inserted = self._rows(_INSERTED)
                    for statement in _return_statements():
                        self._db.execute(statement)
                    for entry_id, later in inserted:
                        self._db.execute(_MOVE_BEFORE, {"entry_id": entry_id, "later": later})
            except BaseException:
                self._db.execute("DETACH disk")
                raise
            self._db.close()
            self._db, self.path = _connect(disk.path), disk.path
            self._db.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
            self._db.execute("PRAGMA synchronous = NORMAL")

    @property
    def is_in_memory(self) -> bool:
        return self.path == ":memory:"

    # --- entries -----------------------------------------------------------------------------------------------

    def append(self, entry: Entry, contents: Contents, *, earlier_than: str | None = None) -> None:
        """Add an entry as the newest, or just before another one.

        Args: contents: the contents whose digests are in `entry.before` and `entry.after`; None if one is already
        stored or is not kept. earlier_than: the id of the other entry.
        """
        with self.transaction():
            self._put_contents(entry, contents)
            seq = self._next_seq() if earlier_than is None else self._seq_before(earlier_than)
            self._write(seq, replace(entry, recorder=entry.recorder or self.recorder))

    def replace(self, entry: Entry, contents: Contents | None = None) -> None:
        """Change an entry. Args: contents: as in `append`, if they changed. Raises: UnknownId."""
        with self.transaction():
            if contents is not None:
                self._put_contents(entry, contents)
            self._write(self._seq_of(entry.entry_id), entry)

    def remove(self, entry_ids: Iterable[str]) -> None:
        """Remove entries. The next pruning removes their contents."""
        with self.transaction():
            ids = [(entry_id,) for entry_id in entry_ids]
            self._db.executemany("DELETE FROM entry WHERE entry_id = ?", ids)
            self._db.executemany("DELETE FROM kept_place WHERE entry_id = ?", ids)
            self._db.executemany("DELETE FROM keep WHERE entry_id = ?", ids)

    def entry(self, entry_id: str) -> Entry | None:
        rows = self._read(_entry_of, f"SELECT {_COLUMNS} FROM entry WHERE entry_id = ?", entry_id)
        return rows[0] if rows else None

    def entry_of_edit(self, edit_id: str) -> Entry | None:
        """The entry of an edit made through the daemon; of a rename, the later one."""
        rows = self._read(
            _entry_of, f"SELECT {_COLUMNS} FROM entry WHERE edit_id = ? ORDER BY seq DESC LIMIT 1", edit_id
        )
        return rows[0] if rows else None

    def entries_of_edit(self, edit_id: str) -> list[Entry]:
        """The entries of an edit made through the daemon, oldest first: a rename has two."""
        return self._read(_entry_of, f"SELECT {_COLUMNS} FROM entry WHERE edit_id = ? ORDER BY seq", edit_id)

    def newest(self, path: str) -> Entry | None:
        """The newest entry of a file, or None."""
        found, _ = self.entries(LogQuery(path=path, limit=1), is_file=True)
        return found[0] if found else None

    def was_removed(self, path: str) -> bool:
        """Whether an entry removed the file at this path, or left a content that is not kept."""
        return bool(self._rows("SELECT 1 FROM entry WHERE path = ? AND after IS NULL LIMIT 1", os.fsencode(path)))

    def newest_unkept(self) -> list[Entry]:
        """The newest entry of each path that no person has accepted and that is in force, newest first."""
        newest = "SELECT max(seq) FROM entry WHERE kept = 0 AND undone_by IS NULL GROUP BY path"
        return self._read(_entry_of, f"SELECT {_COLUMNS} FROM entry WHERE seq IN ({newest}) ORDER BY seq DESC")

    def is_earlier(self, entry: Entry) -> bool:
        """Whether an entry was there when this process opened the record. The clock may have been set back since."""
        return self._seq_of(entry.entry_id) < self._first_seq

    def previous(self, entry: Entry) -> Entry | None:
        """The entry of the same file before this one, or None. Raises: UnknownId."""
        rows = self._read(
            _entry_of,
            f"SELECT {_COLUMNS} FROM entry WHERE path = ? AND seq < ? ORDER BY seq DESC LIMIT 1",
            os.fsencode(entry.path),
            self._seq_of(entry.entry_id),
        )
        return rows[0] if rows else None

    def next_entry(self, entry: Entry) -> Entry | None:
        """The entry of the same file after this one, or None. Raises: UnknownId."""
        rows = self._read(
            _entry_of,
            f"SELECT {_COLUMNS} FROM entry WHERE path = ? AND seq > ? ORDER BY seq LIMIT 1",
            os.fsencode(entry.path),
            self._seq_of(entry.entry_id),
        )
        return rows[0] if rows else None

    def other_half(self, entry: Entry) -> Entry | None:
        """Return the other half of the rename that an entry is half of; None if it is none, or the other is not known.

        A file can be renamed to and fro, so several entries may name each other. The halves of one rename are written
        together, so each is the nearest one to the other. Of an entry that was merged since it was read, there is none.
        An undo of a rename gives the file its name back, so it is a rename too, although its entries name no other.
        """
        other = self._nearest_half(entry)
        if other is None:
            return self._other_half_of_undo(entry) if entry.undoes else None
        back = self._nearest_half(other)
        return other if back is not None and back.entry_id == entry.entry_id else None

    def _other_half_of_undo(self, entry: Entry) -> Entry | None:
        """Return the half of the same undo that undid the other half of a rename."""
        if entry.kind not in {"create", "delete"}:
            return None
        undone = (self.entry(entry_id) for entry_id in entry.undoes)
        halves = (self.other_half(each) for each in undone if each is not None and _is_reverse(each, entry))
        for half in halves:
            if half is None:
                continue
            of_undo = self.entries_of_edit(entry.edit_id) if entry.edit_id is not None else []
            if entry.rewind_id is not None:
                of_undo += self.entries(LogQuery(path=half.path, rewind_id=entry.rewind_id), is_file=True)[0]
            for other in of_undo:
                if other.path == half.path and _is_reverse(other, half) and half.entry_id in other.undoes:
                    return other
        return None

    def _nearest_half(self, entry: Entry) -> Entry | None:
        name, column = (entry.moved_to, "moved_from") if entry.kind == "delete" else (entry.moved_from, "moved_to")
        if name is None:
            return None
        rows = self._read(
            _entry_of,
            f"SELECT {_COLUMNS} FROM entry WHERE path = ? AND {column} = ? "
            "ORDER BY ABS(seq - (SELECT seq FROM entry WHERE entry_id = ?)) LIMIT 1",
            os.fsencode(name),
            os.fsencode(entry.path),
            entry.entry_id,
        )
        return rows[0] if rows else None

    def entries(self, query: LogQuery, *, is_file: bool = False) -> tuple[list[Entry], bool]:
        """Return entries, newest first, and whether there are more than `query.limit`.

        Args: is_file: whether `query.path` is a file, not a folder. Raises: UnknownId, if `query.before` is unknown.
        """
        where, values = self._conditions(query, is_file=is_file)
        n_wanted = -1 if query.limit is None else query.limit + 1
        sql = f"SELECT {_COLUMNS} FROM entry WHERE {where} ORDER BY seq DESC LIMIT ?"
        found = self._read(_entry_of, sql, *values, n_wanted)
        return found[: query.limit], query.limit is not None and len(found) > query.limit

    def contents(self, entry: Entry, known: dict[bytes, bytes] | None = None) -> Contents:
        """The contents of an entry; None for one that is not kept or no longer kept. Args: known: see `content`."""
        return Contents(self._content_of(entry.before, known), self._content_of(entry.after, known))

    def mark_undone(self, entry_ids: Iterable[str], undone_by: str | None) -> None:
        """Note which entry undid these, or (None) that they are in force again."""
        self._change(entry_ids, lambda entry: replace(entry, undone_by=undone_by))

    def undo(self, entry_ids: Iterable[str], undone_by: str | None) -> None:
        """Note that an entry undid these, or (None) that they are in force again, and what follows from that.

        A redo is an undo, which can be undone. So whatever an undone entry had undone is in force again, what that had
        undone is not, and so on.
        """
        with self.transaction():
            entries = [entry for entry in map(self.entry, entry_ids) if entry is not None]
            self.mark_undone([entry.entry_id for entry in entries], undone_by)
            for entry in entries:
                self.undo(entry.undoes, None if undone_by is not None else entry.entry_id)

    def keep(self, keep_id: str, entry_ids: Iterable[str]) -> int:
        """Note that a person has accepted these entries. Returns how many they had not accepted before."""
        with self.transaction():
            new = self._change(entry_ids, lambda entry: entry if entry.kept else replace(entry, kept=True))
            self._db.executemany("INSERT INTO keep VALUES (?, ?, NULL)", [(keep_id, entry_id) for entry_id in new])
        return len(new)

    def keep_places(self, keep_id: str, places: Iterable[tuple[str, str]]) -> int:
        """Note that a person has accepted single changes. Returns how many they had not accepted before.

        Args: places: pairs of the ids of a change and of its entry.
        """
        n_new = 0
        with self.transaction():
            for change_id, entry_id in places:
                sql = "INSERT OR IGNORE INTO kept_place VALUES (?, ?)"
                if self._db.execute(sql, (change_id, entry_id)).rowcount > 0:
                    self._db.execute("INSERT INTO keep VALUES (?, ?, ?)", (keep_id, entry_id, change_id))
                    n_new += 1
        return n_new

    def keeps(self) -> Iterator[tuple[str, str]]:
        """Yield the keeps that were not undone, the newest first, each with the path of each of its entries."""
        rows = self._rows("SELECT keep_id, path FROM keep JOIN entry USING (entry_id) ORDER BY keep.rowid DESC")
        yield from ((keep_id, os.fsdecode(path)) for keep_id, path in rows)

    def undo_keep(self, keep_id: str) -> tuple[list[Entry], int, int]:
        """Undo a keep. Returns its entries, how many of them are no longer kept, and how many single changes.

        Raises: UnknownId.
        """
        with self.transaction():
            rows = self._rows("SELECT entry_id, change_id FROM keep WHERE keep_id = ?", keep_id)
            if not rows:
                raise UnknownId(keep_id)
            whole = [entry_id for entry_id, change_id in rows if change_id is None]
            places = [(change_id,) for _, change_id in rows if change_id is not None]
            n_entries = len(self._change(whole, lambda entry: replace(entry, kept=False)))
            n_places = self._db.executemany("DELETE FROM kept_place WHERE change_id = ?", places).rowcount
            self._db.execute("DELETE FROM keep WHERE keep_id = ?", (keep_id,))
            entries = [self.entry(entry_id) for entry_id in dict.fromkeys(entry_id for entry_id, _ in rows)]
            return [entry for entry in entries if entry is not None], n_entries, max(n_places, 0)

    def unkept_paths(self) -> set[str]:
        """The files with entries that no person has accepted."""
        return {os.fsdecode(path) for (path,) in self._rows("SELECT DISTINCT path FROM entry WHERE kept = 0")}

    def kept_places(self) -> set[str]:
        """The ids of single changes that a person has accepted, in entries that are not kept as a whole."""
        return {row[0] for row in self._rows("SELECT change_id FROM kept_place")}

    def staged_files(self, root: str | None = None) -> dict[str, Staged]:
        """What was last seen in git's indexes that is not in HEAD, by path. Args: root: only this work tree."""
        where, values = ("1", ()) if root is None else ("root = ?", (os.fsencode(root),))
        rows = self._rows(f"SELECT path, oid, by_agent FROM staged WHERE {where}", *values)
        return {os.fsdecode(path): Staged(oid, bool(by_agent)) for path, oid, by_agent in rows}

    def set_staged(self, root: str, staged: Mapping[str, Staged]) -> None:
        """Replace what is known to be staged in a work tree."""
        rows = [(os.fsencode(path), os.fsencode(root), each.oid, each.is_by_agent) for path, each in staged.items()]
        with self.transaction():
            self._db.execute("DELETE FROM staged WHERE root = ?", (os.fsencode(root),))
            self._db.executemany("INSERT OR REPLACE INTO staged VALUES (?, ?, ?, ?)", rows)

    def _change(self, entry_ids: Iterable[str], change: Callable[[Entry], Entry]) -> list[str]:
        """Change whether entries are kept, and which entry undid them. Returns the ids of those that changed."""
        with self.transaction():
            placed = ((seq, entry, change(entry)) for seq, entry in self._read_placed(entry_ids))
            changed = [(seq, after) for seq, before, after in placed if after != before]
            self._db.executemany(
                "UPDATE entry SET kept = ?, undone_by = ?, body = ? WHERE seq = ?",
                ((entry.kept, entry.undone_by, _pack_body(entry), seq) for seq, entry in changed),
            )
        return [entry.entry_id for _, entry in changed]

    def _read_placed(self, entry_ids: Iterable[str]) -> Iterator[tuple[float, Entry]]:
        """Yield the entries with these ids, each once, in this order, with their places. Unknown ids are left out."""
        ids = list(dict.fromkeys(entry_ids))
        for n in range(0, len(ids), _ENTRIES_AT_ONCE):
            some = ids[n : n + _ENTRIES_AT_ONCE]
            sql = f"SELECT {_COLUMNS} FROM entry WHERE entry_id IN ({', '.join('?' * len(some))})"
            found = {entry.entry_id: (seq, entry) for seq, entry in self._read(_to_placed_entry, sql, *some)}
            yield from (found[entry_id] for entry_id in some if entry_id in found)

    def _conditions(self, query: LogQuery, *, is_file: bool) -> tuple[str, list[object]]:
        conditions: list[str] = ["1"]
        values: list[object] = []

        def require(condition: str, *of: object) -> None:
            conditions.append(condition)
            values.extend(of)

        if query.path is not None:
            path = os.fsencode(query.path)
            folder = path.rstrip(b"/")
            if is_file:
                require("path = ?", path)
            else:
                condition, of = self._in_scope([os.fsdecode(folder)])
                require(f"(path = ? OR {condition})", path, *of)
        if query.folders is not None:
            condition, of = self._in_scope(query.folders)
            require(condition, *of)
        for column, wanted in (
            ("session_id", query.session_id),
            ("turn_id", query.turn_id),
            ("command_id", query.command_id),
            ("rewind_id", query.rewind_id),
            ("by", query.by),
            ("kept", query.kept),
        ):
            if wanted is not None:
                require(f"{column} = ?", wanted)
        if query.sessions is not None:
            require(f"session_id IN ({', '.join('?' * len(query.sessions))})", *query.sessions)
        if query.session_id is not None or query.sessions is not None:
            require(f"({_HAS_HOST_ID.format('session_id')} OR time >= ?)", self.named_since)
        if query.since is not None:
            require("time >= ?", query.since)
        if query.in_force:
            require("undone_by IS NULL")
        if query.before is not None:
            require("seq < ?", self._seq_of(query.before))
        return " AND ".join(conditions), values

    def _next_seq(self) -> float:
        ((newest,),) = self._rows("SELECT max(seq) FROM entry")
        return 1.0 if newest is None else float(int(newest) + 1)

    def _seq_before(self, entry_id: str) -> float:
        seq = self._seq_of(entry_id)
        ((previous,),) = self._rows("SELECT max(seq) FROM entry WHERE seq < ?", seq)
        return (seq + (seq - 1 if previous is None else previous)) / 2

    def _seq_of(self, entry_id: str) -> float:
        rows = self._rows("SELECT seq FROM entry WHERE entry_id = ?", entry_id)
        if not rows:
            raise UnknownId(entry_id)
        return rows[0][0]

    def _write(self, seq: float, entry: Entry) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                seq,
                entry.entry_id,
                entry.time,
                os.fsencode(entry.path),
                kind_of(entry.by),
                session_of(entry.by),
                entry.turn_id,
                entry.command_id,
                entry.edit_id,
                entry.rewind_id,
                entry.undone_by,
                entry.kept,
                _digest_of(entry.before),
                _digest_of(entry.after),
                _encode_path(entry.moved_from),
                _encode_path(entry.moved_to),
                _pack_body(entry),
            ),
        )

    # --- contents ----------------------------------------------------------------------------------------------

    def content(self, digest: bytes, known: dict[bytes, bytes] | None = None) -> bytes | None:
        """The content with this digest; None if it is not kept or is damaged.

        Args: known: contents by digest, from which this one may be built; those built on the way are added. So the
        hundred contents of a file are each built once, not each from the beginning of its chain.
        """
        made = {} if known is None else known
        chain: list[tuple[bytes, bytes]] = []
        at: bytes | None = digest
        with self._lock:
            while at is not None and at not in made:  # from the wanted content back to a known or whole one
                rows = self._rows("SELECT base, packed FROM blob WHERE digest = ?", at)
                if not rows or len(chain) > blobs.MAX_CHAIN:
                    return None
                chain.append((at, rows[0][1]))
                at = rows[0][0]
        content = None if at is None else made[at]
        try:
            while chain:
                at, packed = chain.pop()
                content = blobs.unpack(packed) if content is None else blobs.unpack_delta(packed, content)
                if known is not None:
                    known[at] = content
        except blobs.DamagedBlob as damage:
            log.warning("a content of the record is damaged: %s", damage)
            return None
        return content if content is not None and content_digest(content) == digest else None

    def put(self, content: bytes, *, base: bytes | None = None) -> bytes:
        """Store a content. Returns its digest. Args: base: a similar content that is already stored."""
        digest = content_digest(content)
        with self.transaction():
            if self._rows("SELECT 1 FROM blob WHERE digest = ?", digest):
                return digest
            of_base = None if base is None else content_digest(base)
            rows = [] if of_base is None else self._rows("SELECT n_deltas FROM blob WHERE digest = ?", of_base)
            if base is not None and rows and rows[0][0] < blobs.MAX_CHAIN:
                row = (digest, of_base, rows[0][0] + 1, blobs.pack_delta(content, base))
            else:
                row = (digest, None, 0, blobs.pack(content))
            self._db.execute("INSERT INTO blob VALUES (?, ?, ?, ?)", row)
        return digest

    def _content_of(self, version: FileVersion | None, known: dict[bytes, bytes] | None = None) -> bytes | None:
        return None if version is None or version.digest is None else self.content(version.digest, known)

    def _put_contents(self, entry: Entry, contents: Contents) -> None:
        if contents.before is not None and _digest_of(entry.before) is not None:
            self.put(contents.before)
        if contents.after is not None and _digest_of(entry.after) is not None:
            before = contents.before if contents.before is not None else self._content_of(entry.before)
            self.put(contents.after, base=before)

    # --- answers -----------------------------------------------------------------------------------------------

    def answer(self, path: str, key: bytes) -> bytes | None:
        """Return the answer that was put under this key; None if it is not there, or was replaced."""
        rows = self._rows("SELECT packed FROM answer WHERE path = ? AND key = ?", os.fsencode(path), key)
        try:
            return blobs.unpack(rows[0][0]) if rows else None
        except blobs.DamagedBlob as damage:
            log.debug("an answer is computed anew: %s", damage)
            return None

    def put_answer(self, path: str, kind: str, key: bytes, answer: bytes, *, oldest: float) -> None:
        """Keep an answer in place of the last one of its kind, unless it is too long, or the record is locked.

        Args: key: digest of all that it was computed from. oldest: the time of the oldest entry of these.
        """
        packed = blobs.pack(answer)
        if len(packed) > MAX_ANSWER_BYTES:
            return
        try:
            with self.transaction(waits=False):
                self._db.execute(
                    "INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?, ?)",
                    (os.fsencode(path), kind, key, oldest, packed),
                )
        except sqlite3.Error as error:  # it will be computed again
            log.debug("an answer is not kept: %s", error)

    # --- edits through the daemon ------------------------------------------------------------------------------

    def put_edit(self, edit: KeptEdit) -> None:
        """Store what the history needs of an edit, besides its entry, unless that is stored already."""
        row = (edit.edit_id, edit.time, os.fsencode(edit.path), edit.body)
        with self.transaction():
            self._db.execute("INSERT OR IGNORE INTO edit VALUES (?, ?, ?, ?)", row)

    def edits(
        self,
        since: float,
        *,
        path: str | None = None,
        session_id: SessionName | None = None,
        max_bytes: int = MAX_EDITS_BYTES,
    ) -> Iterator[tuple[KeptEdit, str | None]]:
        """Yield edits since a time, newest first, each with what undid it, up to a total size."""
        conditions, values = ["edit.time >= ?"], list[object]([since])
        if path is not None:
            conditions.append("edit.path = ?")
            values.append(os.fsencode(path))
        if session_id:  # people's entries have none
            conditions.append("edit_id IN (SELECT edit_id FROM entry WHERE session_id = ?)")
            values.append(session_id)
        n_bytes = n_rows = 0
        while True:
            rows = self._edit_rows(
                f"{' AND '.join(conditions)} ORDER BY edit.time DESC, edit.rowid DESC LIMIT ? OFFSET ?",
                *values,
                _EDITS_AT_ONCE,
                n_rows,
            )
            for edit, undone_by in rows:
                n_bytes += len(edit.body)
                if n_bytes > max_bytes and n_rows:
                    return
                n_rows += 1
                yield edit, undone_by
            if len(rows) < _EDITS_AT_ONCE:
                return

    def edits_of(self, edit_ids: Iterable[str]) -> Iterator[tuple[KeptEdit, str | None]]:
        """Yield the edits with these ids, each with the edit that undid it."""
        wanted = list(edit_ids)
        for n in range(0, len(wanted), _STEP):
            ids = wanted[n : n + _STEP]
            yield from self._edit_rows(f"edit_id IN ({', '.join('?' * len(ids))})", *ids)

    def _edit_rows(self, where: str, *values: object) -> list[tuple[KeptEdit, str | None]]:
        undone_by = (
            "SELECT other.edit_id FROM entry JOIN entry AS other ON other.entry_id = entry.undone_by "
            "WHERE entry.edit_id = edit.edit_id LIMIT 1"
        )
        rows = self._rows(f"SELECT edit_id, time, path, body, ({undone_by}) FROM edit WHERE {where}", *values)
        return [
            (KeptEdit(edit_id=edit_id, time=at, path=os.fsdecode(path), body=body), by)
            for edit_id, at, path, body, by in rows
        ]

    # --- turns and commands ------------------------------------------------------------------------------------

    def put_turn(self, turn: TurnRecord) -> None:
        """Add or change a turn."""
        row = (turn.turn_id, turn.session_id, turn.began, _pack(turn))
        with self.transaction():
            self._db.execute("INSERT OR REPLACE INTO turn VALUES (?, ?, ?, ?)", row)

    def turn(self, turn_id: str) -> TurnRecord | None:
        rows = self._read(_turn_of, "SELECT body FROM turn WHERE turn_id = ?", turn_id)
        return rows[0] if rows else None

    def newest_turn(self, session_id: SessionName) -> TurnRecord | None:
        """Return a session's newest turn. This does not count its entries, of which there can be thousands."""
        rows = self._read(
            _turn_of,
            f"SELECT body FROM turn WHERE session_id = ? AND ({_HAS_HOST_ID.format('session_id')} OR began >= ?) "
            "ORDER BY began DESC, rowid DESC LIMIT 1",
            session_id,
            self.named_since,
        )
        return rows[0] if rows else None

    def turns(
        self,
        *,
        session_ids: tuple[SessionName, ...] | None = None,
        folders: tuple[str, ...] | None = None,
        limit: int | None = None,
    ) -> list[CountedTurn]:
        """Return turns, newest first. Args: folders: only turns without entries, or with entries in one of these."""
        conditions, values = ["1"], list[object]()
        if session_ids is not None:
            conditions.append(f"turn.session_id IN ({', '.join('?' * len(session_ids))})")
            conditions.append(f"({_HAS_HOST_ID.format('turn.session_id')} OR began >= ?)")
            values += [*session_ids, self.named_since]
        if folders is not None:
            condition, of = self._in_scope(folders)
            conditions.append(f"({condition} OR path IS NULL)")
            values += of
        sql = (
            "SELECT turn.body, count(path), count(DISTINCT path), count(undone_by), "
            "count(moved_to) FILTER (WHERE undone_by IS NULL) "
            "FROM turn LEFT JOIN entry USING (turn_id) "
            f"WHERE {' AND '.join(conditions)} GROUP BY turn_id ORDER BY began DESC, turn.rowid DESC LIMIT ?"
        )

        def to_counted(row: tuple[Any, ...]) -> CountedTurn:
            return CountedTurn(turn=_turn_of(row), n_entries=row[1], n_files=row[2], n_undone=row[3], n_renames=row[4])

        return self._read(to_counted, sql, *values, -1 if limit is None else limit)

    def put_command(self, command: CommandRecord) -> None:
        """Add or change a command."""
        row = (command.command_id, command.session_id, command.began, _pack(command))
        with self.transaction():
            self._db.execute("INSERT OR REPLACE INTO command VALUES (?, ?, ?, ?)", row)

    def command(self, command_id: str) -> CommandRecord | None:
        rows = self._read(_command_of, "SELECT body FROM command WHERE command_id = ?", command_id)
        return rows[0] if rows else None

    def whole_id(self, beginning: str) -> str:
        """Return the only id of an entry, command, turn or rewind that begins so. Raises: UnknownId."""
        last = beginning + "\U0010ffff"
        found = {
            row[0]
            for table, column in (
                ("entry", "entry_id"),
                ("command", "command_id"),
                ("turn", "turn_id"),
                ("entry", "rewind_id"),
            )
            for row in self._rows(
                f"SELECT DISTINCT {column} FROM {table} WHERE {column} >= ? AND {column} < ? LIMIT 2", beginning, last
            )
        }
        if beginning in found:
            return beginning
        if len(found) != 1 or not beginning:
            raise UnknownId(beginning, len(found))
        return found.pop()

    # --- what is known of files --------------------------------------------------------------------------------

    def known_files(self, root: str) -> dict[str, Known]:
        """What was last known of the files of a recorded folder, by path."""
        decoder = msgspec.msgpack.Decoder(Known)

        def to_known(row: tuple[Any, ...]) -> tuple[str, Known]:
            return os.fsdecode(row[0]), decoder.decode(row[1])

        return dict(self._read(to_known, "SELECT path, body FROM known WHERE root = ?", os.fsencode(root)))

    def set_known(self, root: str, files: Iterable[tuple[str, Known | None]]) -> None:
        """Store what is known of files; None: the file does not exist."""
        encode, folder = msgspec.msgpack.Encoder().encode, os.fsencode(root)
        rows = [
            (folder, os.fsencode(path), None if known is None else known.digest, known and encode(known))
            for path, known in files
        ]
        with self.transaction():
            self._db.executemany("INSERT OR REPLACE INTO known VALUES (?, ?, ?, ?)", [row for row in rows if row[3]])
            gone = [row[:2] for row in rows if not row[3]]
            self._db.executemany("DELETE FROM known WHERE root = ? AND path = ?", gone)

    def begin_folder(self, root: str, now: float) -> None:
        """Note that a folder is recorded from now on, unless it already was. In an older record, entries tell when."""
        if self.recording_start(root) is not None:
            return
        condition, of = _in_folders([root])
        with self.transaction():
            ((oldest,),) = self._rows(f"SELECT min(time) FROM entry WHERE {condition}", *of)
            since = now if oldest is None else min(now, oldest)
            self._db.execute("INSERT OR IGNORE INTO folder VALUES (?, ?)", (os.fsencode(root), since))

    def covers(self, folders: Sequence[str], path: str) -> bool:
        """Return whether a path is in one of these folders, and in the work tree of git that contains that folder."""
        return self._work_trees.covers(folders, path, self._roots())

    def _roots(self) -> list[str]:
        """Return the folders that are, or were, recorded."""
        return [os.fsdecode(root) for (root,) in self._rows("SELECT root FROM folder")]

    def _in_scope(self, folders: Sequence[str]) -> tuple[str, list[object]]:
        """A condition that is `covers` of a path, and its values."""
        conditions, values, roots = list[str](), list[object](), self._roots()
        for folder in folders:
            condition, of = _in_folders([folder])
            others, of_others = _in_folders(self._work_trees.inside(folder.rstrip("/") or "/", roots))
            conditions.append(f"{condition} AND NOT {others}")
            values += [*of, *of_others]
        return f"({' OR '.join(conditions) or '0'})", values

    def recording_start(self, root: str) -> float | None:
        """When the recording of a folder began, in seconds since the epoch. Entries older than MAX_AGE_S are gone."""
        rows = self._rows("SELECT since FROM folder WHERE root = ?", os.fsencode(root))
        return rows[0][0] if rows else None

    # --- limits ------------------------------------------------------------------------------------------------

    def prune(self, now: float, *, max_age_s: float = MAX_AGE_S, max_bytes: int = MAX_BYTES) -> bool:
        """Remove some of what is too old or too much. Returns whether there is more to remove.

        That also holds for a damaged record that was put aside. Raises: OSError, sqlite3.Error.
        """
        with suppress(FileNotFoundError):
            self._drop_asides(lambda path: os.stat(path).st_mtime < now - max_age_s or self._are_asides_over(max_bytes))
        with self.transaction():
            before = self._db.total_changes
            old = now - max_age_s
            self._db.execute("DELETE FROM answer WHERE oldest < ?", (old,))
            for table, key in (("entry", "seq"), ("edit", "edit_id")):
                self._db.execute(
                    f"DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table} WHERE time < ? LIMIT ?)",
                    (old, _STEP),
                )
            for table, column in (("turn", "turn_id"), ("command", "command_id")):
                self._db.execute(
                    f"DELETE FROM {table} WHERE began < ? AND {column} NOT IN "
                    f"(SELECT {column} FROM entry WHERE {column} IS NOT NULL)",
                    (old,),
                )
            most = MAX_MEMORY_BYTES if self.is_in_memory else max_bytes
            if self.n_bytes > most:
                self._db.execute("DELETE FROM answer")
            if self.n_bytes > most:
                self._drop_oldest()
            self._remove_unused_blobs()
            return self._db.total_changes != before

    def _are_asides_over(self, max_bytes: int) -> bool:
        """Return whether they are more than what the record leaves of its bound."""
        sizes = (os.stat(path).st_size for path in asides(self.folder or ""))
        return sum(sizes) + self.n_bytes > max_bytes

    def _drop_oldest(self) -> None:
        """Remove the contents of the oldest entries that have any, or the oldest entries if none has."""
        having = "before IS NOT NULL OR after IS NOT NULL"
        rows = self._read(_entry_of, f"SELECT {_COLUMNS} FROM entry WHERE {having} ORDER BY seq LIMIT ?", _STEP)
        self._drop_contents(rows)
        if not rows:
            self._db.execute("DELETE FROM entry WHERE seq IN (SELECT seq FROM entry ORDER BY seq LIMIT ?)", (_STEP,))

    def drop_contents(self, path: str) -> None:
        """Remove the contents from all entries of a file."""
        with self.transaction():
            self._drop_contents(self.entries(LogQuery(path=path), is_file=True)[0])

    def _drop_contents(self, entries: Iterable[Entry]) -> None:
        self._db.execute("DELETE FROM answer")  # they may have text of these contents
        for entry in entries:
            if entry.edit_id is not None:
                self._db.execute("DELETE FROM edit WHERE edit_id = ?", (entry.edit_id,))
            if _digest_of(entry.before) is None and _digest_of(entry.after) is None and entry.content != "kept":
                continue
            content = "gone" if entry.content == "kept" else entry.content
            self.replace(replace(entry, content=content, before=_without(entry.before), after=_without(entry.after)))

    def forget(self, path: str | None) -> int:
        """Remove all entries and contents of a file or folder (None: everything) at once. Returns how many entries."""
        with self._lock:
            self._db.execute("PRAGMA secure_delete = ON")
            with self.transaction():
                where, values = self._conditions(LogQuery(path=path), is_file=False)
                self._forget_turns(where, values, is_all=path is None)
                n_entries: int = self._db.execute(f"DELETE FROM entry WHERE {where}", values).rowcount
                self._db.execute(f"DELETE FROM known WHERE {where}", values)
                self._forget_folders(path)
                self._db.execute(f"DELETE FROM staged WHERE {where}", values)
                self._db.execute(f"DELETE FROM edit WHERE {where}", values)
                self._db.execute("DELETE FROM answer")  # one about another name of a file may have its text
                while self._remove_unused_blobs():
                    pass
            self._db.execute("PRAGMA secure_delete = OFF")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._drop_asides(lambda _path: True)  # any of them may contain what is forgotten
            return n_entries

    def _drop_asides(self, is_dropped: Callable[[str], bool]) -> None:
        """Remove damaged databases that were put aside. Raises: OSError."""
        for path in asides(self.folder) if self.folder is not None else ():
            if is_dropped(path):
                with suppress(FileNotFoundError):
                    os.unlink(path)

    def _forget_folders(self, path: str | None) -> None:
        """Forget since when the folders inside a folder (None: all folders) have been recorded."""
        where, of = ("1", []) if path is None else _in_folders([path])
        self._db.execute(f"DELETE FROM folder WHERE {where.replace('path', 'root')}", of)
        if path is not None:
            self._db.execute("DELETE FROM folder WHERE root = ?", (os.fsencode(path),))

    def _forget_turns(self, where: str, values: Sequence[object], *, is_all: bool) -> None:
        """Remove the turns and commands whose entries all match a condition.

        The newest turn of a session remains unless everything is removed, because it may get more entries.
        """
        newest = (
            "SELECT turn_id FROM turn AS other WHERE other.session_id = turn.session_id ORDER BY began DESC LIMIT 1"
        )
        for table, column, is_needed in (("turn", "turn_id", f"turn_id = ({newest})"), ("command", "command_id", "0")):
            of_entries = f"SELECT {column} FROM entry WHERE {column} IS NOT NULL AND"
            wanted = f"{column} IN ({of_entries} ({where})) AND {column} NOT IN ({of_entries} NOT ({where}))"
            if is_all:
                self._db.execute(f"DELETE FROM {table}")
            else:
                self._db.execute(f"DELETE FROM {table} WHERE {wanted} AND NOT ({is_needed})", [*values, *values])

    def _remove_unused_blobs(self) -> bool:
        """Remove some unused contents. A content stored as a delta from one of them is stored whole first."""
        unused = self._rows(
            "SELECT digest FROM blob WHERE digest NOT IN (SELECT before FROM entry WHERE before IS NOT NULL) "
            "AND digest NOT IN (SELECT after FROM entry WHERE after IS NOT NULL) "
            "AND digest NOT IN (SELECT digest FROM known WHERE digest IS NOT NULL) LIMIT ?",
            _STEP,
        )
        gone = {digest for (digest,) in unused}
        for digest in gone:
            for (dependent,) in self._rows("SELECT digest FROM blob WHERE base = ?", digest):
                if dependent not in gone and (content := self.content(dependent)) is not None:
                    row = (blobs.pack(content), dependent)
                    self._db.execute("UPDATE blob SET base = NULL, n_deltas = 0, packed = ? WHERE digest = ?", row)
        self._db.executemany("DELETE FROM blob WHERE digest = ?", unused)
        for table in ("kept_place", "keep"):
            self._db.execute(f"DELETE FROM {table} WHERE entry_id NOT IN (SELECT entry_id FROM entry)")
        return bool(gone)

    # --- helpers -----------------------------------------------------------------------------------------------

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self._read(_same, sql, *values)

    def _read(self, decode: Callable[[tuple[Any, ...]], T], sql: str, *values: object) -> list[T]:
        """Return the decoded rows; of a record that turns out to be damaged, those of the new one.

        Raises: sqlite3.Error.
        """
        with self._lock:
            try:
                return [decode(row) for row in self._db.execute(sql, values)]
            except (sqlite3.Error, msgspec.DecodeError) as error:
                if not is_damage(error) or self.is_in_memory:
                    raise
                if self._n_open:  # the transaction is over; see `transaction`
                    raise RecordDamaged(str(error)) from error
                self._begin_again(error)
            return [decode(row) for row in self._db.execute(sql, values)]

    def _begin_again(self, error: Exception) -> None:
        """Put the damaged database aside, and continue in a new one. Raises: OSError, sqlite3.Error.

        Another daemon may have done so before: then the new database is at the path, and only has to be opened.
        """
        with suppress(sqlite3.Error):
            self._db.close()
        assert self.folder is not None
        aside = put_aside(self.folder) if self._is_in_place() else None
        self.path = _private_file(self.folder)
        self._db, self._n_open, self._inode = _connect(self.path), 0, _NOT_OPEN
        self._set_up()
        self._first_seq = self._next_seq()
        log.warning("the record is damaged: %s; it is now %s", error, aside)
        self.on_begun_again(str(error), aside)

    def _is_in_place(self) -> bool:
        """Return whether the file that was opened still has its name."""
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return False
        return (status.st_dev, status.st_ino) == self._inode


def _connect(path: str) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=64)


def _same(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return row


# New entries in memory that were inserted before an entry of the same file that the attached `disk` also has.
_INSERTED = """
SELECT entry_id, later FROM (
    SELECT here.entry_id, here.seq, (
        SELECT known.entry_id FROM main.entry AS known JOIN disk.entry AS there USING (entry_id)
        WHERE known.path = here.path AND known.seq > here.seq ORDER BY known.seq LIMIT 1
    ) AS later
    FROM main.entry AS here
    WHERE here.entry_id IN (SELECT key FROM changed WHERE name = 'entry')
    AND here.entry_id NOT IN (SELECT entry_id FROM disk.entry)
) WHERE later IS NOT NULL ORDER BY seq
"""
_MOVE_BEFORE = """
UPDATE disk.entry SET seq = (
    SELECT (there.seq + ifnull((SELECT max(seq) FROM disk.entry WHERE seq < there.seq), there.seq - 1)) / 2
    FROM disk.entry AS there WHERE there.entry_id = :later
) WHERE entry_id = :entry_id
"""


def _return_statements() -> Iterator[str]:
    """The statements that copy the changed rows of a database in memory into the one attached as `disk`.

    All contents are copied as they are, because one may be a delta from another. An entry that is new on disk becomes
    the newest there, because other daemons may have added some meanwhile; for exceptions see _INSERTED.
    """
    yield "INSERT OR IGNORE INTO disk.blob SELECT * FROM main.blob"
    for table, keys in TABLE_KEYS.items():
        changed = f"SELECT key, key2 FROM changed WHERE name = '{table}'"
        second = keys[1] if len(keys) > 1 else "''"
        is_changed = f"({keys[0]}, {second}) IN ({changed})"
        if table != "entry":
            yield f"DELETE FROM disk.{table} WHERE {is_changed}"
            yield f"INSERT OR REPLACE INTO disk.{table} SELECT * FROM main.{table} WHERE {is_changed}"
            continue
        columns = ", ".join(f"here.{column}" for column in _ENTRY_COLUMNS)
        yield f"DELETE FROM disk.entry WHERE {is_changed} AND entry_id NOT IN (SELECT entry_id FROM main.entry)"
        yield (
            f"INSERT OR REPLACE INTO disk.entry SELECT there.seq, {columns} FROM main.entry AS here "
            "JOIN disk.entry AS there USING (entry_id) "
            "WHERE entry_id IN (SELECT key FROM changed WHERE name = 'entry')"
        )
        yield (
            "INSERT INTO disk.entry SELECT (SELECT ifnull(max(cast(seq AS INTEGER)), 0) FROM disk.entry) + "
            f"row_number() OVER (ORDER BY here.seq), {columns} FROM main.entry AS here "
            "WHERE entry_id IN (SELECT key FROM changed WHERE name = 'entry') "
            "AND entry_id NOT IN (SELECT entry_id FROM disk.entry)"
        )


def _private_file(folder: str) -> str:
    """Create the database file in a private folder if it is missing. Returns its path. Raises: OSError."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    require_private_folder(folder)
    path = os.path.join(folder, FILE_NAME)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))  # -wal and -shm inherit it
    return path


def _turn_of(row: tuple[Any, ...]) -> TurnRecord:
    return msgspec.msgpack.decode(row[0], type=TurnRecord)


def _command_of(row: tuple[Any, ...]) -> CommandRecord:
    return msgspec.msgpack.decode(row[0], type=CommandRecord)


def _entry_of(row: tuple[Any, ...]) -> Entry:
    _, path, moved_from, moved_to, body = row
    entry = _ENTRY.decode(body)
    force_setattr(entry, "path", path.decode(*_NAMES))  # nobody else has the entry yet, and a copy of it costs more
    if moved_from is None and moved_to is None:
        return entry
    return replace(entry, moved_from=_decode_path(moved_from), moved_to=_decode_path(moved_to))


def _pack_body(entry: Entry) -> bytes:
    return _pack(replace(entry, path="", moved_from=None, moved_to=None))


def _to_placed_entry(row: tuple[Any, ...]) -> tuple[float, Entry]:
    return row[0], _entry_of(row)


def _is_reverse(entry: Entry, other: Entry) -> bool:
    """Return whether one entry gave a file the name that the other one took from it."""
    return entry.path == other.path and {entry.kind, other.kind} == {"create", "delete"}


def _without(version: FileVersion | None) -> FileVersion | None:
    return None if version is None else replace(version, digest=None)


def _digest_of(version: FileVersion | None) -> bytes | None:
    return None if version is None else version.digest


def _encode_path(path: str | None) -> bytes | None:
    return None if path is None else os.fsencode(path)


def _decode_path(path: bytes | None) -> str | None:
    return None if path is None else os.fsdecode(path)


def _in_folders(folders: Sequence[str]) -> tuple[str, list[object]]:
    """A condition that a path is in one of these folders, and its values. "0" is the character after "/"."""
    names = [os.fsencode(folder.rstrip("/")) for folder in folders]
    condition = " OR ".join(["path > ? AND path < ?"] * len(names)) or "0"
    return f"({condition})", [end for name in names for end in (name + b"/", name + b"0")]


def _pack(value: Entry | TurnRecord | CommandRecord) -> bytes:
    """Encode the value without the lone surrogates of names that are not UTF-8. Entries have their paths in columns."""
    try:
        return msgspec.msgpack.encode(value)
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
        return msgspec.msgpack.encode(json.loads(text.encode("utf-8", "replace")))
