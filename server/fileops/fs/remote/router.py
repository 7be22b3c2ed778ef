"""A FileSystem that routes each path by its prefix to the disk or to a remote folder."""

import posixpath
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial

from fileops.concurrency import shares
from fileops.fs.remote.filesystem import RemoteFileSystem, mount_of
from fileops.fs.single_files import commit_with_singles
from fileops.model.changes import FilePlan
from fileops.model.edits import Splice
from fileops.model.errors import ConnectionFailed, SetUnsupported
from fileops.model.files import Committed, Snapshot, Stamp
from fileops.ports import CommitHooks, ContentStream, FileSystem, SetHooks

Files = Iterable[tuple[str, Stamp | None]]


class RouterFileSystem:
    """Routes paths over the disk and mounts with different prefixes. The longest matching prefix wins."""

    def __init__(self, disk: FileSystem, mounts: Sequence[RemoteFileSystem]) -> None:
        self._disk = disk
        self._mounts = tuple(mounts)

    def is_remote(self, path: str) -> bool:
        """Return whether a canonical path is on a remote host."""
        return mount_of(path, self._mounts) is not None

    def ssh_host(self, path: str) -> tuple[list[str], str] | None:
        """Return the ssh command up to the host of a path, and the path there; None for a local path."""
        mount = mount_of(path, self._mounts)
        return None if mount is None else mount.ssh_host(path)

    def resolve(self, path: str) -> str:
        normal = posixpath.normpath("/" + path.lstrip("/")) if path.startswith("/") else path
        mount = mount_of(normal, self._mounts)
        if mount is None:
            normal = self._disk.resolve(path)
            mount = mount_of(normal, self._mounts)
        return normal if mount is None else _require_share(mount).resolve(normal)

    def stat(self, path: str) -> Stamp | None:
        return self._at(path).stat(path)

    def open(self, path: str) -> ContentStream:
        return self._at(path).open(path)

    def try_open_cached(self, path: str) -> ContentStream | None:
        return self._at(path).try_open_cached(path)

    def read(self, path: str) -> Snapshot:
        return self._at(path).read(path)

    def replace(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        return self._at(snapshot.path).replace(snapshot, splices, hooks)

    def remove(self, snapshot: Snapshot, hooks: CommitHooks) -> Committed:
        return self._at(snapshot.path).remove(snapshot, hooks)

    def replace_set(
        self, set_id: str, files: Sequence[FilePlan], hooks: SetHooks, *, is_strict: bool = True
    ) -> tuple[Committed, ...]:
        paths = (path for file in files for path in (file.snapshot.path, file.new_path) if path)
        mapped = [path for path in paths if self.is_remote(path)]
        if not mapped:
            return self._disk.replace_set(set_id, files, hooks, is_strict=is_strict)
        if is_strict:
            raise SetUnsupported(reason=f"{mapped[0]} is on a mapped filesystem")

        def commit_set(files: Sequence[FilePlan], hooks: SetHooks) -> tuple[Committed, ...]:
            return self._disk.replace_set(set_id, files, hooks, is_strict=False)

        return commit_with_singles(self, set_id, files, mapped, commit_set, hooks)

    def lock_path(self, path: str) -> AbstractContextManager[object]:
        return (mount_of(path, self._mounts) or self._disk).lock_path(path)

    def lock(self, path: str, *, waits: bool = True) -> AbstractContextManager[bool]:
        return (mount_of(path, self._mounts) or self._disk).lock(path, waits=waits)

    def _at(self, path: str) -> FileSystem:
        mount = mount_of(path, self._mounts)
        return self._disk if mount is None else _require_share(mount)


def _require_share(mount: RemoteFileSystem) -> RemoteFileSystem:
    """Return the mount if this thread may wait for it. Raises: NeedsShare, ConnectionFailed."""
    refusal = partial(ConnectionFailed, where=mount.label, reason="too many requests are already waiting for it")
    shares.require(shares.of_mount(mount.prefix), refusal)
    return mount


def scan_with_poll(
    is_remote: Callable[[str], bool], scan_disk: Callable[[Files], list[str]], poll: Callable[[Files], None]
) -> Callable[[Files], list[str]]:
    """Return a scan for changed files that checks files on the disk now and leaves remote ones to the poller."""

    def find_changed_paths(files: Files) -> list[str]:
        local, remote = list[tuple[str, Stamp | None]](), list[tuple[str, Stamp | None]]()
        for file in files:
            (remote if is_remote(file[0]) else local).append(file)
        if remote:
            poll(remote)
        return scan_disk(local)

    return find_changed_paths
