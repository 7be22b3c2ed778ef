"""Fair read/write locks by path: requests for one path are served in the order of their arrival.

Reads of one path run in parallel, edits alone. A lock is held during disk work, never during an approval. It orders the
requests of this process; what protects a file is the filesystem's compare-and-swap. Belongs to the event loop.
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
            if future.done():  # cancelled while waiting
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
        """Return whether a shared lock is available without a wait."""
        lock = self._locks.get(key)
        return lock is None or (not lock.waiting and lock.is_free(shared=True))

    def n_waiting(self, key: str) -> int:
        lock = self._locks.get(key)
        return 0 if lock is None else len(lock.waiting)

    @asynccontextmanager
    async def acquire(self, key: str, *, shared: bool) -> AsyncGenerator[None]:
        """Hold the lock of `key`, after all earlier requests for it; consecutive `shared` ones hold it together."""
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = _FairLock()
        if lock.waiting or not lock.is_free(shared=shared):
            granted = asyncio.get_running_loop().create_future()
            lock.waiting.append((granted, shared))
            try:
                await granted
            except asyncio.CancelledError:
                if granted.done() and not granted.cancelled():  # acquired together with the cancel: pass it on
                    self._leave(key, lock, shared=shared)
                else:
                    granted.cancel()
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
