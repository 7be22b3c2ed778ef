"""Events → notifications: published from any thread, sent from the loop in the order of publication."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable

from fileops.events import Event


class LoopEvents:
    """The Events port, made on the loop's thread.

    `flush` sends what is still waiting; call it before the connection is closed.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, send: Callable[[Event], None]) -> None:
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._send = send
        self._waiting: deque[Event] = deque()

    def publish(self, event: Event) -> None:
        self._waiting.append(event)
        try:
            if threading.get_ident() == self._loop_thread:
                # Two turns later: the answer of the request that this is about goes out in the next one, and first.
                self._loop.call_soon(self._loop.call_soon, self.flush)
            else:
                self._loop.call_soon_threadsafe(self.flush)
        except RuntimeError:  # the loop is closed: nobody listens any more
            self._waiting.clear()

    def flush(self) -> None:
        while self._waiting:
            self._send(self._waiting.popleft())
