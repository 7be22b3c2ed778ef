"""The failures of all operations, one exception class per failure.

A failure carries the fields that a caller can act on, and no sentence: `core/presentation/failures.py` makes the
sentences. The `code` of each class is a string of the wire contract (docs/PROTOCOL.md, "Error codes").
The dataclasses are not frozen because Python assigns `__traceback__` to a raised exception.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from fileops.model.edits import LineRange, Relevance, SuggestedPlace
    from fileops.model.notebooks import ComparedCells, NotebookFault
    from fileops.model.review import ConsentRule, Decider


# Why an undo was not made: the session has no edit to undo; no such edit is known; it was already undone; the file or
# its place has changed since.
UndoConflictReason = Literal["nothing_to_undo", "unknown_edit", "already_undone", "later_changes"]


@dataclass(eq=False, kw_only=True)
class FileOpsError(Exception):
    """Base of all failures that are returned to a caller as a tool result.

    failed_path: of a commit of several files, the canonical path of the one that could not be changed, if it was one.
    """

    code: ClassVar[str]
    failed_path: str | None = field(default=None, init=False)


@dataclass(eq=False, kw_only=True)
class FileMissing(FileOpsError):
    """There is no such file. other_form: one whose name differs in its Unicode form (NFC, NFD) alone."""

    code: ClassVar[str] = "not_found"
    other_form: str | None = None


@dataclass(eq=False, kw_only=True)
class IsDirectory(FileOpsError):
    code: ClassVar[str] = "is_directory"


@dataclass(eq=False, kw_only=True)
class NotAbsolute(FileOpsError):
    code: ClassVar[str] = "not_absolute"
    path: str


@dataclass(eq=False, kw_only=True)
class OutsideRoots(FileOpsError):
    code: ClassVar[str] = "outside_roots"
    path: str


@dataclass(eq=False, kw_only=True)
class NotPermitted(FileOpsError):
    """Agents must not read or edit the file.

    source: what says so: the path of a rule file, or words for an option. fault: a sentence that says why the rules in
    it cannot be used, which makes every file below unreadable; "" if they can, and name the file. is_rule_file: the
    file is itself one that says what agents must not read, and the user cannot be asked about the edit; or it is
    `source` by another name, a hard link or what a link leads to, by which the user would not know what is edited.
    """

    code: ClassVar[str] = "not_permitted"
    source: str
    fault: str = ""
    is_rule_file: bool = False
    is_other_name: bool = False


@dataclass(eq=False, kw_only=True)
class PermissionRefused(FileOpsError):
    """The operating system denied access. `reason` is its message; `hint` says what to do, "" for the usual hint."""

    code: ClassVar[str] = "permission_denied"
    reason: str
    hint: str = ""


@dataclass(eq=False, kw_only=True)
class NotRegularFile(FileOpsError):
    """Not a file of bytes. `kind` is "fifo", "socket", "character device", "block device" or "kernel stream"."""

    code: ClassVar[str] = "not_regular_file"
    kind: str


@dataclass(eq=False, kw_only=True)
class BinaryFile(FileOpsError):
    code: ClassVar[str] = "binary"


@dataclass(eq=False, kw_only=True)
class ImageUnreadable(FileOpsError):
    """The first bytes are those of an image, but it is damaged, or larger than the decoder allows."""

    code: ClassVar[str] = "image_unreadable"
    reason: str


@dataclass(eq=False, kw_only=True)
class NotebookFile(FileOpsError):
    code: ClassVar[str] = "notebook"


@dataclass(eq=False, kw_only=True)
class NotebookInvalid(FileOpsError):
    """The file is no notebook whose cells can be edited. reason: a clause. line: of the file, if it is known."""

    code: ClassVar[str] = "notebook_invalid"
    fault: "NotebookFault"
    reason: str
    line: int | None = None
    edit_index: int | None = None


@dataclass(eq=False, kw_only=True)
class CellNotFound(FileOpsError):
    """No cell has this name, "" if none was given.

    same_id: names of the cells that share it as their id. at_index: the name of the cell whose index it seems to be.
    last: the name of the last cell.
    """

    code: ClassVar[str] = "no_cell"
    cell_id: str
    same_id: tuple[str, ...]
    at_index: str | None
    n_cells: int
    last: str | None
    edit_index: int | None = None


@dataclass(eq=False, kw_only=True)
class CellConflict(FileOpsError):
    """The cell cannot be changed in this way. reason: a clause whose subject is the cell."""

    code: ClassVar[str] = "cell_conflict"
    cell_id: str
    reason: str
    edit_index: int | None = None


@dataclass(eq=False, kw_only=True)
class TooLarge(FileOpsError):
    """The file, or the selection of a raw read, is over the limit.

    to_read: the lines around the place of the session's last refused edit of the file.
    """

    code: ClassVar[str] = "too_large"
    size_bytes: int
    max_kb: int
    to_read: "LineRange | None" = None


@dataclass(eq=False, kw_only=True)
class TooManyChars(FileOpsError):
    code: ClassVar[str] = "too_many_chars"
    n_chars: int
    max_chars: int


@dataclass(eq=False, kw_only=True)
class NotRead(FileOpsError):
    """The session has not read the file, or only a part of it (`is_partial`) before writing the whole.

    cell_id: the cell of a notebook that it has not been shown. cell_lines: the numbers with which a read shows that
    cell, None if reads of the notebook show no cells.
    """

    code: ClassVar[str] = "not_read"
    is_partial: bool = False
    cell_id: str | None = None
    cell_lines: "LineRange | None" = None
    edit_index: int | None = None


@dataclass(eq=False, kw_only=True)
class ModifiedExternally(FileOpsError):
    """The file has changed since the session read it.

    changed_by: see Rebased. diff_since_read: unified diff from the content that the session read to the current one, if
    the former is still in memory; cells_since_read: the same of a notebook. relevance: why the edit could not be
    rebased, if that was tried.
    """

    code: ClassVar[str] = "modified_externally"
    changed_by: str = "external"
    diff_since_read: str | None = None
    cells_since_read: "ComparedCells | None" = None
    also_changed_by: str | None = None
    relevance: "Relevance | None" = None
    edit_index: int | None = None


@dataclass(eq=False, kw_only=True)
class NoMatch(FileOpsError):
    code: ClassVar[str] = "no_match"
    old_string: str
    edit_index: int = 0
    suggested_place: "SuggestedPlace | None" = None
    other_cell: str | None = None


@dataclass(eq=False, kw_only=True)
class MultipleMatches(FileOpsError):
    """The text occurs more than once. `lines` are the 1-based lines on which the candidates start, in order."""

    code: ClassVar[str] = "multiple_matches"
    old_string: str
    n_matches: int
    lines: tuple[int, ...]
    edit_index: int = 0


@dataclass(eq=False, kw_only=True)
class CountMismatch(FileOpsError):
    code: ClassVar[str] = "count_mismatch"
    n_expected: int
    n_found: int
    lines: tuple[int, ...] = ()
    edit_index: int = 0


@dataclass(eq=False, kw_only=True)
class NoChange(FileOpsError):
    """The edit would change nothing. `same_strings` is True if old and new are equal, False if only their bytes are."""

    code: ClassVar[str] = "no_change"
    same_strings: bool = True
    edit_index: int = 0


@dataclass(eq=False, kw_only=True)
class AlreadyExists(FileOpsError):
    """other_form: the file there is, if its name differs in its Unicode form (NFC, NFD) alone."""

    code: ClassVar[str] = "already_exists"
    edit_index: int = 0
    other_form: str | None = None


@dataclass(eq=False, kw_only=True)
class NotEncodable(FileOpsError):
    """The file cannot hold the new text.

    fault: the encoding does not have the characters ("characters"); they would mix UTF-8 into a file that is not UTF-8
    ("mixed"); the file has other bytes for them than the codec makes ("bytes"); the codec cannot begin or end at the
    place, because its bytes depend on those before them ("state"); or they would make a binary file of it ("binary"),
    the first one at `line` and `column`, 1-based, of the file as it would be.
    """

    code: ClassVar[str] = "not_encodable"
    encoding: str
    characters: str
    fault: Literal["characters", "mixed", "bytes", "state", "binary"] = "characters"
    edit_index: int = 0
    line: int = 0
    column: int = 0


@dataclass(eq=False, kw_only=True)
class InvalidPattern(FileOpsError):
    """A pattern, or a reference to it in the replacement, is invalid for the strategy."""

    code: ClassVar[str] = "invalid_pattern"
    reason: str
    edit_index: int = 0


@dataclass(eq=False, kw_only=True)
class StrategyFailed(FileOpsError):
    """A plugin's strategy raised, or returned places that are not a valid edit of the text."""

    code: ClassVar[str] = "strategy_failed"
    strategy: str
    reason: str
    edit_index: int = 0


