"""FileSystem of a remote folder under a local path prefix (see ports/files.py).

Remote stamps prove little: another clock, whole seconds, no inode. So each is recorded as taken at its own mtime. This
makes it racy for ever, so the content decides. Compare and rename are two steps, between which another client may
write; docs/guide/remote.md describes this.

SFTP opens by name and follows links. So the path is checked before and after a file is opened, and once more before a
rename (see `PathCheck`).
"""

import errno
import os
import posixpath
import zlib
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from stat import S_IFREG

from fileops.core import splices as core_splices
from fileops.fs.names import require_possible
from fileops.fs.os_errors import translate_errors
from fileops.fs.remote.backend import MAX_REMOVALS, Backend, RemoteEntry, RemoteReader, StagedContent
from fileops.fs.remote.paths import PathCheck, RemotePaths
from fileops.model.changes import FilePlan
from fileops.model.edits import Splice
from fileops.model.errors import (
    AlreadyExists,
    ConnectionFailed,
    FileMissing,
    FileOpsError,
    NotAbsolute,
    OutsideRoots,
    SetUnsupported,
)
from fileops.model.files import CommitReport, Committed, Snapshot, Source, Stamp
from fileops.model.internal_errors import PathMoved, Stale
from fileops.platform.locks import LockTable
from fileops.ports import CommitHooks, SetHooks

_MAX_LINKS = 40


