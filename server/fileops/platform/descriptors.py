"""Closes file descriptors, and makes room for many.

A separate module, because every module that opens a file needs it.
"""

import fcntl
import os
import resource
from functools import partial

from fileops.concurrency import deferred

_OTHERS = 512  # connections, watches, databases, files of other requests


def close(fd: int) -> None:
    """Close a descriptor. Never fails.

    close(2) reports errors of earlier writes. Those were synced, or their failure was reported. The descriptor is
    closed either way.
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


def make_room(n_wanted: int) -> None:
    """Raise this process's limit so that it may open `n_wanted` more files, if the system allows that. Never fails.

    The usual limit of 1,024 is kept until a change set needs more: child processes inherit it, and some programs close
    all descriptors up to it when they start, or use select(2), which cannot handle more.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = n_wanted + _OTHERS
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    try:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
        )
    except (OSError, ValueError):
        return
