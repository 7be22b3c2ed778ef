"""Closing of file descriptors.

A separate module, because every module that opens a file needs it.
"""

import fcntl
import os
from functools import partial

from fileops.concurrency import deferred


def close(fd: int) -> None:
    """Close a descriptor. Never fails.

    close(2) reports errors of earlier writes. Those were synced, or their failure was reported. The descriptor is
    closed in any case.
    """
    try:
        os.close(fd)
    except OSError:
        return


def unlock_and_close_later(fd: int) -> None:
    """Release the lock now and close the descriptor after the response has been sent. Never fails.

    Closing the last descriptor of a replaced file frees its blocks, which can take a third as long as an fsync.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_UN)
    except OSError:
        close(fd)  # also releases the lock
    else:
        deferred.defer(partial(close, fd))
