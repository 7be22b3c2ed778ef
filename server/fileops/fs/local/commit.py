"""How new content gets into its place: swap, write in place with a journal, create, delete.

Every function works inside folders that are held open (names relative to `dir_fd`), so a folder that is renamed or
replaced by a link meanwhile leads nowhere else. OSErrors leave this module untranslated; whatever goes wrong before
the commit is undone here.
"""

import errno
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace as with_changes

from fileops.fs.local import exchange
from fileops.fs.local.directories import require_room_for_temp
from fileops.fs.local.journal import Journal, Region, put_back
from fileops.fs.local.metadata import carry_flags, copy_metadata
from fileops.fs.local.temp_files import done_with, new_name
from fileops.fs.local.write_target import Target
from fileops.model.errors import AlreadyExists, IoFailure, Stale
from fileops.model.files import CommitReport
from fileops.platform import descriptors, sync, syscalls
from fileops.platform.locks import try_lock

_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_PLACE = {errno.EACCES, errno.EPERM, errno.EROFS}
# a mount point, a sticky folder with somebody else's file, a folder that may only grow
_NO_RENAME = {errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM}


@dataclass(frozen=True, slots=True)
class Written:
    """status: from a handle of the file that was written."""

    status: os.stat_result
    report: CommitReport


class CannotReplaceError(Exception):
    """A swap would lose something, or is not to be had. Nothing changed. args: the reason."""


class AnotherFileError(Exception):
    """Another file stands there than was compared. Nothing was written.

    Opening the file for writing may have done that: overlayfs then copies a file of a lower layer up, which gives it
    another inode and parts it from its hard links.
    """


@dataclass(frozen=True, slots=True)
class Gate:
    """Passed once, directly before the commit.

    require_unchanged: raises Stale. prepare, before: the caller's hooks. hold: takes the lock of a new inode. on_kept:
    told when a file of ours could not be removed.
    """

    require_unchanged: Callable[[], None]
    prepare: Callable[[], None]
    before: Callable[[], None]
    hold: Callable[[os.stat_result], None]
    on_kept: Callable[[], None]


def swap(target: Target, old: bytes, new: bytes, gate: Gate, *, is_contested: bool) -> Written:
    """Raises CannotReplaceError, Stale, OSError, and what the gate raises; then nothing changed.

    is_contested: somebody else is at work on this file. Then it is exchanged and what came out is looked at, so that
    what he put there since the last compare comes back. Otherwise a plain rename, which watchers tell apart best.
    """
    if target.status.st_nlink > 1:
        raise CannotReplaceError("hard links")
    knows_links = _knows_links(target)
    try:
        temp = _make_temp(target.dir_fd, 0o600, gate)  # nobody else reads it before it has the file's own mode
    except OSError as error:
        if error.errno in _NO_PLACE:
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
        gate.require_unchanged()
        gate.hold(written)
        gate.before()
        try:
            is_exchanged = is_contested and exchange.swapped(target, temp.name, temp.fd, old)
            if not is_exchanged:
                _rename_over(target, temp)
        except OSError as error:
            if error.errno in _NO_RENAME:
                raise CannotReplaceError(os.strerror(error.errno or 0).lower()) from error
            raise
        status = _own_status(temp.fd, written)
        report = _report("swap", target.dir_fd, is_synced=is_synced)
        if report.reason is None and not knows_links:
            report = with_changes(report, reason="hard links may have parted: this filesystem does not tell of them")
        if is_exchanged:
            exchange.verify_after_sync(target, temp.name, temp.fd, old, new)
        return Written(status, report)


def _rename_over(target: Target, temp: "_Temp") -> None:
    found = os.stat(target.name, dir_fd=target.dir_fd, follow_symlinks=False)
    if not os.path.samestat(found, target.status):  # the compare took its time; this is as late as it can be asked
        raise Stale(path=target.path)
    os.rename(temp.name, target.name, src_dir_fd=target.dir_fd, dst_dir_fd=target.dir_fd)
    temp.is_in_place = True


