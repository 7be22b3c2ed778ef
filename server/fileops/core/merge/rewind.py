"""Rewinds one author's part of one file that others changed in between. Pure.

The changes are undone together (undo.py), which keeps every word of the changes between and after them. If that leads
to a conflict, what can be undone is read off the story of the file (core/story). What is left is listed. Nothing is
guessed.

If the file was created or deleted since, or its story is not exact, the places of the changes are tried in ever smaller
groups, newest first.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, groupby, pairwise

from msgspec import Struct
from msgspec.structs import replace

from fileops.core.diff.contents import is_of_word, splices_between, splices_of_blanks, words_of
from fileops.core.merge.rewind_cells import StepContents, is_notebook, rewind_cells
from fileops.core.merge.texts import ContentOf, StepTexts
from fileops.core.merge.undo import MAX_COMPARED_BYTES, Undone, compare_ahead, line_ranges, undo_edits
from fileops.core.story.memory import FileMemory
from fileops.core.story.story import Forgotten, story_of
from fileops.core.story.story import tell_ahead as tell_story_ahead
from fileops.core.text import count_newlines, detect_format, is_binary, line_end, line_start, split_lines
from fileops.model.digest import content_digest
from fileops.model.edits import ByteSpan, LineRange, Splice
from fileops.model.errors import UndoConflict
from fileops.model.files import TextFormat
from fileops.model.rewind import FileStep

# The work for one file is limited; places that were not tried are left, like those in conflict. In a file of forty
# short lines that three authors rewrite 60 times, up to 30 places are in conflict. A try takes 1 to 10 ms there.
MAX_TRIES = 128
MAX_TRIED_BYTES = 32 << 20  # of contents that all tries compare together; about 2 s
MIN_TRIES = 8
MAX_PLACES = 12  # of one change that are tried on their own; if it has more, neighbours are tried together
MAX_TOLD_BYTES = 256 << 20  # of all contents of a file together, whose story is told for a rewind; about 2 s
MAX_TOLD_STEPS = 4096  # of its history, from the oldest change on; about 2 s
MAX_STEPS = 512  # of a history that are compared one by one, with those of others
MAX_STEPS_FOR_RUN = 64  # of longer histories: to merge a run of changes on its own takes as long as so many comparisons


class PlaceLeft(Struct, frozen=True):
    """A place of a change that is left alone. ranges: in the current content, of what overlaps it.

    is_recreated: the change deleted the file, and another file is there now.
    """

    entry_id: str
    ranges: tuple[LineRange, ...]
    is_recreated: bool = False


class Rewound(Struct, frozen=True, kw_only=True):
    """The result of a rewind. content: None if no file remains.

    splices: over the present content, if all is undone by the steps' own splices; None if contents were compared.
    conflict: why not all is undone. undone: the changes that are completely undone, newest first. left: places of
    the others, newest first. partly: changes with other places that are undone.
    """

    content: bytes | None
    undone: tuple[str, ...]
    left: tuple[PlaceLeft, ...] = ()
    partly: frozenset[str] = frozenset()
    splices: tuple[Splice, ...] | None = None
    conflict: UndoConflict | None = None


def rewind_file(
    steps: Sequence[FileStep],
    chosen: Collection[str],
    present: bytes | None,
    content_of: ContentOf,
    cancelled: Collection[str] = (),
    undoes: Mapping[str, Collection[str]] | None = None,
    tool_edits: Collection[str] = (),
    memory: FileMemory | None = None,
) -> Rewound:
    """Undo the chosen steps of one file, which are given oldest first.

    content_of: the content with a digest, None if it is not known. cancelled: steps that cancel each other out, such as
    an earlier rewind and its redo. They are undone as well, which changes nothing by itself, so that they do not count
    as changes of others to the text of the chosen ones. undoes, tool_edits, memory: see story_of.
    """
    ours = tuple(step.step_id for step in reversed(steps) if step.step_id in chosen)
    if not ours:
        return Rewound(content=present, undone=())
    history, texts = steps, StepTexts(content_of, memory)
    steps = _without_detours(steps, cancelled)
    first = next(n for n, step in enumerate(steps) if step.step_id in chosen or step.step_id in cancelled)
    steps = steps[first:]
    has_splices = all(step.reverse is not None for step in steps if step.step_id in chosen)
    if not has_splices and _is_present(steps, {*chosen, *cancelled}, present):
        content = texts.before(steps[0])
        if (content is None) == (steps[0].before is None):
            return Rewound(content=content, undone=ours)
    whole = _Trial([_Part(step.step_id, step) for step in steps], present, texts).without({*chosen, *cancelled})
    if isinstance(whole, Undone) and not (is_notebook(present) and not _is_usable(whole.content)):
        if (
            present is not None
            and not is_notebook(present)
            and (_joins_lines(whole.splices, present) or _is_formatted(steps, {*chosen, *cancelled}, present, texts))
        ):
            # The end between two lines of others may have been taken for one of the target's, and blanks that a
            # formatter wrote in the target's text may have been left.
            by_story = _by_story(history, {*chosen, *cancelled}, ours, present, texts, undoes or {}, tool_edits)
            if by_story is not None and not by_story.left:
                return by_story
        return Rewound(content=whole.content, undone=ours, splices=whole.splices)
    conflict = whole if isinstance(whole, UndoConflict) else UndoConflict()
    if present is not None and is_notebook(present):
        return _by_cells(steps, chosen, present, texts, ours, conflict)
    by_story = _by_story(history, {*chosen, *cancelled}, ours, present, texts, undoes or {}, tool_edits)
    if by_story is not None:
        return replace(by_story, conflict=conflict) if by_story.left else by_story
    parts = [
        part
        for step in steps
        for part in (_split(step, texts) if step.step_id in chosen else (_Part(step.step_id, step),))
    ]
    by_parts = _by_parts(_Trial(parts, present, texts), chosen, cancelled, ours)
    return replace(by_parts, conflict=conflict) if by_parts.left else by_parts


def tell_ahead(
    steps: Sequence[FileStep],
    chosen: Collection[str],
    present: bytes,
    content_of: ContentOf,
    cancelled: Collection[str],
    undoes: Mapping[str, Collection[str]],
    tool_edits: Collection[str],
    memory: FileMemory,
) -> Iterator[None]:
    """Do in parts what a rewind, and what finds the places of the chosen steps, does for each step of a long history.

    So few steps are left for rewind_file, which has the arguments. Yields after each part.
    """
    texts, undone = StepTexts(content_of, memory), {*chosen, *cancelled}

    def compare(part: Sequence[FileStep]) -> None:
        if not are_all_undone:  # else no merge is needed
            compare_ahead(part, undone, texts)

    are_all_undone = undone.issuperset(step.step_id for step in steps)
    yield from tell_story_ahead(
        steps,
        present,
        texts,
        undoes,
        memory=memory,
        tool_edits=tool_edits,
        own=chosen,
        has_donors=False,
        prepare=compare,
    )


def _joins_lines(splices: Sequence[Splice], present: bytes) -> bool:
    """Return whether the splices make one line of the beginning of one and the end of another."""
    fmt = detect_format(present)
    for splice in splices:
        if count_newlines(splice.new, fmt) or not count_newlines(present, fmt, splice.start, splice.end):
            continue
        before = present[line_start(present, fmt, splice.start) : splice.start]
        behind = present[splice.end : line_end(present, fmt, splice.end)]
        if before.strip() and behind.strip():
            return True
    return False


def _is_formatted(steps: Sequence[FileStep], undone: Collection[str], present: bytes, texts: StepTexts) -> bool:
    """Return whether a formatter changed only blanks since the first step, or the present text differs only in blanks.

    Args: undone: steps that are no formatters'.
    """
    for step in steps:
        if not step.may_format or step.step_id in undone or not _may_be_of_blanks(step, texts):
            continue
        before = texts.before(step)
        after = None if before is None else texts.after(step)
        if before and after and splices_of_blanks(before, after, detect_format(before)):
            return True
    newest = texts.after(steps[-1])
    return newest is not None and bool(splices_of_blanks(newest, present, detect_format(newest)))


def _may_be_of_blanks(step: FileStep, texts: StepTexts) -> bool:
    """Return False if a merge has found that a step changed more than blanks: its contents need not be compared."""
    sided = None if texts.memory is None else texts.memory.find_sided(step, is_ours=False)
    if sided is None:
        return True
    removed, written = (b"".join(splice.new for splice in splices) for splices in (sided.reverse, sided.forward))
    return sorted(b"".join(removed.split())) == sorted(b"".join(written.split()))


def _by_story(
    steps: Sequence[FileStep],
    undone: Collection[str],
    ours: Sequence[str],
    present: bytes | None,
    texts: StepTexts,
    undoes: Mapping[str, Collection[str]],
    tool_edits: Collection[str],
) -> Rewound | None:
    """Undo what can be undone by the story of the file; None if that is not known for certain.

    What others typed is theirs here, even if the chosen steps had written the same at another place.

    Args: steps: of the whole history. undone: the chosen steps, and those that cancel each other out.
    """
    steps = steps[next(n for n, step in enumerate(steps) if step.step_id in undone) :]
    if present is None or len(steps) > MAX_TOLD_STEPS or len(steps) * len(present) > MAX_TOLD_BYTES:
        return None
    if len(present) > MAX_COMPARED_BYTES or is_binary(present, detect_format(present)):
        return None
    if any(step.kind != "modify" for step in steps):
        return None
    story = story_of(
        steps, present, texts, undoes, tool_edits=tool_edits, own=ours, has_donors=False, memory=texts.memory
    )
    if not story.is_exact or not set(ours).issubset(story.entry_ids):
        return None
    chosen = story.events_of({step_id for step_id in undone if step_id in ours or not undoes.get(step_id)})
    try:
        undo = story.undo(chosen)
    except Forgotten:
        story = story_of(steps, present, texts, undoes, tool_edits=tool_edits, own=ours, has_donors=False)
        undo = story.undo(chosen)
    left, done = list[PlaceLeft](), set[str]()
    for cluster in undo.clusters:
        step_id = story.entry_ids[cluster.event] or ""
        if cluster.why is None:
            done.add(step_id)
        elif step_id in ours:
            left.append(PlaceLeft(step_id, line_ranges(present, (ByteSpan(cluster.start, cluster.end),))))
    left_ids = {place.entry_id for place in left}
    return Rewound(
        content=undo.content(),
        undone=tuple(own for own in ours if own not in left_ids),
        left=tuple(sorted(left, key=lambda place: ours.index(place.entry_id))),
        partly=frozenset(left_ids & done),
    )


def _is_usable(content: bytes | None) -> bool:
    return content is None or is_notebook(content)


def _by_cells(
    steps: Sequence[FileStep],
    chosen: Collection[str],
    present: bytes,
    texts: StepTexts,
    ours: tuple[str, ...],
    conflict: UndoConflict,
) -> Rewound:
    """Undo what can be undone of a notebook's cells: a place in its JSON, undone on its own, could break it."""
    contents = [
        StepContents(step_id=step.step_id, before=texts.before(step), after=texts.after(step))
        for step in reversed(steps)
        if step.step_id in chosen
    ]
    rewound = rewind_cells(contents, present)
    if rewound is None:
        left = tuple(PlaceLeft(own, conflict.ranges) for own in ours)
        return Rewound(content=present, undone=(), left=left, conflict=conflict)
    if not rewound.left:
        return Rewound(content=rewound.content, undone=ours)
    left_ids = {cell.step_id for cell in rewound.left}
    conflict.cells = tuple(dict.fromkeys(cell.cell_id for cell in rewound.left if cell.cell_id))
    return Rewound(
        content=rewound.content,
        undone=tuple(own for own in ours if own not in left_ids),
        left=tuple(PlaceLeft(cell.step_id, cell.ranges) for cell in rewound.left),
        partly=rewound.partly,
        conflict=conflict,
    )


