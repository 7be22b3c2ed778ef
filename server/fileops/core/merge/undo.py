"""Undo of edits of one file. Pure: it is given contents and returns the content that the undo produces.

An edit is kept as its reverse: splices over the content that it produced. They are rebased over later changes, so that
only the edit's own part is undone. Consecutive edits are undone as one, and in halves only if that meets a conflict.
So many edits cost little more than one. Edits between which others edited other places are separated from them first
(separation.py); those whose text another changed again are compared with the present content one by one.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain

from msgspec import Struct

from fileops.core import splices as splicing
from fileops.core.diff.contents import is_blank, is_of_word, splices_between, words_of
from fileops.core.merge.rebase import map_spans, minimal, rebase, whole_words
from fileops.core.merge.runs import Run, runs_of
from fileops.core.merge.separation import Step, undo_of_ours
from fileops.core.text import count_newlines, detect_format
from fileops.model.digest import content_digest
from fileops.model.edits import LineRange, Span, Splice
from fileops.model.errors import UndoConflict
from fileops.model.files import TextFormat
from fileops.model.history import AppliedEdit

# More edits of others cost more than one comparison of contents, which takes as long as the steps of 100 edits.
MAX_EDITS_FOR_ONE = 64


class Undone(Struct, frozen=True, kw_only=True):
    """The result of an undo. `content` is None if the file is removed.

    splices: over the present content (empty if there is no file before or after). edit_ids: newest first.
    """

    content: bytes | None
    splices: tuple[Splice, ...]
    edit_ids: tuple[str, ...]


def undo_edits(
    edits: Sequence[AppliedEdit],
    present: bytes | None,
    content_after: Callable[[str], bytes | None],
    history: Sequence[AppliedEdit] = (),
) -> Undone:
    """Undo edits of one file, which are given newest first. `present` is None if there is no file.

    content_after: by edit id, None if it is no longer known. history: all edits of the file, newest first, as far as
    they are known. Raises: UndoConflict, with lines of `present`.
    """
    current, splices = present, tuple[Splice, ...]()
    for run in runs_of(edits, history or edits):
        try:
            current, step = _step_back(run, current, content_after)
        except _Conflict as conflict:
            places, seen = conflict.places, conflict.content
            places = map_spans(places, seen, present) if seen is not None and present is not None else ()
            raise UndoConflict(ranges=_lines(present, places), explanation=conflict.reason) from None
        splices = splicing.compose(splices, step)
    if present is not None and current is not None:
        splices = splicing.effective(present, splices)
    return Undone(
        content=current,
        splices=splices if present is not None and current is not None else (),
        edit_ids=tuple(edit.edit_id for edit in edits),
    )


class _Conflict(Exception):
    """A conflict. `places` are in `content`."""

    def __init__(self, reason: str, content: bytes | None, places: Sequence[Span] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.content = content
        self.places = places


_Step = tuple[bytes | None, tuple[Splice, ...]]
_ContentAfter = Callable[[str], bytes | None]


def _step_back(run: Run, current: bytes | None, content_after: _ContentAfter) -> _Step:
    edit = run.edits[run.ours[0]]
    match edit.kind:
        case "create":
            if current is None or content_digest(current) == edit.after:
                return None, ()
            raise _Conflict("the file was changed after it was created", current, (Span(0, len(current)),))
        case "delete":
            if current is None:
                return splicing.apply(b"", edit.reverse), ()
            raise _Conflict("another file exists there now", current, (Span(0, len(current)),))
        case "modify":
            if current is None:
                raise _Conflict("the file no longer exists", None)
            steps = _steps_of(run, content_after) if _is_worth_separating(len(run.ours), len(run.edits)) else ()
            return _without_ours(run, steps, 0, run.ours, current, content_after)


# --- edits with those of others between them --------------------------------------------------------------------------


def _is_worth_separating(n_ours: int, n_edits: int) -> bool:
    return n_ours < n_edits <= MAX_EDITS_FOR_ONE * n_ours


def _without_ours(
    run: Run, steps: Sequence[Step], start: int, ours: Sequence[int], current: bytes, content_after: _ContentAfter
) -> tuple[bytes, tuple[Splice, ...]]:
    """Undo some of our edits of the run. From `start` up to them, no edit is ours.

    steps: one for each edit of the run, or none if they are not known.
    """
    first, stop = ours[0], ours[-1] + 1
    if steps and _is_worth_separating(len(ours), stop - start):
        base = content_after(run.edits[start].edit_id)
        if base is not None:
            since = partial(splices_between, base, current, detect_format(base))
            undo = undo_of_ours(steps[start:stop][::-1], since, current)
            if undo is not None:
                return splicing.apply(current, undo), undo
    if len(ours) == stop - first:
        return _unmodified(run.edits[first:stop], current, content_after)
    middle = len(ours) // 2
    between, newer = _without_ours(run, steps, start, ours[:middle], current, content_after)
    content, older = _without_ours(run, steps, ours[middle], ours[middle:], between, content_after)
    return content, splicing.compose(newer, older)


def _steps_of(run: Run, content_after: _ContentAfter) -> Sequence[Step]:
    """Return the steps of the run's edits, newest first; none if a content is not known or has another encoding."""
    ours, steps = set(run.ours), list[Step]()
    before = None
    for n, edit in enumerate(run.edits):
        content = content_after(edit.edit_id)
        if content is None or before not in {None, content}:
            return ()
        fmt = detect_format(content)
        reverse = minimal(edit.reverse, content, fmt)
        before = splicing.apply(content, reverse)
        if detect_format(before).encoding != fmt.encoding:
            return ()
        steps.append(Step(is_ours=n in ours, reverse=reverse, forward=splicing.invert(content, reverse)))
    return steps if before is not None and content_digest(before) == run.edits[-1].before else ()


