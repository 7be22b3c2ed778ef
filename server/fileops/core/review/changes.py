"""The smallest parts of a plan that a person can decide about: its runs of changed lines, without context.

They are split here and nowhere else, so that every view shows the same parts under the same ids. The parts of a plan
cover all that it changes: accepting all of them is the plan, byte for byte.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from operator import ne

import xxhash
from msgspec import Struct

from fileops.core.diff.regions import ChangedRegion, regions
from fileops.core.diff.unified import MAX_LINE_CHARS, range_of_hunk
from fileops.core.notebook.cells import parse
from fileops.core.pausing import Check, check_nothing
from fileops.core.text import count_newlines, cut, decode_part
from fileops.model.edits import Plan, Splice
from fileops.model.files import TextFormat
from fileops.model.review import ReviewPart

MAX_CHANGES = 1000  # per plan: nobody decides about more; the last one contains the rest
MAX_SHOWN_BYTES = 1_000_000  # of a whole text in a question or a result, as docs/PROTOCOL.md says
MAX_DIFF_BYTES = 1_000_000  # of all changes of a plan together, as in `diff`


_EMPTY_FILE = ReviewPart(
    id="1-empty", old_start=0, old_lines=0, new_start=0, new_lines=0, diff="", splice=Splice(0, 0, b"")
)


def changes_of(plan: Plan, check: Check = check_nothing) -> tuple[ReviewPart, ...]:
    """Return the changes of a plan, top to bottom. Between two of them there is at least one unchanged line.

    The creation or deletion of an empty file, and a rename alone, are one change without lines. The id of a change is
    its number and a digest of its lines. Raises: the errors of `check`.
    """
    data, fmt = plan.snapshot.data, plan.format
    changes: list[ReviewPart] = []
    left = MAX_DIFF_BYTES
    in_one_part = _never if not plan.cells else _CellParts(plan)
    for run in _join(_runs(plan, check), data, fmt, in_one_part):
        old, new = data[run.start : run.end], b"".join(run.new)
        left -= len(old) + len(new)
        digest = xxhash.xxh3_64_hexdigest(b"%d\0%b%b" % (len(old), old, new))
        change = ReviewPart(
            id=f"{len(changes) + 1}-{digest}",
            old_start=run.old_at + bool(run.n_old),
            old_lines=run.n_old,
            new_start=run.new_at + bool(run.n_new),
            new_lines=run.n_new,
            diff=_diff(run, old, new, fmt) if left >= 0 else "",
            splice=Splice(run.start, run.end, new),
            cell_id=in_one_part.name_of(run) if isinstance(in_one_part, _CellParts) else None,
        )
        changes.append(change)
    if not changes and (plan.creates or plan.change.operation in {"rename", "delete"}):
        changes.append(_EMPTY_FILE)
    return tuple(changes)


class _Run(Struct, kw_only=True):
    """Changed lines. start, end: bytes of the old data; new: what replaces them; old_at, new_at: 0-based lines."""

    start: int
    end: int
    new: list[bytes]
    old_at: int
    new_at: int
    n_old: int
    n_new: int


def _runs(plan: Plan, check: Check) -> Iterator[_Run]:
    for region in regions(plan.snapshot.data, plan.format, plan.splices, None):
        check()
        start, counted = region.start, 0
        for first, last in _find_changed_pairs(region) if region.in_pairs else ((0, None),):
            old, new = region.old[first:last], region.new[first:last]
            start += sum(map(len, region.old[counted:first]))
            end = start + sum(map(len, old))
            yield _Run(
                start=start,
                end=end,
                new=list(new),
                old_at=region.old_at + first,
                new_at=region.new_at + first,
                n_old=len(old),
                n_new=len(new),
            )
            start, counted = end, first + len(old)


def _find_changed_pairs(region: ChangedRegion) -> Iterator[tuple[int, int]]:
    """Yield the runs of unequal lines of a region whose lines correspond one to one."""
    first = 0
    for at, differs in enumerate([*map(ne, region.old, region.new), False]):
        if not differs:
            if at > first:
                yield first, at
            first = at + 1


def _never(before: _Run, after: _Run) -> bool:
    del before, after
    return False


class _CellParts:
    """Which runs belong to the same cell of a notebook: a part of its change could be no JSON.

    If cells were added, removed or moved, all is one part, because their separators belong together.
    """

    def __init__(self, plan: Plan) -> None:
        self._cells = parse(plan.snapshot.data).cells
        self._starts = [cell.start for cell in self._cells]
        self._is_one = any(change.kind in ("insert", "delete", "move") for change in plan.cells)

    def __call__(self, before: _Run, after: _Run) -> bool:
        return self._is_one or self._index(before.end - 1) == self._index(after.start)

    def name_of(self, run: _Run) -> str | None:
        """Return the cell that the run changes; None if it changes several."""
        first, last = self._index(run.start), self._index(run.end - 1)
        return self._cells[first].name if 0 <= first == last and not self._is_one else None

    def _index(self, at: int) -> int:
        return bisect_right(self._starts, at) - 1


def _join(
    runs: Iterator[_Run], data: bytes, fmt: TextFormat, in_one_part: Callable[[_Run, _Run], bool] = _never
) -> Iterator[_Run]:
    """Combine runs that touch, because two splices may change neighbouring lines; and all from the last one on."""
    last: _Run | None = None
    n_yielded = 0
    for run in runs:
        if last is None:
            last = run
        elif run.start == last.end or n_yielded == MAX_CHANGES - 1 or in_one_part(last, run):
            between = data[last.end : run.start]
            n_between = count_newlines(between, fmt)
            last.new += (between, *run.new)
            last.end = run.end
            last.n_old += n_between + run.n_old
            last.n_new += n_between + run.n_new
        else:
            yield last
            n_yielded += 1
            last = run
    if last is not None:
        yield last


def _diff(run: _Run, old: bytes, new: bytes, fmt: TextFormat) -> str:
    """Return a hunk without context, as `diff` shows one with it."""
    old_range = range_of_hunk(run.old_at + bool(run.n_old), run.n_old)
    new_range = range_of_hunk(run.new_at + bool(run.n_new), run.n_new)
    rows = [f"@@ -{old_range} +{new_range} @@\n"]
    for kind, data in (("-", old), ("+", new)):
        rows += [f"{kind}{cut(line, MAX_LINE_CHARS)}\n" for line in decode_part(data, fmt).split("\n")]
        if rows[-1] == f"{kind}\n":  # after the last newline
            rows.pop()
        else:
            rows.append("\\ No newline at end of file\n")
    return "".join(rows)
