"""Scans files with lstat, and identifies directories: the cheap check for the sweep."""

import errno
import os
import stat
from collections.abc import Iterable

from fileops.model.files import Stamp
from fileops.model.internal_errors import WatchError

Identity = tuple[int, int]  # device and inode


def find_changed_paths(files: Iterable[tuple[str, Stamp | None]]) -> list[str]:
    """Return the canonical paths whose file no longer has that stamp (None: no file existed).

    It costs one lstat each. It misses changes below a directory that became a symlink, and a file that is not regular
    counts as missing.
    """
    lstat, paths = os.lstat, list[str]()
    for path, stamp in files:
        try:
            now = lstat(path)
        except OSError:
            if stamp is not None:
                paths.append(path)
            continue
        if stamp is None:
            if stat.S_ISREG(now.st_mode):
                paths.append(path)
        elif (
            now.st_ctime_ns != stamp.ctime_ns
            or now.st_mtime_ns != stamp.mtime_ns
            or now.st_size != stamp.size_bytes
            or now.st_ino != stamp.ino
        ):
            paths.append(path)
    return paths


def identity_of(folder: str) -> Identity:
    """Return device and inode of a directory. Raises: WatchError."""
    try:
        status = os.stat(folder, follow_symlinks=False)
    except OSError as error:
        is_missing = error.errno in {errno.ENOENT, errno.ENOTDIR}
        raise WatchError(folder=folder, reason=error.strerror or str(error), is_missing=is_missing) from error
    if not stat.S_ISDIR(status.st_mode):
        raise WatchError(folder=folder, reason=os.strerror(errno.ENOTDIR), is_missing=True)
    return status.st_dev, status.st_ino


def is_where_it_was(folder: str, identity: Identity | None) -> bool:
    try:
        return identity is not None and identity_of(folder) == identity
    except WatchError:
        return False
