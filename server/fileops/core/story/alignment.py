"""Finds the vector of a new content from the vectors of known contents. Pure.

Text that a known content also has keeps its writer. The event that led to the new content is the writer of the rest.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import accumulate, chain, pairwise, takewhile
from operator import attrgetter
from typing import NamedTuple

from msgspec import Struct

from fileops.core.diff.contents import find_changed_words, is_inside_word, words_of
from fileops.core.diff.lines import find_changed_ranges
from fileops.core.story.spans import Block, RemovedTexts, Span, Texts, Vector, VectorBuilder, weave
from fileops.core.text import detect_format, newline_of, split_lines
from fileops.model.edits import Splice
from fileops.model.files import TextFormat

MAX_REMOVED_SPANS = 512  # at one place, in which text that is typed again is looked for


class Aligned(Struct, frozen=True):
    """A vector of the new content. written: the spans of the event itself, in order."""

    vector: Vector
    written: tuple[Span, ...]

    def n_written(self, data: bytes) -> int:
        """How many bytes of the content the event wrote; whitespace does not count."""
        return sum(len(b"".join(data[span.start : span.stop].split())) for span in self.written)

    def n_removed(self, event: int) -> int:
        """How many bytes the event itself removed."""
        return sum(span.stop - span.start for span in self.vector if span.removers == (event,))


def apply(
    vector: Vector,
    splices: Sequence[Splice],
    event: int,
    texts: Texts,
    fmt: TextFormat,
    *,
    writes: bool = False,
    is_own: bool = False,
    donors: "Sequence[Donor]" = (),
) -> Aligned:
    """Return the vector of the content that the splices make of the vector's content.

    writes: what is inserted is the event's own text. Otherwise it may be text that was removed at the same place.
    is_own: what it removes is its own removal, even if it only takes back what an earlier event had returned. donors:
    what may have been merged, the likeliest first.
    """
    made = _Made(event, texts, fmt, writes=writes, is_own=is_own, donors=donors)
    reader, growth = _Reader(vector), 0
    for splice in splices:
        made.keep(reader.take(splice.start))
        made.remove(reader.take(splice.end))
        made.insert(splice.new, splice.start + growth, reader.next)
        growth += len(splice.new) - (splice.end - splice.start)
    made.keep(reader.take_rest())
    return made.to_aligned()


class Donor:
    """A known content whose lines a new content may have: those keep their spans, and their writers."""

    def __init__(self, present: Vector, vector: Vector, data: bytes, texts: Texts) -> None:
        self._reader = _Reader(vector)
        fmt = TextFormat(encoding=detect_format(data).encoding)
        content = texts.content(vector)
        old, new = split_lines(content, fmt), split_lines(data, fmt)
        starts, new_starts = list(accumulate(map(len, old), initial=0)), list(accumulate(map(len, new), initial=0))
        self._same: list[tuple[int, int, int]] = []  # runs of equal lines: start and stop in the data, start in its own
        i_at = j_at = 0
        for _, i_stop, j, j_stop in (*find_changed_ranges(old, new), (len(old), 0, len(new), 0)):
            if j_at < j:
                self._same.append((new_starts[j_at], new_starts[j], starts[i_at]))
            i_at, j_at = i_stop, j_stop
        self.given = b"".join(data[start:stop] for start, stop, _ in self._same)  # the lines of the data that it has
        self._removed: dict[int, list[Span]] = {}  # by writer: what it has removed, and the present content has
        for now, then in weave(present, vector):
            if now is not None and not now.removers and then is not None and then.removers:
                self._removed.setdefault(then.writer, []).append(then)
        for spans in self._removed.values():
            spans.sort(key=attrgetter("start"))

    def spans(self, start: int, stop: int) -> tuple[int, list[Span]]:
        """Return its spans of the data from an offset on, and where they end; none, and where its next ones begin."""
        for first, last, own in self._same:
            if first <= start < last:
                end = min(stop, last)
                return end, self._reader.between(own + start - first, own + end - first)
            if start < first:
                return min(stop, first), []
        return stop, []

    def to_removed(self, span: Span) -> Span | None:
        """Return a span of the present content as it was removed here; None if it was not."""
        spans = self._removed.get(span.writer, ())
        n = bisect_right(spans, span.start, key=attrgetter("start")) - 1
        if n < 0 or spans[n].stop < span.stop:
            return None
        return spans[n].part(span.start - spans[n].start, span.stop - spans[n].start)


def reorder(vector: Vector, data: bytes, texts: Texts) -> Vector:
    """Return the vector with those lines moved, and then those words, that the content has at other places.

    Removed text moves with what follows it.
    """
    fmt = TextFormat(encoding=detect_format(data).encoding)
    lines, words = split_lines(data, fmt), words_of(data, fmt)
    by_lines = _move(list(_units(vector, texts, lambda text: split_lines(text, fmt), newline_of(fmt))), lines)
    return _move(list(_units(by_lines, texts, lambda text: words_of(text, fmt))), words)


def _move(units: Sequence[tuple[bytes, list[Span]]], new: Sequence[bytes]) -> Vector:
    old = [text for text, _ in units]
    ranges = find_changed_ranges(old, new)
    loose: dict[bytes, list[int]] = {}  # what is at another place, or nowhere
    for i, i_stop, _, _ in ranges:
        for n in range(i, i_stop):
            if old[n].strip():
                loose.setdefault(old[n], []).append(n)
    moves = {
        i_stop: [loose[text].pop(0) for text in new[j:j_stop] if loose.get(text)] for _, i_stop, j, j_stop in ranges
    }
    moving = {n for numbers in moves.values() for n in numbers}
    result: list[Span] = []
    for n in range(len(units) + 1):
        staying = (n,) if n < len(units) and n not in moving else ()
        for unit in (*moves.get(n, ()), *staying):
            result += units[unit][1]
    return Vector.of(result)


def _units(
    vector: Vector, texts: Texts, split: Callable[[bytes], Sequence[bytes]], end: bytes = b""
) -> Iterator[tuple[bytes, list[Span]]]:
    """Yield the lines or words of the content, each with its spans. Args: end: with which each of them ends."""
    text, spans = b"", list[Span]()
    for span in vector:
        if span.removers:
            spans.append(span)
            continue
        at = 0
        for part in split(texts.of(span)):
            text += part
            spans.append(span.part(at, at + len(part)))
            at += len(part)
            if part.endswith(end):
                yield text, spans
                text, spans = b"", []
    if spans:
        yield text, spans


class _Taken(NamedTuple):
    """Spans that were read: the rest of one block, whole blocks, and the beginning of another block."""

    rest: Sequence[Span]
    blocks: Sequence[Block]
    beginning: Sequence[Span]


class _Reader:
    """Reads a vector from its beginning on, by offsets in its content."""

    def __init__(self, vector: Vector) -> None:
        self._blocks = vector.blocks
        self._ends = list(accumulate(map(attrgetter("n_bytes"), self._blocks)))  # where each ends in the content
        self._block = -1  # the number of the block that is being read
        self._spans: Sequence[Span] = ()  # of that block
        self._stops: Sequence[int] = ()  # where each of them ends in the content
        self._n = 0  # how many of them have been read
        self._rest: Span | None = None  # what remains of span n, if it was divided

    @property
    def next(self) -> Span | None:
        if self._rest is not None or self._n < len(self._spans):
            return self._rest or self._spans[self._n]
        following = self._block + 1
        return self._blocks[following].spans[0] if following < len(self._blocks) else None

    def take(self, offset: int) -> _Taken:
        """Return the spans up to an offset, and what was removed there."""
        rest, blocks = list[Span](), ()
        block = bisect_right(self._ends, offset)  # the block with the byte at the offset
        if block > self._block:
            rest, blocks = self._take_before(block)
        if block == len(self._blocks):
            return _Taken(rest, blocks, ())
        n = bisect_right(self._stops, offset)  # the span with the byte at the offset
        taken = self._take_up_to(n)
        span = self._rest or self._spans[n]
        if (n_taken := offset - self._stops[n] + span.n_bytes) > 0:
            taken.append(span.part(0, n_taken))
            self._rest = span.part(n_taken, span.n_bytes)
        return _Taken(rest, blocks, taken)

    def take_rest(self) -> _Taken:
        return _Taken(*self._take_before(len(self._blocks)), ())

    def between(self, start: int, stop: int) -> list[Span]:
        """Return what is there between two offsets, without a move to them."""
        found: list[Span] = []
        for block in range(bisect_right(self._ends, start), len(self._blocks)):
            first = self._ends[block] - self._blocks[block].n_bytes
            for span in self._blocks[block].spans:
                if first >= stop:
                    return found
                if not span.removers and start < first + span.n_bytes:
                    found.append(span.part(max(start - first, 0), min(stop - first, span.n_bytes)))
                first += span.n_bytes
        return found

    def _take_before(self, block: int) -> tuple[list[Span], Sequence[Block]]:
        """Return the rest of the block that is being read, and the blocks behind it before another one."""
        rest = self._take_up_to(len(self._spans))
        blocks = self._blocks[self._block + 1 : block]
        self._block, self._spans, self._stops, self._n = block, (), (), 0
        if block < len(self._blocks):
            self._spans = self._blocks[block].spans
            start = self._ends[block] - self._blocks[block].n_bytes
            self._stops = list(accumulate([span.n_bytes for span in self._spans], initial=start))[1:]
        return rest, blocks

    def _take_up_to(self, n: int) -> list[Span]:
        """Return the spans of the block that is being read before the n-th one."""
        if n == self._n:
            return []
        taken = [self._rest or self._spans[self._n], *self._spans[self._n + 1 : n]]
        self._n, self._rest = n, None
        return taken


class _Made:
    """The vector of the new content, from its beginning on."""

    def __init__(
        self,
        event: int,
        texts: Texts,
        fmt: TextFormat,
        *,
        writes: bool = False,
        is_own: bool = False,
        donors: Sequence[Donor] = (),
    ) -> None:
        self._made = VectorBuilder()
        self._written: list[Span] = []
        self._donors = donors
        self._given: dict[int, list[Span]] = {}  # by writer: what donors gave
        self._event, self._texts, self._fmt, self._writes, self._is_own = event, texts, fmt, writes, is_own

    def to_aligned(self) -> Aligned:
        vector = self._made.to_vector()
        if self._given:  # it is not also there as removed
            vector = Vector.of(span for span in vector if not (span.removers and self._is_given(span)))
        return Aligned(vector, tuple(self._written))

    def _is_given(self, span: Span) -> bool:
        return any(given.start <= span.start and span.stop <= given.stop for given in self._given.get(span.writer, ()))

    def keep(self, taken: _Taken) -> None:
        self._made.spans += taken.rest
        if taken.blocks:
            self._made.add_blocks(taken.blocks)
        self._made.spans += taken.beginning

    def remove(self, taken: _Taken) -> None:
        of_blocks = (block.spans for block in taken.blocks)
        self._made.spans += map(self._to_removed, chain(taken.rest, *of_blocks, taken.beginning))

    def _to_removed(self, span: Span) -> Span:
        """Return a span as the donor has it that removed it, else as the event removed it."""
        if span.removers:
            return span
        found = (donor.to_removed(span) for donor in self._donors)
        return next((removed for removed in found if removed is not None), None) or span.remove(self._event)

    def insert(self, text: bytes, at: int, after: Span | None) -> None:
        """Insert text behind what was removed here, but before what the text after it replaced.

        Args: at: where it begins in the new content. after: what is there behind it.
        """
        if not text:
            return
        spans = self._made.spans
        n = len(spans)
        while after is not None and (n := n or self._made.reopen()) and after.writer in spans[n - 1].removers:
            n -= 1
        if any(self._event in span.removers for span in spans[n:]):
            n = len(spans)
        behind = spans[n:]
        del spans[n:]
        if self._writes or not text.strip() or not self._returns(text):
            self._insert_given(at, at + len(text))
        spans += behind

    def _insert_given(self, start: int, stop: int) -> None:
        """Insert what donors have of this part of the content; the rest is the event's own."""
        while start < stop:
            end = stop
            for donor in self._donors:
                reached, given = donor.spans(start, stop)
                if given:
                    break
                end = min(end, reached)
            else:
                given, reached = [Span.from_writer(self._event, start, end)], end
                self._written += given
            for span in given if given[0].writer != self._event else ():
                self._given.setdefault(span.writer, []).append(span)
            self._made.spans += given
            start = reached

    def _returns(self, text: bytes) -> bool:
        """Bring back what was removed here if it is just this text. Returns whether it is."""
        beginnings = self._find_beginnings(text)
        removed = self._read_removed() if beginnings else []
        for n in beginnings:
            start = len(removed) - n
            stop = self._end_of(text, removed, start)
            if stop is None:
                continue
            cancelled = {removal for span in removed[start:stop] for removal in span.removers}
            removed[start:stop] = [span.bring_back(self._event) for span in removed[start:stop]]
            if not self._is_own:
                removed = [_remove_again(span, self._event, cancelled) for span in removed]
            spans = self._made.spans
            while len(spans) < len(removed):
                self._made.reopen()
            spans[len(spans) - len(removed) :] = removed
            return True
        return False

    def _read_removed(self) -> list[Span]:
        """Return the spans that were removed here, the last ones."""
        found = list[Span]()
        for spans in (self._made.spans, *(block.spans for block in reversed(self._made.blocks))):
            n = len(found)
            found += takewhile(attrgetter("removers"), reversed(spans))
            if len(found) - n < len(spans) or len(found) >= MAX_REMOVED_SPANS:
                break
        return found[MAX_REMOVED_SPANS - 1 :: -1]

    def _find_beginnings(self, text: bytes) -> list[int]:
        """Return with which of the spans that were removed here a text begins, from the first one on.

        They are counted from the last one back. Very many may have been removed here, so whole blocks of them are not
        read again for each text.
        """
        found, n = list[int](), 0
        for spans, texts in chain([(self._made.spans, None)], self._read_blocks_back()):
            if n >= MAX_REMOVED_SPANS:
                break
            if texts is not None:
                n += len(spans)
                found += (n - number for number in reversed(texts.find_beginnings(text)))
                continue
            for span in reversed(spans):
                if n >= MAX_REMOVED_SPANS or not span.removers:
                    return found[::-1]
                n += 1
                if text.startswith(self._texts.of(span)):
                    found.append(n)
        return [number for number in reversed(found) if number <= MAX_REMOVED_SPANS]

    def _read_blocks_back(self) -> Iterator[tuple[Sequence[Span], RemovedTexts | None]]:
        for block in reversed(self._made.blocks):
            yield block.spans, self._texts.removed(block)

    def _end_of(self, text: bytes, spans: Sequence[Span], start: int) -> int | None:
        """Return where the removed spans end whose texts, from this one on, are the text together.

        None also if a word of the text is of two spans that were never there at the same time: it is another word.
        """
        at = 0
        for n in range(start, len(spans)):
            own = self._texts.of(spans[n])
            if self._event in spans[n].removers or not text.startswith(own, at):
                return None
            if at and is_inside_word(text, at, self._fmt) and not _were_together(spans[n - 1], spans[n]):
                return None
            at += len(own)
            if at == len(text):
                return n + 1
        return None


