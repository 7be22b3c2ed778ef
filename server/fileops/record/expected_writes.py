"""Writes whose author is known before anybody sees them: the daemon's own, and those that hosts have announced.

Any thread may call any method.
"""

import threading
from collections import Counter

from fileops.model.commits import IntendedWrite
from fileops.record.announced_writes import AnnouncedWrites
from fileops.record.write_ahead import WriteAhead


class ExpectedWrites:
    """See the module.

    ahead: notes of the daemon's writes that outlive a kill; set before the first commit of a recorded folder, None if
    there are none. announced: writes that hosts' own tools are about to make.
    """

    def __init__(self) -> None:
        self.ahead: WriteAhead | None = None
        self.announced: AnnouncedWrites | None = None
        self._lock = threading.Lock()
        self._committing = Counter[str]()  # by path: the daemon's commits in progress

    def begin(self, path: str, intended: IntendedWrite | None) -> None:
        """Note that the daemon is about to write a file."""
        if intended is not None and self.ahead is not None:
            self.ahead.begin(intended)
        with self._lock:
            self._committing[path] += 1

    def end(self, path: str) -> None:
        """Note that the daemon has written a file, or could not."""
        with self._lock:
            self._committing[path] -= 1
            if self._committing[path] <= 0:
                del self._committing[path]

    @property
    def has_commits(self) -> bool:
        with self._lock:
            return bool(self._committing)

    def is_committing(self, path: str) -> bool:
        with self._lock:
            return path in self._committing

    def is_announced(self, path: str) -> bool:
        return self.announced is not None and self.announced.is_announced(path)
