"""Statistics of calls, as `fileops/stats` returns them."""

from msgspec import Struct


class Latency(Struct, frozen=True, kw_only=True):
    """Milliseconds, without the time that the user or the client's model took to answer."""

    n: int
    p50: float
    p90: float
    p99: float
    max: float


class LineStats(Struct, frozen=True, kw_only=True):
    added: int
    removed: int


class EditStats(Struct, frozen=True, kw_only=True):
    """Shares are of the applied edits; 0 if there are none."""

    applied: int
    modified_by_user: int
    undone: int
    share_modified: float
    share_undone: float


class ErrorStats(Struct, frozen=True, kw_only=True):
    """Calls that ended in an error of any kind; a cancelled call is none. `share` is of all calls, 0 without calls."""

    n: int
    share: float


class StatsResult(Struct, frozen=True, kw_only=True):
    """The statistics of a session, or of all together.

    session_id: None for all. since: seconds since the epoch. matches: by tier.
    """

    session_id: str | None
    since: float
    calls: dict[str, int]
    outcomes: dict[str, int]
    matches: dict[str, int]
    lines: LineStats
    edits: EditStats
    latency_ms: dict[str, Latency]
    errors: ErrorStats
