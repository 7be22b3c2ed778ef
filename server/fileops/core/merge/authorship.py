"""Finds which change wrote each line of a file, and which places some of the changes still account for. Pure.

Both are read off the story of the file (core/story).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from fileops.core.diff.contents import is_blank
from fileops.core.diff.lines import Range, find_changed_ranges
from fileops.core.merge.texts import ContentOf, StepTexts
from fileops.core.story.memory import FileMemory
from fileops.core.story.spans import Span
from fileops.core.story.story import Story, story_of
from fileops.core.story.views import events_by_line, spans_between, writers_of_lines
from fileops.core.text import detect_format, split_lines
from fileops.model.files import TextFormat
from fileops.model.rewind import FileStep


class OwnedLines(Struct, frozen=True, gc=False):
    """Lines of the current content whose newest change is `entry_id`; None if none of the changes wrote there."""

    first_line: int
    n_lines: int
    entry_id: str | None


class ChangedPlace(Struct, frozen=True, gc=False):
    """A run of lines of the present content that some changes made of the lines `removed`.

    Bytes start to end of the present content are its lines first_line to first_line + n_lines - 1; without lines, the
    place is before `first_line`. entry_ids: the changes, oldest first.
    """

    first_line: int
    n_lines: int
    start: int
    end: int
    removed: bytes
    entry_ids: tuple[str, ...]

    @property
    def lines(self) -> range:
        """Its lines in the present content, 0-based."""
        return range(self.first_line - 1, self.first_line - 1 + self.n_lines)


def owners_of_lines(
    steps: Sequence[FileStep],
    present: bytes,
    content_of: ContentOf,
    undoes: Mapping[str, Collection[str]] | None = None,
    tool_edits: Collection[str] = (),
    carried: Collection[str] = (),
    parents: Mapping[str, Collection[bytes]] | None = None,
    memory: FileMemory | None = None,
) -> list[OwnedLines]:
    """Return who last changed each line, top to bottom. A line belongs to the newest change of a word in it.

    steps: oldest first. content_of: see rewind_file. undoes, tool_edits, parents, memory: see story_of. carried: steps
    that own nothing. Text that was there before belongs to its earlier owner, if an undo, git or a person brings it
    back.
    """
    texts = StepTexts(content_of)
    story = story_of(steps, present, texts, undoes or {}, tool_edits=tool_edits, parents=parents, memory=memory)
    result: list[OwnedLines] = []
    carriers = story.undos | story.events_of(carried)
    writers = writers_of_lines(story.vector, present, story.texts, carriers, story.formats, story.origins)
    for number, event in enumerate(writers, 1):
        entry_id = None if story.entry_ids[event] in carried else story.entry_ids[event]
        if result and result[-1].entry_id == entry_id:
            result[-1] = OwnedLines(result[-1].first_line, result[-1].n_lines + 1, entry_id)
        else:
            result.append(OwnedLines(number, 1, entry_id))
    return result


def own_places(
    steps: Sequence[FileStep],
    chosen: Collection[str],
    present: bytes | None,
    rewound: bytes | None,
    content_of: ContentOf,
    undoes: Mapping[str, Collection[str]] | None = None,
    tool_edits: Collection[str] = (),
    memory: FileMemory | None = None,
) -> list[ChangedPlace]:
    """Return what the chosen steps still make of the present content, as the smallest runs of lines, top to bottom.

    rewound: the content after a rewind of them. What others wrote over or beside their text is in both contents, so it
    is not such a place. content_of: see rewind_file. undoes, tool_edits, memory: see owners_of_lines.
    """
    if rewound == present:
        return []
    if present is None:  # the file was deleted
        ids = tuple(step.step_id for step in steps if step.step_id in chosen)
        return [ChangedPlace(1, 0, 0, 0, rewound or b"", ids)]
    found = list(_find_changed_lines(rewound or b"", present, is_created=rewound is None))
    moved = _find_moved_lines(found, rewound or b"", present)
    mine = [step.step_id for step in steps if step.step_id in chosen]
    if len(mine) == 1 and not moved:  # it made all places
        return [replace(place, entry_ids=tuple(mine)) for place in found]
    texts = StepTexts(content_of)
    story = story_of(
        steps, present, texts, undoes or {}, tool_edits=tool_edits, own=chosen, has_donors=False, memory=memory
    )
    events = story.events_of(chosen)
    if moved:
        of_others = [writers.isdisjoint(events) for writers in events_by_line(story.vector, present)]
        fixed = [line for line in moved if of_others[line]]
        other = list(_find_changed_lines(rewound or b"", present, is_created=False, fixed=fixed))
        found = min(found, other, key=lambda places: sum(of_others[line] for place in places for line in place.lines))
    near = spans_between(story.vector, [(place.start, place.end) for place in found])
    return [
        replace(place, entry_ids=_ids(story, _find_made(spans, events) or events))
        for place, spans in zip(found, near, strict=True)
    ]


def _find_made(spans: Sequence[Span], chosen: Collection[int]) -> set[int]:
    """Return the chosen events that wrote what is there of the spans, or removed what is not there of others' text."""
    made = set[int]()
    for span in spans:
        made.update(span.removers if span.removers and span.writer not in chosen else ())
        made.update(() if span.removers else span.bringers)
    return made.intersection(chosen)