def create(dir_fd: int, name: str, data: bytes, gate: Gate) -> Written:
    """Exclusively. Raises AlreadyExists, OSError, and what the gate raises; then nothing was made."""
    with _make_temp(dir_fd, 0o666, gate) as temp:
        temp.fill(data)
        is_synced = temp.finish()
        written = os.fstat(temp.fd)
        if _stands(name, dir_fd):
            raise AlreadyExists
        gate.require_unchanged()
        gate.hold(written)
        gate.before()
        try:
            _move_exclusively(temp.name, name, dir_fd)
        except FileExistsError as error:
            raise AlreadyExists from error
        temp.is_in_place = True
        status = _own_status(temp.fd, written)
        if status.st_nlink == 0:
            status = _status_by_name(name, dir_fd, data) or status
        return Written(status, _report("create", dir_fd, is_synced=is_synced))


def write_in_place(
    target: Target, old: bytes, new: bytes, region: Region, gate: Gate, place: "JournalLocation"
) -> Written:
    """The inode stays. Raises AnotherFileError, OSError, IoFailure, what the gate raises; then the old bytes stand."""
    fd = os.open(target.name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=target.dir_fd)
    try:
        if not os.path.samestat(os.fstat(fd), target.status):
            raise AnotherFileError
        gate.prepare()
        with place.journal(target) as (journal, journal_target):
            journal.write(journal_target, target.status, region, memoryview(old), memoryview(new))
            gate.require_unchanged()
            gate.before()
            written, is_synced = _overwrite(fd, region, old, new, target.status)
            with suppress(OSError):  # the kernel drops setuid and setgid when a file is written
                if stat.S_IMODE(os.fstat(fd).st_mode) != stat.S_IMODE(target.status.st_mode):
                    os.fchmod(fd, stat.S_IMODE(target.status.st_mode))
        durability = "synced" if is_synced else "not_synced"
        return Written(_own_status(fd, written), CommitReport(method="in_place", durability=durability))
    finally:
        descriptors.close(fd)


def remove(target: Target, gate: Gate) -> CommitReport:
    gate.require_unchanged()
    gate.before()
    os.unlink(target.name, dir_fd=target.dir_fd)
    reason = sync.sync_folder(target.dir_fd)
    return CommitReport(method="delete", durability="not_synced" if reason else "synced", reason=reason)