def _were_together(one: Span, other: Span) -> bool:
    """Return whether a content had both of two removed spans just before the first of them was removed."""
    event = min(*one.removers, *other.removers)
    return one.was_there(event) and other.was_there(event)


def _remove_again(span: Span, event: int, cancelled: Collection[int]) -> Span:
    """What others had brought back in place of text that is there again is removed as it was before."""
    returned_by = [by for by, undone in span.effects if undone and by in cancelled]
    if span.removers != (event,) or not returned_by:
        return span
    again = span.with_effects(span.effects[:-1]).cancel(event, returned_by)
    return again if again.removers else span


def splices_by_words(parts: Sequence[bytes], data: bytes) -> list[Splice]:
    """Return splices of whole words over the joined parts that make the content of them.

    Lines are compared first. Otherwise a line that is new at the end would get the line end of the one before it.
    """
    fmt = TextFormat(encoding=detect_format(data).encoding)
    joined = b"".join(parts)
    cuts = sorted({0, *accumulate(map(len, parts))})
    old, new = split_lines(joined, fmt), split_lines(data, fmt)
    starts, new_starts = list(accumulate(map(len, old), initial=0)), list(accumulate(map(len, new), initial=0))
    result: list[Splice] = []
    for i, i_stop, j, j_stop in find_changed_ranges(old, new):
        start, stop, new_start = starts[i], starts[i_stop], new_starts[j]
        within = [start, *cuts[bisect_right(cuts, start) : bisect_left(cuts, stop)], stop]
        words = [word for at, end in pairwise(within) for word in words_of(joined[at:end], fmt)]
        new_words = words_of(data[new_start : new_starts[j_stop]], fmt)
        word_starts = list(accumulate(map(len, words), initial=start))
        new_word_starts = list(accumulate(map(len, new_words), initial=new_start))
        result += (
            Splice(word_starts[k], word_starts[k_stop], data[new_word_starts[m] : new_word_starts[m_stop]])
            for k, k_stop, m, m_stop in find_changed_words(words, new_words, fmt)
        )
    return result
