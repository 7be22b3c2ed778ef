"""Resolves paths for a caller that must not wait for a mount that hangs.

Documents of all editors are resolved before any file is written, since a link may lead from one to another. The paths
are resolved in a thread. If it makes no progress, its path is late: it counts as unresolved until the thread returns,
and another thread resolves the paths after it.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence

from fileops.concurrency import shares

STEP_S = 0.5  # for one path; a disk that spins up may take longer, and is then late
WAIT_S = 1.0  # for all paths of one call

Outcome = str | BaseException


class _Batch:
    """What one thread has resolved so far, in order, and whether its caller still waits for it."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.outcomes: list[Outcome] = []  # guarded by changed
        self.is_given_up = False  # guarded by changed


class BoundedResolution:
    """Resolves paths with a time limit.

    Any thread may call `outcomes`. `resolve` returns a canonical path, or raises.
    """

    def __init__(self, resolve: Callable[[str], str]) -> None:
        self._resolve = resolve
        self._lock = threading.Lock()
        self._late: set[str] = set()  # guarded by _lock

    def outcomes(self, paths: Sequence[str]) -> Mapping[str, Outcome]:
        """Return what `resolve` returns or raises for each path, except the paths that are late."""
        deadline = time.monotonic() + WAIT_S
        found: dict[str, Outcome] = {}
        with self._lock:
            rest = [path for path in dict.fromkeys(paths) if path not in self._late]
        while rest and time.monotonic() < deadline:
            outcomes = self._resolve_first(rest, deadline)
            found.update(zip(rest, outcomes, strict=False))
            rest = rest[len(outcomes) + 1 :]  # the late one is left out
        return found

    # A caller (`_resolve_first`) and its thread (`_run`) meet when the caller stops waiting. If n outcomes exist, the
    # thread is at path n. It has begun it, or does so next: only `is_given_up` ends it early. There are three cases.
    #
    # - All outcomes are there. Nothing is late, and the thread has ended or is about to.
    # - The caller gives up before the thread appends outcome n. It sets `is_given_up` and marks path n as late in one
    #   step, inside `changed`, which the thread needs to append. So the thread sees the flag together with the append.
    #   It removes the mark, because the path does not hang any more, and ends: the paths after n are another thread's.
    # - The thread appends outcome n before. Then the caller counts it and gives up at path n + 1: the case above.
    #
    # So each mark has a thread that is at that path, and none outlives this thread's return. The flag belongs to the
    # batch. A thread must not conclude from the mark alone that it was given up, because marks are by path: another
    # call may be late at the same path while the caller of this thread waits. If two threads are late at one path, the
    # first to return removes the mark. That is right, because the disk answers again; if it hangs once more for the
    # second thread, the next call finds that out as this one did.
    #
    # Locks: the caller takes `_lock` inside `changed`; the thread takes one after the other. Neither is held during
    # `_resolve`, so no mount can block a caller.

    def _resolve_first(self, paths: list[str], deadline: float) -> list[Outcome]:
        """Return the outcomes of the first paths. The path after them is late; the others were not tried."""
        batch = _Batch()
        allowed = shares.of_thread()
        thread = threading.Thread(
            target=self._run,
            args=(batch, paths, allowed),
            name="fileops-resolution",
            daemon=True,
        )
        thread.start()
        with batch.changed:
            n_done = -1
            while n_done < len(batch.outcomes) < len(paths) and time.monotonic() < deadline:
                n_done = len(batch.outcomes)
                batch.changed.wait(STEP_S)
            outcomes = list(batch.outcomes)
            if len(outcomes) < len(paths):
                batch.is_given_up = True
                with self._lock:
                    self._late.add(paths[len(outcomes)])
        return outcomes

    def _run(self, batch: _Batch, paths: list[str], allowed: frozenset[shares.Share] | None) -> None:
        shares.enter(allowed)
        for path in paths:
            outcome = self._outcome(path)
            with batch.changed:
                batch.outcomes.append(outcome)
                batch.changed.notify_all()
                is_given_up = batch.is_given_up
            if is_given_up:
                with self._lock:
                    self._late.discard(path)
                return

    def _outcome(self, path: str) -> Outcome:
        try:
            return self._resolve(path)
        except BaseException as failure:  # noqa: BLE001 - the caller raises it
            return failure
