"""Ports: the Protocols between the service and its adapters.

A FileSystem is synchronous. All of it but `try_open_cached` is called in worker threads. Paths, except those given to
`try_open_cached` and `resolve`, are canonical: absolute, without a symlink in any component. A FileSystem follows no
symlink (`PathMoved`), so a decision about a canonical path holds for the file that is opened. It translates OSErrors
to `FileOpsError`s.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from fileops.model.approval import ApprovalRequest, Correction, CorrectionRequest, Decision
from fileops.model.documents import BufferEdit, DocumentChange
from fileops.model.edits import Plan, Splice
from fileops.model.events import Event
from fileops.model.files import Committed, Snapshot, Source, Stamp
from fileops.model.history import AppliedEdit
from fileops.model.requests import CommandRequest


class ContentStream(Protocol):
    """An open file, read front to back. Use as a context manager."""

    @property
    def stamp(self) -> Stamp:
        """The stamp of the open handle, taken before the first byte was read."""
        ...

    @property
    def taken_ns(self) -> int: ...

    @property
    def source(self) -> Source: ...

    @property
    def version(self) -> int | None: ...

    @property
    def encoding(self) -> str | None:
        """The encoding that a client has named for the file, whose text is then read as UTF-8; else None."""
        ...

    def read(self, max_bytes: int) -> bytes:
        """Read up to max_bytes; b"" only at the end."""
        ...

    def seek(self, offset_bytes: int) -> None: ...

    def __enter__(self) -> "ContentStream": ...

    def __exit__(self, *exc: object) -> None: ...


class CommitHooks(Protocol):
    """Called by `replace` inside the file's lock."""

    def prepare(self) -> None:
        """Called before each visible step that is undone if the commit fails: making a folder or a temp file.

        It may be called any number of times. An exception ends the commit without effect.
        """
        ...

    def before(self) -> None:
        """Called after the compare, before the first step that cannot be undone. An exception ends the commit."""
        ...

    def on_cancel(self, withdraw: Callable[[], None]) -> None:
        """Take what withdraws a commit that the editor makes. Called after `before`.

        `withdraw` is called, on any thread, when the request is cancelled. The commit then decides: it is made, or
        `replace` raises Cancelled and nothing happened.
        """
        ...

    def after(self, committed: Committed) -> None:
        """Called immediately after the commit. Must not raise."""
        ...


