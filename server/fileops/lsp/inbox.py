"""From the reader's thread to the loop, bounded: a client that sends faster than it is served has to wait."""

import asyncio
import threading
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_MESSAGES = 256
MAX_BYTES = 64 << 20  # one message may be that large, and then waits alone


class Inbox(Generic[T]):
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[tuple[T, int]] = deque()
        self._n_bytes = 0
        self._changed = threading.Condition()
        self._arrived = asyncio.Event()

    def put(self, item: T, n_bytes: int) -> None:
        """From the reader's thread; blocks while there is no room."""
        with self._changed:
            while self._waiting and (len(self._waiting) >= MAX_MESSAGES or self._n_bytes + n_bytes > MAX_BYTES):
                self._changed.wait()
            self._waiting.append((item, n_bytes))
            self._n_bytes += n_bytes
            first = len(self._waiting) == 1
        if first:
            try:
                self._loop.call_soon_threadsafe(self._arrived.set)
            except RuntimeError:  # the loop is closed: the connection has ended
                return

    async def get(self) -> T:
        while True:
            with self._changed:
                if self._waiting:
                    item, n_bytes = self._waiting.popleft()
                    self._n_bytes -= n_bytes
                    self._changed.notify()
                    return item
                self._arrived.clear()
            await self._arrived.wait()
