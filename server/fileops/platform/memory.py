"""Returns memory that the C library keeps after this process has freed it.

A separate module, because it calls the C library.
"""

import threading
from collections.abc import Callable
from functools import cache

DELAY_S = 0.5  # between large edits in a row, returned memory would be needed again
_pending = threading.Lock()  # held from `give_back_soon` until the memory is returned


def give_back() -> None:
    """Return free memory to the system: glibc keeps it, in an arena for each thread that needed it. Never fails.

    Other C libraries return large blocks themselves.
    """
    if trim := _malloc_trim():
        trim(0)


def give_back_soon() -> None:
    """Call `give_back` in `DELAY_S`, once for all calls until then.

    Waits for nothing and never fails; on any thread.
    """
    if not _pending.acquire(blocking=False):
        return
    timer = threading.Timer(DELAY_S, _give_back_now)
    timer.daemon = True  # at the end of the process there is nothing to return
    try:
        timer.start()
    except RuntimeError:  # no thread is available
        _give_back_now()


def _give_back_now() -> None:
    _pending.release()
    give_back()


@cache
def _malloc_trim() -> Callable[[int], object] | None:
    import ctypes

    return getattr(ctypes.CDLL(None), "malloc_trim", None)
