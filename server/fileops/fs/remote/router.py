"""One tree of paths over several filesystems: the disk, and what is mapped into it by prefix."""

import posixpath
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial

from fileops.concurrency import shares
from fileops.fs.remote.filesystem import RemoteFileSystem, mount_of
from fileops.model.edits import Splice
from fileops.model.errors import ConnectionFailed
from fileops.model.files import Committed, Snapshot, Stamp
from fileops.ports import CommitHooks, ContentStream, FileSystem

Files = Iterable[tuple[str, Stamp | None]]


class RouterFileSystem:
    """A FileSystem. mounts: with different prefixes; the longest that fits counts."""

    def __init__(self, disk: FileSystem, mounts: Sequence[RemoteFileSystem]) -> None:
        self._disk, self._mounts = disk, tuple(mounts)

    def is_remote(self, path: str) -> bool:
        """Of a canonical path."""
        return mount_of(path, self._mounts) is not None

    def ssh_host(self, path: str) -> tuple[list[str], str] | None:
        """The ssh command up to the host that a path is mapped from, and the path there; None where there is none."""
        mount = mount_of(path, self._mounts)
        return None if mount is None else mount.ssh_host(path)

    def resolve(self, path: str) -> str:
        normal = posixpath.normpath("/" + path.lstrip("/")) if path.startswith("/") else path
        mount = mount_of(normal, self._mounts)
        if mount is None:
            normal = self._disk.resolve(path)
            mount = mount_of(normal, self._mounts)
        return normal if mount is None else _waiting(mount).resolve(normal)

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

    def hold(self, path: str) -> AbstractContextManager[None]:
        return (mount_of(path, self._mounts) or self._disk).hold(path)

    def _at(self, path: str) -> FileSystem:
        mount = mount_of(path, self._mounts)
        return self._disk if mount is None else _waiting(mount)


def _waiting(mount: RemoteFileSystem) -> RemoteFileSystem:
    """The mount, where this thread may wait for it. Raises: NeedsShare, ConnectionFailed."""
    refusal = partial(ConnectionFailed, where=mount.label, reason="too many requests wait for it already")
    shares.require(shares.mapped(mount.prefix), refusal)
    return mount


def moved_with_poll(
    is_remote: Callable[[str], bool], on_disk: Callable[[Files], list[str]], watch_from_afar: Callable[[Files], None]
) -> Callable[[Files], list[str]]:
    """Which files moved: those on disk are looked at now, the others are left to the one who polls them."""

    def moved(files: Files) -> list[str]:
        near, far = list[tuple[str, Stamp | None]](), list[tuple[str, Stamp | None]]()
        for file in files:
            (far if is_remote(file[0]) else near).append(file)
        if far:
            watch_from_afar(far)
        return on_disk(near)

    return moved
