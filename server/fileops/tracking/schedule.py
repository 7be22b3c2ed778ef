"""When a monitor checks what: hints after a debounce, sweeps at a pace, and of many files some in each sweep.

Knows no file, clock or lock: its owner passes times, and locks. Times are in seconds; those of hints are of the
monotonic clock.
"""

from collections.abc import Callable, Iterator
from itertools import islice

DEBOUNCE_S = 0.015  # with the wait for a burst of events (watch/inotify.py) 20 ms; an editor's save takes less
SWEEP_S = 0.5  # a change without a watch event is published within 1 s
SWEEP_SHARE = 0.009  # of a core: an idle daemon takes less than 1 %; slow disks are swept less often
REPAIR_EVERY = 4  # sweeps between two checks of watches


class Debouncer:
    """Hints that wait for their debounce: each file is checked once, shortly after its first hint."""

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self._due_s: dict[str, float] = {}  # oldest first, because the delay is the same for all

    def add(self, path: str, now_s: float) -> bool:
        """Return whether the file had no hint before."""
        if path in self._due_s:
            return False
        self._due_s[path] = now_s + self._delay_s
        return True

    def discard(self, path: str) -> None:
        self._due_s.pop(path, None)

    @property
    def next_s(self) -> float | None:
        """Return when the next file is due; None if there is none."""
        return next(iter(self._due_s.values()), None)

    def take_due(self, now_s: float) -> list[str]:
        """Remove and return the files that are due, oldest hint first."""
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


class SweepPace:
    """The pauses between sweeps, which depend on the cost of sweeps. sweep_s: the shortest pause."""

    def __init__(self, sweep_s: float) -> None:
        self._sweep_s = sweep_s
        self._n_sweeps = 0
        self._cost_s = 0.0

    def repairs_watches(self) -> bool:
        """Count a sweep. Return whether the watches must be checked after it."""
        self._n_sweeps += 1
        return self._n_sweeps % REPAIR_EVERY == 0

    def pause_s(self, cost_s: float) -> float:
        """Return the pause after a sweep that took `cost_s` of processor time."""
        self._cost_s += (cost_s - self._cost_s) / 4  # one slow sweep changes little
        return max(self._sweep_s, self._cost_s / SWEEP_SHARE)


class RecencyRounds:
    """Chooses which of many items to check in each turn, by how recently they were used.

    If all items fit into a turn, all are checked in every turn. Otherwise the most recently used ones are checked in
    every turn, twice as many after them in every second turn, twice as many after those in every fourth, and so on. So
    what is in use is never late, and nothing is left out: the last of 100,000 items waits for some 250 turns of 2,000.

    A turn has one share for each generation. Generation k is 2**k shares long, so its round takes 2**k turns; the last
    generation has all the rest. There are as many generations as are needed for all items. A round checks the items
    that were that old when it began. That misses nothing: an item that is used during a round is in generation 0, and
    so in the next turn; an item that younger ones push into an older generation is in that generation's next round.

    n_per_turn: how many items fit into one turn, at least 16.
    """

    def __init__(self, n_per_turn: int) -> None:
        self._n_per_turn = n_per_turn
        # What is left of the current round of each generation except the newest; generation k has 2**k shares.
        self._rounds: list[Iterator[str]] = []

    def turn(self, n_items: int, newest_first: Callable[[], Iterator[str]]) -> list[str]:
        """Return the items of the next turn. newest_first: iterates over all n_items, most recently used first."""
        n_generations = self._n_generations(n_items)
        share = self._n_per_turn // n_generations
        del self._rounds[n_generations - 1 :]
        items = list(islice(newest_first(), share if n_generations > 1 else None))
        for generation in range(1, n_generations):
            if generation > len(self._rounds):
                self._rounds.append(iter(()))
            part = list(islice(self._rounds[generation - 1], share))
            if not part:  # the next round, with the items that have this age now
                start = share * (2**generation - 1)
                is_last = generation == n_generations - 1
                end = None if is_last else start + share * 2**generation
                self._rounds[generation - 1] = iter(list(islice(newest_first(), start, end)))
                part = list(islice(self._rounds[generation - 1], share))
            items += part
        return items

    def _n_generations(self, n_items: int) -> int:
        n = 1
        while self._n_per_turn // n * (2**n - 1) < n_items and self._n_per_turn // (n + 1) > 0:
            n += 1
        return n
