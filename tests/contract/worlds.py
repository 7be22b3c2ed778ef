"""Where the contract suite runs: a FileSystem, and an outside hand that can do to its files what users do.

To put another FileSystem under the suite, write a FileSystemWorld and add it to WORLDS.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

from fileops.core.uris import uri_of
from fileops.fs.encoded.filesystem import EncodedFileSystem
from fileops.fs.local import nofollow
from fileops.fs.local.filesystem import LocalFileSystem
from fileops.fs.memory import MemoryFileSystem
from fileops.fs.remote.filesystem import RemoteFileSystem
from fileops.fs.remote.fsspec_backend import FsspecBackend
from fileops.fs.remote.router import RouterFileSystem
from fileops.fs.remote.sftp import SftpBackend
from fileops.model.files import Source
from fileops.model.settings import EncodingRule
from fileops.ports import FileSystem
from support.fake_editor import FakeEditor
from support.sshd import Sshd

EBCDIC = "cp037"


class FileSystemWorld(Protocol):
    fs: FileSystem
    folder: str  # canonical, exists, empty
    source: Source  # what a file counts as that was put there

    def put(self, path: str, data: bytes) -> None:
        """Write as an outsider, in place; missing folders are made."""
        ...

    def get(self, path: str) -> bytes | None: ...

    def delete(self, path: str) -> None: ...

    def make_folder(self, path: str) -> None: ...

    def link(self, path: str, target: str) -> None:
        """A symlink at `path`."""
        ...

    def touch(self, path: str) -> None:
        """A new mtime, the same bytes."""
        ...

    def names(self, folder: str) -> list[str]: ...


class DiskWorld:
    source: Source = "disk"

    def __init__(self, root: Path, opener: nofollow.Opener) -> None:
        self.folder = os.path.realpath(root)
        self.fs: FileSystem = LocalFileSystem(opener=opener, state_folder=str(root / ".state"))

    def put(self, path: str, data: bytes) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(path).write_bytes(data)

    def get(self, path: str) -> bytes | None:
        return Path(path).read_bytes() if os.path.exists(path) else None

    def delete(self, path: str) -> None:
        os.unlink(path)

    def make_folder(self, path: str) -> None:
        os.makedirs(path)

    def link(self, path: str, target: str) -> None:
        os.symlink(target, path)

    def touch(self, path: str) -> None:
        os.utime(path, ns=(1, 1))

    def names(self, folder: str) -> list[str]:
        return sorted(os.listdir(folder))


class EncodedWorld(DiskWorld):
    """Files in EBCDIC, in which every byte is another one than in UTF-8."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, nofollow.best_opener())
        self.fs: FileSystem = EncodedFileSystem(self.fs, [EncodingRule(glob="**", encoding=EBCDIC)])

    def put(self, path: str, data: bytes) -> None:
        super().put(path, data if b"\0" in data else data.decode().encode(EBCDIC))

    def get(self, path: str) -> bytes | None:
        data = super().get(path)
        return data if data is None or b"\0" in data else data.decode(EBCDIC).encode()


class MemoryWorld:
    source: Source = "disk"

    def __init__(self) -> None:
        self._memory = MemoryFileSystem()
        self.fs: FileSystem = self._memory
        self.folder = "/world"
        self.put = self._memory.put
        self.delete = self._memory.delete
        self.make_folder = self._memory.make_folder
        self.link = self._memory.link
        self.names = self._memory.names
        self._memory.make_folder(self.folder)

    def get(self, path: str) -> bytes | None:
        snapshot = self.fs.read(path)
        return snapshot.data if snapshot.exists else None

    def touch(self, path: str) -> None:
        self.put(path, self.fs.read(path).data)


class UnopenedWorld(MemoryWorld):
    """Below an editor in which only other files are open."""

    def __init__(self) -> None:
        super().__init__()
        editor = FakeEditor(self._memory, self._memory.put)
        editor.open("/elsewhere/unsaved", "text")
        self.fs: FileSystem = editor.buffers


