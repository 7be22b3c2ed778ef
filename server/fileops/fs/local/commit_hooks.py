"""The caller's hooks of a commit: called once, and their OSErrors kept apart from those of the disk."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from fileops.fs.os_errors import translating


class _HookError(Exception):
    """Carries an OSError of a hook past the translation, because no file operation raised it."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error


@contextmanager
def committing(path: str, *, is_creating: bool = False) -> Generator[None]:
    """Translate the OSErrors of a commit, but not those of the caller's hooks."""
    try:
        with translating(path, is_creating=is_creating):
            yield
    except _HookError as carrier:
        raise carrier.error from None


class Once:
    """Calls the caller's hook only once, although several ways to commit may be tried."""

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
