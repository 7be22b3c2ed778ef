"""The recorder: one thread that watches the recorded folders, reads what changed, and writes who changed it.

This is one module because all of it runs in that thread, over one table of touched files. Other threads only leave a
message in a queue, which takes microseconds: an edit never waits for the record.

The steps of the thread, in the order of their urgency:

1. Messages: a commit of the daemon, a save of an editor, an end of a command.
2. Events. They only mark a file as touched, with the commands that are open at this moment.
3. Reading: of files that were closed by their writer, or touched 50 ms ago; at an end of a command, of all of them.
4. Writing: attribution, comparison, and the database. It follows every answer.
5. The steps of a start and of a scan.

An end of a command is sharp because of 2 and 3: `drain` reads the kernel's queue until it is empty, then the files, and
only then runs what opens or closes the command. So no clock is compared with that of another process.
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from itertools import islice
from typing import Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fileops.core.roots import is_inside
from fileops.core.text import decode, detect_format
from fileops.model.commits import Commit
from fileops.model.digest import content_digest
from fileops.model.files import Snapshot
from fileops.model.record import (
    ByPerson,
    Command,
    Entry,
    Found,
    GapKind,
    KeptEdit,
    Known,
    RecordedFolder,
    Turn,
)
from fileops.platform.inotify import EventsLost, Inotify
from fileops.record import git, git_process
from fileops.record.attribution import Save
from fileops.record.brackets import Brackets
from fileops.record.content import ReadFile, is_secret, kind_of_content, read_file
from fileops.record.entries import EntryWriter, Observed
from fileops.record.folder import GitFacts, ask_git
from fileops.record.folder import RecordedFolder as Folder
from fileops.record.store import RecordStore
from fileops.record.turns import TurnRegistry

log = logging.getLogger(__name__)
T = TypeVar("T")

DEBOUNCE_S = 0.05
QUIET_S = 0.025  # after the first event; an edit is answered by then
_MAX_QUIETS = 10
SCAN_EVERY_S = 60.0
_WAKE_BYTES = 1 << 16  # as much as a pipe holds
PRUNE_EVERY_S = 3600.0
_PRUNING = ""  # the name of its steps, beside those of folders
KEPT_S = 3600.0  # a folder without clients: people close an editor and open it again
_INDEX_EVERY_S = 1.0
_BLOBS_AT_ONCE = 200
_BLOB_BYTES_AT_ONCE = 16 << 20  # beside those of a batch, which are needed
_WRITTEN_AT_ONCE = 8  # entries, before messages and events are looked at again
_MAX_FOLDERS = 200
_SETTLED_WITHIN_S = 5.0  # a recorder that is busy for longer is not waited for
_DRAINED_WITHIN_S = 1.0  # a recorder that waits for a disk is not waited for: see drain
_CLOSED_WITHIN_S = 5.0


class TypedDocument(Struct, frozen=True, kw_only=True):
    """An open document. changed: seconds since the epoch; is_typed: its user has changed it since it was the file."""

    person: ByPerson
    text: str
    changed: float
    is_typed: bool


class OpenDocuments(Protocol):
    """The documents that are open in all editors. Called in the recorder's thread; must not wait for a disk."""

    def documents_at(self, path: str) -> Sequence[TypedDocument]: ...


class RecorderFailed(Exception):
    """The store could not be opened, so nothing is recorded. The message is the reason."""


class _Touch(Struct):
    """A file that may have changed. commands: open at an event of it, by id."""

    since: float
    commands: dict[str, Command]
    found: Found = "event"
    gap: GapKind | None = None
    is_complete: bool = False


