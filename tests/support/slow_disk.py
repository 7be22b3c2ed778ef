"""Files in memory on a disk that does not answer for as long as a test wants."""

import threading
from collections.abc import Generator
from contextlib import contextmanager

from fileops.fs.memory import MemoryFileSystem
from fileops.fs.streams import BytesStream
from fileops.model.files import Snapshot

PATIENCE_S = 20.0


class SlowDisk(MemoryFileSystem):
    """n_waiting: calls for content that are being held."""

    def __init__(self) -> None:
        super().__init__()
        self._answers = threading.Event()
        self._answers.set()
        self._changed = threading.Condition()
        self.n_waiting = 0

    def try_open_cached(self, path: str) -> BytesStream | None:
        """Not at once: every read is a worker thread's."""
        del path
        return None

    def open(self, path: str) -> BytesStream:
        self._wait()
        return super().open(path)

    def read(self, path: str) -> Snapshot:
        self._wait()
        return super().read(path)

    @contextmanager
    def silent(self) -> Generator[None]:
        """Nothing is answered inside."""
        self._answers.clear()
        try:
            yield
        finally:
            self._answers.set()

    def wait_until_waiting(self, n_calls: int) -> None:
        """Until so many calls are being held at once."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.n_waiting >= n_calls, PATIENCE_S), "nobody came"

    def _wait(self) -> None:
        with self._changed:
            self.n_waiting += 1
            self._changed.notify_all()
        try:
            assert self._answers.wait(PATIENCE_S)
        finally:
            with self._changed:
                self.n_waiting -= 1
