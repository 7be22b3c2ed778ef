"""Computes what is not kept in a file before anybody asks for it, so that a list of very many changes is short work.

The record keeps what it finds (rewind/answers.py). A file is looked at once it has been left alone for a while, or has
changed very often: one file at a time, one with very many changes in parts, and not more than a twentieth of a core in
the long run, so that edits need not wait for it.
"""

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice

from fileops.concurrency.cancellation import CancelToken
from fileops.concurrency.workers import SharedWorkers

log = logging.getLogger(__name__)
QUIET_S = 5.0  # after its last change, a file is looked at
MAX_CHANGES = 256  # of a file; after as many, it is looked at even if it goes on changing
PAUSES = 19  # times as long as a file took: then the next one
MAX_FILES = 100  # for which git is asked at once
MAX_WAITING = 10_000  # files; those that changed first are forgotten, and computed when they are listed

Prepare = Callable[[Sequence[str]], Iterator[None]]


class UnkeptAhead:
    """Create it on the event loop. prepare: computes files one by one, and yields at times; in worker threads."""

    def __init__(self, workers: SharedWorkers, prepare: Prepare) -> None:
        self._loop, self._workers = asyncio.get_running_loop(), workers
        self._prepare, self._quiet_s = prepare, QUIET_S
        self._lock = threading.Lock()
        self._changed: dict[str, float] = {}  # when each file last changed, the longest ago first
        self._n_changes = Counter[str]()  # of each of these files
        self._overdue: dict[str, None] = {}  # those of them that have changed too often
        self._is_due = False
        self._working: asyncio.Task[None] | None = None

    def note(self, paths: Collection[str]) -> None:
        """Note changes after which other places may not be kept in these files. Any thread."""
        if not paths:
            return
        with self._lock:
            for path in paths:
                self._changed.pop(path, None)
                self._changed[path] = time.monotonic()
                self._n_changes[path] += 1
                if self._n_changes[path] >= MAX_CHANGES:
                    self._overdue[path] = None
            while len(self._changed) > MAX_WAITING:
                self._forget(next(iter(self._changed)))
            is_due, self._is_due = self._is_due, True
        if not is_due:
            try:
                self._loop.call_soon_threadsafe(self._wait)
            except RuntimeError:  # the loop is closed
                log.debug("nothing is computed ahead any more")

    def _wait(self, pause_s: float = 0.0) -> None:
        with self._lock:
            oldest = next(iter(self._changed.values()), None)
            self._is_due = oldest is not None
            is_overdue = bool(self._overdue)
        if oldest is not None:
            wait_s = 0.0 if is_overdue else oldest + self._quiet_s - time.monotonic()
            self._loop.call_later(max(wait_s, pause_s), self._begin)

    def _begin(self) -> None:
        quiet_since = time.monotonic() - self._quiet_s
        with self._lock:
            left_alone = (path for path, changed in self._changed.items() if changed <= quiet_since)
            paths = list(islice(dict.fromkeys((*self._overdue, *left_alone)), MAX_FILES))
            for path in paths:
                self._forget(path)
        if paths:
            self._working = self._loop.create_task(self._work(paths))
        else:  # the oldest has changed again
            self._wait()

    def _forget(self, path: str) -> None:
        """Remove a file that is noted. With the lock."""
        del self._changed[path], self._n_changes[path]
        self._overdue.pop(path, None)

    async def _work(self, paths: Sequence[str]) -> None:
        took_s = 0.0
        try:
            steps = await self._workers.run_apart(CancelToken(), lambda: self._prepare(paths))
            is_more = True
            while is_more:
                await asyncio.sleep(took_s * PAUSES)
                is_more, took_s = await self._workers.run_apart(CancelToken(), lambda: _measure(steps))
        except Exception:  # the boundary of an optional part: what was not computed is computed when it is listed
            log.warning("what is not kept was not computed ahead", exc_info=True)
        self._wait(took_s * PAUSES)


def _measure(steps: Iterator[None]) -> tuple[bool, float]:
    """Take one step. Returns whether there was one, and its processor time."""
    start = time.thread_time()
    is_more = next(steps, False) is None
    return is_more, time.thread_time() - start