class Recorder:
    """See the module. Start the thread with `start`. All methods may be called on any thread."""

    def __init__(
        self,
        open_store: Callable[[], RecordStore],
        brackets: Brackets,
        turns: TurnRegistry,
        documents: OpenDocuments,
        *,
        watches: bool = True,
        kept_s: float = KEPT_S,
        warn: Callable[[str], None] = log.warning,
        on_entries: Callable[[Sequence[Entry]], None] = lambda _entries: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Take what the thread needs.

        Args: open_store: called in the thread, because a disk may be slow. watches: whether folders are recorded, and
        not only the daemon's own edits. kept_s: how long a folder without clients is recorded. warn: gets a sentence,
        once, if the record cannot be written any more. on_entries: see EntryWriter.
        """
        self.brackets, self.turns = brackets, turns
        self._open_store, self._on_entries = open_store, on_entries
        self._opened: Future[RecordStore] = Future()
        brackets.on_change, turns.on_change = self._keep_command, self._keep_turn
        self.on_turn: Callable[[Turn], None] = lambda _turn: None  # called with each turn that begins or ends
        self._documents, self._warn, self._now = documents, warn, now
        self._lock = threading.Lock()
        self._messages: deque[Callable[[], None]] = deque()
        self._committing: dict[str, int] = {}  # guarded by _lock: commits of the daemon that are being made
        self._clients: dict[str, set[str]] = {}  # guarded by _lock: the clients of each folder
        self._left_at: dict[str, float] = {}  # guarded by _lock: monotonic
        self._inotify = _opened_inotify() if watches else None
        self._watches, self._kept_s = watches, kept_s
        self._wake_fd, self._waker_fd = os.pipe()  # neither is inherited
        for fd in (self._wake_fd, self._waker_fd):
            os.set_blocking(fd, False)
        self._is_closed = False  # guarded by _lock: no message is taken any more
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="fileops-record", daemon=True)
        # Of the recorder's thread:
        self._writer: EntryWriter
        self._folders: dict[str, Folder] = {}
        self._touched: dict[str, _Touch] = {}
        self._read: deque[tuple[Folder, Observed]] = deque()
        self._steps: dict[str, Iterator[None]] = {}  # of starts and scans, by folder
        self._checked_index_at = 0.0
        self._is_writing = False
        self._dropped_by: dict[str, ByPerson] = {}  # whose unsaved text is gone, by the path of its file
        self._flushes: list[Callable[[], None]] = []  # called when all that was read is written
        self._settlings: list[Callable[[], None]] = []  # called when all authors are certain
        self._blobs: dict[bytes, bytes] = {}  # that the next changes replaced, by object id
        self._settles_at: float | None = None  # when the next author is certain
        self._scanned_at = time.monotonic()
        self._pruned_at = time.monotonic() - PRUNE_EVERY_S + SCAN_EVERY_S

    @property
    def store(self) -> RecordStore:
        """The store, once the thread has opened it. May block: for worker threads. Raises: RecorderFailed."""
        return self._opened.result()

    async def opened(self) -> RecordStore | None:
        """Wait until the thread has opened the store. None if it failed."""
        with contextlib.suppress(RecorderFailed):
            # A request that is cancelled in the meantime must not cancel the future, for which others wait.
            return await asyncio.shield(asyncio.wrap_future(self._opened))
        return None

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Write what was observed, and end. Blocks."""
        if self._thread.is_alive():
            self._send(self._stop)
            with self._lock:
                self._is_closed = True
            self._thread.join(_CLOSED_WITHIN_S)
            if self._thread.is_alive():  # it waits for a disk; the daemon thread ends with the process
                log.error("the record was not closed: a disk does not answer; its last entries may be missing")
                return
        if self._opened.done() and self._opened.exception() is None:
            self.store.close()

    def _stop(self) -> None:
        self._read_events()
        self._observe_all()
        self._write(len(self._read))
        self._writer.settle(float("inf"))
        self._is_closing = True

    # --- messages (any thread) ---------------------------------------------------------------------------------

    def record(self, folder: str, client: str) -> None:
        """Record the folder of a client, by its canonical path. Blocks while git is asked; call it in a thread."""
        root = recorded_root(folder)
        if root is None or not self._watches:
            return
        with self._lock:
            is_known = root in self._clients
            if not is_known and len(self._clients) >= _MAX_FOLDERS:
                return
            self._clients.setdefault(root, set()).add(client)
            self._left_at.pop(root, None)
        if not is_known:
            facts = ask_git(root)
            self._send(lambda: self._begin(root, facts))

    def leave(self, client: str) -> None:
        """A client has left. A folder without clients is recorded for kept_s more."""
        with self._lock:
            for root, clients in self._clients.items():
                if client in clients:
                    clients.discard(client)
                    if not clients:
                        self._left_at[root] = time.monotonic()

    def _keep_command(self, command: Command) -> None:
        self._send(lambda: self._safely(lambda: self.store.put_command(command)))

    def _keep_turn(self, turn: Turn) -> None:
        self._send(lambda: self._safely(lambda: self._put_turn(turn)))

    def _put_turn(self, turn: Turn) -> None:
        self.store.put_turn(turn)
        self.on_turn(turn)

    def begin_commit(self, path: str) -> None:
        """The daemon is about to write a file. Until its end is known, the record does not read it."""
        with self._lock:
            self._committing[path] = self._committing.get(path, 0) + 1

    def cancel_commit(self, path: str) -> None:
        """The daemon could not write a file."""
        self._end_commit(path, None)

    def end_commit(self, commit: Commit) -> None:
        """The daemon has written a file."""
        for part in commit.by_path():
            self._end_commit(part.before.path, part if commit.has_changed or commit.is_undo else None)

    def _end_commit(self, path: str, edit: Commit | None) -> None:
        with self._lock:
            is_watched = self._inotify is not None and any(is_inside(root, path) for root in self._clients)
        # The event of the commit wakes the thread, later: the edit is not delayed by it.
        self._send(lambda: self._note_commit(path, edit), is_urgent=not is_watched)

    def keep_edit(self, path: str, edit: Callable[[], KeptEdit]) -> None:
        """Keep what the history needs of an edit. Args: path: canonical. edit: called in the recorder's thread."""
        # Not urgent: the end of the commit follows, which wakes the thread.
        self._send(lambda: self._keep_edit(path, edit), is_urgent=False)

    def _keep_edit(self, path: str, edit: Callable[[], KeptEdit]) -> None:
        folder = self._folder_of(path)
        if not is_secret(path, "" if folder is None else folder.root):
            kept = edit()
            self._safely(lambda: self.store.put_edit(kept))

    def saved(self, path: str, person: ByPerson, text: str) -> None:
        """An editor has reported that its user saved the text of a document."""
        save = Save(person=person, time=self._now(), text=text)
        self._send(lambda: self._writer.save(path, save))

    def closed(self, path: str, person: ByPerson) -> None:
        """A document was closed, perhaps with changes that its user dropped."""
        self._send(lambda: self._drop_unsaved(path, person))

    async def drain(self, then: Callable[[], None] = lambda: None) -> None:
        """Read what was written until now, then call `then` in the recorder's thread, before anything else is read.

        If that thread has ended, or waits for a disk, `then` is called here: the record may be wrong about one command
        then, but no command and no edit waits for it. Either thread may come first, so a lock decides which one calls.
        """
        once = _Once(then)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_DRAINED_WITHIN_S):
                await self._sent(lambda: self._drain(once))
        once()

    async def flush(self) -> None:
        """Wait until all that was written until now has its entries in the store. Some may not be settled."""
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

    def settle(self) -> None:
        """Wait until all that was written until now has entries with certain authors. Blocks: call it in a thread."""
        done = threading.Event()
        if self._send(lambda: self._begin_flush(lambda: self._settlings.append(done.set))):
            done.wait(_SETTLED_WITHIN_S)

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
        """Remove all entries and contents of a canonical file or folder (None: of all). Returns how many. Blocks."""
        n_entries: list[int] = []
        self._wait_for(lambda: n_entries.append(self._forget(path)))
        return n_entries[0] if n_entries else 0

    def _forget(self, path: str | None) -> int:
        self._flush()
        n_entries = self.store.forget(path)
        for folder in self._folders.values():
            folder.forget_contents(path)
            self._steps.setdefault(folder.root, self._copying(folder))
        return n_entries

    def status(self) -> list[RecordedFolder]:
        """Each folder, and how far its recording is. Blocks for the recorder's thread."""
        answer: list[RecordedFolder] = []
        self._wait_for(lambda: answer.extend(map(self._status_of, self._folders.values())))
        return answer

    async def _sent(self, work: Callable[[], None]) -> None:
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
        """Leave a message for the thread. False if it has ended, or is about to."""
        if threading.current_thread() is self._thread:  # it takes the message before it ends
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
            self._writer = EntryWriter(store, self.brackets, self.turns, self._on_entries)
            self._opened.set_result(store)
        except Exception as fault:  # the boundary of the thread: what waits for it must be answered
            log.exception("the record could not be opened; everything else continues")
            self._opened.set_exception(RecorderFailed(str(fault)))
            self._warn(f"Changes are not recorded: {fault}. Everything else works.")
        else:
            self._record_all()
        with self._lock:
            self._is_closed = True  # from now on no message is left, and nothing waits
        while self._messages:
            with contextlib.suppress(OSError, sqlite3.Error, RecorderFailed):
                self._messages.popleft()()
        self._end_flushes()
        self._end_settlings()
        os.close(self._wake_fd)
        os.close(self._waker_fd)
        if self._inotify is not None:
            self._inotify.close()

    def _record_all(self) -> None:
        """Record until the end."""
        poll = select.poll()
        poll.register(self._wake_fd, select.POLLIN)
        if self._inotify is not None:
            poll.register(self._inotify.fileno(), select.POLLIN)
        urgent = select.poll()
        urgent.register(self._wake_fd, select.POLLIN)
        while not self._is_closing:
            ready = poll.poll(self._timeout_ms())
            if ready and not any(fd == self._wake_fd for fd, _ in ready):
                self._wait_for_quiet(urgent)
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake_fd, _WAKE_BYTES)
            try:
                self._turn()
            except (OSError, sqlite3.Error) as error:
                log.error("a part of the record was lost: %s", error)
            except Exception:  # the boundary of the thread: what waits for it must be answered
                log.exception("the record has ended by a fault; everything else continues")
                self._warn(
                    "The record of changes has ended by a fault; see the daemon's log. Later changes are not recorded."
                )
                break

    def _wait_for_quiet(self, urgent: "select.poll") -> None:
        """Let what caused an event go on first, unless there is a message.

        The first event of an edit comes in the middle of its commit. If this thread ran then, it would hold the
        interpreter while the edit waits for it: 1.5 ms for each edit, measured. The ends of a command are not later
        for it, because they are messages.
        """
        for _ in range(_MAX_QUIETS):
            if urgent.poll(QUIET_S * 1000):
                return
            with self._lock:
                if not self._committing:
                    return

    def _turn(self) -> None:
        while self._messages:
            self._messages.popleft()()
        self._read_events()
        now = self._now()
        due = [path for path, touch in self._touched.items() if touch.is_complete or now - touch.since >= DEBOUNCE_S]
        self._observe(due)
        self._write(_WRITTEN_AT_ONCE)
        self._settles_at = self._safely(lambda: self._writer.settle(self._now()))
        if not self._read:
            self._end_flushes()
        if not self._writer.n_unsettled:
            self._end_settlings()
        self._look_at_indexes()
        self._end_left_folders()
        if time.monotonic() - self._scanned_at >= SCAN_EVERY_S:
            self._scanned_at = time.monotonic()
            self.scan()
        if time.monotonic() - self._pruned_at >= PRUNE_EVERY_S:
            self._pruned_at = time.monotonic()
            self._steps[_PRUNING] = self._pruning()
        self._step()

    def _timeout_ms(self) -> float:
        if self._messages or self._read or self._steps:
            return 0
        if self._touched:
            return DEBOUNCE_S * 1000
        if self._settles_at is not None:
            return max(self._settles_at - self._now(), 0) * 1000 + 1  # a poll ends a part of a millisecond early
        return _INDEX_EVERY_S * 1000 if self._folders else SCAN_EVERY_S * 1000

    def _drain(self, then: Callable[[], None]) -> None:
        self._read_events()
        self._observe_all()
        then()

    def _begin_flush(self, done: Callable[[], None]) -> None:
        """Call `done` once all that was written until now has its entries. Ends of commands are not kept waiting."""
        self._read_events()
        self._observe_all()
        self._flushes.append(done)

    def _end_flushes(self) -> None:
        flushes, self._flushes = self._flushes, []
        for done in flushes:
            done()

    def _end_settlings(self) -> None:
        settlings, self._settlings = self._settlings, []
        for done in settlings:
            done()

    def _flush(self) -> None:
        self._read_events()
        self._observe_all()
        self._write(len(self._read))

    # --- folders -----------------------------------------------------------------------------------------------

    def _begin(self, root: str, facts: GitFacts | None) -> None:
        if root in self._folders:
            return
        folder = Folder(root, facts, self._inotify)
        self._folders[root] = folder
        # What is known now decides whether the folder was recorded before: commits are noted from now on.
        self._steps[root] = self._starting(folder, self.store.known(root))
        log.info("changes in %s are recorded from now on; --record=edits or off turns this off", root)

    def _starting(self, folder: Folder, earlier: dict[str, Known]) -> Iterator[None]:
        started = self._now()
        for fresh in folder.start(earlier, lambda path: self._touch(path, found="scan", gap="away")):
            if fresh:
                self._safely(lambda known=fresh: self.store.set_known(folder.root, known))
            yield
        log.debug("%s: %d files are known after %.1f s", folder.root, len(folder.files), self._now() - started)
        while (copied := folder.copy_next()) is not None:
            path, found = copied
            if path not in self._touched:
                self._remember(folder, path, self._kept(found))
            yield

    def _kept(self, found: ReadFile) -> Known:
        """What is known of a file that was read, with its content in the store."""
        data = found.data
        return _known_of(found, None if data is None else self._safely(lambda: self.store.put(data)))

    def _remember(self, folder: Folder, path: str, known: Known | None) -> None:
        if known is None:
            folder.files.pop(path, None)
        else:
            folder.files[path] = known
        self._safely(lambda: self.store.set_known(folder.root, [(path, known)]))

    def _end_left_folders(self) -> None:
        with self._lock:
            now = time.monotonic()
            ended = [root for root, left_at in self._left_at.items() if now - left_at >= self._kept_s]
            for root in ended:
                del self._left_at[root], self._clients[root]
        for root in ended:
            self._steps.pop(root, None)
            if self._folders.pop(root, None) is not None and self._inotify is not None:
                self._inotify.remove_below(root)

    def _look_at_indexes(self) -> None:
        """Copy what a rewritten index of git does not name any more. Events are read first: see folder.update_index."""
        now = time.monotonic()
        if now - self._checked_index_at < _INDEX_EVERY_S:
            return
        self._checked_index_at = now
        for folder in tuple(self._folders.values()):
            if folder.repository is None or folder.root in self._steps:
                continue
            try:
                if os.stat(folder.repository.index).st_mtime_ns == folder.index_mtime_ns:
                    continue
                index = git.read_index(folder.repository)
            except (OSError, git_process.GitFailed):
                continue
            self._read_events()
            folder.update_index(index, self._touched.__contains__)
            self._steps[folder.root] = self._copying(folder)

    def _copying(self, folder: Folder) -> Iterator[None]:
        while (copied := folder.copy_next()) is not None:
            path, found = copied
            if path not in self._touched:
                self._remember(folder, path, self._kept(found))
            yield

    def scan(self) -> None:
        """Compare all files by their stamps, in steps. Belongs to the recorder's thread."""
        for folder in self._folders.values():
            self._steps.setdefault(folder.root, folder.scan(lambda path: self._touch(path, found="scan")))

    def _pruning(self) -> Iterator[None]:
        """Remove what is too old or too much, and the contents of files that are ignored by now."""
        for folder in tuple(self._folders.values()):
            for path in folder.drop_ignored():
                self.store.drop_contents(path)
                self.store.set_known(folder.root, [(path, None)])
                yield
        while self.store.prune(self._now()):
            yield

    def _step(self) -> None:
        for root, steps in tuple(self._steps.items()):
            if next(steps, _END) is _END:
                self._steps.pop(root, None)

    def _folder_of(self, path: str) -> Folder | None:
        """The innermost recorded folder that contains a path."""
        inside = [folder for root, folder in self._folders.items() if is_inside(root, path)]
        return max(inside, key=lambda folder: len(folder.root), default=None)

    def _status_of(self, folder: Folder) -> RecordedFolder:
        is_starting = folder.is_starting or folder.n_to_copy > 0
        reasons = sorted(folder.limits) or ([] if folder.is_watched else ["no_events"])
        if self.store.is_in_memory:
            reasons.append("store")
        return RecordedFolder(
            root=folder.root,
            state="starting" if is_starting else "limited" if reasons else "on",
            reason=reasons[0] if reasons else None,
            n_files=len(folder.files),
            n_copied=folder.n_copied,
            n_to_copy=folder.n_to_copy,
            watched=folder.is_watched,
            n_bytes=self.store.n_bytes,
        )

    # --- events ------------------------------------------------------------------------------------------------

    def _read_events(self) -> None:
        if self._inotify is None:
            return
        try:
            for event in self._inotify.events():
                path = f"{event.folder}/{event.name}"
                folder = self._folder_of(path)
                if folder is None or event.name == ".git":
                    continue
                if not event.is_folder:
                    if folder.is_recorded(path):
                        self._touch(path, is_complete=event.is_complete)
                    continue
                if event.vanished:
                    self._inotify.remove_below(path)
                    for inside in folder.known_below(path):
                        self._touch(inside, is_complete=True)
                if event.appeared:
                    for inside in folder.listed_below(path):
                        self._touch(inside)
        except EventsLost:
            log.warning("events of changed files were lost; all files are compared")
            self.scan()

    def _touch(
        self, path: str, *, found: Found = "event", gap: GapKind | None = None, is_complete: bool = False
    ) -> None:
        now = self._now()
        touch = self._touched.get(path)
        if touch is None:
            touch = self._touched[path] = _Touch(now, {}, found, gap)
        touch.is_complete = touch.is_complete or is_complete
        for command in self.brackets.open_during(path, now, now):
            touch.commands[command.command_id] = command

    # --- reading -----------------------------------------------------------------------------------------------

    def _observe_all(self) -> None:
        self._observe(list(self._touched))

    def _observe(self, paths: Sequence[str]) -> None:
        for path in paths:
            with self._lock:
                is_committing = path in self._committing
            if is_committing:  # its end is a message, after which the file is looked at
                continue
            touch = self._touched.pop(path)
            folder = self._folder_of(path)
            if folder is not None:
                self._observe_file(folder, path, touch)

    def _observe_file(self, folder: Folder, path: str, touch: _Touch) -> None:
        before = folder.files.get(path)
        found = read_file(path, folder.root)
        if found is None and before is None:
            return
        documents = self._documents.documents_at(path)
        is_unsaved = before is not None and before.is_unsaved and len(documents) > 0
        if is_unsaved and before is not None and found is not None and found.mtime_ns <= before.mtime_ns:
            return  # the file has an older content than the document, which the record has already
        digest = None if found is None or found.data is None else content_digest(found.data)
        after = None if found is None else _known_of(found, digest)
        if before is None and folder.is_starting and touch.gap is None:
            before = Known(content="kept")  # it may have been there, with any content
        if before is not None and after is not None and _is_unchanged(before, after):
            folder.files[path] = after
            return
        if after is None:
            folder.files.pop(path, None)
        else:
            folder.files[path] = after
        now = self._now()
        commands = {**touch.commands}
        for command in self.brackets.open_during(path, touch.since, now):
            commands.setdefault(command.command_id, command)
        typist = self._dropped_by.pop(path, None) or _typist_of(documents, found, touch.since)
        observed = Observed(
            path=path, before=before, after=after, before_data=None, after_data=None if found is None else found.data,
            began=touch.since, read=now, commands=() if touch.gap == "away" else tuple(commands.values()),
            typed_by=typist, is_open=bool(documents), found=touch.found,
            gap=touch.gap,
        )  # fmt: skip
        self._read.append((folder, observed))

    # --- writing -----------------------------------------------------------------------------------------------

    def _write(self, n_entries: int) -> None:
        batch = [self._read.popleft() for _ in range(min(n_entries, len(self._read)))]
        if batch:
            self._safely(lambda: self._write_batch(batch))

    def _safely(self, work: Callable[[], T]) -> T:
        """Do work of one transaction. If the database cannot be written, do it in memory, from now on (R-RECP-4)."""
        if self._is_writing:  # a part of a larger transaction, which is made again as a whole
            return work()
        self._is_writing = True
        try:
            return work()
        except sqlite3.Error as error:
            if self.store.is_in_memory:
                raise
            self.store.move_to_memory()
            self._warn(
                f"The record of changes cannot be written: {error}. Changes are recorded in memory until the daemon "
                "ends. Free space on the disk, then restart the daemon."
            )
            return work()
        finally:
            self._is_writing = False

    def _write_batch(self, batch: Sequence[tuple[Folder, Observed]]) -> None:
        blobs = self._blobs_of(batch)
        with self.store.transaction():
            for folder, observed in batch:
                change = self._with_blob(folder, observed, blobs)
                if change is not None:
                    self._writer.write(change, folder.root)
                # It is the content before the next change, also if this one made no entry with contents.
                if observed.after_data is not None:
                    self.store.put(observed.after_data)
                self.store.set_known(folder.root, [(observed.path, observed.after)])

    def _blobs_of(self, batch: Sequence[tuple[Folder, Observed]]) -> dict[bytes, bytes]:
        """The contents of git's blobs that the changes replaced, read by one process for many batches.

        A checkout changes thousands of files, and a start of git costs as much as writing ten entries.
        """
        oids = {change.before.oid for _, change in batch if change.before is not None}
        if not oids - {None} <= self._blobs.keys():
            self._blobs = _blobs_before(batch, islice(self._read, _BLOBS_AT_ONCE))
        return self._blobs

    def _with_blob(self, folder: Folder, change: Observed, blobs: dict[bytes, bytes]) -> Observed | None:
        """The change with the content before, if git has it. None if that is the content after, too."""
        before = change.before
        if before is None or before.oid is None:
            return change
        data = blobs.get(before.oid)
        if data is None or len(data) != before.size_bytes or kind_of_content(data) != "kept":
            return replace(change, before=replace(before, oid=None))  # R-REC-5: it is not the content of the file
        known = replace(before, oid=None, digest=content_digest(data))
        if change.after is not None and _is_unchanged(known, change.after):
            return None
        del folder
        return replace(change, before=known, before_data=data)

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
        if edit is None:
            return
        root = "" if folder is None else folder.root
        before, after = _known_of_snapshot(edit.before, root), _known_of_snapshot(edit.after, root)
        if any(observed.path == path for _, observed in self._read):
            self._write(len(self._read))  # in the order of the contents
        self._safely(lambda: self._write_own(folder, edit, before, after))

    def _write_own(self, folder: Folder | None, edit: Commit, before: Known | None, after: Known | None) -> None:
        path = edit.before.path
        with self.store.transaction():
            if edit.has_changed and folder is not None and folder.is_recorded(path):
                if not _is_result(folder.files.get(path), after):
                    self._note_before(folder, edit, before)
                self._remember(folder, path, after)
            self._writer.own(edit, before, after)
            if after is not None and after.digest is not None:
                self.store.put(edit.after.data)

    def _note_before(self, folder: Folder, edit: Commit, before: Known | None) -> None:
        """Record what others wrote before the daemon did, if it was not read yet."""
        path, known = edit.before.path, folder.files.get(edit.before.path)
        if known is None:
            if before is None or folder.is_starting:
                return
        elif before is not None and (known.content, known.digest) == (before.content, before.digest):
            return
        is_typed = edit.after.source == "buffer"  # else it was the file
        touch = self._touched.get(path)
        now = self._now()
        began = now if touch is None else touch.since
        documents = self._documents.documents_at(path) if is_typed else ()
        typist = next((document.person for document in documents), None)
        data = edit.before.data if edit.before.exists and before is not None and before.content == "kept" else None
        change = Observed(
            path=path, before=known, after=before, before_data=None, after_data=data, began=began, read=now,
            commands=self.brackets.open_during(path, began, now), typed_by=typist,
        )  # fmt: skip
        found = self._with_blob(folder, change, _blobs_before([(folder, change)]))
        if found is not None and (found.before is None or found.before.digest is not None):
            self._writer.write(found, folder.root)

    def _drop_unsaved(self, path: str, person: ByPerson) -> None:
        folder = self._folder_of(path)
        known = None if folder is None else folder.files.get(path)
        if folder is not None and known is not None and known.is_unsaved and not self._documents.documents_at(path):
            folder.files[path] = replace(known, is_unsaved=False, mtime_ns=0)
            self._dropped_by[path] = person
            self._touch(path, is_complete=True)


