"""What all kinds of commits share: the checks and the caller's hooks before a commit, and its outcome.

The kinds of commits are in `commit` and `in_place`.
"""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager

from msgspec import Struct

from fileops.fs.os_errors import translate_errors
from fileops.model.files import CommitReport


class Written(Struct, frozen=True):
    """A finished commit. `status` is from a handle of the written file."""

    status: os.stat_result
    report: CommitReport


class CommitChecks(Struct, frozen=True):
    """Callbacks that run before the commit.

    require_unchanged: raises Stale. prepare, before: the caller's hooks. hold: takes the lock of a new inode. on_kept:
    called if one of our own files could not be removed.
    """

    require_unchanged: Callable[[], None]
    prepare: Callable[[], None]
    before: Callable[[], None]
    hold: Callable[[os.stat_result], object]
    on_kept: Callable[[], None]


def own_status(fd: int, written: os.stat_result) -> os.stat_result:
    """Return the status after the rename, which changes the ctime, or `written` if another process has written since.

    Never fails, because the commit has already happened.
    """
    try:
        status = os.fstat(fd)
    except OSError:
        return written
    is_ours = (status.st_mtime_ns, status.st_size) == (written.st_mtime_ns, written.st_size)
    return status if is_ours else written


# --- the caller's hooks -----------------------------------------------------------------------------------------


class CalledOnce:
    """Calls the caller's hook only once, even if several ways to commit are tried."""

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


class _HookError(Exception):
    """Carries an OSError of a hook past the translation, since no file operation raised it."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error


@contextmanager
def translate_commit_errors(path: str, *, is_creating: bool = False) -> Generator[None]:
    """Translate the OSErrors of a commit, but not those of the caller's hooks."""
    try:
        with translate_errors(path, is_creating=is_creating):
            yield
    except _HookError as carrier:
        raise carrier.error from None
