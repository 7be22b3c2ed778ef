"""Measures requests: one value per request, for statistics and telemetry.

A call contains numbers, names and codes, but no path and nothing from any file. Belongs to the event loop.
"""

import asyncio
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from msgspec import Struct

from fileops.model.changes import ChangeSetResult
from fileops.model.results import EditResult, ReadResult, UndoResult
from fileops.model.rewind import RewindResult
from fileops.model.sessions import SessionName

OK, CANCELLED, FAULT = "ok", "cancelled", "fault"


class CallRecord(Struct, frozen=True, kw_only=True):
    """One finished request. started_ns: wall clock. duration_ns: without the time for questions to the client.

    code: "ok", an error's code, or how else the request ended. matches: one per step of an applied edit; n_added,
    n_removed: its lines.
    """

    method: str
    session_id: SessionName
    started_ns: int
    duration_ns: int = 0
    waited_ns: int = 0
    code: str = OK
    matches: tuple[str, ...] = ()
    n_added: int = 0
    n_removed: int = 0
    is_applied: bool = False
    is_modified_by_user: bool = False


class Sink(Protocol):
    def record(self, call: CallRecord) -> None: ...

    def close(self) -> None: ...


class BorrowedSink:
    """See Sink: one that several clients use, and that is closed after the last of them."""

    def __init__(self, sink: Sink) -> None:
        self.record = sink.record

    def close(self) -> None:
        pass


_current: ContextVar["CallTimer | None"] = ContextVar("measurement", default=None)


class CallTimer:
    """Measures one request, as a context manager. Kept small, because every request pays for it.

    outcome: of an applied edit. n_waits: questions that wait for an answer now. is_over: False if it was not served and
    will start again.
    """

    __slots__ = (
        "_began_ns",
        "_refusals",
        "_sinks",
        "_within",
        "code",
        "is_over",
        "method",
        "n_waits",
        "outcome",
        "session_id",
        "waited_ns",
    )

    def __init__(
        self, method: str, session_id: SessionName, refusals: type[Exception], sinks: tuple[Sink, ...]
    ) -> None:
        self.method = method
        self.session_id = session_id
        self.code = OK
        self.outcome: EditResult | None = None
        self.waited_ns = self.n_waits = 0
        self.is_over = True
        self._refusals = refusals
        self._sinks = sinks
        self._began_ns = time.perf_counter_ns()

    def __enter__(self) -> "CallTimer":
        self._within = _current.set(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, *fault: object) -> None:
        _current.reset(self._within)
        if kind is not None:
            self.code = self._code_of(kind)
        if self.is_over:
            call = self._end()
            for sink in self._sinks:
                sink.record(call)

    def _code_of(self, kind: type[BaseException]) -> str:
        if issubclass(kind, self._refusals):
            return "invalid_params"
        return CANCELLED if issubclass(kind, asyncio.CancelledError) else FAULT

    def _end(self) -> CallRecord:
        took_ns = time.perf_counter_ns() - self._began_ns
        outcome = self.outcome
        change = None if outcome is None else outcome.change
        return CallRecord(
            method=self.method,
            session_id=self.session_id,
            started_ns=time.time_ns() - took_ns,
            duration_ns=max(0, took_ns - self.waited_ns),
            waited_ns=self.waited_ns,
            code=self.code,
            matches=() if outcome is None else outcome.matches,
            n_added=0 if change is None else change.n_added,
            n_removed=0 if change is None else change.n_removed,
            is_applied=outcome is not None,
            is_modified_by_user=outcome is not None and outcome.modified_by_user,
        )


class Calls:
    """Measures one client's calls. Sinks may be shared by clients."""

    def __init__(self, sinks: Iterable[Sink]) -> None:
        self._sinks = tuple(sinks)

    def measure(self, method: str, session_id: SessionName, refusals: type[Exception]) -> CallTimer:
        """Return a timer around the handling of a request. refusals: what is raised if its params are invalid."""
        return CallTimer(method, session_id, refusals, self._sinks)

    def close(self) -> None:
        for sink in self._sinks:
            sink.close()


# --- what the service records about its current call -------------------------------------------------------------


def note_outcome(outcome: ReadResult | EditResult | UndoResult | ChangeSetResult | RewindResult) -> None:
    measurement = _current.get()
    if measurement is None:
        return
    if outcome.error is not None:
        measurement.code = outcome.error.code
    elif isinstance(outcome, EditResult) and outcome.edit_id is not None:
        measurement.outcome = outcome


@contextmanager
def exclude_wait() -> Generator[None]:
    """Exclude a question to the client from the duration of the current call."""
    measurement = _current.get()
    if measurement is None:
        yield
        return
    began_ns = time.perf_counter_ns()
    measurement.n_waits += 1
    try:
        yield
    finally:
        measurement.n_waits -= 1
        measurement.waited_ns += time.perf_counter_ns() - began_ns
