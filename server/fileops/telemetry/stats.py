"""Statistics of calls, for the whole connection and for each session, in limited memory. They are not sent anywhere."""

import math
from collections import Counter

from msgspec import Struct, field

from fileops.model.bounded import LruDict
from fileops.model.sessions import SessionName
from fileops.model.statistics import EditStats, ErrorStats, Latency, LineStats, StatsResult
from fileops.telemetry.calls import CallRecord

PER_OCTAVE = 8  # buckets per doubling: a percentile is at most 9 % too high
CLOSING = "fileops/closeSession"
NO_ERRORS = ("ok", "cancelled")
MAX_SESSIONS = 1000  # the least recently active one is dropped first


class Latencies:
    """Durations in logarithmic buckets: some hundred numbers, however many calls."""

    def __init__(self) -> None:
        self._buckets: Counter[int] = Counter()
        self.n = 0
        self.max_ns = 0

    def add(self, duration_ns: int) -> None:
        bucket = int(math.log2(max(duration_ns, 1000) / 1000) * PER_OCTAVE)
        self._buckets[bucket] += 1
        self.n += 1
        self.max_ns = max(self.max_ns, duration_ns)

    def percentile_ns(self, share: float) -> int:
        """Return the duration that this share of the calls did not exceed, rounded up to the end of its bucket."""
        wanted = math.ceil(share * self.n)
        passed = 0
        for bucket in sorted(self._buckets):
            passed += self._buckets[bucket]
            if passed >= wanted:
                return min(self.max_ns, math.ceil(1000 * 2 ** ((bucket + 1) / PER_OCTAVE)))
        return self.max_ns


class Counters(Struct):
    """Counts of calls by method, of outcomes by code, and of matches (steps of applied edits) by tier."""

    calls: Counter[str] = field(default_factory=Counter[str])
    outcomes: Counter[str] = field(default_factory=Counter[str])
    matches: Counter[str] = field(default_factory=Counter[str])
    latencies: dict[str, Latencies] = field(default_factory=dict[str, Latencies])
    n_added: int = 0
    n_removed: int = 0
    n_applied: int = 0
    n_modified: int = 0

    def add(self, call: CallRecord) -> None:
        self.calls[call.method] += 1
        self.outcomes[call.code] += 1
        latencies = self.latencies.get(call.method)
        if latencies is None:
            latencies = self.latencies[call.method] = Latencies()
        latencies.add(call.duration_ns)
        if call.is_applied:
            self._add_applied(call)

    def _add_applied(self, call: CallRecord) -> None:
        self.matches.update(call.matches)
        self.n_added += call.n_added
        self.n_removed += call.n_removed
        self.n_applied += 1
        self.n_modified += call.is_modified_by_user


class Statistics:
    """A sink of calls. since_ns: wall clock."""

    def __init__(self, since_ns: int) -> None:
        self.since_ns = since_ns
        self.total = Counters()
        self._sessions: LruDict[str, Counters] = LruDict(MAX_SESSIONS)

    def record(self, call: CallRecord) -> None:
        self.total.add(call)
        if call.method == CLOSING:  # its session is gone
            return
        counters = self._sessions.use(call.session_id)
        if counters is None:
            counters = Counters()
            self._sessions.put(call.session_id, counters)
        counters.add(call)

    def result(self, session_id: SessionName | None, n_undone: int) -> StatsResult:
        """Return the statistics of one session, or (None) of all, including closed ones.

        n_undone: of the applied edits.
        """
        numbers = self.total if session_id is None else self._sessions.get(session_id) or Counters()
        return _result_of(numbers, session_id=session_id, since_ns=self.since_ns, n_undone=n_undone)

    def drop_session(self, session_id: SessionName) -> None:
        self._sessions.drop(session_id)

    def close(self) -> None:
        pass


def _result_of(numbers: Counters, *, session_id: SessionName | None, since_ns: int, n_undone: int) -> StatsResult:
    n_applied, n_calls = numbers.n_applied, numbers.calls.total()
    n_errors = n_calls - sum(numbers.outcomes[code] for code in NO_ERRORS)
    return StatsResult(
        session_id=session_id,
        since=since_ns / 1e9,
        calls=dict(numbers.calls),
        outcomes=dict(numbers.outcomes),
        matches=dict(numbers.matches),
        lines=LineStats(added=numbers.n_added, removed=numbers.n_removed),
        edits=EditStats(
            applied=n_applied,
            modified_by_user=numbers.n_modified,
            undone=n_undone,
            share_modified=numbers.n_modified / n_applied if n_applied else 0.0,
            share_undone=n_undone / n_applied if n_applied else 0.0,
        ),
        errors=ErrorStats(n=n_errors, share=n_errors / n_calls if n_calls else 0.0),
        latency_ms={method: _in_ms(latencies) for method, latencies in numbers.latencies.items()},
    )


def _in_ms(latencies: Latencies) -> Latency:
    p50, p90, p99 = (round(latencies.percentile_ns(share) / 1e6, 3) for share in (0.5, 0.9, 0.99))
    return Latency(n=latencies.n, p50=p50, p90=p90, p99=p99, max=round(latencies.max_ns / 1e6, 3))
