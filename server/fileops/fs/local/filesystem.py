"""FileSystem of the local disk (see ports/files.py). It translates OSErrors and chooses how a change is committed.

Only `resolve` follows links. All other decisions are made on the file that was opened.
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress

from msgspec.structs import replace as with_changes

from fileops.concurrency import deferred
from fileops.core import splices as core_splices
from fileops.core.roots import folder_of
from fileops.core.stamps import same_stamp
from fileops.fs.local import commit, in_place, nofollow
from fileops.fs.local.commit import CannotReplaceError
from fileops.fs.local.commit_checks import CalledOnce, CommitChecks, Written, translate_commit_errors
from fileops.fs.local.directories import ensure_directory
from fileops.fs.local.in_place import AnotherFileError, JournalLocation
from fileops.fs.local.journal import JournalRegion, default_state_folder
from fileops.fs.local.named_folders import Unsettled
from fileops.fs.local.nofollow import Opener, is_unwritten
from fileops.fs.local.page_cache import MAX_BYTES, PageCacheReader
from fileops.fs.local.recent_writes import RecentWrites, may_be_written_now
from fileops.fs.local.recovery import Recovery
from fileops.fs.local.set_commit import SetCommit
from fileops.fs.local.stream import LocalStream
from fileops.fs.local.write_target import WriteTarget, WriteTargets, inode_of, require_writable
from fileops.fs.os_errors import translate
from fileops.fs.single_files import commit_with_singles
from fileops.fs.streams import BytesStream
from fileops.model.changes import FilePlan
from fileops.model.edits import Splice
from fileops.model.errors import FileMissing, FileOpsError
from fileops.model.events import DidRecover
from fileops.model.files import CommitReport, Committed, Snapshot, Stamp
from fileops.model.internal_errors import PathMoved, Stale
from fileops.platform import descriptors, sync
from fileops.platform.locks import wait_for_writers
from fileops.platform.memory import give_back_soon
from fileops.ports import CommitHooks, ContentStream, SetHooks

_PARTED = "the file was separated from its other hard links before it was written"  # see AnotherFileError
LARGE_BYTES = 1 << 20  # an edit of this size may need fifty times as much for a while
_DESCRIPTORS_OF_A_FILE = 3  # in a change set: the old file, the new one, and perhaps its folder
_MAX_TRIES = 8  # for steps that fail only if the file is replaced just then


class LocalFileSystem:
    """The local disk. `opener` opens canonical paths, by default the best of `nofollow.OPENERS` on this system.

    state_folder: for journals of files whose folder is not writable.
    """

    def __init__(self, *, opener: Opener | None = None, state_folder: str | None = None) -> None:
        self._opener = opener or nofollow.best_opener()
        self._targets = WriteTargets(self._opener)
        self._recovery = Recovery(self._opener, state_folder or default_state_folder())
        self._cached = PageCacheReader(may_be_written_now)
        self._writes = RecentWrites()

    # --- reading ----------------------------------------------------------------------------------------------

    def resolve(self, path: str) -> str:
        return nofollow.resolve(path, self._opener)

    def stat(self, path: str) -> Stamp | None:
        try:
            nofollow.require_not_special(path)
            fd = self._opener(path, nofollow.PATH_ONLY)
            try:
                status = os.fstat(fd)
                nofollow.require_regular(status, fd)
            finally:
                descriptors.close(fd)
        except OSError as error:
            failure = translate(error, path)
            if isinstance(failure, FileMissing):
                return None
            raise failure from error
        return nofollow.stamp_of(status)

    def open(self, path: str) -> ContentStream:
        """Open a file. A small one is read at once, so that a write in place during the read is noticed."""
        folder = folder_of(path)
        self._recovery.run_once(folder)
        fd, status, taken_ns = self._open(path)
        self._cached.note(folder, fd, status.st_dev)
        if status.st_nlink > 1 or status.st_size > MAX_BYTES:
            return LocalStream(path, fd, nofollow.stamp_of(status), taken_ns)
        data, status, taken_ns = self._read_untorn(path, fd, status, taken_ns)
        return BytesStream(data, nofollow.stamp_of(status), taken_ns)

    def try_open_cached(self, path: str) -> BytesStream | None:
        if not self._recovery.has_run(folder_of(path)):
            return None
        return self._cached.load(path)

    def has_stamp_at_once(self, path: str, stamp: Stamp) -> bool:
        """Return whether the file at a canonical path has this stamp; also False if the kernel would have to wait."""
        return self._cached.has_stamp(path, stamp)

    def read(self, path: str) -> Snapshot:
        self._recovery.run_once(folder_of(path))
        try:
            data, status, taken_ns = self._read_untorn(path, *self._open(path))
        except FileMissing:
            return Snapshot(path=path, stamp=None, data=b"", taken_ns=time.time_ns())
        if len(data) >= LARGE_BYTES:
            deferred.defer(give_back_soon)  # the memory for this content
        return Snapshot(path=path, stamp=nofollow.stamp_of(status), data=data, taken_ns=taken_ns)

    def _read_untorn(
        self, path: str, fd: int, status: os.stat_result, taken_ns: int
    ) -> tuple[bytes, os.stat_result, int]:
        """Read the whole content; open and read it again if it was written during the read. Closes `fd`."""
        n_tries = 0
        while True:
            try:
                data = _read_whole(fd, status.st_size)
                is_torn = not is_unwritten(status, os.fstat(fd))
            except OSError as error:
                raise translate(error, path) from error
            finally:
                descriptors.close(fd)
            n_tries += 1
            if not is_torn or n_tries == _MAX_TRIES:  # if it keeps changing, the compare refuses it
                return data, status, taken_ns
            fd, status, taken_ns = self._open(path)

    def _open(self, path: str) -> tuple[int, os.stat_result, int]:
        """Open a file, and open it again if it was replaced in between, which a link count of 0 shows."""
        try:
            for i in range(_MAX_TRIES):
                fd, named = nofollow.open_regular(path, self._opener)
                try:
                    has_waited = _wait_for_writers(fd, named)
                    taken_ns, status = time.time_ns(), os.fstat(fd)
                    nofollow.require_regular(status, fd)
                    # The opened file may differ from the one to which the path led just before, or may have been
                    # written since.
                    if not (has_waited and _is_same(named, status)) and _wait_for_writers(fd, status):
                        taken_ns, status = time.time_ns(), os.fstat(fd)
                except BaseException:
                    descriptors.close(fd)
                    raise
                if status.st_nlink or i == _MAX_TRIES - 1:
                    return fd, status, taken_ns
                descriptors.close(fd)
        except OSError as error:
            raise translate(error, path) from error
        raise AssertionError

    # --- writing ----------------------------------------------------------------------------------------------

    def replace(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        path = snapshot.path
        is_creating = snapshot.stamp is None
        self._recovery.run_once(folder_of(path))
        if snapshot.stamp is not None and snapshot.stamp.n_links > 1:
            # It is written in place, so another daemon may have died doing so since this folder was first used.
            self._recovery.run(folder_of(path))
        with translate_commit_errors(path, is_creating=is_creating):
            if is_creating:
                return self._create(snapshot, splices, hooks)
            with suppress(AnotherFileError), self._targets.open_target(path) as target:
                return self._change(target, snapshot, splices, hooks)
            # Only its content shows whether it is still the same file.
            with self._targets.open_target(path) as target:
                try:
                    return self._change(target, snapshot, splices, hooks)
                except AnotherFileError as error:
                    raise Stale(path=path) from error

    def remove(self, snapshot: Snapshot, hooks: CommitHooks) -> Committed:
        path = snapshot.path
        with translate_commit_errors(path), self._targets.open_target(path) as target, ExitStack() as held:
            report = commit.remove(target, self._checks(target, snapshot.data, hooks, held))
            gone = Snapshot(path=path, stamp=None, data=b"", taken_ns=time.time_ns())
            committed = Committed(snapshot=gone, report=report)
            hooks.after(committed)
            return committed

    def replace_set(
        self, set_id: str, files: Sequence[FilePlan], hooks: SetHooks, *, is_strict: bool = True
    ) -> tuple[Committed, ...]:
        for folder in {folder_of(path) for file in files for path in (file.snapshot.path, file.new_path) if path}:
            self._recovery.run_once(folder)
        descriptors.make_room(_DESCRIPTORS_OF_A_FILE * len(files))

        def commit_set(files: Sequence[FilePlan], hooks: SetHooks) -> tuple[Committed, ...]:
            return self._commit_files(set_id, files, hooks)

        if is_strict:
            return commit_set(files, hooks)
        stamps = ((file.snapshot.path, file.snapshot.stamp) for file in files)
        hard_links = [path for path, stamp in stamps if stamp is not None and stamp.n_links > 1]
        return commit_with_singles(self, set_id, files, hard_links, commit_set, hooks)

    def _commit_files(self, set_id: str, files: Sequence[FilePlan], hooks: SetHooks) -> tuple[Committed, ...]:
        with translate_commit_errors(files[0].snapshot.path):
            return SetCommit(
                set_id=set_id,
                files=files,
                hooks=hooks,
                opener=self._opener,
                targets=self._targets,
                writes=self._writes,
                sets_folder=self._recovery.sets_folder,
                on_kept=self._recovery.forget,
            ).run()

    def on_recovered(self, report: Callable[[DidRecover], None]) -> None:
        """Take what is called, on any thread, with the change sets of dead processes that are undone from now on."""
        self._recovery.on_recovered = report

    def lock_path(self, path: str) -> AbstractContextManager[object]:
        return self._targets.lock_path(path)

    def lock(self, path: str, *, waits: bool = True) -> AbstractContextManager[bool]:
        return self._targets.lock(path, waits=waits)

    def recover(self, folder: str) -> int:
        """Recover or remove the temp files and journals of dead processes in a canonical folder. Return how many.

        This also happens before the first use of a folder; calling it at the start does it early.
        """
        return self._recovery.run(folder)

    def list_unsettled(self) -> tuple[Unsettled, ...]:
        """Return the journals of dead processes that could not be ended yet."""
        return self._recovery.list_unsettled()

    def recover_all(self, folders: Sequence[str]) -> None:
        """Recover each of these folders (absolute paths) and the state folder, at the start. Never fails."""
        self._recovery.run_state()
        for folder in folders:
            with suppress(FileOpsError):
                self.recover(self.resolve(folder))

    @property
    def n_locks(self) -> int:
        """The number of locks in use."""
        return self._targets.n_locks

    def _change(
        self, target: WriteTarget, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks
    ) -> Committed:
        assert snapshot.stamp is not None
        if not same_stamp(snapshot.stamp, nofollow.stamp_of(target.status)):
            _require_content(target, snapshot.data)  # early; checked again before the commit
        new = core_splices.apply(snapshot.data, splices)
        with ExitStack() as held:
            checks = self._checks(target, snapshot.data, hooks, held)
            if new == snapshot.data:
                checks.require_unchanged()
                checks.before()
                written = Written(target.status, CommitReport(method="none", durability="synced"))
            else:
                require_writable(target)
                written = self._commit(
                    target, snapshot.data, new, in_place.region_of(splices, snapshot.data, new), checks
                )
            if snapshot.stamp.n_links > 1 and target.status.st_nlink == 1 and written.report.reason is None:
                written = Written(written.status, with_changes(written.report, reason=_PARTED))
            return self._finish(target.path, written, new, hooks)

    def _commit(
        self, target: WriteTarget, old: bytes, new: bytes, region: JournalRegion, checks: CommitChecks
    ) -> Written:
        try:
            return commit.replace_by_rename(target, old, new, checks, is_contested=self._writes.is_contested(target))
        except CannotReplaceError as refusal:
            reason = str(refusal)
        location = JournalLocation(self._recovery.state_folder, lambda: self._recovery.forget(folder_of(target.path)))
        written = in_place.write_in_place(target, old, new, region, checks, location)
        return Written(written.status, with_changes(written.report, reason=reason))

    def _checks(self, target: WriteTarget, data: bytes, hooks: CommitHooks, held: ExitStack) -> CommitChecks:
        def require_unchanged() -> None:
            """Compare the content, not the stamp, which a store through mmap need not change; a sync costs more."""
            if self._targets.inode_at(target.path) != inode_of(target.status):
                raise Stale(path=target.path)
            _require_content(target, data)

        return CommitChecks(
            require_unchanged,
            hooks.prepare,
            CalledOnce(hooks.before),
            lambda new: held.enter_context(self._targets.hold_new(new)),
            lambda: self._recovery.forget(folder_of(target.path)),
        )

    def _finish(self, path: str, written: Written, data: bytes, hooks: CommitHooks) -> Committed:
        self._writes.note(path, written.status)
        committed = _to_committed(path, written, data)
        hooks.after(committed)
        return committed

    def _create(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        before = CalledOnce(hooks.before)
        with self._targets.hold_name(snapshot.path):
            for _ in range(_MAX_TRIES):
                with suppress(FileNotFoundError):  # the folder was just removed; create it again
                    return self._create_once(snapshot.path, core_splices.apply(b"", splices), before, hooks)
            return self._create_once(snapshot.path, core_splices.apply(b"", splices), before, hooks)

    def _create_once(self, path: str, data: bytes, before: CalledOnce, hooks: CommitHooks) -> Committed:
        folder, name = folder_of(path), path.rpartition("/")[2]
        with ensure_directory(folder, self._opener, hooks.prepare) as dir_fd, ExitStack() as held:

            def require_unchanged() -> None:
                if self._targets.inode_at(folder) != inode_of(os.fstat(dir_fd)):
                    raise PathMoved(path=path)

            checks = CommitChecks(
                require_unchanged,
                hooks.prepare,
                before,
                lambda new: held.enter_context(self._targets.hold_new(new)),
                lambda: self._recovery.forget(folder),
            )
            written = commit.create(dir_fd, name, data, checks)
            return self._finish(path, written, data, hooks)


# --- helpers --------------------------------------------------------------------------------------------------


def _to_committed(path: str, written: Written, data: bytes) -> Committed:
    # The stamp may be as recent as this moment, so take the time to compare it with now.
    snapshot = Snapshot(path=path, stamp=nofollow.stamp_of(written.status), data=data, taken_ns=time.time_ns())
    return Committed(snapshot=snapshot, report=written.report)


def _wait_for_writers(fd: int, status: os.stat_result) -> bool:
    """Wait if a daemon may be writing the file, and return whether that was necessary."""
    if not may_be_written_now(status, time.time_ns()):
        return False
    wait_for_writers(fd, is_kept=status.st_nlink > 1)
    return True


def _is_same(before: os.stat_result, after: os.stat_result) -> bool:
    """Return whether it is the same file with the same number of links, which is what a wait depends on."""
    return inode_of(before) == inode_of(after) and before.st_nlink == after.st_nlink


def _read_whole(fd: int, expected_bytes: int) -> bytes:
    first = os.read(fd, expected_bytes + 1)  # one more byte, so a short read means the end
    if len(first) == expected_bytes:
        return first
    pieces = [first]
    while piece := os.read(fd, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def _require_content(target: WriteTarget, data: bytes) -> None:
    if not sync.is_content(target.fd, data):
        raise Stale(path=target.path)
