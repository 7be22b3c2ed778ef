"""A swap that can be looked at: two files change names at once, and what came out is held against what was compared.

For files that somebody else is at work on as well. Between the last compare and a rename there is a moment in which a
save of his would be written over unseen; here it comes out under the temporary name, and goes back.

The kernel tells an exchange as two moves, the second of them onto the name given first. So the file's own name is given
first: the last that watchers hear of it is that something came to stand there. The other way round they take it for a
removal, and an editor does not load what was written.
"""

import os
from contextlib import suppress

from fileops.fs.local.write_target import Target, inode_of
from fileops.model.errors import Stale
from fileops.platform import sync, syscalls

_MAX_COMPARED_AGAIN_BYTES = 4_000_000  # of a larger file the time and the size have to do
_MAX_TIMES = 100  # each more would take one more foreign rename within microseconds


def swapped(target: Target, name: str, fd: int, old: bytes) -> bool:
    """Put the new file (`name`, open as `fd`) in place; `name` then holds the old one.

    False where the filesystem cannot; then nothing happened. Raises Stale after what somebody wrote is back in its
    place; OSError, never from the exchange on: what cannot be looked at is taken for untouched, as by a rename.
    """
    if not syscalls.exchange(target.name, name, target.dir_fd):
        return False
    with suppress(OSError):
        if not _is_untouched(target, name, old):
            _put_back(target, name, fd)
    return True


def verify_after_sync(target: Target, name: str, fd: int, old: bytes, new: bytes) -> None:
    """For who had the old file open and wrote into it after the exchange: it goes back into its place. Raises Stale.

    Unless somebody has written into the new one as well: then that is the later truth.
    """
    with suppress(OSError):
        if not _is_untouched(target, name, old) and sync.is_content(fd, new):
            _put_back(target, name, fd)


def _put_back(target: Target, name: str, fd: int) -> None:
    """Exchange again. Raises Stale after that, OSError."""
    wanted = inode_of(os.fstat(fd))
    put_in = inode_of(os.stat(name, dir_fd=target.dir_fd, follow_symlinks=False))
    for _ in range(_MAX_TIMES):
        # Should another hand have come in between, his file is what comes out now instead of ours; then that goes in
        # again, and the one before it was written over by him.
        syscalls.exchange(target.name, name, target.dir_fd)
        out = inode_of(os.stat(name, dir_fd=target.dir_fd, follow_symlinks=False))
        if out == wanted:
            break
        wanted, put_in = put_in, out
    raise Stale(path=target.path)


def _is_untouched(target: Target, name: str, old: bytes) -> bool:
    """Whether the file that came out is the one that was compared, as it was."""
    out, before = os.stat(name, dir_fd=target.dir_fd, follow_symlinks=False), target.status
    if inode_of(out) != inode_of(before) or out.st_nlink != before.st_nlink or out.st_size != before.st_size:
        return False
    if (out.st_mode, out.st_uid, out.st_gid, out.st_mtime_ns) != (
        before.st_mode, before.st_uid, before.st_gid, before.st_mtime_ns,
    ):  # fmt: skip
        return False
    return len(old) > _MAX_COMPARED_AGAIN_BYTES or sync.is_content(target.fd, old)
