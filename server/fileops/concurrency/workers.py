"""Worker threads for disk work, and others for work that waits for an editor, a host or a plugin.

Faster than an asyncio executor, whose futures take three iterations of the loop for one result: a small read takes less
time than that. Threads start when they are needed, and stay.
"""

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from copy import copy
from functools import partial
from queue import SimpleQueue
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from fileops.concurrency import deferred, shares
from fileops.concurrency.cancellation import CancelToken
from fileops.concurrency.shares import LOCAL, PLUGIN, NeedsShare, Share
from fileops.model.internal_errors import Cancelled

T = TypeVar("T")
log = logging.getLogger(__name__)
Turns = asyncio.Semaphore  # of one client: how many of its jobs may have or await a thread

N_SHARED = 40  # in a daemon with many clients; ten with hung mounts use them up
N_OF_A_CLIENT = 4  # in such a daemon, so that one client's hung mount does not stop others
N_LOCAL = 16  # disk waits, not computation: enough for parallel calls of one agent, few enough for 2 cores
N_OF_A_SHARE = 8  # an editor, a mapped host, an undo: more at once would not be served faster
N_FOR_PLUGINS = 4  # each may keep a process
MAX_QUEUED = 256  # of one share; further ones fail at once
CLEAR_UP_S = 4.0  # to remove what a cancelled job has made; a daemon's end waits longer


class _Job(Generic[T]):
    __slots__ = ("_failure", "_is_done", "_loop", "_result", "_token", "_turns", "_waiter", "_work")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, token: CancelToken, work: Callable[[], T], turns: Turns | None
    ) -> None:
        self._turns = turns
        self._loop = loop
        self._token = token
        self._work = work
        self._result: T | None = None
        self._failure: BaseException | None = None
        self._is_done = False
        self._waiter: asyncio.Future[None] | None = None

    def run(self, *, is_wanted: bool) -> None:
        """Run in a worker thread; `deliver` has to follow."""
        try:
            if not is_wanted:
                raise Cancelled
            self._token.check()  # it may have been cancelled while it was queued
            self._result = self._work()
        except BaseException as failure:  # noqa: BLE001 - the waiting caller gets every failure
            self._failure = failure

    def deliver(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._finish)

    def _finish(self) -> None:
        self._is_done = True
        if self._turns is not None:  # not before: the thread of a cancelled job may still wait for the disk
            self._turns.release()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self) -> None:
        """Wait for the job. A cancel of the wait does not affect the job, which can be waited for again."""
        if not self._is_done:
            self._waiter = self._loop.create_future()
            await self._waiter

    async def wait_in_any_case(self, timeout_s: float) -> None:
        """Wait even if the caller is cancelled, but not longer than `timeout_s`."""
        until = self._loop.time() + timeout_s
        while not self._is_done and (rest_s := until - self._loop.time()) > 0:
            with suppress(TimeoutError, asyncio.CancelledError):
                async with asyncio.timeout(rest_s):
                    await self.wait()

    def result(self) -> T:
        if self._failure is not None:
            raise self._failure
        return self._result  # pyrefly: ignore[bad-return] - None is a T where that is what `work` returned


