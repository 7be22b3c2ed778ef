"""Events → notifications: published from any thread, sent from the loop in the order of publication."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from fileops.events import Event


class LoopEvents:
    """The Events port, made on the loop's thread.

    `flush` sends what is still waiting; call it before the connection is closed.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, send: Callable[[Iterable[Event]], None]) -> None:
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._send = send
        self._young: list[Event] = []  # from the loop: the answer of the request that this is about goes out first
        self._due: deque[Event] = deque()

    def publish(self, event: Event) -> None:
        try:
            if threading.get_ident() != self._loop_thread:
                self._due.append(event)
                self._loop.call_soon_threadsafe(self._send_due)
            else:
                if not self._young:
                    self._loop.call_soon(self._ripen)
                self._young.append(event)
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
        self._due.extend(self._young)
        self._young.clear()

    def _send_due(self) -> None:
        if self._due:
            self._send(self._taken_due())

    def _taken_due(self) -> Iterator[Event]:
        while self._due:
            yield self._due.popleft()
