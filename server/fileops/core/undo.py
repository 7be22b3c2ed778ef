"""What taking back edits of one file comes to. Pure: it is given contents and says what should stand.

An edit is kept as its reverse: splices over the content that it left. They are rebased over what happened since, so
that only the edit's own part is taken back.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from fileops.core import splices as splicing
from fileops.core.digest import content_digest
from fileops.core.rebase import follow, minimal, rebase
from fileops.core.text import count_newlines, detect_format
from fileops.errors import UndoConflict
from fileops.model import AppliedEdit, LineRange, Span, Splice


class Undone(Struct, frozen=True, kw_only=True):
    """What should stand instead of the present content. content: None for no file.

    splices: over the present content (empty where there is none, or is to be none). edit_ids: newest first.
    """

    content: bytes | None
    splices: tuple[Splice, ...]
    edit_ids: tuple[str, ...]


def take_back(
    edits: Sequence[AppliedEdit], present: bytes | None, content_after: Callable[[str], bytes | None]
) -> Undone:
    """Edits of one file, newest first. present: None where no file stands.

    content_after: by edit id, None where it is not known any more. Raises: UndoConflict, with lines of `present`.
    """
    current, splices = present, tuple[Splice, ...]()
    for edit in edits:
        try:
            current, step = _step_back(edit, current, content_after)
        except _Conflict as conflict:
            places = follow(conflict.places, current, present) if current is not None and present is not None else ()
            raise UndoConflict(ranges=_lines(present, places), reason=conflict.reason) from None
        splices = splicing.compose(splices, step)
    if present is not None and current is not None:
        splices = splicing.effective(present, splices)
    return Undone(
        content=current,
        splices=splices if present is not None and current is not None else (),
        edit_ids=tuple(edit.edit_id for edit in edits),
    )


class _Conflict(Exception):
    def __init__(self, reason: str, places: Sequence[Span] = ()) -> None:
        super().__init__(reason)
        self.reason, self.places = reason, places


def _step_back(
    edit: AppliedEdit, current: bytes | None, content_after: Callable[[str], bytes | None]
) -> tuple[bytes | None, tuple[Splice, ...]]:
    is_as_left = (None if current is None else content_digest(current)) == edit.after
    match edit.kind:
        case "create":
            if is_as_left or current is None:
                return None, ()
            raise _Conflict("the file was changed after it was created", (Span(0, len(current)),))
        case "delete":
            if current is None:
                return splicing.apply(b"", edit.reverse), ()
            raise _Conflict("another file stands there now", (Span(0, len(current)),))
        case "modify":
            if current is None:
                raise _Conflict("the file does not exist any more")
            if is_as_left:
                return splicing.apply(current, edit.reverse), edit.reverse
            base = content_after(edit.edit_id)
            if base is None:
                raise _Conflict("what the edit left is not known any more", (Span(0, len(current)),))
            rebased = rebase(edit.reverse, base, current)
            if rebased.conflicts:
                raise _Conflict("later changes overlap it", rebased.conflicts)
            return splicing.apply(current, rebased.splices), rebased.splices


def places_of(edit: AppliedEdit, base: bytes, present: bytes) -> tuple[Span, ...]:
    """Where the edit's part lies in the present content. base: the content after the edit."""
    if edit.kind == "create":
        return (Span(0, len(present)),)
    reverse = minimal(edit.reverse, base, detect_format(base))
    return follow([Span(splice.start, splice.end) for splice in reverse], base, present)


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
