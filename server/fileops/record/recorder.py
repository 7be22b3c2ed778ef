"""The recorder: records who changed which file of the recorded folders, in a thread of its own.

Other threads only put a message into a queue, which takes microseconds, so no edit waits for the record. This module is
what they call; recorder_thread has the parts and the steps of the thread.
"""

import asyncio
import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future

from fileops.core.roots import is_inside
from fileops.model.commits import Commit, IntendedWrite
from fileops.model.record import ByPerson, CommandRecord, Entry, KeptEdit, KnownBy, RecordedFolder, TurnRecord
from fileops.platform.steady_clock import steady_time
from fileops.ports import EventStream, TextOf
from fileops.record import git
from fileops.record.attribution import Save
from fileops.record.change_facts import OpenDocuments
from fileops.record.command_windows import CommandWindows
from fileops.record.expected_writes import ExpectedWrites
from fileops.record.folder import ask_git
from fileops.record.folder_clients import FolderClients, WatchedFolders
from fileops.record.folder_faults import FolderFaults
from fileops.record.listeners import RecordListeners
from fileops.record.mailbox import Mailbox
from fileops.record.recorder_thread import RecorderThread, Sources
from fileops.record.store import RecordStore
from fileops.record.turns import TurnRegistry

log = logging.getLogger(__name__)

KEPT_S = 3600.0  # for a folder without clients: editors often restart
MAX_FOLDERS = 200
_SETTLED_WITHIN_S = 5.0  # a recorder busy for longer is not waited for
WRITTEN_WITHIN_S = 60.0  # but before an undo: a command may have written ten thousand files
_DRAINED_WITHIN_S = 1.0  # the same if it waits for a disk: see drain
_BUSY_WITHIN_S = 5.0  # the same if it reads what a command wrote
FAULT_PAUSE_S = 60.0
ANSWERS_WITHIN_S = 5.0  # how long a disk may take for one short step
_CLOSED_WITHIN_S = 5.0


def _log_warning(sentence: str, _root: str | None) -> None:
    log.warning("%s", sentence)


class RecorderFailed(Exception):
    """The store could not be opened, so nothing is recorded. The message is the reason."""


