"""The recorder: one thread that watches the recorded folders, reads changed files, and records who changed them.

It is one module because all of it runs in that thread, on one table of touched files. Other threads only put a message
into a queue, which takes microseconds, so no edit waits for the record.

The steps of the thread, most urgent first:

1. Messages: a commit of the daemon, a save in an editor, the end of a command.
2. Events. An event only marks its file as touched, with the last edge of a command at which it was untouched (see
command_windows).
3. Reading: files that their writer closed, or that were touched 50 ms ago; at the edge of a command, all touched files.
4. Writing: attribution, comparison, and the database. Answers are sent first. One queue keeps the order of 1 and 3.
While another program has locked the database, only this queue waits.
5. The steps of a start, and of a comparison of all files.

Steps 2 and 3 make an edge of a command exact: `drain` reads everything that was written until then, and only then runs
the call that opens or closes the command. So our clock is never compared with another process's. A slow disk, a lost
event, a folder without a watch or an unreadable file make the time of a change wider than one window, and its author
unsure. Nothing is concluded from what could not be seen.

A fault ends the recording of the folder it came from, which is retried after a while. A disk that does not answer has
the same effect: every call that may wait for a folder's disk runs in a second thread, for which this thread waits a few
seconds. Such a call may end much later. It returns its result, and the folder is the only state of this thread that it
changes.
"""

import asyncio
import contextlib
import logging
import os
import select
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future
from typing import NamedTuple, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fileops.core.diff.contents import may_be_one_file
from fileops.core.notebook.editor_cells import is_shown_as
from fileops.core.roots import is_inside
from fileops.core.text import decode, detect_format
from fileops.model.commits import Commit, IntendedWrite
from fileops.model.diagnostics import ChangeKind
from fileops.model.digest import content_digest
from fileops.model.files import FolderEvent
from fileops.model.internal_errors import WatchError
from fileops.model.record import (
    ByPerson,
    BySession,
    CommandRecord,
    Entry,
    Found,
    GapKind,
    KeptEdit,
    Known,
    KnownBy,
    RecordedFolder,
    TurnRecord,
)
from fileops.platform.regular_files import NotReadable, read_regular
from fileops.platform.steady_clock import steady_time
from fileops.ports import EventStream
from fileops.record import git
from fileops.record.announced import MAX_BYTES, AnnouncedWrite, AnnouncedWrites, Content
from fileops.record.attribution import Save
from fileops.record.command_windows import CommandWindows, OpenCommands, covers
from fileops.record.content import ReadFile, TextOf, Unreadable, is_secret, read_file
from fileops.record.disk_thread import FolderDisks, FolderHangs
from fileops.record.entries import EntryWriter, Observed
from fileops.record.folder import Edge, GitFacts, ask_git, in_steps
from fileops.record.folder import FolderRecording as Folder
from fileops.record.folder_clients import FolderClients, WatchedFolders
from fileops.record.folder_faults import FolderFaults
from fileops.record.fresh_edits import FreshEdits
from fileops.record.git_contents import GitContents
from fileops.record.git_process import GitFailed
from fileops.record.known import has_stamp, inode_at, is_result, is_unchanged, known_of, known_of_snapshot, stamp_of
from fileops.record.staging import StagingWatch
from fileops.record.store import MAX_AGE_S, RecordStore
from fileops.record.turns import TurnRegistry
from fileops.record.write_ahead import WriteAhead, is_of_one
from fileops.record.write_queue import WriteQueue

log = logging.getLogger(__name__)
T = TypeVar("T")

DEBOUNCE_S = 0.05
QUIET_S = 0.025  # after the first event: enough to answer an edit
_MAX_QUIETS = 10
SCAN_EVERY_S = 60.0
_WAKE_BYTES = 1 << 16  # the capacity of a pipe
PRUNE_EVERY_S = 3600.0
KEPT_S = 3600.0  # for a folder without clients: editors often restart
_INDEX_LOCK = "index.lock"  # git-update-index(1)
_INDEX_EVERY_S = 1.0
_STORED_AT_ONCE = 500  # files of which is stored what is known, in one transaction
MAX_FOLDERS = 200
_SETTLED_WITHIN_S = 5.0  # a recorder busy for longer is not waited for
WRITTEN_WITHIN_S = 60.0  # but before an undo: a command may have written ten thousand files
_DRAINED_WITHIN_S = 1.0  # the same if it waits for a disk: see drain
_BUSY_WITHIN_S = 5.0  # the same if it reads what a command wrote
_COMPARED_WITHIN_S = 0.5  # for comparing folders whose events are incomplete
_STAMPED_WITHIN_S = 0.1  # for comparing the stamps of a folder's files: about 50,000
_READ_BYTES = 64 << 20  # waiting to be written, before reading pauses
_MAX_COPIES = 64  # waiting to be written, before copying pauses
_MAX_MERGED = 200  # files that git writes at once, of which it is asked for the parents
_JUST_WRITTEN_S = 2.0  # the coarsest time of a file system is 2 s (FAT)
_UNREAD_PAUSES_S = (0.25, 30.0)  # first and longest pause before an unreadable file is retried
FAULT_PAUSE_S = 60.0
ANSWERS_WITHIN_S = 5.0  # how long a disk may take for one short step
_CLOSED_WITHIN_S = 5.0


class TypedDocument(Struct, frozen=True, kw_only=True):
    """An open document. changed: on the steady clock. is_typed: its user changed it after it last matched the file."""

    person: ByPerson
    text: str
    changed: float
    is_typed: bool


class OpenDocuments(Protocol):
    """The open documents of all editors. Called in the recorder's thread, and must not wait for a disk."""

    def documents_at(self, path: str) -> Sequence[TypedDocument]: ...


def _log_warning(sentence: str, _root: str | None) -> None:
    log.warning("%s", sentence)


class RecorderFailed(Exception):
    """The store could not be opened, so nothing is recorded. The message is the reason."""


class _Opened(NamedTuple):
    store: RecordStore
    writer: EntryWriter
    writes: WriteQueue
    contents: GitContents


class _Touch(Struct):
    """A file that may have changed. began: when that was noticed. since: the last edge of a command before that.

    known_at: the time of that edge. earliest: a time at which it had not changed yet, or 0.0 if none is known. The
    thread may notice a change long after it was made, even after its save was reported. n_writes: how many times a
    writer has finished since; None if unknown. is_beside_git: whether git may have written it: see Entry.
    """

    began: float
    earliest: float
    known_at: float
    since: int
    found: Found = "event"
    gap: GapKind | None = None
    is_complete: bool = False
    n_writes: int | None = 0
    is_beside_git: bool = False


