"""Wire types of `fileops/stats`."""

import msgspec

from fileops.wire.types import Stats


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds, without the time for which a person or a client's model thought."""

    n: int
    p50: float
    p90: float
    p99: float
    max: float


class EditStats(msgspec.Struct, frozen=True, kw_only=True):
    """Shares are of what was applied, 0 where nothing was."""

    applied: int
    modified_by_user: int
    undone: int
    share_modified: float
    share_undone: float


class StatsResult(msgspec.Struct, frozen=True, kw_only=True):
    session_id: str | None
    since: float
    calls: dict[str, int]
    outcomes: dict[str, int]
    matches: dict[str, int]
    lines: Stats
    edits: EditStats
    latency_ms: dict[str, Latency]


def stats_result(outcome: object) -> StatsResult:
    """outcome: with the attributes of StatsResult."""
    return msgspec.convert(outcome, StatsResult, from_attributes=True)
