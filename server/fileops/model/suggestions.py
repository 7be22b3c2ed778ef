"""What a failed edit is answered beside its error, so that the next one succeeds; as frozen values."""

from typing import Literal

from msgspec import Struct

from fileops.model.edits import DiffersIn, LineRange
from fileops.model.files import Stamp

SuggestionKind = Literal["nearest", "unique", "already_there", "seen_now"]


class Suggestion(Struct, frozen=True, kw_only=True):
    """What to send in place of one step, or why nothing has to be sent.

    Lines are 1-based, both included, in the present file. old_string: the exact present text with LF line ends, None
    where there is none to send, or it is too long. note: plain sentences for the model. differs_in: of "nearest".
    diff: from the caller's text to that of the file, where `old_string` is too long to be shown; else "".
    """

    edit_index: int
    kind: SuggestionKind
    start_line: int
    end_line: int
    old_string: str | None
    note: str
    differs_in: tuple[DiffersIn, ...] = ()
    diff: str = ""


class FailedStep(Struct, frozen=True, kw_only=True):
    """A step that cannot be made. after: the failed step without which this one would succeed; None if it is its own.

    code, message: as of the error of a result. lines: where an ambiguous text begins, MAX_SHOWN_LINES of them, and
    n_more others.
    """

    edit_index: int
    code: str
    message: str
    after: int | None = None
    lines: tuple[int, ...] = ()
    n_more: int = 0


class ShownLines(Struct, frozen=True, kw_only=True):
    """Lines of a file as a Read shows them. text: numbered lines, without a final newline."""

    ranges: tuple[LineRange, ...]
    text: str


class SyntaxFault(Struct, frozen=True, kw_only=True):
    """A syntax error. line, column: 1-based."""

    line: int
    column: int
    message: str


class SyntaxReport(Struct, frozen=True, kw_only=True):
    """The first syntax errors of a file that had none before an edit."""

    language: str
    errors: tuple[SyntaxFault, ...]


class Advice(Struct, frozen=True, kw_only=True):
    """All that is added to the answer to a failed edit.

    shown: the lines that count as read once it was sent. to_read: the lines around the places of the edit, of a file
    that is too large to be read whole, where none are shown.
    """

    suggestions: tuple[Suggestion, ...] = ()
    failures: tuple[FailedStep, ...] = ()
    shown: ShownLines | None = None
    to_read: LineRange | None = None


class RefusedPlace(Struct, frozen=True, kw_only=True):
    """The lines around the places of a refused edit, of a file that is too large to be read whole.

    path: canonical. stamp: of the content that has these lines there.
    """

    path: str
    stamp: Stamp
    lines: LineRange
