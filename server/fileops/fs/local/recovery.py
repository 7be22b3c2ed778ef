"""Recovery of temp files and journals of dead processes: at the start, and before the first use of each folder."""

import errno
import logging
import os
import threading
import time
from collections.abc import Callable

from fileops.fs.local import journal, own_files
from fileops.fs.local.directories import open_folder
from fileops.fs.local.named_folders import AwayError, NamedFolder, Unsettled, is_there
from fileops.fs.local.nofollow import Opener
from fileops.fs.local.set_recovery import recover_all
from fileops.model.events import DidRecover
from fileops.platform import descriptors

log = logging.getLogger(__name__)

STATE_S = 1.0  # for another thread that handles the state folder's journals
_MAX_FOLDERS_KNOWN = 65536
# The folder is missing or cannot be listed (EBADF: opened with O_PATH). Other errors may not occur the next time.
_UNAVAILABLE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM, errno.EBADF}
RETRY_S = 2.0  # between two attempts for one folder whose journal cannot be ended


class _Turn:
    """Lets one thread at a time recover a folder."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n_users = 0


class Recovery:
    """Recovers folders and remembers which are done.

    state_folder: see `journal.default_state_folder`; beside it, `sets_folder` has the journals of change sets.
    on_recovered: takes the change sets of dead processes that were undone; called on any thread.
    """

    def __init__(self, opener: Opener, state_folder: str) -> None:
        self.state_folder = state_folder
        self.sets_folder = os.path.join(os.path.dirname(state_folder), "sets")
        self.on_recovered: Callable[[DidRecover], None] = _log_recovered
        self._opener = opener
        self._known: set[str] = set()
        self._n_forgotten = 0
        self._turns: dict[str, _Turn] = {}  # of folders being recovered; a mount among them may hang
        self._guard = threading.Lock()  # of the three above
        self._state_running = threading.Lock()
        self._unsettled_sets: dict[str, Unsettled] = {}  # by the journals' names; replaced as a whole
        self._unsettled_files: dict[str, Unsettled] = {}
        self._awaited: dict[str, float] = {}  # their folders, and when each may be tried again

    def run(self, folder: str) -> int:
        """Recover a folder and return how many files were settled. Never fails; the rest is retried later."""
        with self._guard:
            turn = self._turns.setdefault(folder, _Turn())
            turn.n_users += 1
        try:
            with turn.lock:
                return self._run(folder)
        finally:
            with self._guard:
                turn.n_users -= 1
                if not turn.n_users:
                    del self._turns[folder]

    def _run(self, folder: str) -> int:
        # A commit may leave a file in the folder after it was listed here, and then calls `forget`. The folder must not
        # be remembered as done in that case, so the number of such calls is compared before the listing and at the end.
        n_forgotten = self._n_forgotten
        n_settled, is_done = self._settle(folder)
        n_more, is_also_done = self._settle_state(self._name_folder(folder))
        with self._guard:
            if is_done and is_also_done and n_forgotten == self._n_forgotten:
                self._know(folder)
        return n_settled + n_more

    def run_state(self) -> None:
        """Settle what the journals of the state folder say. Never fails."""
        self._settle_state(None)

    def list_unsettled(self) -> tuple[Unsettled, ...]:
        """Return the journals that could not be ended when they were last tried."""
        return (*self._unsettled_sets.values(), *self._unsettled_files.values())

    def _name_folder(self, folder: str) -> NamedFolder | None:
        try:
            dir_fd = open_folder(folder, self._opener)
        except OSError:
            return None
        try:
            return NamedFolder(folder, os.fstat(dir_fd).st_ino)
        except OSError:
            return None
        finally:
            descriptors.close(dir_fd)

    def _report(self, recovered: DidRecover) -> None:
        self.on_recovered(recovered)

    def _settle_state(self, used: NamedFolder | None) -> tuple[int, bool]:
        """See `_settle`. Skipped if another thread waits for the disk of a file that a journal names."""
        if not (os.path.isdir(self.state_folder) or os.path.isdir(self.sets_folder)):
            return 0, True
        if not self._state_running.acquire(timeout=STATE_S):
            return 0, False
        try:
            n_settled, is_done = self._settle(self.state_folder, used, is_state=True)
            sets = recover_all(self.sets_folder, self._opener, self._report, used, self._unsettled_sets)
            self._unsettled_sets = dict(sets.unsettled)
        finally:
            self._state_running.release()
        try_again_at = time.monotonic() + RETRY_S
        with self._guard:
            self._awaited = {
                folder.path: try_again_at for unsettled in self.list_unsettled() for folder in unsettled.folders
            }
            self._known.difference_update(self._awaited)
        return n_settled + sets.n_settled, is_done and sets.is_done

    def _know(self, folder: str) -> None:
        if len(self._known) >= _MAX_FOLDERS_KNOWN:
            self._known.clear()
        if folder not in self._awaited:
            self._known.add(folder)

    def has_run(self, folder: str) -> bool:
        return folder in self._known

    def run_once(self, folder: str) -> None:
        if folder not in self._known and self._awaited.get(folder, 0.0) <= time.monotonic():
            self.run(folder)

    def forget(self, folder: str) -> None:
        """Recover the folder again at its next use, because a file has just been left there."""
        with self._guard:
            self._n_forgotten += 1
            self._known.discard(folder)

    def _settle(self, folder: str, used: NamedFolder | None = None, *, is_state: bool = False) -> tuple[int, bool]:
        """Return how many files were settled, and whether none of this process is left (a running edit may own one)."""
        try:
            dir_fd = open_folder(folder, self._opener)
        except OSError as error:
            return 0, error.errno in _UNAVAILABLE
        n_settled, is_done, unsettled = 0, True, dict[str, Unsettled]()
        try:
            for leftover in own_files.list_own_files(dir_fd):
                if leftover.kind == "set":
                    continue  # its journal decides, even if it is unknown here
                if leftover.kind == "tmp":
                    is_settled = own_files.remove_if_dead(leftover, dir_fd)
                elif is_state:
                    is_settled = self._settle_far(leftover, dir_fd, used, unsettled)
                else:
                    is_settled = journal.recover(leftover, dir_fd)
                n_settled += is_settled
                is_done = is_done and (is_settled or not leftover.is_ours)
        except OSError as error:
            is_done = is_done and error.errno in _UNAVAILABLE
        finally:
            descriptors.close(dir_fd)
        if is_state:
            self._unsettled_files = unsettled
        return n_settled, is_done

    def _settle_far(
        self, leftover: own_files.OwnFile, dir_fd: int, used: NamedFolder | None, unsettled: dict[str, Unsettled]
    ) -> bool:
        """Settle a journal of the state folder, or note that it waits. Return whether it is settled."""
        known = self._unsettled_files.get(leftover.name)
        if known is None or any(is_there(folder, self._opener, used) for folder in known.folders):
            try:
                return journal.recover(leftover, dir_fd, self._opener, used)
            except AwayError as away:
                known = Unsettled(
                    journal=os.path.join(self.state_folder, leftover.name),
                    reason=f"{away.folder.path} is not there",
                    folders=(away.folder,),
                    n_files=1,
                )
                log.warning("a file is half written, and restored when its folder is there: %s", known.reason)
        unsettled[leftover.name] = known
        return False


def _log_recovered(recovered: DidRecover) -> None:
    files = ", ".join(f"{file.file_path}: {file.outcome}" for file in recovered.files)
    waits_for = f"; waiting for {', '.join(recovered.waits_for)}" if recovered.waits_for else ""
    log.warning("a change set that was not finished was undone: %s%s", files, waits_for)