@dataclass(eq=False, kw_only=True)
class InvalidPatch(FileOpsError):
    """A patch cannot be understood, or needs something unsupported. line: of the patch, 1-based. reason: a clause."""

    code: ClassVar[str] = "invalid_patch"
    line: int
    reason: str


@dataclass(eq=False, kw_only=True)
class HunkNotFound(FileOpsError):
    """The lines that a hunk keeps and removes are not in the file, or not where the patch says.

    old_string: those lines. edit_index: the number of the hunk in its file, 0-based. patch_line: where it begins in the
    patch, 1-based. anchor: the line after "@@" that is not in the file, None if it is the hunk's own lines. elsewhere:
    the 1-based lines of the file at which they are. wants_end: they should be at the end of the file; else below the
    hunk before it. is_whole_text: they should be all of a file that is deleted, and it has more.
    """

    code: ClassVar[str] = "no_match"
    old_string: str
    patch_line: int
    edit_index: int = 0
    suggested_place: "SuggestedPlace | None" = None
    anchor: str | None = None
    elsewhere: tuple[int, ...] = ()
    wants_end: bool = False
    is_whole_text: bool = False


@dataclass(eq=False, kw_only=True)
class HunkAmbiguous(MultipleMatches):
    """The lines of a hunk are at several places. patch_line: where the hunk begins in the patch, 1-based."""

    patch_line: int


