"""Creates files and folders with the umask of the client that a thread works for.

A process has one umask, but a shared daemon creates files for clients with different ones. So a thread states its
client's umask while it commits, and what it creates then has the mode that the client's own process would have given
it. Threads of a private daemon state none: the process is the client's.
"""

import os
import stat
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

from fileops.platform import attributes, descriptors

_DEFAULT_ACL = "system.posix_acl_default"  # acl(5)


class _ThreadUmask(threading.local):
    umask: int | None = None  # None: that of the process


_here = _ThreadUmask()


@contextmanager
def of_client(umask: int | None) -> Generator[None]:
    """Create files in this thread with this umask; None: with that of the process."""
    before, _here.umask = _here.umask, umask
    try:
        yield
    finally:
        _here.umask = before


def create_file(name: str, flags: int, dir_fd: int) -> int:
    """Create a file that everyone may read and write except those whom the umask excludes; return it.

    Raises: OSError.
    """
    umask = _umask_in(dir_fd)
    if umask is None:
        return os.open(name, flags, 0o666, dir_fd=dir_fd)
    fd = os.open(name, flags, 0o666 & ~umask, dir_fd=dir_fd)
    try:
        _add_missing(fd, 0o666 & ~umask)
    except OSError:
        descriptors.close(fd)
        os.unlink(name, dir_fd=dir_fd)
        raise
    return fd


def make_folder(name: str, dir_fd: int) -> None:
    """Raises: OSError."""
    umask = _umask_in(dir_fd)
    if umask is None:
        os.mkdir(name, dir_fd=dir_fd)
        return
    mode = 0o777 & ~umask
    os.mkdir(name, mode, dir_fd=dir_fd)
    if mode & ~os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode:
        fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=dir_fd)
        try:
            _add_missing(fd, mode)
        finally:
            descriptors.close(fd)


def _umask_in(dir_fd: int) -> int | None:
    """Return the umask to apply in this folder; None: that of the process, or none because of a default ACL."""
    if _here.umask is None or sys.platform != "linux":
        return _here.umask
    try:
        attributes.get(dir_fd, _DEFAULT_ACL)
    except OSError:  # none, or it cannot be asked; then the umask is the stricter choice
        return _here.umask
    return None


def _add_missing(fd: int, mode: int) -> None:
    """Add the permissions that the umask of this process has removed. Raises: OSError."""
    has = stat.S_IMODE(os.fstat(fd).st_mode)
    if mode & ~has:
        with suppress(PermissionError):  # a filesystem without modes, such as FAT, has those of its mount
            os.fchmod(fd, has | mode)
