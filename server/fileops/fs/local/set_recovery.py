"""Restores the files of a change set, or clears up after it: after a failure, and after the death of a daemon.

A set that was not committed goes back, never forward, since no answer has said that it was applied. What is found at
each name decides, so an interrupted recovery is simply repeated. For one file these are the cases:

- It is as the set left it (inode and content): the old file is put back in its place.
- It is as it was before: only our own files have to be removed.
- It is anything else, or gone: another program has written it since. It is left alone, and the old file is kept beside
  it under a name that people understand (`NAME.fileops-before-ID`).

A recovery after a death trusts a backup only if its bytes, owner and mode are those in the journal, and if it has one
of our names in the folder of its file. So a forged journal can at most restore a file that is there anyway.
"""

import errno
import os
import stat
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct

from fileops.core.roots import folder_of
from fileops.fs.local.directories import open_folder
from fileops.fs.local.nofollow import Opener
from fileops.fs.local.own_files import is_set_file, list_own_files, remove_if_dead
from fileops.fs.local.set_journal import ReadJournal, SetRecord, SetStep, from_latin, in_use, read_journal
from fileops.model.digest import content_digest
from fileops.model.events import DidRecover, RecoveredFile, RecoveryOutcome
from fileops.platform import descriptors, sync, syscalls
from fileops.platform.locks import try_lock
from fileops.platform.private_files import NotPrivate, open_private

MAX_AGE_S = 24 * 3600.0  # older backups are kept and reported, not restored
_MAX_EXCHANGES = 100  # each further one needs a foreign rename within microseconds
_GONE = {errno.ENOENT, errno.ENOTDIR}


class BusyError(Exception):
    """A live process is writing one of the files. The recovery is tried again later."""


class _Found(Struct, frozen=True, kw_only=True):
    """The file at a name. digest: of its content."""

    status: os.stat_result
    digest: str

    def is_new(self, step: SetStep) -> bool:
        return (self.status.st_ino, self.digest) == (step.new_ino, step.new_digest)

    def is_old(self, step: SetStep) -> bool:
        """Return whether it is the old file.

        If a set only changes permissions, the new file has equal content, but another inode.
        """
        return self.digest == step.digest and self.status.st_ino != step.new_ino


