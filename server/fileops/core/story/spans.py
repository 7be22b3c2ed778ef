"""Spans of text with their writer and their removers, and vectors of spans. Pure.

A vector describes one content of one file: its text and, at its place, the text that was removed from it. A span is an
address, not a copy: bytes of the content that its writer left. So a span can be divided in one vector without any
change to another one, and vectors can be stored, compared and forgotten one by one.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

BLOCK_SPANS = 64  # of a new block; at most twice as many
MAX_REMOVED_BLOCKS = 64  # of which the texts are known by their beginnings: those of a few places
OLDER = 0  # the event that wrote what is older than all changes
_ABSENT = -1  # instead of an event: the content never had this text before


# An event, and the events whose effects it cancelled; none if it removed the text. A negative number is a loan: the
# undo that is this event would have taken the text away, or left it away, but it is an end of a line that lines of
# others need for now.
Effect = tuple[int, tuple[int, ...]]


class Span(Struct, frozen=True, gc=False, array_like=True):
    """Bytes start to stop of the content that the event `writer` left.

    n_bytes: how many of them the content has: none if it was removed. effects: what later events did to it, in order.
    An event whose effect a later one cancels is not in force. removers: the events in force that removed it, or
    cancelled its writer; none if it is there.
    """

    writer: int
    start: int
    stop: int
    n_bytes: int
    removers: tuple[int, ...] = ()
    effects: tuple[Effect, ...] = ()

    @classmethod
    def from_writer(cls, writer: int, start: int, stop: int) -> "Span":
        return cls(writer, start, stop, stop - start)

    @property
    def events(self) -> set[int]:
        """All events that have an effect on it."""
        return {self.writer, *(event for event, _ in self.effects)}

    @property
    def bringers(self) -> set[int]:
        """The events that wrote it or brought it back."""
        return {self.writer, *(event for event, undone in self.effects if undone and event > OLDER)}

    @property
    def loans(self) -> set[int]:
        """The loans due to which it is there; none if it is there anyway, or not at all."""
        loans = {event for event, _ in self.effects if event < _ABSENT}
        if not loans or self.removers:
            return set()
        return loans if _removers(self.writer, [effect for effect in self.effects if effect[0] not in loans]) else set()

    def was_there(self, event: int) -> bool:
        """Return whether the content had it just before an event."""
        if self.writer >= event:
            return False
        earlier = [effect for effect in self.effects if effect[0] == _ABSENT or abs(effect[0]) < event]
        return not earlier or not _removers(self.writer, earlier)

    def part(self, start: int, stop: int) -> "Span":
        """Return its bytes from one offset to another, counted from its start."""
        n_bytes = 0 if self.removers else stop - start
        return replace(self, start=self.start + start, stop=self.start + stop, n_bytes=n_bytes)

    def remove(self, event: int) -> "Span":
        return self if self.removers else self.with_effects((*self.effects, (event, ())))

    def cancel(self, event: int, undone: Collection[int]) -> "Span":
        """Return it as it is after this event has cancelled the effects of others."""
        return self.with_effects((*self.effects, (event, tuple(sorted(undone))))) if undone else self

    def lend(self, event: int, undone: Collection[int]) -> "Span":
        """Return it as it is after this event has cancelled the effects of others, but lends it to lines of others."""
        after = self.cancel(event, undone)
        return after.with_effects((*after.effects, (-event, after.removers)))

    def bring_back(self, event: int) -> "Span":
        """Return it as it is after this event has brought it back."""
        return self.cancel(event, self.removers)

    def with_effects(self, effects: tuple[Effect, ...]) -> "Span":
        removers = _removers(self.writer, effects)
        n_bytes = 0 if removers else self.stop - self.start
        return replace(self, n_bytes=n_bytes, removers=removers, effects=effects)


def _removers(writer: int, effects: Sequence[Effect]) -> tuple[int, ...]:
    cancelled, removers = set[int](), list[int]()
    for event, undone in reversed(effects):
        if event in cancelled or (event < _ABSENT and -event in cancelled):  # a loan goes with the undo that made it
            continue
        cancelled.update(undone)
        if not undone or writer in undone:
            removers.append(event)
    return tuple(reversed(removers))


class Block(Struct, frozen=True, gc=False):
    """Spans side by side; at least one. n_bytes: how many bytes the content has of all of them."""

    spans: tuple[Span, ...]
    n_bytes: int

    @classmethod
    def of(cls, spans: tuple[Span, ...]) -> "Block":
        return cls(spans, sum([span.n_bytes for span in spans]))


class Vector:
    """The spans of one content, in order.

    They are in blocks, which the vectors of a file share: a change of one place makes one or two new blocks, however
    many spans the file has.
    """

    def __init__(self, blocks: Iterable[Block] = ()) -> None:
        self.blocks = tuple(blocks)

    @classmethod
    def of(cls, spans: Iterable[Span]) -> "Vector":
        made = VectorBuilder()
        made.spans += spans
        return made.to_vector()

    def __iter__(self) -> Iterator[Span]:
        return chain.from_iterable(block.spans for block in self.blocks)

    def __len__(self) -> int:
        return sum([len(block.spans) for block in self.blocks])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vector) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


class VectorBuilder:
    """Makes a vector from its beginning on. spans: the last ones, which are in no block yet; may be changed."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self._blocks: list[Block] = []

    @property
    def blocks(self) -> Sequence[Block]:
        """Those before the spans."""
        return self._blocks

    def add_blocks(self, blocks: Sequence[Block]) -> None:
        """Add the spans of whole blocks, which stay as they are."""
        self._close()
        self._blocks += blocks

    def reopen(self) -> int:
        """Take the last block back into the spans. Returns how many it has; 0 if there is none."""
        if not self._blocks:
            return 0
        block = self._blocks.pop()
        self.spans[:0] = block.spans
        return len(block.spans)

    def to_vector(self) -> Vector:
        self._close()
        return Vector(self._blocks)

    def _close(self) -> None:
        if not self.spans:
            return
        if len(self.spans) < BLOCK_SPANS // 2:  # else blocks would become ever smaller
            self.reopen()
        spans = self.spans
        size = BLOCK_SPANS if len(spans) > 2 * BLOCK_SPANS else len(spans)
        for at in range(0, len(spans), size):
            self._blocks.append(Block.of(tuple(spans[at : at + size])))
        spans.clear()