def _ids(story: Story, events: Collection[int]) -> tuple[str, ...]:
    ids = (story.entry_ids[event] for event in sorted(events))
    return tuple(entry_id for entry_id in ids if entry_id is not None)


def find_formatted(
    steps: Sequence[FileStep],
    present: bytes,
    places: Sequence[ChangedPlace],
    content_of: ContentOf,
    undoes: Mapping[str, Collection[str]] | None = None,
    tool_edits: Collection[str] = (),
) -> list[bool]:
    """Return for each place of own_places, which has the arguments, whether a formatter has changed blanks in it."""
    story = story_of(steps, present, StepTexts(content_of), undoes or {}, tool_edits=tool_edits, has_donors=False)
    near = spans_between(story.vector, [(place.start, place.end) for place in places])
    return [any(not story.formats.isdisjoint(span.events) for span in spans) for spans in near]


def find_shared_places(
    steps: Sequence[FileStep],
    chosen: Collection[str],
    present: bytes | None,
    rewound: bytes | None,
    content_of: ContentOf,
    undoes: Mapping[str, Collection[str]] | None = None,
    tool_edits: Collection[str] = (),
    memory: FileMemory | None = None,
) -> list[ChangedPlace]:
    """Return where text of the chosen steps remains after a rewind of them, because others wrote in it.

    The places are runs of lines of the present content, top to bottom; none shares a line with those of own_places,
    which has the arguments. `removed` is what was there before the first step.
    """
    texts = StepTexts(content_of)
    before = texts.before(steps[0]) if steps else None
    if not steps or present is None or rewound is None or (before is None and steps[0].before is not None):
        return []
    # What was undone is not there in this story, so text of the chosen steps is what the rewind had to leave.
    story = story_of(
        steps, rewound, texts, undoes or {}, tool_edits=tool_edits, own=chosen, has_donors=False, memory=memory
    )
    mine = story.events_of(chosen)
    owners = [writers & mine for writers in events_by_line(story.vector, rewound)]
    fmt = detect_format(present)
    new = _lines(present, fmt)
    line_after = _map_unchanged_lines(_lines(rewound, detect_format(rewound)), new)
    starts = list(accumulate(map(len, new), initial=len(fmt.bom)))
    found: list[ChangedPlace] = []
    for place in _find_changed_lines(before or b"", rewound, is_created=before is None):
        runs = _runs(place.lines, owners, line_after)
        for number, lines in enumerate(runs):
            first, stop = line_after[lines[0]], line_after[lines[-1]] + 1
            ids = _ids(story, set[int]().union(*(owners[line] for line in lines)))
            replaced = place.removed if number == 0 else b""  # by all of them together
            found.append(ChangedPlace(first + 1, stop - first, starts[first], starts[stop], replaced, ids))
    return found


