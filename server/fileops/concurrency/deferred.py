"""What an answer need not wait for: done by the worker thread that gave it, once it is out.

Only what changes nothing that anybody is told of. Elsewhere than in a worker it is done at once.
"""

import threading
from collections.abc import Callable

_MAX_PENDING = 8  # an edit puts off one; an undo of a thousand files must not keep a thousand of them open


class _Pending(threading.local):
    calls: list[Callable[[], None]] | None = None  # None: nobody comes back to them in this thread


_pending = _Pending()


def do(call: Callable[[], None]) -> None:
    """call: never raises."""
    if _pending.calls is None or len(_pending.calls) >= _MAX_PENDING:
        call()
    else:
        _pending.calls.append(call)


def begin() -> None:
    """From here on what this thread puts off is done by `catch_up`."""
    _pending.calls = []


def is_pending() -> bool:
    return bool(_pending.calls)


def catch_up() -> None:
    if _pending.calls:
        calls, _pending.calls = _pending.calls, []
        for call in calls:
            call()
