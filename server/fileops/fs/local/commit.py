"""Commits by a temp file and an atomic rename (replacement and creation), and deletions. See `in_place` for the rest.

Every function works on names relative to an open directory (`dir_fd`). So a directory that is renamed or replaced by a
link cannot redirect a commit. OSErrors leave this module untranslated. A failure before the commit is undone here.
"""

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace as with_changes

from fileops.fs.local.commit_checks import CommitChecks, Written, own_status
from fileops.fs.local.directories import NO_PLACE, require_room_for_temp
from fileops.fs.local.metadata import MODE_REFUSED, carry_flags, copy_metadata
from fileops.fs.local.own_files import new_name, release
from fileops.fs.local.write_target import WriteTarget, inode_of
from fileops.model.errors import AlreadyExists
from fileops.model.files import CommitReport
from fileops.model.internal_errors import Stale
from fileops.platform import descriptors, sync, syscalls, umask
from fileops.platform.locks import try_lock

# A mount point, a file of another user in a sticky folder, an append-only folder.
NO_RENAME = {errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM}
_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_COMPARED_AGAIN_BYTES = 4_000_000  # larger files: only time and size
_MAX_EXCHANGES = 100  # each further one needs a foreign rename within microseconds


class CannotReplaceError(Exception):
    """A rename would lose metadata or is impossible. Nothing has changed. `args` contains the reason."""


def replace_by_rename(
    target: WriteTarget, old: bytes, new: bytes, checks: CommitChecks, *, is_contested: bool
) -> Written:
    """Write a temp file and rename it over the target.

    is_contested: another process is writing this file. The two files are then exchanged and the old one is compared
    again, so that a write since the last compare is restored (see `_try_exchange`). A plain rename is clearer for
    watchers.

    Raises: CannotReplaceError, Stale, OSError, and the errors of the checks; nothing has changed then.
    """
    if target.status.st_nlink > 1:
        raise CannotReplaceError("hard links")
    knows_links = _knows_links(target)
    try:
        temp = make_temp(target.dir_fd, checks, is_new=False)  # private until it has the file's mode
    except OSError as error:
        if error.errno in NO_PLACE:
            raise CannotReplaceError("no file can be made in the folder") from error
        raise
    with temp:
        written, is_synced = fill_replacement(temp, target, new, stat.S_IMODE(target.status.st_mode))
        # The sync may take long, so the content is compared after it. The new inode is locked while the temp name is
        # its only one: a thread that finds it at the path waits until the commit is recorded. `before` comes last,
        # because it decides between the commit and a cancel; after it, only the rename can fail.
        checks.require_unchanged()
        checks.hold(written)
        checks.before()
        try:
            is_exchanged = is_contested and _try_exchange(target, temp.name, temp.fd, old)
            if not is_exchanged:
                _rename_over(target, temp)
        except OSError as error:
            if error.errno in NO_RENAME:
                raise CannotReplaceError(os.strerror(error.errno or 0).lower()) from error
            raise
        status = own_status(temp.fd, written)
        report = _report("swap", target.dir_fd, is_synced=is_synced)
        if report.reason is None and not knows_links:
            report = with_changes(report, reason="hard links may be separated: this filesystem does not report them")
        if is_exchanged:
            _verify_after_sync(target, temp.name, temp.fd, old, new)
        return Written(status, report)


def fill_replacement(temp: "TempFile", target: WriteTarget, new: bytes, mode: int) -> tuple[os.stat_result, bool]:
    """Give the temp file what the target will become: its content, this mode, and the target's other metadata.

    Returns its status, and whether it was synced. Raises: CannotReplaceError, OSError.
    """
    if (refused := carry_flags(target.fd, temp.writing_fd)) is not None:
        raise CannotReplaceError(refused)
    temp.fill(new)
    if (refused := copy_metadata(target.status, target.fd, temp.writing_fd, mode)) is not None:
        raise CannotReplaceError(refused)
    is_synced = temp.finish()
    written = os.fstat(temp.fd)
    if stat.S_IMODE(written.st_mode) != mode:
        raise CannotReplaceError(MODE_REFUSED)
    return written, is_synced


def _rename_over(target: WriteTarget, temp: "TempFile") -> None:
    current = os.stat(target.name, dir_fd=target.dir_fd, follow_symlinks=False)
    if not os.path.samestat(current, target.status):  # as late as possible after the compare
        raise Stale(path=target.path)
    os.rename(temp.name, target.name, src_dir_fd=target.dir_fd, dst_dir_fd=target.dir_fd)
    temp.is_in_place = True


