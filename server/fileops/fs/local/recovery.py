"""Recovery of temp files and journals of dead processes: at the start, and before the first use of each folder."""

import errno
import logging
import os
import threading
from collections.abc import Callable

from fileops.fs.local import journal, own_files
from fileops.fs.local.directories import open_folder
from fileops.fs.local.nofollow import Opener
from fileops.fs.local.set_recovery import recover_all
from fileops.model.events import DidRecover
from fileops.platform import descriptors

log = logging.getLogger(__name__)

STATE_S = 1.0  # for another thread that handles the state folder's journals
_MAX_FOLDERS_KNOWN = 65536
# The folder is missing or cannot be listed (EBADF: opened with O_PATH). Other errors may not occur the next time.
_UNAVAILABLE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM, errno.EBADF}
_TARGET = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


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
        n_settled, is_done = self._settle(folder, _open_beside)
        n_more, is_also_done = self._settle_state()
        n_sets, are_sets_done = recover_all(self.sets_folder, self._opener, self._report)
        n_more += n_sets
        with self._guard:
            if is_done and is_also_done and are_sets_done and n_forgotten == self._n_forgotten:
                self._know(folder)
        return n_settled + n_more

    def _report(self, recovered: DidRecover) -> None:
        self.on_recovered(recovered)

    def _settle_state(self) -> tuple[int, bool]:
        """See `_settle`. Skipped if another thread waits for the disk of a file that a journal names."""
        if not os.path.isdir(self.state_folder):
            return 0, True
        if not self._state_running.acquire(timeout=STATE_S):
            return 0, False
        try:
            return self._settle(self.state_folder, self._open_anywhere)
        finally:
            self._state_running.release()

    def _know(self, folder: str) -> None:
        if len(self._known) >= _MAX_FOLDERS_KNOWN:
            self._known.clear()
        self._known.add(folder)

    def has_run(self, folder: str) -> bool:
        return folder in self._known

    def run_once(self, folder: str) -> None:
        if folder not in self._known:
            self.run(folder)

    def forget(self, folder: str) -> None:
        """Recover the folder again at its next use, because a file has just been left there."""
        with self._guard:
            self._n_forgotten += 1
            self._known.discard(folder)

    def _settle(self, folder: str, open_target: Callable[[str, int], int]) -> tuple[int, bool]:
        """Return how many files were settled, and whether none of this process is left (a running edit may own one)."""
        try:
            dir_fd = open_folder(folder, self._opener)
        except OSError as error:
            return 0, error.errno in _UNAVAILABLE
        n_settled, is_done = 0, True
        try:
            for leftover in own_files.list_own_files(dir_fd):
                if leftover.kind == "journal":
                    is_settled = journal.recover(leftover, dir_fd, open_target)
                elif leftover.kind == "set":
                    continue  # its journal decides, even if it is unknown here
                else:
                    is_settled = own_files.remove_if_dead(leftover, dir_fd)
                n_settled += is_settled
                is_done = is_done and (is_settled or not leftover.is_ours)
        except OSError as error:
            is_done = is_done and error.errno in _UNAVAILABLE
        finally:
            descriptors.close(dir_fd)
        return n_settled, is_done

    def _open_anywhere(self, target: str, dir_fd: int) -> int:  # journals here contain whole paths
        return self._opener(target, _TARGET)


def _log_recovered(recovered: DidRecover) -> None:
    files = ", ".join(f"{file.file_path}: {file.outcome}" for file in recovered.files)
    log.warning("a change set that was not finished was undone: %s", files)


def _open_beside(target: str, dir_fd: int) -> int:
    """Open the target of a journal that lies among a user's files. It may name only its neighbours."""
    if "/" in target:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
    return os.open(target, _TARGET, dir_fd=dir_fd)