# --- in place -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JournalLocation:
    """Where a journal goes that finds no room beside its file. on_kept: told when one had to be left."""

    state_folder: str
    on_kept: Callable[[], None]

    @contextmanager
    def journal(self, target: Target) -> Generator[tuple[Journal, str]]:
        """The journal and the target's name as it has to stand in it. Gone at the end, unless it is still needed."""
        dir_fd, named = target.dir_fd, target.name
        own_dir_fd = None
        try:
            try:
                require_room_for_temp(dir_fd)
                journal = Journal.create(dir_fd)
            except OSError as error:
                if error.errno not in _NO_PLACE:
                    raise
                os.makedirs(self.state_folder, mode=0o700, exist_ok=True)
                own_dir_fd = os.open(self.state_folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                journal, named = Journal.create(own_dir_fd), target.path
            try:
                yield journal, named
            except _TornError as torn:
                self.on_kept()
                hint = f"The file is half written. Its old bytes are in {journal.name}; the next use puts them back."
                raise IoFailure(reason=str(torn), hint=hint) from torn
            except BaseException:
                self._clear(journal)
                raise
            else:
                self._clear(journal)
            finally:
                journal.close()
        finally:
            if own_dir_fd is not None:
                descriptors.close(own_dir_fd)

    def _clear(self, journal: Journal) -> None:
        if not journal.remove():
            self.on_kept()


class _TornError(Exception):
    """Neither forward nor back: the journal has to stay."""


def _overwrite(fd: int, region: Region, old: bytes, new: bytes, status: os.stat_result) -> tuple[os.stat_result, bool]:
    """What stood directly after the write, and whether it was synced."""
    try:
        sync.reserve(fd, region.size_old, region.size_new - region.size_old)
        sync.write_at(fd, memoryview(new)[region.start : region.end_new], region.start)
        if region.size_new < region.size_old:
            os.ftruncate(fd, region.size_new)
        written = os.fstat(fd)
        return written, sync.sync(fd)
    except BaseException as error:
        try:
            put_back(fd, region, memoryview(old)[region.start : region.end_old], status.st_mtime_ns)
        except OSError as second:
            raise _TornError(os.strerror(second.errno or 0)) from error
        raise


# --- temp files -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Temp:
    """Removed at the end of the `with`, unless it went to its place.

    fd: for reading, and locked: it says that this file has a living maker. What is written is written through another
    one, closed before the file gets its name: so all that the watchers of a folder hear of that name is one move.
    """

    name: str
    dir_fd: int
    writing_fd: int
    on_kept: Callable[[], None]
    fd: int = -1
    is_in_place: bool = False

    def __enter__(self) -> "_Temp":
        return self

    def __exit__(self, *exc: object) -> None:
        if not self.is_in_place:
            try:
                os.unlink(self.name, dir_fd=self.dir_fd)
            except OSError:
                self.on_kept()
        self._stop_writing()
        if self.fd >= 0:
            descriptors.close(self.fd)
        done_with(self.name)

    def fill(self, data: bytes) -> None:
        try:
            self.fd = os.open(self.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.dir_fd)
        except PermissionError:  # by the caller's umask
            self.fd = os.dup(self.writing_fd)
        try_lock(self.fd)
        sync.write_all(self.writing_fd, data)

    def finish(self) -> bool:
        """Nothing more is written. Whether it was synced."""
        is_synced = sync.sync(self.writing_fd)
        self._stop_writing()
        return is_synced

    def _stop_writing(self) -> None:
        if self.writing_fd >= 0:
            descriptors.close(self.writing_fd)
            self.writing_fd = -1


def _make_temp(dir_fd: int, mode: int, gate: Gate) -> _Temp:
    require_room_for_temp(dir_fd)
    gate.prepare()
    name = new_name("tmp")
    try:
        return _Temp(name, dir_fd, os.open(name, _NEW_FILE, mode, dir_fd=dir_fd), gate.on_kept)
    except OSError:
        done_with(name)
        raise


def _move_exclusively(source: str, name: str, dir_fd: int) -> None:
    """Raises FileExistsError."""
    if syscalls.rename_exclusive(source, name, dir_fd):
        return
    try:
        os.link(source, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        # No links on this filesystem: an empty file of that name keeps others out until ours takes its place.
        descriptors.close(os.open(name, _NEW_FILE, 0o600, dir_fd=dir_fd))
        try:
            os.rename(source, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
        except OSError:
            os.unlink(name, dir_fd=dir_fd)
            raise
    else:
        with suppress(OSError):  # the file has its name; the other one is a left-over
            os.unlink(source, dir_fd=dir_fd)


def _stands(name: str, dir_fd: int) -> bool:
    try:
        os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _own_status(fd: int, written: os.stat_result) -> os.stat_result:
    """After the rename, which moves the ctime; but what somebody wrote since must not pass for ours.

    Never fails: the commit is made.
    """
    try:
        status = os.fstat(fd)
    except OSError:
        return written
    is_ours = (status.st_mtime_ns, status.st_size) == (written.st_mtime_ns, written.st_size)
    return status if is_ours else written


def _status_by_name(name: str, dir_fd: int, data: bytes) -> os.stat_result | None:
    """Of the file at the name if it has this content; None where it has not, or cannot be looked at.

    For filesystems in user space that make a new inode of a new link (sshfs): the handle is then that of a file which
    has lost its only name.
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
    """Whether the filesystem counts links: one in user space that does not says 1 of everything, folders too."""
    is_counted = target.status.st_nlink != 1 or os.fstat(target.dir_fd).st_nlink != 1
    return is_counted or syscalls.kind_of_filesystem(target.fd) != "other"


def _report(method: Literal["swap", "create"], dir_fd: int, *, is_synced: bool) -> CommitReport:
    reason = sync.sync_folder(dir_fd)
    if not is_synced:
        return CommitReport(method=method, durability="not_synced", reason=reason)
    return CommitReport(method=method, durability="file_synced" if reason else "synced", reason=reason)
