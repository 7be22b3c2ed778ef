"""Resolves paths for a caller that must not wait for a mount that hangs.

Documents of all editors are resolved before any file is written, since a link may lead from one to the other. The
paths are resolved in a thread. If it makes no progress, its path is late: it counts as not resolved until the thread
returns, and another thread takes the rest.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence

from fileops.concurrency import shares

STEP_S = 0.5  # for one path; a disk that spins up may take longer, and is late then
WAIT_S = 1.0  # for all paths of one call

Outcome = str | BaseException


class _Batch:
    """What one thread has resolved so far, in order."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.outcomes: list[Outcome] = []


class BoundedResolution:
    """Any thread may call `outcomes`. resolve: returns a canonical path, or raises."""

    def __init__(self, resolve: Callable[[str], str]) -> None:
        self._resolve = resolve
        self._lock = threading.Lock()
        self._late: set[str] = set()  # guarded by _lock

    def outcomes(self, paths: Sequence[str]) -> Mapping[str, Outcome]:
        """What `resolve` returns or raises for each path, without those that are late."""
        deadline = time.monotonic() + WAIT_S
        found: dict[str, Outcome] = {}
        with self._lock:
            rest = [path for path in dict.fromkeys(paths) if path not in self._late]
        while rest and time.monotonic() < deadline:
            outcomes = self._resolved(rest, deadline)
            found.update(zip(rest, outcomes, strict=False))
            rest = rest[len(outcomes) + 1 :]  # the one that is late is left out
        return found

    def _resolved(self, paths: list[str], deadline: float) -> list[Outcome]:
        """The outcomes of the first paths; those after them are not tried."""
        batch, allowed = _Batch(), shares.allowed_here()
        thread = threading.Thread(
            target=self._run, args=(batch, paths, allowed), name="fileops-resolution", daemon=True
        )  # fmt: skip
        thread.start()
        with batch.changed:
            n_done = -1
            while n_done < len(batch.outcomes) < len(paths) and time.monotonic() < deadline:
                n_done = len(batch.outcomes)
                batch.changed.wait(STEP_S)
            outcomes = list(batch.outcomes)
            if len(outcomes) < len(paths):
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
            with self._lock:
                if path in self._late:
                    self._late.discard(path)
                    return  # another thread has taken the rest

    def _outcome(self, path: str) -> Outcome:
        try:
            return self._resolve(path)
        except BaseException as failure:  # noqa: BLE001 - the caller raises it
            return failure