Written = tuple[tuple[int, ...], tuple[bytes, ...]]  # where the texts begin that an event wrote, and these
Pair = tuple[Span | None, Span | None]  # of the same text in two vectors; None if that vector does not have it


class RemovedTexts:
    """Finds texts among those of a block."""

    def __init__(self, texts: Iterable[bytes]) -> None:
        self._numbers: dict[bytes, list[int]] = {}
        for n, text in enumerate(texts):
            self._numbers.setdefault(text, []).append(n)
        self._lengths = sorted(set(map(len, self._numbers)))

    def find_beginnings(self, text: bytes) -> list[int]:
        """Return the numbers of those with which a text begins, ascending."""
        lengths = self._lengths[: bisect_right(self._lengths, len(text))]
        return sorted(n for length in lengths for n in self._numbers.get(text[:length], ()))


class Texts:
    """What each event wrote. Of a content only the parts are kept that the event itself wrote."""

    def __init__(self, written: Iterable[Written] = ()) -> None:
        self.written = list(written)  # by event
        self._removed: dict[int, tuple[Block, RemovedTexts]] = {}  # by the block's identity

    def add(self, content: bytes) -> None:
        """Add the next event, which left this content."""
        self.written.append(((0,), (content,)))

    def keep_only(self, event: int, written: Iterable[Span]) -> None:
        """Forget what the event's content has beside these spans, which are in order."""
        spans = list(written)
        self.written[event] = tuple([span.start for span in spans]), tuple([self.of(span) for span in spans])

    def of(self, span: Span) -> bytes:
        starts, texts = self.written[span.writer]
        n = bisect_right(starts, span.start) - 1
        return texts[n][span.start - starts[n] : span.stop - starts[n]]

    def has(self, writer: int, at: int) -> bool:
        """Return whether the event wrote the byte at this offset of its content."""
        starts, texts = self.written[writer]
        n = bisect_right(starts, at) - 1
        return n >= 0 and at < starts[n] + len(texts[n])

    def removed(self, block: Block) -> RemovedTexts | None:
        """Return the texts of a block whose spans were all removed; None if one of them is there."""
        known = self._removed.get(id(block))
        if known is None:
            if not all(span.removers for span in block.spans):
                return None
            while len(self._removed) >= MAX_REMOVED_BLOCKS:
                del self._removed[next(iter(self._removed))]
            known = self._removed[id(block)] = block, RemovedTexts(map(self.of, block.spans))
        return known[1]

    def content(self, vector: Iterable[Span]) -> bytes:
        return b"".join(self.of(span) for span in vector if not span.removers)