_END = object()


def recorded_root(folder: str) -> str | None:
    """The folder that is recorded for a client's canonical folder; None if none is (R-REC-1)."""
    if not os.path.isdir(folder):
        return None
    root = git.top_of(folder) or folder
    home = os.path.realpath(os.path.expanduser("~"))
    return None if is_inside(root, home) else root


class _Once:
    """Calls `work` the first time that it is called, on any thread."""

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


def _opened_inotify() -> Inotify | None:
    try:
        return Inotify()
    except OSError as error:
        log.warning("changed files are found by comparison only: %s", error)
        return None


def _known_of(found: ReadFile, digest: bytes | None) -> Known:
    return Known(
        content=found.content, digest=digest, mtime_ns=found.mtime_ns, size_bytes=found.size_bytes, inode=found.inode,
        is_executable=found.is_executable,
    )  # fmt: skip


def _known_of_snapshot(snapshot: Snapshot, root: str) -> Known | None:
    if not snapshot.exists:
        return None
    content = "protected" if is_secret(snapshot.path, root) else kind_of_content(snapshot.data)
    stamp = snapshot.stamp
    return Known(
        content=content,
        digest=snapshot.digest if content == "kept" else None,
        mtime_ns=0 if stamp is None else stamp.mtime_ns,
        size_bytes=0 if stamp is None else stamp.size_bytes,
        inode=0 if stamp is None else stamp.ino,
        is_executable=stamp is not None and bool(stamp.mode & 0o100),
        is_unsaved=snapshot.source == "buffer",
    )


