"""Atomic exchange of the temp file and the target, after which the old file is compared again.

It is for files that another process writes too. A plain rename would overwrite a save between the last compare and the
rename. Here that save is under the temporary name after the exchange, and is restored.

inotify reports RENAME_EXCHANGE as two moves, the second onto the first argument. Pass the file's own name first, so
that its last event is a `moved_to`; otherwise watchers treat the file as deleted, and an editor does not reload it.
"""

import os
from contextlib import suppress

from fileops.fs.local.write_target import Target, inode_of
from fileops.model.internal_errors import Stale
from fileops.platform import sync, syscalls

_MAX_COMPARED_AGAIN_BYTES = 4_000_000  # of larger files only time and size
_MAX_EXCHANGES = 100  # each one more needs a foreign rename within microseconds


def try_exchange(target: Target, name: str, fd: int, old: bytes) -> bool:
    """Put the new file (`name`, open as `fd`) in place; `name` then names the old one.

    Returns False if the filesystem cannot; then nothing happened. Raises: Stale, after a foreign write was restored;
    OSError before the exchange, never after it: an old file that cannot be read counts as unchanged.
    """
    if not syscalls.exchange(target.name, name, target.dir_fd):
        return False
    with suppress(OSError):
        if not _is_untouched(target, name, old):
            _restore(target, name, fd)
    return True


def verify_after_sync(target: Target, name: str, fd: int, old: bytes, new: bytes) -> None:
    """Restore the old file if a process that had it open wrote into it after the exchange. Raises: Stale.

    If a process has also written into the new file, that write is the later one, and the new file stays.
    """
    with suppress(OSError):
        if not _is_untouched(target, name, old) and sync.is_content(fd, new):
            _restore(target, name, fd)


def _restore(target: Target, name: str, fd: int) -> None:
    """Exchange again. Raises: Stale after that; OSError."""
    expected = inode_of(os.fstat(fd))
    put_in = inode_of(os.stat(name, dir_fd=target.dir_fd, follow_symlinks=False))
    for _ in range(_MAX_EXCHANGES):
        # If another process replaced the file in the meantime, its file is taken out instead of the new one. Put it
        # back and retry; that process has overwritten the file that was there before.
        syscalls.exchange(target.name, name, target.dir_fd)
        taken_out = inode_of(os.stat(name, dir_fd=target.dir_fd, follow_symlinks=False))
        if taken_out == expected:
            break
        expected, put_in = put_in, taken_out
    raise Stale(path=target.path)


def _is_untouched(target: Target, name: str, old: bytes) -> bool:
    """Return whether the old file, now under the temporary name, is unchanged since it was compared."""
    out, before = os.stat(name, dir_fd=target.dir_fd, follow_symlinks=False), target.status
    if inode_of(out) != inode_of(before) or out.st_nlink != before.st_nlink or out.st_size != before.st_size:
        return False
    if (out.st_mode, out.st_uid, out.st_gid, out.st_mtime_ns) != (
        before.st_mode, before.st_uid, before.st_gid, before.st_mtime_ns,
    ):  # fmt: skip
        return False
    return len(old) > _MAX_COMPARED_AGAIN_BYTES or sync.is_content(target.fd, old)
