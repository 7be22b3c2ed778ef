"""A FileSystem in memory: for tests, and as the shortest statement of what the port requires.

Beyond the port it offers what other processes do: `put`, `delete`, `make_folder`, `link`, `chmod`; and `names` lists a
folder.
"""

import os
import stat
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from msgspec.structs import replace as with_changes

from fileops.core import splices as core_splices
from fileops.core.roots import folder_of
from fileops.fs.names import require_possible
from fileops.fs.os_errors import at_path
from fileops.fs.streams import BytesStream
from fileops.model.changes import FilePlan, Permissions
from fileops.model.edits import Splice
from fileops.model.errors import AlreadyExists, FileMissing, IoFailure, IsDirectory, NotAbsolute, PermissionRefused
from fileops.model.files import CommitReport, Committed, Snapshot, Stamp
from fileops.model.internal_errors import PathMoved, Stale
from fileops.platform.locks import LockTable
from fileops.ports import CommitHooks, SetHooks

_MAX_LINKS = 40
_DEV = 1


class MemoryFileSystem:
    """Files in memory. `clock_ns` is the wall clock; files' times never repeat, even if the clock does."""

    def __init__(self, clock_ns: Callable[[], int] = time.time_ns) -> None:
        self._clock_ns = clock_ns
        self._last_ns = 0
        self._last_ino = 1
        self._files: dict[str, tuple[bytes, Stamp]] = {}
        self._folders: set[str] = {"/"}
        self._links: dict[str, str] = {}
        self._locks = LockTable()
        self._guard = threading.RLock()

    # --- what other processes do ------------------------------------------------------------------------------

    def put(self, path: str, data: bytes) -> None:
        """Write in place, as some editors do: the inode stays. Missing folders are created."""
        with self._guard:
            self.make_folder(folder_of(path))
            present = self._files.get(path)
            self._files[path] = (data, self._new_stamp(data, present[1] if present else None))

    def delete(self, path: str) -> None:
        with self._guard:
            del self._files[path]

    def make_folder(self, path: str) -> None:
        with self._guard:
            while path not in self._folders:
                self._folders.add(path)
                path = folder_of(path)

    def link(self, path: str, target: str) -> None:
        with self._guard:
            self._links[path] = target

    def chmod(self, path: str, mode: int) -> None:
        with self._guard:
            data, stamp = self._files[path]
            stamp = with_changes(stamp, mode=stat.S_IFREG | mode, ctime_ns=self._now())
            self._files[path] = (data, stamp)

    def names(self, folder: str) -> list[str]:
        """Return the names directly in a folder, sorted."""
        with self._guard:
            places = {*self._files, *self._folders, *self._links} - {"/"}
            return sorted(place.rpartition("/")[2] for place in places if folder_of(place) == folder)

    # --- the port ---------------------------------------------------------------------------------------------

    def resolve(self, path: str) -> str:
        if not path.startswith("/"):
            raise NotAbsolute(path=path)
        require_possible(path)
        pending = path.split("/")[::-1]
        done, n_links = "", 0
        while pending:
            name = pending.pop()
            if name in {"", "."}:
                continue
            if name == "..":
                done = folder_of(done).rstrip("/")
                continue
            done = f"{done}/{name}"
            if done in self._links:
                n_links += 1
                if n_links > _MAX_LINKS:
                    raise IoFailure(reason="Too many levels of symbolic links")
                target = self._links[done]
                done = "" if target.startswith("/") else folder_of(done).rstrip("/")
                pending += target.split("/")[::-1]
        return done or "/"

    def stat(self, path: str) -> Stamp | None:
        with self._guard:
            self._require_file_or_nothing(path)
            present = self._files.get(path)
            return present[1] if present else None

    def open(self, path: str) -> BytesStream:
        snapshot = self.read(path)
        if snapshot.stamp is None:
            raise FileMissing
        return BytesStream(snapshot.data, snapshot.stamp, snapshot.taken_ns)

    def try_open_cached(self, path: str) -> BytesStream | None:
        return self.open(path) if path in self._files else None

    def read(self, path: str) -> Snapshot:
        with self._guard:
            self._require_file_or_nothing(path)
            data, stamp = self._files.get(path, (b"", None))
            if stamp is not None and not stamp.mode & 0o400:
                raise PermissionRefused(reason="Permission denied")
            return Snapshot(path=path, stamp=stamp, data=data, taken_ns=self._now())

    def replace(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        return self._commit(snapshot, hooks, lambda: self._write(snapshot, splices))

    def replace_set(
        self, set_id: str, files: Sequence[FilePlan], hooks: SetHooks, *, is_strict: bool = True
    ) -> tuple[Committed, ...]:
        del set_id, is_strict
        with self._guard:
            for file in files:
                with at_path(file.snapshot.path):
                    self._require_same(file.snapshot)
                    if file.new_path is not None and file.new_path in self._files:
                        raise AlreadyExists
            hooks.before()
            committed = tuple(map(self._write_planned, files))
            hooks.after(committed)
            return committed

    def _write_planned(self, file: FilePlan) -> Committed:
        snapshot, data = file.snapshot, core_splices.apply(file.snapshot.data, file.splices)
        if file.removes:
            return self._delete(snapshot.path)
        if file.new_path is None:
            return self._with_permissions(self._write(snapshot, file.splices), file.permissions)
        stamp = self._new_stamp(data, self._files.pop(snapshot.path)[1])
        self._files[file.new_path] = (data, stamp)
        renamed = Snapshot(path=file.new_path, stamp=stamp, data=data, taken_ns=self._now())
        committed = Committed(snapshot=renamed, report=CommitReport(method="rename", durability="not_synced"))
        return self._with_permissions(committed, file.permissions)

    def _with_permissions(self, committed: Committed, permissions: Permissions | None) -> Committed:
        snapshot, stamp = committed.snapshot, committed.snapshot.stamp
        if permissions is None or stamp is None:
            return committed
        mode = stat.S_IFREG | permissions.apply_to(stat.S_IMODE(stamp.mode))
        stamp = with_changes(stamp, mode=mode, ctime_ns=self._now())
        self._files[snapshot.path] = (snapshot.data, stamp)
        method = "swap" if committed.report.method == "none" else committed.report.method
        now = Snapshot(path=snapshot.path, stamp=stamp, data=snapshot.data, taken_ns=self._now())
        return Committed(snapshot=now, report=with_changes(committed.report, method=method))

    def remove(self, snapshot: Snapshot, hooks: CommitHooks) -> Committed:
        return self._commit(snapshot, hooks, lambda: self._delete(snapshot.path))

    def lock_path(self, path: str) -> AbstractContextManager[object]:
        return self._locks.of(path)

    def lock(self, path: str, *, waits: bool = True) -> AbstractContextManager[bool]:
        return self._locks.of(path, waits=waits)

    # --- helpers ----------------------------------------------------------------------------------------------

    def _commit(self, snapshot: Snapshot, hooks: CommitHooks, change: Callable[[], Committed]) -> Committed:
        """Compare before and after the hook, which may wait, and then change."""
        with self.lock(snapshot.path):
            with self._guard:
                self._require_same(snapshot)
            hooks.before()
            with self._guard:
                self._require_same(snapshot)
                committed = change()
            hooks.after(committed)
            return committed

    def _delete(self, path: str) -> Committed:
        del self._files[path]
        removed = Snapshot(path=path, stamp=None, data=b"", taken_ns=self._now())
        return Committed(snapshot=removed, report=CommitReport(method="delete", durability="not_synced"))

    def _write(self, snapshot: Snapshot, splices: Sequence[Splice]) -> Committed:
        path = snapshot.path
        data = core_splices.apply(snapshot.data, splices)
        present = self._files.get(path)
        if present is None:
            self.put(path, data)
            method = "create"
        elif data == snapshot.data:
            method = "none"
        else:
            stamp = self._new_stamp(data, present[1])
            self._last_ino += 1
            self._files[path] = (data, with_changes(stamp, ino=self._last_ino))
            method = "swap"
        now = Snapshot(path=path, stamp=self._files[path][1], data=data, taken_ns=self._now())
        return Committed(snapshot=now, report=CommitReport(method=method, durability="not_synced"))

    def _require_same(self, snapshot: Snapshot) -> None:
        self._require_file_or_nothing(snapshot.path)
        present = self._files.get(snapshot.path)
        if snapshot.stamp is None:
            if present is not None:
                raise AlreadyExists
            if any(folder in self._files for folder in _folders_above(snapshot.path)):
                raise IoFailure(reason="Not a directory")
        elif present is None or present[0] != snapshot.data:
            raise Stale(path=snapshot.path)
        elif not present[1].mode & 0o200:
            raise PermissionRefused(reason="Permission denied")

    def _require_file_or_nothing(self, path: str) -> None:
        if any(place in self._links for place in (path, *_folders_above(path))):
            raise PathMoved(path=path)
        if path in self._folders:
            raise IsDirectory

    def _new_stamp(self, data: bytes, before: Stamp | None) -> Stamp:
        now_ns = self._now()
        if before is not None:
            return with_changes(before, size_bytes=len(data), mtime_ns=now_ns, ctime_ns=now_ns)
        self._last_ino += 1
        return Stamp(
            dev=_DEV,
            ino=self._last_ino,
            size_bytes=len(data),
            mtime_ns=now_ns,
            ctime_ns=now_ns,
            mode=stat.S_IFREG | 0o644,
            uid=os.geteuid(),
            gid=os.getegid(),
            n_links=1,
        )

    def _now(self) -> int:
        self._last_ns = max(self._clock_ns(), self._last_ns + 1)
        return self._last_ns


def _folders_above(path: str) -> list[str]:
    folders: list[str] = []
    while path != "/":
        path = folder_of(path)
        folders.append(path)
    return folders
