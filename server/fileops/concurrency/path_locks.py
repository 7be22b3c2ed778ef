"""Fair read/write locks by path: requests for one path are served in the order of their arrival.

Reads of one path run in parallel, edits alone. A lock is held during disk work, never during an approval. It orders the
requests of this process; what protects a file is the filesystem's compare-and-swap. Belongs to the event loop.
"""

import asyncio
from collections import deque


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

    def acquire(self, key: str, *, shared: bool) -> "_Hold":
        """Hold the lock of `key`, after all earlier requests for it; consecutive `shared` ones hold it together."""
        return _Hold(self._locks, key, shared=shared)


class _Hold:
    """One request's hold of a lock, as an async context manager."""

    __slots__ = ("_key", "_lock", "_locks", "_shared")

    def __init__(self, locks: dict[str, _FairLock], key: str, *, shared: bool) -> None:
        self._locks = locks
        self._key = key
        self._shared = shared

    async def __aenter__(self) -> None:
        lock = self._locks.get(self._key)
        if lock is None:
            lock = self._locks[self._key] = _FairLock()
        self._lock = lock
        if not lock.waiting and lock.is_free(shared=self._shared):
            lock.enter(shared=self._shared)
            return
        granted = asyncio.get_running_loop().create_future()
        lock.waiting.append((granted, self._shared))
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():  # acquired together with the cancel: pass it on
                self._leave()
            else:
                granted.cancel()
            raise

    async def __aexit__(self, *_failure: object) -> None:
        self._leave()

    def _leave(self) -> None:
        lock = self._lock
        lock.leave(shared=self._shared)
        if not lock.waiting and lock.is_free(shared=False):
            self._locks.pop(self._key, None)
