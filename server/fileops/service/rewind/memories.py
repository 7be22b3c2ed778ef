"""The files with long histories that were asked about last, and what is remembered of them (core/story/memory.py)."""

import threading

from fileops.core.story.memory import FileMemory

MIN_STEPS = 16  # of a file that is remembered: the story of a shorter one is told in about a millisecond
MIN_BLAMED_STEPS = 256  # for a blame, which knows the lines of 64 contents: up to 4 MB of a file with 1,000 lines
MAX_FILES = 256
MAX_BYTES = 96 << 20  # of all files together, as each file counts its own


class Memories:
    """The files that were asked about last, by path. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[str, FileMemory] = {}  # the one asked about last is the last

    def of(self, path: str, n_steps: int) -> FileMemory | None:
        """Return what is remembered of a file; None if its story is too short for that."""
        if n_steps < MIN_STEPS:
            return None
        with self._lock:
            memory = self._files.pop(path, None) or FileMemory(self._forget_oldest)
            self._files[path] = memory
        self._forget_oldest()
        return memory

    def clear(self) -> None:
        with self._lock:
            self._files.clear()

    def _forget_oldest(self) -> None:
        """Forget the files asked about longest ago, as far as all together are beyond a limit."""
        with self._lock:
            n_bytes = sum(memory.n_bytes for memory in self._files.values())
            while self._files and (n_bytes > MAX_BYTES or len(self._files) > MAX_FILES):
                n_bytes -= self._files.pop(next(iter(self._files))).n_bytes
