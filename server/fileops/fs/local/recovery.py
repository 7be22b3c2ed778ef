"""Recovery of temp files and journals of dead processes: at the start, and before the first use of each folder."""

import errno
import os
import threading
from collections.abc import Callable

from fileops.fs.local import journal, temp_files
from fileops.fs.local.directories import open_folder
from fileops.fs.local.nofollow import Opener
from fileops.platform import descriptors

_MAX_FOLDERS_KNOWN = 65536
# The folder is missing or cannot be listed (EBADF: opened with O_PATH). Other errors may not occur the next time.
_UNAVAILABLE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM, errno.EBADF}
_TARGET = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Recovery:
    """Recovers folders and remembers which are done. `state_folder`: see `journal.default_state_folder`."""

    def __init__(self, opener: Opener, state_folder: str) -> None:
        self.state_folder = state_folder
        self._opener = opener
        self._known: set[str] = set()
        self._n_forgotten = 0
        self._guard = threading.Lock()  # of the two above
        self._running = threading.Lock()

    def run(self, folder: str) -> int:
        """Recover a folder and return how many files were settled. Never fails; the rest is retried later."""
        with self._running:
            n_forgotten = self._n_forgotten
            n_settled, is_done = self._settle(folder, _open_beside)
            if os.path.isdir(self.state_folder):
                n_more, is_also_done = self._settle(self.state_folder, self._open_anywhere)
                n_settled, is_done = n_settled + n_more, is_done and is_also_done
            with self._guard:
                if is_done and n_forgotten == self._n_forgotten:
                    self._know(folder)
        return n_settled

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
        """Return how many files were settled, and whether none of this process is left (a running edit may own it)."""
        try:
            dir_fd = open_folder(folder, self._opener)
        except OSError as error:
            return 0, error.errno in _UNAVAILABLE
        n_settled, is_done = 0, True
        try:
            for leftover in temp_files.list_own_files(dir_fd):
                if leftover.kind == "journal":
                    is_settled = journal.recover(leftover, dir_fd, open_target)
                else:
                    is_settled = temp_files.remove_if_dead(leftover, dir_fd)
                n_settled += is_settled
                is_done = is_done and (is_settled or not leftover.is_ours)
        except OSError as error:
            is_done = is_done and error.errno in _UNAVAILABLE
        finally:
            descriptors.close(dir_fd)
        return n_settled, is_done

    def _open_anywhere(self, target: str, dir_fd: int) -> int:  # here journals name whole paths
        return self._opener(target, _TARGET)


def _open_beside(target: str, dir_fd: int) -> int:
    """Open the target of a journal that is among a user's files. It may name only its neighbours."""
    if "/" in target:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
    return os.open(target, _TARGET, dir_fd=dir_fd)
