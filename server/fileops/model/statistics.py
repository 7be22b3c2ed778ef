"""Statistics of calls, as `fileops/stats` returns them."""

from msgspec import Struct


class Latency(Struct, frozen=True, kw_only=True):
    """Milliseconds, without the time that the user or the client's model took to answer."""

    n: int
    """Calls."""
    p50: float
    """The median."""
    p90: float
    """Of ten calls, nine are as fast."""
    p99: float
    """Of a hundred calls, 99 are as fast."""
    max: float
    """The slowest."""


class LineStats(Struct, frozen=True, kw_only=True):
    """Lines of the applied edits."""

    added: int
    """Lines."""
    removed: int
    """Lines."""


class EditStats(Struct, frozen=True, kw_only=True):
    """Of the applied edits. Shares are 0 if there are none."""

    applied: int
    """How many."""
    modified_by_user: int
    """How many the user changed before."""
    undone: int
    """How many were undone."""
    share_modified: float
    """0 to 1."""
    share_undone: float
    """0 to 1."""


class ErrorStats(Struct, frozen=True, kw_only=True):
    """Calls that ended in an error of any kind; a cancelled call is none."""

    n: int
    """How many."""
    share: float
    """Of all calls, 0 to 1; 0 without calls."""


class StatsResult(Struct, frozen=True, kw_only=True):
    """The statistics of a session, or of all together."""

    session_id: str | None
    """Null for all."""
    since: float
    """Seconds since the epoch."""
    calls: dict[str, int]
    """By method."""
    outcomes: dict[str, int]
    """By error code; `ok` for the others."""
    matches: dict[str, int]
    """How texts were found."""
    lines: LineStats
    """Of the applied edits."""
    edits: EditStats
    """Applied edits."""
    latency_ms: dict[str, Latency]
    """By method."""
    errors: ErrorStats
    """Of all calls."""
