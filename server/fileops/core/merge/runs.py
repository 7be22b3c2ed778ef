"""Groups the edits that are undone together: those between which the history of the file has no gap. Pure."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from fileops.model.rewind import FileStep


class Run(Struct, frozen=True):
    """Steps of a file, newest first, without a gap: all are modifications, or there is one only.

    ours: ascending indexes of the edits to undo. The last edit is one of them.
    """

    edits: Sequence[FileStep]
    ours: Sequence[int]


def runs_of(edits: Sequence[FileStep], history: Sequence[FileStep]) -> Iterator[Run]:
    """Yield the edits to undo in runs that are as long as possible, with the edits of others between them."""
    numbers = {edit.step_id: n for n, edit in enumerate(history)}
    if any(edit.step_id not in numbers for edit in edits):  # the history has dropped the oldest edits since
        history, numbers = edits, {edit.step_id: n for n, edit in enumerate(edits)}
    ours: list[int] = []
    start = 0
    for edit in edits:
        number = numbers[edit.step_id]
        if ours and not _is_without_gap(history[ours[-1] : number + 1]):
            yield _run_of(history, ours, start)
            ours, start = [], number
        ours.append(number)
    if ours:
        yield _run_of(history, ours, start)


def _run_of(history: Sequence[FileStep], ours: Sequence[int], start: int) -> Run:
    """Return a run of our edits with the later ones of others, from `start` on, if there is no gap between them."""
    first = ours[0]
    while first > start and _is_without_gap(history[first - 1 : first + 1]):
        first -= 1
    return Run(history[first : ours[-1] + 1], [n - first for n in ours])


def _is_without_gap(edits: Sequence[FileStep]) -> bool:
    is_modified = all(edit.kind == "modify" for edit in edits)
    return is_modified and all(newer.before == older.after for newer, older in pairwise(edits))
