"""Translates OSErrors to our failures, with advice for each error number."""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager

from fileops.model.errors import (
    DiskFull,
    FileMissing,
    FileOpsError,
    IoFailure,
    IsDirectory,
    NotRegularFile,
    PermissionRefused,
)
from fileops.model.internal_errors import PathMoved

_FULL = {errno.ENOSPC, errno.EDQUOT}
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS}
_MISSING = {errno.ENOENT, errno.ENOTDIR}
_MOVED = {errno.ELOOP, errno.EMLINK}  # O_NOFOLLOW met a link; FreeBSD returns EMLINK
_HINTS = {  # full sentences, appended to the system's reason
    errno.ENOSPC: "Free some space on the file's disk, then try again.",
    errno.EDQUOT: "Free some of this user's space, or raise the quota, then try again.",
    errno.EACCES: "Give this user permission to the file and its folder, or choose another place.",
    errno.EPERM: "The owner or a flag of the file or folder forbids it; change that, or choose another place.",
    errno.EROFS: "The filesystem is read-only; mount it writable, or choose another place.",
    errno.EINTR: "The call was interrupted; try again.",
    errno.ENOENT: "The folder was removed or renamed in the meantime; find out where it is, then try again.",
    errno.ESTALE: "The server of this filesystem forgot the file; try again.",
    errno.EIO: "The disk or its connection failed; check it before trying again.",
    errno.EMFILE: "Too many files are open in this process; try again later.",
    errno.ENFILE: "Too many files are open on this machine; try again later.",
    errno.EAGAIN: "Another process holds a lock on the file; try again.",
    errno.EFBIG: "The file would be larger than this filesystem or the process's limit allows.",
    errno.ENAMETOOLONG: "Use a shorter name.",
    errno.ETXTBSY: "The file is being executed; stop the program first.",
    errno.EBUSY: "The file is in use by the system; try again later.",
    errno.ENOTDIR: "A part of the path is a file; choose another folder.",
}


def translate(error: OSError, path: str, *, is_creating: bool = False) -> FileOpsError | PathMoved:
    """Return the failure for an OSError of an operation on `path`.

    is_creating: makes a missing folder or an overlong name an IoFailure instead of a missing file.
    """
    number = error.errno or 0
    reason = os.strerror(number) if number else str(error)
    if number in _MISSING and not is_creating:
        return FileMissing()
    if number == errno.ENAMETOOLONG and not is_creating:
        return FileMissing()
    if number in _REFUSED:
        return PermissionRefused(reason=reason, hint=_HINTS[number])
    if number in _FULL:
        return DiskFull(reason=reason, hint=_HINTS[number])
    if number == errno.EISDIR:
        return IsDirectory()
    if number in _MOVED:
        return PathMoved(path=path)
    if number in {errno.ENXIO, errno.ENODEV}:
        return NotRegularFile(kind="socket")
    return IoFailure(reason=reason, hint=_HINTS.get(number, ""))


@contextmanager
def translate_errors(path: str, *, is_creating: bool = False) -> Generator[None]:
    """Translate the OSErrors of the body, see `translate`."""
    try:
        yield
    except OSError as error:
        raise translate(error, path, is_creating=is_creating) from error


@contextmanager
def at_path(path: str) -> Generator[None]:
    """Translate the OSErrors of the body, which works on one of several files, and name that file in its failures."""
    try:
        with translate_errors(path):
            yield
    except FileOpsError as error:
        error.failed_path = error.failed_path or path
        raise
