"""Computes an undo of some events of a file from the vector of its present content. Pure.

What the events did is divided into clusters: between two clusters of one event is a line that it left alone, as the
content was then. A cluster is undone, or left if that would touch what others did. What is left counts as text of
others from then on, so the rules are asked again until nothing changes.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Literal

from msgspec import Struct

from fileops.core.diff.contents import is_of_word, words_of
from fileops.core.story.spans import Span, Texts, Vector
from fileops.core.text import detect_format, newline_of, return_of, split_lines
from fileops.model.files import TextFormat

# replaced: others wrote in place of what it wrote. removed: others removed all that it had written in place of what
# would come back. typed: others typed exactly where it only removed something. divided: others wrote in the middle of
# its insertion, and not whole lines. doubled: others moved a word that would come back. glued: two words would touch.
# moved: its other half, the same text at another place, is left. apart: it formats text that stays.
WhyLeft = Literal["replaced", "removed", "typed", "divided", "doubled", "glued", "moved", "apart"]

_NEAR_BYTES = 4096  # beside a blank, in which the text that it belongs to is looked for

# What becomes of a span: it stays; it stays away; it goes; it returns; others removed it before it could go.
Fate = Literal["stays", "away", "goes", "returns", "lost"]


class EventPlace(Struct):
    """What one event did at one place.

    spans: numbers in the vector. start, end: of the place in the present content, in bytes. why: None if it is undone.
    """

    event: int
    spans: list[int]
    start: int
    end: int
    why: WhyLeft | None = None


class Undo:
    """An undo of the chosen events in the content of a vector.

    formats: events of formatters, which are undone where they format text that goes; each of their blanks is a cluster.
    clusters: from top to bottom. before: the content before the events if nothing came after them: it is the result.
    leaves: whether the rules are asked; they are not, if it is known that all has been undone.
    """

    def __init__(
        self,
        vector: Vector,
        data: bytes,
        texts: Texts,
        chosen: frozenset[int],
        *,
        formats: frozenset[int] = frozenset(),
        before: bytes | None = None,
        leaves: bool = True,
    ) -> None:
        formats = frozenset(event for event in formats if event > min(chosen, default=event))
        self._spans, self._chosen, self._formats, self._before = tuple(vector), chosen | formats, formats, before
        self._next_event = max(self._chosen, default=0) + 1  # newer than what it undoes
        self._data, self._fmt = data, TextFormat(encoding=detect_format(data).encoding)
        self._texts = [texts.of(span) for span in vector]
        newline = newline_of(self._fmt)
        self._with_line_ends = [n for n, text in enumerate(self._texts) if newline in text]
        self._lent = {n: loans for n, span in enumerate(vector) if (loans := span.loans)}
        self.clusters: list[EventPlace] = []
        self._cluster_of: dict[tuple[int, int], EventPlace] = {}  # by event and number of the span
        self._find_clusters()
        self._leave_apart()
        if leaves and before is None:
            moves = self._moves()
            while self._leaves_more(moves):
                pass

    # --- results -----------------------------------------------------------------------------------------------

    @property
    def left(self) -> list[EventPlace]:
        return [cluster for cluster in self.clusters if cluster.why is not None]

    def content(self) -> bytes:
        """Return the present content without what is undone."""
        if self._before is not None:
            return self._before
        fates = self._fates()
        ends, needless = self._line_ends(fates)
        parts = list[bytes]()
        for n, (text, fate) in enumerate(zip(self._texts, fates, strict=True)):
            if n in ends:
                parts.append(text[slice(*ends[n])])
            elif fate in {"stays", "returns"} and n not in needless:
                parts.append(text)
        return b"".join(parts)

    def vector(self, event: int) -> Vector:
        """Return the vector of that content, if the undo is this event."""
        (ends, needless), spans = self._line_ends(self._fates()), list[Span]()
        for n, span in enumerate(self._spans):
            undone = self._find_undone_events(n, span)
            if n in needless:
                undone |= self._lent[n]
            if n not in ends:
                spans.append(span.cancel(event, undone))
                continue
            start, stop = ends[n]
            parts = span.part(0, start), span.part(start, stop), span.part(stop, len(self._texts[n]))
            spans += (
                part.lend(event, undone) if part is parts[1] else part.cancel(event, undone)
                for part in parts
                if part.start < part.stop
            )
        return Vector.of(spans)

    # --- clusters ----------------------------------------------------------------------------------------------

    def _find_clusters(self) -> None:
        newest: dict[int, EventPlace] = {}  # of each event
        newline, at = newline_of(self._fmt), 0
        for n, span in enumerate(self._spans):
            for event in sorted(span.events & self._chosen):
                cluster = newest.get(event)
                if (
                    cluster is None
                    or event in self._formats
                    or self._has_line_between(event, cluster.spans[-1], n, newline)
                ):
                    cluster = newest[event] = EventPlace(event, [], at, at)
                    self.clusters.append(cluster)
                cluster.spans.append(n)
                cluster.end = max(cluster.end, at + span.n_bytes)
                self._cluster_of[event, n] = cluster
            at += span.n_bytes

    def _has_line_between(self, event: int, start: int, stop: int, newline: bytes) -> bool:
        """Return whether the event left a line alone between two spans, as the content was then.

        If it wrote and removed no end of a line there, the end of one is enough: it changed each line on its own.
        """
        are_in_lines = not any(newline in self._texts[n] for n in (start, stop))
        n_ends = 0 if are_in_lines or self._texts[start].endswith(newline) else -1
        with_line_ends = self._with_line_ends
        for n in with_line_ends[bisect_right(with_line_ends, start) : bisect_left(with_line_ends, stop)]:
            if self._spans[n].was_there(event):
                n_ends += self._texts[n].count(newline)
                if n_ends > 0:
                    return True
        return False

    def _is_undone(self, event: int, n: int) -> bool:
        cluster = self._cluster_of.get((event, n))
        return cluster is not None and cluster.why is None

    def _find_undone_events(self, n: int, span: Span) -> set[int]:
        return {event for event in span.events if self._is_undone(event, n)}

    def _fates(self) -> list[Fate]:
        return [self._fate(n, span) for n, span in enumerate(self._spans)]

    def _fate(self, n: int, span: Span) -> Fate:
        undone = self._find_undone_events(n, span)
        after = span.cancel(self._next_event, undone)
        if not after.removers:
            return "returns" if span.removers else "stays"
        if not span.removers:
            return "goes"
        return "lost" if span.writer in undone and not undone.issuperset(span.removers) else "away"

    # --- what is left ------------------------------------------------------------------------------------------

    def _leave(self, n: int, events: Collection[int], why: WhyLeft) -> bool:
        """Leave the clusters of these events to which a span belongs. Returns whether that is new."""
        clusters = [self._cluster_of[event, n] for event in events if self._is_undone(event, n)]
        for cluster in clusters:
            cluster.why = why
        return bool(clusters)

    def _leaves_more(self, moves: Sequence[Sequence[EventPlace]]) -> bool:
        """Ask all rules once. Returns whether one of them left a cluster."""
        is_new = self._leave_apart()
        fates = self._fates()
        is_new = self._leave_contested(fates) or is_new
        is_new = self._leave_divided(fates) or is_new
        if not is_new:
            is_new = self._leave_doubled(fates)
            is_new = self._leave_glued(fates) or is_new
        for clusters in moves:
            undone = [cluster for cluster in clusters if cluster.why is None]
            if undone and len(undone) < len(clusters):
                is_new = True
                for cluster in undone:
                    cluster.why = "moved"
        return is_new

    def _leave_apart(self) -> bool:
        """Leave the blanks of formatters that are not in or beside older text that goes."""
        if not self._formats:
            return False
        is_new, fates = False, self._fates()
        stops = list(accumulate(span.n_bytes for span in self._spans))
        for cluster in self.clusters:
            if cluster.event not in self._formats or cluster.why is not None:
                continue
            # What was written since would not be there to be formatted.
            if all(self._spans[n].writer > cluster.event for n in self._find_going_beside(cluster, fates, stops)):
                cluster.why, is_new = "apart", True
        return is_new

    def _find_going_beside(self, cluster: EventPlace, fates: Sequence[Fate], stops: Sequence[int]) -> list[int]:
        """Return the spans that go beside a blank and take it with them: the words before and after it, or one of them.

        A blank between two words of a line goes with both; one at the beginning or end of a line goes with that line's
        word, and the end of a line, or a blank line, with either.
        """
        before = self._data[max(cluster.start - _NEAR_BYTES, 0) : cluster.start]
        after = self._data[cluster.end : cluster.end + _NEAR_BYTES]
        n_before, n_after = len(before.rstrip()), len(after.lstrip())
        first = bisect_right(stops, cluster.start - len(before) + n_before - 1) if n_before else None
        last = bisect_right(stops, cluster.end + len(after) - n_after) if n_after else None
        newline = newline_of(self._fmt)
        is_line_end = newline in self._texts[cluster.spans[0]]
        is_at_start = not n_before or newline in before[n_before:]
        is_at_end = not n_after or newline in after[: len(after) - n_after]
        if is_at_start != is_at_end and not is_line_end:
            first, last = (None, last) if is_at_start else (first, None)
        beside = [n for n in (first, last) if n is not None]
        going = [n for n in beside if fates[n] == "goes"]
        return going if is_line_end or is_at_start or is_at_end or len(going) == len(beside) else []

    def _leave_contested(self, fates: Sequence[Fate]) -> bool:
        """Ask the rules `replaced`, `removed` and `typed` between any two spans that stay."""
        is_new, between, last = False, list[int](), -1
        for n, fate in enumerate((*fates, "stays")):
            if fate == "stays":
                if between:
                    beside = [m for m in (last, n) if 0 <= m < len(self._spans)]
                    is_new = self._leave_between(between, fates, beside) or is_new
                between, last = [], n
            elif fate != "away":
                between.append(n)
        return is_new

    def _leave_between(self, between: Sequence[int], fates: Sequence[Fate], beside: Sequence[int]) -> bool:
        spans, is_new = self._spans, False
        theirs = {spans[n].writer for n in beside} - self._formats
        ours = {spans[n].writer for n in between if fates[n] == "goes"}
        returning = [n for n in between if fates[n] == "returns"]
        replaced = {event for n in returning for event in spans[n].removers}
        for n in between:
            writer = spans[n].writer
            if fates[n] != "lost":
                continue
            if not theirs.isdisjoint(spans[n].removers):
                is_new = self._leave(n, (writer,), "replaced") or is_new
            elif writer in replaced and writer not in ours:
                for other in returning:
                    if writer in spans[other].removers:
                        is_new = self._leave(other, (writer,), "removed") or is_new
                is_new = self._leave(n, (writer,), "removed") or is_new
        if not ours:
            typists = {n: spans[n].writer for n in beside if spans[n].writer not in self._formats}
            typed = max((writer for n, writer in typists.items() if not self._has_replaced(n)), default=0)
            for n in returning:
                if typed > max(spans[n].removers):
                    is_new = self._leave(n, spans[n].events, "typed") or is_new
        return is_new

    def _has_replaced(self, n: int) -> bool:
        """Return whether what others wrote is in the place of other text, so it is not just beside ours."""
        spans, writer = self._spans, self._spans[n].writer
        for numbers in (range(n - 1, -1, -1), range(n + 1, len(spans))):
            for m in numbers:
                if not spans[m].removers:
                    break
                if writer in spans[m].removers:
                    return True
        return False

    def _leave_divided(self, fates: Sequence[Fate]) -> bool:
        newline, is_new, last = newline_of(self._fmt), False, -1
        theirs, text = 0, b""  # what others wrote since the last span of an insertion
        for n, span in enumerate(self._spans):
            if self._is_undone(span.writer, n):
                ours = self._spans[last]
                is_in_middle = last >= 0 and theirs > span.writer == ours.writer and ours.stop == span.start
                if is_in_middle and not (self._texts[last].endswith(newline) and text.endswith(newline)):
                    is_new = self._leave(n, (span.writer,), "divided") or is_new
                last, theirs, text = n, 0, b""
            elif fates[n] == "stays":
                theirs, text = max(theirs, span.writer), self._texts[n]
        return is_new

    def _leave_doubled(self, fates: Sequence[Fate]) -> bool:
        """Leave what would bring back a word that is elsewhere once, and that others have written there since."""
        if "returns" not in fates:
            return False
        oldest = min(self._chosen)
        n_written, newest = Counter[bytes](), dict[bytes, int]()
        for n, span in enumerate(self._spans):
            words = list(self._words(n))
            n_written.update(words)
            if fates[n] == "stays" and span.writer > oldest:
                newest.update((word, max(newest.get(word, 0), span.writer)) for word in words)
        moved = {word: writer for word, writer in newest.items() if n_written[word] == 2}
        is_new = False
        for n, span in enumerate(self._spans if moved else ()):
            if fates[n] == "returns" and any(moved.get(word, 0) > min(span.removers) for word in self._words(n)):
                is_new = self._leave(n, span.events, "doubled") or is_new
        return is_new

    def _leave_glued(self, fates: Sequence[Fate]) -> bool:
        is_new = False
        for one, other in self._joints(fates):
            if not self._are_words(one, other) or self._line_end_between(one, other, fates):
                continue
            for m in range(one, other + 1):
                if fates[m] in {"goes", "returns"}:
                    is_new = self._leave(m, self._spans[m].events, "glued") or is_new
        return is_new

    def _joints(self, fates: Sequence[Fate]) -> Iterator[tuple[int, int]]:
        """Yield the spans that the undo brings side by side, and that never were: before and behind the joint."""
        return (pair for pair in self._find_changed(fates) if pair[0] >= 0 and not self._were_together(*pair))

    def _find_changed(self, fates: Sequence[Fate]) -> Iterator[tuple[int, int]]:
        """Yield the spans between which the undo changes something, but for ends of lines that earlier undos lent.

        -1 is the beginning of the content, and the number after the last span its end.
        """
        last = -1
        for n, fate in enumerate((*fates, "stays")):
            if self._is_lent(n, fate) or fate not in {"stays", "returns"} or not (n == len(fates) or self._texts[n]):
                continue
            if "returns" in (fate, *fates[max(last, 0) : last + 1]) or "goes" in fates[last + 1 : n]:
                yield last, n
            last = n

    def _is_lent(self, n: int, fate: Fate) -> bool:
        """Return whether a span stays as one that an earlier undo lent; not if that undo is undone."""
        if fate != "stays" or n not in self._lent:
            return False
        return bool(self._spans[n].cancel(self._next_event, self._find_undone_events(n, self._spans[n])).loans)

    def _were_together(self, one: int, other: int) -> bool:
        """Return whether two spans were side by side just before others came between them; no if it is not certain."""
        if other == len(self._spans):
            return False
        a, b, between = self._spans[one], self._spans[other], self._spans[one + 1 : other]
        newer, until = max(a.writer, b.writer), min((*a.removers, *b.removers), default=0)
        until = until or min((span.writer for span in between if span.writer > newer), default=0)
        if a.writer == b.writer:
            n_bytes = sum(span.stop - span.start for span in between if span.writer == a.writer)
            if a.stop + n_bytes != b.start:  # one of them was moved, or what was between them
                return False
            if not n_bytes:
                return True
        were_there = a.was_there(until) and b.was_there(until)
        return newer < until and were_there and not any(span.was_there(until) for span in between)

    def _are_words(self, one: int, other: int) -> bool:
        text = self._texts[one]
        is_word = is_of_word(text, len(text) - self._fmt.unit_bytes, self._fmt)
        return is_word and other < len(self._spans) and is_of_word(self._texts[other], 0, self._fmt)

    def _line_end_between(self, one: int, other: int, fates: Sequence[Fate]) -> tuple[int, int, int] | None:
        """Return the end of a line that goes or is lent between two spans, and without which their lines would be one.

        It is a number of a span, and where the end of a line begins and ends in its text.
        """
        newline, end = newline_of(self._fmt), return_of(self._fmt) + newline_of(self._fmt)
        before, behind = self._texts[one], b"".join(self._texts[other : other + 1])
        if before.endswith(newline) or not before.strip() or behind.startswith((newline, end)):
            return None
        for n in range(other - 1, one, -1):
            stop = 0
            is_asked = fates[n] in {"goes", "lost"} or self._is_lent(n, fates[n])
            for line in split_lines(self._texts[n], self._fmt) if is_asked else ():
                stop += len(line)
                if line.endswith(newline):
                    return n, stop - len(end if line.endswith(end) else newline), stop
        return None

    def _line_ends(self, fates: Sequence[Fate]) -> tuple[dict[int, tuple[int, int]], set[int]]:
        """Return the ends of lines that are lent in spans that go, and the lent ones that nothing needs any more.

        The former by the span's number: where they begin and end.
        """
        ends, needless = dict[int, tuple[int, int]](), set[int]()
        if self._before is not None:
            return ends, needless
        joints = set(self._joints(fates))
        for one, other in self._find_changed(fates):
            needless |= {n for n in range(one + 1, other) if self._is_lent(n, fates[n])}
            end = self._line_end_between(one, other, fates) if (one, other) in joints else None
            if end is not None and end[0] in needless:
                needless.remove(end[0])
            elif end is not None:
                ends[end[0]] = end[1:]
        return ends, needless

    def _words(self, n: int) -> Iterator[bytes]:
        return (word for word in words_of(self._texts[n], self._fmt) if is_of_word(word, 0, self._fmt))

    def _moves(self) -> list[list[EventPlace]]:
        """Return the clusters that belong together, because one brings back just what the other takes away."""
        returning, going = dict[bytes, list[EventPlace]](), dict[bytes, list[EventPlace]]()
        for n, (span, fate) in enumerate(zip(self._spans, self._fates(), strict=True)):
            if fate in {"goes", "returns"}:
                clusters = [self._cluster_of[event, n] for event in sorted(span.events & self._chosen)]
                for text in self._movable(n):
                    (returning if fate == "returns" else going).setdefault(text, []).extend(clusters)
        return list(_unique_pairs(returning, going))

    def _movable(self, n: int) -> Iterator[bytes]:
        """Yield the words of a span, and its lines of several words."""
        yield from self._words(n)
        for line in split_lines(self._texts[n], self._fmt):
            bare = line.strip()
            if len(words_of(bare, self._fmt)) > 1:
                yield bare


def _unique_pairs(
    returning: Mapping[bytes, Sequence[EventPlace]], going: Mapping[bytes, Sequence[EventPlace]]
) -> Iterator[list[EventPlace]]:
    for text, clusters in returning.items():
        others = going.get(text, ())
        if len(clusters) == 1 == len(others) and clusters[0] is not others[0]:
            yield [clusters[0], others[0]]
