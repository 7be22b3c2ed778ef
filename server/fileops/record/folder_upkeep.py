"""Begins the recording of folders, and keeps what is known of them true: starts, copies, comparisons, git's index.

All of it is long work done in short steps between events, or a look once in a while at what no event reports.
"""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from fileops.model.digest import content_digest
from fileops.model.record import CommandRecord, Known, RecordedFolder
from fileops.ports import TextOf
from fileops.record import git
from fileops.record.change_finder import ChangeFinder
from fileops.record.command_windows import covers
from fileops.record.content import ReadFile
from fileops.record.entries import EntryWriter
from fileops.record.event_reader import EventReader
from fileops.record.expected_writes import ExpectedWrites
from fileops.record.folder import Edge, FolderRecording, GitFacts, ask_git, in_steps
from fileops.record.folder_clients import FolderClients
from fileops.record.git_process import GitFailed
from fileops.record.known_files import known_of
from fileops.record.listeners import RecordListeners
from fileops.record.mailbox import Mailbox
from fileops.record.own_writes import OwnWrites
from fileops.record.recorded_folders import RecordedFolders
from fileops.record.staging_watch import StagingWatch
from fileops.record.store import MAX_AGE_S, RecordStore
from fileops.record.write_queue import WriteQueue

log = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0
SCAN_EVERY_S = 60.0
PRUNE_EVERY_S = 3600.0
_STORED_AT_ONCE = 500  # files of which is stored what is known, in one transaction
_COMPARED_WITHIN_S = 0.5  # for comparing folders whose events are incomplete
_STAMPED_WITHIN_S = 0.1  # for comparing the stamps of a folder's files: about 50,000
_MAX_COPIES = 64  # waiting to be written, before copying pauses
_MAX_MERGED = 200  # files that git writes at once, of which it is asked for the parents


