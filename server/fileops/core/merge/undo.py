"""Undoes edits of one file. Pure: takes contents and returns the content after the undo.

An edit is kept as its reverse: splices over the content that it produced. They are rebased over later changes, so that
only the edit's own part is undone. Consecutive edits are undone as one, and in halves only if that leads to a conflict,
so many edits cost little more than one. If others edited other places in between, the edits are separated from those
first (separation.py). Edits whose text others changed again are compared with the current content one by one.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial
from itertools import chain

from msgspec import Struct

from fileops.core import splices as splicing
from fileops.core.diff.contents import is_blank, is_in_line, is_of_word, splices_between, words_of
from fileops.core.merge.rebase import map_spans, minimal, rebase, whole_words
from fileops.core.merge.runs import Run, runs_of
from fileops.core.merge.separation import SidedStep, undo_of_ours
from fileops.core.merge.texts import StepTexts
from fileops.core.text import count_newlines, detect_format
from fileops.model.digest import content_digest
from fileops.model.edits import ByteSpan, LineRange, Splice
from fileops.model.errors import UndoConflict
from fileops.model.files import TextFormat
from fileops.model.rewind import FileStep

# Comparing longer contents would take seconds and hundreds of megabytes: 1.4 GB for a file that grew to 20 MB.
MAX_COMPARED_BYTES = 8 << 20
# More edits by others cost more than one comparison of contents, which takes as long as the steps of 100 edits.
MAX_EDITS_FOR_ONE = 64


class Undone(Struct, frozen=True, kw_only=True):
    """The result of an undo. `content` is None if the file is removed.

    splices: over the present content (empty if there is no file before or after). edit_ids: newest first.
    """

    content: bytes | None
    splices: tuple[Splice, ...]
    edit_ids: tuple[str, ...]


def undo_edits(
    edits: Sequence[FileStep],
    present: bytes | None,
    texts: StepTexts,
    history: Sequence[FileStep] = (),
) -> Undone:
    """Undo edits of one file, given newest first. `present` is None if there is no file.

    texts: of the file. history: all edits of the file, newest first, as far as they are known. Raises: UndoConflict,
    with lines of `present`.
    """
    current, splices = present, tuple[Splice, ...]()
    for run in runs_of(edits, history or edits):
        try:
            current, step = _step_back(run, current, texts)
        except _Conflict as conflict:
            places, seen = conflict.places, conflict.content
            places = map_spans(places, seen, present) if seen is not None and present is not None else ()
            raise UndoConflict(ranges=line_ranges(present, places), explanation=conflict.reason) from None
        splices = splicing.compose(splices, step)
    if present is not None and current is not None:
        splices = splicing.effective(present, splices)
    return Undone(
        content=current,
        splices=splices if present is not None and current is not None else (),
        edit_ids=tuple(edit.step_id for edit in edits),
    )


class _Conflict(Exception):
    """A conflict. `places` are in `content`."""

    def __init__(self, reason: str, content: bytes | None, places: Sequence[ByteSpan] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.content = content
        self.places = places


_Step = tuple[bytes | None, tuple[Splice, ...]]


def _step_back(run: Run, current: bytes | None, texts: StepTexts) -> _Step:
    edit = run.edits[run.ours[0]]
    match edit.kind:
        case "create":
            if current is None or content_digest(current) == edit.after:
                return None, ()
            raise _Conflict("the file was changed after it was created", current, (ByteSpan(0, len(current)),))
        case "delete":
            if current is None:
                return splicing.apply(b"", _reverse(edit, texts, current)), ()
            raise _Conflict("another file exists there now", current, (ByteSpan(0, len(current)),))
        case "modify":
            if current is None:
                raise _Conflict("the file no longer exists", None)
            steps = _steps_of(run, texts) if _is_worth_separating(len(run.ours), len(run.edits)) else ()
            return _without_ours(run, steps, 0, run.ours, current, texts)


# --- edits with others' edits between them ---------------------------------------------------------------------------


def _is_worth_separating(n_ours: int, n_edits: int) -> bool:
    return n_ours < n_edits <= MAX_EDITS_FOR_ONE * n_ours


def _without_ours(
    run: Run, steps: Sequence[SidedStep], start: int, ours: Sequence[int], current: bytes, texts: StepTexts
) -> tuple[bytes, tuple[Splice, ...]]:
    """Undo some of our edits of the run. From `start` up to them, no edit is ours.

    steps: one for each edit of the run, or none if they are not known.
    """
    first, stop = ours[0], ours[-1] + 1
    if steps and _is_worth_separating(len(ours), stop - start):
        base = texts.after(run.edits[start])
        if base is not None and _is_comparable(base, current):
            since = partial(splices_between, base, current, detect_format(base))
            undo = undo_of_ours(steps[start:stop][::-1], since, current)
            if undo is not None:
                return splicing.apply(current, undo), undo
    if len(ours) == stop - first:
        return _undo_unmodified(run.edits[first:stop], current, texts)
    middle = len(ours) // 2
    between, newer = _without_ours(run, steps, start, ours[:middle], current, texts)
    content, older = _without_ours(run, steps, ours[middle], ours[middle:], between, texts)
    return content, splicing.compose(newer, older)


def _steps_of(run: Run, texts: StepTexts) -> Sequence[SidedStep]:
    """Return the steps of the run's edits, newest first; none if a content is not known or has another encoding."""
    ours, steps = set(run.ours), list[SidedStep]()
    for n, edit in enumerate(run.edits):
        step = _sided_step(edit, texts, is_ours=n in ours)
        if step is None:
            return ()
        steps.append(step)
    return steps


