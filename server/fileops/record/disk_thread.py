"""A thread for calls that wait for a disk, so that their caller can stop waiting.

A filesystem that stops answering (sshfs, NFS) blocks the calling thread until it answers again, and nothing can end
that wait. So the thread is left to its call, and the caller continues with another thread.
"""

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeVar

from msgspec import Struct

T = TypeVar("T")


class DiskHangs(Exception):
    """A call has not ended in time. It may still end and take effect at any later time."""


class _Outcome(Struct):
    result: object = None
    failure: BaseException | None = None


class DiskThread:
    """Thread for one caller and one call at a time. It starts with the first call and never delays process exit."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._outcomes: SimpleQueue[_Outcome] = SimpleQueue()
        self._has_begun = False

    def run(self, call: Callable[[], T], within_s: float) -> T:
        """Return what the call returns, or raise what it raises. Raises: DiskHangs; then only `leave` may be called."""
        if not self._has_begun:
            self._has_begun = True
            threading.Thread(target=self._run, name="fileops-record-disk", daemon=True).start()
        self._calls.put(call)
        try:
            outcome = self._outcomes.get(timeout=within_s)
        except Empty:
            raise DiskHangs from None
        if outcome.failure is not None:
            raise outcome.failure
        return outcome.result  # pyright: ignore[reportReturnType] - it is what the call returned

    def leave(self, when_back: Callable[[], object] = lambda: None) -> None:
        """Let the thread end after its call, without waiting. Args: when_back: called in the thread at that time."""
        self._calls.put(when_back)
        self._calls.put(None)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            outcome = _Outcome()
            try:
                outcome.result = call()
            except BaseException as failure:  # noqa: BLE001 - raised again in the caller
                outcome.failure = failure
            self._outcomes.put(outcome)
