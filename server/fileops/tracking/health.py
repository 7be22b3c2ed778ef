"""Health of a monitor: whether its watches miss something, and whether its thread is stuck in a step."""

import time
from collections.abc import Callable

from fileops.model.events import WatcherHealth

SLOW_S = 2.0  # of one step, which compares 256 files


class MonitorHealth:
    """Belongs to the monitor's thread, except `is_stuck`."""

    def __init__(self, on_health: Callable[[WatcherHealth], None]) -> None:
        """Args: on_health: called when the health has changed."""
        self._on_health = on_health
        self._health = WatcherHealth(state="ok", reason="")
        self._step_began: float | None = None  # monotonic; None while the thread waits for something to do

    def report(self, reason: str) -> None:
        """Publish the health if it has changed. Args: reason: why changes may be noticed late, or ""."""
        health = WatcherHealth(state="degraded" if reason else "ok", reason=reason)
        if health != self._health:
            self._health = health
            self._on_health(health)

    def begin_step(self) -> None:
        self._step_began = time.monotonic()

    def end_step(self) -> None:
        self._step_began = None

    @property
    def is_stuck(self) -> bool:
        """Whether the thread has been in one step for so long that its filesystem must be slow, or hang."""
        began = self._step_began
        return began is not None and time.monotonic() - began > SLOW_S
