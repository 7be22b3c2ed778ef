"""A few threads for disk work, and the shortest way there and back.

Leaner than an executor of asyncio, whose futures take three turns of the loop for one answer: a small read costs
less than they do. Threads start when they are needed and stay.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Generic, TypeVar

from fileops import afterwards
from fileops.cancellation import CancelToken
from fileops.errors import Cancelled

T = TypeVar("T")

CLEAR_UP_S = 4.0  # for what a cancelled job has made: many syncs of a busy disk; less than the end of a daemon waits


class _Job(Generic[T]):
    __slots__ = ("_failure", "_is_done", "_loop", "_result", "_waiter", "_work")

    def __init__(self, loop: asyncio.AbstractEventLoop, work: Callable[[], T]) -> None:
        self._loop = loop
        self._work = work
        self._result: T | None = None
        self._failure: BaseException | None = None
        self._is_done = False
        self._waiter: asyncio.Future[None] | None = None

    def run(self, *, is_wanted: bool) -> None:
        """In a worker thread. `tell` has to follow."""
        try:
            if not is_wanted:
                raise Cancelled
            self._result = self._work()
        except BaseException as failure:  # noqa: BLE001 - whatever it is belongs to him who waits
            self._failure = failure

    def tell(self) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._settle)

    def _settle(self) -> None:
        self._is_done = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self) -> None:
        """Cancelling the wait leaves the job alone; it can be waited for again."""
        if not self._is_done:
            self._waiter = self._loop.create_future()
            await self._waiter

    async def wait_in_any_case(self, timeout_s: float) -> None:
        """However often the caller is cancelled; not longer than that."""
        until = self._loop.time() + timeout_s
        while not self._is_done and (rest_s := until - self._loop.time()) > 0:
            with suppress(TimeoutError, asyncio.CancelledError):
                async with asyncio.timeout(rest_s):
                    await self.wait()

    def result(self) -> T:
        if self._failure is not None:
            raise self._failure
        return self._result  # pyright: ignore[reportReturnType] - None is a T where that is what `work` returned


class Workers:
    def __init__(self, n_threads: int) -> None:
        self._n_max = n_threads
        self._threads: list[threading.Thread] = []
        self._jobs: SimpleQueue[_Job[object] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._n_idle = 0  # threads without a job, less jobs without a thread
        self.is_closed = False

    async def run(self, token: CancelToken, work: Callable[[], T]) -> T:
        """The result of `work` from a worker thread; a cancel either prevents its commit or is overtaken by it.

        What a prevented one has made by then is gone when this returns, unless the disk takes longer than CLEAR_UP_S.
        Raises: CancelledError, and what `work` raises.
        """
        job = _Job(asyncio.get_running_loop(), work)
        self._submit(job)
        while True:
            try:
                await job.wait()
                return job.result()
            except asyncio.CancelledError:
                if token.cancel():
                    if token.leaves_traces:
                        await job.wait_in_any_case(CLEAR_UP_S)
                    raise
                # Too late: the commit has begun, and its true result is what the caller gets.
            except Cancelled:
                raise asyncio.CancelledError from None

    def close(self) -> None:
        """Finish what has begun; what is still queued is cancelled. Blocks."""
        with self._lock:
            self.is_closed = True
            threads = list(self._threads)
        for _ in threads:
            self._jobs.put(None)
        for thread in threads:
            thread.join()

    def _submit(self, job: "_Job[T]") -> None:
        with self._lock:
            if self.is_closed:
                raise asyncio.CancelledError
            self._n_idle -= 1
            if self._n_idle < 0 and len(self._threads) < self._n_max:
                self._n_idle += 1
                thread = threading.Thread(target=self._work, name=f"fileops-worker-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
        self._jobs.put(job)  # pyright: ignore[reportArgumentType] - a job of T is a job of object to the queue

    def _work(self) -> None:
        afterwards.begin()
        while (job := self._jobs.get()) is not None:
            job.run(is_wanted=not self.is_closed)
            is_through = not afterwards.is_pending()
            if is_through:
                self._count_idle()  # before the answer is told: the next job may come at once
            job.tell()
            del job  # a result may be large, and the next job may be long in coming
            if not is_through:  # it may be long as well, and the next job is another thread's
                afterwards.catch_up()
                self._count_idle()

    def _count_idle(self) -> None:
        with self._lock:
            self._n_idle += 1