def find_named_places(
    present: bytes, owned: Sequence[OwnedLines], chosen: Collection[str], places: Sequence[ChangedPlace]
) -> list[ChangedPlace]:
    """Return the lines, outside of these places, that belong to one of the chosen changes, as runs of lines.

    owned: see owners_of_lines.
    """
    fmt = detect_format(present)
    starts = list(accumulate(map(len, _lines(present, fmt)), initial=len(fmt.bom)))
    placed = {line for place in places for line in place.lines}
    found: list[ChangedPlace] = []
    for lines in owned:
        if lines.entry_id is None or lines.entry_id not in chosen:
            continue
        for line in range(lines.first_line - 1, lines.first_line - 1 + lines.n_lines):
            if line in placed:
                continue
            last = found[-1] if found else None
            if last is not None and last.lines.stop == line and last.entry_ids == (lines.entry_id,):
                found[-1] = replace(last, n_lines=last.n_lines + 1, end=starts[line + 1])
            else:
                found.append(ChangedPlace(line + 1, 1, starts[line], starts[line + 1], b"", (lines.entry_id,)))
    return found


def _runs(lines: range, owners: Sequence[Collection[int]], line_after: Mapping[int, int]) -> Iterator[range]:
    """Yield the lines from one with an owner to the last one with an owner, as far as they stay side by side."""
    first = last = -1
    for line in lines:
        if first >= 0 and line_after.get(line) != line_after[first] + line - first:
            yield range(first, last + 1)
            first = -1
        if owners[line] and line in line_after:
            first, last = (line if first < 0 else first), line
    if first >= 0:
        yield range(first, last + 1)


def _map_unchanged_lines(old: Sequence[bytes], new: Sequence[bytes]) -> dict[int, int]:
    """Return where each unchanged line of the old content is in the new one, 0-based."""
    unchanged: dict[int, int] = {}
    line = shift = 0
    for i, i_stop, _, j_stop in find_changed_ranges(old, new):
        unchanged.update((n, n + shift) for n in range(line, i))
        line, shift = i_stop, j_stop - i_stop
    unchanged.update((n, n + shift) for n in range(line, len(old)))
    return unchanged


def without_returns(steps: Sequence[FileStep], chosen: Collection[str], decided: Collection[str]) -> list[FileStep]:
    """Return the steps without those that changed nothing in the end.

    Checking out another branch and then the first one again changes nothing: what an agent had written is there again.
    So steps by others that lead back to a content that an earlier step had left are left out. There is no chosen step
    between the two contents, so each chosen step keeps its own contents.

    decided: agents' steps that a person has decided on. They never count as leading back, because an agent wrote that
    text anew. If such a step found the content before a chosen one, others had removed the chosen one's text by then.
    So the chosen step is left out with everything that came after it: the text is now that of the decided step.
    """
    kept: list[FileStep] = []
    for step in steps:
        if step.step_id in decided:
            first = next((n for n, earlier in enumerate(kept) if earlier.before == step.before), len(kept))
            del kept[first:]
            kept.append(step)
            continue
        kept.append(step)
        for n in range(len(kept) - 1, 0, -1):
            if kept[n].step_id in chosen:
                break
            if kept[n - 1].after == step.after:
                del kept[n:]
                break
    return kept


def without_places(present: bytes, places: Sequence[ChangedPlace]) -> bytes:
    """Return the current content with the lines before the changes at these places."""
    content, at = list[bytes](), 0
    for place in sorted(places, key=lambda place: place.start):
        content += (present[at : place.start], place.removed)
        at = place.end
    return b"".join((*content, present[at:]))


