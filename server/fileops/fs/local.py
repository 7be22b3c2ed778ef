"""The disk of this machine as a FileSystem (see ports.py). Translates OSErrors; decides swap or in place.

Links are followed in `resolve` alone. Everything else is decided on what was really opened.
"""

import errno
import os
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from fileops.core.stamps import is_racy, is_unmoved
from fileops.errors import FileMissing, PathMoved, Stale
from fileops.fs import atomic, journal, leftovers, opening
from fileops.fs.atomic import CannotSwapError, Gate, JournalPlace, Target, Written
from fileops.fs.failures import failure_of
from fileops.fs.journal import Region
from fileops.fs.locks import LockTable, lock_between_processes
from fileops.fs.opening import Opener
from fileops.model import CommitReport, Committed, Snapshot, Source, Splice, Stamp
from fileops.ports import CommitHooks

_MAX_TRIES = 8  # of things that only a swap at the very same moment can spoil
_MAX_FOLDERS_KNOWN = 65536


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
            raise failure_of(error, self._path) from error

    def seek(self, offset_bytes: int) -> None:
        os.lseek(self._fd, offset_bytes, os.SEEK_SET)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> "LocalStream":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class LocalFileSystem:
    """opener: how canonical paths are opened, by default the best this system has (`opening.OPENERS`).

    state_folder: for journals of files whose own folder is not writable.
    """

    def __init__(self, *, opener: Opener | None = None, state_folder: str | None = None) -> None:
        self._opener = opener or opening.best_opener()
        self._state_folder = state_folder or journal.default_state_folder()
        self._locks = LockTable()
        self._known_folders: set[str] = set()
        self._recovering = threading.Lock()

    # --- reading ----------------------------------------------------------------------------------------------

    def resolve(self, path: str) -> str:
        return opening.resolve(path, self._opener)

    def stat(self, path: str) -> Stamp | None:
        try:
            fd = self._opener(path, opening.LOOK)
            try:
                status = os.fstat(fd)
                opening.require_regular(status, fd)
            finally:
                os.close(fd)
        except OSError as error:
            failure = failure_of(error, path)
            if isinstance(failure, FileMissing):
                return None
            raise failure from error
        return opening.stamp_of(status)

    def open(self, path: str) -> LocalStream:
        self._recover_once(path)
        fd, status, taken_ns = self._open(path)
        return LocalStream(path, fd, opening.stamp_of(status), taken_ns)

    def read(self, path: str) -> Snapshot:
        self._recover_once(path)
        n_tries = 0
        while True:
            try:
                fd, status, taken_ns = self._open(path)
            except FileMissing:
                return Snapshot(path=path, stamp=None, data=b"", taken_ns=time.time_ns())
            try:
                data = _read_whole(fd, status.st_size)
                is_torn = not _is_unwritten(status, os.fstat(fd))
            except OSError as error:
                raise failure_of(error, path) from error
            finally:
                os.close(fd)
            n_tries += 1
            if not is_torn or n_tries == _MAX_TRIES:  # one who never stops writing is for the compare to refuse
                return Snapshot(path=path, stamp=opening.stamp_of(status), data=data, taken_ns=taken_ns)

    def _open(self, path: str) -> tuple[int, os.stat_result, int]:
        """Again when a swap took the file's last name away between opening and looking."""
        try:
            for i in range(_MAX_TRIES):
                taken_ns = time.time_ns()
                fd, status = opening.open_regular(path, self._opener)
                if status.st_nlink or i == _MAX_TRIES - 1:
                    return fd, status, taken_ns
                os.close(fd)
        except OSError as error:
            raise failure_of(error, path) from error
        raise AssertionError

    # --- writing ----------------------------------------------------------------------------------------------

    def replace(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        path = snapshot.path
        self._recover_once(path)
        is_creating = snapshot.stamp is None
        try:
            with self._locks.of(path):
                if is_creating:
                    return self._create_again(snapshot, splices, hooks)
                with self._locked(path) as target:
                    return self._change(target, snapshot, splices, hooks)
        except OSError as error:
            raise failure_of(error, path, is_creating=is_creating) from error

    def remove(self, snapshot: Snapshot, hooks: CommitHooks) -> Committed:
        path = snapshot.path
        try:
            with self._locks.of(path), self._locked(path) as target:
                gate = Gate(lambda: self._require_unchanged(target, snapshot.data), hooks.before, _hold_nothing)
                report = atomic.remove(target, gate)
                gone = Snapshot(path=path, stamp=None, data=b"", taken_ns=time.time_ns())
                return _told(Committed(snapshot=gone, report=report), hooks)
        except OSError as error:
            raise failure_of(error, path) from error

    @contextmanager
    def hold(self, path: str) -> Generator[None]:
        with self._locks.of(path):
            while True:
                inode = self._inode(path)
                if inode is None:
                    yield
                    return
                with self._locks.of(inode):
                    if self._inode(path) == inode:
                        yield
                        return

    def _change(self, target: Target, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        assert snapshot.stamp is not None
        now = opening.stamp_of(target.status)
        if not is_unmoved(snapshot.stamp, now) or is_racy(snapshot.stamp, snapshot.taken_ns):
            _require_content(target, snapshot.data)
        new = _apply(snapshot.data, splices)
        if new == snapshot.data:
            self._require_unchanged(target, snapshot.data)
            hooks.before()
            report = CommitReport(method="none", durability="synced")
            return self._told(target.path, target.status, snapshot.data, report, hooks)
        self._require_writable(target)
        with ExitStack() as held:
            gate = Gate(
                require_unchanged=lambda: self._require_unchanged(target, snapshot.data),
                before=_Once(hooks.before),
                hold=lambda status: held.enter_context(self._locks.of((status.st_dev, status.st_ino))),
            )
            written = self._commit(target, snapshot.data, new, _region(splices, snapshot.data, new), gate)
            return self._told(target.path, written.status, new, written.report, hooks)

    def _commit(self, target: Target, old: bytes, new: bytes, region: Region, gate: Gate) -> Written:
        try:
            return atomic.swap(target, new, gate)
        except CannotSwapError as refusal:
            reason = str(refusal)
        place = JournalPlace(self._state_folder, lambda: self._forget_folder(target.path))
        written = atomic.write_in_place(target, old, new, region, gate, place)
        report = CommitReport(method="in_place", durability=written.report.durability, reason=reason)
        return Written(written.status, report)

    def _create_again(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        for _ in range(_MAX_TRIES):
            with suppress(FileNotFoundError):  # the folder was removed behind us: it is made once more
                return self._create(snapshot, splices, hooks)
        return self._create(snapshot, splices, hooks)

    def _create(self, snapshot: Snapshot, splices: Sequence[Splice], hooks: CommitHooks) -> Committed:
        folder, _, name = snapshot.path.rpartition("/")
        data = _apply(b"", splices)
        with _folder_made(folder or "/", self._opener) as dir_fd, ExitStack() as held:
            gate = Gate(
                require_unchanged=lambda: None,
                before=hooks.before,
                hold=lambda status: held.enter_context(self._locks.of((status.st_dev, status.st_ino))),
            )
            written = atomic.create(dir_fd, name, data, gate)
            return self._told(snapshot.path, written.status, data, written.report, hooks)

    def _told(
        self, path: str, status: os.stat_result, data: bytes, report: CommitReport, hooks: CommitHooks
    ) -> Committed:
        # taken_ns: the stamp may be as young as this moment, so it is judged racy against now
        snapshot = Snapshot(path=path, stamp=opening.stamp_of(status), data=data, taken_ns=time.time_ns())
        return _told(Committed(snapshot=snapshot, report=report), hooks)

    def _require_unchanged(self, target: Target, data: bytes) -> None:
        """The path still names the file that is locked, and that file holds what the caller saw. Raises: Stale.

        By content and not by stamp: a store through mmap need not move a stamp, and this is cheap beside a sync.
        """
        if self._inode(target.path) != (target.status.st_dev, target.status.st_ino):
            raise Stale(path=target.path)
        _require_content(target, data)

    def _require_writable(self, target: Target) -> None:
        """A swap needs no permission on the file itself; one that may not be written must stay all the same."""
        if os.access(
            target.name, os.W_OK, dir_fd=target.dir_fd, effective_ids=_HAS_EFFECTIVE_IDS, follow_symlinks=_FOLLOW
        ):
            return
        flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with suppress(_BusyTextError), _busy_text_passes():
            os.close(os.open(target.name, flags, dir_fd=target.dir_fd))

    def _inode(self, path: str) -> tuple[int, int] | None:
        try:
            status = opening.look(path, self._opener)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    @contextmanager
    def _locked(self, path: str) -> Generator[Target]:
        """The file open and locked, here and against other processes. Raises Stale where none stands."""
        with ExitStack() as stack:
            folder, _, name = path.rpartition("/")
            while True:
                with ExitStack() as attempt:
                    try:
                        dir_fd = _open_folder(folder or "/", self._opener)
                        attempt.callback(os.close, dir_fd)
                        fd, status = opening.open_regular(path, self._opener)
                    except (FileNotFoundError, NotADirectoryError) as error:
                        raise Stale(path=path) from error
                    attempt.callback(os.close, fd)
                    attempt.enter_context(self._locks.of((status.st_dev, status.st_ino)))
                    lock_between_processes(fd)
                    status = os.fstat(fd)
                    if self._inode(path) == (status.st_dev, status.st_ino):
                        stack.push(attempt.pop_all())
                        break
            if not _names_it(name, dir_fd, status):
                raise PathMoved(path=path)  # the folder was swapped between the two openings
            yield Target(path, name, dir_fd, fd, status)

    # --- left-overs -------------------------------------------------------------------------------------------

    def recover(self, folder: str) -> int:
        """Settle what dead processes left in a folder (canonical): temp files, journals. How many were settled.

        Called by itself before the first use of each folder; call it at the start for the folders one works in.
        """
        with self._recovering:
            self._known_folders.add(folder)
            return self._recover(folder) + (self._recover(self._state_folder) if self._has_state() else 0)

    def _recover(self, folder: str) -> int:
        try:
            dir_fd = _open_folder(folder, self._opener)
        except OSError:
            return 0
        n_settled = 0
        try:
            found = list(leftovers.found_in(dir_fd if os.listdir in os.supports_fd else folder))
            for leftover in found:
                if leftover.kind == "journal":
                    n_settled += journal.recover(leftover, dir_fd, self._open_journalled)
                else:
                    n_settled += leftovers.remove_if_dead(leftover, dir_fd)
        except OSError:
            pass
        finally:
            os.close(dir_fd)
        return n_settled

    def _open_journalled(self, target: str, dir_fd: int) -> int:
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        if "/" not in target:
            return os.open(target, flags, dir_fd=dir_fd)
        return self._opener(target, flags)

    def _recover_once(self, path: str) -> None:
        folder = path.rpartition("/")[0] or "/"
        if folder not in self._known_folders:
            if len(self._known_folders) >= _MAX_FOLDERS_KNOWN:
                self._known_folders.clear()
            self.recover(folder)

    def _forget_folder(self, path: str) -> None:
        self._known_folders.discard(path.rpartition("/")[0] or "/")

    def _has_state(self) -> bool:
        return os.path.isdir(self._state_folder)


# --- helpers --------------------------------------------------------------------------------------------------

_HAS_EFFECTIVE_IDS = os.access in os.supports_effective_ids
_FOLLOW = os.access not in os.supports_follow_symlinks


class _BusyTextError(Exception):
    """A program that runs cannot be opened for writing, but it can be swapped."""


@contextmanager
def _busy_text_passes() -> Generator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.ETXTBSY:
            raise _BusyTextError from error
        raise


class _Once:
    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        self._is_done = False

    def __call__(self) -> None:
        if not self._is_done:
            self._call()
            self._is_done = True


def _hold_nothing(status: os.stat_result) -> None:
    """A deletion brings no new inode."""


def _told(committed: Committed, hooks: CommitHooks) -> Committed:
    hooks.after(committed)
    return committed


def _apply(data: bytes, splices: Sequence[Splice]) -> bytes:
    parts: list[bytes | memoryview] = []
    view = memoryview(data)
    at = 0
    for splice in splices:
        parts += (view[at : splice.start], splice.new)
        at = splice.end
    parts.append(view[at:])
    return b"".join(parts)


def _region(splices: Sequence[Splice], old: bytes, new: bytes) -> Region:
    """What a write in place has to touch: to the end of the last splice where nothing behind it moves."""
    start = splices[0].start
    if len(old) == len(new):
        end = splices[-1].end
        return Region(start, end, end, len(old), len(new))
    return Region(start, len(old), len(new), len(old), len(new))


def _read_whole(fd: int, expected_bytes: int) -> bytes:
    first = os.read(fd, expected_bytes + 1)  # one more than there is: a short read is the end
    if len(first) == expected_bytes:
        return first
    pieces = [first]
    while piece := os.read(fd, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def _is_unwritten(before: os.stat_result, after: os.stat_result) -> bool:
    return before.st_mtime_ns == after.st_mtime_ns and before.st_size == after.st_size


def _require_content(target: Target, data: bytes) -> None:
    if not atomic.is_content(target.fd, data):
        raise Stale(path=target.path)


def _names_it(name: str, dir_fd: int, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(name, dir_fd=dir_fd, follow_symlinks=False), status)
    except OSError:
        return False


def _open_folder(folder: str, opener: Opener) -> int:
    try:
        return opener(folder, opening.FOLDER)
    except PermissionError:
        if not opening.O_PATH:
            raise
        return opener(folder, opening.LOOK | os.O_DIRECTORY)  # may be entered but not listed (nor synced)


@contextmanager
def _folder_made(folder: str, opener: Opener) -> Generator[int]:
    """The folder open, made with its parents where missing; those made go again if what follows fails."""
    made: list[tuple[int, str]] = []  # parent and name, outermost first
    with ExitStack() as stack:
        missing: list[str] = []
        while True:
            try:
                dir_fd = _open_folder(folder, opener)
                break
            except FileNotFoundError:
                folder, _, name = folder.rpartition("/")
                folder = folder or "/"
                missing.append(name)
        stack.callback(os.close, dir_fd)
        try:
            for name in reversed(missing):
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=dir_fd)
                    made.append((dir_fd, name))
                flags = opening.FOLDER | os.O_NOFOLLOW
                parent_fd, dir_fd = dir_fd, os.open(name, flags, dir_fd=dir_fd)
                stack.callback(os.close, dir_fd)
                with suppress(OSError):
                    os.fsync(parent_fd)
            yield dir_fd
        except BaseException:
            for parent_fd, name in reversed(made):
                with suppress(OSError):  # somebody put something in: it stays
                    os.rmdir(name, dir_fd=parent_fd)
            raise
