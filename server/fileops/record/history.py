"""The history of edits as a view of the record: what an undo needs beside an edit's entry, in the record's database.

An edit is a row; the content after it is that of its entry. Where a recorder runs, it writes both, so that
an edit waits for neither. Without one (a private daemon, or `record: "off"`) the row and the entry are written here, in
the worker thread that made the edit. Of protected files nothing is kept.
"""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable

import msgspec

from fileops.model.history import AppliedEdit
from fileops.model.record import KeptEdit
from fileops.record.content import is_secret
from fileops.record.edit_entries import link_undos, recorded
from fileops.record.edit_rows import packed_edit, unpacked_edit
from fileops.record.other_daemons import put_own
from fileops.record.store import MAX_AGE_S, RecordStore

log = logging.getLogger(__name__)

KeepLater = Callable[[str, Callable[[], KeptEdit]], None]


class RecordedHistory:
    """See ports.HistoryStore.

    open_store: returns the record, or raises OSError or sqlite3.Error; may block for a disk, so it is called in worker
    threads. keep_later: hands an edit over to the recorder, by its path and what makes the row; None if there is no
    recorder. `warn` gets sentences for the client, in the thread that calls.
    """

    def __init__(
        self,
        open_store: Callable[[], RecordStore],
        keep_later: KeepLater | None = None,
        *,
        warn: Callable[[str], None] = log.warning,
    ) -> None:
        self._open_store, self._keep_later, self._warn = open_store, keep_later, warn
        self._lock = threading.Lock()
        self._n_missing = 0  # guarded by _lock: edits since the last one that was kept

    def load(self) -> list[AppliedEdit]:
        loaded: list[AppliedEdit] = []
        try:
            rows = self._open_store().edits(time.time() - MAX_AGE_S)
        except (OSError, sqlite3.Error) as error:
            self._warn(f"The history of edits cannot be read: {error}.")
            return []
        for row in rows:
            try:
                loaded.append(unpacked_edit(row.body))
            except (msgspec.DecodeError, ValueError) as error:
                log.warning("an edit in the record is damaged, and not in the history: %s", error)
        return loaded

    def content(self, digest: bytes) -> bytes | None:
        try:
            return self._open_store().content(digest)
        except (OSError, sqlite3.Error) as error:
            log.warning("a content of the record cannot be read: %s", error)
            return None

    def append(self, edit: AppliedEdit, content: bytes | None) -> None:
        if self._keep_later is not None:
            self._keep_later(edit.path, lambda: packed_edit(edit))
            return
        sentence = ""
        with self._lock:
            try:
                self._write(edit, content)
            except (OSError, sqlite3.Error) as error:
                self._n_missing += 1
                sentence = _missing_sentence(error) if self._n_missing == 1 else ""
            else:
                sentence = _kept_again_sentence(self._n_missing) if self._n_missing else ""
                self._n_missing = 0
        if sentence:
            self._warn(sentence)

    def _write(self, edit: AppliedEdit, content: bytes | None) -> None:
        store = self._open_store()
        with store.transaction():
            if not is_secret(edit.path, ""):
                store.put_edit(packed_edit(edit))
            for entry, contents in recorded(edit, content):
                put_own(store, entry, contents)
            link_undos(store, [edit])


def _missing_sentence(error: OSError | sqlite3.Error) -> str:
    return (
        f"The history of edits cannot be kept: {error}. Edits are still made, and can be undone until this daemon "
        "ends, but not after it. A message follows when the history is kept again."
    )


def _kept_again_sentence(n_missing: int) -> str:
    edits = "1 edit that was" if n_missing == 1 else f"{n_missing} edits that were"
    return f"The history of edits is kept on disk again. It lacks {edits} made in between."
