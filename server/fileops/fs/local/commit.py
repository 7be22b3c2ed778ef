"""Commits of new content by atomic rename, by creation, and deletion. `in_place` has the write in place.

Every function works on names relative to an open directory (`dir_fd`). So a directory that is renamed, or replaced by
a link, cannot redirect a commit. OSErrors leave this module untranslated. A failure before the commit is undone here.
"""

import errno
import os
import stat
from contextlib import suppress
from typing import Literal

from msgspec.structs import replace as with_changes

from fileops.fs.local import exchange
from fileops.fs.local.commit_checks import CommitChecks, Written, own_status
from fileops.fs.local.in_place import NO_PLACE
from fileops.fs.local.metadata import carry_flags, copy_metadata
from fileops.fs.local.temp_file import NEW_FILE, TempFile, make_temp
from fileops.fs.local.write_target import Target
from fileops.model.errors import AlreadyExists
from fileops.model.files import CommitReport
from fileops.model.internal_errors import Stale
from fileops.platform import descriptors, sync, syscalls

# A mount point, a file of another user in a sticky folder, an append-only folder.
_NO_RENAME = {errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM}


class CannotReplaceError(Exception):
    """A rename would lose metadata or is impossible. Nothing changed. `args` has the reason."""


def replace_by_rename(target: Target, old: bytes, new: bytes, checks: CommitChecks, *, is_contested: bool) -> Written:
    """Write a temp file and rename it over the target.

    is_contested: another process is writing this file. Then the two files are exchanged and the old one is compared
    again, so that a write since the last compare is restored. A plain rename is clearer for watchers.
    Raises: CannotReplaceError, Stale, OSError, and the errors of the checks; then nothing changed.
    """
    if target.status.st_nlink > 1:
        raise CannotReplaceError("hard links")
    knows_links = _knows_links(target)
    try:
        temp = make_temp(target.dir_fd, 0o600, checks)  # private until it has the file's mode
    except OSError as error:
        if error.errno in NO_PLACE:
            raise CannotReplaceError("no file can be made in the folder") from error
        raise
    with temp:
        if (refused := carry_flags(target.fd, temp.writing_fd)) is not None:
            raise CannotReplaceError(refused)
        temp.fill(new)
        if (refused := copy_metadata(target.status, target.fd, temp.writing_fd)) is not None:
            raise CannotReplaceError(refused)
        is_synced = temp.finish()
        written = os.fstat(temp.fd)
        checks.require_unchanged()
        checks.hold(written)
        checks.before()
        try:
            is_exchanged = is_contested and exchange.try_exchange(target, temp.name, temp.fd, old)
            if not is_exchanged:
                _rename_over(target, temp)
        except OSError as error:
            if error.errno in _NO_RENAME:
                raise CannotReplaceError(os.strerror(error.errno or 0).lower()) from error
            raise
        status = own_status(temp.fd, written)
        report = _report("swap", target.dir_fd, is_synced=is_synced)
        if report.reason is None and not knows_links:
            report = with_changes(report, reason="hard links may be separated: this filesystem does not report them")
        if is_exchanged:
            exchange.verify_after_sync(target, temp.name, temp.fd, old, new)
        return Written(status, report)


def _rename_over(target: Target, temp: TempFile) -> None:
    current = os.stat(target.name, dir_fd=target.dir_fd, follow_symlinks=False)
    if not os.path.samestat(current, target.status):  # as late as possible after the compare
        raise Stale(path=target.path)
    os.rename(temp.name, target.name, src_dir_fd=target.dir_fd, dst_dir_fd=target.dir_fd)
    temp.is_in_place = True


def create(dir_fd: int, name: str, data: bytes, checks: CommitChecks) -> Written:
    """Create a file exclusively. Raises: AlreadyExists, OSError, and the errors of the checks; then none was made."""
    with make_temp(dir_fd, 0o666, checks) as temp:
        temp.fill(data)
        is_synced = temp.finish()
        written = os.fstat(temp.fd)
        if _exists(name, dir_fd):
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


def remove(target: Target, checks: CommitChecks) -> CommitReport:
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
        descriptors.close(os.open(name, NEW_FILE, 0o600, dir_fd=dir_fd))
        try:
            os.rename(source, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
        except OSError:
            os.unlink(name, dir_fd=dir_fd)
            raise
    else:
        with suppress(OSError):  # the temp name is only a left-over
            os.unlink(source, dir_fd=dir_fd)


def _exists(name: str, dir_fd: int) -> bool:
    try:
        os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _status_by_name(name: str, dir_fd: int, data: bytes) -> os.stat_result | None:
    """Return the status of the file at the name if it has this content, else None.

    It is for filesystems in user space, such as sshfs, on which a new link has a new inode: there our handle belongs to
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


def _knows_links(target: Target) -> bool:
    """Return whether the filesystem counts links. One in user space that does not reports 1 even for folders."""
    is_counted = target.status.st_nlink != 1 or os.fstat(target.dir_fd).st_nlink != 1
    return is_counted or syscalls.kind_of_filesystem(target.fd) != "other"


def _report(method: Literal["swap", "create"], dir_fd: int, *, is_synced: bool) -> CommitReport:
    reason = sync.sync_folder(dir_fd)
    if not is_synced:
        return CommitReport(method=method, durability="not_synced", reason=reason)
    return CommitReport(method=method, durability="file_synced" if reason else "synced", reason=reason)