@dataclass(eq=False, kw_only=True)
class ProcessingFailed(FileOpsError):
    """A plugin's processor raised, or returned something other than a text, or did not end."""

    code: ClassVar[str] = "processing_failed"
    processor: str
    reason: str


@dataclass(eq=False, kw_only=True)
class ValidationFailed(FileOpsError):
    """A plugin's validator refused the content that the edit would produce. `reason` is the validator's message."""

    code: ClassVar[str] = "validation_failed"
    validator: str
    reason: str


@dataclass(eq=False, kw_only=True)
class Rejected(FileOpsError):
    """The user rejected it. what: "edit" or "command". reason: their own words, "" if they gave none.

    by: the person who decided, if they did so in a review.
    """

    code: ClassVar[str] = "rejected"
    what: str = "edit"
    reason: str = ""
    by: "Decider | None" = None


@dataclass(eq=False, kw_only=True)
class NobodyDecided(FileOpsError):
    """A person was asked, and did not decide.

    what: "edit" or "command". editor_left: because the editor in which they were asked has gone.
    """

    code: ClassVar[str] = "undecided"
    what: str = "edit"
    editor_left: bool = False


@dataclass(eq=False, kw_only=True)
class ConsentUnavailable(FileOpsError):
    """A person has to consent to the edit, but none can be asked. rule: what demands it, see model.approval."""

    code: ClassVar[str] = "consent_unavailable"
    rule: "ConsentRule"


@dataclass(eq=False, kw_only=True)
class TooManyReviews(FileOpsError):
    """`n_waiting` edits of the session wait for a decision, the maximum."""

    code: ClassVar[str] = "too_many_reviews"
    n_waiting: int


@dataclass(eq=False, kw_only=True)
class ApprovalTimedOut(FileOpsError):
    code: ClassVar[str] = "approval_timeout"
    timeout_s: float
    what: str = "edit"


@dataclass(eq=False, kw_only=True)
class ApplyRefused(FileOpsError):
    """The editor refused a `workspace/applyEdit`. `reason` is its message, or ours if it gave none."""

    code: ClassVar[str] = "apply_refused"
    reason: str


