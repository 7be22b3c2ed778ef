"""Lines of others that a write has removed, as a frozen value."""

from msgspec import Struct

LOSS_PREFIX = "l-"  # of its id


class Loss(Struct, frozen=True, kw_only=True):
    """Lines of others that `written` does not have.

    merged: the write with these lines; None if they conflict. at: seconds since the epoch.
    """

    loss_id: str
    path: str
    lines: tuple[str, ...]
    merged: bytes | None
    written: bytes
    at: float