# --- edits without any between them -----------------------------------------------------------------------------------


def _unmodified(
    run: Sequence[AppliedEdit], current: bytes, content_after: _ContentAfter
) -> tuple[bytes, tuple[Splice, ...]]:
    n_undone = _n_undone(run, content_digest(current))
    if n_undone is not None:
        splices = splicing.compose_all([edit.reverse for edit in run[n_undone:]])
        return _checked(current, splices, run), splices
    base = content_after(run[0].edit_id)
    if base is None:
        if len(run) > 1:
            return _in_halves(run, current, content_after)
        raise _unknown(current)
    splices = splicing.compose_all([edit.reverse for edit in run])
    before = _checked(base, splices, run)
    rebased = rebase(splices, base, current)
    if not rebased.conflicts and not (len(run) > 1 and _goes_back(run, splices, rebased.later, base)):
        return splicing.apply(current, rebased.splices), rebased.splices
    conflict = _Conflict("later changes overlap it", current, rebased.conflicts)
    if len(run) == 1:
        raise conflict
    content, splices = _in_halves(run, current, content_after)
    if _doubles(before, base, current, content):
        raise conflict
    return content, splices


def _goes_back(run: Sequence[AppliedEdit], touched: Sequence[Splice], later: Sequence[Splice], base: bytes) -> bool:
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
    removed = [words_of(splice.new, fmt) for edit in run for splice in edit.reverse if splice.new]
    parts = {word for words in removed for word in (words[0], words[-1]) if not is_blank(word, fmt)}  # of cut words
    return not typed.isdisjoint(chain.from_iterable(removed)) or any(part in word for part in parts for word in typed)


def _in_halves(
    run: Sequence[AppliedEdit], current: bytes, content_after: _ContentAfter
) -> tuple[bytes, tuple[Splice, ...]]:
    middle = len(run) // 2
    between, newer = _unmodified(run[:middle], current, content_after)
    content, older = _unmodified(run[middle:], between, content_after)
    return content, splicing.compose(newer, older)


def _n_undone(run: Sequence[AppliedEdit], present: bytes) -> int | None:
    """Return how many of the newest edits are already undone, if the file is as one of the run left or found it."""
    if run[0].after == present:
        return 0
    return next((n for n, edit in enumerate(run, 1) if edit.before == present), None)


def _checked(content: bytes, splices: Sequence[Splice], run: Sequence[AppliedEdit]) -> bytes:
    """Return the content before the run. Raises: _Conflict, if the splices, which were kept on a disk, are wrong."""
    before = splicing.apply(content, splices)
    if content_digest(before) != run[-1].before:
        raise _unknown(content)
    return before


def _unknown(current: bytes) -> _Conflict:
    return _Conflict("the content after the edit is no longer known", current, (Span(0, len(current)),))


def _doubles(before: bytes, base: bytes, present: bytes, result: bytes) -> bool:
    """Return whether the result contains words twice, because both a user and the undo restored them.

    before, base: the contents before and after the edits. A single step cannot detect this: a word restored at the
    place of one step can belong to another.
    """
    fmt = detect_format(base)
    shared = _brought(base, present, fmt) & _brought(present, result, fmt)
    if not any(shared.values()):
        return False
    allowed, present_words = Counter(words_of(before, fmt)), Counter(words_of(result, fmt))
    return any(present_words[word] > allowed[word] for word in shared)


def _brought(before: bytes, after: bytes, fmt: TextFormat) -> Counter[bytes]:
    """Count the words, without blanks and signs, that were added."""
    added, removed = Counter[bytes](), Counter[bytes]()
    for splice in splices_between(before, after, fmt):
        added.update(word for word in words_of(splice.new, fmt) if is_of_word(word, 0, fmt))
        removed.update(words_of(before[splice.start : splice.end], fmt))
    return added - removed


def current_ranges(edit: AppliedEdit, base: bytes, present: bytes) -> tuple[Span, ...]:
    """Return the ranges of the edit in the present content. `base` is the content after the edit."""
    if edit.kind == "create":
        return (Span(0, len(present)),)
    reverse = minimal(edit.reverse, base, detect_format(base))
    return map_spans([Span(splice.start, splice.end) for splice in reverse], base, present)


def _lines(data: bytes | None, places: Sequence[Span]) -> tuple[LineRange, ...]:
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
