"""Queue of notifications: published on any thread, sent on the event loop in the order of publication.

A notification that a request causes is sent after the answer to that request. One that is published after the answer
has been handed over, as an effect of its delivery (concurrency/delivery.py), need not wait.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from fileops.concurrency.delivery import Delivery, present_delivery
from fileops.model.events import Event


class _Published:
    """An event, and whether it may be sent: the answer to its request, if there is one, goes first."""

    __slots__ = ("delivery", "event", "is_released")

    def __init__(self, event: Event, *, is_released: bool, delivery: Delivery | None = None) -> None:
        self.event = event
        self.is_released = is_released
        self.delivery = delivery


class NotificationQueue:
    """See ports.EventSink. Create it on the loop's thread, and call `flush` before the connection is closed."""

    def __init__(self, loop: asyncio.AbstractEventLoop, send: Callable[[Iterable[Event]], None]) -> None:
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._send = send
        self._held: list[_Published] = []  # published on the loop: they and all later ones wait for the answer
        self._due: deque[_Published] = deque()

    def publish(self, event: Event) -> None:
        try:
            if threading.get_ident() != self._loop_thread:
                self._due.append(_Published(event, is_released=True))
                self._loop.call_soon_threadsafe(self._send_due)
            elif (delivery := present_delivery()) is not None and delivery.is_settled:
                # Sent in the next turn, so that the delivery's other effects come first. If others wait before it, the
                # first of them has scheduled the turn in which this one is sent as well.
                if not self._due:
                    self._loop.call_soon(self._send_due)
                self._due.append(_Published(event, is_released=True))
            else:
                if not self._held:
                    self._loop.call_soon(self._release)
                published = _Published(event, is_released=False, delivery=delivery)
                self._held.append(published)
                self._due.append(published)
        except RuntimeError:  # the loop is closed, so the client is gone
            self._due.clear()

    def flush(self) -> None:
        """Send what still waits."""
        self._release_held()
        self._send_due()

    def _release(self) -> None:
        """Called one turn of the loop after the publication; an answer is sent within that turn at the latest."""
        are_answered = all(held.delivery is not None and held.delivery.is_settled for held in self._held)
        self._release_held()
        if are_answered:
            self._send_due()
        else:
            self._loop.call_soon(self._send_due)

    def _release_held(self) -> None:
        for published in self._held:
            published.is_released = True
        self._held.clear()

    def _send_due(self) -> None:
        if self._due and self._due[0].is_released:
            self._send(self._take_due())

    def _take_due(self) -> Iterator[Event]:
        while self._due and self._due[0].is_released:
            yield self._due.popleft().event