def compare_ahead(steps: Sequence[FileStep], ours: Collection[str], texts: StepTexts) -> None:
    """Note the splices of steps, of which some are ours, as far as they are known, so that an undo need not compare."""
    for step in steps:
        if texts.reverse(step) is not None:
            _sided_step(step, texts, is_ours=step.step_id in ours)


def _sided_step(edit: FileStep, texts: StepTexts, *, is_ours: bool) -> SidedStep | None:
    known = None if texts.memory is None else texts.memory.find_sided(edit, is_ours=is_ours)
    if known is not None:
        return known
    content = texts.after(edit)
    if content is None:
        return None
    fmt, reverse = detect_format(content), _reverse(edit, texts, content)
    # A comparison that finds one place finds the same in the other direction and, in one line, just whole words.
    compared = splicing.invert(content, reverse) if edit.reverse is None and len(reverse) == 1 else None
    forward = compared
    if forward is None or not is_in_line(reverse[0], content, fmt):
        reverse = minimal(reverse, content, fmt)
        forward = splicing.invert(content, reverse)
    before = splicing.apply(content, reverse)
    if detect_format(before).encoding != fmt.encoding or content_digest(before) != edit.before:
        return None
    is_compared = compared == forward and detect_format(before) == fmt
    step = SidedStep(is_ours=is_ours, reverse=reverse, forward=forward, is_compared=is_compared)
    if texts.memory is not None:
        texts.memory.note_sided(edit, step)
    return step


# --- edits without any between them -----------------------------------------------------------------------------------


def _undo_unmodified(run: Sequence[FileStep], current: bytes, texts: StepTexts) -> tuple[bytes, tuple[Splice, ...]]:
    n_undone = _n_undone(run, content_digest(current))
    if n_undone is not None:
        splices = splicing.compose_all([_reverse(edit, texts, current) for edit in run[n_undone:]])
        return _check(current, splices, run), splices
    base = texts.after(run[0])
    if base is None:
        if len(run) > 1:
            return _in_halves(run, current, texts)
        raise _unknown(current)
    if not _is_comparable(base, current):
        raise _Conflict("it is too long now to be compared with what the edit left", current)
    splices = splicing.compose_all([_reverse(edit, texts, current) for edit in run])
    before = _check(base, splices, run)
    rebased = rebase(splices, base, current)
    if not rebased.conflicts and not (len(run) > 1 and _goes_back(run, splices, rebased.later, base, texts)):
        return splicing.apply(current, rebased.splices), rebased.splices
    conflict = _Conflict("later changes overlap it", current, rebased.conflicts)
    if len(run) == 1:
        raise conflict
    content, splices = _in_halves(run, current, texts)
    if _doubles(before, base, current, content):
        raise conflict
    return content, splices


