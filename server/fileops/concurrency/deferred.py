"""Deferred cleanup: a worker thread runs these calls after it has delivered its result.

Only for work without an observable effect, such as closing a descriptor. Other threads run the calls at once.
"""

import threading
from collections.abc import Callable

_MAX_PENDING = 8  # an edit defers one; an undo of many files must not keep many open


class _Pending(threading.local):
    calls: list[Callable[[], None]] | None = None  # None: this thread defers nothing


_pending = _Pending()


def defer(call: Callable[[], None]) -> None:
    """Run `call`, which never raises, after the result of this worker thread, or at once in other threads."""
    if _pending.calls is None or len(_pending.calls) >= _MAX_PENDING:
        call()
    else:
        _pending.calls.append(call)


def enable() -> None:
    """Defer the calls of this thread from now on; it has to call `run_pending`."""
    _pending.calls = []


def is_pending() -> bool:
    return bool(_pending.calls)


def run_pending() -> None:
    if _pending.calls:
        calls, _pending.calls = _pending.calls, []
        for call in calls:
            call()