class FolderUpkeep:
    """See the module. Belongs to the recorder's thread."""

    def __init__(
        self,
        store: RecordStore,
        writer: EntryWriter,
        writes: WriteQueue,
        own: OwnWrites,
        changes: ChangeFinder,
        *,
        folders: RecordedFolders,
        events: EventReader,
        clients: FolderClients,
        expected: ExpectedWrites,
        listeners: RecordListeners,
        mailbox: Mailbox,
        open_commands: Callable[[], Sequence[CommandRecord]],
        text_of: TextOf,
        warn: Callable[[str, str | None], None],
        wall: Callable[[], float],
    ) -> None:
        self._store, self._writer, self._writes, self._own, self._changes = store, writer, writes, own, changes
        self._folders, self._events, self._clients, self._expected = folders, events, clients, expected
        self._listeners, self._mailbox, self._open_commands = listeners, mailbox, open_commands
        self._text_of, self._warn, self._wall = text_of, warn, wall
        self._staging = StagingWatch()
        self._pruning: Iterator[None] | None = None
        self._looked_at = 0.0
        self._scanned_at = time.monotonic()
        self._pruned_at = time.monotonic() - PRUNE_EVERY_S + SCAN_EVERY_S

    @property
    def has_steps(self) -> bool:
        return self._pruning is not None or any(folder.has_steps for folder in self._folders)

    @property
    def looks_for_lost_changes(self) -> bool:
        """Whether events were lost, and a comparison of all files that finds the changes has not ended."""
        return any(folder.is_comparing and not folder.is_starting for folder in self._list_lossy())

    def look_around(self) -> None:
        """Do what no event asks for, if it is time for it."""
        now = time.monotonic()
        if now - self._looked_at >= LOOK_EVERY_S:
            self._looked_at = now
            self._look_at_folders()
        self._end_left_folders()
        if now - self._scanned_at >= SCAN_EVERY_S:
            self._scanned_at = now
            self._folders.scan()
        if now - self._pruned_at >= PRUNE_EVERY_S:
            self._pruned_at = now
            self._pruning = self._prune()

    def step(self) -> None:
        """Do one step of each long work."""
        folders = self._folders
        if self._pruning is not None:
            folders.guard(None, self._prune_next)
        for folder in folders:
            if folder.start_steps is not None:
                folders.guard(folder.root, folder.start_next)
            elif folder.n_to_copy:
                folders.guard(folder.root, lambda folder=folder: self._copy_next(folder))
        for folder in folders:
            if folder.is_comparing and not folder.is_starting:
                folders.guard(folder.root, lambda folder=folder: self._compare_next(folder))

    # --- the start of a recording ------------------------------------------------------------------------------

    def begin(self, root: str, facts: GitFacts | None) -> None:
        """Begin to record a folder, unless it has no clients any more. Args: facts: what git says of it."""
        self._folders.guard(root, lambda: self._begin(root, facts))

    def _begin(self, root: str, facts: GitFacts | None) -> None:
        folders = self._folders
        has_clients = root in self._clients.roots
        if not has_clients:
            folders.faults.drop(root)
        before = folders.get(root)
        if not has_clients or (before is not None and (facts is None or before.repository is not None)):
            return
        # Commits are noted from now on, so what is known now decides whether the folder was recorded before.
        earlier = self._store.known_files(root)
        stream, edge = folders.stream, self._events.edge
        folder = folders.disks.ask(root, lambda: FolderRecording(root, facts, stream, edge))
        folder.on_nested = lambda nested: self._record_nested(folder, nested)
        folder.text_of = self._text_of
        is_resumed = len(earlier) > 0 or self._store.recording_start(root) is not None
        if before is not None:  # it became a repository: files unknown so far were ignored, not new
            self._events.read()
            self._changes.observe_all()
            earlier, is_resumed = dict(before.files), False
            folders.drop(root)
        folders.add(folder)
        folder.start_steps = self._start_folder(folder, earlier, is_resumed=is_resumed)
        log.info("changes in %s are recorded from now on; --record=edits or off turns this off", root)

    def _start_folder(self, folder: FolderRecording, earlier: dict[str, Known], *, is_resumed: bool) -> Iterator[None]:
        folders, started, began = self._folders, time.monotonic(), self._wall()
        changed, fresh = list[str](), list[str]()
        for known in folders.disks.each(folder.root, folder.start(earlier, changed.append, is_resumed=is_resumed)):
            fresh += known
            yield
        for path in changed:
            folders.touched.touch(path, found="scan", gap="away")
        if self._expected.ahead is not None:
            for path in {*self._expected.ahead.list_unfinished(folder.root)}.difference(changed):
                self._own.claim_left(folder, path)
        # What is known is stored only now, because commands wait for the watches, and not for the store.
        folders.watched.put(folder.root, is_watched=True)
        for at in range(0, len(fresh), _STORED_AT_ONCE):
            paths = fresh[at : at + _STORED_AT_ONCE]
            self._writes.put(folder.root, lambda paths=paths: self._store_known(folder, paths))
        # Not earlier: if a start is cut short, files that are not known need not be new at the next one.
        self._writes.put(folder.root, lambda: self._store.begin_folder(folder.root, began))
        folders.faults.note_recorded(folder.root)
        log.debug("%s: %d files are known after %.1f s", folder.root, len(folder.files), time.monotonic() - started)

    def _store_known(self, folder: FolderRecording, paths: Sequence[str]) -> None:
        """Store what is known of these files by now."""
        known = ((path, folder.files.get(path)) for path in paths)
        self._store.set_known(folder.root, [(path, each) for path, each in known if each is not None])

    def begin_record_again(self) -> None:
        """Fill a new record, after a damaged one was put aside."""
        for folder in self._folders:
            folder.forget_contents(None)
            known = list(folder.files.items())

            def begin(root: str = folder.root, known: list[tuple[str, Known]] = known) -> None:
                self._store.begin_folder(root, self._wall())
                self._store.set_known(root, known)

            self._writes.put(folder.root, begin)

    def forget(self, path: str | None) -> int:
        """Remove all entries and contents of a canonical file or folder (None: everything). Returns how many."""
        self._events.read()
        self._changes.observe_all()
        self._writes.write_before_end()
        n_entries = self._store.forget(path)
        for folder in self._folders:
            self._store.begin_folder(folder.root, self._wall())
            folder.forget_contents(path)
        return n_entries

    # --- which folders -----------------------------------------------------------------------------------------

    def _record_nested(self, folder: FolderRecording, nested: str) -> None:
        """Record a repository in a recorded folder (a submodule, a work tree) as well, for the same clients."""
        joined = self._clients.join_nested(folder.root, nested)
        if joined == "refused":
            folder.limits.add("nested")
        elif joined == "new":
            self._begin_apart(nested)

    def _begin_apart(self, root: str) -> threading.Thread:
        """Begin to record a folder from another thread, because git may wait for a disk and this thread must not."""

        def begin() -> None:
            facts = ask_git(root)
            self._mailbox.send(lambda: self.begin(root, facts))

        starter = threading.Thread(target=begin, name="fileops-record-start", daemon=True)
        starter.start()
        return starter

    def _end_left_folders(self) -> None:
        ended, admitted = self._clients.end_left()
        for root in ended:
            self._folders.faults.drop(root)
            self._folders.end(root)
        for root in admitted:
            self._warn(f"Changes in {root} are recorded from now on.", root)
            self._begin_apart(root)

    def list_status(self) -> list[RecordedFolder]:
        """Return each folder with the state of its recording."""
        refused = [(root, "folders") for root in self._clients.refused]
        off = (*self._folders.faults.list_off(self._folders), *refused)
        return [*map(self._status_of, self._folders), *(self._status_of_off(root, reason) for root, reason in off)]

    def _status_of(self, folder: FolderRecording) -> RecordedFolder:
        is_starting = folder.is_starting or folder.n_to_copy > 0
        reasons = sorted(folder.limits)
        if not folder.is_watched:
            reasons.append("watches" if folder.has_unwatched else "no_events")
        if not folder.is_whole or self._folders.touched.has_unread(folder):
            reasons.append("unread")
        if self._writes.is_delayed:
            reasons.append("store")
        since = self._store.recording_start(folder.root)
        return RecordedFolder(
            root=folder.root,
            state="starting" if is_starting else "limited" if reasons else "on",
            reason=reasons[0] if reasons else None,
            n_files=len(folder.files),
            n_copied=folder.n_copied,
            n_to_copy=folder.n_to_copy,
            watched=folder.is_watched,
            n_bytes=self._store.n_bytes,
            since=None if since is None else max(since, self._wall() - MAX_AGE_S),
        )

    def _status_of_off(self, root: str, reason: str) -> RecordedFolder:
        return RecordedFolder(
            root=root,
            state="off",
            reason=reason,
            n_files=0,
            n_copied=0,
            n_to_copy=0,
            watched=False,
            n_bytes=self._store.n_bytes,
            since=self._store.recording_start(root),
        )

    # --- what no event reports ---------------------------------------------------------------------------------

    def _look_at_folders(self) -> None:
        """Check git's indexes, an event reader that has ended, folders to retry, folders that were made again.

        Copy the contents that a rewritten index no longer names. Events are read first: see folder.update_index.
        """
        folders = self._folders
        folders.faults.retry(folders, self._begin_apart)
        self._events.reopen_if_ended()
        for path in tuple(self._events.becoming):
            folders.guard(None, lambda path=path: self._look_at_new_repository(path))
        self._look_at_staging(folders)
        for folder in folders:
            if folder.start_steps is not None or folder.n_to_copy:
                continue
            folders.guard(folder.root, lambda folder=folder: self._look_at_root(folder))
            if folder.repository is not None:
                folders.guard(folder.root, lambda folder=folder: self._look_at_index(folder))
                folders.guard(folder.root, lambda folder=folder: self._ask_for_parents(folder))
                folders.guard(folder.root, lambda folder=folder: self._look_for_work_trees(folder))

    def _look_at_staging(self, folders: Iterable[FolderRecording]) -> None:
        """Note what was staged, and whether a command was running."""
        for folder in folders:
            self._folders.guard(folder.root, lambda folder=folder: self._note_staged(folder))

    def _note_staged(self, folder: FolderRecording) -> None:
        if (repository := folder.repository) is None:
            return
        staged = self._folders.disks.ask(folder.root, lambda: self._staging.read(repository))
        if staged is not None:
            is_by_agent = any(covers(command, folder.root, folder.root) for command in self._open_commands())
            self._writes.put(
                folder.root, lambda: self._staging.note(self._store, repository, staged, is_by_agent=is_by_agent)
            )

    def _look_at_root(self, folder: FolderRecording) -> None:
        """Watch and compare a folder again if it was removed and created again, which ended its watches."""
        stream, root, disks = self._folders.stream, folder.root, self._folders.disks
        if stream is None or folder.is_refused(root):
            return
        if disks.ask(root, lambda: stream.is_in_place(root) or not os.path.isdir(root)):
            return
        disks.ask(root, lambda: stream.remove_below(root))
        self._folders.touched.note_loss(folder)
        self._events.becoming.add(root)
        folder.begin_comparison()

    def _look_at_new_repository(self, path: str) -> None:
        """Record a folder as a repository once it is one: `git init` creates the folder `.git` first."""
        folder, disks = self._folders.folder_of(f"{path}/.git"), self._folders.disks
        if folder is None or not disks.ask(folder.root, lambda: os.path.lexists(f"{path}/.git")):
            self._events.becoming.discard(path)
        elif disks.ask(folder.root, lambda: git.is_top(path)):
            self._events.becoming.discard(path)
            if path == folder.root:
                self._begin_apart(path)
            else:
                disks.ask(folder.root, lambda: folder.enters(path))  # this also notes it as nested

    def _look_for_work_trees(self, folder: FolderRecording) -> None:
        """Record linked work trees that git ignores, as hosts keep them; others were found with the folder's files."""
        if (repository := folder.repository) is not None:
            for top in self._folders.disks.ask(folder.root, lambda: git.find_linked_work_trees(repository)):
                if top != folder.root:
                    self._record_nested(folder, top)

    def _look_at_index(self, folder: FolderRecording) -> None:
        index = self._folders.disks.ask(folder.root, folder.read_rewritten_index)
        if index is None:
            return
        self._events.read()
        if not self._folders.is_current(folder):
            return
        folder.update_index(index, self._folders.touched.__contains__)
        self._listeners.on_index(folder.root)

    def _ask_for_parents(self, folder: FolderRecording) -> None:
        """Note what git may have merged in the files that it wrote: HEAD has moved by now. Many files are no merge.

        Not only when the index is rewritten: its files may be read after that was noticed.
        """
        carried, repository = folder.take_carried(), folder.repository
        if repository is None or not 0 < len(carried) <= _MAX_MERGED:
            return
        with contextlib.suppress(GitFailed):  # the contents that are known have to do
            parents = self._folders.disks.ask(folder.root, lambda: git.parent_blobs(repository, carried))
            self._writes.put(folder.root, lambda: self._writer.add_parents(parents, carried))

    # --- copies and comparisons --------------------------------------------------------------------------------

    def _copy_next(self, folder: FolderRecording) -> None:
        if len(self._writes) > _MAX_COPIES:
            return
        copied = self._folders.disks.ask(folder.root, folder.copy_next)
        if copied is None:
            return
        path, found = copied
        self._events.read()  # else what was written just before would count as known, and have no entry
        if self._folders.is_current(folder) and path not in self._folders.touched:
            self._keep_copy(folder, path, found)

    def _keep_copy(self, folder: FolderRecording, path: str, found: ReadFile) -> None:
        data = found.data
        known = folder.files[path] = known_of(found, None if data is None else content_digest(data))

        def keep() -> None:
            if data is not None:
                self._store.put(data)
            self._store.set_known(folder.root, [(path, known)])

        self._writes.put(folder.root, keep)

    def _compare_next(self, folder: FolderRecording) -> None:
        edge = self._events.edge
        for path in self._folders.disks.ask(folder.root, lambda: folder.compare_next(edge)):
            self._folders.touched.touch(path, found="scan")

    def _list_lossy(self) -> list[FolderRecording]:
        return [folder for folder in self._folders if folder.lost_edge is not None]

    def compare_lossy(self) -> None:
        """Finish the comparisons of folders whose events were lost, unless that takes long."""
        self._compare(self._list_lossy())

    def look_closely(self, roots: Sequence[str]) -> None:
        """Find what was written into these folders without an event that was read, unless that takes long."""
        incomplete = [folder for folder in self._folders.list_around(roots) if folder.needs_comparison]
        for folder in incomplete:
            folder.begin_comparison()
        self._compare(incomplete)

    def _compare(self, folders: Sequence[FolderRecording]) -> None:
        """Finish the comparisons of these folders that have begun, unless that takes long."""
        ends_at = time.monotonic() + _COMPARED_WITHIN_S
        for folder in folders:
            while not folder.is_starting and folder.is_comparing and time.monotonic() < ends_at:
                self._folders.guard(folder.root, lambda folder=folder: self._compare_next(folder))

    def note_edge(self, roots: Sequence[str]) -> None:
        """Note what belongs before an edge of a command although no event reports it: staged files, silent writes.

        What was written through a mapping has no event, and would be the next command's.
        """
        edge = self._events.edge
        for folder in self._folders.list_around(roots):
            if not folder.is_starting and not folder.needs_comparison:
                self._folders.guard(folder.root, lambda folder=folder: self._touch_silent_writes(folder, edge))
        self._changes.observe_all()
        self._look_at_staging(self._folders.list_around(roots))

    def _touch_silent_writes(self, folder: FolderRecording, edge: Edge) -> None:
        disks = self._folders.disks
        for path in disks.ask(folder.root, lambda: folder.find_silent_writes(edge, _STAMPED_WITHIN_S)):
            self._folders.touched.touch(path, found="scan")

    # --- what is too old ---------------------------------------------------------------------------------------

    def _prune_next(self) -> None:
        if self._pruning is not None and next(self._pruning, _END) is _END:
            self._pruning = None

    def _prune(self) -> Iterator[None]:
        """Remove what is too old or too much, and the contents of files that are now ignored."""
        for folder in self._folders:
            next_ignored = partial(next, in_steps(folder.find_ignored()), None)
            while (paths := self._folders.ask_or(folder.root, next_ignored, otherwise=None)) is not None:
                for path in paths:
                    folder.files.pop(path, None)
                    self._writes.put(folder.root, lambda folder=folder, path=path: self._drop_ignored(folder, path))
                yield
        has_more = [True]
        while has_more[0]:
            if not self._writes:
                self._writes.put(None, lambda: has_more.__setitem__(0, self._store.prune(self._wall())))
            yield

    def _drop_ignored(self, folder: FolderRecording, path: str) -> None:
        self._store.drop_contents(path)
        self._store.set_known(folder.root, [(path, None)])


_END = object()
