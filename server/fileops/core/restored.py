"""Detects old text that a user has restored by hand, beside other changes, before an undo would restore it.

Which words are new depends on the alignment of the two contents, and there is often more than one. So text that both
sides insert at one place counts as restored, and is never inserted there twice.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate

from msgspec import Struct

from fileops.core.diff.contents import MAX_REFINED_BYTES, is_blank, is_of_word, words_of
from fileops.core.text import line_start, newline_of
from fileops.model.edits import ByteSpan, Splice
from fileops.model.files import TextFormat


class Typed(Struct, frozen=True):
    """A place in the current content with text that the user typed. `is_insertion`: it replaced nothing."""

    start: int
    end: int
    is_insertion: bool


class Restored:
    """The parts of `target` that are in `present` although `base` had changed them.

    compare: returns the splices from target to present. That takes long, and few changes need it.
    """

    def __init__(
        self,
        wanted: Sequence[Splice],
        typed: Sequence[Typed],
        compare: Callable[[], Sequence[Splice]],
        present: bytes,
        fmt: TextFormat,
    ) -> None:
        self._typed = typed
        self._present = present
        self._fmt = fmt
        self._typed_ends = [place.end for place in typed]
        self._compare = compare
        shifts = accumulate((len(splice.new) - splice.end + splice.start for splice in wanted), initial=0)
        self._places = {
            splice: ByteSpan(splice.start + shift, splice.start + shift + len(splice.new))
            for splice, shift in zip(wanted, shifts, strict=False)
        }

    @cached_property
    def _differences(self) -> Sequence[Splice]:
        return self._compare()

    @cached_property
    def _ends(self) -> list[int]:
        return [change.end for change in self._differences]

    @cached_property
    def _growth(self) -> list[int]:
        growth = (len(change.new) - change.end + change.start for change in self._differences)
        return list(accumulate(growth, initial=0))

    def has_some_of(self, splice: Splice, place: ByteSpan, *, spans_lines: bool) -> bool:
        """Return whether the user has typed part of the splice's text next to its place.

        Signs count only directly beside the place, words even beyond signs. A text of whitespace must be there
        completely. place: that of the splice, in present. spans_lines: if False, whole typed lines count only if they
        share more than one word with it.
        """
        if not splice.new:
            return False
        beside = any(
            self._shares(splice, typed, spans_lines=spans_lines) for typed in self._near(place, self._is_blank)
        )
        return beside or any(
            self._shares_words(splice, typed)
            for typed in self._near(place, self._is_no_word)
            if spans_lines or not (typed.is_insertion and self._is_lines(typed))
        )

    def _near(self, place: ByteSpan, is_between: Callable[[bytes], bool]) -> Sequence[Typed]:
        """Return what the user typed at the place, and what only such characters separate from it."""
        near = self._beyond(place, is_between)
        first = last = bisect_left(self._typed_ends, near.start)
        while True:
            if last < len(self._typed) and self._typed[last].start <= near.end:
                typed, last = self._typed[last], last + 1
            elif first > 0 and self._typed[first - 1].end >= near.start:
                typed, first = self._typed[first - 1], first - 1
            else:
                return self._typed[first:last]
            near = self._beyond(ByteSpan(min(near.start, typed.start), max(near.end, typed.end)), is_between)

    def _shares(self, splice: Splice, typed: Typed, *, spans_lines: bool) -> bool:
        text = self._present[typed.start : typed.end]
        if self._is_blank(splice.new):
            return splice.new in text and self.has_all_of(splice)
        if max(len(splice.new), len(text)) > MAX_REFINED_BYTES:  # long texts share words by chance
            kept = (self._present[max(p.start, typed.start) : min(p.end, typed.end)] for p in self._find_shared(splice))
            return not all(map(self._is_blank, kept))
        shared = {*words_of(splice.new, self._fmt)}.intersection(words_of(text, self._fmt))
        n_shared = sum(not self._is_blank(word) for word in shared)
        is_aside = splice.start < splice.end and not spans_lines and typed.is_insertion and self._is_lines(typed)
        return n_shared > is_aside

    def _shares_words(self, splice: Splice, typed: Typed) -> bool:
        text = self._present[typed.start : typed.end]
        if max(len(splice.new), len(text)) > MAX_REFINED_BYTES:
            return False
        shared = {*words_of(splice.new, self._fmt)}.intersection(words_of(text, self._fmt))
        return not all(map(self._is_no_word, shared))

    def has_all_of(self, splice: Splice) -> bool:
        """Return whether the whole text is present, with no change directly beside it."""
        place = self._places[splice]
        n = bisect_left(self._ends, place.start)
        touches = n < len(self._differences) and self._differences[n].start <= place.end
        return splice.start == splice.end and not touches

    def _find_shared(self, splice: Splice) -> Iterator[ByteSpan]:
        """Yield the places in present of the parts that target and present share."""
        place = self._places[splice]
        at, n = place.start, bisect_right(self._ends, place.start)
        while at < place.end:
            change = self._differences[n] if n < len(self._differences) else None
            stop = place.end if change is None else min(max(change.start, at), place.end)
            if at < stop:
                yield ByteSpan(at + self._growth[n], stop + self._growth[n])
            if change is None:
                return
            at, n = max(at, change.end), n + 1

    def _is_lines(self, place: Typed) -> bool:
        begins = line_start(self._present, self._fmt, place.start) == place.start or place.start <= len(self._fmt.bom)
        return begins and self._present[place.start : place.end].endswith(newline_of(self._fmt))

    def _beyond(self, place: ByteSpan, is_between: Callable[[bytes], bool]) -> ByteSpan:
        unit, start, end = self._fmt.unit_bytes, place.start, place.end
        while start - unit >= len(self._fmt.bom) and is_between(self._present[start - unit : start]):
            start -= unit
        while end < len(self._present) and is_between(self._present[end : end + unit]):
            end += unit
        return ByteSpan(start, end)

    def _is_blank(self, data: bytes) -> bool:
        return is_blank(data, self._fmt)

    def _is_no_word(self, data: bytes) -> bool:
        """Return whether one character, or an item of `words_of`, is not a word."""
        return not is_of_word(data, 0, self._fmt)
