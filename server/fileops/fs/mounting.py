"""Which kind of filesystem a URL means. Chooses; opens and imports nothing."""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fileops.fs.anywhere import AnyBackend, folder_in
from fileops.fs.backends import Backend
from fileops.fs.remote import RemoteFileSystem
from fileops.fs.router import RouterFileSystem
from fileops.fs.sftp import SftpBackend
from fileops.ports import FileSystem

SSH_PROTOCOLS = ("sftp", "ssh")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """prefix: canonical path, not "/". options are not shown: passwords may be among them."""

    prefix: str
    url: str = field(repr=False)
    options: Mapping[str, object] = field(repr=False, default_factory=dict[str, object])


def missing_package(url: str) -> str | None:
    """What has to be installed before this URL can be used, as far as can be told without importing it."""
    needed = ("fsspec", "sshfs") if _protocol(url) in SSH_PROTOCOLS else ("fsspec",)
    return next((name for name in needed if importlib.util.find_spec(name) is None), None)


def mounted(disk: FileSystem, mounts: Sequence[Mount]) -> RouterFileSystem:
    remote = [RemoteFileSystem(one.prefix, folder_in(one.url), _backend(one)) for one in mounts]
    return RouterFileSystem(disk, remote)


def _backend(mount: Mount) -> Backend:
    kind = SftpBackend if _protocol(mount.url) in SSH_PROTOCOLS else AnyBackend
    return kind(mount.url, mount.options)


def _protocol(url: str) -> str:
    return url.partition("://")[0]
