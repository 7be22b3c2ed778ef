"""Restores the files of a change set, or clears up after it: after a failure, and after the death of a daemon.

A set that was not committed goes back, never forward, since no answer has said that it was applied. What is found at
each name decides, so an interrupted recovery is simply repeated. For one file these are the cases:

- It is as the set left it (inode and content): the old file is put back in its place.
- It is as it was before: only our own files have to be removed.
- It is anything else, or gone: another program has written it since. It is left alone, and the old file is kept beside
  it under a name that people understand (`NAME.fileops-before-ID`).

A step ends only when its files were seen: if its folder is not there (`named_folders.py`), or an operation fails, the
step waits, and the journal says which of the others are settled.

A recovery after a death trusts a backup only if its bytes, owner and mode are those in the journal, and if it has one
of our names in the folder of its file. So a forged journal can at most restore a file that is there anyway.
"""

import errno
import os
import stat
import time
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count

from msgspec import Struct

from fileops.core.roots import folder_of
from fileops.fs.local.directories import open_folder
from fileops.fs.local.named_folders import AwayError, NamedFolder, Unsettled, is_there, open_named
from fileops.fs.local.nofollow import Opener
from fileops.fs.local.own_files import is_set_file, list_own_files, remove_if_dead
from fileops.fs.local.set_journal import (
    SUFFIXES,
    ReadJournal,
    SetRecord,
    SetStep,
    SettledStep,
    from_latin,
    in_use,
    note_settled,
    read_journal,
    to_latin,
)
from fileops.model.digest import content_digest
from fileops.model.events import DidRecover, RecoveredFile, RecoveryOutcome
from fileops.platform import descriptors, sync, syscalls
from fileops.platform.locks import try_lock
from fileops.platform.private_files import NotPrivate, open_private

MAX_AGE_S = 24 * 3600.0  # older backups are kept and reported, not restored
_MAX_EXCHANGES = 100  # each further one needs a foreign rename within microseconds
_NOT_OURS = {errno.ELOOP, errno.ENXIO, errno.EACCES, errno.EPERM}  # a link, a socket, a file that cannot be read
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
_MAX_NAME_BYTES = 255


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


class _Work:
    """The steps of one set, while they are taken back or finished: its open folders, and what became of each step.

    used: see `open_named`.
    """

    def __init__(self, steps: Sequence[SetStep], opener: Opener, used: NamedFolder | None) -> None:
        self.steps = steps
        self.outcomes: dict[int, RecoveredFile] = {}
        self.waiting: dict[int, NamedFolder] = {}
        self.reason: str | None = None  # of the first step that waits
        self._opener, self._used = opener, used
        self._folders: dict[NamedFolder, tuple[int, str]] = {}

    def folder_of(self, step: SetStep) -> tuple[int, str]:
        """Return the open folder of a step, and its path. Raises: AwayError, OSError."""
        return self._open(NamedFolder(folder_of(step.file_path), step.folder_ino), step)

    def new_folder_of(self, step: SetStep) -> tuple[int, str]:
        """Raises: AwayError, OSError."""
        return self._open(NamedFolder(folder_of(from_latin(step.new_path)), step.new_folder_ino), step)

    def _open(self, named: NamedFolder, step: SetStep) -> tuple[int, str]:
        if named not in self._folders:
            own_names = filter(None, (step.kept, step.temp, step.backup))
            self._folders[named] = open_named(named, self._opener, self._used, own_names)
        return self._folders[named]

    def run(self, settle: Callable[[SetStep], RecoveredFile], done: Container[int] = ()) -> None:
        """Settle each step that is not done, the last one first. A step that cannot be settled now waits."""
        for index, step in reversed(list(enumerate(self.steps))):
            if index in done:
                continue
            try:
                self.outcomes[index] = settle(step)
            except AwayError as away:
                self._wait(index, away.folder, f"{away.folder.path} is not there")
            except OSError as error:
                reason = f"{step.file_path}: {os.strerror(error.errno or 0).lower()}"
                self._wait(index, NamedFolder(folder_of(step.file_path), step.folder_ino), reason)

    def _wait(self, index: int, named: NamedFolder, reason: str) -> None:
        self.waiting[index] = named
        self.reason = self.reason or reason

    def close(self) -> None:
        for fd, _ in self._folders.values():
            descriptors.close(fd)