class Recorder:
    """See the module. Start the thread with `start`. Any thread may call any method.

    expected: writes whose author is known beforehand. listeners: set its functions to be notified.
    """

    def __init__(
        self,
        open_store: Callable[[], RecordStore],
        windows: CommandWindows,
        turns: TurnRegistry,
        documents: OpenDocuments,
        *,
        open_stream: Callable[[Callable[[], None]], EventStream] | None,
        text_of: TextOf = lambda _path, data: data,
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
        given a function to call when there are events to read; None: record only the daemon's own edits. text_of: see
        content.read_file. kept_s: how long a folder without clients stays recorded. fault_pause_s: how long after a
        fault a folder is retried. answers_within_s: how long to wait for a disk. written_within_s: how long `settle`
        waits. max_folders: how many are recorded at once. warn: called with a sentence for people and the folder it is
        about, when recording fails and when it works again. on_entries: see EntryWriter. now: the clock that orders
        events. wall: the clock that people are shown.
        """
        self.windows, self.turns, self.text_of = windows, turns, text_of
        self.expected, self.listeners = ExpectedWrites(), RecordListeners()
        windows.on_change, turns.on_change = self._keep_command, self._keep_turn
        self._open_store = open_store
        self._opened: Future[RecorderThread] = Future()
        self._warn, self._now, self._written_within_s = warn, now, written_within_s
        self._mailbox = Mailbox()
        self._clients = FolderClients(max_folders, kept_s)
        self._watched = WatchedFolders()
        self._faults = FolderFaults(fault_pause_s, warn, now)
        self._sources = Sources(
            windows=windows,
            turns=turns,
            documents=documents,
            expected=self.expected,
            clients=self._clients,
            watched=self._watched,
            faults=self._faults,
            listeners=self.listeners,
            mailbox=self._mailbox,
            open_stream=open_stream,
            text_of=text_of,
            answers_within_s=answers_within_s,
            warn=warn,
            on_entries=on_entries,
            now=now,
            wall=wall,
        )
        self._thread = threading.Thread(target=self._run, name="fileops-record", daemon=True)
        self._mailbox.read_in(self._thread)

    @property
    def store(self) -> RecordStore:
        """The store, once the thread has opened it. May block, so call it in worker threads. Raises: RecorderFailed."""
        return self._opened.result().store

    @property
    def _parts(self) -> RecorderThread:
        """The parts of the thread, for its messages. Raises: RecorderFailed."""
        return self._opened.result()

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
            self._mailbox.send(lambda: self._parts.stop())  # noqa: PLW0108 - they may not be made yet
            self._mailbox.close()
            self._thread.join(_CLOSED_WITHIN_S)
            if self._thread.is_alive():  # it waits for a disk, and ends with the process
                log.error("the record was not closed: a disk does not answer; its last entries may be missing")
                return
        if self._opened.done() and self._opened.exception() is None:
            self.store.close()

    def _run(self) -> None:
        parts = None
        try:
            parts = RecorderThread(self._open_store(), self._sources)
            self._opened.set_result(parts)
        except Exception as fault:  # the boundary of the thread: its waiters need an answer
            log.exception("the record could not be opened; everything else continues")
            self._opened.set_exception(RecorderFailed(str(fault)))
            self._warn(f"Changes are not recorded: {fault}. Everything else works.", None)
        else:
            try:
                parts.run()
            except Exception:  # the boundary of the thread: its waiters need an answer
                log.exception("the record has ended by a fault; everything else continues")
                self._warn(
                    "The record of changes has ended by a fault; see the daemon's log. Later changes are not recorded.",
                    None,
                )
        self._mailbox.close()  # no message is left behind from now on, so nothing waits
        while self._mailbox.has_messages:
            with contextlib.suppress(OSError, sqlite3.Error, RecorderFailed):
                self._mailbox.take()()
        if parts is not None:
            parts.end()
        self._mailbox.end()

    # --- folders -----------------------------------------------------------------------------------------------

    def record(self, folder: str, client: str) -> None:
        """Record a client's folder, given its canonical path.

        Blocks while git is asked, so call it in a worker thread.
        """
        root = choose_root(folder)
        if root is None or self._sources.open_stream is None:
            return
        joined = self._clients.join(root, client)
        if joined == "refused":
            self._warn(
                f"Changes in {root} are not recorded, because {self._clients.max_folders} folders are recorded "
                "already, which is the most. They are recorded once another folder has had no client for a while.",
                root,
            )
        elif joined == "new":
            facts = ask_git(root)
            self._mailbox.send(lambda: self._parts.upkeep.begin(root, facts))

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
        return None if self._mailbox.is_closed else self._clients.roots - self._faults.roots

    def is_watched(self, path: str) -> bool:
        """Return whether the changes of a canonical path are observed."""
        return self._watched.contains(path)

    def leave(self, client: str) -> None:
        """Remove a client. A folder without clients stays recorded for another kept_s."""
        self._clients.leave(client)

    def status(self) -> list[RecordedFolder]:
        """Return each folder with the state of its recording. Waits for the recorder's thread."""
        answer: list[RecordedFolder] = []
        self._mailbox.send_and_block(lambda: answer.extend(self._parts.upkeep.list_status()), _SETTLED_WITHIN_S)
        return answer

    # --- what is known of changes ------------------------------------------------------------------------------

    def _keep_command(self, command: CommandRecord) -> None:
        self._put(lambda: self.store.put_command(command))

    def _keep_turn(self, turn: TurnRecord) -> None:
        self._put(lambda: self._put_turn(turn))

    def _put_turn(self, turn: TurnRecord) -> None:
        self.store.put_turn(turn)
        self.listeners.on_turn(turn)

    def _put(self, work: Callable[[], None]) -> None:
        """Do work in the thread, in the order of what waits to be written."""
        self._mailbox.send(lambda: self._parts.writes.put(None, work))

    def begin_commit(self, path: str, intended: IntendedWrite | None = None) -> None:
        """Note that the daemon is about to write a file. The recorder does not read the file until the commit ends."""
        self.expected.begin(path, intended)

    def cancel_commit(self, path: str) -> None:
        """Note that the daemon could not write a file."""
        self._end_commit(path, None)

    def end_commit(self, commit: Commit) -> None:
        """Note that the daemon has written a file."""
        for part in commit.by_path():
            self._end_commit(part.before.path, part if commit.has_changed or commit.is_undo else None)

    def _end_commit(self, path: str, edit: Commit | None) -> None:
        is_watched = self._sources.open_stream is not None and any(
            is_inside(root, path) for root in self._clients.roots
        )
        # The commit's watch event wakes the thread later, so it does not delay the edit.
        self._mailbox.send(lambda: self._parts.own.end_commit(path, edit), is_urgent=not is_watched)

    def keep_edit(self, path: str, edit: Callable[[], KeptEdit]) -> None:
        """Store the data that undos need of an edit; of a protected file it is empty.

        Args: path: canonical. edit: called in the recorder's thread.
        """
        # Not urgent, because the message that ends the commit follows and wakes the thread.
        self._mailbox.send(lambda: self._parts.own.keep(path, edit), is_urgent=False)

    def note_save(self, path: str, person: ByPerson, text: str) -> None:
        """Note that, by an editor's report, its user saved a document with this text."""
        self._note_save(path, Save(person=person, time=self._now(), text=text))

    def note_unsaved_text(self, path: str, person: ByPerson) -> None:
        """Note that an editor has gone with text that it had not reported as saved: it may have saved some."""
        self._note_save(path, Save(person=person, time=self._now(), text=None))

    def _note_save(self, path: str, save: Save) -> None:
        self._put(lambda: self._parts.writer.save(path, save))

    def note_close(self, path: str, person: ByPerson) -> None:
        """Note that a document was closed, and that its user may have discarded changes."""
        self._mailbox.send(lambda: self._parts.changes.drop_unsaved(path, person))

    def claim(self, path: str, by: KnownBy, digest: bytes, *, is_unsure: bool) -> None:
        """Note that a host's own tool has written this content, which is not the one that it had announced."""
        self._put(lambda: self._parts.writer.claim(path, by, digest, is_unsure=is_unsure))

    # --- waiting -----------------------------------------------------------------------------------------------

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
            self._parts.drain(once, roots)

        drained = asyncio.ensure_future(self._mailbox.send_and_wait(work))
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

        if self._send_flush(tell_loop):
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
        if self._send_flush(written.set, settled.set):
            if not written.wait(self._written_within_s):
                return False
            settled.wait(_SETTLED_WITHIN_S)
        return True

    def flush_store(self) -> RecordStore | None:
        """Return the store once everything written until now has entries in it. None if the recorder has ended. Blocks.

        Some authors may not be certain.
        """
        done = threading.Event()
        if not self._send_flush(done.set):
            return None
        done.wait(_SETTLED_WITHIN_S)
        with contextlib.suppress(RecorderFailed):
            return self.store
        return None

    def _send_flush(self, on_written: Callable[[], None], on_settled: Callable[[], None] = lambda: None) -> bool:
        def flush() -> None:
            if self._opened.exception() is not None:  # nothing is recorded, so nothing is waited for
                on_written()
                on_settled()
            else:
                self._parts.flush(on_written, on_settled)

        return self._mailbox.send(flush)

    def forget(self, path: str | None) -> int:
        """Remove all entries and contents of a canonical file or folder (None: everything).

        Returns how many. Blocks.
        """
        n_entries: list[int] = []
        self._mailbox.send_and_block(lambda: n_entries.append(self._parts.upkeep.forget(path)), _SETTLED_WITHIN_S)
        return n_entries[0] if n_entries else 0

    def scan(self) -> None:
        """Compare all files by their stamps, in steps. Belongs to the recorder's thread."""
        self._parts.folders.scan()


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
