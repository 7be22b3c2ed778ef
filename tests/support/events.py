"""An event sink that keeps what was published and lets a test wait for it, within a bound."""

import threading
from collections.abc import Callable
from typing import TypeVar

from fileops.model.events import BecameStale, Event
from support.patience import PATIENCE_S

T = TypeVar("T", bound=Event)


class EventRecorder:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self._changed = threading.Condition(threading.RLock())

    def publish(self, event: Event) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def of(self, kind: type[T]) -> list[T]:
        with self._changed:
            return [event for event in self.events if isinstance(event, kind)]

    def stale(self) -> list[tuple[str, str, str, str]]:
        """(session, path as given, reason, source) of each notice, in order."""
        return [(e.session_id, e.file_path, e.reason, e.source) for e in self.of(BecameStale)]

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(is_so, PATIENCE_S), self.events