class Recorder:
    """See the module. Start the thread with `start`. Any thread may call any method."""

    def __init__(
        self,
        open_store: Callable[[], RecordStore],
        windows: CommandWindows,
        turns: TurnRegistry,
        documents: OpenDocuments,
        *,
        open_stream: Callable[[Callable[[], None]], EventStream] | None,
        kept_s: float = KEPT_S,
        fault_pause_s: float = FAULT_PAUSE_S,
        answers_within_s: float = ANSWERS_WITHIN_S,
        written_within_s: float = WRITTEN_WITHIN_S,
        max_folders: int = MAX_FOLDERS,
        warn: Callable[[str, str | None], None] = _log_warning,
        on_entries: Callable[[Sequence[Entry]], None] = lambda _entries: None,
        now: Callable[[], float] = steady_time,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Prepare the thread, without starting it.

        Args: open_store: called in the thread, because a disk may be slow. open_stream: opens the watch of folders,
        given a function to call when there are events to read; None: record only the daemon's own edits. kept_s: how
        long a folder without clients stays recorded. fault_pause_s: how long after a fault a folder is retried.
        answers_within_s: how long to wait for a disk. written_within_s: how long `settle` waits. max_folders: how many
        are recorded at once. warn: called with a sentence for people and the folder it is about, when recording fails
        and when it works again. on_entries: see EntryWriter. now: the clock that orders events. wall: the clock that
        people are shown.
        """
        self.windows, self.turns = windows, turns
        self._open_store, self._on_entries = open_store, on_entries
        self._opened: Future[_Opened] = Future()
        windows.on_change, turns.on_change = self._keep_command, self._keep_turn
        self.on_turn: Callable[[TurnRecord], None] = lambda _turn: None  # called with each turn that begins or ends
        self.on_index: Callable[[str], None] = lambda _root: None  # called with the root when git's index was written
        # Called in the recorder's thread with each file that another program has written, and with what it wrote: the
        # path, the digest and the content.
        self.on_observed: Callable[[str, ChangeKind], None] = lambda _path, _kind: None
        self.on_found: Callable[[str, bytes, bytes], None] = lambda _path, _digest, _content: None
        self.text_of: TextOf = lambda _path, data: data  # see content.read_file; set before `start`
        self.announced: AnnouncedWrites | None = None  # writes that hosts' own tools are about to make
        # Called in the recorder's thread when another program has written an older text over an agent's fresh lines,
        # with the agent's commit and that text. Returns a sentence for the person, or None.
        self.on_overwritten: Callable[[Commit, bytes], str | None] = lambda _commit, _content: None
        self._ahead: WriteAhead | None = None  # set by the thread, before the first commit of a recorded folder
        self._documents, self._warn, self._now, self._wall = documents, warn, now, wall
        self._fresh = FreshEdits(now)
        self._lock = threading.Lock()
        self._messages: deque[Callable[[], None]] = deque()
        self._committing: dict[str, int] = {}  # guarded by _lock: the daemon's commits in progress
        self._clients = FolderClients(max_folders, kept_s)
        self._watched = WatchedFolders()
        self._open_stream = open_stream
        self._max_folders = max_folders
        self._written_within_s = written_within_s
        self._wake_fd, self._waker_fd = os.pipe()  # not inherited by child processes
        self._event_fd, self._eventer_fd = os.pipe()
        for fd in (self._wake_fd, self._waker_fd, self._event_fd, self._eventer_fd):
            os.set_blocking(fd, False)
        self._is_closed = False  # guarded by _lock: no more messages are accepted
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="fileops-record", daemon=True)
        # Of the recorder's thread:
        self._stream: EventStream | None = None
        self._read_edge = Edge(0, self._now())  # everything written before this edge has been read
        self._folders: dict[str, Folder] = {}
        self._faults = FolderFaults(fault_pause_s, warn, now)
        self._becoming: set[str] = set()  # folders in which a `.git` has appeared
        self._staging = StagingWatch()
        self._disks = FolderDisks(answers_within_s, lambda root: self._send(lambda: self._retry(root)))
        self._touched: dict[str, _Touch] = {}
        # While files are observed: names of each inode, by folder, and creations of files that took another's name.
        self._names: dict[str, dict[int, list[tuple[str, Known]]]] = {}
        self._took_names: list[tuple[Folder, Observed]] = []
        self._unread: dict[str, _Touch] = {}  # unreadable files, with their first touch
        self._was_unread: set[str] = set()  # those of them that are touched again
        self._unread_pause_s, self._unread_at = _UNREAD_PAUSES_S[0], 0.0
        self._pruning: Iterator[None] | None = None
        self._looked_at = 0.0
        self._dropped_by: dict[str, ByPerson] = {}  # who discarded unsaved text, by the path of its file
        self._when_written: list[Callable[[], None]] = []  # called once everything read has been written
        self._when_settled: list[Callable[[], None]] = []  # called when all authors are certain
        self._scanned_at = time.monotonic()
        self._pruned_at = time.monotonic() - PRUNE_EVERY_S + SCAN_EVERY_S

    @property
    def store(self) -> RecordStore:
        """The store, once the thread has opened it. May block, so call it in worker threads. Raises: RecorderFailed."""
        return self._opened.result().store

    @property
    def _writer(self) -> EntryWriter:
        """Raises: RecorderFailed."""
        return self._opened.result().writer

    @property
    def _writes(self) -> WriteQueue:
        """Raises: RecorderFailed."""
        return self._opened.result().writes

    async def wait_until_open(self) -> RecordStore | None:
        """Wait until the thread has opened the store. None if it failed."""
        with contextlib.suppress(RecorderFailed):
            # Cancelling this request must not cancel the future, because others wait for it.
            return (await asyncio.shield(asyncio.wrap_future(self._opened))).store
        return None

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Write everything observed, then end the thread. Blocks."""
        if self._thread.is_alive():
            self._send(self._stop)
            with self._lock:
                self._is_closed = True
            self._thread.join(_CLOSED_WITHIN_S)
            if self._thread.is_alive():  # it waits for a disk, and ends with the process
                log.error("the record was not closed: a disk does not answer; its last entries may be missing")
                return
        if self._opened.done() and self._opened.exception() is None:
            self.store.close()

    def _stop(self) -> None:
        self._read_events()
        self._observe_all()
        self._writes.write_before_end()
        self._guard(None, lambda: self._writer.end(self._now()))
        self._is_closing = True

    # --- messages (any thread) ---------------------------------------------------------------------------------

    def record(self, folder: str, client: str) -> None:
        """Record a client's folder, given its canonical path.

        Blocks while git is asked, so call it in a worker thread.
        """
        root = choose_root(folder)
        if root is None or self._open_stream is None:
            return
        joined = self._clients.join(root, client)
        if joined == "refused":
            self._warn(
                f"Changes in {root} are not recorded, because {self._max_folders} folders are recorded already, which "
                "is the most. They are recorded once another folder has had no client for a while.",
                root,
            )
        elif joined == "new":
            self._begin_in_thread(root)

    def expect(self, folder: str) -> Callable[[], None]:
        """Announce that a folder will be recorded, so that commands in it wait.

        Returns a function to call after `record`.
        """
        return self._watched.expect(folder)

    async def until_watched(self, roots: Sequence[str]) -> bool:
        """Wait for a short time until those of these folders that will be recorded are watched. False if some are not.

        A change before that is recorded without the content before it, and with an unsure author.
        """
        return await self._watched.wait(roots, self._find_awaited_roots)

    def _find_awaited_roots(self) -> Collection[str] | None:
        return None if self._is_closed else self._clients.roots - self._faults.roots

    def is_watched(self, path: str) -> bool:
        """Return whether the changes of a canonical path are observed."""
        return self._watched.contains(path)

    def leave(self, client: str) -> None:
        """Remove a client. A folder without clients stays recorded for another kept_s."""
        self._clients.leave(client)

    def _keep_command(self, command: CommandRecord) -> None:
        self._send(lambda: self._writes.put(None, lambda: self.store.put_command(command)))

    def _keep_turn(self, turn: TurnRecord) -> None:
        self._send(lambda: self._writes.put(None, lambda: self._put_turn(turn)))

    def _put_turn(self, turn: TurnRecord) -> None:
        self.store.put_turn(turn)
        self.on_turn(turn)

    def begin_commit(self, path: str, intended: IntendedWrite | None = None) -> None:
        """Note that the daemon is about to write a file. The recorder does not read the file until the commit ends."""
        if intended is not None and self._ahead is not None:
            self._ahead.begin(intended)
        with self._lock:
            self._committing[path] = self._committing.get(path, 0) + 1

    def cancel_commit(self, path: str) -> None:
        """Note that the daemon could not write a file."""
        self._end_commit(path, None)

    def end_commit(self, commit: Commit) -> None:
        """Note that the daemon has written a file."""
        for part in commit.by_path():
            self._end_commit(part.before.path, part if commit.has_changed or commit.is_undo else None)

    def _end_commit(self, path: str, edit: Commit | None) -> None:
        is_watched = self._open_stream is not None and any(is_inside(root, path) for root in self._clients.roots)
        # The commit's watch event wakes the thread later, so it does not delay the edit.
        self._send(lambda: self._note_commit(path, edit), is_urgent=not is_watched)

    def keep_edit(self, path: str, edit: Callable[[], KeptEdit]) -> None:
        """Store the data that undos need of an edit; of a protected file it is empty.

        Args: path: canonical. edit: called in the recorder's thread.
        """
        # Not urgent, because the message that ends the commit follows and wakes the thread.
        self._send(lambda: self._keep_edit(path, edit), is_urgent=False)

    def _keep_edit(self, path: str, edit: Callable[[], KeptEdit]) -> None:
        folder, kept = self._folder_of(path), edit()
        if kept.body and is_secret(path, "" if folder is None else folder.root):
            kept = replace(kept, body=b"")
        self._writes.put(None if folder is None else folder.root, lambda: self.store.put_edit(kept))

    def note_save(self, path: str, person: ByPerson, text: str) -> None:
        """Note that, by an editor's report, its user saved a document with this text."""
        self._note_save(path, Save(person=person, time=self._now(), text=text))

    def note_unsaved_text(self, path: str, person: ByPerson) -> None:
        """Note that an editor has gone with text that it had not reported as saved: it may have saved some."""
        self._note_save(path, Save(person=person, time=self._now(), text=None))

    def _note_save(self, path: str, save: Save) -> None:
        self._send(lambda: self._writes.put(None, lambda: self._writer.save(path, save)))

    def note_close(self, path: str, person: ByPerson) -> None:
        """Note that a document was closed, and that its user may have discarded changes."""
        self._send(lambda: self._drop_unsaved(path, person))

    async def drain(self, then: Callable[[], None] = lambda: None, roots: Sequence[str] = ()) -> None:
        """Read everything written until now, then call `then` in the recorder's thread, before it reads anything else.

        If that thread has ended or waits for a disk, `then` is called here instead. The record may then be unsure about
        a command, but no command or edit waits for it. Both threads may try, and a lock lets only the first one call.
        Args: roots: the folders about which the caller must know everything.
        """
        once = _Once(then)
        has_begun = threading.Event()

        def work() -> None:
            has_begun.set()
            self._drain(once, roots)

        drained = asyncio.ensure_future(self._send_and_wait(work))
        for within_s in (_DRAINED_WITHIN_S, _BUSY_WITHIN_S):
            await asyncio.wait([drained], timeout=within_s)
            if drained.done() or not has_begun.is_set():
                break
        once()

    async def flush(self) -> bool:
        """Wait until everything written until now has entries in the store. Some authors may not be settled.

        Returns False if that takes too long.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def finish() -> None:
            if not done.done():
                done.set_result(None)

        def tell_loop() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(finish)

        if self._send(lambda: self._begin_flush(tell_loop)):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_SETTLED_WITHIN_S):
                    await done
            return done.done()
        return True

    def settle(self) -> bool:
        """Wait until everything written until now has entries with certain authors. Blocks, so call it in a thread.

        Returns False if there is more to read than can be waited for: then some of it has no entries.
        """
        written, settled = threading.Event(), threading.Event()

        def note_written() -> None:
            self._when_settled.append(settled.set)
            written.set()

        if self._send(lambda: self._begin_flush(note_written)):
            if not written.wait(self._written_within_s):
                return False
            settled.wait(_SETTLED_WITHIN_S)
        return True

    def flush_store(self) -> RecordStore | None:
        """Return the store once everything written until now has entries in it. None if the recorder has ended. Blocks.

        Some authors may not be certain.
        """
        done = threading.Event()
        if not self._send(lambda: self._begin_flush(done.set)):
            return None
        done.wait(_SETTLED_WITHIN_S)
        with contextlib.suppress(RecorderFailed):
            return self.store
        return None

    def _wait_for(self, work: Callable[[], None]) -> None:
        done = threading.Event()

        def run() -> None:
            try:
                work()
            finally:
                done.set()

        if self._send(run):
            done.wait(_SETTLED_WITHIN_S)

    def forget(self, path: str | None) -> int:
        """Remove all entries and contents of a canonical file or folder (None: everything).

        Returns how many. Blocks.
        """
        n_entries: list[int] = []
        self._wait_for(lambda: n_entries.append(self._forget(path)))
        return n_entries[0] if n_entries else 0

    def _forget(self, path: str | None) -> int:
        self._read_events()
        self._observe_all()
        self._writes.write_before_end()
        n_entries = self.store.forget(path)
        for folder in self._folders.values():
            self.store.begin_folder(folder.root, self._wall())
            folder.forget_contents(path)
        return n_entries

    def _note_new_record(self, reason: str, aside: str | None) -> None:
        """Fill a new record, after a damaged one was put aside. Any thread."""
        if aside is not None:  # else another daemon has put it aside, and said so
            self._warn(f"The record of changes is damaged: {reason}. It is now {aside}, and a new one begins.", None)
        self._send(self._begin_record_again)

    def _begin_record_again(self) -> None:
        for folder in self._folders.values():
            folder.forget_contents(None)
            known = list(folder.files.items())

            def begin(root: str = folder.root, known: list[tuple[str, Known]] = known) -> None:
                self.store.begin_folder(root, self._wall())
                self.store.set_known(root, known)

            self._writes.put(folder.root, begin)

    def status(self) -> list[RecordedFolder]:
        """Return each folder with the state of its recording. Waits for the recorder's thread."""
        answer: list[RecordedFolder] = []
        self._wait_for(lambda: answer.extend((*map(self._status_of, self._folders.values()), *self._list_failed())))
        return answer

    async def _send_and_wait(self, work: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def finish() -> None:
            if not done.done():
                done.set_result(None)

        def run() -> None:
            try:
                work()
            finally:
                with contextlib.suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(finish)

        if self._send(run):
            await done

    def _send(self, message: Callable[[], None], *, is_urgent: bool = True) -> bool:
        """Queue a message for the thread. False if the thread has ended or is about to."""
        if threading.current_thread() is self._thread:  # the thread handles it before it ends
            self._messages.append(message)
            return True
        with self._lock:
            if self._is_closed:
                return False
            self._messages.append(message)
            if is_urgent:
                with contextlib.suppress(BlockingIOError):  # the pipe is full: the thread is awake
                    os.write(self._waker_fd, b"\0")
        return True

    # --- the thread --------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            store = self._open_store()
            store.on_begun_again = self._note_new_record
            writer = EntryWriter(store, self.windows, self.turns, self._on_entries, self._is_announced)
            contents = GitContents(self._blobs, self.text_of)
            writes = WriteQueue(store, writer, contents, on_fault=self._end_by_fault, warn=self._warn, now=self._now)
            self._begin_notes(store)
            self._opened.set_result(_Opened(store, writer, writes, contents))
        except Exception as fault:  # the boundary of the thread: its waiters need an answer
            log.exception("the record could not be opened; everything else continues")
            self._opened.set_exception(RecorderFailed(str(fault)))
            self._warn(f"Changes are not recorded: {fault}. Everything else works.", None)
        else:
            self._record_all()
        with self._lock:
            self._is_closed = True  # no message is left behind from now on, so nothing waits
        while self._messages:
            with contextlib.suppress(OSError, sqlite3.Error, RecorderFailed):
                self._messages.popleft()()
        self._tell_written()
        self._tell_settled()
        if self._stream is not None and not self._disks.hangs:  # else it is closed by the process's end
            self._stream.close()
        self._disks.leave()
        if self._ahead is not None:
            self._ahead.close()
        for fd in (self._wake_fd, self._waker_fd, self._event_fd, self._eventer_fd):
            os.close(fd)

    def _begin_notes(self, store: RecordStore) -> None:
        if store.folder is None or store.is_in_memory:
            return
        ahead = WriteAhead(store.folder, self._wall() - MAX_AGE_S)
        try:
            ahead.take_over()
        except OSError as error:
            log.warning("what a killed daemon wrote last is not known: %s", error)
        self._ahead = ahead

    def _record_all(self) -> None:
        """Record until the end."""
        poll = select.poll()
        for fd in (self._wake_fd, self._event_fd):
            poll.register(fd, select.POLLIN)
        self._open_events()
        urgent = select.poll()
        urgent.register(self._wake_fd, select.POLLIN)
        while not self._is_closing:
            ready = poll.poll(self._timeout_ms())
            if ready and not any(fd == self._wake_fd for fd, _ in ready):
                self._wait_for_quiet(urgent)
            for fd in (self._wake_fd, self._event_fd):
                with contextlib.suppress(BlockingIOError):
                    os.read(fd, _WAKE_BYTES)
            try:
                self._turn()
            except Exception:  # the boundary of the thread: its waiters need an answer
                log.exception("the record has ended by a fault; everything else continues")
                self._warn(
                    "The record of changes has ended by a fault; see the daemon's log. Later changes are not recorded.",
                    None,
                )
                break

    def _wait_for_quiet(self, urgent: "select.poll") -> None:
        """Let whatever caused an event finish first, unless a message waits.

        The first event of an edit arrives in the middle of its commit. If this thread ran then, it would hold the
        interpreter while the edit needs it: 1.5 ms for each edit, as measured. The end of a command is a message, so it
        is not delayed.
        """
        if self.announced is not None and self.announced.has_any:
            return  # another content may follow at once, and then this one could no longer be read
        for _ in range(_MAX_QUIETS):
            if urgent.poll(QUIET_S * 1000):
                return
            with self._lock:
                if not self._committing:
                    return

    def _turn(self) -> None:
        while self._messages:
            self._guard(None, self._messages.popleft())
        self._read_events()
        now = self._now()
        self._retry_unread(now)
        due = [path for path, touch in self._touched.items() if touch.is_complete or now - touch.began >= DEBOUNCE_S]
        self._observe(due)
        self._writes.write()
        self._writes.settle()
        if not self._writes and not self._looks_for_lost_changes:
            self._tell_written()
            if not self._writer.n_unsettled:
                self._tell_settled()
        self._writes.return_to_disk()
        self._look_around()
        self._end_left_folders()
        if time.monotonic() - self._scanned_at >= SCAN_EVERY_S:
            self._scanned_at = time.monotonic()
            self.scan()
        if time.monotonic() - self._pruned_at >= PRUNE_EVERY_S:
            self._pruned_at = time.monotonic()
            self._pruning = self._prune()
        self._step()

    def _timeout_ms(self) -> float:
        now = self._now()
        has_steps = self._pruning is not None or any(folder.has_steps for folder in self._folders.values())
        if self._messages or (has_steps and now >= self._writes.write_at):
            return 0
        times = [self._writes.due_at, now + (_INDEX_EVERY_S if self._folders or self._faults else SCAN_EVERY_S)]
        if self._touched:
            times.append(now + DEBOUNCE_S)
        if self._unread:
            times.append(self._unread_at)
        wait_s = min(times) - now
        return 0 if wait_s <= 0 else wait_s * 1000 + 1  # a poll ends a fraction of a millisecond early

    def _guard(self, root: str | None, work: Callable[[], object]) -> None:
        """Do some work. A fault ends the recording of its folder only."""
        try:
            work()
        except FolderHangs as hang:
            self._end_by_hang(hang)
        except sqlite3.Error as error:
            log.error("a part of the record was lost: %s", error)
        except Exception:  # the boundary of a folder: other folders continue
            log.exception("a fault in the record of %s", root)
            if root is not None:
                self._end_by_fault(root)

    def _drain(self, then: Callable[[], None], roots: Sequence[str]) -> None:
        self._read_events()
        wanted = [
            folder
            for folder in self._folders.values()
            if folder.needs_comparison
            and any(is_inside(folder.root, root) or is_inside(root, folder.root) for root in roots)
        ]
        for folder in wanted:
            folder.begin_comparison()
        self._compare(wanted)
        for _ in range(2):  # files written while others were read may have another author
            self._observe_all()
            self._read_events()
        self._look_for_silent_writes(roots)
        self._look_at_staging(roots)
        then()
        self._read_events()  # the window's edge: everything read from here on is after it

    def _look_for_silent_writes(self, roots: Sequence[str]) -> None:
        """Observe what was written without an event (through a mapping), so that it is not the next command's."""
        edge = self._edge
        for folder in tuple(self._folders.values()):
            is_wanted = any(is_inside(folder.root, root) or is_inside(root, folder.root) for root in roots)
            if is_wanted and not folder.is_starting and not folder.needs_comparison:
                self._guard(folder.root, lambda folder=folder: self._touch_silent_writes(folder, edge))
        self._observe_all()

    def _touch_silent_writes(self, folder: Folder, edge: Edge) -> None:
        for path in self._disks.ask(folder.root, lambda: folder.find_silent_writes(edge, _STAMPED_WITHIN_S)):
            self._touch(path, found="scan")

    def _compare(self, folders: Sequence[Folder]) -> None:
        """Finish the comparisons of these folders that have begun, unless that takes long."""
        ends_at = time.monotonic() + _COMPARED_WITHIN_S
        for folder in folders:
            while not folder.is_starting and folder.is_comparing and time.monotonic() < ends_at:
                self._guard(folder.root, lambda folder=folder: self._compare_next(folder))

    def _begin_flush(self, done: Callable[[], None]) -> None:
        """Call `done` once everything written until now has entries. Ends of commands do not wait for this."""
        self._read_events()
        self._compare([folder for folder in self._folders.values() if folder.lost_edge is not None])
        self._observe_all()
        self._when_written.append(done)

    @property
    def _looks_for_lost_changes(self) -> bool:
        """Whether events were lost, and a comparison of all files that finds the changes has not ended."""
        lost = (folder for folder in self._folders.values() if folder.lost_edge is not None)
        return any(folder.is_comparing and not folder.is_starting for folder in lost)

    def _tell_written(self) -> None:
        waiting, self._when_written = self._when_written, []
        for done in waiting:
            done()

    def _tell_settled(self) -> None:
        waiting, self._when_settled = self._when_settled, []
        for done in waiting:
            done()

    # --- folders -----------------------------------------------------------------------------------------------

    def _begin(self, root: str, facts: GitFacts | None) -> None:
        has_clients = root in self._clients.roots
        if not has_clients:
            self._faults.drop(root)
        before = self._folders.get(root)
        if not has_clients or (before is not None and (facts is None or before.repository is not None)):
            return
        # Commits are noted from now on, so what is known now decides whether the folder was recorded before.
        earlier = self.store.known_files(root)
        stream, edge = self._stream, self._edge
        folder = self._disks.ask(root, lambda: Folder(root, facts, stream, edge))
        folder.on_nested = lambda nested: self._record_nested(folder, nested)
        folder.text_of = self.text_of
        is_resumed = len(earlier) > 0 or self.store.recording_start(root) is not None
        if before is not None:  # it became a repository: files unknown so far were ignored, not new
            self._read_events()
            self._observe_all()
            earlier, is_resumed = dict(before.files), False
            self._drop(root)
        self._folders[root] = folder
        folder.start_steps = self._start_folder(folder, earlier, is_resumed=is_resumed)
        log.info("changes in %s are recorded from now on; --record=edits or off turns this off", root)

    def _start_folder(self, folder: Folder, earlier: dict[str, Known], *, is_resumed: bool) -> Iterator[None]:
        started, began = self._now(), self._wall()
        changed, fresh = list[str](), list[str]()
        for known in self._disks.each(folder.root, folder.start(earlier, changed.append, is_resumed=is_resumed)):
            fresh += known
            yield
        for path in changed:
            self._touch(path, found="scan", gap="away")
        if self._ahead is not None:
            for path in {*self._ahead.list_unfinished(folder.root)}.difference(changed):
                self._writes.put(folder.root, lambda path=path: self._claim_left(path))
        # What is known is stored only now, because commands wait for the watches, and not for the store.
        self._watched.put(folder.root, is_watched=True)
        for at in range(0, len(fresh), _STORED_AT_ONCE):
            paths = fresh[at : at + _STORED_AT_ONCE]
            self._writes.put(folder.root, lambda paths=paths: self._store_known(folder, paths))
        # Not earlier: if a start is cut short, files that are not known need not be new at the next one.
        self._writes.put(folder.root, lambda: self.store.begin_folder(folder.root, began))
        self._faults.note_recorded(folder.root)
        log.debug("%s: %d files are known after %.1f s", folder.root, len(folder.files), self._now() - started)

    def _store_known(self, folder: Folder, paths: Sequence[str]) -> None:
        """Store what is known of these files by now."""
        known = ((path, folder.files.get(path)) for path in paths)
        self.store.set_known(folder.root, [(path, each) for path, each in known if each is not None])

    def _record_nested(self, folder: Folder, nested: str) -> None:
        """Record a repository in a recorded folder (a submodule, a work tree) as well, for the same clients."""
        joined = self._clients.join_nested(folder.root, nested)
        if joined == "refused":
            folder.limits.add("nested")
        elif joined == "new":
            self._begin_apart(nested)

    def _end_left_folders(self) -> None:
        ended, admitted = self._clients.end_left()
        for root in ended:
            self._faults.drop(root)
            if self._drop(root):
                self._guard(None, lambda root=root: self._unwatch(root))
        for root in admitted:
            self._warn(f"Changes in {root} are recorded from now on.", root)
            self._begin_apart(root)

    def _drop(self, root: str) -> bool:
        """End the recording of a folder, but keep its watches. False if it is not recorded."""
        folder = self._folders.pop(root, None)
        if folder is None:
            return False
        folder.end_steps()
        self._watched.put(root, is_watched=False)
        for touched in (self._touched, self._unread):
            for path in [path for path in touched if self._folder_of(path) is None]:
                del touched[path]
        self._was_unread &= self._touched.keys()
        return True

    def _unwatch(self, root: str) -> None:
        """Remove the watches of a folder whose recording has ended. Raises: FolderHangs."""
        stream = self._stream
        if stream is not None:
            self._disks.ask(root, lambda: stream.remove_below(root))
        for folder in self._folders.values():  # nested folders share watches
            if is_inside(root, folder.root) or is_inside(folder.root, root):
                self._note_loss(folder)
                folder.begin_comparison()

    def _end_by_fault(self, root: str) -> None:
        self._faults.add(root)  # first, because whoever waits for its watches is told by the next step
        if self._drop(root):
            self._guard(None, lambda: self._unwatch(root))

    def _end_by_hang(self, hang: FolderHangs) -> None:
        """End the recording of a folder until its disk answers."""
        if hang.is_known:
            return
        root = hang.root
        self._faults.add_hang(root)
        self._drop(root)

    def _retry(self, root: str) -> None:
        """Retry a folder whose disk answers again.

        The call that waited may have added watches. Raises: FolderHangs.
        """
        self._disks.note_answer(root)
        if root not in self._folders:
            self._unwatch(root)
        self._faults.note_answer(root)

    def _list_failed(self) -> list[RecordedFolder]:
        refused = [(root, "folders") for root in self._clients.refused]
        return [
            RecordedFolder(
                root=root,
                state="off",
                reason=reason,
                n_files=0,
                n_copied=0,
                n_to_copy=0,
                watched=False,
                n_bytes=self.store.n_bytes,
                since=self.store.recording_start(root),
            )
            for root, reason in (*self._faults.list_off(self._folders), *refused)
        ]

    def _begin_apart(self, root: str) -> threading.Thread:
        """Begin to record a folder from another thread, because git may wait for a disk and this thread must not."""
        starter = threading.Thread(target=self._begin_in_thread, args=(root,), name="fileops-record-start", daemon=True)
        starter.start()
        return starter

    def _begin_in_thread(self, root: str) -> None:
        facts = ask_git(root)
        self._send(lambda: self._guard(root, lambda: self._begin(root, facts)))

    def _look_around(self) -> None:
        """Check what no event reports: git's indexes, an event reader that has ended, folders to retry.

        Copy the contents that a rewritten index no longer names. Events are read first: see folder.update_index.
        """
        now = time.monotonic()
        if now - self._looked_at < _INDEX_EVERY_S:
            return
        self._looked_at = now
        self._faults.retry(self._folders, self._begin_apart)
        if self._stream is None or not self._stream.is_alive():
            self._open_events()
        for path in tuple(self._becoming):
            self._guard(None, lambda path=path: self._look_at_new_repository(path))
        self._look_at_staging()
        for folder in tuple(self._folders.values()):
            if folder.start_steps is not None or folder.n_to_copy:
                continue
            self._guard(folder.root, lambda folder=folder: self._look_at_root(folder))
            if folder.repository is not None:
                self._guard(folder.root, lambda folder=folder: self._look_at_index(folder))
                self._guard(folder.root, lambda folder=folder: self._look_for_work_trees(folder))

    def _look_at_staging(self, roots: Sequence[str] | None = None) -> None:
        """Note what was staged, and whether a command was running. roots: check only these; None: all."""
        for folder in tuple(self._folders.values()):
            if roots is None or any(is_inside(folder.root, root) or is_inside(root, folder.root) for root in roots):
                self._guard(folder.root, lambda folder=folder: self._note_staged(folder))

    def _note_staged(self, folder: Folder) -> None:
        if (repository := folder.repository) is None:
            return
        staged = self._disks.ask(folder.root, lambda: self._staging.read(repository))
        if staged is not None:
            is_by_agent = any(covers(command, folder.root, folder.root) for command in self.windows.open)
            self._writes.put(
                folder.root, lambda: self._staging.note(self.store, repository, staged, is_by_agent=is_by_agent)
            )

    def _look_at_root(self, folder: Folder) -> None:
        """Watch and compare a folder again if it was removed and created again, which ended its watches."""
        stream, root = self._stream, folder.root
        if stream is None or folder.is_refused(root):
            return
        if self._disks.ask(root, lambda: stream.is_in_place(root) or not os.path.isdir(root)):
            return
        self._disks.ask(root, lambda: stream.remove_below(root))
        self._note_loss(folder)
        self._becoming.add(root)
        folder.begin_comparison()

    def _look_at_new_repository(self, path: str) -> None:
        """Record a folder as a repository once it is one: `git init` creates the folder `.git` first."""
        folder = self._folder_of(f"{path}/.git")
        if folder is None or not self._disks.ask(folder.root, lambda: os.path.lexists(f"{path}/.git")):
            self._becoming.discard(path)
        elif self._disks.ask(folder.root, lambda: git.is_top(path)):
            self._becoming.discard(path)
            if path == folder.root:
                self._begin_apart(path)
            else:
                self._disks.ask(folder.root, lambda: folder.enters(path))  # this also notes it as nested

    def _look_for_work_trees(self, folder: Folder) -> None:
        """Record linked work trees that git ignores, as hosts keep them; others were found with the folder's files."""
        if (repository := folder.repository) is not None:
            for top in self._disks.ask(folder.root, lambda: git.find_linked_work_trees(repository)):
                if top != folder.root:
                    self._record_nested(folder, top)

    def _look_at_index(self, folder: Folder) -> None:
        index = self._disks.ask(folder.root, folder.read_rewritten_index)
        if index is None:
            return
        self._read_events()
        if self._folders.get(folder.root) is not folder:  # the events just read ended its recording
            return
        folder.update_index(index, self._touched.__contains__)
        self._ask_for_parents(folder)
        self.on_index(folder.root)

    def _ask_for_parents(self, folder: Folder) -> None:
        """Note what git may have merged in the files that it wrote: HEAD has moved by now. Many files are no merge."""
        carried, repository = folder.take_carried(), folder.repository
        if repository is None or not 0 < len(carried) <= _MAX_MERGED:
            return
        with contextlib.suppress(GitFailed):  # the contents that are known have to do
            parents = self._disks.ask(folder.root, lambda: git.parent_blobs(repository, carried))
            self._writes.put(folder.root, lambda: self._writer.add_parents(parents, carried))

    def _copy_next(self, folder: Folder) -> None:
        if len(self._writes) > _MAX_COPIES:
            return
        copied = self._disks.ask(folder.root, folder.copy_next)
        if copied is None:
            return
        path, found = copied
        self._read_events()  # else what was written just before would count as known, and have no entry
        # The events just read may have ended its recording.
        if self._folders.get(folder.root) is folder and path not in self._touched:
            self._keep_copy(folder, path, found)

    def _keep_copy(self, folder: Folder, path: str, found: ReadFile) -> None:
        data = found.data
        known = folder.files[path] = known_of(found, None if data is None else content_digest(data))

        def keep() -> None:
            if data is not None:
                self.store.put(data)
            self.store.set_known(folder.root, [(path, known)])

        self._writes.put(folder.root, keep)

    def scan(self) -> None:
        """Compare all files by their stamps, in steps. Belongs to the recorder's thread."""
        for folder in self._folders.values():
            if not folder.is_comparing:
                folder.begin_comparison()

    def _compare_next(self, folder: Folder) -> None:
        edge = self._edge
        for path in self._disks.ask(folder.root, lambda: folder.compare_next(edge)):
            self._touch(path, found="scan")

    def _prune(self) -> Iterator[None]:
        """Remove what is too old or too much, and the contents of files that are now ignored."""
        for folder in tuple(self._folders.values()):
            try:
                for ignored in self._disks.each(folder.root, in_steps(folder.find_ignored())):
                    for path in ignored:
                        folder.files.pop(path, None)
                        self._writes.put(folder.root, lambda folder=folder, path=path: self._drop_ignored(folder, path))
                    yield
            except FolderHangs as hang:
                self._end_by_hang(hang)
        has_more = [True]
        while has_more[0]:
            if not self._writes:
                self._writes.put(None, lambda: has_more.__setitem__(0, self.store.prune(self._wall())))
            yield

    def _drop_ignored(self, folder: Folder, path: str) -> None:
        self.store.drop_contents(path)
        self.store.set_known(folder.root, [(path, None)])

    def _step(self) -> None:
        """Do one step of each long work."""
        if self._pruning is not None:
            self._guard(None, self._prune_next)
        for folder in tuple(self._folders.values()):
            if folder.start_steps is not None:
                self._guard(folder.root, folder.start_next)
            elif folder.n_to_copy:
                self._guard(folder.root, lambda folder=folder: self._copy_next(folder))
        for folder in tuple(self._folders.values()):
            if folder.is_comparing and not folder.is_starting:
                self._guard(folder.root, lambda folder=folder: self._compare_next(folder))

    def _prune_next(self) -> None:
        if self._pruning is not None and next(self._pruning, _END) is _END:
            self._pruning = None

    def _folder_of(self, path: str) -> Folder | None:
        """The innermost recorded folder that contains a path."""
        inside = [folder for root, folder in self._folders.items() if is_inside(root, path)]
        return max(inside, key=lambda folder: len(folder.root), default=None)

    def _status_of(self, folder: Folder) -> RecordedFolder:
        is_starting = folder.is_starting or folder.n_to_copy > 0
        reasons = sorted(folder.limits)
        if not folder.is_watched:
            reasons.append("watches" if folder.has_unwatched else "no_events")
        if not folder.is_whole or any(self._folder_of(path) is folder for path in self._unread):
            reasons.append("unread")
        if self._writes.is_delayed:
            reasons.append("store")
        since = self.store.recording_start(folder.root)
        return RecordedFolder(
            root=folder.root,
            state="starting" if is_starting else "limited" if reasons else "on",
            reason=reasons[0] if reasons else None,
            n_files=len(folder.files),
            n_copied=folder.n_copied,
            n_to_copy=folder.n_to_copy,
            watched=folder.is_watched,
            n_bytes=self.store.n_bytes,
            since=None if since is None else max(since, self._wall() - MAX_AGE_S),
        )

    # --- events ------------------------------------------------------------------------------------------------

    def _open_events(self) -> None:
        """Open the watch of folders, if it is not open. A comparison finds what happened in the meantime."""
        if self._open_stream is None:
            return
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        try:
            self._stream = self._open_stream(self._wake_for_events)
        except WatchError as error:
            log.warning("changed files are found by comparison only: %s", error.reason)
        for folder in self._folders.values():
            folder.stream = self._stream
            self._note_loss(folder)
        self.scan()

    def _wake_for_events(self) -> None:
        with contextlib.suppress(BlockingIOError):  # the pipe is full: the thread is awake
            os.write(self._eventer_fd, b"\0")

    def _read_events(self) -> None:
        """Mark changed files as touched. They changed between the previous call at an edge and now."""
        if self._stream is None:
            return
        edge = self._edge
        batch = self._stream.read()
        for event in batch.events:
            if event.name == _INDEX_LOCK:
                self._note_lock_of_git(event)
            folder = self._folder_of(f"{event.folder}/{event.name}")
            if folder is None:
                continue
            if event.name != ".git":
                self._guard(folder.root, lambda folder=folder, event=event: self._note_event(folder, event))
            elif event.appeared:
                self._becoming.add(event.folder)
        if batch.is_lost:
            log.warning("events of changed files were lost; all files are compared")
            for folder in self._folders.values():
                self._note_loss(folder)
                folder.begin_comparison()
                self._guard(folder.root, lambda folder=folder: self._look_for_lock_of_git(folder))
        self._read_edge = edge

    def _note_loss(self, folder: Folder) -> None:
        """Note that events of a folder were lost, so how often its touched files were written is not known."""
        folder.note_loss(self._read_edge)
        for touched in (self._touched, self._unread):
            for path, touch in touched.items():
                if folder.contains(path):
                    touch.n_writes = None

    @property
    def _edge(self) -> Edge:
        return Edge(self.windows.edge, self._now())

    def _note_lock_of_git(self, event: FolderEvent) -> None:
        for folder in self._folders.values():
            if folder.index_folder == event.folder:
                folder.is_git_writing = event.appeared or (folder.is_git_writing and not event.vanished)

    def _look_for_lock_of_git(self, folder: Folder) -> None:
        """Check whether git holds its lock, because the event of its release may be among those that were lost."""
        if (index_folder := folder.index_folder) is not None:
            lock = os.path.join(index_folder, _INDEX_LOCK)
            folder.is_git_writing = self._disks.ask(folder.root, lambda: os.path.lexists(lock))

    def _note_event(self, folder: Folder, event: FolderEvent) -> None:
        path = f"{event.folder}/{event.name}"
        if not event.is_folder:
            if path in self._touched or self._is_recorded(folder, path):
                touch = self._touch(path, is_complete=event.is_complete)
                touch.is_beside_git = touch.is_beside_git or folder.is_git_writing
                if event.is_written and touch.n_writes is not None:
                    touch.n_writes += 1
            return
        stream = self._stream
        if event.vanished:
            if stream is not None:
                self._disks.ask(folder.root, lambda: stream.remove_below(path))
            for inside in folder.list_known_below(path):
                touch = self._touch(inside, is_complete=True)
                touch.is_beside_git = touch.is_beside_git or folder.is_git_writing
        if event.appeared:
            for listed in self._disks.each(folder.root, in_steps(folder.watch_below(path))):
                for inside in listed:
                    touch = self._touch(inside)
                    touch.n_writes = None  # it may have been written before the folder was watched
                    touch.is_beside_git = touch.is_beside_git or folder.is_git_writing

    def _touch(
        self, path: str, *, found: Found = "event", gap: GapKind | None = None, is_complete: bool = False
    ) -> _Touch:
        touch = self._touched.get(path)
        if touch is None:
            touch = self._unread.pop(path, None)
            if touch is None:
                touch = self._new_touch(path, found, gap)
            else:
                self._was_unread.add(path)
            self._touched[path] = touch
        touch.is_complete = touch.is_complete or is_complete
        return touch

    def _new_touch(self, path: str, found: Found, gap: GapKind | None) -> _Touch:
        folder = self._folder_of(path)
        edge = self._read_edge if folder is None else folder.certain_edge(path, self._read_edge, found)
        since, known_at = 0 if gap == "away" else edge.number, edge.time
        is_counted = found == "event"
        if folder is not None and (folder.needs_comparison or folder.is_in_unlisted(path)):
            is_counted = False
        n_writes = 0 if is_counted else None
        earliest = self._read_edge.time if is_counted else 0.0
        if folder is not None and path not in folder.files:  # it may be one that could not be read, under another name
            for unread in (self._touched[other] for other in self._was_unread if self._folder_of(other) is folder):
                since, known_at = min(since, unread.since), min(known_at, unread.known_at)
                earliest, n_writes = min(earliest, unread.earliest), None
        return _Touch(self._now(), earliest, known_at, since, found, gap, n_writes=n_writes)

    # --- reading -----------------------------------------------------------------------------------------------

    def _observe_all(self) -> None:
        self._observe(list(self._touched))

    def _observe(self, paths: Sequence[str]) -> None:
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
            with self._lock:
                is_committing = path in self._committing
            if is_committing:  # the message at its end makes us look at the file
                continue
            if self._writes.n_waiting_bytes > _READ_BYTES and not self._writes.write_all():
                return  # the rest waits for room, and its authors are then unsure
            touch = self._touched.pop(path, None)
            self._was_unread.discard(path)
            folder = self._folder_of(path)
            if touch is not None and folder is not None:  # else a fault at an earlier path ended its folder
                self._guard(folder.root, lambda folder=folder, path=path, touch=touch: self._look(folder, path, touch))

    def _look(self, folder: Folder, path: str, touch: _Touch) -> None:
        """Check whether a file has changed.

        An unreadable file counts as neither deleted nor changed, and is retried.
        """
        try:
            found = self._disks.ask(folder.root, lambda: read_file(path, folder.root, self.text_of))
        except Unreadable:
            if not self._unread:
                self._unread_pause_s = _UNREAD_PAUSES_S[0]
                self._unread_at = self._now() + self._unread_pause_s
            self._unread[path] = touch
        else:
            # The content just read may include writes whose events came only now; count those, too.
            self._read_events()
            late = self._touched.get(path)
            if late is not None and touch.n_writes is not None:
                touch.n_writes = None if late.n_writes is None else touch.n_writes + late.n_writes
            if folder.needs_comparison:  # they may be among those that were lost
                touch.n_writes = None
            if late is not None:
                touch.is_beside_git = touch.is_beside_git or late.is_beside_git
            names = self._names_of(folder, path, found) if found is not None and found.n_links > 1 else (path,)
            for other in names[1:]:
                touch = _join_touches(touch, self._touched.get(other))
            # The content may be that of a commit that began after `_observe` looked and before the file was read.
            with self._lock:
                is_committing = path in self._committing
            if is_committing:
                self._touched[path] = touch
            else:
                for name in names:
                    self._observe_file(folder, name, touch, found, names)

    def _names_of(self, folder: Folder, path: str, found: ReadFile) -> tuple[str, ...]:
        """Return the recorded names of a file with hard links, this one first: a write under one changes them all."""
        others = [name for name, _ in self._find_known_names(folder).get(found.inode, ()) if name != path]
        present = self._disks.ask(folder.root, lambda: [name for name in others if inode_at(name) == found.inode])
        return (path, *present)

    def _find_known_names(self, folder: Folder) -> dict[int, list[tuple[str, Known]]]:
        """Return the names of each inode, as they were known before these files were observed."""
        names = self._names.get(folder.root)
        if names is None:
            names = self._names[folder.root] = {}
            for name, known in folder.files.items():
                names.setdefault(known.inode, []).append((name, known))
        return names

    def _took_name(self, folder: Folder, path: str, touch: _Touch, before: Known, found: ReadFile) -> bool:
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
        self, folder: Folder, path: str, touch: _Touch, found: ReadFile | None, data: bytes | None
    ) -> tuple[Known, bytes] | None:
        """Return the last known version and content of a file that was renamed and edited while no daemon recorded it.

        Its inode is that of a file that was known, and so is most of its text. An inode alone may have been used again.
        """
        if touch.gap != "away" or found is None or data is None:
            return None
        for name, known in self._find_known_names(folder).get(found.inode, ()):
            if name == path or known.digest is None or has_stamp(known, found):
                continue
            content = self.store.content(known.digest)
            if content is not None and may_be_one_file(content, data):
                return known, content
        return None

    def _retry_unread(self, now: float) -> None:
        is_whole = all(folder.is_whole for folder in self._folders.values())
        if now < self._unread_at or (is_whole and not self._unread):
            return
        self._unread_pause_s = min(self._unread_pause_s * 2, _UNREAD_PAUSES_S[1])
        self._unread_at = now + self._unread_pause_s
        if not is_whole:
            self.scan()
        for path in tuple(self._unread):
            self._touch(path, is_complete=True)

    def _observe_file(
        self, folder: Folder, path: str, touch: _Touch, found: ReadFile | None, names: Sequence[str]
    ) -> None:
        """Note what was found at a path. Args: names: all names of the file."""
        before = folder.files.get(path)
        if found is None and before is None:
            return
        documents = self._documents.documents_at(path)
        is_unsaved = before is not None and before.is_unsaved and len(documents) > 0
        if is_unsaved and before is not None and found is not None and found.mtime_ns <= before.mtime_ns:
            return  # older than the document, which the record already has
        digest = None if found is None or found.data is None else content_digest(found.data)
        after = None if found is None else known_of(found, digest)
        if before is None and folder.is_starting and touch.gap is None:
            before = Known(content="kept")  # it may have existed, with any content
        if before is not None and after is not None and is_unchanged(before, after):
            folder.files[path] = after
            return
        if found is not None and found.data is not None and digest is not None:
            self.on_found(path, digest, found.data)
        commit = self._find_announced_commit(folder, path, before, found)
        if commit is not None:
            self._note_own(path, commit)
            return
        if after is None:
            folder.files.pop(path, None)
        else:
            folder.files[path] = after
        self.on_observed(path, "delete" if after is None else "create" if before is None else "modify")
        data = None if found is None else found.data
        dropped_by = self._dropped_by.pop(path, None)
        change = self._to_observed(folder, path, touch, before, after, data, typed_by=dropped_by, names=names)
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
        if touch.gap == "away" and self._ahead is not None and self._ahead.is_left(path):
            self._writes.put(folder.root, lambda: self._claim_left(path))

    def _look_for_overwritten(self, folder: Folder, path: str, before: Known | None, data: bytes) -> None:
        """Report an older text that another program, such as an editor that saves by itself, wrote over fresh lines.

        Not what a person typed in an attached editor, a command or git: they knew the lines, or are undone otherwise.
        """
        commit = self._fresh.take_overwritten(path, None if before is None else before.digest, data)
        sentence = None if commit is None else self.on_overwritten(commit, data)
        if sentence is not None:
            self._warn(sentence, folder.root)

    def _find_announced_commit(
        self, folder: Folder, path: str, before: Known | None, found: ReadFile | None
    ) -> Commit | None:
        """Return the commit of a host's own tool that has just announced what it would write; else None."""
        announced = self.announced
        if announced is None or not self._is_announced(path):
            return None
        content: Content = None
        if found is not None:
            content = found.data
            if content is None:  # of a protected file: compared, and not kept
                content = self._disks.ask(folder.root, lambda: _read_to_compare(path))
            if content is None:
                return None
        stamp = None if found is None else stamp_of(found)
        may_store = found is None or found.data is not None
        return announced.match(
            path, lambda write: self._content_before(before, write, content), content, stamp, may_store=may_store
        )

    def _is_announced(self, path: str) -> bool:
        return self.announced is not None and self.announced.is_announced(path)

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
            stored = self.store.content(before.digest)
            return stored if stored is not None and write.makes(stored, after) else write.seen[-1]
        same = next((content for content in known if len(content) == before.size_bytes), None)
        return same if same is not None else write.seen[-1]

    def claim(self, path: str, by: KnownBy, digest: bytes, *, is_unsure: bool) -> None:
        """Note that a host's own tool has written this content, which is not the one that it had announced."""
        self._send(lambda: self._writes.put(None, lambda: self._writer.claim(path, by, digest, is_unsure=is_unsure)))

    def _to_observed(
        self,
        folder: Folder,
        path: str,
        touch: _Touch,
        before: Known | None,
        after: Known | None,
        data: bytes | None,
        *,
        typed_by: ByPerson | None,
        names: Sequence[str] = (),
    ) -> Observed:
        """A change that was just found, with the facts that may identify its author.

        Args: data: the content after it.
        """
        others = tuple(name for name in names if name != path)
        documents = [document for name in (path, *others) for document in self._documents.documents_at(name)]
        open_commands = self._open_since(folder, path, touch)
        is_of_them = open_commands.is_certain and (open_commands.names_git or not touch.is_beside_git)
        time = self._wall()
        if touch.is_beside_git:
            folder.carried.setdefault(path, time)
        # If commands run, a document may contain what one of them wrote before its event is read here.
        typed_before = touch.earliest if open_commands.commands else touch.began
        typist = typed_by or _typist_of(documents, data, typed_before)
        loader = None if typist is not None else _typist_of(documents, data, touch.began)
        return Observed(
            path=path,
            root=folder.root,
            before=before,
            after=after,
            before_data=None,
            after_data=data,
            began=touch.earliest or touch.began,
            read=self._now(),
            time=time,
            commands=open_commands.commands,
            is_certain=is_of_them,
            n_writes=touch.n_writes,
            typed_by=typist,
            loaded_by=loader,
            is_open=bool(documents),
            found=touch.found,
            gap=touch.gap,
            known_at=touch.known_at,
            names=others,
            is_beside_git=touch.is_beside_git,
        )

    def _open_since(self, folder: Folder, path: str, touch: _Touch) -> OpenCommands:
        until = self.windows.edge

        def open_between() -> OpenCommands:
            return self.windows.open_between(path, folder.root, touch.since, until)

        if all(is_inside(folder.root, root) for root in self.windows.roots):
            return open_between()
        return self._disks.ask(folder.root, open_between)  # git's folders decide about the folders above

    def _blobs(self, root: str, repository: git.Repository, sizes: dict[bytes, int]) -> dict[bytes, bytes]:
        try:
            return self._disks.ask(root, lambda: git.read_blobs(repository, sizes))
        except FolderHangs as hang:
            self._end_by_hang(hang)
            return {}

    # --- the daemon's own edits, and unsaved documents ----------------------------------------------------------

    def _note_commit(self, path: str, edit: Commit | None) -> None:
        with self._lock:
            n_left = self._committing.get(path, 1) - 1
            if n_left:
                self._committing[path] = n_left
            else:
                self._committing.pop(path, None)
        folder = self._folder_of(path)
        if folder is not None:
            self._touch(path, is_complete=True)
        if edit is not None:
            self._note_own(path, edit)
        if self._ahead is not None and self._ahead.is_pending(path):
            self._writes.put(None, lambda: self._note_written(path))

    def _note_written(self, path: str) -> None:
        """Note that the entry of a commit is in the record: work that is queued is done in order."""
        if self._ahead is not None:
            self._ahead.end(path, is_stored=not self.store.is_in_memory)

    def _claim_left(self, path: str) -> None:
        """Give the author to what a daemon wrote that was killed before it could record it.

        If others may have written as well since the content that the record knew before, the author is unsure.
        """
        writes = [] if self._ahead is None else self._ahead.drop(path)
        entry = self.store.newest(path) if writes else None
        digest = None if entry is None or entry.after is None else entry.after.digest
        if entry is None or digest is None or entry.time < writes[-1].time:  # none of them was made
            return
        made = next((n for n in reversed(range(len(writes))) if writes[n].after == digest), None)
        last = writes[-1 if made is None else made]
        before = None if entry.before is None else entry.before.digest
        is_certain = made is not None and is_of_one(writes[: made + 1], before)
        by = BySession(session_id=last.session_id, label=last.label)
        self._writer.claim(path, by, digest, is_unsure=not is_certain)

    def _note_own(self, path: str, edit: Commit) -> None:
        """Record a write whose author and contents are known: one of the daemon's, or one that was announced."""
        folder = self._folder_of(path)
        root = "" if folder is None else folder.root
        before, after = known_of_snapshot(edit.before, root), known_of_snapshot(edit.after, root)
        path = edit.before.path
        known_in = folder if edit.has_changed and folder is not None and self._is_recorded(folder, path) else None
        if known_in is not None:
            if not is_result(known_in.files.get(path), after):
                self._guard(known_in.root, lambda: self._note_before(known_in, edit, before))
            if after is None:
                known_in.files.pop(path, None)
            else:
                known_in.files[path] = after

        self._fresh.note(path, edit)
        entry = self._writer.own(edit, before, after)
        others = () if known_in is None or after is None else self._note_other_names(known_in, edit, after)

        def write() -> None:
            if known_in is not None:
                self.store.set_known(known_in.root, [(name, after) for name in (path, *others)])
            if entry is not None:
                written = self._writer.write_own(entry, edit)
                for other in others:
                    self._writer.write_other_name(written, edit, other)
            if after is not None and after.digest is not None:
                self.store.put(edit.after.data)

        self._writes.put(None if folder is None else folder.root, write)

    def _note_other_names(self, folder: Folder, edit: Commit, after: Known) -> list[str]:
        """Note a commit under the other names of a file with hard links, and return them."""
        stamp = edit.after.stamp
        if stamp is None or stamp.n_links < 2:
            return []
        names = [name for name, known in folder.files.items() if known.inode == stamp.ino and name != edit.after.path]
        with self._lock:
            names = [name for name in names if name not in self._committing]
        present = self._disks.ask(folder.root, lambda: [name for name in names if inode_at(name) == stamp.ino])
        changed = [name for name in present if not is_unchanged(folder.files[name], after)]
        folder.files.update(dict.fromkeys(changed, after))
        return changed

    def _is_recorded(self, folder: Folder, path: str) -> bool:
        if path in folder.files:
            return True  # already listed, so the disk need not be asked
        try:
            return self._disks.ask(folder.root, lambda: folder.is_recorded(path))
        except FolderHangs as hang:
            self._end_by_hang(hang)
            return False

    def _note_before(self, folder: Folder, edit: Commit, before: Known | None) -> None:
        """Record what others wrote before the daemon's own commit, if that was not read yet."""
        path, known = edit.before.path, folder.files.get(edit.before.path)
        if known is None:
            if before is None or folder.is_starting:
                return
        elif before is not None and (known.content, known.digest) == (before.content, before.digest):
            return
        touch = self._touched.get(path) or self._new_touch(path, "event", None)
        is_typed = edit.after.source == "buffer"  # else the content before was the file's
        self._read_events()  # else its writes would not be counted
        if self._folders.get(folder.root) is not folder:  # the events just read ended its recording
            return
        if touch.n_writes is not None:
            n_others = touch.n_writes - (not is_typed)  # without the commit's own
            touch = replace(touch, n_writes=n_others if n_others > 0 else None)
        documents = self._documents.documents_at(path) if is_typed else ()
        typist = next((document.person for document in documents), None)
        data = edit.before.data if edit.before.exists and before is not None and before.content == "kept" else None
        change = self._to_observed(folder, path, touch, known, before, data, typed_by=typist)

        def write() -> None:
            contents = self._opened.result().contents
            contents.read([(folder, change)])
            found = contents.with_content(change)
            if found is not None and (found.before is None or found.before.digest is not None):
                self._writer.write(found)

        self._writes.put(folder.root, write)

    def _drop_unsaved(self, path: str, person: ByPerson) -> None:
        folder = self._folder_of(path)
        known = None if folder is None else folder.files.get(path)
        if folder is not None and known is not None and known.is_unsaved and not self._documents.documents_at(path):
            folder.files[path] = replace(known, is_unsaved=False, mtime_ns=0)
            self._dropped_by[path] = person
            self._touch(path, is_complete=True)


_END = object()


def choose_root(folder: str) -> str | None:
    """Return the folder to record for a client's canonical folder, or None (R-REC-1)."""
    if not os.path.isdir(folder):
        return None
    root = git.top_of(folder) or folder
    home = os.path.realpath(os.path.expanduser("~"))
    return None if is_inside(root, home) else root


class _Once:
    """A callable that runs `work` on the first call only, whichever thread makes it."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._is_done = False

    def __call__(self) -> None:
        with self._lock:
            if self._is_done:
                return
            self._is_done = True
            self._work()


def _read_to_compare(path: str) -> bytes | None:
    """Read a file whose content is not kept; None if it cannot be compared."""
    try:
        return read_regular(path, MAX_BYTES, follows_links=False)
    except (OSError, NotReadable):
        return None


def _join_touches(touch: _Touch, other: _Touch | None) -> _Touch:
    """Return what is known of writes under two names of one file."""
    if other is None:
        return touch
    is_counted = touch.n_writes is not None and other.n_writes is not None
    return replace(
        touch,
        began=min(touch.began, other.began),
        earliest=min(touch.earliest, other.earliest),
        known_at=min(touch.known_at, other.known_at),
        since=min(touch.since, other.since),
        n_writes=(touch.n_writes or 0) + (other.n_writes or 0) if is_counted else None,
        is_beside_git=touch.is_beside_git or other.is_beside_git,
    )


def _typist_of(documents: Sequence[TypedDocument], data: bytes | None, before: float) -> ByPerson | None:
    """Who typed this text into an unsaved document before a time.

    A document loaded from the file has the text later.
    """
    if data is None:
        return None
    text: str | None = None
    for document in documents:
        if document.is_typed and document.changed < before:
            if text is None:
                text = decode(data, detect_format(data))
            if is_shown_as(text, document.text):
                return document.person
    return None
