"""Statistics of calls, as `fileops/stats` returns them."""

from msgspec import Struct


class Latency(Struct, frozen=True, kw_only=True):
    """Durations in milliseconds, without the time that the user or the client's model took to answer."""

    n: int
    """How many calls."""
    p50: float
    """The median."""
    p90: float
    """Nine of ten calls were at least as fast."""
    p99: float
    """99 of 100 calls were at least as fast."""
    max: float
    """The slowest."""


class LineStats(Struct, frozen=True, kw_only=True):
    """The lines of the applied edits."""

    added: int
    """How many lines were added."""
    removed: int
    """How many lines were removed."""


class EditStats(Struct, frozen=True, kw_only=True):
    """The applied edits. Shares are 0 if there are none."""

    applied: int
    """How many."""
    modified_by_user: int
    """How many the user changed before they were applied."""
    undone: int
    """How many were undone."""
    share_modified: float
    """The share that the user changed, from 0 to 1."""
    share_undone: float
    """The share that was undone, from 0 to 1."""


class ErrorStats(Struct, frozen=True, kw_only=True):
    """Calls that ended in an error of any kind; a cancelled call does not count."""

    n: int
    """How many."""
    share: float
    """The share of all calls, from 0 to 1; 0 without calls."""


class StatsResult(Struct, frozen=True, kw_only=True):
    """The statistics of a session, or of all together."""

    session_id: str | None
    """The session; null for all."""
    since: float
    """When counting began, in seconds since the epoch."""
    calls: dict[str, int]
    """How many calls, by method."""
    outcomes: dict[str, int]
    """How many calls, by error code; `ok` for the others."""
    matches: dict[str, int]
    """How texts were found."""
    lines: LineStats
    """The lines of the applied edits."""
    edits: EditStats
    """Applied edits."""
    latency_ms: dict[str, Latency]
    """Durations by method."""
    errors: ErrorStats
    """The errors among all calls."""