@dataclass(eq=False, kw_only=True)
class DocumentUnknown(FileOpsError):
    """The editor has the file open, but its text is unknown. So neither that text nor the disk's may be used."""

    code: ClassVar[str] = "apply_refused"
    reason: str


@dataclass(eq=False, kw_only=True)
class SetUnsupported(FileOpsError):
    """A change set cannot be made of these changes. reason: a clause."""

    code: ClassVar[str] = "set_unsupported"
    reason: str


@dataclass(eq=False, kw_only=True)
class SetConflict(FileOpsError):
    """A change set failed after its first file had changed, and not all files could be restored.

    files: canonical paths of those. kept: where the old contents are. reason: a clause.
    """

    code: ClassVar[str] = "set_conflict"
    files: tuple[str, ...]
    reason: str
    kept: tuple[str, ...] = ()


@dataclass(eq=False, kw_only=True)
class UndoConflict(FileOpsError):
    """The undo was not made. `explanation` is a clause for after a colon.

    `ranges` are the lines of the current file that it would have to overwrite, where later changes prevent it. `cells`:
    of a notebook, the cells that are no longer as the edit left them.
    """

    code: ClassVar[str] = "undo_conflict"
    reason: UndoConflictReason = "later_changes"
    ranges: "tuple[LineRange, ...]" = ()
    explanation: str = ""
    cells: tuple[str, ...] = ()


@dataclass(eq=False, kw_only=True)
class UnknownTarget(FileOpsError):
    """There is nothing to rewind. `explanation` is a clause that says what is unknown, or not in force."""

    code: ClassVar[str] = "unknown_target"
    explanation: str


@dataclass(eq=False, kw_only=True)
class PlanChanged(FileOpsError):
    """The rewind would not do what its preview said."""

    code: ClassVar[str] = "plan_changed"


@dataclass(eq=False, kw_only=True)
class TooManyFiles(FileOpsError):
    code: ClassVar[str] = "too_many_files"
    n_files: int
    max_files: int


@dataclass(eq=False, kw_only=True)
class NotRecorded(FileOpsError):
    """There is no record. `path` is the folder in question, None if nothing is recorded at all."""

    code: ClassVar[str] = "not_recorded"
    path: str | None = None


@dataclass(eq=False, kw_only=True)
class DiskFull(FileOpsError):
    code: ClassVar[str] = "disk_full"
    reason: str
    hint: str = ""


@dataclass(eq=False, kw_only=True)
class IoFailure(FileOpsError):
    code: ClassVar[str] = "io_error"
    reason: str
    hint: str = ""


@dataclass(eq=False, kw_only=True)
class ConnectionFailed(FileOpsError):
    """A remote host cannot be reached. `where` names it without secrets.

    is_unsure: the last step had been sent, and may or may not have been executed.
    """

    code: ClassVar[str] = "connection_lost"
    where: str
    reason: str
    is_unsure: bool = False


@dataclass(eq=False, kw_only=True)
class CommandTimedOut(FileOpsError):
    code: ClassVar[str] = "command_timeout"
    timeout_s: float


@dataclass(eq=False, kw_only=True)
class CommandNotStarted(FileOpsError):
    code: ClassVar[str] = "command_failed"
    reason: str


FAILURES: tuple[type[FileOpsError], ...] = (
    FileMissing, IsDirectory, NotAbsolute, OutsideRoots, NotPermitted, PermissionRefused, NotRegularFile, BinaryFile,
    ImageUnreadable, NotebookFile, NotebookInvalid, CellNotFound, CellConflict, TooLarge, TooManyChars, NotRead,
    ModifiedExternally, NoMatch, MultipleMatches, CountMismatch, NoChange, AlreadyExists, NotEncodable,
    InvalidPattern, InvalidPatch, HunkNotFound, HunkAmbiguous,
    StrategyFailed, ProcessingFailed, ValidationFailed, Rejected, NobodyDecided, ConsentUnavailable, TooManyReviews,
    ApprovalTimedOut, DocumentUnknown, ApplyRefused, SetUnsupported, SetConflict, UndoConflict, UnknownTarget,
    PlanChanged, TooManyFiles, NotRecorded, DiskFull, IoFailure, ConnectionFailed, CommandTimedOut, CommandNotStarted,
)  # fmt: skip
