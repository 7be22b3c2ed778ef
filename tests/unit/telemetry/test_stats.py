"""Statistics of calls, measured and counted in bounded memory."""

import asyncio
import random

import pytest

from fileops.model.errors import NoMatch
from fileops.model.results import EditResult
from fileops.model.sessions import SessionName
from fileops.telemetry import stats
from fileops.telemetry.calls import CallRecord, Calls, exclude_wait, note_outcome
from fileops.telemetry.stats import Latencies, Statistics


class Kept:
    def __init__(self) -> None:
        self.calls: list[CallRecord] = []

    def record(self, call: CallRecord) -> None:
        self.calls.append(call)

    def close(self) -> None:
        pass


def call(session_id: str = "s", *, code: str = "ok", duration_ns: int = 1_000_000) -> CallRecord:
    return CallRecord(
        method="fileops/read", session_id=SessionName(session_id), started_ns=0, duration_ns=duration_ns, code=code
    )


# R-STATS-3
def test_percentiles_are_at_most_a_bucket_too_high() -> None:
    chance = random.Random(7)
    durations = sorted(int(chance.lognormvariate(14, 2)) + 1000 for _ in range(5000))
    latencies = Latencies()
    for duration in durations:
        latencies.add(duration)
    for share in (0.5, 0.9, 0.99):
        exact = durations[int(share * 5000) - 1]
        assert exact <= latencies.percentile_ns(share) <= exact * 1.1 + 1
    assert latencies.percentile_ns(1) == durations[-1]


def test_every_duration_has_a_bucket() -> None:
    latencies = Latencies()
    for duration in (0, 1, 999, 10**15):
        latencies.add(duration)
    assert latencies.percentile_ns(0.5) <= 1100
    assert latencies.percentile_ns(0.99) == 10**15


def test_sessions_are_counted_separately_and_closed_ones_stay_in_the_total(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats, "MAX_SESSIONS", 2)
    statistics = Statistics(since_ns=5 * 10**9)
    for session_id in ("a", "b", "a", "c"):
        statistics.record(call(session_id, code="no_match" if session_id == "c" else "ok"))
    assert statistics.result(SessionName("a"), 0).calls == {"fileops/read": 2}
    assert statistics.result(SessionName("b"), 0).calls == {}  # the longest silent one went
    statistics.drop_session(SessionName("a"))
    assert statistics.result(SessionName("a"), 0).calls == {}
    total = statistics.result(None, 0)
    assert (total.calls, total.outcomes, total.since) == ({"fileops/read": 4}, {"ok": 3, "no_match": 1}, 5.0)
    assert total.latency_ms["fileops/read"].max == 1.0


def test_shares_are_of_applied_edits() -> None:
    statistics = Statistics(0)
    assert statistics.result(None, 0).edits.share_undone == 0
    for is_modified in (True, False, False, False):
        statistics.record(
            CallRecord(
                method="fileops/edit",
                session_id=SessionName("s"),
                started_ns=0,
                matches=("exact",),
                n_added=2,
                n_removed=1,
                is_applied=True,
                is_modified_by_user=is_modified,
            )
        )
    told = statistics.result(SessionName("s"), 2)
    assert (told.edits.applied, told.edits.share_modified, told.edits.share_undone) == (4, 0.25, 0.5)
    assert (told.matches, told.lines.added, told.lines.removed) == ({"exact": 4}, 8, 4)


async def test_waiting_for_the_user_is_excluded_from_the_duration() -> None:
    kept = Kept()
    with Calls([kept]).measure("fileops/edit", SessionName("s"), ValueError) as call:
        with exclude_wait():
            assert call.n_waits == 1
            for _ in range(1000):
                await asyncio.sleep(0)
        assert call.n_waits == 0
    (one,) = kept.calls
    assert one.waited_ns > one.duration_ns


async def test_every_outcome_has_its_code() -> None:
    kept = Kept()
    calls = Calls([kept])

    def measured(failure: BaseException | None) -> None:
        with calls.measure("m", SessionName("s"), ValueError):
            note_outcome(EditResult(output="", error=NoMatch(old_string="x")))
            if failure is not None:
                raise failure

    measured(None)
    for failure in (ValueError(), asyncio.CancelledError(), RuntimeError()):
        with pytest.raises(type(failure)):
            measured(failure)
    assert [call.code for call in kept.calls] == ["no_match", "invalid_params", "cancelled", "fault"]
    note_outcome(EditResult(output=""))  # outside of any call: nothing happens
