import errno
import os
import stat
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fileops.model.errors import WatchError
from fileops.model.files import Stamp

if TYPE_CHECKING:
    pass


Identity = tuple[int, int]


def moved(files: Iterable[tuple[str, Stamp | None]]) -> list[str]:
    """Which of these canonical paths no longer hold a file with that stamp (None: hold one at all).

    One lstat each. A look this cheap misses what happens behind a folder that became a symlink, and a file that is
    no regular file counts as none.
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
    """Raises: WatchError."""
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
