"""Ports to files: FileSystem with its streams and commits, rule files, and the watch of folders.

A FileSystem is synchronous. Everything except `try_open_cached` is called in worker threads. Paths, except those given
to `try_open_cached` and `resolve`, are canonical: absolute, without a symlink in any component. A FileSystem follows no
symlink (`PathMoved`), so a decision about a canonical path holds for the file that is opened. It translates OSErrors to
`FileOpsError`s.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from fileops.model.changes import FilePlan
from fileops.model.edits import Splice
from fileops.model.files import Committed, FolderEvents, Snapshot, Source, Stamp

CommitT_contra = TypeVar("CommitT_contra", contravariant=True)


class ContentStream(Protocol):
    """An open file, read from start to end. Use it as a context manager."""

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
        """The encoding that a client has named for the file, whose text is then read as UTF-8; otherwise None."""
        ...

    @property
    def is_unsaved(self) -> bool:
        """Whether the content is in an open document only, and the file has another."""
        ...

    def read(self, max_bytes: int) -> bytes:
        """Read up to max_bytes; return b"" only at the end."""
        ...

    def seek(self, offset_bytes: int) -> None: ...

    def __enter__(self) -> "ContentStream": ...

    def __exit__(self, *exc: object) -> None: ...


class Hooks(Protocol[CommitT_contra]):
    """Called by `replace` and `replace_set` inside the locks of their files."""

    def prepare(self) -> None:
        """Called before each visible step that is undone if the commit fails: creating a folder or a temp file.

        It may be called any number of times. An exception ends the commit without effect.
        """
        ...

    def before(self) -> None:
        """Called after the compare, before the first step that cannot be undone. An exception ends the commit."""
        ...

    def on_cancel(self, withdraw: Callable[[], None]) -> None:
        """Take what withdraws a commit that the editor makes. Called after `before`.

        `withdraw` is called, on any thread, when the request is cancelled. The commit then decides: it is made, or
        `replace` raises Cancelled and nothing has happened.
        """
        ...

    def after(self, committed: CommitT_contra, /) -> None:
        """Called once, immediately after the commit, with its outcome. Must not raise."""
        ...


CommitHooks = Hooks[Committed]
SetHooks = Hooks[tuple[Committed, ...]]  # inside the locks of all files


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

        The snapshot of a missing file creates it and its parents, exclusively. The change is atomic and durable.
        Raises: Stale (another file or content), AlreadyExists (for a creation), PathMoved, the FileOpsErrors of
        writing, and what `hooks.before` raises. After an exception nothing has changed.
        """
        ...

    def remove(self, snapshot: Snapshot, hooks: CommitHooks) -> Committed:
        """Compare-and-delete, to undo a creation. Raises: as `replace`."""
        ...

    def replace_set(
        self, set_id: str, files: Sequence[FilePlan], hooks: SetHooks, *, is_strict: bool = True
    ) -> tuple[Committed, ...]:
        """Compare-and-swap of several files: all of them, or none, even if this process dies in between.

        is_strict: files that cannot be changed together (hard links, mapped files) are refused. Otherwise they are
        written beside the set, and restored if it fails, but not if this process dies in between.

        The outcome of a rename has the new path, that of a removal no stamp. Raises: as `replace`, SetUnsupported (the
        files cannot be changed together), and SetConflict, the only exception after which something has changed. A
        failure of one file names it in `failed_path`.
        """
        ...

    def lock_path(self, path: str) -> AbstractContextManager[object]:
        """Lock a path within this process, but no inode. Reentrant in one thread.

        Several paths are locked in their order as strings, before `replace_set` locks their files.
        """
        ...

    def lock(self, path: str, *, waits: bool = True) -> AbstractContextManager[bool]:
        """Lock the file within this process, as `replace` does. Reentrant in one thread.

        The context's value says whether the file is locked. With `waits` it is always True; without, it is False if
        another thread holds the lock, which may be waiting for an editor or a remote host.
        """
        ...


class RuleFiles(Protocol):
    """Finds the rule files of folders, all with the same name, and the other names of a file."""

    def above(self, folder: str, *, waits: bool = True) -> tuple[str, ...] | None:
        """Return the paths of the rule files in a canonical folder and all folders above it, links included.

        Without `waits`, on the event loop: None if a disk or a host might have to be waited for.
        """
        ...

    def keeps(self, path: str, since_ns: int) -> bool:
        """Return whether what was read of a rule file at this time (wall clock) is valid without another check."""
        ...

    def names_of(self, stamp: Stamp, folder: str) -> Iterator[str]:
        """Yield the names of a file below a folder, as far as they can be found with limited work."""
        ...


class DirectoryWatch(Protocol):
    """Watches folders, not recursively, and reports changes to callbacks, in the watch's thread.

    on_hint(folder, name): folder/name may have changed. on_rename(folder, name): it may be another file, or gone, if
    the system distinguishes renames from writes. on_lost(folder): the folder is no longer watched; on_lost(None):
    events were dropped.
    """

    def add(self, folder: str) -> None:
        """Watch a folder, given by its canonical path. Raises: WatchError."""
        ...

    def remove(self, folder: str) -> None:
        """Stop watching a folder; no effect if it is not watched."""
        ...

    def is_in_place(self, folder: str) -> bool:
        """Return whether the watched folder is still the one at that path."""
        ...

    def max_folders(self) -> int:
        """Return how many folders may be watched at once, as the system is configured now."""
        ...

    def is_alive(self) -> bool:
        """Return whether events still arrive at all."""
        ...

    def close(self) -> None: ...


class EventStream(Protocol):
    """Watches folders, not recursively, and keeps what happened in them until it is read. One thread reads."""

    @property
    def has_barrier(self) -> bool:
        """Whether `read` returns everything that was written before it was called. If not, events come late."""
        ...

    def add(self, folder: str) -> None:
        """Watch a folder, unless it is already watched and still the same. Raises: WatchError."""
        ...

    def remove_below(self, folder: str) -> None:
        """Stop watching the folder and everything in it."""
        ...

    def is_in_place(self, folder: str) -> bool:
        """Return whether the folder is watched and the watched one is still at its path."""
        ...

    def read(self) -> FolderEvents: ...

    def is_alive(self) -> bool:
        """Return whether events still arrive at all."""
        ...

    def close(self) -> None: ...
