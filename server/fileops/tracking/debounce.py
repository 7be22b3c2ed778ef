"""Hints that wait for their debounce: each file is checked once, a moment after the first of its hints.

Not thread-safe: its owner locks. Times are of the monotonic clock, in seconds.
"""

DEBOUNCE_S = 0.02  # an editor's save takes less


class Debouncer:
    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self._due_s: dict[str, float] = {}  # oldest first, because the delay is the same for all

    def add(self, path: str, now_s: float) -> bool:
        """Return whether the file was not hinted at already."""
        if path in self._due_s:
            return False
        self._due_s[path] = now_s + self._delay_s
        return True

    def discard(self, path: str) -> None:
        self._due_s.pop(path, None)

    @property
    def next_s(self) -> float | None:
        """When the next file is due; None if there is none."""
        return next(iter(self._due_s.values()), None)

    def take_due(self, now_s: float) -> list[str]:
        """Remove and return the files that are due; the oldest hint is first."""
        due: list[str] = []
        for path, due_s in self._due_s.items():
            if due_s > now_s:
                break
            due.append(path)
        for path in due:
            del self._due_s[path]
        return due

    def take_all(self) -> list[str]:
        paths = list(self._due_s)
        self._due_s.clear()
        return paths
