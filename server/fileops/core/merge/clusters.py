"""Groups the splices of two sides that meet, for a three-way merge. Pure."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from fileops.model.edits import Splice


class Cluster(Struct, frozen=True):
    """Our splices and the changes theirs[first:stop] that they meet. All changes before `first` are above them."""

    ours: tuple[Splice, ...]
    first: int
    stop: int


def clusters(ours: Sequence[Splice], theirs: Sequence[Splice]) -> Iterator[Cluster]:
    """Yield each of our splices, from the top down, with the others that it meets directly or through them."""
    i = j = 0
    while i < len(ours):
        group, first = [ours[i]], j
        while first < len(theirs) and theirs[first].end <= ours[i].start and not _meet(ours[i], theirs[first]):
            first += 1
        i, j = i + 1, first
        while True:
            if j < len(theirs) and _meet(group[-1], theirs[j]):
                j += 1
            elif i < len(ours) and j > first and _meet(ours[i], theirs[j - 1]):
                group.append(ours[i])
                i += 1
            else:
                break
        yield Cluster(tuple(group), first, j)


def _meet(ours: Splice, theirs: Splice) -> bool:
    """Return whether the splices overlap or both insert at one place. Adjacent splices do not meet."""
    if ours.start == ours.end == theirs.start == theirs.end:
        return True
    return ours.start < theirs.end and theirs.start < ours.end
