"""Commits a change set: several files of the local disk, all of them or none, even if the process dies in between.

The steps, each of which may fail or be the last one of the process:

- S1. All files are locked (`WriteTargets.open_targets` has the order), and compared with what the set was planned on.
- S2. Folders are made, and noted in the journal before that. Each new content is written to a temp file beside its
  target, which gets the old file's metadata and is synced.
- S3. The journal says what is at each name before and after, and is synced. The set is PREPARED.
- S4. The names change, one system call for each. The old file keeps one of our names beside its target: the backup.
- S5. The folders are synced, and each old file is compared once more. The journal is marked COMMITTED, and synced: the
  set is applied.
- S6. Backups and journal are removed.

Why every end is all-before or all-after: until COMMITTED is on the disk, the journal is there as soon as the first name
may have changed (it was synced in S3), and each step can be undone from what is found on the disk: the old file is
at its name, or at its backup's. After COMMITTED there is nothing to undo. `set_recovery.py` does both, after a
failure and after a death. Names that change in S4 need no further sync for that: if a power failure loses some
of them, those files are as before, and the recovery finds them so.

Why the temp files of replaced files are renamed between S3 and S4: the temp file of an exchange becomes the backup. A
`.tmp` file of a dead process is removed by every daemon, also by one that cannot see this journal; a `.set` file is
not.

Other programs may see some files as before and some as after during S4, because no system call changes several names.
Other daemons wait: they hold or want the locks of the files (flock on the old and on the new inode).
"""

import errno
import os
import stat
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress

from msgspec import Struct, field
from msgspec.structs import replace as with_changes

from fileops.core import splices as core_splices
from fileops.core.roots import folder_of
from fileops.core.stamps import same_stamp
from fileops.fs.local import commit, nofollow
from fileops.fs.local.commit import NO_RENAME, CannotReplaceError, TempFile
from fileops.fs.local.commit_checks import CommitChecks, own_status
from fileops.fs.local.directories import NO_PLACE, open_folder
from fileops.fs.local.nofollow import Opener
from fileops.fs.local.own_files import new_name, release
from fileops.fs.local.recent_writes import RecentWrites
from fileops.fs.local.set_journal import SetJournal, SetStep, StepKind, new_record, to_latin
from fileops.fs.local.set_recovery import RollBack, clear, remove_folders
from fileops.fs.local.write_target import WriteTarget, WriteTargets, inode_of, require_writable
from fileops.fs.os_errors import at_path
from fileops.model.changes import FilePlan
from fileops.model.digest import content_digest
from fileops.model.errors import AlreadyExists, SetConflict, SetUnsupported
from fileops.model.files import CommitReport, Committed, Snapshot
from fileops.model.internal_errors import PathMoved, Stale
from fileops.platform import descriptors, sync, syscalls, umask
from fileops.ports import SetHooks

_NO_LINK = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}


class _SetStep(Struct, kw_only=True):
    """A step of the set and its open files. data: the new content; target: the old file, None for a creation."""

    file: FilePlan
    record: SetStep
    path: str
    dir_fd: int
    data: bytes = b""
    target: WriteTarget | None = None
    temp: TempFile | None = None
    new_dir_fd: int = -1
    is_synced: bool = True
    written: os.stat_result | None = None

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    @property
    def new_status(self) -> os.stat_result:
        assert self.written is not None
        return self.written