def weave(one: Vector, other: Vector) -> list[Pair]:
    """Return the spans of both vectors in one order, divided at the same offsets."""
    cuts = _cuts(one, other)
    ones, others = list(_divide(one, cuts)), list(_divide(other, cuts))
    places = {(span.writer, span.start): n for n, span in enumerate(ones)}
    positions = [places.get((span.writer, span.start), -1) for span in others]
    in_order = dict(_longest_ascent(positions))
    partners = {n: others[m] for m, n in enumerate(positions) if n >= 0}
    following: dict[int, list[Span]] = {}  # what only the other vector has, by the span before it
    last = -1
    for m, span in enumerate(others):
        if positions[m] < 0:
            following.setdefault(last, []).append(span)
        last = in_order.get(m, last)
    pairs: list[Pair] = [(None, span) for span in following.get(-1, ())]
    for n, span in enumerate(ones):
        pairs.append((span, partners.get(n)))
        pairs += ((None, extra) for extra in following.get(n, ()))
    return pairs


def move(present: Vector, other: Vector, event: int) -> Vector:
    """Return the vector of the other content, with all that differs from the present one as this event's change."""
    result: list[Span] = []
    for now, then in weave(present, other):
        if now is None:
            assert then is not None
            absent = then.with_effects((*then.effects, (_ABSENT, ())))
            result.append(then if then.removers else absent.cancel(event, (_ABSENT,)))
        elif then is None or then.removers:
            result.append(now.remove(event))
        else:
            result.append(now.bring_back(event) if now.removers else then)
    return Vector.of(result)


def _cuts(*vectors: Vector) -> dict[int, list[int]]:
    """Return the offsets, ascending, at which a span of each writer begins or ends."""
    cuts: dict[int, set[int]] = {}
    for vector in vectors:
        for span in vector:
            cuts.setdefault(span.writer, set()).update((span.start, span.stop))
    return {writer: sorted(offsets) for writer, offsets in cuts.items()}


def _divide(vector: Vector, cuts: Mapping[int, Sequence[int]]) -> Iterator[Span]:
    for span in vector:
        offsets = cuts[span.writer]
        first, stop = bisect_right(offsets, span.start), bisect_left(offsets, span.stop)
        if first == stop:
            yield span
            continue
        start = span.start
        for offset in offsets[first : stop + 1]:
            yield span.part(start - span.start, offset - span.start)
            start = offset


def _longest_ascent(positions: Sequence[int]) -> list[tuple[int, int]]:
    """Return the longest ascending run of positions, each after its index. Negative positions do not count."""
    tails, ends = list[int](), list[int]()  # of the best run of each length: its last position and that one's index
    previous: dict[int, int] = {}
    for n, position in enumerate(positions):
        if position < 0:
            continue
        length = bisect_left(tails, position)
        tails[length : length + 1] = [position]
        ends[length : length + 1] = [n]
        if length:
            previous[n] = ends[length - 1]
    run: list[tuple[int, int]] = []
    n = ends[-1] if ends else None
    while n is not None:
        run.append((n, positions[n]))
        n = previous.get(n)
    return run[::-1]