def _is_result(known: Known | None, after: Known | None) -> bool:
    """Whether what is known of a file is what a commit made: it was listed, at the start, before the commit was noted.

    The content before the commit was never listed then, so no change by another program can be concluded from it.
    """
    if known is None or after is None or not after.mtime_ns:
        return False
    return (known.mtime_ns, known.size_bytes, known.inode) == (after.mtime_ns, after.size_bytes, after.inode)


def _is_unchanged(before: Known, after: Known) -> bool:
    """Whether there is nothing to record. Of a content that is not kept, the stamp says whether it changed."""
    if before.content != after.content or before.is_executable != after.is_executable:
        return False
    if before.content == "kept":
        return before.digest is not None and before.digest == after.digest
    return (before.mtime_ns, before.size_bytes) == (after.mtime_ns, after.size_bytes)


def _typist_of(documents: Sequence[TypedDocument], found: ReadFile | None, began: float) -> ByPerson | None:
    """Whose unsaved document had this text before the file had it. A reload has it only afterwards."""
    if found is None or found.data is None:
        return None
    text: str | None = None
    for document in documents:
        if document.is_typed and document.changed < began:
            if text is None:
                text = _shown(decode(found.data, detect_format(found.data)))
            if _shown(document.text) == text:
                return document.person
    return None


def _shown(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _blobs_before(
    batch: Sequence[tuple[Folder, Observed]], others: Iterable[tuple[Folder, Observed]] = ()
) -> dict[bytes, bytes]:
    """The contents of git's blobs that the changes replaced, and of some of the others."""
    wanted: dict[str, tuple[git.Repository, dict[bytes, int]]] = {}
    n_bytes = 0
    for is_needed, changes in ((True, batch), (False, others)):
        for folder, change in changes:
            before, repository = change.before, folder.repository
            if repository is None or before is None or before.oid is None:
                continue
            n_bytes += before.size_bytes
            if is_needed or n_bytes <= _BLOB_BYTES_AT_ONCE:
                wanted.setdefault(folder.root, (repository, {}))[1][before.oid] = before.size_bytes
    blobs: dict[bytes, bytes] = {}
    for repository, sizes in wanted.values():
        blobs.update(git.read_blobs(repository, sizes))
    return blobs
