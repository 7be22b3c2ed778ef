"""A thread for calls that wait for the disk of a folder, so that their caller can stop waiting.

A filesystem that stops answering (sshfs, NFS) blocks the calling thread until it answers again, and nothing can end
that wait. So the thread is left to its call, and the caller continues with another thread.
"""

import threading
from collections.abc import Callable, Iterator
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
        return outcome.result  # pyrefly: ignore[bad-return] - it is what the call returned

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


class FolderHangs(Exception):
    """The disk of a folder does not answer. is_known: it did not answer an earlier call either."""

    def __init__(self, root: str, *, is_known: bool) -> None:
        super().__init__(root)
        self.root, self.is_known = root, is_known


class FolderDisks:
    """Makes calls that may wait for the disk of a folder. Belongs to one thread.

    While one call waits, no other is made for the folder, because each would cost a wait and a thread.
    """

    def __init__(self, answers_within_s: float, on_answer: Callable[[str], object]) -> None:
        """Args: on_answer: called, in another thread, with the root of a folder whose disk has answered at last."""
        self._answers_within_s, self._on_answer = answers_within_s, on_answer
        self._thread = DiskThread()
        self._hanging: set[str] = set()

    @property
    def hangs(self) -> bool:
        """Whether a call still waits for a disk."""
        return bool(self._hanging)

    def ask(self, root: str, call: Callable[[], T]) -> T:
        """Return the result of a call that may wait for a folder's disk. Raises: FolderHangs, and its own."""
        if root in self._hanging:
            raise FolderHangs(root, is_known=True)
        try:
            return self._thread.run(call, self._answers_within_s)
        except DiskHangs:
            self._hanging.add(root)
            hanging, self._thread = self._thread, DiskThread()
            hanging.leave(lambda: self._on_answer(root))
            raise FolderHangs(root, is_known=False) from None

    def each(self, root: str, steps: Iterator[T]) -> Iterator[T]:
        """Yield the results of steps that may wait for a folder's disk. Raises: FolderHangs, and what they raise."""
        while (step := self.ask(root, lambda: next(steps, _END))) is not _END:
            yield step  # pyrefly: ignore[invalid-yield] - it is what was yielded

    def note_answer(self, root: str) -> None:
        """Note that the disk of a folder has answered."""
        self._hanging.discard(root)

    def leave(self) -> None:
        """End the thread, without waiting."""
        self._thread.leave()


_END = object()
