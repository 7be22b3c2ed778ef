"""What the service needs of the world, as Protocols. Adapters live in `fs/` and `lsp/`.

A FileSystem is synchronous and is called from worker threads, `try_open_cached` apart. Every path given to it, but for
that one and `resolve`, is canonical: absolute, without a symlink in any component. It refuses to follow one
(`PathMoved`), so what was decided about a canonical path holds for what is opened. OSErrors are translated to
`FileOpsError`s inside it.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from fileops.model.approval import Correction, CorrectionRequest, Decision, Question
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
        """From the open handle, taken before the first byte was read."""
        ...

    @property
    def taken_ns(self) -> int: ...

    @property
    def source(self) -> Source: ...

    @property
    def version(self) -> int | None: ...

    def read(self, max_bytes: int) -> bytes:
        """Up to max_bytes, b"" only at the end."""
        ...

    def seek(self, offset_bytes: int) -> None: ...

    def __enter__(self) -> "ContentStream": ...

    def __exit__(self, *exc: object) -> None: ...


class CommitHooks(Protocol):
    """Called by `replace` inside the file's lock."""

    def prepare(self) -> None:
        """Before each step that others can see and that is taken back where no commit comes: a folder, a temp file.

        Never, once or often. Raise to give up unharmed.
        """
        ...

    def before(self) -> None:
        """After the compare, before the first step that cannot be taken back. Raise to give up unharmed."""
        ...

    def on_cancel(self, withdraw: Callable[[], None]) -> None:
        """After `before`, by a commit that somebody else makes: called, on any thread, when the caller gives up.

        What becomes of it is the commit's to say: it is made, or `replace` raises Cancelled and nothing happened.
        """
        ...

    def after(self, committed: Committed) -> None:
        """Directly after the commit. Must not raise."""
        ...


class FileSystem(Protocol):
    def resolve(self, path: str) -> str:
        """The canonical path: symlinks followed, `.` and `..` gone; also for a path that does not exist (yet).

        Raises: FileMissing (a name no file can have), IoFailure (more than 40 links).
        """
        ...

    def stat(self, path: str) -> Stamp | None:
        """None where nothing stands. Raises: IsDirectory, NotRegularFile, PermissionRefused, PathMoved."""
        ...

    def open(self, path: str) -> ContentStream:
        """Raises: FileMissing, IsDirectory, NotRegularFile, PermissionRefused, PathMoved."""
        ...

    def try_open_cached(self, path: str) -> ContentStream | None:
        """`open` for the event loop: without waiting for a disk, a lock or anybody. path: as it was given.

        Where a stream is given, the path is canonical and the content whole. None, and nothing has happened: whatever
        stands there, `resolve` and `open` it in a worker thread.
        """
        ...

    def read(self, path: str) -> Snapshot:
        """The whole content, from one handle; a missing file gives a snapshot with stamp None.

        Raises: IsDirectory, NotRegularFile, PermissionRefused, PathMoved.
        """
        ...

    def replace(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        """Compare-and-swap: put the splices in place if the file still is the one in the snapshot.

        A snapshot of a missing file creates it (with missing parents), exclusively. Whole or not at all, durable.
        Raises: Stale (it is another file or content now), AlreadyExists (creation lost), PathMoved, and the
        FileOpsErrors of writing; then nothing changed. Whatever `hooks.before` raises passes through unharmed.
        """
        ...

    def remove(self, snapshot: Snapshot, hooks: CommitHooks) -> Committed:
        """Compare-and-delete, for taking back a creation. Raises as `replace`."""
        ...

    def hold(self, path: str) -> AbstractContextManager[None]:
        """The file's lock within this process, as `replace` takes it. Reentrant in one thread."""
        ...


class Approver(Protocol):
    @property
    def can_ask(self) -> bool:
        """Whether there is a person to be asked at all."""
        ...

    async def decide(self, question: Question) -> Decision:
        """Ask the person. Cancelling the call withdraws the question."""
        ...


class Corrector(Protocol):
    @property
    def can_ask(self) -> bool:
        """Whether the client has said that it proposes corrections."""
        ...

    async def correct(self, request: CorrectionRequest) -> Correction | None:
        """Ask it; None for no proposal, or none in time. Cancelling the call withdraws the question."""
        ...


class Events(Protocol):
    def publish(self, event: Event) -> None:
        """From any thread; order of publication per thread is kept. Never raises, never blocks."""
        ...


class EditJournal(Protocol):
    """Where applied edits are kept so that they can be listed and undone."""

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
        """Called after each commit, by the worker thread that made it. Must not raise.

        timestamp: seconds. undoes: ids of the edits that this one undid.
        """
        ...


class Running(Protocol):
    """A shell command at work."""

    def wait(self, timeout_s: float, on_output: Callable[[bytes], None]) -> int | None:
        """Its exit code, once all of it has ended; None if it was killed after timeout_s.

        on_output: gets what it prints, stdout and stderr as they come, in the calling thread.
        """
        ...

    def kill(self) -> None:
        """End it and all that it started. From any thread, at any time; `wait` returns then."""
        ...


class Executor(Protocol):
    def start(self, command: str, cwd: str) -> Running:
        """Raises: CommandNotStarted."""
        ...


ExecutorChoice = Callable[[str], tuple[Executor, str]]  # working directory -> executor, the directory's name there


class CommandApprover(Protocol):
    @property
    def can_ask(self) -> bool: ...

    async def decide(self, request: CommandRequest, cwd: str) -> Decision:
        """Once, Always (this very command, in this session), Reject or TimedOut. cwd: where it will run."""
        ...


class DirectoryWatch(Protocol):
    """Watches folders, not recursively; tells of changes through the callbacks it was made with.

    on_hint(folder, name): something may have happened to folder/name. on_move(folder, name): another file may stand
    there, or none, where the system tells moves from writes. on_lost(folder): that folder is no longer watched;
    on_lost(None): events were dropped. All come from a thread of its own.
    """

    def add(self, folder: str) -> None:
        """Canonical path. Raises: WatchError."""
        ...

    def remove(self, folder: str) -> None:
        """Nothing happens where the folder is not watched."""
        ...

    def is_in_place(self, folder: str) -> bool:
        """Whether the watch is on the folder that stands at that path now."""
        ...

    def is_alive(self) -> bool:
        """Whether events still arrive at all."""
        ...

    def close(self) -> None: ...


class HistoryStore(Protocol):
    """Where the history of edits outlives the process."""

    def load(self) -> Iterable[tuple[AppliedEdit, bytes | None]]:
        """Oldest first, each with the content after it, zlib-compressed, where that was kept."""
        ...

    def append(self, edit: AppliedEdit, content: bytes | None) -> None:
        """content: after the edit, not compressed. Must not raise."""
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
        """Called in a worker thread.

        is_current: whether the editor has told of nothing newer than what the edit is made for; asked last of all.
        on_cancel: takes what withdraws the edit. Raises: ApplyRefused; Cancelled (withdrawn, and not made);
        DocumentUnknown (withdrawn, and perhaps made).
        """
        ...