class OpenedWorld(MemoryWorld):
    """Below an editor that has every file open and reloads it when an outsider writes it."""

    source: Source = "buffer"

    def __init__(self) -> None:
        super().__init__()
        self._editor = FakeEditor(self._memory, self._memory.put)
        self.fs: FileSystem = self._editor.buffers
        self.put = self._put

    def _put(self, path: str, data: bytes) -> None:
        self._memory.put(path, data)
        uri = uri_of(path)
        if uri in self._editor.documents:
            self._editor.reload(uri)
        else:
            self._editor.open(path)


class AnywhereWorld:
    """fsspec's memory filesystem, mapped into a local tree."""

    source: Source = "disk"

    def __init__(self, root: Path) -> None:
        fsspec: Any = pytest.importorskip("fsspec")
        self._far: Any = fsspec.filesystem("memory")
        self._base = f"/{root.name}-{id(self)}"
        self._far.makedirs(self._base)
        self.folder = "/far"
        mount = RemoteFileSystem(self.folder, self._base, FsspecBackend(f"memory://{self._base}", {}))
        self.fs: FileSystem = RouterFileSystem(MemoryFileSystem(), [mount])

    def _there(self, path: str) -> str:
        return self._base + path.removeprefix(self.folder)

    def put(self, path: str, data: bytes) -> None:
        self._far.pipe_file(self._there(path), data)

    def get(self, path: str) -> bytes | None:
        try:
            return self._far.cat_file(self._there(path))
        except FileNotFoundError:
            return None

    def delete(self, path: str) -> None:
        self._far.rm_file(self._there(path))

    def make_folder(self, path: str) -> None:
        self._far.makedirs(self._there(path))

    def link(self, path: str, target: str) -> None:
        pytest.skip("fsspec's memory filesystem has no links")

    def touch(self, path: str) -> None:
        self.put(path, self.get(path) or b"")

    def names(self, folder: str) -> list[str]:
        try:
            return sorted(one.rpartition("/")[2] for one in self._far.ls(self._there(folder), detail=False))
        except FileNotFoundError:
            return []


class SftpWorld(DiskWorld):
    """A folder behind an SSH server of this machine, mapped into a local tree."""

    def __init__(self, root: Path, sshd: Sshd) -> None:
        self._base = os.path.realpath(root)
        self.folder = "/far"
        mount = RemoteFileSystem(self.folder, self._base, SftpBackend(sshd.url(self._base), sshd.options))
        self.fs: FileSystem = RouterFileSystem(MemoryFileSystem(), [mount])
        assert self.fs.stat(f"{self.folder}/nothing") is None  # it is reached now

    def _there(self, path: str) -> str:
        return self._base + path[len(self.folder) :] if path.startswith(self.folder) else path

    def put(self, path: str, data: bytes) -> None:
        super().put(self._there(path), data)

    def get(self, path: str) -> bytes | None:
        return super().get(self._there(path))

    def delete(self, path: str) -> None:
        super().delete(self._there(path))

    def make_folder(self, path: str) -> None:
        super().make_folder(self._there(path))

    def link(self, path: str, target: str) -> None:
        super().link(self._there(path), self._there(target))

    def touch(self, path: str) -> None:
        super().touch(self._there(path))

    def names(self, folder: str) -> list[str]:
        return super().names(self._there(folder))


SSH_WORLDS: dict[str, Callable[[Path, Sshd], FileSystemWorld]] = {"sftp": SftpWorld}
WORLDS: dict[str, Callable[[Path], FileSystemWorld]] = {
    "local-openat2": lambda root: DiskWorld(root, nofollow.best_opener()),
    "local-walk": lambda root: DiskWorld(root, nofollow.OPENERS["walk"]),
    "local-compare": lambda root: DiskWorld(root, nofollow.OPENERS["compare"]),
    "encoded": EncodedWorld,
    "memory": lambda root: MemoryWorld(),
    "fsspec-memory": AnywhereWorld,
    "buffers-unopened": lambda root: UnopenedWorld(),
    "buffers-opened": lambda root: OpenedWorld(),
}
