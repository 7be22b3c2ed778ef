"""Finds the vector of a new content from the vectors of known contents. Pure.

Text that a known content also has keeps its writer. The event that led to the new content is the writer of the rest.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import accumulate
from operator import attrgetter

from msgspec import Struct

from fileops.core.diff.contents import changed_words, words_of
from fileops.core.diff.lines import changed_ranges
from fileops.core.story.spans import Pair, Span, Texts, Vector, weave
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


def applied(
    vector: Vector,
    splices: Sequence[Splice],
    event: int,
    texts: Texts,
    *,
    writes: bool = False,
    is_own: bool = False,
) -> Aligned:
    """Return the vector of the content that the splices make of the vector's content.

    writes: what is inserted is the event's own text. Otherwise it may be text that was removed at the same place.
    is_own: what it removes is its own removal, even if it only takes back what an earlier event had returned.
    """
    reader, made, growth = _Reader(vector), _Made(event, texts, writes=writes, is_own=is_own), 0
    for splice in splices:
        made.spans += reader.take(splice.start)
        made.spans += (span.removed(event) for span in reader.take(splice.end))
        made.insert(splice.new, splice.start + growth, reader.next)
        growth += len(splice.new) - (splice.end - splice.start)
    made.spans += reader.take_rest()
    return made.aligned()


def applied_to_both(present: Vector, other: Vector, data: bytes, event: int, texts: Texts) -> Aligned:
    """Return the vector of a content that has text of the present and of another known content, as after a merge."""
    pairs = weave(present, other)
    parts = [texts.of(_either(pair)) if any(map(_is_there, pair)) else b"" for pair in pairs]
    splices = splices_by_words(parts, data)
    made = _Made(event, texts)
    at, growth, waiting = 0, 0, list(reversed(splices))
    for pair, part in zip(pairs, parts, strict=True):
        done = 0
        while done < len(part):
            splice = waiting[-1] if waiting else None
            if splice is not None and splice.end <= at + done:
                made.insert(splice.new, splice.start + growth, None)
                growth += len(splice.new) - (splice.end - splice.start)
                waiting.pop()
                continue
            is_removed = splice is not None and splice.start <= at + done
            limit = len(part) if splice is None else (splice.end if is_removed else splice.start) - at
            stop = min(len(part), limit)
            made.spans.append(_joined(pair, done, stop, event, is_removed=is_removed))
            done = stop
        if not part:
            made.spans.append(_either(pair))
        at += len(part)
    for splice in reversed(waiting):
        made.insert(splice.new, splice.start + growth, None)
        growth += len(splice.new) - (splice.end - splice.start)
    return made.aligned()


def reordered(vector: Vector, data: bytes, texts: Texts) -> Vector:
    """Return the vector with those lines moved, and then those words, that the content has at other places.

    Removed text moves with what follows it.
    """
    fmt = TextFormat(encoding=detect_format(data).encoding)
    lines, words = split_lines(data, fmt), words_of(data, fmt)
    by_lines = _moved(list(_units(vector, texts, lambda text: split_lines(text, fmt), newline_of(fmt))), lines)
    return _moved(list(_units(by_lines, texts, lambda text: words_of(text, fmt))), words)


def _moved(units: Sequence[tuple[bytes, list[Span]]], new: Sequence[bytes]) -> Vector:
    old = [text for text, _ in units]
    ranges = changed_ranges(old, new)
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
    return tuple(result)


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


class _Reader:
    """Reads a vector from its beginning on, by offsets in its content."""

    def __init__(self, vector: Vector) -> None:
        self._vector = vector
        self._stops = list(accumulate(map(attrgetter("n_bytes"), vector)))  # where each span ends in the content
        self._n = 0
        self._rest: Span | None = None  # what remains of span n, if it was divided

    @property
    def next(self) -> Span | None:
        return self._rest or (self._vector[self._n] if self._n < len(self._vector) else None)

    def take(self, offset: int) -> list[Span]:
        """Return the spans up to an offset, and what was removed there."""
        taken: list[Span] = []
        n = bisect_right(self._stops, offset)  # the span with the byte at the offset
        if n > self._n and self.next is not None:
            taken += (self.next, *self._vector[self._n + 1 : n])
            self._n, self._rest = n, None
        span = self.next
        if span is not None and (n_taken := offset - self._stops[n] + span.n_bytes) > 0:
            taken.append(span.part(0, n_taken))
            self._rest = span.part(n_taken, span.n_bytes)
        return taken

    def take_rest(self) -> list[Span]:
        return [] if self.next is None else [self.next, *self._vector[self._n + 1 :]]


class _Made:
    """The vector of the new content, from its beginning on."""

    def __init__(self, event: int, texts: Texts, *, writes: bool = False, is_own: bool = False) -> None:
        self.spans: list[Span] = []
        self._written: list[Span] = []
        self._event, self._texts, self._writes, self._is_own = event, texts, writes, is_own

    def aligned(self) -> Aligned:
        return Aligned(tuple(self.spans), tuple(self._written))

    def insert(self, text: bytes, at: int, after: Span | None) -> None:
        """Insert text behind what was removed here, but before what the text after it replaced.

        Args: at: where it begins in the new content. after: what is there behind it.
        """
        if not text:
            return
        spans, n = self.spans, len(self.spans)
        while n and after is not None and after.writer in spans[n - 1].removers:
            n -= 1
        if any(self._event in span.removers for span in spans[n:]):
            n = len(spans)
        behind = spans[n:]
        del spans[n:]
        if self._writes or not text.strip() or not self._returns(text):
            span = Span.written(self._event, at, at + len(text))
            spans.append(span)
            self._written.append(span)
        spans += behind

    def _returns(self, text: bytes) -> bool:
        """Bring back what was removed here if it is just this text. Returns whether it is."""
        spans, event = self.spans, self._event
        first = len(spans)
        while first and spans[first - 1].removers and len(spans) - first < MAX_REMOVED_SPANS:
            first -= 1
        for start in range(first, len(spans)):
            stop = self._end_of(text, start)
            if stop is None:
                continue
            cancelled = {removal for span in spans[start:stop] for removal in span.removers}
            spans[start:stop] = [span.returned(event) for span in spans[start:stop]]
            if not self._is_own:
                spans[first:] = [_removed_again(span, event, cancelled) for span in spans[first:]]
            return True
        return False

    def _end_of(self, text: bytes, start: int) -> int | None:
        """Return where the removed spans end whose texts, from this one on, are the text together."""
        for n in range(start, len(self.spans)):
            own = self._texts.of(self.spans[n])
            if self._event in self.spans[n].removers or not text.startswith(own):
                return None
            text = text[len(own) :]
            if not text:
                return n + 1
        return None


def _removed_again(span: Span, event: int, cancelled: Collection[int]) -> Span:
    """What others had brought back in place of text that is there again is removed as it was before."""
    returned_by = [by for by, undone in span.effects if undone and by in cancelled]
    if span.removers != (event,) or not returned_by:
        return span
    again = span.with_effects(span.effects[:-1]).cancelled(event, returned_by)
    return again if again.removers else span


def splices_by_words(parts: Sequence[bytes], data: bytes) -> list[Splice]:
    """Return splices of whole words over the joined parts that make the content of them."""
    fmt = TextFormat(encoding=detect_format(data).encoding)
    old, new = [word for part in parts for word in words_of(part, fmt)], words_of(data, fmt)
    most = min(len(old), len(new))
    head = next((n for n in range(most) if old[n] != new[n]), most)
    tail = next((n for n in range(most - head) if old[-1 - n] != new[-1 - n]), most - head)
    starts, new_starts = list(accumulate(map(len, old), initial=0)), list(accumulate(map(len, new), initial=0))
    return [
        Splice(starts[head + i], starts[head + i_stop], data[new_starts[head + j] : new_starts[head + j_stop]])
        for i, i_stop, j, j_stop in changed_words(old[head : len(old) - tail], new[head : len(new) - tail], fmt)
    ]


def _is_there(span: Span | None) -> bool:
    return span is not None and not span.removers


def _either(pair: Pair) -> Span:
    span = pair[0] or pair[1]
    assert span is not None
    return span


def _joined(pair: Pair, start: int, stop: int, event: int, *, is_removed: bool) -> Span:
    """Return a part of text that one of the two contents has. What one of them has removed keeps its removers."""
    now, then = (None if span is None else span.part(start, stop) for span in pair)
    if not is_removed:
        return _either((now if _is_there(now) else None, then))
    if now is None:
        return _either((now, then)).removed(event)
    if now.removers or then is None or not then.removers:
        return now.removed(event)
    return then
