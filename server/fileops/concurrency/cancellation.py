"""Cancellation: decides the race of a cancel with a commit, once, and ties commits to it.

Until the commit begins, a cancel wins and nothing is written; after that the commit wins and the caller gets its
result. If the file changes between the read and the commit, the work is tried again from the read.
"""

import threading
from collections.abc import Callable
from typing import Literal, Self

from msgspec import Struct

from fileops.model.errors import IoFailure
from fileops.model.files import Committed
from fileops.model.internal_errors import Cancelled, PathMoved, Stale

MAX_TRIES = 100  # lost compare-and-swaps in a row: more than parallel editors of one file can cause


class CancelToken:
    """Shared by the event loop (which cancels) and one worker thread (which commits)."""

    __slots__ = ("_lock", "_state", "_was_late", "_withdraw", "leaves_traces")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.leaves_traces = False  # until the worker thread has ended its work
        self._withdraw: Callable[[], None] | None = None
        self._was_late = False
        self._state: Literal["open", "cancelled", "committing"] = "open"

    def cancel(self) -> bool:
        """Whether the cancel is in time. A late one may still withdraw the commit; then the worker reports that."""
        with self._lock:
            if self._state != "committing":
                self._state = "cancelled"
                return True
            self._was_late = True
            withdraw = self._withdraw
        if withdraw is not None:
            withdraw()
        return False

    def on_late_cancel(self, withdraw: Callable[[], None]) -> None:
        """Register how to withdraw a commit that has begun and waits for an editor. `withdraw` must not block."""
        with self._lock:
            self._withdraw = withdraw
            was_late = self._was_late
        if was_late:
            withdraw()

    def check(self) -> None:
        """Raises: Cancelled."""
        if self._state == "cancelled":
            raise Cancelled

    def prepare(self) -> None:
        """From here on there may be a temp file, which is removed if no commit follows. Raises: Cancelled.

        A cancel is still in time, but the folder is clean only after the worker thread has ended its work.
        """
        with self._lock:
            self.check()
            self.leaves_traces = True

    def begin_commit(self) -> None:
        """From here on a cancel is too late. Raises: Cancelled."""
        with self._lock:
            if self._state == "cancelled":
                raise Cancelled
            self._state = "committing"

    def abandon_commit(self) -> None:
        """The commit was not made, because the file had changed: a cancel is in time again."""
        with self._lock:
            if self._state == "committing":
                self._state = "open"


class CommitGuard(Struct, frozen=True):
    """CommitHooks that tie the commit to the cancel and to the trackers, inside the file's lock."""

    token: CancelToken
    on_committed: Callable[[Committed], None]

    def prepare(self) -> None:
        self.token.prepare()

    def before(self) -> None:
        self.token.begin_commit()

    def on_cancel(self, withdraw: Callable[[], None]) -> None:
        self.token.on_late_cancel(withdraw)

    def after(self, committed: Committed) -> None:
        self.on_committed(committed)


class SetCommitGuard(Struct, frozen=True):
    """SetHooks: as CommitGuard, of several files."""

    token: CancelToken
    on_committed: Callable[[tuple[Committed, ...]], None]

    def prepare(self) -> None:
        self.token.prepare()

    def before(self) -> None:
        self.token.begin_commit()

    def on_cancel(self, withdraw: Callable[[], None]) -> None:
        self.token.on_late_cancel(withdraw)

    def after(self, committed: tuple[Committed, ...], /) -> None:
        self.on_committed(committed)


class Attempts:
    """Attempts of a step that begins with a read, until the file does not change during one of them.

    Use it as `while True: with attempts.next(): ...`: the end of the block by Stale or PathMoved leads to the next one.
    """

    __slots__ = ("_n_left", "_token")

    def __init__(self, token: CancelToken) -> None:
        self._token = token
        self._n_left = MAX_TRIES

    def next(self) -> Self:
        """Raises: Cancelled, IoFailure (the file keeps changing)."""
        self._token.check()
        if not self._n_left:
            raise IoFailure(reason="the file changes faster than it can be edited", hint="Try again when it is quiet.")
        self._n_left -= 1
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> bool:
        if not isinstance(fault, Stale | PathMoved):
            return False
        self._token.abandon_commit()
        return True