def _is_present(steps: Sequence[FileStep], undone: Collection[str], present: bytes | None) -> bool:
    """Return whether only these steps have changed the file since the first of them began.

    The content before them is then the result, without a comparison: lists of unkept changes need it for long files.
    """
    if not all(step.step_id in undone for step in steps):
        return False
    if not all(older.after == newer.before for older, newer in pairwise(steps)):
        return False
    return steps[-1].after == (None if present is None else content_digest(present))


def _without_detours(steps: Sequence[FileStep], cancelled: Collection[str]) -> list[FileStep]:
    """Return the steps without cancelled ones that lead straight back to the content before them."""
    kept: list[FileStep] = []
    for step in steps:
        kept.append(step)
        n_cancelled = len(kept)
        while n_cancelled and kept[n_cancelled - 1].step_id in cancelled:
            n_cancelled -= 1
            if kept[n_cancelled].before == step.after:
                del kept[n_cancelled:]
                break
    return kept


class _Part(Struct, frozen=True):
    """A step, or some of its places as a separate step."""

    of_step: str
    step: FileStep


def _by_parts(trial: "_Trial", chosen: Collection[str], cancelled: Collection[str], ours: tuple[str, ...]) -> Rewound:
    """Undo as many parts of the chosen steps as possible.

    Groups are tried before single parts, so that few conflicts among many parts cost few tries. A group that works with
    what was undone before it is undone too. Of one that does not, the newer half is tried first: an older part
    can depend on a newer one (the newer deleted what the older inserted), but not the other way round.
    """
    n_tries = min(MAX_TRIES, max(MIN_TRIES, MAX_TRIED_BYTES // (trial.n_bytes + 1)))
    taken = {part.step.step_id for part in trial.newest_first if part.of_step in cancelled}
    done = trial.without(taken)
    if isinstance(done, UndoConflict):  # the cancelled steps then count as changes by others
        taken, done = set[str](), trial.without(())
    left: list[PlaceLeft] = []
    groups = [[part for part in trial.newest_first if part.of_step in chosen]]
    while groups:
        group = groups.pop()
        ids = {part.step.step_id for part in group}
        result = trial.without(taken | ids) if n_tries > 0 else UndoConflict()
        n_tries -= 1
        if isinstance(result, Undone):
            taken, done = taken | ids, result
        elif len(group) > 1 and n_tries > 0:
            middle = len(group) // 2
            groups += (group[middle:], group[:middle])
        else:
            left += (PlaceLeft(part.of_step, result.ranges, _is_recreated(part, trial.present)) for part in group)
    left_ids = {place.entry_id for place in left}
    return Rewound(
        content=done.content if isinstance(done, Undone) else trial.present,
        undone=tuple(own for own in ours if own not in left_ids),
        left=tuple(left),
        partly=frozenset(part.of_step for part in trial.newest_first if part.step.step_id in taken) & left_ids,
    )


def _is_recreated(part: _Part, present: bytes | None) -> bool:
    return part.step.kind == "delete" and present is not None


class _Trial:
    """Undoes some of the parts of a file's steps, to see whether that is possible."""

    def __init__(self, parts: Sequence[_Part], present: bytes | None, texts: StepTexts) -> None:
        self.present = present
        self.newest_first = parts[::-1]
        self._texts = texts
        self._history = [part.step for part in self.newest_first]

    @property
    def n_bytes(self) -> int:
        """What one try compares at most, if the contents are as long as the current one."""
        return len(self.present or b"") * len(self._history)

    def without(self, step_ids: Collection[str]) -> Undone | UndoConflict:
        steps = [step for step in self._history if step.step_id in step_ids]
        history = self._history if self._is_worth_comparing(step_ids) else steps
        try:
            return undo_edits(steps, self.present, self._texts, history)
        except UndoConflict as conflict:
            return conflict

    def _is_worth_comparing(self, step_ids: Collection[str]) -> bool:
        """Return whether each step of the history is compared. Else each run of undone steps is merged on its own."""
        n_runs = sum(is_undone for is_undone, _ in groupby(step.step_id in step_ids for step in self._history))
        return len(self._history) <= max(MAX_STEPS, MAX_STEPS_FOR_RUN * n_runs)


def _split(step: FileStep, texts: StepTexts) -> Iterator[_Part]:
    """Yield the places of a modification as steps that follow each other, from the top down; else the whole step."""
    before, after = texts.before(step), texts.after(step)
    if step.before is None or before is None or after is None:
        yield _Part(step.step_id, step)
        return
    places = _independent_places(before, after)
    n_parts = min(len(places), MAX_PLACES)
    digest, taken = step.before, tuple[Splice, ...]()
    for n in range(n_parts):
        group = list(chain.from_iterable(places[len(places) * n // n_parts : len(places) * (n + 1) // n_parts]))
        taken = tuple(sorted((*taken, *group), key=lambda splice: splice.start))
        reached = texts.add_part(step.before, taken) if n < n_parts - 1 else step.after
        yield _Part(step.step_id, FileStep(f"{step.step_id}#{n}", digest, reached))
        digest = reached


def _independent_places(before: bytes, after: bytes) -> list[list[Splice]]:
    """Group the splices from one content to the other, so that each group can be undone without the others.

    Splices with no untouched line between them are of one group: within such a block, a comparison cannot know which
    word became which, and one half of a wrong guess would remove a word that the other half puts back. For the same
    reason, what moves a line or a word from one place to another is of one group.
    """
    fmt = detect_format(before)
    blocks: list[list[Splice]] = []
    for splice in splices_between(before, after, fmt):
        if blocks and not _has_line_between(before, blocks[-1][-1].end, splice.start, fmt):
            blocks[-1].append(splice)
        else:
            blocks.append([splice])
    return _join_moved(blocks, before, fmt)


def _has_line_between(data: bytes, start: int, stop: int, fmt: TextFormat) -> bool:
    first = start if line_start(data, fmt, start) == start else line_end(data, fmt, start)
    return first < line_start(data, fmt, stop)


def _join_moved(blocks: list[list[Splice]], before: bytes, fmt: TextFormat) -> list[list[Splice]]:
    """Join blocks if one deletes and another inserts the same text, once in all of them: the text was moved."""
    deleted, inserted = dict[bytes, list[int]](), dict[bytes, list[int]]()
    for number, block in enumerate(blocks):
        for splice in block:
            for text in _texts(before[splice.start : splice.end], fmt):
                deleted.setdefault(text, []).append(number)
            for text in _texts(splice.new, fmt):
                inserted.setdefault(text, []).append(number)
    heads = list(range(len(blocks)))  # of each block, the first one of its group
    for text, places in deleted.items():
        if len(places) == len(inserted.get(text, ())) == 1:
            one, other = heads[places[0]], heads[inserted[text][0]]
            heads = [min(one, other) if head in {one, other} else head for head in heads]
    groups: dict[int, list[Splice]] = {}
    for head, block in zip(heads, blocks, strict=True):
        groups.setdefault(head, []).extend(block)
    return list(groups.values())


def _texts(data: bytes, fmt: TextFormat) -> Iterator[bytes]:
    """Yield the words, and the lines of several words, of which each counts as one text."""
    yield from (word for word in words_of(data, fmt) if is_of_word(word, 0, fmt))
    for line in split_lines(data, TextFormat(encoding=fmt.encoding)):
        bare = line.strip()
        if len(words_of(bare, fmt)) > 1:
            yield bare
