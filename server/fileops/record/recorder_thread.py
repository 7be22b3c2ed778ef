"""The recorder's thread: its parts, and the order of its steps.

All parts belong to this thread and work on one table of touched files. The steps of a turn, most urgent first:

1. Messages: a commit of the daemon, a save in an editor, the end of a command.
2. Events. An event only marks its file as touched, with the last edge of a command at which it was untouched (see
command_windows).
3. Reading: files that their writer closed, or that were touched 50 ms ago; at the edge of a command, all touched files.
4. Writing: attribution, comparison, and the database. Answers are sent first. One queue keeps the order of 1 and 3.
While another program has locked the database, only this queue waits.
5. The steps of a start, and of a comparison of all files.

Steps 2 and 3 make an edge of a command exact: `drain` reads everything that was written until then, and only then runs
the call that opens or closes the command. So our clock is never compared with another process's.
"""

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import Struct

from fileops.model.record import Entry
from fileops.ports import EventStream, TextOf
from fileops.record import git
from fileops.record.change_facts import ChangeFacts, OpenDocuments
from fileops.record.change_finder import ChangeFinder
from fileops.record.command_windows import CommandWindows
from fileops.record.disk_thread import FolderDisks
from fileops.record.entries import EntryWriter
from fileops.record.event_reader import EventReader
from fileops.record.expected_writes import ExpectedWrites
from fileops.record.folder_clients import FolderClients, WatchedFolders
from fileops.record.folder_faults import FolderFaults
from fileops.record.folder_upkeep import LOOK_EVERY_S, SCAN_EVERY_S, FolderUpkeep
from fileops.record.git_contents import GitContents
from fileops.record.listeners import RecordListeners
from fileops.record.mailbox import Mailbox
from fileops.record.own_writes import OwnWrites
from fileops.record.recorded_folders import RecordedFolders
from fileops.record.store import MAX_AGE_S, RecordStore
from fileops.record.turns import TurnRegistry
from fileops.record.write_ahead import WriteAhead
from fileops.record.write_queue import WriteQueue

log = logging.getLogger(__name__)

QUIET_S = 0.025  # after the first event: enough to answer an edit
_MAX_QUIETS = 10


class Sources(Struct, frozen=True, kw_only=True):
    """What the thread records from, and whom it notifies. See Recorder."""

    windows: CommandWindows
    turns: TurnRegistry
    documents: OpenDocuments
    expected: ExpectedWrites
    clients: FolderClients
    watched: WatchedFolders
    faults: FolderFaults
    listeners: RecordListeners
    mailbox: Mailbox
    open_stream: Callable[[Callable[[], None]], EventStream] | None
    text_of: TextOf
    answers_within_s: float
    warn: Callable[[str, str | None], None]
    on_entries: Callable[[Sequence[Entry]], None]
    now: Callable[[], float]
    wall: Callable[[], float]


class _Waiter(NamedTuple):
    on_written: Callable[[], None]
    on_settled: Callable[[], None]


