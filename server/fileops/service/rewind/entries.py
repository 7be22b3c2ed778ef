"""What a rewind leaves in the record: one entry for each file, and which entries are in force after it."""

import time
import uuid
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from fileops.history.journal import History
from fileops.model.digest import content_digest
from fileops.model.record import By, Contents, Entry, FileVersion
from fileops.record.store import RecordStore
from fileops.service.change_set import FileChange
from fileops.service.rewind.files import FileRewind


class RewindEntries(Struct, frozen=True):
    """Notes the files of one rewind. by: its author."""

    store: RecordStore
    history: History
    by: By
    rewind_id: str

    def note(self, rewind: FileRewind, change: FileChange, edit_id: str | None) -> None:
        """Note what was done to one file. edit_id: of the commit, None if the file is as it was."""
        undoes = tuple(entry.entry_id for entry in rewind.undone)
        with self.store.transaction():
            known = None if edit_id is None else self.store.entry_of_edit(edit_id)
            if known is None:
                entry, contents = self._entry(rewind, change, edit_id)
                entry = replace(entry, undoes=undoes)
                self.store.append(entry, contents)
            else:  # the recorder was faster
                entry = replace(
                    known, by=self.by, undoes=undoes, rewind_id=self.rewind_id, kept=True, settled=True,
                    evidence="commit",
                )  # fmt: skip
                self.store.replace(entry)
            undo_entries(self.store, undoes, entry.entry_id)

    def _entry(self, rewind: FileRewind, change: FileChange, edit_id: str | None) -> tuple[Entry, Contents]:
        edit = None if edit_id is None else self.history.edit(edit_id)
        snapshot = change.plan.snapshot
        before = snapshot.data if snapshot.exists else None
        after = rewind.content if edit is not None else before
        if edit is not None and after is not None and edit.after != content_digest(after):
            after = self.history.content_after(edit.edit_id)  # with the line ends of the editor
        newest = self.store.newest(rewind.path)
        is_executable = newest is not None and newest.after is not None and newest.after.is_executable
        entry = Entry(
            entry_id=f"e-{uuid.uuid4().hex[:12]}",
            time=time.time() if edit is None else edit.timestamp,
            path=rewind.path,
            kind="modify" if edit is None else edit.kind,
            by=self.by,
            before=_version(before, is_executable=is_executable),
            after=_version(after, is_executable=is_executable),
            edit_id=edit_id,
            added=change.plan.change.n_added,
            removed=change.plan.change.n_removed,
            evidence="commit",
            rewind_id=self.rewind_id,
        )
        return entry, Contents(before, after)


def undo_entries(store: RecordStore, entry_ids: Iterable[str], undone_by: str | None) -> None:
    """Say that an entry undid these, or (None) that they are in force again.

    What an undone entry itself had undone is in force again, and so on: a redo is a rewind, which can be rewound.
    """
    ids = tuple(entry_ids)
    if not ids:
        return
    entries = [entry for entry in map(store.entry, ids) if entry is not None]
    store.mark_undone(ids, undone_by)
    for entry in entries:
        undo_entries(store, entry.undoes, None if undone_by is not None else entry.entry_id)


def _version(content: bytes | None, *, is_executable: bool) -> FileVersion | None:
    return None if content is None else FileVersion(content_digest(content), is_executable)
