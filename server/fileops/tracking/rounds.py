"""Chooses which of many items to check in each turn, by how recently they were used. Knows no file and no clock.

All items are checked in every turn while they fit into it. Of more, the most recent ones are checked in every turn, the
next in every second turn, twice as many after them in every fourth, and so on. So what is in use is never late, and
nothing is left out: the last of 100,000 items waits for some 250 turns of 2,000.
"""

from collections.abc import Callable, Iterator
from itertools import islice


class RecencyRounds:
    """Not thread-safe. n_per_turn: how many items fit into one turn, at least 16."""

    def __init__(self, n_per_turn: int) -> None:
        self._n_per_turn = n_per_turn
        # What is left of the present round of each generation but the newest; generation k has 2**k shares.
        self._rounds: list[Iterator[str]] = []

    def turn(self, n_items: int, newest_first: Callable[[], Iterator[str]]) -> list[str]:
        """Return the items of the next turn. newest_first: iterates over all n_items, the last used first."""
        n_generations = self._n_generations(n_items)
        share = self._n_per_turn // n_generations
        del self._rounds[n_generations - 1 :]
        items = list(islice(newest_first(), share if n_generations > 1 else None))
        for generation in range(1, n_generations):
            if generation > len(self._rounds):
                self._rounds.append(iter(()))
            part = list(islice(self._rounds[generation - 1], share))
            if not part:  # the next round, of the items that are so old now
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
