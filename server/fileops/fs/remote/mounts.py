"""Which kind of filesystem a URL means, and whether there is one. Chooses; opens nothing and loads no filesystem."""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fileops.fs.remote.backend import Backend
from fileops.fs.remote.filesystem import RemoteFileSystem
from fileops.fs.remote.fsspec_backend import FsspecBackend, folder_in, label_of
from fileops.fs.remote.router import RouterFileSystem
from fileops.fs.remote.sftp_backend import SftpBackend
from fileops.ports import FileSystem

SSH_PROTOCOLS = ("sftp", "ssh")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """prefix: canonical path, not "/". options are not shown: passwords may be among them."""

    prefix: str
    url: str = field(repr=False)
    options: Mapping[str, object] = field(repr=False, default_factory=dict[str, object])


def unsupported_reason(url: str) -> str | None:
    """Why this URL cannot be used, as far as can be told without loading its filesystem."""
    is_ssh = _protocol(url) in SSH_PROTOCOLS
    for package in ("fsspec", "sshfs") if is_ssh else ("fsspec",):
        if importlib.util.find_spec(package) is None:
            return f"needs the package {package}: pip install 'fileops-server[remote]'"
    if is_ssh:
        return "must name a host" if label_of(url).endswith("://") else None
    return _why_unknown(_protocol(url))


def _why_unknown(protocol: str) -> str | None:
    from fsspec.registry import known_implementations, registry

    if protocol in registry:
        return None
    known = known_implementations.get(protocol)
    if known is None:
        return f"must be of a filesystem that fsspec knows; {protocol} is none"
    package = known["class"].partition(".")[0]
    if importlib.util.find_spec(package) is None:
        return f"needs the package {package}"
    return None


def mounted(disk: FileSystem, mounts: Sequence[Mount]) -> RouterFileSystem:
    remote = [RemoteFileSystem(one.prefix, folder_in(one.url), _backend(one)) for one in mounts]
    return RouterFileSystem(disk, remote)


def _backend(mount: Mount) -> Backend:
    kind = SftpBackend if _protocol(mount.url) in SSH_PROTOCOLS else FsspecBackend
    return kind(mount.url, mount.options)


def _protocol(url: str) -> str:
    return url.partition("://")[0]
