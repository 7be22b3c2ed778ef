"""A clock in seconds since the epoch, set once when the process starts, that never goes back and never jumps.

It orders events and measures the time between them. The wall clock, which its user or NTP may set, is only for display.
"""

import time

_OFFSET_NS = time.time_ns() - time.monotonic_ns()


def steady_ns() -> int:
    return time.monotonic_ns() + _OFFSET_NS


def steady_time() -> float:
    return steady_ns() / 1e9
