"""Long work on a text looks now and then whether it is still wanted."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

Check = Callable[[], None]  # raises where the work is not wanted any more

N_BETWEEN = 4096  # items of about a microsecond each


def unchecked() -> None:
    """The check of work that nobody takes back."""


def checked(items: Iterable[T], check: Check) -> Iterator[T]:
    """The items; checked before each few thousand. Raises: what the check raises."""
    for number, item in enumerate(items):
        if number % N_BETWEEN == 0:
            check()
        yield item
