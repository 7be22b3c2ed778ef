"""Events → notifications: published from any thread, sent from the loop in the order of publication."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from fileops.model.events import Event


class _Published:
    """is_ripe: whether the answer of the request that this is about has had its turn."""

    __slots__ = ("event", "is_ripe")

    def __init__(self, event: Event, *, is_ripe: bool) -> None:
        self.event, self.is_ripe = event, is_ripe


class NotificationQueue:
    """The Events port, made on the loop's thread.

    `flush` sends what is still waiting; call it before the connection is closed.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, send: Callable[[Iterable[Event]], None]) -> None:
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._send = send
        self._young: list[_Published] = []  # from the loop: the answer goes out first, and what comes behind them waits
        self._due: deque[_Published] = deque()

    def publish(self, event: Event) -> None:
        try:
            if threading.get_ident() != self._loop_thread:
                self._due.append(_Published(event, is_ripe=True))
                self._loop.call_soon_threadsafe(self._send_due)
            else:
                if not self._young:
                    self._loop.call_soon(self._ripen)
                young = _Published(event, is_ripe=False)
                self._young.append(young)
                self._due.append(young)
        except RuntimeError:  # the loop is closed: nobody listens any more
            self._due.clear()

    def flush(self) -> None:
        self._ripen_now()
        self._send_due()

    def _ripen(self) -> None:
        """A turn after the publication: in this one the answer goes out."""
        self._ripen_now()
        self._loop.call_soon(self._send_due)

    def _ripen_now(self) -> None:
        for published in self._young:
            published.is_ripe = True
        self._young.clear()

    def _send_due(self) -> None:
        if self._due and self._due[0].is_ripe:
            self._send(self._taken_due())

    def _taken_due(self) -> Iterator[Event]:
        while self._due and self._due[0].is_ripe:
            yield self._due.popleft().event
