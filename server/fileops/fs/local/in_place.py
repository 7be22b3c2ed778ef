"""Commits by a write in place, which keeps the inode. A journal makes it possible to undo an interrupted write."""

import os
import stat
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress

from msgspec import Struct

from fileops.fs.local.commit_checks import CommitChecks, Written, own_status
from fileops.fs.local.directories import NO_PLACE, require_room_for_temp
from fileops.fs.local.journal import Journal, JournalRegion, restore
from fileops.fs.local.write_target import WriteTarget
from fileops.model.edits import Splice
from fileops.model.errors import IoFailure
from fileops.model.files import CommitReport
from fileops.platform import descriptors, sync


class AnotherFileError(Exception):
    """The path now names another file than the one that was compared. Nothing was written.

    Opening a file for writing may cause this: overlayfs then copies it up from a lower layer, which gives it another
    inode and separates it from its hard links.
    """


class JournalLocation(Struct, frozen=True):
    """The folder for journals that cannot be beside their file. `on_kept` is called if a journal has to stay."""

    state_folder: str
    on_kept: Callable[[], None]

    @contextmanager
    def journal(self, target: WriteTarget) -> Generator[tuple[Journal, str]]:
        """Yield a journal and the target's name for it. The journal is removed at the end unless it is still needed."""
        dir_fd, named = target.dir_fd, target.name
        own_dir_fd = None
        try:
            try:
                require_room_for_temp(dir_fd)
                journal = Journal.create(dir_fd)
            except OSError as error:
                if error.errno not in NO_PLACE:
                    self.on_kept()  # it may exist, and a failing disk does not let it be removed
                    raise
                os.makedirs(self.state_folder, mode=0o700, exist_ok=True)
                own_dir_fd = os.open(self.state_folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                journal, named = Journal.create(own_dir_fd, is_far=True), target.path
            try:
                yield journal, named
            except _TornError as torn:
                self.on_kept()
                hint = f"The file is half written. Its old bytes are in {journal.name}; the next use restores them."
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


def write_in_place(
    target: WriteTarget, old: bytes, new: bytes, region: JournalRegion, checks: CommitChecks, location: JournalLocation
) -> Written:
    """Overwrite the file, protected by a journal. The inode stays.

    Raises: AnotherFileError, OSError, IoFailure, and the errors of the checks; the file has its old bytes then.
    """
    fd = os.open(target.name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=target.dir_fd)
    try:
        if not os.path.samestat(os.fstat(fd), target.status):
            raise AnotherFileError
        checks.prepare()
        with location.journal(target) as (journal, journal_target):
            # The journal is synced before the first byte changes, and removed after the last is synced. So a process
            # that dies leaves either an untouched file or a journal that says how to restore it (see journal.py). The
            # compare comes after the journal's sync, which may take long. A write by another program after the compare
            # is not noticed: a write in place has no moment at which the old file could be compared once more.
            folder_ino = 0 if journal.dir_fd == target.dir_fd else os.fstat(target.dir_fd).st_ino
            journal.write(journal_target, target.status, region, memoryview(old), memoryview(new), folder_ino)
            checks.require_unchanged()
            checks.before()
            written, is_synced = _overwrite(fd, region, old, new, target.status)
            with suppress(OSError):  # the kernel drops setuid and setgid when a file is written
                if stat.S_IMODE(os.fstat(fd).st_mode) != stat.S_IMODE(target.status.st_mode):
                    os.fchmod(fd, stat.S_IMODE(target.status.st_mode))
        durability = "synced" if is_synced else "not_synced"
        return Written(own_status(fd, written), CommitReport(method="in_place", durability=durability))
    finally:
        descriptors.close(fd)


def region_of(splices: Sequence[Splice], old: bytes, new: bytes) -> JournalRegion:
    """Return the region that a write in place changes: up to the last splice if the size stays the same."""
    start = splices[0].start
    if len(old) == len(new):
        end = splices[-1].end
        return JournalRegion(start, end, end, len(old), len(new))
    return JournalRegion(start, len(old), len(new), len(old), len(new))


class _TornError(Exception):
    """The write could be neither finished nor undone, so the journal has to stay."""


def _overwrite(
    fd: int, region: JournalRegion, old: bytes, new: bytes, status: os.stat_result
) -> tuple[os.stat_result, bool]:
    """Overwrite the region. Return the status directly after the write, and whether it was synced."""
    try:
        sync.reserve(fd, region.size_old, region.size_new - region.size_old)
        sync.write_at(fd, memoryview(new)[region.start : region.end_new], region.start)
        if region.size_new < region.size_old:
            os.ftruncate(fd, region.size_new)
        written = os.fstat(fd)
        return written, sync.sync(fd)
    except BaseException as error:
        try:
            restore(fd, region, memoryview(old)[region.start : region.end_old], status.st_mtime_ns)
        except OSError as second:
            raise _TornError(os.strerror(second.errno or 0)) from error
        raise
