"""Statistics as they are told."""

from msgspec import Struct

from fileops.stats import Latencies, Numbers


class LatencyOutcome(Struct, frozen=True, kw_only=True):
    """Milliseconds."""

    n: int
    p50: float
    p90: float
    p99: float
    max: float


class LinesOutcome(Struct, frozen=True, kw_only=True):
    added: int
    removed: int


class AppliedOutcome(Struct, frozen=True, kw_only=True):
    """Of applied edits; shares of `applied`, 0 where nothing was."""

    applied: int
    modified_by_user: int
    undone: int
    share_modified: float
    share_undone: float


class StatsOutcome(Struct, frozen=True, kw_only=True):
    """session_id: None for all. since: seconds since the epoch. calls, latency_ms: by method. matches: by tier."""

    session_id: str | None
    since: float
    calls: dict[str, int]
    outcomes: dict[str, int]
    matches: dict[str, int]
    lines: LinesOutcome
    edits: AppliedOutcome
    latency_ms: dict[str, LatencyOutcome]


def outcome_of(numbers: Numbers, *, session_id: str | None, since_ns: int, n_undone: int) -> StatsOutcome:
    n_applied = numbers.n_applied
    return StatsOutcome(
        session_id=session_id,
        since=since_ns / 1e9,
        calls=dict(numbers.calls),
        outcomes=dict(numbers.outcomes),
        matches=dict(numbers.matches),
        lines=LinesOutcome(added=numbers.n_added, removed=numbers.n_removed),
        edits=AppliedOutcome(
            applied=n_applied,
            modified_by_user=numbers.n_modified,
            undone=n_undone,
            share_modified=numbers.n_modified / n_applied if n_applied else 0.0,
            share_undone=n_undone / n_applied if n_applied else 0.0,
        ),
        latency_ms={method: _in_ms(latencies) for method, latencies in numbers.latencies.items()},
    )


def _in_ms(latencies: Latencies) -> LatencyOutcome:
    p50, p90, p99 = (round(latencies.percentile_ns(share) / 1e6, 3) for share in (0.5, 0.9, 0.99))
    return LatencyOutcome(n=latencies.n, p50=p50, p90=p90, p99=p99, max=round(latencies.max_ns / 1e6, 3))
