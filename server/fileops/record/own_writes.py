"""Records writes whose author and contents are known: the daemon's, and those that hosts' own tools had announced."""

from collections.abc import Callable

from msgspec.structs import replace

from fileops.model.announcements import MAX_COMPARED_BYTES, Content
from fileops.model.commits import Commit
from fileops.model.digest import content_digest
from fileops.model.record import BySession, KeptEdit, Known
from fileops.platform.regular_files import NotReadable, read_regular
from fileops.record.announced_writes import AnnouncedWrite
from fileops.record.change_facts import ChangeFacts
from fileops.record.content import ReadFile, is_secret
from fileops.record.entries import EntryWriter
from fileops.record.event_reader import EventReader
from fileops.record.expected_writes import ExpectedWrites
from fileops.record.folder import FolderRecording
from fileops.record.fresh_edits import FreshEdits
from fileops.record.git_contents import GitContents
from fileops.record.known_files import inode_at, is_result, is_unchanged, known_of_snapshot, stamp_of
from fileops.record.recorded_folders import RecordedFolders
from fileops.record.store import RecordStore
from fileops.record.write_ahead import is_of_one
from fileops.record.write_queue import WriteQueue


class OwnWrites:
    """See the module. Belongs to the recorder's thread. fresh: the newest edits, for a short time."""

    def __init__(
        self,
        store: RecordStore,
        writer: EntryWriter,
        writes: WriteQueue,
        contents: GitContents,
        *,
        folders: RecordedFolders,
        events: EventReader,
        facts: ChangeFacts,
        expected: ExpectedWrites,
        now: Callable[[], float],
    ) -> None:
        self._store, self._writer, self._writes, self._contents = store, writer, writes, contents
        self._folders, self._events, self._facts, self._expected = folders, events, facts, expected
        self.fresh = FreshEdits(now)

    def end_commit(self, path: str, edit: Commit | None) -> None:
        """Note that a commit has ended. Args: edit: None if there is nothing to record."""
        self._expected.end(path)
        if self._folders.folder_of(path) is not None:
            self._folders.touched.touch(path, is_complete=True)
        if edit is not None:
            self.note(path, edit)
        ahead = self._expected.ahead
        if ahead is not None and ahead.is_pending(path):
            # Work that is queued is done in order, so the record has the entry then.
            self._writes.put(None, lambda: ahead.end(path, is_stored=not self._store.is_in_memory))

    def keep(self, path: str, edit: Callable[[], KeptEdit]) -> None:
        """Store the data that undos need of an edit; of a protected file it is empty."""
        folder, kept = self._folders.folder_of(path), edit()
        if kept.body and is_secret(path, "" if folder is None else folder.root):
            kept = replace(kept, body=b"")
        self._writes.put(None if folder is None else folder.root, lambda: self._store.put_edit(kept))

    def note(self, path: str, edit: Commit) -> None:
        """Record a write."""
        folders = self._folders
        folder = folders.folder_of(path)
        root = "" if folder is None else folder.root
        before, after = known_of_snapshot(edit.before, root), known_of_snapshot(edit.after, root)
        path = edit.before.path
        known_in = folder if edit.has_changed and folder is not None and folders.is_recorded(folder, path) else None
        if known_in is not None:
            if not is_result(known_in.files.get(path), after):
                folders.guard(known_in.root, lambda: self._note_before(known_in, edit, before))
            if after is None:
                known_in.files.pop(path, None)
            else:
                known_in.files[path] = after

        self.fresh.note(path, edit)
        entry = self._writer.own(edit, before, after)
        others = () if known_in is None or after is None else self._note_other_names(known_in, edit, after)

        def write() -> None:
            if known_in is not None:
                self._store.set_known(known_in.root, [(name, after) for name in (path, *others)])
            if entry is not None:
                written = self._writer.write_own(entry, edit)
                for other in others:
                    self._writer.write_other_name(written, edit, other)
            if after is not None and after.digest is not None:
                self._store.put(edit.after.data)

        self._writes.put(None if folder is None else folder.root, write)

    def _note_other_names(self, folder: FolderRecording, edit: Commit, after: Known) -> list[str]:
        """Note a commit under the other names of a file with hard links, and return them."""
        stamp = edit.after.stamp
        if stamp is None or stamp.n_links < 2:
            return []
        names = [name for name, known in folder.files.items() if known.inode == stamp.ino and name != edit.after.path]
        names = [name for name in names if not self._expected.is_committing(name)]
        present = self._folders.disks.ask(folder.root, lambda: [name for name in names if inode_at(name) == stamp.ino])
        changed = [name for name in present if not is_unchanged(folder.files[name], after)]
        folder.files.update(dict.fromkeys(changed, after))
        return changed

    def _note_before(self, folder: FolderRecording, edit: Commit, before: Known | None) -> None:
        """Record what others wrote before the daemon's own commit, if that was not read yet."""
        path, known = edit.before.path, folder.files.get(edit.before.path)
        if known is None:
            if before is None or folder.is_starting:
                return
        elif before is not None and (known.content, known.digest) == (before.content, before.digest):
            return
        touched = self._folders.touched
        touch = touched.get(path) or touched.new_touch(path)
        is_typed = edit.after.source == "buffer"  # else the content before was the file's
        self._events.read()  # else its writes would not be counted
        if not self._folders.is_current(folder):
            return
        if touch.n_writes is not None:
            n_others = touch.n_writes - (not is_typed)  # without the commit's own
            touch = replace(touch, n_writes=n_others if n_others > 0 else None)
        documents = self._facts.documents_at(path) if is_typed else ()
        typist = next((document.person for document in documents), None)
        data = edit.before.data if edit.before.exists and before is not None and before.content == "kept" else None
        change = self._facts.to_observed(folder, path, touch, known, before, data, typed_by=typist)

        def write() -> None:
            self._contents.read([(folder, change)])
            found = self._contents.with_content(change)
            if found is not None and (found.before is None or found.before.digest is not None):
                self._writer.write(found)

        self._writes.put(folder.root, write)

    # --- announced writes --------------------------------------------------------------------------------------

    def find_announced(
        self, folder: FolderRecording, path: str, before: Known | None, found: ReadFile | None
    ) -> Commit | None:
        """Return the commit of a host's own tool that has just announced what it would write; else None."""
        announced = self._expected.announced
        if announced is None or not announced.is_announced(path):
            return None
        content: Content = None
        if found is not None:
            content = found.data
            if content is None:  # of a protected file: compared, and not kept
                content = self._folders.disks.ask(folder.root, lambda: _read_to_compare(path))
            if content is None:
                return None
        stamp = None if found is None else stamp_of(found)
        may_store = found is None or found.data is not None
        return announced.match(
            path, lambda write: self._content_before(before, write, content), content, stamp, may_store=may_store
        )

    def _content_before(self, before: Known | None, write: AnnouncedWrite, after: Content) -> Content:
        """Return the content before the one that was just read: one that the file had since the announcement.

        If the recorder knows an older one, another program wrote before the announcement, and its change is not read
        yet. The exception is a content that was read after the hook had looked, and before it announced the write.
        """
        if before is None:
            return None
        known = [content for content in reversed(write.seen) if content is not None]
        if before.digest is not None:
            same = next((content for content in known if content_digest(content) == before.digest), None)
            if same is not None:
                return same
            stored = self._store.content(before.digest)
            return stored if stored is not None and write.makes(stored, after) else write.seen[-1]
        same = next((content for content in known if len(content) == before.size_bytes), None)
        return same if same is not None else write.seen[-1]

    # --- what a killed daemon wrote ----------------------------------------------------------------------------

    def claim_left(self, folder: FolderRecording, path: str) -> None:
        """Give the author to what a daemon wrote that was killed before it could record it, once it has an entry."""
        self._writes.put(folder.root, lambda: self._claim_left(path))

    def _claim_left(self, path: str) -> None:
        """If others may have written as well since the content that the record knew before, the author is unsure."""
        writes = [] if self._expected.ahead is None else self._expected.ahead.drop(path)
        entry = self._store.newest(path) if writes else None
        digest = None if entry is None or entry.after is None else entry.after.digest
        if entry is None or digest is None or entry.time < writes[-1].time:  # none of them was made
            return
        made = next((n for n in reversed(range(len(writes))) if writes[n].after == digest), None)
        last = writes[-1 if made is None else made]
        before = None if entry.before is None else entry.before.digest
        is_certain = made is not None and is_of_one(writes[: made + 1], before)
        by = BySession(session_id=last.session_id, label=last.label)
        self._writer.claim(path, by, digest, is_unsure=not is_certain)


def _read_to_compare(path: str) -> bytes | None:
    """Read a file whose content is not kept; None if it cannot be compared."""
    try:
        return read_regular(path, MAX_COMPARED_BYTES, follows_links=False)
    except (OSError, NotReadable):
        return None
