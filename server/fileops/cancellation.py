"""The one race of a cancel with a commit, decided once.

Until the commit begins, a cancel wins and nothing is written; from then on the commit wins and the caller gets its
true result.
"""

import threading
from typing import Literal

from fileops.errors import Cancelled


class CancelToken:
    """Shared by the event loop (which cancels) and one worker thread (which commits)."""

    __slots__ = ("_lock", "_state")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state: Literal["open", "cancelled", "committing"] = "open"

    def cancel(self) -> bool:
        """Whether the cancel came in time."""
        with self._lock:
            if self._state == "committing":
                return False
            self._state = "cancelled"
            return True

    def check(self) -> None:
        """Raises: Cancelled."""
        if self._state == "cancelled":
            raise Cancelled

    def begin_commit(self) -> None:
        """From here on a cancel comes too late. Raises: Cancelled."""
        with self._lock:
            if self._state == "cancelled":
                raise Cancelled
            self._state = "committing"

    def abandon_commit(self) -> None:
        """The commit was not made after all (the file had moved): a cancel counts again."""
        with self._lock:
            if self._state == "committing":
                self._state = "open"
