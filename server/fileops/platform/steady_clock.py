"""A clock in seconds since the epoch, as of the start of the process, that never goes back and never jumps.

The order of events and the time between two of them are taken from it. The wall clock, which its user or NTP may set,
is only for showing.
"""

import time

_OFFSET_NS = time.time_ns() - time.monotonic_ns()


def steady_ns() -> int:
    return time.monotonic_ns() + _OFFSET_NS


def steady_time() -> float:
    return steady_ns() / 1e9
