"""Reads files that were touched, and finds what has changed: the content, its names, and what identifies its author.

A slow disk, a lost event, a folder without a watch or an unreadable file make the time of a change wider than one
window of a command, and its author unsure. Nothing is concluded from what could not be seen.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from fileops.core.diff.contents import may_be_one_file
from fileops.model.digest import content_digest
from fileops.model.record import ByPerson, Known
from fileops.ports import TextOf
from fileops.record.change_facts import ChangeFacts
from fileops.record.content import ReadFile, Unreadable, read_file
from fileops.record.entries import Observed
from fileops.record.event_reader import EventReader
from fileops.record.expected_writes import ExpectedWrites
from fileops.record.folder import FolderRecording
from fileops.record.known_files import has_stamp, inode_at, is_unchanged, known_of
from fileops.record.listeners import RecordListeners
from fileops.record.own_writes import OwnWrites
from fileops.record.recorded_folders import RecordedFolders
from fileops.record.store import RecordStore
from fileops.record.touched_files import Touch, join_touches
from fileops.record.write_queue import WriteQueue

_READ_BYTES = 64 << 20  # waiting to be written, before reading pauses
_JUST_WRITTEN_S = 2.0  # the coarsest time of a file system is 2 s (FAT)


class ChangeFinder:
    """See the module. Belongs to the recorder's thread."""

    def __init__(
        self,
        store: RecordStore,
        writes: WriteQueue,
        own: OwnWrites,
        *,
        folders: RecordedFolders,
        events: EventReader,
        facts: ChangeFacts,
        expected: ExpectedWrites,
        listeners: RecordListeners,
        text_of: TextOf,
        warn: Callable[[str, str | None], None],
        wall: Callable[[], float],
    ) -> None:
        self._store, self._writes, self._own, self._folders, self._events = store, writes, own, folders, events
        self._facts, self._expected, self._listeners = facts, expected, listeners
        self._text_of, self._warn, self._wall = text_of, warn, wall
        # While files are observed: names of each inode, by folder, and creations of files that took another's name.
        self._names: dict[str, dict[int, list[tuple[str, Known]]]] = {}
        self._took_names: list[tuple[FolderRecording, Observed]] = []
        self._dropped_by: dict[str, ByPerson] = {}  # who discarded unsaved text, by the path of its file

    def observe_all(self) -> None:
        self.observe(self._folders.touched.paths)

    def observe(self, paths: Sequence[str]) -> None:
        """Read these files, and queue what has changed."""
        self._names.clear()
        try:
            self._observe_each(paths)
        finally:
            # Files that took another's name come after all names that vanished, and so find where they came from.
            for folder, change in self._took_names:
                self._writes.put_change(folder, change)
            self._took_names.clear()

    def _observe_each(self, paths: Sequence[str]) -> None:
        for path in paths:
            if self._expected.is_committing(path):  # the message at its end makes us look at the file
                continue
            if self._writes.n_waiting_bytes > _READ_BYTES and not self._writes.write_all():
                return  # the rest waits for room, and its authors are then unsure
            touch, folder = self._folders.touched.take(path), self._folders.folder_of(path)
            if touch is not None and folder is not None:  # else a fault at an earlier path ended its folder
                self._folders.guard(
                    folder.root, lambda folder=folder, path=path, touch=touch: self._look(folder, path, touch)
                )

    def _look(self, folder: FolderRecording, path: str, touch: Touch) -> None:
        """Check whether a file has changed."""
        touched = self._folders.touched
        try:
            found = self._folders.disks.ask(folder.root, lambda: read_file(path, folder.root, self._text_of))
        except Unreadable:
            touched.note_unread(path, touch)
        else:
            # The content just read may include writes whose events came only now; count those, too.
            self._events.read()
            late = touched.get(path)
            if late is not None and touch.n_writes is not None:
                touch.n_writes = None if late.n_writes is None else touch.n_writes + late.n_writes
                late.n_counted = late.n_writes or 0
            if folder.needs_comparison:  # they may be among those that were lost
                touch.n_writes = None
            if late is not None:
                touch.is_beside_git = touch.is_beside_git or late.is_beside_git
            names = self._names_of(folder, path, found) if found is not None and found.n_links > 1 else (path,)
            for other in names[1:]:
                touch = join_touches(touch, touched.get(other))
            # The content may be that of a commit that began after `_observe_each` looked and before the file was read.
            if self._expected.is_committing(path):
                touched.put_back(path, touch)
            else:
                for name in names:
                    self._observe_file(folder, name, touch, found, names)

    def _observe_file(
        self, folder: FolderRecording, path: str, touch: Touch, found: ReadFile | None, names: Sequence[str]
    ) -> None:
        """Note what was found at a path. Args: names: all names of the file."""
        before = folder.files.get(path)
        if found is None and before is None:
            return
        documents = self._facts.documents_at(path)
        is_unsaved = before is not None and before.is_unsaved and len(documents) > 0
        if is_unsaved and before is not None and found is not None and found.mtime_ns <= before.mtime_ns:
            return  # older than the document, which the record already has
        digest = None if found is None or found.data is None else content_digest(found.data)
        after = None if found is None else known_of(found, digest)
        if before is None and folder.is_starting and touch.gap is None:
            before = Known(content="kept")  # it may have existed, with any content
        if before is not None and after is not None and is_unchanged(before, after):
            folder.files[path] = after
            n_writes = None if touch.n_writes is None else touch.n_writes - touch.n_counted
            if n_writes != 0 and digest is not None:
                self._writes.put_rewritten(folder, path, digest, n_writes)
            return
        if found is not None and found.data is not None and digest is not None:
            self._listeners.on_found(path, digest, found.data)
        commit = self._own.find_announced(folder, path, before, found)
        if commit is not None:
            self._own.note(path, commit)
            return
        if after is None:
            folder.files.pop(path, None)
        else:
            folder.files[path] = after
        self._listeners.on_observed(path, "delete" if after is None else "create" if before is None else "modify")
        data = None if found is None else found.data
        dropped_by = self._dropped_by.pop(path, None)
        change = self._facts.to_observed(folder, path, touch, before, after, data, typed_by=dropped_by, names=names)
        if data is not None and not (documents or change.commands or touch.is_beside_git):
            self._look_for_overwritten(folder, path, before, data)
        if before is not None and found is not None and self._took_name(folder, path, touch, before, found):
            self._writes.put_change(folder, replace(change, after=None, after_data=None))
            self._took_names.append((folder, replace(change, before=None)))
            return
        origin = self._find_old_name(folder, path, touch, found, data) if before is None else None
        if origin is not None:
            known, known_data = origin
            self._writes.put_change(folder, replace(change, after=known, after_data=known_data))
            change = replace(change, before=known)
        self._writes.put_change(folder, change)
        if touch.gap == "away" and self._expected.ahead is not None and self._expected.ahead.is_left(path):
            self._own.claim_left(folder, path)

    def _look_for_overwritten(self, folder: FolderRecording, path: str, before: Known | None, data: bytes) -> None:
        """Report an older text that another program, such as an editor that saves by itself, wrote over fresh lines.

        Not what a person typed in an attached editor, a command or git: they knew the lines, or are undone otherwise.
        """
        commit = self._own.fresh.take_overwritten(path, None if before is None else before.digest, data)
        sentence = None if commit is None else self._listeners.on_overwritten(commit, data)
        if sentence is not None:
            self._warn(sentence, folder.root)

    def drop_unsaved(self, path: str, person: ByPerson) -> None:
        """Note that a document was closed, and that its user may have discarded changes."""
        folder = self._folders.folder_of(path)
        known = None if folder is None else folder.files.get(path)
        if folder is not None and known is not None and known.is_unsaved and not self._facts.documents_at(path):
            folder.files[path] = replace(known, is_unsaved=False, mtime_ns=0)
            self._dropped_by[path] = person
            self._folders.touched.touch(path, is_complete=True)

    # --- names -------------------------------------------------------------------------------------------------

    def _names_of(self, folder: FolderRecording, path: str, found: ReadFile) -> tuple[str, ...]:
        """Return the recorded names of a file with hard links, this one first: a write under one changes them all."""
        others = [name for name, _ in self._find_known_names(folder).get(found.inode, ()) if name != path]
        present = self._folders.disks.ask(
            folder.root, lambda: [name for name in others if inode_at(name) == found.inode]
        )
        return (path, *present)

    def _find_known_names(self, folder: FolderRecording) -> dict[int, list[tuple[str, Known]]]:
        """Return the names of each inode, as they were known before these files were observed."""
        names = self._names.get(folder.root)
        if names is None:
            names = self._names[folder.root] = {}
            for name, known in folder.files.items():
                names.setdefault(known.inode, []).append((name, known))
        return names

    def _took_name(self, folder: FolderRecording, path: str, touch: Touch, before: Known, found: ReadFile) -> bool:
        """Return whether another file that was known has this name now: it was renamed, and this one not rewritten.

        An editor's save also gives a name to another file, but to one that has just been written.
        """
        is_just_written = touch.gap is None and found.mtime_ns > (self._wall() - _JUST_WRITTEN_S) * 1e9
        if before.inode == found.inode or is_just_written:
            return False
        return any(
            name != path and has_stamp(known, found)
            for name, known in self._find_known_names(folder).get(found.inode, ())
        )

    def _find_old_name(
        self, folder: FolderRecording, path: str, touch: Touch, found: ReadFile | None, data: bytes | None
    ) -> tuple[Known, bytes] | None:
        """Return the last known version and content of a file that was renamed and edited while no daemon recorded it.

        Its inode is that of a file that was known, and so is most of its text. An inode alone may have been used again.
        """
        if touch.gap != "away" or found is None or data is None:
            return None
        for name, known in self._find_known_names(folder).get(found.inode, ()):
            if name == path or known.digest is None or has_stamp(known, found):
                continue
            content = self._store.content(known.digest)
            if content is not None and may_be_one_file(content, data):
                return known, content
        return None
