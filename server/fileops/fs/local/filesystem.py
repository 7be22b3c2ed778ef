"""The disk of this machine as a FileSystem (see ports.py). Translates OSErrors; decides swap or in place.

Links are followed in `resolve` alone. Everything else is decided on what was really opened.
"""

import math
import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress

from msgspec.structs import replace as with_changes

from fileops.core import splices as core_splices
from fileops.core.stamps import same_stamp
from fileops.fs.local import commit, nofollow
from fileops.fs.local.commit import AnotherFileError, CannotReplaceError, Gate, JournalLocation, Written
from fileops.fs.local.directories import ensure_directory, folder_of
from fileops.fs.local.journal import Region, default_state_folder
from fileops.fs.local.nofollow import Opener, is_unwritten
from fileops.fs.local.page_cache import MAX_BYTES, PageCacheReader
from fileops.fs.local.recovery import Recovery
from fileops.fs.local.write_target import Target, WriteTargets, inode_of
from fileops.fs.os_errors import translate, translating
from fileops.fs.streams import BytesStream
from fileops.model.edits import Splice
from fileops.model.errors import FileMissing, FileOpsError, PathMoved, Stale
from fileops.model.files import CommitReport, Committed, Snapshot, Source, Stamp
from fileops.platform import descriptors, sync
from fileops.platform.locks import wait_for_writers
from fileops.ports import CommitHooks, ContentStream

_LATELY_NS = 2_000_000_000  # a formatter behind a save, or another agent in its next turn
_CONTESTED_S = 60.0  # who writes once writes again
_MAX_WRITES_KNOWN = 4096
_MAX_WAITED_FOR_BYTES = 64_000_000  # reading more holds up writers for too long
_PARTED = "the file was parted from its other hard links before it was written"  # by overlayfs, see AnotherFileError
_MAX_TRIES = 8  # of things that only a swap at the very same moment can spoil