class SetCommit(Struct, kw_only=True):
    """One change set on its way to the disk. on_kept: called if one of our files had to stay in this folder."""

    set_id: str
    files: Sequence[FilePlan]
    hooks: SetHooks
    opener: Opener
    targets: WriteTargets
    writes: RecentWrites
    sets_folder: str
    on_kept: Callable[[str], None]
    _steps: list[_SetStep] = field(default_factory=list[_SetStep])
    _folders: dict[str, int] = field(default_factory=dict[str, int])  # open ones
    _made: list[str] = field(default_factory=list[str])

    def run(self) -> tuple[Committed, ...]:
        """Commit the set.

        Raises: Stale, PathMoved, SetUnsupported, SetConflict, AlreadyExists, OSError, and what the hooks raise.

        After an exception nothing has changed, except after SetConflict, which says what could not be restored.
        """
        with ExitStack() as held:
            self._lock(held)
            with SetJournal(self.sets_folder, self.set_id) as journal:
                try:
                    self._prepare(held, journal)
                except BaseException:
                    self._drop_temps()  # before the folders, which would not be empty
                    remove_folders(self._made, self.opener)
                    journal.remove()
                    raise
                self._change(held, journal)
                committed = self._list_committed()
                self._clear_up(journal)
                self.hooks.after(committed)
                return committed

    # --- S1: lock and compare --------------------------------------------------------------------------------------

    def _lock(self, held: ExitStack) -> None:
        existing = {file.snapshot.path: file for file in self.files if file.snapshot.stamp is not None}
        others = [file.snapshot.path for file in self.files if file.snapshot.stamp is None]
        others += [file.new_path for file in self.files if file.new_path is not None]
        targets = held.enter_context(self.targets.open_targets(list(existing), others))
        for file in self.files:
            with at_path(file.snapshot.path):
                self._steps += self._steps_of(file, targets.get(file.snapshot.path))
        owner = next((target.status.st_uid for target in targets.values()), None)
        for path, target in targets.items():
            if target.status.st_uid != owner:
                with at_path(path):
                    raise SetUnsupported(reason="the files belong to different users")

    def _steps_of(self, file: FilePlan, target: WriteTarget | None) -> list[_SetStep]:
        """Return the steps for a file: a rename with another text creates a new file and removes the old one."""
        path, new_path = file.snapshot.path, file.new_path
        if target is None:
            data = core_splices.apply(b"", file.splices)
            return [_SetStep(file=file, record=_record("make", path), path=path, dir_fd=-1, data=data)]
        self._require_replaceable(file, target)
        old = _record("drop", path, target, file.snapshot)
        if file.removes:
            return [_SetStep(file=file, record=old, path=path, dir_fd=target.dir_fd, target=target)]
        data = core_splices.apply(file.snapshot.data, file.splices)
        if new_path is None:
            record = _record("swap", path, target, file.snapshot)
            return [_SetStep(file=file, record=record, path=path, dir_fd=target.dir_fd, target=target, data=data)]
        if data == file.snapshot.data and file.permissions is None:
            record = _record("move", path, target, file.snapshot, new_path)
            return [_SetStep(file=file, record=record, path=path, dir_fd=target.dir_fd, target=target, data=data)]
        make = _SetStep(file=file, record=_record("make", new_path), path=new_path, dir_fd=-1, target=target, data=data)
        return [make, _SetStep(file=file, record=old, path=path, dir_fd=target.dir_fd, target=target)]

    def _require_replaceable(self, file: FilePlan, target: WriteTarget) -> None:
        """Raises: Stale, SetUnsupported, OSError."""
        assert file.snapshot.stamp is not None
        if not same_stamp(file.snapshot.stamp, nofollow.stamp_of(target.status)):
            _require_content(target, file.snapshot.data)
        if target.status.st_nlink > 1:
            raise SetUnsupported(reason=f"{target.path} has hard links, so it can only be written in place")
        if not file.removes:
            require_writable(target)

    # --- S2, S3: everything that can be created before the first name changes ----------------------------------------

    def _prepare(self, held: ExitStack, journal: SetJournal) -> None:
        """Raises: as `run`."""
        self._make_folders(held, journal)
        for step in self._steps:
            with at_path(step.path):
                self._prepare_step(held, step)
        for step in self._steps:
            step.record = with_changes(
                step.record,
                folder_ino=os.fstat(step.dir_fd).st_ino,
                new_folder_ino=0 if step.new_dir_fd == -1 else os.fstat(step.new_dir_fd).st_ino,
            )
        journal.prepare(new_record(self.set_id, tuple(step.record for step in self._steps)))

    def _prepare_step(self, held: ExitStack, step: _SetStep) -> None:
        """Raises: as `run`."""
        if step.record.kind == "move":
            assert step.file.new_path is not None
            step.new_dir_fd = self._folders[folder_of(step.file.new_path)]
            _require_free(step.file.new_path, step.new_dir_fd)
        elif step.record.kind == "drop":
            step.record = with_changes(step.record, backup=self._own_name(held))
        else:
            self._write_temp(held, step)

    def _make_folders(self, held: ExitStack, journal: SetJournal) -> None:
        """Open the folders of new names, and create those that are missing."""
        wanted = {
            folder_of(step.path if step.record.kind == "make" else step.file.new_path or "")
            for step in self._steps
            if step.record.kind in {"make", "move"}
        }
        missing = {folder for path in wanted for folder in self._find_missing(path)}
        if missing:
            self._made = sorted(missing)  # a folder sorts before those inside it
            journal.note_folders(tuple(self._made))
        for folder in self._made:
            self.hooks.prepare()
            parent_fd = self._open_folder(held, folder_of(folder))
            with suppress(FileExistsError):
                umask.make_folder(os.path.basename(folder), parent_fd)
            sync.sync_folder(parent_fd)
        for path in wanted:
            self._open_folder(held, path)
        for step in self._steps:
            if step.record.kind == "make":
                step.dir_fd = self._folders[folder_of(step.path)]

    def _find_missing(self, folder: str) -> list[str]:
        missing: list[str] = []
        while True:
            try:
                descriptors.close(open_folder(folder, self.opener))
            except FileNotFoundError:
                missing.append(folder)
                folder = folder_of(folder)
            else:
                return missing

    def _open_folder(self, held: ExitStack, folder: str) -> int:
        if folder not in self._folders:
            fd = open_folder(folder, self.opener)
            held.callback(descriptors.close, fd)
            self._folders[folder] = fd
        return self._folders[folder]

    def _own_name(self, held: ExitStack) -> str:
        name = new_name("set")
        held.callback(release, name)
        return name

    def _write_temp(self, held: ExitStack, step: _SetStep) -> None:
        """Write the new content beside the target, and sync it. Raises: SetUnsupported, OSError."""
        target = step.target

        def mode_of(status: os.stat_result) -> int:
            mode, permissions = stat.S_IMODE(status.st_mode), step.file.permissions
            return mode if permissions is None else permissions.apply_to(mode)

        try:
            temp = commit.make_temp(step.dir_fd, self._checks(step), is_new=target is None)
        except OSError as error:
            if error.errno in NO_PLACE and target is not None:
                raise SetUnsupported(reason=f"no file can be made in the folder of {step.path}") from error
            raise
        step.temp = held.enter_context(temp)
        if target is None:
            temp.fill(step.data)
            if step.file.permissions is not None:
                os.fchmod(temp.writing_fd, mode_of(os.fstat(temp.writing_fd)))
            step.is_synced = temp.finish()
            status = os.fstat(temp.fd)
        else:
            try:
                status, step.is_synced = commit.fill_replacement(temp, target, step.data, mode_of(target.status))
            except CannotReplaceError as refusal:
                raise SetUnsupported(reason=f"{step.path}: {refusal}") from refusal
        step.written = status
        held.enter_context(self.targets.hold_new(status))  # its temp name is its only one
        _require_free(step.path, step.dir_fd, is_wanted=step.record.kind == "make")
        step.record = with_changes(
            step.record,
            kept=temp.name,
            new_ino=status.st_ino,
            new_digest=content_digest(step.data).hex(),
            temp=temp.name if step.record.kind == "make" else self._own_name(held),
            backup="" if step.record.kind == "make" else self._own_name(held),
        )

    def _checks(self, step: _SetStep) -> CommitChecks:
        def do_nothing() -> None:
            """Do nothing: the set compares, begins and locks for all of its files together."""

        return CommitChecks(
            require_unchanged=do_nothing,
            prepare=self.hooks.prepare,
            before=do_nothing,
            hold=lambda _status: None,
            on_kept=lambda: self.on_kept(folder_of(step.path)),
        )

    def _drop_temps(self) -> None:
        for step in self._steps:
            if step.temp is not None:
                step.temp.drop()

    # --- S4, S5: the names change ------------------------------------------------------------------------------------

    def _change(self, held: ExitStack, journal: SetJournal) -> None:
        """Raises: as `run`."""
        try:
            for step in self._steps:
                with at_path(step.path):
                    self._require_unchanged(step)
            self.hooks.before()
            for step in self._steps:
                if step.record.kind == "swap":
                    assert step.temp is not None
                    os.rename(step.temp.name, step.record.temp, src_dir_fd=step.dir_fd, dst_dir_fd=step.dir_fd)
                    step.temp.is_in_place = True  # from here on it is a file of the set
            for step in self._steps:
                with at_path(step.path):
                    self._change_name(step)
            for dir_fd in self._distinct_folders():
                sync.sync_folder(dir_fd)
            for step in self._steps:
                self._require_untouched(step)
            journal.commit()
        except BaseException as error:
            self._roll_back(journal, error)
            raise

    def _distinct_folders(self) -> list[int]:
        """Return a descriptor of each folder in which names changed; the files of one folder have one each."""
        fds = {step.dir_fd for step in self._steps} | {step.new_dir_fd for step in self._steps} - {-1}
        return list({inode_of(os.fstat(fd)): fd for fd in fds}.values())

    def _require_unchanged(self, step: _SetStep) -> None:
        """Compare for the last time before the names change. Raises: Stale, PathMoved, OSError."""
        target = step.target
        if target is not None:
            if self.targets.inode_at(target.path) != inode_of(target.status):
                raise Stale(path=target.path)
            _require_content(target, step.file.snapshot.data)
        if step.record.kind in {"make", "move"}:
            new_path = step.path if step.record.kind == "make" else step.file.new_path or ""
            if self.targets.inode_at(folder_of(new_path)) != inode_of(os.fstat(self._folders[folder_of(new_path)])):
                raise PathMoved(path=new_path)

    def _change_name(self, step: _SetStep) -> None:
        """Raises: Stale, AlreadyExists, SetUnsupported, OSError."""
        try:
            match step.record.kind:
                case "swap":
                    self._swap(step)
                case "make":
                    assert step.temp is not None
                    _name_exclusively(step.record.temp, step.name, step.dir_fd, step.dir_fd)
                    step.temp.is_in_place = True
                case "drop":
                    _name_exclusively(step.name, step.record.backup, step.dir_fd, step.dir_fd)
                case "move":
                    new_name = os.path.basename(step.file.new_path or "")
                    _name_exclusively(step.name, new_name, step.dir_fd, step.new_dir_fd)
                    # It may be another file than the one that was compared; in that case this one has to be put back.
                    moved = os.stat(new_name, dir_fd=step.new_dir_fd, follow_symlinks=False)
                    step.record = with_changes(step.record, ino=moved.st_ino)
        except FileExistsError as error:
            raise AlreadyExists from error
        except FileNotFoundError as error:
            raise Stale(path=step.path) from error
        except OSError as error:
            if error.errno in NO_RENAME:
                raise SetUnsupported(reason=f"{step.path}: {os.strerror(error.errno or 0).lower()}") from error
            raise
        self._require_untouched(step)

    def _swap(self, step: _SetStep) -> None:
        """Put the new file in place, and keep the old one under one of our names.

        Without an exchange the old file gets a second name first. A file that another program renames over it between
        the last check and the rename is lost then, as in an edit of a single file on such a filesystem.
        """
        if syscalls.exchange(step.name, step.record.temp, step.dir_fd):
            return
        assert step.target is not None
        os.link(step.name, step.record.backup, src_dir_fd=step.dir_fd, dst_dir_fd=step.dir_fd, follow_symlinks=False)
        current = os.stat(step.name, dir_fd=step.dir_fd, follow_symlinks=False)
        if not os.path.samestat(current, step.target.status):
            raise Stale(path=step.path)
        os.rename(step.record.temp, step.name, src_dir_fd=step.dir_fd, dst_dir_fd=step.dir_fd)

    def _require_untouched(self, step: _SetStep) -> None:
        """Check that what was taken out of a name is what was compared before: see `commit`, "exchange and compare".

        Raises: Stale, after which everything is rolled back, so that a write by another program is restored.
        """
        target, record = step.target, step.record
        if target is None or record.kind == "make":
            return
        names = {"swap": (record.backup, record.temp), "drop": (record.backup,), "move": ()}[record.kind]
        places = [(name, step.dir_fd) for name in names]
        if record.kind == "move":
            places = [(os.path.basename(step.file.new_path or ""), step.new_dir_fd)]
        for name, dir_fd in places:
            with suppress(FileNotFoundError):
                if not commit.is_untouched(target, name, step.file.snapshot.data, dir_fd):
                    raise Stale(path=step.path)
                return
        raise Stale(path=step.path)

    def _roll_back(self, journal: SetJournal, error: BaseException) -> None:
        """Bring all files back. Raises: SetConflict, if some cannot be restored."""
        record = new_record(self.set_id, tuple(step.record for step in self._steps))
        roll_back = RollBack(record, self.opener, is_own=True)
        roll_back.run()
        for step in self._steps:
            if step.temp is not None:
                step.temp.is_in_place = True  # it was removed with the other files of the set, or the journal needs it
        files = [file for _, file in sorted(roll_back.work.outcomes.items())]
        left = [file for file in files if file.outcome == "left"]
        waiting = [self._steps[index].path for index in sorted(roll_back.work.waiting)]
        if waiting:
            for step in self._steps:
                self.on_kept(folder_of(step.path))  # the journal stays, and the next recovery continues here
        else:
            remove_folders(self._made, self.opener)
            journal.remove()
        if left or waiting:
            raise SetConflict(
                files=(*waiting, *(file.file_path for file in left)),
                kept=tuple(file.kept_as for file in left if file.kept_as is not None),
                reason=roll_back.work.reason or "another program has written while the set was applied",
            ) from error

    # --- S6 ----------------------------------------------------------------------------------------------------------

    def _clear_up(self, journal: SetJournal) -> None:
        """Remove backups and journal before the locks are released, so that waiters for an old file see it gone."""
        try:
            for step in self._steps:
                if step.record.kind != "move":
                    clear(step.record, step.dir_fd)
        except OSError:
            self.on_kept(folder_of(self._steps[0].path))  # the journal stays, and the next recovery continues
        else:
            journal.remove()

    def _list_committed(self) -> tuple[Committed, ...]:
        """Return what became of each file, in the order of `files`."""
        by_file: dict[int, Committed] = {}
        for step in self._steps:
            path, status, data = step.path, None, step.data
            if step.record.kind == "move":
                assert step.target is not None and step.file.new_path is not None
                path, status = step.file.new_path, os.fstat(step.target.fd)
            elif step.temp is not None:
                status = own_status(step.temp.fd, step.new_status)
            elif step.file.new_path is not None:
                continue  # the old name of a file that is reported under its new one
            if status is not None:
                self.writes.note(path, status)
            stamp = None if status is None else nofollow.stamp_of(status)
            snapshot = Snapshot(path=path, stamp=stamp, data=data, taken_ns=time.time_ns())
            by_file[id(step.file)] = Committed(snapshot=snapshot, report=_report(step))
        return tuple(by_file[id(file)] for file in self.files)