class WorkerPool:
    """Threads for jobs that wait for the disk and for the `allowed` shares (None: for all). name: begins theirs."""

    def __init__(self, n_threads: int, allowed: frozenset[Share] | None = LOCAL) -> None:
        self._n_max = n_threads
        self._allowed = allowed
        self.name = "-".join(("fileops-worker", *(("any",) if allowed is None else sorted(allowed))))
        self._threads: list[threading.Thread] = []
        self._jobs: SimpleQueue[_Job[object] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._n_idle = 0  # threads without a job, less jobs without a thread
        self.is_closed = False

    async def run(self, token: CancelToken, work: Callable[[], T], turns: Turns | None = None) -> T:
        """Return the result of `work` from a worker thread. A cancel either prevents its commit or comes too late.

        If it prevents the commit, temp files are removed before this returns, unless that takes longer than CLEAR_UP_S.
        Raises: CancelledError, and what `work` raises.
        """
        if turns is not None:
            await turns.acquire()
        job = _Job(asyncio.get_running_loop(), token, work, turns)
        try:
            self._submit(job)
        except BaseException:  # the pool is closed, or has no thread
            if turns is not None:
                turns.release()
            raise
        while True:
            try:
                await job.wait()
                return job.result()
            except asyncio.CancelledError:
                if token.cancel():
                    if token.leaves_traces:
                        await job.wait_in_any_case(CLEAR_UP_S)
                    raise
                # Too late: the commit has begun, and the caller gets its result.
            except Cancelled:
                raise asyncio.CancelledError from None

    @property
    def n_queued(self) -> int:
        """The approximate number of jobs that wait for a thread."""
        return self._jobs.qsize()

    def close(self) -> None:
        """Finish the jobs that have begun and cancel the queued ones. Blocks."""
        with self._lock:
            self.is_closed = True
            threads = list(self._threads)
        for _ in threads:
            self._jobs.put(None)
        for thread in threads:
            thread.join()

    def retire(self) -> None:
        """Let the threads end when their jobs are done; queued jobs are cancelled. Waits for nothing."""
        with self._lock:
            self.is_closed = True
            n_threads = len(self._threads)
        for _ in range(n_threads):
            self._jobs.put(None)

    def _submit(self, job: "_Job[T]") -> None:
        with self._lock:
            if self.is_closed:
                raise asyncio.CancelledError
            self._n_idle -= 1
            if self._n_idle < 0 and len(self._threads) < self._n_max:
                self._start_thread()
        self._jobs.put(job)  # pyrefly: ignore[bad-argument-type] - a job of T is a job of object to the queue

    def _start_thread(self) -> None:
        """Start a thread; if the system allows no more, jobs wait for the others. The lock is held.

        Raises: RuntimeError, if there are no others.
        """
        thread = threading.Thread(target=self._work, name=f"{self.name}-{len(self._threads)}", daemon=True)
        try:
            thread.start()
        except RuntimeError as fault:
            if not self._threads:
                self._n_idle += 1  # the job is not queued
                raise
            log.warning("%d threads serve %s: %s", len(self._threads), self.name, fault)
        else:
            self._n_idle += 1
            self._threads.append(thread)

    def _work(self) -> None:
        deferred.enable()
        shares.enter(self._allowed)
        while (job := self._jobs.get()) is not None:
            job.run(is_wanted=not self.is_closed)
            is_through = not deferred.is_pending()
            if is_through:
                self._count_idle()  # before the result: the next job may follow at once
            job.deliver()
            del job  # a result may be large, and this thread may stay idle
            if not is_through:  # the next job is for another thread
                deferred.run_pending()
                self._count_idle()

    def _count_idle(self) -> None:
        with self._lock:
            self._n_idle += 1


class SharedWorkers:
    """Worker threads by share: for work that waits only for the disk, for an editor, a mapped host, or a plugin.

    Work starts in a thread for the disk. If it needs another share (`shares.require`), it starts again in a thread of
    that share; if it needs two, in one of both. Belongs to the event loop. on_hand_over: called when work has left the
    threads for the disk.
    """

    def __init__(self, *, has_many_clients: bool = False) -> None:
        self._local = WorkerPool(N_SHARED if has_many_clients else N_LOCAL)
        self._pools: dict[frozenset[Share] | None, WorkerPool] = {LOCAL: self._local}
        self._has_many_clients = has_many_clients
        self._turns: Turns | None = None
        self._place = ""
        # Turns of clients that have left, by place, while a thread still works for one of them:
        self._left: WeakValueDictionary[str, Turns] = WeakValueDictionary()
        self._handed_over: Counter[str] = Counter()
        self.on_hand_over: set[Callable[[], None]] = set()

    async def run(self, token: CancelToken, work: Callable[[], T], place: str = "") -> T:
        """See WorkerPool.run. place: the key under which `n_waiting_for_others` counts this work."""
        try:
            return await self._local.run(token, work, self._turns)
        except NeedsShare as found:
            first = found.share
        with self._count(place):
            return await self._run_for_share(first, token, work)

    def of_client(self, place: str = "") -> "SharedWorkers":
        """Return the same threads as one of many clients may use them: N_OF_A_CLIENT at once for local disk work.

        place: what a client keeps when it connects again, "" if nothing. Threads that still wait for a mount on behalf
        of a client that has left then count as the new one's.
        """
        if not self._has_many_clients:
            return self
        view = copy(self)
        view._place = place  # noqa: SLF001
        view._turns = self._left.get(place) or asyncio.Semaphore(N_OF_A_CLIENT)  # noqa: SLF001
        return view

    def leave(self) -> None:
        """End the use of a view that `of_client` has returned. Called on any thread."""
        if self._place and self._turns is not None:
            self._left[self._place] = self._turns

    async def run_apart(self, token: CancelToken, work: Callable[[], T]) -> T:
        """Run work that cannot start again half-way in separate threads, which may wait for every share."""
        with self._count(""):
            return await self._pool(None).run(token, work)

    async def _run_for_share(self, share: Share, token: CancelToken, work: Callable[[], T]) -> T:
        needs, full = LOCAL, LOCAL
        while True:
            if self._pool(needs | {share}).n_queued >= MAX_QUEUED:
                full |= {share}
            else:
                needs |= {share}
            try:
                return await self._pool(needs).run(token, partial(_run_refused, full, work))
            except NeedsShare as found:
                share = found.share

    @contextmanager
    def _count(self, place: str) -> Generator[None]:
        self._handed_over[place] += 1
        for call in tuple(self.on_hand_over):
            call()
        try:
            yield
        finally:
            self._handed_over[place] -= 1
            if not self._handed_over[place]:
                del self._handed_over[place]

    def n_waiting_for_others(self, n_queued_after: Callable[[str], int]) -> int:
        """The number of jobs that have left the threads for the disk, plus `n_queued_after` of each one's place."""
        return self._handed_over.total() + sum(map(n_queued_after, self._handed_over))

    def end_share(self, share: Share) -> None:
        """Give up the threads of a party that is gone. Called on any thread."""
        for needs in [needs for needs in tuple(self._pools) if needs is not None and share in needs]:
            if (pool := self._pools.pop(needs, None)) is not None:
                pool.retire()

    def close(self) -> None:
        """See WorkerPool.close; all of them at once."""
        self._local.is_closed = True  # from now on there are no further pools
        closing = [threading.Thread(target=pool.close, daemon=True) for pool in self._pools.values()]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join()

    def _pool(self, needs: frozenset[Share] | None) -> WorkerPool:
        pool = self._pools.get(needs)
        if pool is None:
            if self._local.is_closed:
                raise asyncio.CancelledError
            n_threads = N_FOR_PLUGINS if needs is not None and PLUGIN in needs else N_OF_A_SHARE
            pool = self._pools[needs] = WorkerPool(n_threads, needs)
        return pool


def _run_refused(full: frozenset[Share], work: Callable[[], T]) -> T:
    with shares.refuse(full):
        return work()
