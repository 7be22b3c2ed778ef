"""The known contents with which a new one is compared, as sets of lines. Pure."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from fileops.core.diff.contents import common_lines
from fileops.core.story.packed import PackedCandidates
from fileops.core.story.spans import Span
from fileops.core.text import detect_format, newline_of, split_lines
from fileops.model.files import TextFormat


class Candidates:
    """The newest known contents as sets of lines. One after the other, they differ in few lines as a rule."""

    def __init__(self) -> None:
        self.newest = frozenset[int]()
        self.n_lines = 0  # of all of them together
        self._changes: dict[bytes, tuple[int, frozenset[int]]] = {}  # lines, and its difference from the one after it

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._changes)

    def __len__(self) -> int:
        return len(self._changes)

    @property
    def n_lines_of_each(self) -> list[int]:
        return [n_lines for n_lines, _ in self._changes.values()]

    def add(self, digest: bytes, lines: frozenset[int]) -> None:
        """Add a content as the newest one."""
        if next(reversed(self._changes), None) == digest:
            return
        self._remove(digest)
        newest = next(reversed(self._changes), None)
        if newest is not None:
            self._changes[newest] = len(self.newest), frozenset(self.compare(lines))
        self.newest = lines
        self.n_lines += len(lines)
        self._changes[digest] = len(lines), frozenset()

    def remove_oldest(self) -> None:
        self._remove(next(iter(self._changes)))

    def _remove(self, digest: bytes) -> None:
        """Remove a content that is not the newest one, if it is there."""
        if digest not in self._changes:
            return
        before = next((one for one, other in pairwise(self._changes) if other == digest), None)
        n_lines, change = self._changes.pop(digest)
        self.n_lines -= n_lines
        if before is not None:
            n_before, change_before = self._changes[before]
            self._changes[before] = n_before, change_before ^ change

    def count_of(self, lines: Collection[int]) -> list[int]:
        """Return how many of these lines each content has, the newest last."""
        return self._sizes(self.newest.intersection(lines), lines)

    def compare(self, lines: frozenset[int]) -> set[int]:
        """Return the lines that only the newest content has or only these are."""
        return {*(self.newest - lines), *(lines - self.newest)}  # `^` would leave a set as large as of all lines

    def count_different(self, changed: Collection[int]) -> list[int]:
        """Return in how many lines each content differs from one that differs in these from the newest."""
        return self._sizes(changed)

    def _sizes(self, of_newest: Collection[int], among: Collection[int] | None = None) -> list[int]:
        """Return the size of a set for each content, the newest last. A line that it has more or less changes it.

        Args: among: only these lines do.
        """
        found, sizes = set(of_newest), list[int]()
        for _, change in reversed(self._changes.values()):
            found ^= change if among is None else change.intersection(among)
            sizes.append(len(found))
        return sizes[::-1]

    def list_changes(self) -> list[frozenset[int]]:
        """Return the lines of the oldest one, and in which of them each other one differs from the one before it."""
        changes, oldest = [change for _, change in self._changes.values()], self.newest
        for change in changes:
            oldest = oldest ^ change
        return [oldest, *changes[:-1]] if changes else []

    def restore(self, digests: Sequence[bytes], changes: Sequence[frozenset[int]]) -> None:
        """Take contents as list_changes returns them."""
        lines = set[int]()
        for n, (digest, change) in enumerate(zip(digests, changes, strict=True), 1):
            lines ^= change
            self.n_lines += len(lines)
            self._changes[digest] = len(lines), frozenset[int]().union(*changes[n : n + 1])
        self.newest = frozenset(lines)


class CountedLines:
    """The lines of contents as sets of numbers, which are compared fast: equal lines are numbered by occurrence."""

    def __init__(self) -> None:
        self.blank = set[int]()
        self._numbers: dict[tuple[bytes, int], int] = {}
        self._text, self._counts = b"", Counter[bytes]()  # asked for last
        self._fmt: TextFormat = TextFormat(encoding="utf-8")
        self._found = frozenset[int]()

    def pack(self, candidates: Candidates) -> PackedCandidates:
        """Return the lines of these contents. Others are not kept: in no content is their number known."""
        changes, last, every = list[tuple[list[int], list[int]]](), set[int](), set[int]()
        for different in candidates.list_changes():
            changes.append(([n for n in different if n in last], [n for n in different if n not in last]))
            last ^= different
            every |= different
        lines = {number: line for line, number in self._numbers.items() if number in every}
        place = {number: n for n, number in enumerate(lines)}
        packed = [(tuple([place[n] for n in gone]), tuple([place[n] for n in come])) for gone, come in changes]
        return PackedCandidates(tuple(lines.values()), tuple(candidates), tuple(packed))

    @classmethod
    def unpack(cls, packed: PackedCandidates) -> tuple["CountedLines", Candidates]:
        lines, candidates = cls(), Candidates()
        for line, occurrence in packed.lines:
            lines._number(line, occurrence)
        candidates.restore(packed.digests, [frozenset((*gone, *come)) for gone, come in packed.changes])
        return lines, candidates

    def of(self, data: bytes) -> frozenset[int]:
        """Return the lines of a content. Only those are counted in which it differs from the last one."""
        fmt, last = detect_format(data), self._text
        text, bare = data[len(fmt.bom) :], TextFormat(encoding=fmt.encoding)
        if text == last and bare == self._fmt:
            return self._found
        head, tail = common_lines(last, text, bare) if bare == self._fmt else (0, 0)
        old = Counter(split_lines(last[head : len(last) - tail], self._fmt))
        new = Counter(split_lines(text[head : len(text) - tail], bare))
        counts, gone, come = self._counts, set[int](), set[int]()
        for line, n in (old - new).items():
            gone.update(self._number(line, counts[line] - k) for k in range(1, n + 1))
            counts[line] -= n
        for line, n in (new - old).items():
            come.update(self._number(line, counts[line] + k) for k in range(n))
            counts[line] += n
        self._text, self._fmt, self._found = text, bare, (self._found - gone) | come
        return self._found

    def last_of(self, data: bytes, written: Sequence[Span]) -> set[int]:
        """Return as many of the lines of a content as are written, at least in part; of equal ones, the last ones."""
        self.of(data)
        newline, found, at = newline_of(self._fmt), Counter[bytes](), 0
        for span in written if len(newline) == 1 else ():  # else a newline may be in the middle of a character
            start, stop = data.rfind(newline, at, span.start) + 1 or at, data.find(newline, span.stop - 1) + 1
            stop = stop or len(data)
            if at < stop:
                found.update(split_lines(data[max(start, at) : stop], self._fmt))
                at = stop
        counts = self._counts
        return {self._number(line, counts[line] - k) for line, n in found.items() for k in range(1, n + 1)}

    def _number(self, line: bytes, occurrence: int) -> int:
        number = self._numbers.setdefault((line, occurrence), len(self._numbers))
        if not line.strip():
            self.blank.add(number)
        return number