class LocalStream:
    """See ports.ContentStream."""

    source: Source = "disk"
    version: int | None = None

    def __init__(self, path: str, fd: int, stamp: Stamp, taken_ns: int) -> None:
        self._path = path
        self._fd = fd
        self.stamp = stamp
        self.taken_ns = taken_ns

    def read(self, max_bytes: int) -> bytes:
        try:
            return os.read(self._fd, max_bytes)
        except OSError as error:
            raise translate(error, self._path) from error

    def seek(self, offset_bytes: int) -> None:
        os.lseek(self._fd, offset_bytes, os.SEEK_SET)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            descriptors.close(fd)

    def __enter__(self) -> "LocalStream":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class LocalFileSystem:
    """opener: how canonical paths are opened, by default the best this system has (`opening.OPENERS`).

    state_folder: for journals of files whose own folder is not writable.
    """

    def __init__(self, *, opener: Opener | None = None, state_folder: str | None = None) -> None:
        self._opener = opener or nofollow.best_opener()
        self._targets = WriteTargets(self._opener)
        self._recovery = Recovery(self._opener, state_folder or default_state_folder())
        self._cached = PageCacheReader(_may_be_at_work)
        self._own_writes: dict[str, tuple[int, int, int]] = {}
        self._foreign_writes: dict[str, float] = {}  # when one was last met, on the monotonic clock

    # --- reading ----------------------------------------------------------------------------------------------

    def resolve(self, path: str) -> str:
        return nofollow.resolve(path, self._opener)

    def stat(self, path: str) -> Stamp | None:
        try:
            fd = self._opener(path, nofollow.LOOK)
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
        """A small file is read at once: so a write in place that comes in between is seen, and waited for."""
        self._recovery.run_once(folder_of(path))
        fd, status, taken_ns = self._open(path)
        self._cached.note(folder_of(path), fd, status.st_dev)
        if status.st_nlink > 1 or status.st_size > MAX_BYTES:
            return LocalStream(path, fd, nofollow.stamp_of(status), taken_ns)
        data, status, taken_ns = self._read_untorn(path, fd, status, taken_ns)
        return BytesStream(data, nofollow.stamp_of(status), taken_ns)

    def try_open_cached(self, path: str) -> BytesStream | None:
        if not self._recovery.has_run(folder_of(path)):
            return None
        return self._cached.load(path)

    def read(self, path: str) -> Snapshot:
        self._recovery.run_once(folder_of(path))
        try:
            data, status, taken_ns = self._read_untorn(path, *self._open(path))
        except FileMissing:
            return Snapshot(path=path, stamp=None, data=b"", taken_ns=time.time_ns())
        return Snapshot(path=path, stamp=nofollow.stamp_of(status), data=data, taken_ns=taken_ns)

    def _read_untorn(
        self, path: str, fd: int, status: os.stat_result, taken_ns: int
    ) -> tuple[bytes, os.stat_result, int]:
        """The whole content, opened again where somebody wrote meanwhile. Closes `fd`."""
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
            if not is_torn or n_tries == _MAX_TRIES:  # one who never stops writing is for the compare to refuse
                return data, status, taken_ns
            fd, status, taken_ns = self._open(path)

    def _open(self, path: str) -> tuple[int, os.stat_result, int]:
        """Again when a swap took the file's last name away between opening and looking."""
        try:
            for i in range(_MAX_TRIES):
                taken_ns = time.time_ns()
                fd, status = nofollow.open_regular(path, self._opener)
                if _may_be_at_work(status, taken_ns):
                    wait_for_writers(fd, is_kept=status.st_nlink > 1)
                    taken_ns, status = time.time_ns(), _status_or_closed(fd)
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
            # Written in place, so another daemon may have died over it since this folder was first used.
            self._recovery.run(folder_of(path))
        with _translated(path, is_creating=is_creating):
            if is_creating:
                return self._create(snapshot, splices, hooks)
            with suppress(AnotherFileError), self._targets.locked(path) as target:
                return self._change(target, snapshot, splices, hooks)
            # Whether it is the same file all the same is for its content to say.
            with self._targets.locked(path) as target:
                try:
                    return self._change(target, snapshot, splices, hooks)
                except AnotherFileError as error:
                    raise Stale(path=path) from error

    def remove(self, snapshot: Snapshot, hooks: CommitHooks) -> Committed:
        path = snapshot.path
        with _translated(path), self._targets.locked(path) as target, ExitStack() as held:
            report = commit.remove(target, self._gate(target, snapshot.data, hooks, held))
            gone = Snapshot(path=path, stamp=None, data=b"", taken_ns=time.time_ns())
            committed = Committed(snapshot=gone, report=report)
            hooks.after(committed)
            return committed

    def hold(self, path: str) -> AbstractContextManager[None]:
        return self._targets.hold(path)

    def recover(self, folder: str) -> int:
        """Settle what dead processes left in a folder (canonical): temp files, journals. How many were settled.

        Happens by itself before the first use of a folder; for the start, to be done with it early.
        """
        return self._recovery.run(folder)

    def recover_all(self, folders: Sequence[str]) -> None:
        """For the start: in each of these folders (absolute paths), and in the state folder. Never fails."""
        for folder in folders:
            with suppress(FileOpsError):
                self.recover(self.resolve(folder))

    @property
    def n_locks(self) -> int:
        """Locks in use: 0 when nothing is going on."""
        return self._targets.n_locks

    def _change(self, target: Target, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        assert snapshot.stamp is not None
        if not same_stamp(snapshot.stamp, nofollow.stamp_of(target.status)):
            _require_content(target, snapshot.data)  # before anything is written; asked again behind it, of any file
        new = core_splices.apply(snapshot.data, splices)
        with ExitStack() as held:
            gate = self._gate(target, snapshot.data, hooks, held)
            if new == snapshot.data:
                gate.require_unchanged()
                gate.before()
                written = Written(target.status, CommitReport(method="none", durability="synced"))
            else:
                _require_writable(target)
                written = self._commit(target, snapshot.data, new, _region(splices, snapshot.data, new), gate)
            if snapshot.stamp.n_links > 1 and target.status.st_nlink == 1 and written.report.reason is None:
                written = Written(written.status, with_changes(written.report, reason=_PARTED))
            return self._told(target.path, written, new, hooks)

    def _commit(self, target: Target, old: bytes, new: bytes, region: Region, gate: Gate) -> Written:
        try:
            return commit.swap(target, old, new, gate, is_contested=self._is_contested(target))
        except CannotReplaceError as refusal:
            reason = str(refusal)
        place = JournalLocation(self._recovery.state_folder, lambda: self._recovery.forget(folder_of(target.path)))
        written = commit.write_in_place(target, old, new, region, gate, place)
        return Written(written.status, with_changes(written.report, reason=reason))

    def _is_contested(self, target: Target) -> bool:
        """Whether somebody else changed the file so lately that he may be at it still."""
        status = target.status
        age_ns = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns)
        if age_ns < _LATELY_NS and self._own_writes.get(target.path) != _moment(status):
            if len(self._foreign_writes) >= _MAX_WRITES_KNOWN:
                self._foreign_writes.clear()
            self._foreign_writes[target.path] = time.monotonic()
            return True
        return time.monotonic() - self._foreign_writes.get(target.path, -math.inf) < _CONTESTED_S

    def _gate(self, target: Target, data: bytes, hooks: CommitHooks, held: ExitStack) -> Gate:
        def require_unchanged() -> None:
            """By content, not by stamp: a store through mmap need not move a stamp, and a sync costs more."""
            if self._targets.inode_at(target.path) != inode_of(target.status):
                raise Stale(path=target.path)
            _require_content(target, data)

        return Gate(
            require_unchanged,
            hooks.prepare,
            _Once(hooks.before),
            lambda new: held.enter_context(self._targets.hold_new(new)),
            lambda: self._recovery.forget(folder_of(target.path)),
        )

    def _told(self, path: str, written: Written, data: bytes, hooks: CommitHooks) -> Committed:
        self._note_own(path, written)
        committed = _committed(path, written, data)
        hooks.after(committed)
        return committed

    def _note_own(self, path: str, written: Written) -> None:
        if len(self._own_writes) >= _MAX_WRITES_KNOWN:
            self._own_writes.clear()  # costs an exchange here and there
        self._own_writes[path] = _moment(written.status)

    def _create(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        before = _Once(hooks.before)
        with self._targets.hold_name(snapshot.path):
            for _ in range(_MAX_TRIES):
                with suppress(FileNotFoundError):  # the folder was removed behind us: it is made once more
                    return self._create_once(snapshot.path, core_splices.apply(b"", splices), before, hooks)
            return self._create_once(snapshot.path, core_splices.apply(b"", splices), before, hooks)

    def _create_once(self, path: str, data: bytes, before: "_Once", hooks: CommitHooks) -> Committed:
        folder, name = folder_of(path), path.rpartition("/")[2]
        with ensure_directory(folder, self._opener, hooks.prepare) as dir_fd, ExitStack() as held:

            def require_unchanged() -> None:
                if self._targets.inode_at(folder) != inode_of(os.fstat(dir_fd)):
                    raise PathMoved(path=path)

            gate = Gate(
                require_unchanged,
                hooks.prepare,
                before,
                lambda new: held.enter_context(self._targets.hold_new(new)),
                lambda: self._recovery.forget(folder),
            )
            written = commit.create(dir_fd, name, data, gate)
            return self._told(path, written, data, hooks)


# --- helpers --------------------------------------------------------------------------------------------------

_HAS_EFFECTIVE_IDS = os.access in os.supports_effective_ids
_FOLLOWS_ANYWAY = os.access not in os.supports_follow_symlinks


class _HookError(Exception):
    """Carries an OSError of a hook past the translation: it is none of ours."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error


@contextmanager
def _translated(path: str, *, is_creating: bool = False) -> Generator[None]:
    try:
        with translating(path, is_creating=is_creating):
            yield
    except _HookError as carrier:
        raise carrier.error from None


class _Once:
    """The caller's hook, however many ways to commit are tried."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        self._is_done = False

    def __call__(self) -> None:
        if self._is_done:
            return
        try:
            self._call()
        except OSError as error:
            raise _HookError(error) from error
        self._is_done = True


def _moment(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def _committed(path: str, written: Written, data: bytes) -> Committed:
    # The stamp may be as young as this moment, so that is what it is to be judged against.
    snapshot = Snapshot(path=path, stamp=nofollow.stamp_of(written.status), data=data, taken_ns=time.time_ns())
    return Committed(snapshot=snapshot, report=written.report)


def _region(splices: Sequence[Splice], old: bytes, new: bytes) -> Region:
    """What a write in place has to touch: to the end of the last splice where nothing behind it moves."""
    start = splices[0].start
    if len(old) == len(new):
        end = splices[-1].end
        return Region(start, end, end, len(old), len(new))
    return Region(start, len(old), len(new), len(old), len(new))


def _may_be_at_work(status: os.stat_result, now_ns: int) -> bool:
    """Whether a daemon may be in the middle of a write in place, or about to take an exchange back."""
    is_young = now_ns - max(status.st_mtime_ns, status.st_ctime_ns) < _LATELY_NS
    return (is_young or status.st_nlink > 1) and status.st_size <= _MAX_WAITED_FOR_BYTES


def _status_or_closed(fd: int) -> os.stat_result:
    try:
        return os.fstat(fd)
    except OSError:
        descriptors.close(fd)
        raise


def _read_whole(fd: int, expected_bytes: int) -> bytes:
    first = os.read(fd, expected_bytes + 1)  # one more than there is: a short read is the end
    if len(first) == expected_bytes:
        return first
    pieces = [first]
    while piece := os.read(fd, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def _require_content(target: Target, data: bytes) -> None:
    if not sync.is_content(target.fd, data):
        raise Stale(path=target.path)


def _require_writable(target: Target) -> None:
    """A swap needs no permission on the file itself; one that may not be written must stay all the same."""
    if os.access(
        target.name, os.W_OK,
        dir_fd=target.dir_fd, effective_ids=_HAS_EFFECTIVE_IDS, follow_symlinks=_FOLLOWS_ANYWAY,
    ):  # fmt: skip
        return
    flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptors.close(os.open(target.name, flags, dir_fd=target.dir_fd))  # says why not