class FileSystem(Protocol):
    def resolve(self, path: str) -> str:
        """Return the canonical path: symlinks followed, `.` and `..` removed. The file need not exist.

        Raises: FileMissing (a name no file can have), IoFailure (more than 40 links).
        """
        ...

    def stat(self, path: str) -> Stamp | None:
        """Return None if there is no file. Raises: IsDirectory, NotRegularFile, PermissionRefused, PathMoved."""
        ...

    def open(self, path: str) -> ContentStream:
        """Raises: FileMissing, IsDirectory, NotRegularFile, PermissionRefused, PathMoved."""
        ...

    def try_open_cached(self, path: str) -> ContentStream | None:
        """Open on the event loop, without waiting for a disk, a lock or another process. Args: path: as given.

        If a stream is returned, the path is canonical and the content is complete. If None, nothing has happened: use
        `resolve` and `open` in a worker thread.
        """
        ...

    def read(self, path: str) -> Snapshot:
        """Read the whole content from one handle. The snapshot of a missing file has no stamp.

        Raises: IsDirectory, NotRegularFile, PermissionRefused, PathMoved.
        """
        ...

    def replace(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        """Compare-and-swap: apply the splices if the file is still the one in the snapshot.

        The snapshot of a missing file creates it, and its parents, exclusively. The change is atomic and durable.
        Raises: Stale (another file or content), AlreadyExists (of a creation), PathMoved, the FileOpsErrors of
        writing, and what `hooks.before` raises. After an exception nothing has changed.
        """
        ...

    def remove(self, snapshot: Snapshot, hooks: CommitHooks) -> Committed:
        """Compare-and-delete, to undo a creation. Raises as `replace`."""
        ...

    def lock(self, path: str, *, waits: bool = True) -> AbstractContextManager[bool]:
        """Lock the file within this process, as `replace` does. Reentrant in one thread.

        The context's value says whether the file is locked. It is always True with `waits`; without, it is False if
        another thread holds the lock, which may wait for an editor or a remote host.
        """
        ...


class Approver(Protocol):
    @property
    def can_ask(self) -> bool:
        """Whether the client can ask its user."""
        ...

    async def decide(self, question: ApprovalRequest) -> Decision:
        """Ask the user. Cancelling the call withdraws the request."""
        ...


class Corrector(Protocol):
    @property
    def can_ask(self) -> bool:
        """Whether the client proposes corrections."""
        ...

    async def correct(self, request: CorrectionRequest) -> Correction | None:
        """Ask for a proposal; None if there is none in time. Cancelling the call withdraws the request."""
        ...


class EventSink(Protocol):
    def publish(self, event: Event) -> None:
        """Publish from any thread. Keeps the order per thread, raises nothing and never blocks."""
        ...


class EditJournal(Protocol):
    """Records applied edits, so that they can be shown and undone."""

    def append(
        self,
        *,
        edit_id: str,
        session_id: str,
        given_path: str,
        plan: Plan,
        committed: Committed,
        timestamp: float,
        undoes: tuple[str, ...] = (),
    ) -> None:
        """Record a commit, in the worker thread that made it. Must not raise.

        Args: timestamp: seconds. undoes: ids of the edits that this one undid.
        """
        ...


class RunningProcess(Protocol):
    """A running shell command."""

    def wait(self, timeout_s: float, on_output: Callable[[bytes], None]) -> int | None:
        """Wait until all its processes have ended, and return the exit code; None if it was killed after timeout_s.

        Args: on_output: called in this thread with what it prints, stdout and stderr as they arrive.
        """
        ...

    def kill(self) -> None:
        """End it and all that it started; then `wait` returns. Can be called at any time, from any thread."""
        ...


class Executor(Protocol):
    def start(self, command: str, cwd: str) -> RunningProcess:
        """Raises: CommandNotStarted."""
        ...


ExecutorChoice = Callable[[str], tuple[Executor, str]]  # working directory -> executor, the directory's name there


class CommandApprover(Protocol):
    @property
    def can_ask(self) -> bool: ...

    async def decide(self, request: CommandRequest, cwd: str) -> Decision:
        """Return Once, Always (for this command, in this session), Reject or TimedOut. Args: cwd: where it will run."""
        ...


class DirectoryWatch(Protocol):
    """Watches folders, not recursively, and reports changes to callbacks, in the watch's thread.

    on_hint(folder, name): folder/name may have changed. on_move(folder, name): it may be another file, or gone, if the
    system distinguishes moves from writes. on_lost(folder): the folder is no longer watched; on_lost(None): events were
    dropped.
    """

    def add(self, folder: str) -> None:
        """Watch a folder, given by its canonical path. Raises: WatchError."""
        ...

    def remove(self, folder: str) -> None:
        """Stop watching a folder; no effect if it is not watched."""
        ...

    def is_in_place(self, folder: str) -> bool:
        """Whether the watched folder is still the one at that path."""
        ...

    def max_folders(self) -> int:
        """How many folders may be watched at once, as the system is configured now."""
        ...

    def is_alive(self) -> bool:
        """Whether events still arrive at all."""
        ...

    def close(self) -> None: ...


class HistoryStore(Protocol):
    """Keeps the history of edits beyond the life of the process."""

    def load(self) -> Iterable[tuple[AppliedEdit, bytes | None]]:
        """Return the edits, oldest first, each with the content after it, zlib-compressed, if that was kept."""
        ...

    def append(self, edit: AppliedEdit, content: bytes | None) -> None:
        """Append an edit. Must not raise. Args: content: after the edit, not compressed."""
        ...

    def close(self) -> None: ...


class Clock(Protocol):
    def time_ns(self) -> int:
        """Wall clock, nanoseconds since the epoch."""
        ...


class DocumentSink(Protocol):
    """Takes what a client says of its open documents: on the event loop, in the order in which it was said."""

    def opened(self, uri: str, path: str, version: int, text: str) -> None:
        """The document at this absolute path is open with this text, also if it was open before."""
        ...

    def opened_unknown(self, uri: str, path: str, reason: str) -> None:
        """The document is open with a text that could not be decoded."""
        ...

    def changed(self, uri: str, version: int, changes: Sequence[DocumentChange]) -> bool:
        """The document's text changed. Returns False if no such document is open."""
        ...

    def doubted(self, uri: str | None, reason: str) -> None:
        """A message about this document could not be decoded; None: it may have been about any document."""
        ...

    def saved(self, uri: str) -> None: ...

    def closed(self, uri: str) -> None: ...

    @property
    def has_unclassified(self) -> bool:
        """Whether a document was opened or changed since `classify_pending` ran."""
        ...

    def classify_pending(self) -> None:
        """Compare what was opened or changed with its files. Called in a worker thread; may wait for the disk."""
        ...


class Editor(Protocol):
    """The other side of `workspace/applyEdit`."""

    @property
    def checks_version(self) -> bool:
        """Whether it refuses an edit that is made for another version than it shows."""
        ...

    def apply(
        self, edit: BufferEdit, *, is_current: Callable[[], bool], on_cancel: Callable[[Callable[[], None]], None]
    ) -> None:
        """Have the editor make an edit. Called in a worker thread.

        Args: is_current: whether the document is still the one that the edit is made for; called last, on the event
        loop. on_cancel: takes what withdraws the edit.
        Raises: ApplyRefused; Cancelled (withdrawn and not made); DocumentUnknown (withdrawn and perhaps made).
        """
        ...