class RollBack:
    """Takes back the steps of one set.

    is_own: this process has just made them, so it holds the locks, and a file that it took out of a name was the last
    one there, even if its bytes differ.
    """

    def __init__(self, record: SetRecord, opener: Opener, *, is_own: bool) -> None:
        self._record, self._opener, self._is_own = record, opener, is_own
        self._is_old = time.time() - record.prepared_at > MAX_AGE_S and not is_own
        self._locked: list[int] = []

    def run(self) -> tuple[RecoveredFile, ...]:
        """Return the files that could not be restored, and those that were. Raises: BusyError, OSError."""
        try:
            if not self._is_own:
                self._lock_all()
            outcomes = [self._take_back(step) for step in reversed(self._record.steps)]
        finally:
            for fd in self._locked:
                descriptors.close(fd)
        return tuple(reversed(outcomes))

    def _lock_all(self) -> None:
        """Keep other daemons from the files until the set is settled. Raises: BusyError, OSError."""
        for step in self._record.steps:
            for path in filter(None, (step.path, step.new_path)):
                try:
                    fd = self._opener(from_latin(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
                except OSError:
                    continue  # there is none, or it is not ours
                self._locked.append(fd)
                if not try_lock(fd):
                    raise BusyError

    def _take_back(self, step: SetStep) -> RecoveredFile:
        folder, name = folder_of(step.file_path), os.path.basename(step.file_path)
        try:
            dir_fd = open_folder(folder, self._opener)
        except OSError as error:
            if error.errno not in {*_GONE, errno.ELOOP}:
                raise
            return RecoveredFile(file_path=step.file_path, outcome="left")  # its folder was moved
        try:
            outcome, kept_as = self._back(step, name, dir_fd)
            sync.sync_folder(dir_fd)
        finally:
            descriptors.close(dir_fd)
        return RecoveredFile(
            file_path=step.file_path, outcome=outcome, kept_as=None if kept_as is None else f"{folder}/{kept_as}"
        )

    def _back(self, step: SetStep, name: str, dir_fd: int) -> tuple[RecoveryOutcome, str | None]:
        if self._is_old:
            return "left", self._keep(step, name, dir_fd)
        match step.kind:
            case "swap":
                return self._swap_back(step, name, dir_fd)
            case "make":
                return self._unmake(step, name, dir_fd), None
            case "drop":
                return self._undrop(step, name, dir_fd)
            case "move":
                return self._move_back(step, name, dir_fd)

    # --- one step ------------------------------------------------------------------------------------------------

    def _swap_back(self, step: SetStep, name: str, dir_fd: int) -> tuple[RecoveryOutcome, str | None]:
        present = _find(name, dir_fd)
        ours = [_find(own_name, dir_fd) for own_name in (step.kept, step.temp)]
        is_waiting = any(found is not None and found.status.st_ino == step.new_ino for found in ours)
        if is_waiting or (present is not None and present.is_old(step)):  # the new file does not have the name
            clear(step, dir_fd)
            return "unchanged", None
        old_name = self._old_name(step, dir_fd)
        if present is None or not present.is_new(step):
            kept = self._keep(step, name, dir_fd)
            if kept is None:
                clear(step, dir_fd)
            return "left", kept
        if old_name is None:
            return "left", None  # another program has removed the backup
        if not _exchange_back(name, old_name, dir_fd, step.new_ino):
            os.rename(old_name, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
        clear(step, dir_fd)
        return "restored", None

    def _unmake(self, step: SetStep, name: str, dir_fd: int) -> RecoveryOutcome:
        present = _find(name, dir_fd)
        had_temp = _remove_if(step.temp, dir_fd, lambda found: found.status.st_ino == step.new_ino)
        if present is None:
            return "unchanged"
        if not present.is_new(step):
            return "unchanged" if had_temp else "left"
        # It is renamed before it is removed: what another program puts there in this moment is noticed and put back.
        if not syscalls.rename_exclusive(name, step.temp, dir_fd):
            os.unlink(name, dir_fd=dir_fd)
            return "restored"
        taken = _find(step.temp, dir_fd)
        if taken is not None and not taken.is_new(step):
            syscalls.rename_exclusive(step.temp, name, dir_fd)
            return "left"
        os.unlink(step.temp, dir_fd=dir_fd)
        return "restored"

    def _undrop(self, step: SetStep, name: str, dir_fd: int) -> tuple[RecoveryOutcome, str | None]:
        present, backup = _find(name, dir_fd), _find(step.backup, dir_fd)
        if present is not None:
            if backup is None or present.is_old(step):
                clear(step, dir_fd)
                return "unchanged", None
            return "left", self._keep(step, name, dir_fd)
        if backup is None or not self._is_trusted(backup, step):
            return "left", None
        try:
            _rename_exclusively(step.backup, name, dir_fd, dir_fd)
        except FileExistsError:  # made by another program in this moment
            return "left", self._keep(step, name, dir_fd)
        return "restored", None

    def _move_back(self, step: SetStep, name: str, dir_fd: int) -> tuple[RecoveryOutcome, str | None]:
        new_path = from_latin(step.new_path)
        new_name = os.path.basename(new_path)
        try:
            new_fd = open_folder(folder_of(new_path), self._opener)
        except OSError as error:
            if error.errno not in _GONE:
                raise
            return ("left" if _find(name, dir_fd) is None else "unchanged"), None
        try:
            present, moved = _find(name, dir_fd), _find(new_name, new_fd)
            is_ours = moved is not None and moved.status.st_ino == step.ino and (self._is_own or moved.is_old(step))
            if present is not None and moved is not None and is_ours:
                if os.path.samestat(present.status, moved.status):  # linked, and not yet unlinked
                    os.unlink(new_name, dir_fd=new_fd)
                    return "unchanged", None
                kept = f"{name}.fileops-before-{self._record.set_id}"
                _rename_exclusively(new_name, kept, new_fd, dir_fd)
                return "left", kept
            if present is not None:
                return "unchanged", None
            if not is_ours:
                return "left", None
            try:
                _rename_exclusively(new_name, name, new_fd, dir_fd)
            except FileExistsError:
                return "left", None
            sync.sync_folder(new_fd)
            return "restored", None
        finally:
            descriptors.close(new_fd)

    # --- our own files -------------------------------------------------------------------------------------------

    def _is_trusted(self, found: _Found, step: SetStep) -> bool:
        if self._is_own:
            return True
        status = found.status
        return found.is_old(step) and (status.st_uid, stat.S_IMODE(status.st_mode)) == (step.uid, step.mode)

    def _old_name(self, step: SetStep, dir_fd: int) -> str | None:
        """Return our name that the old file has now; None if it has none."""
        for name in filter(None, (step.backup, step.temp)):
            found = _find(name, dir_fd) if is_set_file(name) else None
            if found is not None and found.status.st_ino != step.new_ino and self._is_trusted(found, step):
                return name
        return None

    def _keep(self, step: SetStep, name: str, dir_fd: int) -> str | None:
        """Keep the old file beside what is there now. Return its name; None if there is no old file to keep."""
        old_name = self._old_name(step, dir_fd)
        if old_name is None:
            return None
        kept = f"{name}.fileops-before-{self._record.set_id}"
        try:
            _rename_exclusively(old_name, kept, dir_fd, dir_fd)
        except FileExistsError:
            return old_name
        for other in filter(None, (step.kept, step.temp, step.backup)):
            _remove_if(other, dir_fd, lambda found: found.is_new(step))
        return kept


def clear(step: SetStep, dir_fd: int) -> None:
    """Remove our own files of a settled step: its file is intact under its own name."""
    for name in {step.kept, step.temp, step.backup} - {""}:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=dir_fd)


def recover_all(sets_folder: str, opener: Opener, on_recovered: Callable[[DidRecover], None]) -> tuple[int, bool]:
    """Settle the sets of dead processes. Return how many, and whether none is left for later. Never fails.

    on_recovered: called with what was done, unless none of it concerns a person.
    """
    try:
        dir_fd = os.open(sets_folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return 0, True
    except OSError:
        return 0, False
    n_settled, is_done = 0, True
    try:
        for name in os.listdir(dir_fd):
            if name.endswith(".journal") and name not in in_use:
                is_settled = _recover(name, dir_fd, opener, on_recovered)
                n_settled += is_settled
                is_done = is_done and is_settled
    except OSError:
        is_done = False
    finally:
        descriptors.close(dir_fd)
    return n_settled, is_done


def _recover(name: str, dir_fd: int, opener: Opener, on_recovered: Callable[[DidRecover], None]) -> bool:
    """Return whether the journal was settled and removed."""
    try:
        fd = open_private(name, dir_fd)
    except FileNotFoundError:
        return True  # by another process
    except (OSError, NotPrivate):
        return False
    try:
        if not try_lock(fd) or os.fstat(fd).st_nlink == 0:
            return False  # its creator lives, or another process has just settled it
        files = _settled(read_journal(fd), opener)
        os.unlink(name, dir_fd=dir_fd)
    except (OSError, BusyError):
        return False
    finally:
        descriptors.close(fd)
    if any(file.outcome != "unchanged" for file in files):
        on_recovered(DidRecover(set_id=name.removesuffix(".journal"), files=files))
    return True


def _settled(journal: ReadJournal, opener: Opener) -> tuple[RecoveredFile, ...]:
    """Raises: OSError, BusyError."""
    if journal.record is None:
        _clear_folders(journal.folders, opener)
        remove_folders(journal.folders, opener)
        return ()
    if journal.is_committed:
        finish(journal.record.steps, opener)
        return ()
    files = RollBack(journal.record, opener, is_own=False).run()
    remove_folders(journal.folders, opener)
    return files


def finish(steps: Sequence[SetStep], opener: Opener) -> None:
    """Remove the backups of an applied set. Raises: OSError."""
    for step in steps:
        if step.kind == "move":
            continue
        try:
            dir_fd = open_folder(folder_of(step.file_path), opener)
        except OSError as error:
            if error.errno not in {*_GONE, errno.ELOOP}:
                raise
            continue
        try:
            clear(step, dir_fd)
        finally:
            descriptors.close(dir_fd)


def _clear_folders(folders: Sequence[str], opener: Opener) -> None:
    """Remove the temp files of dead processes from folders that may never be used again."""
    for folder in folders:
        with suppress(OSError):
            dir_fd = open_folder(folder, opener)
            try:
                for leftover in list_own_files(dir_fd):
                    if leftover.kind == "tmp":
                        remove_if_dead(leftover, dir_fd)
            finally:
                descriptors.close(dir_fd)


def remove_folders(folders: Sequence[str], opener: Opener) -> None:
    """Remove the folders that the set created, if they are empty."""
    for folder in reversed(folders):
        with suppress(OSError):
            dir_fd = open_folder(folder_of(folder), opener)
            try:
                os.rmdir(os.path.basename(folder), dir_fd=dir_fd)
            finally:
                descriptors.close(dir_fd)


def _find(name: str, dir_fd: int) -> _Found | None:
    """Return the regular file at a name, or None. Anything else equals no file that we know."""
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=dir_fd)
    except FileNotFoundError:
        return None
    except OSError:
        status = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
        return _Found(status=status, digest="?")
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return _Found(status=status, digest="?")
        data = sync.read_at(fd, 0, status.st_size + 1)
        return _Found(status=status, digest=content_digest(data).hex())
    finally:
        descriptors.close(fd)


def _remove_if(name: str, dir_fd: int, is_ours: Callable[[_Found], bool]) -> bool:
    """Remove a file if it is this one; return whether it was removed."""
    found = _find(name, dir_fd)
    if found is None or not is_ours(found):
        return False
    os.unlink(name, dir_fd=dir_fd)
    return True


def _rename_exclusively(source: str, target: str, dir_fd: int, target_dir_fd: int) -> None:
    """Raises: FileExistsError, OSError."""
    if not syscalls.rename_exclusive(source, target, dir_fd, target_dir_fd):
        os.link(source, target, src_dir_fd=dir_fd, dst_dir_fd=target_dir_fd, follow_symlinks=False)
        os.unlink(source, dir_fd=dir_fd)


def _exchange_back(name: str, old_name: str, dir_fd: int, new_ino: int) -> bool:
    """Exchange the old file into its place. Return False if the filesystem cannot. Raises: OSError.

    If the file that comes out is not ours, another program has just put it there. It is the latest, so the two change
    roles and are exchanged again; see `commit._restore`, which has the same loop for one file.
    """
    expected = new_ino
    for _ in range(_MAX_EXCHANGES):
        put_in = os.stat(old_name, dir_fd=dir_fd, follow_symlinks=False).st_ino
        if not syscalls.exchange(name, old_name, dir_fd):
            return False
        taken_out = os.stat(old_name, dir_fd=dir_fd, follow_symlinks=False).st_ino
        if taken_out == expected:
            return True
        expected = put_in
    return True
