"""What is added to the answer of a failed edit, so that the next one succeeds; as frozen values."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from fileops.model.edits import DiffersIn, LineRange
from fileops.model.files import Stamp

SuggestionKind = Literal["similar", "unique", "already_there", "seen_now"]


class Suggestion(Struct, frozen=True, kw_only=True):
    """What to send in place of one step, or why nothing has to be sent.

    Lines are 1-based, both included, in the present file; of a notebook, as a read by cells numbers them. cell_id: the
    cell that they are in. old_string: the exact present text with LF line ends, None
    if there is none to send, or it is too long. note: plain sentences for the model. differs_in: of "similar".
    diff: from the caller's text to that of the file, if `old_string` is too long to be shown; else "".
    """

    edit_index: int
    kind: SuggestionKind
    start_line: int
    end_line: int
    old_string: str | None
    note: str
    differs_in: tuple[DiffersIn, ...] = ()
    diff: str = ""
    cell_id: str | None = None


class FailedStep(Struct, frozen=True, kw_only=True):
    """Why a step cannot be made."""

    edit_index: int
    """0-based index of the step."""
    code: str
    """An error code, as in a result's error."""
    message: str
    """The message for the user."""
    after: int | None = None
    """The failed step without whose failure this one would succeed."""
    match_lines: tuple[int, ...] = ()
    """1-based lines in the file where an ambiguous text was found, the first 20."""
    n_more: int = 0
    """How many further places."""


class ShownLines(Struct, frozen=True, kw_only=True):
    """Lines of the file that count as read with this answer."""

    ranges: tuple[LineRange, ...]
    """Which lines."""
    text: str
    """The text, numbered as a read shows it."""


class SyntaxFault(Struct, frozen=True, kw_only=True):
    """One syntax error."""

    line: int
    """1-based line."""
    column: int
    """1-based column, in characters."""
    message: str
    """The error, as a clause."""
    cell_id: str | UnsetType = UNSET
    """Of a notebook: the cell. The line is numbered as a read by cells shows it."""


class SyntaxReport(Struct, frozen=True, kw_only=True):
    """The first syntax errors of a file that had none before the edit."""

    language: str
    """The language's name for people."""
    errors: tuple[SyntaxFault, ...]
    """At most 3 errors."""


class Suggestions(Struct, frozen=True, kw_only=True):
    """What is offered beside the answer to a failed edit, and why its steps fail.

    shown: the lines that count as read once it was sent. to_read: the lines around the places of the edit, of a file
    that is too large to be read whole, where none are shown. places: by step, numbered lines that tell many places of
    its text apart. n_steps: of the edit.
    """

    offered: tuple[Suggestion, ...] = ()
    failures: tuple[FailedStep, ...] = ()
    shown: ShownLines | None = None
    to_read: LineRange | None = None
    places: dict[int, str] = {}
    n_steps: int = 1


class RefusedPlace(Struct, frozen=True, kw_only=True):
    """The lines around the places of a refused edit, of a file that is too large to be read whole.

    path: canonical. stamp: of the content that has these lines there.
    """

    path: str
    stamp: Stamp
    lines: LineRange