class RollBack:
    """Takes back the steps of one set.

    is_own: this process has just made them, so it holds the locks, and a file that it took out of a name was the last
    one there, even if its bytes differ. used: see `open_named`. last_tried_at: when a recovery last had to wait.
    """

    def __init__(
        self,
        record: SetRecord,
        opener: Opener,
        *,
        is_own: bool,
        used: NamedFolder | None = None,
        last_tried_at: float = 0.0,
    ) -> None:
        self._record, self._is_own = record, is_own
        self._is_old = time.time() - max(record.prepared_at, last_tried_at) > MAX_AGE_S and not is_own
        self._locked: list[int] = []
        self.work = _Work(record.steps, opener, used)

    def run(self, done: Container[int] = ()) -> None:
        """Take back each step that is not done; `work` says what became of it. Raises: BusyError."""
        try:
            if not self._is_own:
                self._lock_all(done)
            self.work.run(self._take_back, done)
        finally:
            for fd in self._locked:
                descriptors.close(fd)
            self.work.close()

    def _lock_all(self, done: Container[int]) -> None:
        """Keep other daemons from the files until the set is settled. Raises: BusyError."""
        descriptors.make_room(2 * len(self._record.steps))
        for index, step in enumerate(self._record.steps):
            if index in done:
                continue
            self._lock(step.file_path, partial(self.work.folder_of, step))
            if step.kind == "move":
                self._lock(from_latin(step.new_path), partial(self.work.new_folder_of, step))

    def _lock(self, path: str, open_folder_of: Callable[[], tuple[int, str]]) -> None:
        """Raises: BusyError. A file that cannot be opened is met again when its step is taken back."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            dir_fd, _ = open_folder_of()
            fd = os.open(os.path.basename(path), flags, dir_fd=dir_fd)
        except (AwayError, OSError) as error:
            if isinstance(error, OSError) and error.errno in _EXHAUSTED:
                raise BusyError from error
            return
        self._locked.append(fd)
        if not try_lock(fd):
            raise BusyError

    def _take_back(self, step: SetStep) -> RecoveredFile:
        """Raises: AwayError, OSError."""
        dir_fd, folder = self.work.folder_of(step)
        name = os.path.basename(step.file_path)
        outcome, kept_as = self._back(step, name, dir_fd)
        sync.sync_folder(dir_fd)
        return RecoveredFile(
            file_path=f"{folder}/{name}" if folder != "/" else f"/{name}",
            outcome=outcome,
            kept_as=None if kept_as is None else f"{folder}/{kept_as}",
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
        new_name = os.path.basename(from_latin(step.new_path))
        present = _find(name, dir_fd)
        try:
            new_fd, _ = self.work.new_folder_of(step)
        except AwayError:
            if present is not None and present.status.st_ino == step.ino:
                return "unchanged", None  # it was not moved
            raise
        moved = _find(new_name, new_fd)
        is_ours = moved is not None and moved.status.st_ino == step.ino and (self._is_own or moved.is_old(step))
        if present is not None and moved is not None and is_ours:
            if os.path.samestat(present.status, moved.status):  # linked, and not yet unlinked
                os.unlink(new_name, dir_fd=new_fd)
                return "unchanged", None
            return "left", self._rename_to_kept(new_name, name, new_fd, dir_fd)
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
        kept = self._rename_to_kept(old_name, name, dir_fd, dir_fd)
        for other in filter(None, (step.kept, step.temp, step.backup)):
            _remove_if(other, dir_fd, lambda found: found.is_new(step))
        return kept

    def _rename_to_kept(self, source: str, name: str, dir_fd: int, target_dir_fd: int) -> str:
        """Give a file a name beside `name` that people understand, and return it. Raises: OSError."""
        for number in count(1):
            suffix = f".fileops-before-{self._record.set_id}{'' if number == 1 else f'-{number}'}"
            kept = _cut_name(name, _MAX_NAME_BYTES - len(suffix)) + suffix
            with suppress(FileExistsError):
                _rename_exclusively(source, kept, dir_fd, target_dir_fd)
                return kept
        raise AssertionError  # `count` does not end


def clear(step: SetStep, dir_fd: int) -> None:
    """Remove our own files of a settled step: its file is intact under its own name."""
    for name in {step.kept, step.temp, step.backup} - {""}:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=dir_fd)


class RecoveredSets(Struct, frozen=True, kw_only=True):
    """What a look at all journals has found.

    is_done: whether no journal was passed over because a process uses it. unsettled: by the journals' names.
    """

    n_settled: int = 0
    is_done: bool = True
    unsettled: Mapping[str, Unsettled] = {}


def recover_all(
    sets_folder: str,
    opener: Opener,
    on_recovered: Callable[[DidRecover], None],
    used: NamedFolder | None,
    unsettled: Mapping[str, Unsettled],
) -> RecoveredSets:
    """Settle the sets of dead processes. Never fails.

    on_recovered: called with what was done, unless none of it concerns a person. used: the folder that is the reason.
    unsettled: those of the last call, which are tried again only if one of their folders is there.
    """
    try:
        dir_fd = os.open(sets_folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return RecoveredSets()
    except OSError:
        return RecoveredSets(is_done=False, unsettled=unsettled)
    n_settled, is_done, left = 0, True, dict[str, Unsettled]()
    try:
        for name in os.listdir(dir_fd):
            if not name.endswith(SUFFIXES) or name in in_use:
                continue
            known = unsettled.get(name)
            if known is not None and not any(is_there(folder, opener, used) for folder in known.folders):
                left[name] = known
                continue
            try:
                files, waiting = _recover(name, dir_fd, f"{sets_folder}/{name}", opener, used)
            except BusyError:
                is_done = False
                continue
            if waiting is None:
                n_settled += 1
            else:
                left[name] = waiting
            is_news = known is None and waiting is not None and not waiting.is_applied
            waits_for = {folder.path for folder in waiting.folders} if waiting is not None and is_news else set[str]()
            if waits_for or any(file.outcome != "unchanged" for file in files):
                set_id = name.partition(".")[0]
                on_recovered(DidRecover(set_id=set_id, files=files, waits_for=tuple(sorted(waits_for))))
    except OSError:
        is_done = False
    finally:
        descriptors.close(dir_fd)
    return RecoveredSets(n_settled=n_settled, is_done=is_done, unsettled=left)


def _recover(
    name: str, dir_fd: int, path: str, opener: Opener, used: NamedFolder | None
) -> tuple[tuple[RecoveredFile, ...], Unsettled | None]:
    """Return the files that were settled, and what is left: None if the journal was removed. Raises: BusyError."""
    try:
        fd = open_private(name, dir_fd, writes=True)
    except FileNotFoundError:
        return (), None  # removed by another process
    except NotPrivate as refused:
        return (), Unsettled(journal=path, reason=f"it {refused.reason}")
    except OSError as error:
        return (), Unsettled(journal=path, reason=os.strerror(error.errno or 0).lower())
    try:
        if not try_lock(fd) or os.fstat(fd).st_nlink == 0:
            raise BusyError  # its creator lives, or another process has just settled it
        journal = read_journal(fd)
        if journal.is_damaged:
            return (), Unsettled(journal=path, reason="it is damaged, or of a newer version")
        files, waiting = _settle(journal, fd, path, opener, used)
        if waiting is None:
            os.unlink(name, dir_fd=dir_fd)
        return files, waiting
    except OSError as error:
        raise BusyError from error
    finally:
        descriptors.close(fd)


def _settle(
    journal: ReadJournal, fd: int, path: str, opener: Opener, used: NamedFolder | None
) -> tuple[tuple[RecoveredFile, ...], Unsettled | None]:
    """See `_recover`. Raises: OSError, BusyError."""
    if journal.record is None:
        _clear_folders(journal.folders, opener)
        remove_folders(journal.folders, opener)
        return (), None
    done = {step.index for step in journal.settled}
    if journal.is_committed:
        work = _Work(journal.record.steps, opener, used)
        try:
            work.run(partial(_finish, work), done)
        finally:
            work.close()
    else:
        last_tried_at = os.fstat(fd).st_mtime
        roll_back = RollBack(journal.record, opener, is_own=False, used=used, last_tried_at=last_tried_at)
        roll_back.run(done)
        work = roll_back.work
    # Also before the folders of the set are removed: if this process dies then, they would seem to be away.
    if work.outcomes and (work.waiting or journal.folders):
        news = tuple(_as_settled(index, file) for index, file in work.outcomes.items())
        note_settled(fd, journal, journal.settled + news)
    if not work.waiting:
        if not journal.is_committed:
            remove_folders(journal.folders, opener)
        files = () if journal.is_committed else _in_order(journal, work)
        return files, None
    os.utime(fd)
    folders = tuple(set(work.waiting.values()))
    waiting = Unsettled(
        journal=path,
        reason=work.reason or "",
        folders=folders,
        n_files=len(work.waiting),
        is_applied=journal.is_committed,
    )
    return (() if journal.is_committed else tuple(work.outcomes.values())), waiting


def _in_order(journal: ReadJournal, work: _Work) -> tuple[RecoveredFile, ...]:
    """Return what became of all files, in the order of the steps: now, or when an earlier recovery had to wait."""
    assert journal.record is not None
    files = dict(work.outcomes)
    for step in journal.settled:
        kept_as = None if step.kept_as is None else from_latin(step.kept_as)
        path = journal.record.steps[step.index].file_path
        files[step.index] = RecoveredFile(file_path=path, outcome=step.outcome, kept_as=kept_as)
    return tuple(files[index] for index in sorted(files))


def _as_settled(index: int, file: RecoveredFile) -> SettledStep:
    kept_as = None if file.kept_as is None else to_latin(file.kept_as)
    return SettledStep(index=index, outcome=file.outcome, kept_as=kept_as)


def _finish(work: _Work, step: SetStep) -> RecoveredFile:
    """Remove the backup of a step of an applied set. Raises: AwayError, OSError."""
    if step.kind != "move":
        dir_fd, _ = work.folder_of(step)
        clear(step, dir_fd)
    return RecoveredFile(file_path=step.file_path, outcome="unchanged")


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
    except OSError as error:
        if error.errno not in _NOT_OURS:
            raise
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


def _cut_name(name: str, max_bytes: int) -> str:
    """Return the start of a file name, at most `max_bytes` long, without half a character."""
    cut = os.fsencode(name)[:max_bytes]
    if len(cut) == len(os.fsencode(name)):
        return name
    return os.fsdecode(cut.decode(errors="ignore").encode() if _is_utf8(name) else cut)


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
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