def _goes_back(
    run: Sequence[FileStep], touched: Sequence[Splice], later: Sequence[Splice], base: bytes, texts: StepTexts
) -> bool:
    """Return whether later changes at the places of the run may have restored text from the middle of the run.

    The run as a whole does not contain text that one of its edits inserted and another deleted.
    """
    fmt = detect_format(base)
    places = whole_words(touched, base, fmt)
    ends = [place.end for place in places]

    def is_touched_by_run(change: Splice) -> bool:
        n = bisect_left(ends, change.start)
        return n < len(ends) and places[n].start <= change.end

    typed = {word for change in later if is_touched_by_run(change) for word in words_of(change.new, fmt)}
    typed = {word for word in typed if not is_blank(word, fmt)}
    if not typed:
        return False
    removed = [words_of(splice.new, fmt) for edit in run for splice in _reverse(edit, texts, base) if splice.new]
    parts = {word for words in removed for word in (words[0], words[-1]) if not is_blank(word, fmt)}  # of cut words
    return not typed.isdisjoint(chain.from_iterable(removed)) or any(part in word for part in parts for word in typed)


def _in_halves(run: Sequence[FileStep], current: bytes, texts: StepTexts) -> tuple[bytes, tuple[Splice, ...]]:
    middle = len(run) // 2
    between, newer = _undo_unmodified(run[:middle], current, texts)
    content, older = _undo_unmodified(run[middle:], between, texts)
    return content, splicing.compose(newer, older)


def _is_comparable(base: bytes, current: bytes) -> bool:
    return max(len(base), len(current)) <= MAX_COMPARED_BYTES


def _reverse(edit: FileStep, texts: StepTexts, current: bytes | None) -> tuple[Splice, ...]:
    """Return the reverse. Raises: _Conflict, if a content that has to be compared is unknown."""
    reverse = texts.reverse(edit)
    if reverse is None:
        raise _unknown(current)
    return reverse


def _n_undone(run: Sequence[FileStep], present: bytes) -> int | None:
    """Return how many of the newest edits are already undone, if the file is as one of the run left or found it."""
    if run[0].after == present:
        return 0
    return next((n for n, edit in enumerate(run, 1) if edit.before == present), None)


def _check(content: bytes, splices: Sequence[Splice], run: Sequence[FileStep]) -> bytes:
    """Return the content before the run. Raises: _Conflict, if the splices, which were kept on a disk, are wrong."""
    before = splicing.apply(content, splices)
    if content_digest(before) != run[-1].before:
        raise _unknown(content)
    return before


def _unknown(current: bytes | None) -> _Conflict:
    places = () if current is None else (ByteSpan(0, len(current)),)
    return _Conflict("the content after the edit is no longer known", current, places)


def _doubles(before: bytes, base: bytes, present: bytes, result: bytes) -> bool:
    """Return whether the result contains words twice, because both a user and the undo restored them.

    before, base: the contents before and after the edits. A single step cannot detect this: a word restored at the
    place of one step can belong to another.
    """
    fmt = detect_format(base)
    shared = _count_added_words(base, present, fmt) & _count_added_words(present, result, fmt)
    if not any(shared.values()):
        return False
    allowed, present_words = Counter(words_of(before, fmt)), Counter(words_of(result, fmt))
    return any(present_words[word] > allowed[word] for word in shared)


def _count_added_words(before: bytes, after: bytes, fmt: TextFormat) -> Counter[bytes]:
    """Count the added words, without whitespace and signs."""
    added, removed = Counter[bytes](), Counter[bytes]()
    for splice in splices_between(before, after, fmt):
        added.update(word for word in words_of(splice.new, fmt) if is_of_word(word, 0, fmt))
        removed.update(words_of(before[splice.start : splice.end], fmt))
    return added - removed


def current_ranges(reverse: Sequence[Splice], base: bytes, present: bytes) -> tuple[ByteSpan, ...]:
    """Return the ranges of an edit in the current content. Args: reverse: over `base`, the content after the edit."""
    reverse = minimal(reverse, base, detect_format(base))
    return map_spans([ByteSpan(splice.start, splice.end) for splice in reverse], base, present)


def line_ranges(data: bytes | None, places: Sequence[ByteSpan]) -> tuple[LineRange, ...]:
    """Return the lines of each place of a content."""
    if data is None:
        return ()
    fmt = detect_format(data)
    unit = fmt.unit_bytes

    def line_at(offset: int) -> int:
        return count_newlines(data, fmt, 0, offset // unit * unit) + 1

    return tuple(
        LineRange(start_line=line_at(place.start), end_line=line_at(max(place.start, place.end - unit)))
        for place in places
    )
