"""Memory of this process that the C library keeps after it was freed.

A separate module, because it calls the C library.
"""

from collections.abc import Callable
from functools import cache


def give_back() -> None:
    """Return what is free to the system: glibc keeps it, in an arena for each thread that needed it. Never fails.

    Other C libraries give large blocks back by themselves.
    """
    if trim := _malloc_trim():
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], object] | None:
    import ctypes

    return getattr(ctypes.CDLL(None), "malloc_trim", None)
