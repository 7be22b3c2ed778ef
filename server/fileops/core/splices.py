"""Operations on lists of splices: apply, compose, invert. A list is sorted and never overlaps; neighbours may touch."""

from collections.abc import Sequence

from fileops.model.edits import Splice

_NOTHING = memoryview(b"")


def validate(splices: Sequence[Splice], size_bytes: int) -> None:
    """Raise ValueError if the list is not sorted, overlaps, or exceeds the content."""
    reached = 0
    for splice in splices:
        if not reached <= splice.start <= splice.end <= size_bytes:
            raise ValueError(f"splice [{splice.start}, {splice.end}) after {reached} of {size_bytes} bytes")
        reached = splice.end


def parts(data: bytes, splices: Sequence[Splice]) -> list[bytes | memoryview]:
    """Return the new content in pieces, for a gathering write. Nothing is copied, and no piece is empty."""
    view = memoryview(data)
    pieces: list[bytes | memoryview] = []
    at = 0
    for splice in splices:
        if at < splice.start:
            pieces.append(view[at : splice.start])
        if splice.new:
            pieces.append(splice.new)
        at = splice.end
    if at < len(data):
        pieces.append(view[at:])
    return pieces


def apply(data: bytes, splices: Sequence[Splice]) -> bytes:
    return b"".join(parts(data, splices)) if splices else data


def apply_within(data: bytes, splices: Sequence[Splice], start: int, end: int) -> bytes:
    """Return the result of the splices, which are all between `start` and `end`, on data[start:end]."""
    pieces: list[bytes] = []
    at = start
    for splice in splices:
        pieces += (data[at : splice.start], splice.new)
        at = splice.end
    return b"".join((*pieces, data[at:end]))


def growth(splices: Sequence[Splice]) -> int:
    """Return by how many bytes the content grows."""
    return sum(len(splice.new) - splice.end + splice.start for splice in splices)


def invert(data: bytes, splices: Sequence[Splice]) -> tuple[Splice, ...]:
    """Return the splices over the result that revert `splices`."""
    shift = 0
    inverse: list[Splice] = []
    for splice in splices:
        start = splice.start + shift
        inverse.append(Splice(start, start + len(splice.new), data[splice.start : splice.end]))
        shift += len(splice.new) - (splice.end - splice.start)
    return tuple(inverse)


def effective(data: bytes, splices: Sequence[Splice]) -> tuple[Splice, ...]:
    """Return the splices that change bytes."""
    return tuple(splice for splice in splices if data[splice.start : splice.end] != splice.new)


def coalesce(data: bytes, splices: Sequence[Splice], *, max_gap_bytes: int) -> tuple[Splice, ...]:
    """Combine adjacent splices with at most `max_gap_bytes` untouched bytes between them."""
    merged: list[Splice] = []
    run: list[Splice] = []
    for splice in splices:
        if run and splice.start - run[-1].end > max_gap_bytes:
            merged.append(_join(data, run))
            run = []
        run.append(splice)
    if run:
        merged.append(_join(data, run))
    return tuple(merged)


def compose(first: Sequence[Splice], second: Sequence[Splice]) -> tuple[Splice, ...]:
    """Return splices over the original that do both. `second` is over the result of `first`."""
    if not first or not second:
        return tuple(first or second)
    composer = _Composer(first)
    for splice in second:
        composer.add(splice)
    return composer.finish()


def compose_all(steps: Sequence[Sequence[Splice]]) -> tuple[Splice, ...]:
    """Compose steps, each over the result of the previous one, in halves: O(n·log n) instead of O(n²)."""
    if len(steps) <= 1:
        return tuple(steps[0]) if steps else ()
    middle = len(steps) // 2
    return compose(compose_all(steps[:middle]), compose_all(steps[middle:]))


class _Composer:
    """Merges each splice of the second list with those of the first whose new text it touches.

    Offsets named `at` are in the middle text (the result of the first list). The open splice covers that text up to
    `_open_at`; `_tail` is its end that no splice of the second list has consumed yet.
    """

    def __init__(self, first: Sequence[Splice]) -> None:
        self._first = first
        self._index = 0
        self._shift = 0  # middle minus original offset, after the consumed splices
        self._out: list[Splice] = []
        self._is_open = False
        self._start = self._end = self._open_at = 0
        self._pieces: list[bytes | memoryview] = []
        self._tail = _NOTHING  # a view, because it is cut at each splice

    def add(self, splice: Splice) -> None:
        if self._is_open and splice.start > self._open_at:
            self._close()
        if not self._is_open:
            self._open(splice.start)
        kept = splice.start - (self._open_at - len(self._tail))
        self._pieces += (self._tail[:kept], splice.new)
        if splice.end < self._open_at:
            self._tail = self._tail[len(self._tail) - (self._open_at - splice.end) :]
            return
        self._tail = _NOTHING
        while (begins_at := self._next_at()) is not None and begins_at <= splice.end:
            absorbed = self._consume()
            self._end = absorbed.end
            self._open_at = begins_at + len(absorbed.new)
            if self._open_at > splice.end:
                self._tail = memoryview(absorbed.new)[splice.end - begins_at :]
        if self._open_at < splice.end:
            self._end = splice.end - self._shift
            self._open_at = splice.end

    def finish(self) -> tuple[Splice, ...]:
        if self._is_open:
            self._close()
        self._out += self._first[self._index :]
        return tuple(self._out)

    def _open(self, at: int) -> None:
        while (begins_at := self._next_at()) is not None:
            if begins_at + len(self._first[self._index].new) >= at:
                break
            self._out.append(self._consume())
        self._is_open = True
        if begins_at is not None and begins_at <= at:
            absorbed = self._consume()
            self._start = absorbed.start
            self._end = absorbed.end
            self._tail = memoryview(absorbed.new)
            self._open_at = begins_at + len(absorbed.new)
        else:
            self._start = self._end = at - self._shift
            self._open_at = at

    def _close(self) -> None:
        self._out.append(Splice(self._start, self._end, b"".join((*self._pieces, self._tail))))
        self._is_open = False
        self._pieces = []
        self._tail = _NOTHING

    def _next_at(self) -> int | None:
        """Return where the next splice of `first` begins in the middle text."""
        if self._index == len(self._first):
            return None
        return self._first[self._index].start + self._shift

    def _consume(self) -> Splice:
        splice = self._first[self._index]
        self._index += 1
        self._shift += len(splice.new) - (splice.end - splice.start)
        return splice


def _join(data: bytes, run: list[Splice]) -> Splice:
    start, end = run[0].start, run[-1].end
    return Splice(start, end, apply_within(data, run, start, end))
