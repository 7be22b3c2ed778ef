"""Chooses the backend for a URL, and checks that it is available. Opens nothing and loads no filesystem."""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fileops.fs.remote.backend import Backend
from fileops.fs.remote.filesystem import RemoteFileSystem
from fileops.fs.remote.fsspec_backend import FsspecBackend
from fileops.fs.remote.paths import folder_in, label_of
from fileops.fs.remote.router import RouterFileSystem
from fileops.fs.remote.sftp import SftpBackend
from fileops.ports import FileSystem

SSH_PROTOCOLS = ("sftp", "ssh")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A remote folder and the canonical path to it, not "/". `repr` hides the options, which may hold passwords."""

    prefix: str
    url: str = field(repr=False)
    options: Mapping[str, object] = field(repr=False, default_factory=dict[str, object])


def find_unsupported_reason(url: str) -> str | None:
    """Return why this URL cannot be used, without loading its filesystem; None if no reason is found."""
    is_ssh = _protocol(url) in SSH_PROTOCOLS
    package = "asyncssh" if is_ssh else "fsspec"
    if importlib.util.find_spec(package) is None:
        return f"needs the package {package}, the extra [remote] of fileops-server"
    if is_ssh:
        return "must name a host" if label_of(url).endswith("://") else None
    return _why_unknown(_protocol(url))


def _why_unknown(protocol: str) -> str | None:
    from fsspec.registry import known_implementations, registry

    if protocol in registry:
        return None
    known = known_implementations.get(protocol)
    if known is None:
        return f"unknown filesystem protocol: {protocol}"
    package = known["class"].partition(".")[0]
    if importlib.util.find_spec(package) is None:
        return f"needs the package {package}"
    return None


def mount_all(disk: FileSystem, mounts: Sequence[Mount]) -> RouterFileSystem:
    remote = [RemoteFileSystem(mount.prefix, folder_in(mount.url), _backend(mount)) for mount in mounts]
    return RouterFileSystem(disk, remote)


def _backend(mount: Mount) -> Backend:
    kind = SftpBackend if _protocol(mount.url) in SSH_PROTOCOLS else FsspecBackend
    return kind(mount.url, mount.options)


def _protocol(url: str) -> str:
    return url.partition("://")[0]
