"""Cancellation checks inside long work on a text.

A separate module, because all long work in the core uses it, in folders that do not import each other.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

Check = Callable[[], None]  # raises if the work was cancelled

N_BETWEEN = 4096  # items of about a microsecond each


def check_nothing() -> None:
    """Check nothing: for work that cannot be cancelled."""


def check_between(items: Iterable[T], check: Check) -> Iterator[T]:
    """Yield the items, and call `check` before every few thousand. Raises: the errors of `check`."""
    for number, item in enumerate(items):
        if number % N_BETWEEN == 0:
            check()
        yield item
