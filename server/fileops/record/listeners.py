"""What the recorder notifies, besides the editors that follow the record. All are called in the recorder's thread."""

from collections.abc import Callable

from msgspec import Struct

from fileops.model.commits import Commit
from fileops.model.diagnostics import ChangeKind
from fileops.model.record import TurnRecord


def _ignore(*_: object) -> None:
    return None


class RecordListeners(Struct):
    """Functions to call. on_turn: with each turn that begins or ends. on_index: with the root when git's index changed.

    on_observed: with each file that another program has written, and how. on_found: with the path, the digest and the
    content of each file that was read and differs from what was known. on_overwritten: if another program has written
    an older text over an agent's fresh lines, with the agent's commit and that text; returns a sentence for the person,
    or None.
    """

    on_turn: Callable[[TurnRecord], None] = _ignore
    on_index: Callable[[str], None] = _ignore
    on_observed: Callable[[str, ChangeKind], None] = _ignore
    on_found: Callable[[str, bytes, bytes], None] = _ignore
    on_overwritten: Callable[[Commit, bytes], str | None] = _ignore