def _report(step: _SetStep) -> CommitReport:
    durability = "synced" if step.is_synced else "not_synced"
    if step.file.new_path is not None:
        return CommitReport(method="rename", durability=durability)
    if step.file.removes:
        return CommitReport(method="delete", durability=durability)
    return CommitReport(method="create" if step.target is None else "swap", durability=durability)


def _record(
    kind: StepKind, path: str, target: WriteTarget | None = None, snapshot: Snapshot | None = None, new_path: str = ""
) -> SetStep:
    if target is None or snapshot is None:
        return SetStep(kind=kind, path=to_latin(path), new_path=to_latin(new_path))
    return SetStep(
        kind=kind,
        path=to_latin(path),
        new_path=to_latin(new_path),
        ino=target.status.st_ino,
        digest=snapshot.digest.hex(),
        uid=target.status.st_uid,
        mode=stat.S_IMODE(target.status.st_mode),
    )


def _require_content(target: WriteTarget, data: bytes) -> None:
    if not sync.is_content(target.fd, data):
        raise Stale(path=target.path)


def _require_free(path: str, dir_fd: int, *, is_wanted: bool = True) -> None:
    """Raises: AlreadyExists."""
    if is_wanted and commit.exists(os.path.basename(path), dir_fd):
        raise AlreadyExists


def _name_exclusively(source: str, target: str, dir_fd: int, target_dir_fd: int) -> None:
    """Rename without replacing. Raises: FileExistsError, OSError."""
    if syscalls.rename_exclusive(source, target, dir_fd, target_dir_fd):
        return
    try:
        os.link(source, target, src_dir_fd=dir_fd, dst_dir_fd=target_dir_fd, follow_symlinks=False)
    except OSError as error:
        if error.errno in _NO_LINK:
            raise SetUnsupported(reason="this filesystem can neither exchange nor link files") from error
        raise
    os.unlink(source, dir_fd=dir_fd)
