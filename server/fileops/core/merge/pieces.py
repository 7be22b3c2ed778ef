"""The content of a file in pieces, each with the change that wrote it, followed through all changes and undos. Pure.

An undo takes away what the undone changes wrote, and brings back what they removed. After it, each piece belongs to the
change that it would belong to if the undone changes had never been made. So text that was removed stays in the list of
pieces, at its place, as long as an undo may bring it back; and what an undo brings back is matched with it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise

from msgspec import Struct
from msgspec.structs import replace

from fileops.core import splices as splicing
from fileops.core.diff.contents import is_blank, splices_between, words_of
from fileops.core.merge.texts import StepTexts
from fileops.core.text import detect_format, line_end, line_start, newline_of, return_of
from fileops.model.edits import Splice
from fileops.model.files import TextFormat
from fileops.model.rewind import FileStep

OLDER = -1  # the owner of text that is older than all changes, or that no change is known to have written
MAX_MATCHED_BYTES = 1 << 20  # of removed text in which a partial undo is looked for, the newest


class Piece(Struct, frozen=True, gc=False):
    """n_bytes of the content, of the change with this number. Without bytes: a place where it deleted something.

    writer: the change that put it there: the owner, or one that brought the owner's text back. removers: the changes
    that removed it. removed: the text, if it is not in the content now; it takes no bytes there then.
    """

    n_bytes: int
    owner: int
    writer: int
    removers: tuple[int, ...] = ()
    removed: bytes | None = None


def pieces_of(
    steps: Sequence[FileStep], present: bytes, texts: StepTexts, undoes: Mapping[str, Collection[str]]
) -> list[Piece]:
    """Return the pieces of the present content; their owners are indexes of steps.

    steps: oldest first. undoes: for steps that are undos, the steps that they undid; none for an undo of parts.
    """
    content = (texts.before(steps[0]) or b"") if steps else present
    at = steps[0].before if steps else None
    traced = _Content(steps, content, undoes)
    for number, step in enumerate(steps):
        splices = texts.forward(step)
        if splices is None:  # its content is gone, so what it wrote belongs to nobody
            continue
        if step.before is None and at is not None:
            splices = _splices(traced.data, texts.after(step) or b"")
        elif step.before != at:  # an unrecorded change came before
            traced.change(_splices(traced.data, texts.before(step) or b""), OLDER)
        if step.step_id in undoes:
            traced.undo(splices, number)
        else:
            traced.change(splices, number)
        at = step.after
    traced.change(_splices(traced.data, present), OLDER)
    return [piece for piece in traced.pieces if piece.removed is None]


def between(pieces: Sequence[Piece], start: int, end: int, *, at: int = 0) -> list[Piece]:
    """Return the parts of the pieces in a range, and the marks of deletions in it and at its ends.

    Args: at: of the first.
    """
    found: list[Piece] = []
    for piece in pieces:
        stop = at + piece.n_bytes
        if piece.n_bytes == 0:
            if start <= at <= end:
                found.append(piece)
        elif at < end and stop > start:
            found.append(_part(piece, max(at, start) - at, min(stop, end) - at))
        at = stop
    return found


class _Content:
    """The content after each of the changes, in pieces, with those that were removed and may come back.

    A change is undone or in force, as in the record: what an undone undo had undone is in force again.
    """

    def __init__(self, steps: Sequence[FileStep], data: bytes, undoes: Mapping[str, Collection[str]]) -> None:
        self.data = data
        self.pieces = [Piece(len(data), OLDER, OLDER)]
        self._steps, self._undoes = steps, undoes
        self._numbers = {step.step_id: number for number, step in enumerate(steps)}
        self._undone, self._partial = set[int](), set[int]()
        self._deletion: int | None = None  # of the file, while there is none
        # What one of these wrote or removed may go or come back without a change of the text's own.
        self._revocable = {number for number, step in enumerate(steps) if step.after is None}
        for step_id in self._numbers.keys() & undoes.keys():
            undone = undoes[step_id]
            self._revocable |= self._numbers_of(undone) if undone else set(range(self._numbers[step_id]))

    def change(self, splices: Sequence[Splice], number: int) -> None:
        """Apply a change that is no undo. In a file that was made again, the text of the deleted one is not new."""
        fresh = self._apply(list(_with_line_ends(splices, self.data)), number)
        if self._deletion is not None and fresh:
            deleted = (self._deletion,)
            came_back = [n for n, piece in enumerate(self.pieces) if piece.removers[-1:] == deleted]
            self._match(fresh, came_back, number)
        self._note_deletion(number)

    def undo(self, splices: Sequence[Splice], number: int) -> None:
        """Apply an undo: its content is that without the undone changes, and what differs from it is the undo's own.

        Lines that the undo left alone are what they were. The text of the others is matched with the other pieces that
        are there without the undone changes. So it does not matter at which side of such a line the undo put a restored
        one, nor which of several equal blanks a comparison took for the one that was left.
        """
        undone = self._numbers_of(self._undoes[self._steps[number].step_id])
        self._set_undone(undone, number, is_undone=True)
        fresh = self._apply(_by_lines(splices, self.data), number, is_undo=True)
        removed = [n for n, piece in enumerate(self.pieces) if piece.removed is not None]
        restored = [n for n in removed if self._is_due(self.pieces[n], number)] if undone else self._newest(removed)
        for n in restored if undone else ():  # from now on their copies are there in their place
            piece = self.pieces[n]
            if number not in piece.removers:
                self.pieces[n] = replace(piece, removers=(*piece.removers, number))
        self._match(fresh, restored, number, is_undo=True)
        if not undone:  # changes are in force of which it redid a part
            self._undone -= {piece.owner for piece in self.pieces if piece.writer == number}
            self._partial.add(number)
        self._note_deletion(number)

    def _numbers_of(self, step_ids: Collection[str]) -> set[int]:
        return {self._numbers[step_id] for step_id in step_ids if step_id in self._numbers}

    def _set_undone(self, numbers: Collection[int], by: int, *, is_undone: bool) -> None:
        for number in numbers:
            if number >= by:
                continue
            (self._undone.add if is_undone else self._undone.discard)(number)
            its_own = self._numbers_of(self._undoes.get(self._steps[number].step_id, ()))
            self._set_undone(its_own, number, is_undone=not is_undone)

    def _note_deletion(self, number: int) -> None:
        self._deletion = number if number != OLDER and self._steps[number].after is None else None

    def _is_due(self, piece: Piece, number: int) -> bool:
        """Whether the piece is in the content that is as if the undone changes had never been.

        What this change removed counts as there; so does what a partial undo removed, as that may be undone, too.
        """
        if piece.owner in self._undone or piece.writer in self._undone:
            return False
        return self._undone.union(self._partial, (number,)).issuperset(piece.removers)

    def _newest(self, removed: Sequence[int]) -> list[int]:
        """Return the removed pieces of which a partial undo may have brought back text, the newest within the limit."""
        n_bytes, taken = 0, list[int]()
        for n in sorted(removed, key=lambda n: self.pieces[n].removers[-1], reverse=True):
            n_bytes += self.pieces[n].n_bytes
            if n_bytes > MAX_MATCHED_BYTES:
                break
            taken.append(n)
        return sorted(taken)

    def _apply(self, splices: Sequence[Splice], number: int, *, is_undo: bool = False) -> list[int]:
        """Apply splices, whose text then is of the change `number`. Returns where the pieces are that are new.

        Args: is_undo: what the undone changes had written and the undo left is new then, too.
        """
        pieces, fresh = list[Piece](), list[int]()
        for kept, removed, splice in _cut(self.pieces, splices):
            for piece, start in kept:
                if not is_undo or piece.removed is not None or self._is_due(piece, number):
                    pieces.append(piece)
                    continue
                pieces.append(self._removed(piece, start, number))
                if piece.n_bytes:
                    fresh.append(len(pieces))
                    pieces.append(Piece(piece.n_bytes, number, number))
            gone = (self._removed(piece, start, number) for piece, start in removed)
            pieces += (piece for piece in gone if is_undo or self._may_return(piece))
            if splice is not None and splice.new:
                fresh.append(len(pieces))
            if splice is not None and (splice.new or not is_undo):
                pieces.append(Piece(len(splice.new), number, number))
        self.pieces, self.data = pieces, splicing.apply(self.data, splices)
        return fresh

    def _removed(self, piece: Piece, start: int, number: int) -> Piece:
        if piece.removed is not None:
            return piece
        text = self.data[start : start + piece.n_bytes]
        return replace(piece, removers=(*piece.removers, number), removed=text)

    def _may_return(self, piece: Piece) -> bool:
        return not self._revocable.isdisjoint((piece.owner, piece.writer, *piece.removers))

    def _match(self, fresh: Sequence[int], removed: Sequence[int], number: int, *, is_undo: bool = False) -> None:
        """Make new pieces copies of removed ones, as far as they have the same text. Args: both: ascending.

        is_undo: what did not come back leaves no marks, and a word may have come back at another place.
        """
        starts = zip(fresh, self._starts(fresh), strict=True)
        new = b"".join(self.data[start : start + self.pieces[n].n_bytes] for n, start in starts)
        sources = [self.pieces[n] for n in removed]
        old = b"".join(piece.removed or b"" for piece in sources)
        fmt = TextFormat(encoding=detect_format(self.data).encoding)
        splices = splices_between(old, new, fmt)
        known = [Piece(piece.n_bytes, piece.owner, number) for piece in sources]
        matched = _by_words(known, old, splices, number, fmt) if is_undo else _replaced(known, splices, number)
        ends = [0, *accumulate(piece.n_bytes for piece in matched)]
        pieces, at, last = list[Piece](), 0, 0
        for n in fresh:
            stop = at + self.pieces[n].n_bytes
            first, end = max(bisect_left(ends, at) - 1, 0), bisect_right(ends, stop)
            pieces += self.pieces[last:n]
            pieces += between(matched[first:end], at, stop, at=ends[first])
            at, last = stop, n + 1
        self.pieces = pieces + self.pieces[last:]

    def _starts(self, places: Sequence[int]) -> Iterator[int]:
        """Yield where in the content pieces begin. Args: places: ascending."""
        at = n = 0
        for place in places:
            at += sum(piece.n_bytes for piece in self.pieces[n:place] if piece.removed is None)
            n = place
            yield at


def _splices(before: bytes, after: bytes) -> tuple[Splice, ...]:
    return splices_between(before, after, detect_format(before or after))


def _with_line_ends(splices: Sequence[Splice], data: bytes) -> Iterator[Splice]:
    """Yield the same change, with the end of each line whose text it replaces.

    A comparison may take the end of a line that is gone for that of the line in its place. It would then be the gone
    line's when an undo brings another line back there.
    """
    fmt = detect_format(data)
    for splice, later in pairwise((*splices, None)):
        assert splice is not None
        end = line_end(data, fmt, splice.end)
        newline = data[splice.end : end]
        is_free = later is None or later.start >= end
        is_line = splice.new and splice.end > splice.start == line_start(data, fmt, splice.start)
        if is_line and is_free and newline in {newline_of(fmt), return_of(fmt) + newline_of(fmt)}:
            yield Splice(splice.start, end, splice.new + newline)
        else:
            yield splice


def _by_lines(splices: Sequence[Splice], data: bytes) -> list[Splice]:
    """Return the same change as splices of whole lines."""
    fmt = detect_format(data)
    newline = newline_of(fmt)
    groups: list[tuple[int, int, list[Splice]]] = []
    for splice in splices:
        start, end = line_start(data, fmt, splice.start), splice.end
        has_end = splice.new.endswith(newline) if splice.new else start == splice.start
        if not has_end or line_start(data, fmt, end) != end:
            end = line_end(data, fmt, end)
        if groups and start < groups[-1][1]:
            start, _, group = groups.pop()
        else:
            group = []
        groups.append((start, end, [*group, splice]))
    result: list[Splice] = []
    for start, end, group in groups:
        moved = [Splice(splice.start - start, splice.end - start, splice.new) for splice in group]
        result.append(Splice(start, end, splicing.apply(data[start:end], moved)))
    return result


def _replaced(pieces: Sequence[Piece], splices: Sequence[Splice], owner: int) -> list[Piece]:
    """Return the pieces of the content after the splices, whose new text belongs to `owner`."""
    result: list[Piece] = []
    for kept, _, splice in _cut(pieces, splices):
        result += (piece for piece, _ in kept)
        if splice is not None:
            result.append(Piece(len(splice.new), owner, owner))
    return result


def _by_words(
    pieces: Sequence[Piece], old: bytes, splices: Sequence[Splice], number: int, fmt: TextFormat
) -> list[Piece]:
    """Return the pieces of what an undo brought back, in which no comparison has matched some words of the old text.

    Words that are of different pieces may be one word side by side, and an undo may bring them back in another order.
    So the words left on both sides are matched one by one. A blank belongs to the word before it. So does the end of
    its line, even if the comparison took that for the end of another line.
    """
    newline = newline_of(fmt)
    ends = (return_of(fmt) + newline, newline)
    owners: dict[bytes, list[int]] = {}
    for splice in splices:
        at = splice.start
        for piece in between(pieces, splice.start, splice.end):
            for word in words_of(old[at : at + piece.n_bytes], fmt):
                owners.setdefault(word, []).append(piece.owner)
            at += piece.n_bytes
    result: list[Piece] = []
    is_in_line = False  # after a word that was matched here
    for kept, _, splice in _cut(pieces, splices):
        for piece, start in kept:
            n_end = next((len(end) for end in ends if old.startswith(end, start)), 0) if is_in_line else 0
            if 0 < n_end <= piece.n_bytes:
                result.append(Piece(n_end, result[-1].owner, number))
                result += [_part(piece, n_end, piece.n_bytes)] if n_end < piece.n_bytes else ()
            else:
                result.append(piece)
            is_in_line = is_in_line and not piece.n_bytes
        for word in () if splice is None else words_of(splice.new, fmt):
            if result and is_blank(word, fmt):
                owner = result[-1].owner
            else:
                owner = owners[word].pop(0) if owners.get(word) else number
            result.append(Piece(len(word), owner, number))
            is_in_line = not word.endswith(newline)
    return result


_Placed = tuple[Piece, int]


def _cut(
    pieces: Sequence[Piece], splices: Sequence[Splice]
) -> Iterator[tuple[list[_Placed], list[_Placed], Splice | None]]:
    """Yield for each splice the pieces before it, and those that it replaces, with their starts; then the last ones.

    Pieces that take no bytes are kept at the start of a splice, and replaced at its end.
    """
    left = list(reversed(pieces))
    at = 0

    def take(stop: int) -> Iterator[_Placed]:
        nonlocal at
        while left:
            piece = left[-1]
            n_bytes = 0 if piece.removed is not None else piece.n_bytes
            if n_bytes and at >= stop:
                break
            left.pop()
            if at + n_bytes > stop:
                left.append(_part(piece, stop - at, n_bytes))
                piece, n_bytes = _part(piece, 0, stop - at), stop - at
            yield piece, at
            at += n_bytes

    for splice in splices:
        yield list(take(splice.start)), list(take(splice.end)), splice
    yield [*take(sum(piece.n_bytes for piece in pieces) + 1)], [], None


def _part(piece: Piece, start: int, stop: int) -> Piece:
    return Piece(stop - start, piece.owner, piece.writer, piece.removers)
