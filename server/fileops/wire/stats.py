"""Wire types of `fileops/stats`, and their translation."""

import msgspec

from fileops.wire.types import Stats


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds, without the time that the user or the client's model took to answer."""

    n: int
    p50: float
    p90: float
    p99: float
    max: float


class EditStats(msgspec.Struct, frozen=True, kw_only=True):
    """Shares are of the applied edits; 0 if there are none."""

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
    """Translate an object that has the attributes of StatsResult."""
    return msgspec.convert(outcome, StatsResult, from_attributes=True)