class RecorderThread:
    """See the module. Made and used in the thread, once the store is open."""

    def __init__(self, store: RecordStore, sources: Sources) -> None:
        it, mailbox, expected = sources, sources.mailbox, sources.expected
        self.store, self._mailbox, self._expected = store, mailbox, expected
        self._warn, self._now = it.warn, it.now
        store.on_begun_again = self._note_new_record
        disks = FolderDisks(it.answers_within_s, lambda root: mailbox.send(lambda: self.folders.note_answer(root)))
        self.folders = RecordedFolders(disks, it.faults, it.watched, it.now)
        self.writer = EntryWriter(store, it.windows, it.turns, it.on_entries, expected.is_announced)
        contents = GitContents(self._read_blobs, it.text_of)
        self.writes = WriteQueue(
            store, self.writer, contents, on_fault=self.folders.end_by_fault, warn=it.warn, now=it.now
        )
        open_stream = it.open_stream
        self._events = EventReader(
            self.folders,
            it.windows,
            None if open_stream is None else lambda: open_stream(mailbox.wake_for_events),
            it.now,
        )
        facts = ChangeFacts(it.documents, it.windows, disks, it.now, it.wall)
        self.own = OwnWrites(
            store,
            self.writer,
            self.writes,
            contents,
            folders=self.folders,
            events=self._events,
            facts=facts,
            expected=expected,
            now=it.now,
        )
        self.changes = ChangeFinder(
            store,
            self.writes,
            self.own,
            folders=self.folders,
            events=self._events,
            facts=facts,
            expected=expected,
            listeners=it.listeners,
            text_of=it.text_of,
            warn=it.warn,
            wall=it.wall,
        )
        self.upkeep = FolderUpkeep(
            store,
            self.writer,
            self.writes,
            self.own,
            self.changes,
            folders=self.folders,
            events=self._events,
            clients=it.clients,
            expected=expected,
            listeners=it.listeners,
            mailbox=mailbox,
            open_commands=lambda: it.windows.open,
            text_of=it.text_of,
            warn=it.warn,
            wall=it.wall,
        )
        self._is_closing = False
        self._when_written: list[_Waiter] = []  # called once everything read has been written
        self._when_settled: list[Callable[[], None]] = []  # called when all authors are certain
        if store.folder is not None and not store.is_in_memory:
            self._begin_notes(store.folder, it.wall() - MAX_AGE_S)

    def _begin_notes(self, folder: str, oldest: float) -> None:
        ahead = WriteAhead(folder, oldest)
        try:
            ahead.take_over()
        except OSError as error:
            log.warning("what a killed daemon wrote last is not known: %s", error)
        self._expected.ahead = ahead

    def _read_blobs(self, root: str, repository: git.Repository, sizes: dict[bytes, int]) -> dict[bytes, bytes]:
        return self.folders.ask_or(root, lambda: git.read_blobs(repository, sizes), otherwise={})

    # --- the loop ----------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Record until the end. An exception is a fault that ends the record."""
        self._events.open()
        while not self._is_closing:
            if self._mailbox.wait(self._timeout_ms()):
                self._wait_for_quiet()
            self._mailbox.reset()
            self._turn()

    def _wait_for_quiet(self) -> None:
        """Let whatever caused an event finish first, unless a message waits.

        The first event of an edit arrives in the middle of its commit. If this thread ran then, it would hold the
        interpreter while the edit needs it: 1.5 ms for each edit, as measured. The end of a command is a message, so it
        is not delayed.
        """
        if self._expected.announced is not None and self._expected.announced.has_any:
            return  # another content may follow at once, and then this one could no longer be read
        for _ in range(_MAX_QUIETS):
            if self._mailbox.has_message_within(QUIET_S * 1000) or not self._expected.has_commits:
                return

    def _turn(self) -> None:
        while self._mailbox.has_messages:
            self.folders.guard(None, self._mailbox.take())
        self._events.read()
        touched = self.folders.touched
        is_whole = all(folder.is_whole for folder in self.folders)
        if touched.retry_unread(is_whole=is_whole) and not is_whole:
            self.folders.scan()
        self.changes.observe(touched.list_due())
        self.writes.write()
        self.writes.settle()
        if not self.writes and not self.upkeep.looks_for_lost_changes:
            self._notify_of_written()
            if not self.writer.n_unsettled:
                self._notify_of_settled()
        self.writes.return_to_disk()
        self.upkeep.look_around()
        self.upkeep.step()

    def _timeout_ms(self) -> float:
        now = self._now()
        if self._mailbox.has_messages or (self.upkeep.has_steps and now >= self.writes.write_at):
            return 0
        has_folders = len(self.folders) > 0 or bool(self.folders.faults)
        look_at = now + (LOOK_EVERY_S if has_folders else SCAN_EVERY_S)
        wait_s = min(self.writes.due_at, look_at, *self.folders.touched.list_due_times()) - now
        return 0 if wait_s <= 0 else wait_s * 1000 + 1  # a poll ends a fraction of a millisecond early

    def stop(self) -> None:
        """Write everything observed; the loop ends then."""
        self._read_all()
        self.writes.write_before_end()
        self.folders.guard(None, lambda: self.writer.end(self._now()))
        self._is_closing = True

    def end(self) -> None:
        """End the waits of others, and release what the thread has opened."""
        self._notify_of_written()
        self._notify_of_settled()
        stream, disks = self.folders.stream, self.folders.disks
        if stream is not None and not disks.hangs:  # else it is closed by the process's end
            stream.close()
        disks.leave()
        if self._expected.ahead is not None:
            self._expected.ahead.close()

    # --- messages ----------------------------------------------------------------------------------------------

    def _read_all(self) -> None:
        self._events.read()
        self.changes.observe_all()

    def drain(self, then: Callable[[], None], roots: Sequence[str]) -> None:
        """See Recorder.drain."""
        self._events.read()
        self.upkeep.look_closely(roots)
        for _ in range(2):  # files written while others were read may have another author
            self.changes.observe_all()
            self._events.read()
        self.upkeep.note_edge(roots)
        then()
        self._events.read()  # the window's edge: everything read from here on is after it

    def flush(self, on_written: Callable[[], None], on_settled: Callable[[], None]) -> None:
        """Call these once everything written until now has entries, and once their authors are certain.

        Ends of commands do not wait for this.
        """
        self._events.read()
        self.upkeep.compare_lossy()
        self.changes.observe_all()
        self._when_written.append(_Waiter(on_written, on_settled))

    def _notify_of_written(self) -> None:
        waiting, self._when_written = self._when_written, []
        for waiter in waiting:
            self._when_settled.append(waiter.on_settled)
            waiter.on_written()

    def _notify_of_settled(self) -> None:
        waiting, self._when_settled = self._when_settled, []
        for notify in waiting:
            notify()

    def _note_new_record(self, reason: str, aside: str | None) -> None:
        """Fill a new record, after a damaged one was put aside. Any thread."""
        if aside is not None:  # else another daemon has put it aside, and said so
            self._warn(f"The record of changes is damaged: {reason}. It is now {aside}, and a new one begins.", None)
        self._mailbox.send(self.upkeep.begin_record_again)
