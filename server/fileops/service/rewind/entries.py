"""The entry of a file that a rewind leaves as it is: that its changes count as undone has to be recorded, too."""

import time
import uuid

from fileops.model.digest import content_digest
from fileops.model.record import By, Contents, Entry, FileVersion
from fileops.record.store import RecordStore
from fileops.service.change_set import FileChange


def note_unchanged(store: RecordStore, change: FileChange, by: By, rewind_id: str) -> None:
    """Record that a rewind undid entries of a file whose text others had undone before."""
    snapshot = change.plan.snapshot
    content = snapshot.data if snapshot.exists else None
    newest = store.newest(snapshot.path)
    is_executable = newest is not None and newest.after is not None and newest.after.is_executable
    version = None if content is None else FileVersion(content_digest(content), is_executable)
    entry = Entry(
        entry_id=f"e-{uuid.uuid4().hex[:12]}", time=time.time(), path=snapshot.path, kind="modify", by=by,
        before=version, after=version, evidence="commit", undoes=change.entry_ids, rewind_id=rewind_id,
    )  # fmt: skip
    with store.transaction():
        store.append(entry, Contents(content, content))
        store.undo(change.entry_ids, entry.entry_id)
