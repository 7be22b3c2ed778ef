"""The history of changes: entries of a record, together with what an undo needs of this process's edits.

The entries are the only list of changes, and the only place that knows which changes are undone. An edit through the
daemon also has a row with its reverse splices. The row is in memory as well (own_edits.py). If it must not reach a
disk, it is only in memory, and the row in the record is empty.

A recorder, if there is one, writes entries and rows, so that an edit waits for neither. Without one, the worker thread
that made the edit writes them if the history outlives the process. Otherwise the record is in memory and is built from
the edits at the first query, because most private daemons are never queried.

No start and no edit waits for a record. Queries may wait, so call them in worker threads. Thread-safe.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from fileops.core.merge.stored_contents import StoredContents
from fileops.core.merge.texts import ContentOf
from fileops.model.commits import Commit
from fileops.model.history import AppliedEdit
from fileops.model.record import Entry, KeptEdit
from fileops.model.sessions import SessionName
from fileops.record.own_edits import MAX_BYTES, MAX_CONTENT_BYTES, OwnEdits, to_applied_edit

if TYPE_CHECKING:
    from fileops.record.recorder import Recorder
    from fileops.record.store import RecordStore

log = logging.getLogger(__name__)


class History:
    """See the module.

    recorder: writes the entries; None if there is none. open_store: returns the record of a daemon without a recorder;
    None if the record is in memory. is_persistent: whether edits can be undone after this process ends. warn: called
    with sentences for the client, in the calling thread.
    """

    def __init__(
        self,
        recorder: "Recorder | None" = None,
        open_store: "Callable[[], RecordStore] | None" = None,
        *,
        is_persistent: bool = True,
        warn: Callable[[str], None] = log.warning,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.own = OwnEdits(max_bytes)
        self._recorder, self._is_persistent = recorder, is_persistent
        self._record = _OwnRecord(open_store, warn)
        self._began = time.time()

    def keep(self, commit: Commit) -> None:
        """Keep a commit; one that wrote nothing only if it undid edits. Must not raise."""
        if not commit.has_changed and not commit.is_undo:
            return
        edit, after = to_applied_edit(commit), commit.after
        content = after.data if after.exists and len(after.data) <= MAX_CONTENT_BYTES else None
        self.own.add(edit, content)
        if self._recorder is None:
            self._record.add(edit, content)
        elif self._is_persistent:
            self._recorder.keep_edit(edit.path, lambda: _pack_edit(edit))
        else:
            self._recorder.keep_edit(edit.path, lambda: _without_body(edit))

    def look(self) -> "Look":
        """Return a view of all changes until now. Blocks: call it in a worker thread."""
        return Look(self._flush(), self.own, self._began)

    def _flush(self) -> "RecordStore":
        """Return the record, with everything that was written until now."""
        if self._recorder is not None:
            store = self._recorder.flush_store()
            if store is not None:
                return store
            self._recorder = None  # it failed; edits of this process can be undone
        return self._record.flush(self.own)

    def forget(self, path: str | None) -> None:
        """Drop the edits of a canonical file or folder (None: all) from memory, after the record has dropped them."""
        self.own.forget(path)


class Look:
    """View of the history at one moment. Belongs to one worker thread."""

    def __init__(self, store: "RecordStore", own: OwnEdits, began: float) -> None:
        self.store, self._own, self._began = store, own, began

    def edits(
        self,
        *,
        path: str | None = None,
        session_id: SessionName | None = None,
        set_id: str | None = None,
    ) -> Iterator[AppliedEdit]:
        """Yield the edits through the daemon, newest first. path: canonical."""
        from fileops.record.store import MAX_AGE_S

        for row, undone_by in self.store.edits(time.time() - MAX_AGE_S, path=path, session_id=session_id):
            edit = self._edit_of(row, undone_by)
            if edit is None or (session_id is not None and edit.session_id != session_id):
                continue
            if set_id is None or edit.set_id == set_id:
                yield edit

    def edit(self, edit_id: str) -> AppliedEdit | None:
        return self.edits_of((edit_id,)).get(edit_id)

    def edits_of(self, edit_ids: Iterable[str]) -> dict[str, AppliedEdit]:
        """Return the edits with these ids, without those that are not known."""
        found = (self._edit_of(row, undone_by) for row, undone_by in self.store.edits_of(edit_ids))
        return {edit.edit_id: edit for edit in found if edit is not None}

    def edits_of_entries(self, entries: Iterable[Entry]) -> dict[str, AppliedEdit]:
        """Return the edits that belong to these entries, by their edit ids."""
        return self.edits_of(entry.edit_id for entry in entries if entry.edit_id is not None)

    def is_earlier(self, edit: AppliedEdit) -> bool:
        """Whether the edit was made by an earlier process."""
        return edit.timestamp < self._began and self._own.get(edit.edit_id) is None

    def contents(self) -> ContentOf:
        """Return a function that looks up contents by their digests; see OwnEdits.contents."""
        return self._own.contents(StoredContents(self.store))

    def _edit_of(self, row: KeptEdit, undone_by: str | None) -> AppliedEdit | None:
        from fileops.record.stored_edits import unpack

        edit = self._own.get(row.edit_id)
        if edit is None and row.body:
            try:
                edit = unpack(row.body)
            except (msgspec.DecodeError, ValueError) as error:
                log.warning("an edit in the record is damaged, and not in the history: %s", error)
        return edit if edit is None or undone_by is None else replace(edit, undone_by=undone_by)


class _OwnRecord:
    """The record of a daemon without a recorder. open_store: None if it is in memory. warn: see History."""

    def __init__(self, open_store: "Callable[[], RecordStore] | None", warn: Callable[[str], None]) -> None:
        self._open_store, self._warn = open_store, warn
        self._lock = threading.Lock()
        self._store: RecordStore | None = None
        self._newest: str | None = None  # the newest edit in the record in memory

    def add(self, edit: AppliedEdit, content: bytes | None) -> None:
        """Write an edit, unless the record is in memory. Args: content: after it."""
        if self._open_store is not None:
            with self._lock:
                self._write([(edit, content)])

    def flush(self, own: OwnEdits) -> "RecordStore":
        """Return the record, with all edits of this process."""
        with self._lock:
            if self._open_store is not None:
                return self._write(())
            made = own.after(self._newest)
            store = self._write([(edit, None) for edit in made])
            if made:
                self._newest = made[-1].edit_id
                store.prune(time.time())
            return store

    def _write(self, made: Sequence[tuple[AppliedEdit, bytes | None]]) -> "RecordStore":
        """Write edits; in memory if the disk cannot be written. Returns the record. The lock is held."""
        import sqlite3

        if self._store is None:
            self._store = self._open()
        store = self._store
        if store.is_in_memory and store.folder is not None:
            self._return_to_disk(store)
        try:
            _put(store, made)
        except (OSError, sqlite3.Error) as error:
            store.move_to_memory()
            self._warn(_memory_sentence(error))
            _put(store, made)
        return store

    def _open(self) -> "RecordStore":
        from fileops.record.store import RecordStore

        return RecordStore(None) if self._open_store is None else self._open_store()

    def _return_to_disk(self, store: "RecordStore") -> None:
        import sqlite3

        from fileops.record.store import NewerRecord

        try:
            store.return_to_disk()
        except (OSError, sqlite3.Error, NewerRecord) as error:
            log.debug("the history stays in memory: %s", error)
        else:
            self._warn("The history of edits is kept on disk again. Nothing of it was lost.")


def _put(store: "RecordStore", made: Iterable[tuple[AppliedEdit, bytes | None]]) -> None:
    """Raises: OSError, sqlite3.Error."""
    from fileops.record.other_daemons import put_own
    from fileops.record.stored_edits import link_undos, to_entries

    with store.transaction():
        for edit, content in made:
            store.put_edit(_without_body(edit) if store.folder is None else _pack_edit(edit))
            for entry, contents in to_entries(edit, content):
                put_own(store, entry, contents)
            link_undos(store, edit)


def _pack_edit(edit: AppliedEdit) -> KeptEdit:
    """Return the row of an edit; empty for a protected file, which must not reach a disk."""
    from fileops.record.content import is_secret
    from fileops.record.stored_edits import pack

    return _without_body(edit) if is_secret(edit.path, "") else pack(edit)


def _without_body(edit: AppliedEdit) -> KeptEdit:
    return KeptEdit(edit_id=edit.edit_id, time=edit.timestamp, path=edit.path, body=b"")


def _memory_sentence(error: Exception) -> str:
    return (
        f"The history of edits cannot be kept: {error}. Edits are still made, and can be undone until this daemon "
        "ends, but not after it. A message follows when the history is kept again."
    )
