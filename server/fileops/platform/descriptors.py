"""Letting go of open files."""

import fcntl
import os
from functools import partial

from fileops.concurrency import deferred


def close(fd: int) -> None:
    """Never fails.

    What the system reports here is the fate of earlier writes, and those were synced or their failure was told. The
    descriptor is gone either way.
    """
    try:
        os.close(fd)
    except OSError:
        return


def unlock_and_close_later(fd: int) -> None:
    """Unlock at once, close when the answer is out. Never fails.

    With its last descriptor a file that was replaced gives back its blocks, and that takes a journalling filesystem
    as long as a third of a sync.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_UN)
    except OSError:
        close(fd)  # which unlocks as well
    else:
        deferred.do(partial(close, fd))
