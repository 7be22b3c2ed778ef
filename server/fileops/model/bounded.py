"""A mapping that drops its least recently used entries."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LruDict(Generic[K, V]):
    """Keeps the most recently used entries whose costs fit in `max_cost`. Not thread-safe.

    cost_of: by value, 1 by default, so that `max_cost` is a number of entries. max_cost: may be raised later.
    """

    __slots__ = ("_cost", "_cost_of", "_items", "max_cost")

    def __init__(self, max_cost: int, cost_of: Callable[[V], int] = lambda value: 1) -> None:
        self._items: OrderedDict[K, V] = OrderedDict()
        self.max_cost = max_cost
        self._cost_of = cost_of
        self._cost = 0

    def __len__(self) -> int:
        return len(self._items)

    def get(self, key: K) -> V | None:
        """Return the value, without using the entry."""
        return self._items.get(key)

    def use(self, key: K) -> V | None:
        """Return the value, and make the entry the most recently used one."""
        if key not in self._items:
            return None
        self._items.move_to_end(key)
        return self._items[key]

    def put(self, key: K, value: V) -> None:
        self.drop(key)
        self._items[key] = value
        self._cost += self._cost_of(value)
        while self._cost > self.max_cost and self._items:
            self._cost -= self._cost_of(self._items.popitem(last=False)[1])

    def drop(self, key: K) -> None:
        if key in self._items:
            self._cost -= self._cost_of(self._items.pop(key))

    def values(self) -> Iterator[V]:
        """Return the values, least recently used first."""
        return iter(self._items.values())