def find_changed_places(before: bytes, present: bytes) -> list[ChangedPlace]:
    """Return the runs of lines in which two contents differ, without the changes that made them, top to bottom."""
    return list(_find_changed_lines(before, present, is_created=False))


def find_places_in(content: bytes, places: Sequence[ChangedPlace], present: bytes) -> list[ChangedPlace]:
    """Return the places whose change another content has too: without it, the present one differs by the whole change.

    Lines are counted, because a diff alone may name an equal line beside the one that was added. That compares the
    contents anew for each place. It is not needed for a place at which they differ by just its change: without that,
    they differ less. Most places are of this kind, as nothing of a file is committed until all of it is.
    """
    if content == present:
        return list(places)
    fmt = detect_format(present)
    old, new = _lines(content, detect_format(content)), _lines(present, fmt)
    ranges = find_changed_ranges(old, new)
    n_different = _n_lines_of(ranges)
    lines_there = {(j, j_stop): old[i:i_stop] for i, i_stop, j, j_stop in ranges}
    shared: list[ChangedPlace] = []
    for place in places:
        removed = _lines(place.removed, TextFormat(encoding=fmt.encoding))
        if lines_there.get((place.lines.start, place.lines.stop)) == removed:
            continue
        without = without_places(present, [place])
        n_without = _n_lines_of(find_changed_ranges(old, _lines(without, detect_format(without))))
        if n_without == n_different + place.n_lines + len(removed):
            shared.append(place)
    return shared


def _n_lines_of(ranges: Iterable[Range]) -> int:
    return sum(i_stop - i + j_stop - j for i, i_stop, j, j_stop in ranges)


def _find_moved_lines(places: Sequence[ChangedPlace], before: bytes, present: bytes) -> list[int]:
    """Return the lines of the present content, 0-based, that a comparison finds at another place before.

    A rewind puts text that others wrote between its lines beside what it restores, and a comparison cannot know which
    of the two has moved. Blank lines do not count, nor those of which there are several.
    """
    fmt = detect_format(present)
    removed = {line for place in places for line in _lines(place.removed, TextFormat(encoding=fmt.encoding))}
    if not removed:
        return []
    lines, n_before = _lines(present, fmt), Counter(_lines(before, detect_format(before)))
    added = (n for place in places for n in place.lines)
    return [n for n in added if lines[n] in removed and n_before[lines[n]] == 1 and not is_blank(lines[n], fmt)]


def _find_changed_lines(
    before: bytes, present: bytes, *, is_created: bool, fixed: Sequence[int] = ()
) -> Iterator[ChangedPlace]:
    """Yield the runs of lines in which the two contents differ, without the changes that made them.

    fixed: lines of the present content, 0-based, that are unchanged, as far as their order is.
    """
    fmt, fmt_before = detect_format(present), detect_format(before)
    old, new = _lines(before, fmt_before), _lines(present, fmt)
    if is_created:
        yield ChangedPlace(1, len(new), 0, len(present), b"", ())
        return
    starts = list(accumulate(map(len, new), initial=len(fmt.bom)))
    i_at = j_at = 0
    unchanged = [(i, fixed[n]) for i, n in _map_unchanged_lines(old, [new[line] for line in fixed]).items()]
    for i_fixed, j_fixed in (*unchanged, (len(old), len(new))):
        for i, i_stop, j, j_stop in find_changed_ranges(old[i_at:i_fixed], new[j_at:j_fixed]):
            first, stop, gone = j_at + j, j_at + j_stop, old[i_at + i : i_at + i_stop]
            yield ChangedPlace(first + 1, stop - first, starts[first], starts[stop], b"".join(gone), ())
        i_at, j_at = i_fixed + 1, j_fixed + 1


def _lines(data: bytes, fmt: TextFormat) -> list[bytes]:
    """Return the lines, without the empty one after a final newline. The BOM belongs to none of them."""
    return split_lines(data[len(fmt.bom) :], TextFormat(encoding=fmt.encoding))
