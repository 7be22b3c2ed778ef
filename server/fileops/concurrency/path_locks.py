"""PathLocks at a file: requests for one path are served in the order in which they came.

Reads of one path run side by side, edits alone. A turn is held while the disk is worked on, never while a person
thinks. It orders the requests of this process; what keeps a file whole is the compare-and-swap of the filesystem.
Used on the event loop only.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class _FairLock:
    __slots__ = ("n_reading", "waiting", "writing")

    def __init__(self) -> None:
        self.n_reading = 0
        self.writing = False
        self.waiting: deque[tuple[asyncio.Future[None], bool]] = deque()

    def is_free(self, *, shared: bool) -> bool:
        return not self.writing and (shared or not self.n_reading)

    def enter(self, *, shared: bool) -> None:
        if shared:
            self.n_reading += 1
        else:
            self.writing = True

    def leave(self, *, shared: bool) -> None:
        if shared:
            self.n_reading -= 1
        else:
            self.writing = False
        while self.waiting:
            future, wants_shared = self.waiting[0]
            if future.done():  # given up while waiting
                self.waiting.popleft()
                continue
            if not self.is_free(shared=wants_shared):
                return
            self.waiting.popleft()
            self.enter(shared=wants_shared)
            future.set_result(None)


class PathLocks:
    def __init__(self) -> None:
        self._locks: dict[str, _FairLock] = {}

    def is_free(self, key: str) -> bool:
        """Whether a shared turn is to be had at once."""
        lock = self._locks.get(key)
        return lock is None or (not lock.waiting and lock.is_free(shared=True))

    def n_waiting(self, key: str) -> int:
        lock = self._locks.get(key)
        return 0 if lock is None else len(lock.waiting)

    @asynccontextmanager
    async def acquire(self, key: str, *, shared: bool) -> AsyncGenerator[None]:
        """Wait for the turn at `key`, first come first served; `shared` turns in a row run together."""
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = _FairLock()
        if lock.waiting or not lock.is_free(shared=shared):
            turn = asyncio.get_running_loop().create_future()
            lock.waiting.append((turn, shared))
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():  # the turn came together with the cancel: pass it on
                    self._leave(key, lock, shared=shared)
                else:
                    turn.cancel()
                raise
        else:
            lock.enter(shared=shared)
        try:
            yield
        finally:
            self._leave(key, lock, shared=shared)

    def _leave(self, key: str, lock: _FairLock, *, shared: bool) -> None:
        lock.leave(shared=shared)
        if not lock.waiting and lock.is_free(shared=False):
            self._locks.pop(key, None)