class RemoteFileSystem:
    """A remote folder. `prefix` is its canonical local path, not "/"; `base` is its absolute path on the host."""

    def __init__(self, prefix: str, base: str, backend: Backend) -> None:
        self.prefix = prefix
        self._paths = paths = RemotePaths(prefix, base)
        self._backend = backend
        self._check = PathCheck(paths, backend)
        self._dev = zlib.crc32(f"{backend.label} {paths.base}".encode("utf-8", "surrogateescape"))
        self._locks = LockTable()

    @property
    def label(self) -> str:
        """Protocol and host, without secrets."""
        return self._backend.label

    def ssh_host(self, path: str) -> tuple[list[str], str] | None:
        """Return the ssh command up to the host, and the path there; None if commands cannot be run there."""
        command = self._backend.ssh_command()
        return None if command is None else (command, self._paths.far(path))

    # --- paths ------------------------------------------------------------------------------------------------

    def resolve(self, path: str) -> str:
        """Return the canonical path. `..` is applied before links; before the first connection no links are known."""
        if not path.startswith("/"):
            raise NotAbsolute(path=path)
        require_possible(path)
        far = self._paths.far(posixpath.normpath("/" + path.lstrip("/")))
        if not self._backend.was_reached:
            return self._paths.near(far)
        n_links = 0
        with translate_errors(path):
            while True:
                steps = self._paths.steps(far)
                entries = self._backend.stat_many(steps)
                link = next(
                    (at for at, entry in zip(steps, entries, strict=True) if entry and entry.kind == "link"), None
                )
                if link is None:
                    return self._paths.near(far)
                n_links += 1
                if n_links > _MAX_LINKS:
                    raise OSError(errno.EIO, os.strerror(errno.ELOOP))
                target = posixpath.join(posixpath.dirname(link), self._backend.link_target(link))
                far = posixpath.normpath(target + far[len(link) :])
                if not self._paths.has(far):
                    raise OutsideRoots(path=path)

    # --- reading ----------------------------------------------------------------------------------------------

    def stat(self, path: str) -> Stamp | None:
        with translate_errors(path):
            entry = self._check.entry(path)
        return None if entry is None else self._stamp(entry)

    def open(self, path: str) -> "RemoteStream":
        with translate_errors(path):
            before = self._check.entry_before_opening(path)
            if before is None:
                raise FileMissing
            reader = self._backend.open(self._paths.far(path))
            stream = RemoteStream(path, reader, self._stamp(reader.entry))
            try:
                self._check.require_in_place(self._paths.far(path), reader.entry, before)
            except BaseException:
                stream.close()
                raise
            return stream

    def try_open_cached(self, path: str) -> None:
        """Return None: reading from another machine always waits."""

    def read(self, path: str) -> Snapshot:
        with translate_errors(path):
            entry = self._check.entry_before_opening(path)
            if entry is None:
                return Snapshot(path=path, stamp=None, data=b"", taken_ns=0)
            stamp = self._stamp(entry)
            return Snapshot(path=path, stamp=stamp, data=self._content(path, entry), taken_ns=stamp.mtime_ns)

    def _content(self, path: str, before: RemoteEntry) -> bytes:
        """Read the whole content. Raises: FileNotFoundError, PathMoved."""
        data, opened = self._backend.read(self._paths.far(path))
        self._check.require_in_place(self._paths.far(path), opened, before)
        return data

    def _stamp(self, entry: RemoteEntry) -> Stamp:
        return Stamp(
            dev=self._dev,
            ino=0,
            size_bytes=entry.size_bytes,
            mtime_ns=entry.mtime_ns,
            ctime_ns=entry.etag or entry.mtime_ns,
            mode=entry.mode or S_IFREG | 0o644,
            uid=entry.uid,
            gid=entry.gid,
            n_links=1,
        )

    # --- writing ----------------------------------------------------------------------------------------------

    def replace(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        path = snapshot.path
        data = core_splices.apply(snapshot.data, splices)
        with self.lock(path):
            if snapshot.stamp is None:
                return self._create(path, data, hooks)
            with translate_errors(path):
                entry = self._require_same(snapshot)
            if data == snapshot.data:
                hooks.before()
                return _finish(
                    self._to_committed(path, data, entry, CommitReport(method="none", durability="synced")), hooks
                )
            hooks.prepare()
            with ExitStack() as held:
                with translate_errors(path):
                    staged = held.enter_context(self._stage(path, data, entry))
                hooks.before()
                with translate_errors(path):
                    self._require_same(snapshot)
                    with self._translate_missing(path):
                        report = staged.publish()
            return _finish(self._to_committed(path, data, self._stat_written(path, len(data)), report), hooks)

    def replace_set(
        self, set_id: str, files: Sequence[FilePlan], hooks: SetHooks, *, is_strict: bool = True
    ) -> tuple[Committed, ...]:
        del set_id, hooks, is_strict
        raise SetUnsupported(reason=f"{files[0].snapshot.path} is on a mapped filesystem")

    def remove(self, snapshot: Snapshot, hooks: CommitHooks) -> Committed:
        path = snapshot.path
        with self.lock(path):
            with translate_errors(path):
                self._require_same(snapshot)
            hooks.before()
            with translate_errors(path):
                self._require_same(snapshot)
                self._backend.remove(self._paths.far(path))
            gone = Snapshot(path=path, stamp=None, data=b"", taken_ns=0)
            report = CommitReport(method="delete", durability="not_synced")
            return _finish(Committed(snapshot=gone, report=report), hooks)

    def lock_path(self, path: str) -> AbstractContextManager[object]:
        return self._locks.of(path)

    def lock(self, path: str, *, waits: bool = True) -> AbstractContextManager[bool]:
        return self._locks.of(path, waits=waits)

    def _stage(self, path: str, data: bytes, like: RemoteEntry | None) -> AbstractContextManager[StagedContent]:
        target = self._paths.far(path)

        def require_in_place(far: str, opened: RemoteEntry) -> None:
            self._check.require_in_place(far, opened, like if like is not None and far == target else opened)

        return self._backend.stage(target, data, like, require_in_place)

    def _require_same(self, snapshot: Snapshot) -> RemoteEntry:
        """Return the entry if the file has the snapshot's content. Checks for links last. Raises: Stale, PathMoved."""
        entry = self._check.entry_before_opening(snapshot.path)
        if entry is None or entry.size_bytes != len(snapshot.data):
            raise Stale(path=snapshot.path)
        try:
            current = self._content(snapshot.path, entry)
        except FileNotFoundError as error:
            raise Stale(path=snapshot.path) from error
        if current != snapshot.data:
            raise Stale(path=snapshot.path)
        return entry

    def _create(self, path: str, data: bytes, hooks: CommitHooks) -> Committed:
        with ExitStack() as undo:
            with translate_errors(path, is_creating=True):
                if self._check.entry(path) is not None:
                    raise AlreadyExists
                hooks.prepare()
                _make_folders(self._backend, self._paths.steps(self._paths.far(path))[:-1], path, undo)
                with self._translate_missing(path):
                    staged = undo.enter_context(self._stage(path, data, None))
            hooks.before()
            with translate_errors(path, is_creating=True), self._translate_missing(path):
                if self._backend.has_links and self._check.entry(path) is not None:
                    raise AlreadyExists
                try:
                    report = staged.publish()
                except FileExistsError as error:
                    raise AlreadyExists from error
            undo.pop_all()
        return _finish(self._to_committed(path, data, self._stat_written(path, len(data)), report), hooks)

    @contextmanager
    def _translate_missing(self, path: str) -> Generator[None]:
        """Translate a missing temp file to PathMoved: its folder was moved."""
        try:
            yield
        except FileNotFoundError as error:
            if not self._backend.has_links or len(self._paths.steps(self._paths.far(path))) == 1:
                raise  # the mapped folder itself is missing
            raise PathMoved(path=path) from error

    def _stat_written(self, path: str, size_bytes: int) -> RemoteEntry:
        """Return the entry after a commit, or a substitute if it cannot be read, since the commit has been made."""
        with suppress(OSError, FileOpsError, PathMoved):
            if (entry := self._check.entry(path)) is not None:
                return entry
        return RemoteEntry(kind="file", size_bytes=size_bytes)

    def _to_committed(self, path: str, data: bytes, entry: RemoteEntry, report: CommitReport) -> Committed:
        stamp = self._stamp(entry)
        return Committed(snapshot=Snapshot(path=path, stamp=stamp, data=data, taken_ns=stamp.mtime_ns), report=report)


class RemoteStream:
    """See ports.ContentStream."""

    source: Source = "disk"
    version: int | None = None
    encoding: str | None = None
    is_unsaved: bool = False

    def __init__(self, path: str, reader: RemoteReader, stamp: Stamp) -> None:
        self._path = path
        self._reader = reader
        self.stamp = stamp
        self.taken_ns = stamp.mtime_ns

    def read(self, max_bytes: int) -> bytes:
        with translate_errors(self._path):
            return self._reader.read(max_bytes)

    def seek(self, offset_bytes: int) -> None:
        self._reader.seek(offset_bytes)

    def __enter__(self) -> "RemoteStream":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        with suppress(OSError, ConnectionFailed):  # nothing was written
            self._reader.close()


def mount_of(path: str, mounts: Sequence[RemoteFileSystem]) -> RemoteFileSystem | None:
    """Return the mount with the longest prefix of a canonical path, None if there is none."""
    fits = [mount for mount in mounts if path == mount.prefix or path.startswith(mount.prefix + "/")]
    return max(fits, key=lambda mount: len(mount.prefix), default=None)


def _finish(committed: Committed, hooks: CommitHooks) -> Committed:
    hooks.after(committed)
    return committed


# --- the folders of a new file ----------------------------------------------------------------------------------


def _make_folders(backend: Backend, folders: Sequence[str], path: str, undo: ExitStack) -> None:
    """Create the missing folders. `folders` are remote paths, topmost first; `undo` removes those that are still empty.

    Raises: PathMoved, if one of them is a link; OSError.
    """
    for folder, entry in zip(folders, backend.stat_many(folders), strict=True):
        if entry is not None and entry.kind == "link":
            raise PathMoved(path=path)
        if entry is not None and entry.kind != "folder":
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if entry is None:
            with suppress(FileExistsError):
                backend.make_folder(folder)
                undo.callback(_try_to_remove, backend, folder)


def _try_to_remove(backend: Backend, folder: str) -> None:
    """Remove a folder that we created. If it is missing, a folder above it was moved and may return."""
    for _ in range(MAX_REMOVALS if backend.has_links else 1):
        try:
            return backend.remove_folder(folder)
        except FileNotFoundError:
            continue
        except (OSError, ConnectionFailed):
            return None
    return None
