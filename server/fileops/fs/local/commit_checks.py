"""What every kind of commit needs: the checks before it, and its outcome."""

import os
from collections.abc import Callable
from dataclasses import dataclass

from fileops.model.files import CommitReport


@dataclass(frozen=True, slots=True)
class Written:
    """A finished commit. `status` is from a handle of the file that was written."""

    status: os.stat_result
    report: CommitReport


@dataclass(frozen=True, slots=True)
class CommitChecks:
    """Callbacks that run before the commit.

    require_unchanged: raises Stale. prepare, before: the caller's hooks. hold: takes the lock of a new inode. on_kept:
    called if one of our own files could not be removed.
    """

    require_unchanged: Callable[[], None]
    prepare: Callable[[], None]
    before: Callable[[], None]
    hold: Callable[[os.stat_result], object]
    on_kept: Callable[[], None]


def own_status(fd: int, written: os.stat_result) -> os.stat_result:
    """Return the status after the rename, which changes the ctime, or `written` if another process wrote since then.

    Never fails, because the commit is already made.
    """
    try:
        status = os.fstat(fd)
    except OSError:
        return written
    is_ours = (status.st_mtime_ns, status.st_size) == (written.st_mtime_ns, written.st_size)
    return status if is_ours else written