def create(dir_fd: int, name: str, data: bytes, checks: CommitChecks) -> Written:
    """Create a file exclusively.

    Raises: AlreadyExists, OSError, and the errors of the checks; no file was created then.
    """
    with make_temp(dir_fd, checks, is_new=True) as temp:
        temp.fill(data)
        is_synced = temp.finish()
        written = os.fstat(temp.fd)
        if exists(name, dir_fd):
            raise AlreadyExists
        checks.require_unchanged()
        checks.hold(written)
        checks.before()
        try:
            _move_exclusively(temp.name, name, dir_fd)
        except FileExistsError as error:
            raise AlreadyExists from error
        temp.is_in_place = True
        status = own_status(temp.fd, written)
        if status.st_nlink == 0:
            status = _status_by_name(name, dir_fd, data) or status
        return Written(status, _report("create", dir_fd, is_synced=is_synced))


def remove(target: WriteTarget, checks: CommitChecks) -> CommitReport:
    checks.require_unchanged()
    checks.before()
    os.unlink(target.name, dir_fd=target.dir_fd)
    reason = sync.sync_folder(target.dir_fd)
    return CommitReport(method="delete", durability="not_synced" if reason else "synced", reason=reason)


def _move_exclusively(source: str, name: str, dir_fd: int) -> None:
    """Rename without replacing. Raises: FileExistsError, OSError."""
    if syscalls.rename_exclusive(source, name, dir_fd):
        return
    try:
        os.link(source, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        # This filesystem has no hard links. An empty file of that name keeps other processes out until the rename.
        descriptors.close(os.open(name, _NEW_FILE, 0o600, dir_fd=dir_fd))
        try:
            os.rename(source, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
        except OSError:
            os.unlink(name, dir_fd=dir_fd)
            raise
    else:
        with suppress(OSError):  # only the temp name is left over
            os.unlink(source, dir_fd=dir_fd)


def exists(name: str, dir_fd: int) -> bool:
    try:
        os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _status_by_name(name: str, dir_fd: int, data: bytes) -> os.stat_result | None:
    """Return the status of the file at the name if it has this content, else None.

    This is for filesystems in user space, such as sshfs, where a new link has a new inode: there our handle belongs to
    a file that has lost its only name.
    """
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=dir_fd)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        return status if stat.S_ISREG(status.st_mode) and sync.is_content(fd, data) else None
    except OSError:
        return None
    finally:
        descriptors.close(fd)


def _knows_links(target: WriteTarget) -> bool:
    """Return whether the filesystem counts links.

    A filesystem in user space that does not reports 1 even for folders.
    """
    is_counted = target.status.st_nlink != 1 or os.fstat(target.dir_fd).st_nlink != 1
    return is_counted or syscalls.kind_of_filesystem(target.fd) != "other"


def _report(method: Literal["swap", "create"], dir_fd: int, *, is_synced: bool) -> CommitReport:
    reason = sync.sync_folder(dir_fd)
    if not is_synced:
        return CommitReport(method=method, durability="not_synced", reason=reason)
    return CommitReport(method=method, durability="file_synced" if reason else "synced", reason=reason)


# --- exchange and compare ---------------------------------------------------------------------------------------
#
# A rename replaces any file that is at the path. So a save by another program between our last compare and the rename
# would be lost. RENAME_EXCHANGE (renameat2(2)) keeps it: the file that was at the path then has the temp file's name,
# and is compared once more. This is done for files that another program has changed lately (`RecentWrites`). These are
# the cases of a foreign write, by the moment at which it happens:
#
# 1. Before the last compare (`require_unchanged`). The compare raises Stale; nothing has happened.
# 2. Between that compare and the exchange. In place: the old inode has other bytes, or another size or time. By a
#    rename: another inode comes out. A new hard link, another mode or owner: the status differs. In each case the files
#    are exchanged again and the commit is Stale, so the edit is made again on what the other program wrote. If that
#    program removed the file, the exchange fails with ENOENT.
# 3. After the exchange, into the old inode, by a program that had it open before. `_verify_after_sync` compares a
#    second time, after the folder was synced, which gives such a save the time of a sync to end. What is written even
#    later is lost, as after an atomic save of any program: that file has no name any more.
# 4. After the exchange, to the path. This write is later than ours and is kept. `_verify_after_sync` restores nothing
#    if the new file has other bytes than we wrote, and `_restore` puts back a file that it took out by mistake.
#
# One combination is not covered: case 2, and another program that writes into our new file in place in the moment
# between the exchange and the first compare. The second write is lost with our file.
#
# The exchange comes before the compare because no system call does both. So a program may read our content for a
# moment although it is removed again. Other daemons wait instead, for the flock of the new file: the temp file holds
# it from before the exchange until the commit has ended.
#
# After the exchange only Stale is raised, because the commit is made: an old file that cannot be read counts as
# unchanged.


def _try_exchange(target: WriteTarget, name: str, fd: int, old: bytes) -> bool:
    """Put the new file (`name`, open as `fd`) in place; `name` then is the old one.

    Returns False if the filesystem cannot exchange; nothing has happened then. Raises: Stale, after a foreign write was
    restored; OSError before the exchange, never after it.
    """
    # inotify reports RENAME_EXCHANGE as two moves, the second to the first argument. The file's own name is passed
    # first, so that its last event is a `moved_to`. Otherwise watchers treat the file as deleted, and editors do not
    # reload it.
    if not syscalls.exchange(target.name, name, target.dir_fd):
        return False
    with suppress(OSError):
        if not is_untouched(target, name, old):
            _restore(target, name, fd)
    return True


def _verify_after_sync(target: WriteTarget, name: str, fd: int, old: bytes, new: bytes) -> None:
    """Restore the old file if a process that had it open wrote into it after the exchange. Raises: Stale.

    If a process has also written into the new file, that write is later, and the new file stays.
    """
    with suppress(OSError):
        if not is_untouched(target, name, old) and sync.is_content(fd, new):
            _restore(target, name, fd)


def _restore(target: WriteTarget, name: str, fd: int) -> None:
    """Exchange again, so that our file has the temporary name. Raises: Stale after that; OSError."""
    # The next exchange puts `put_in` at the path and should take out `expected`, at first our file. If it takes out
    # another file, a third program has renamed that over ours in the meantime. Its file is the latest, so it belongs at
    # the path, and it has overwritten the file that was just put there. The two therefore change roles, and the
    # exchange is tried again. The loop ends with the latest file at the path and an overwritten one under our name.
    expected = inode_of(os.fstat(fd))
    put_in = inode_of(os.stat(name, dir_fd=target.dir_fd, follow_symlinks=False))
    for _ in range(_MAX_EXCHANGES):
        syscalls.exchange(target.name, name, target.dir_fd)
        taken_out = inode_of(os.stat(name, dir_fd=target.dir_fd, follow_symlinks=False))
        if taken_out == expected:
            break
        expected, put_in = put_in, taken_out
    raise Stale(path=target.path)


def is_untouched(target: WriteTarget, name: str, old: bytes, dir_fd: int | None = None) -> bool:
    """Return whether the old file, now under another name, is unchanged since it was compared.

    dir_fd: the folder of that name, if it is not that of the target.
    """
    status = os.stat(name, dir_fd=target.dir_fd if dir_fd is None else dir_fd, follow_symlinks=False)
    if _facts(status) != _facts(target.status):
        return False
    # A store through mmap need not change the time, so the content of a small file is compared as well.
    return len(old) > _MAX_COMPARED_AGAIN_BYTES or sync.is_content(target.fd, old)


def _facts(status: os.stat_result) -> tuple[int, ...]:
    """Return what an exchange does not change: everything but the change time."""
    return (
        *inode_of(status),
        status.st_nlink,
        status.st_size,
        status.st_mode,
        status.st_uid,
        status.st_gid,
        status.st_mtime_ns,
    )


# --- the temp file ----------------------------------------------------------------------------------------------


class TempFile(Struct):
    """A temp file. It is removed at the end of the `with` block unless it was renamed into place.

    fd: for reading, and locked, which shows that the process that created the file is alive. Another descriptor is used
    for writing and closed before the rename, so that watchers of the folder see only one move.
    """

    name: str
    dir_fd: int
    writing_fd: int
    on_kept: Callable[[], None]
    fd: int = -1
    is_in_place: bool = False

    def __enter__(self) -> "TempFile":
        return self

    def __exit__(self, *exc: object) -> None:
        self.drop()
        self._stop_writing()
        if self.fd >= 0:
            descriptors.close(self.fd)
        release(self.name)

    def drop(self) -> None:
        """Remove the file, unless it is in place or already removed."""
        if self.is_in_place:
            return
        try:
            os.unlink(self.name, dir_fd=self.dir_fd)
        except OSError:
            self.on_kept()
        else:
            self.is_in_place = True  # it no longer has one of our names

    def fill(self, data: bytes) -> None:
        try:
            self.fd = os.open(self.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.dir_fd)
        except PermissionError:  # because of the umask
            self.fd = os.dup(self.writing_fd)
        try_lock(self.fd)
        sync.write_all(self.writing_fd, data)

    def finish(self) -> bool:
        """Finish writing. Return whether the file was synced."""
        is_synced = sync.sync(self.writing_fd)
        self._stop_writing()
        return is_synced

    def _stop_writing(self) -> None:
        if self.writing_fd >= 0:
            descriptors.close(self.writing_fd)
            self.writing_fd = -1


def make_temp(dir_fd: int, checks: CommitChecks, *, is_new: bool) -> TempFile:
    """Create an empty temp file in the folder, private unless it becomes a new file.

    Raises: OSError, and the errors of `checks.prepare`.
    """
    require_room_for_temp(dir_fd)
    checks.prepare()
    name = new_name("tmp")
    try:
        fd = umask.create_file(name, _NEW_FILE, dir_fd) if is_new else os.open(name, _NEW_FILE, 0o600, dir_fd=dir_fd)
        return TempFile(name, dir_fd, fd, checks.on_kept)
    except OSError:
        release(name)
        raise
