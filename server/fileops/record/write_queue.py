"""What waits to be written to the store, in order: transactions of the recorder, and changes that it observed.

Another program may lock the database for a moment; then everything waits, and the recorder goes on reading. If the file
cannot be written for longer, or at all, the store continues in memory, and returns to the file once it can (R-RECP-4).
"""

import logging
import math
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice

from msgspec import Struct

from fileops.record.entries import EntryWriter, Observed
from fileops.record.folder import FolderRecording
from fileops.record.git_contents import Changed, GitContents
from fileops.record.store import NewerRecord, RecordStore, is_damage, is_locked

log = logging.getLogger(__name__)

WRITTEN_AT_ONCE = 8  # entries, before messages and events are read again
_BLOBS_AT_ONCE = 200
_LOCKED_S = 3.0  # other programs lock for milliseconds; then use memory
_RETURN_EVERY_S = 5.0  # between attempts to write to the file again
_LOCK_PAUSE_S = 0.05


class _Transaction(Struct):
    """A waiting transaction. root: the folder whose recording ends if it fails."""

    root: str | None
    run: Callable[[], None]


class WriteQueue:
    """See the module. Belongs to the recorder's thread."""

    def __init__(
        self,
        store: RecordStore,
        writer: EntryWriter,
        contents: GitContents,
        *,
        on_fault: Callable[[str], None],
        warn: Callable[[str, str | None], None],
        now: Callable[[], float],
    ) -> None:
        """Args: on_fault: called with the root of the folder whose work failed. warn: see Recorder. now: its clock."""
        self._store, self._writer, self._contents = store, writer, contents
        self._on_fault, self._warn, self._now = on_fault, warn, now
        self._waiting: deque[_Transaction | Changed] = deque()
        self.n_waiting_bytes = 0  # of contents
        self.write_at = 0.0  # the database is locked until then, or longer
        self._locked_since: float | None = None
        self._return_at = 0.0
        self._settles_at: float | None = None  # when the next author is certain

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_delayed(self) -> bool:
        """Whether entries are not in the file of the record yet, although they could be."""
        return self._store.is_in_memory or self._locked_since is not None

    @property
    def due_at(self) -> float:
        """When there is something to do."""
        times = [math.inf]
        if self._waiting:
            times.append(self.write_at)
        if self._settles_at is not None:
            times.append(max(self._settles_at, self.write_at))
        if self._is_away:
            times.append(self._return_at)
        return min(times)

    @property
    def _is_away(self) -> bool:
        """Whether the store is in memory, and has a file to return to."""
        return self._store.is_in_memory and self._store.folder is not None

    def put(self, root: str | None, run: Callable[[], None]) -> None:
        """Queue work as one transaction. Args: root: the folder that it belongs to."""
        self._waiting.append(_Transaction(root, run))

    def put_change(self, folder: FolderRecording, change: Observed) -> None:
        self.n_waiting_bytes += len(change.after_data or b"")
        self._waiting.append((folder, change))

    def put_rewritten(self, folder: FolderRecording, path: str, digest: bytes, n_writes: int | None) -> None:
        """Queue that a file was written again with the content that it had."""
        self.put(folder.root, lambda: self._writer.note_rewritten(path, digest, n_writes))

    def write_all(self) -> bool:
        """Write everything that waits. False if the database is locked."""
        self.write(len(self._waiting))
        return not self._waiting

    def write_before_end(self) -> None:
        """Write everything, even if that must wait for another program."""
        ends_at = time.monotonic() + _LOCKED_S
        while not self.write_all() and time.monotonic() < ends_at:
            time.sleep(_LOCK_PAUSE_S)

    def write(self, n_writes: int = WRITTEN_AT_ONCE) -> None:
        """Write some of the waiting work, in order. Work that finds the database locked stays first in the queue."""
        while n_writes > 0 and self._waiting and self._now() >= self.write_at:
            batch = self._next_batch(min(n_writes, WRITTEN_AT_ONCE))
            root = batch[0].root if isinstance(batch[0], _Transaction) else batch[0][0].root
            if not self._is_written(root, lambda batch=batch: self._write_batch(batch)):
                continue
            for write in batch:
                self._waiting.popleft()
                if not isinstance(write, _Transaction):
                    self.n_waiting_bytes -= len(write[1].after_data or b"")
            n_writes -= len(batch)

    def settle(self) -> None:
        """Settle the authors of changes that are certain by now."""
        if self._waiting:  # a save's report may wait there, while the database is locked
            return
        if self._writer.is_due(self._now()):
            if self._now() < self.write_at:
                return
            self._is_written(None, lambda: self._writer.settle(self._now()))
        else:
            self._settles_at = self._writer.settle(self._now())

    def return_to_disk(self) -> None:
        """Try to continue in the file, including what was recorded in memory."""
        if not self._is_away or self._now() < self._return_at:
            return
        self._return_at = self._now() + _RETURN_EVERY_S
        try:
            self._store.return_to_disk()
        except (OSError, sqlite3.Error, NewerRecord) as error:
            log.debug("the record stays in memory: %s", error)
        else:
            self._warn("The record of changes can be written again. Nothing of it was lost.", None)

    def _next_batch(self, n_writes: int) -> "list[_Transaction | Changed]":
        """The first items in the queue for which a fault would end the recording of the same folder."""
        batch: list[_Transaction | Changed] = []
        for write in islice(self._waiting, n_writes):
            if batch and (
                isinstance(write, _Transaction) or isinstance(batch[0], _Transaction) or write[0] is not batch[0][0]
            ):
                break
            batch.append(write)
        return batch

    def _write_batch(self, batch: "Sequence[_Transaction | Changed]") -> None:
        for write in batch:
            if isinstance(write, _Transaction):
                write.run()
        waiting = (write for write in self._waiting if not isinstance(write, _Transaction))
        changes = [write for write in batch if not isinstance(write, _Transaction)]
        self._contents.read(changes, islice(waiting, _BLOBS_AT_ONCE))
        for folder, observed in changes:
            change = self._contents.with_content(observed)
            if change is not None:
                self._writer.write(change)
            # It is the content before the next change, even if this change made no entry with contents.
            if observed.after_data is not None:
                self._store.put(observed.after_data)
            self._store.set_known(folder.root, [(observed.path, observed.after)])

    def _is_written(self, root: str | None, work: Callable[[], object]) -> bool:
        """Do work in one transaction. False if it must be repeated: see R-RECP-4."""
        try:
            with self._store.transaction(waits=False):
                work()
        except sqlite3.Error as error:
            if self._store.is_in_memory:
                log.error("a part of the record was lost: %s", error)
                return True
            if is_damage(error):
                return False  # the store has begun again
            now = self._now()
            self._locked_since = self._locked_since or now
            if is_locked(error) and now - self._locked_since < _LOCKED_S:
                self.write_at = now + _LOCK_PAUSE_S
            else:
                self._move_to_memory(error)
            return False
        except OSError as error:
            log.error("a part of the record was lost: %s", error)
        except Exception:  # the boundary of a folder
            log.exception("a fault in the record of %s", root)
            if root is not None:
                self._on_fault(root)
        self._locked_since = None
        return True

    def _move_to_memory(self, error: sqlite3.Error) -> None:
        self._store.move_to_memory()
        self._locked_since = None
        self._return_at = self._now() + _RETURN_EVERY_S
        self._warn(
            f"The record of changes cannot be written: {error}. Changes are recorded in memory until it can be. If the "
            "disk is full, free space on it.",
            None,
        )
