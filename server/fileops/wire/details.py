"""Shapes of `details` in results, and of the objects in them. The handlers build them as dicts; the schema names them.

Every key may be absent: the request and its outcome decide which are present (docs/PROTOCOL.md, R-READ-2, R-EDIT-2 and
R-EDIT-3, R-UNDO-2, R-BASH-2).
"""

from typing import Literal, NotRequired, Required, TypedDict

from fileops.model.diagnostics import DiagnosticsReport
from fileops.model.edits import LineRange, Operation, Relevance, SuggestedPlace
from fileops.model.files import CommitReport
from fileops.model.notebooks import CellEditKind, CellType, CellView, NotebookFault, OtherChange
from fileops.model.rewind import RewindConflict
from fileops.model.suggestions import FailedStep, ShownLines, SuggestionKind, SyntaxReport
from fileops.wire.types import CellUiExtra, UiExtra


class Notice(TypedDict):
    """What others changed in a file that the session has read."""

    file_path: str
    """Path as the session gave it."""
    changed_by: str
    """The author: `external`, `buffer` or a session."""
    kind: Literal["modified", "unsaved", "edited", "gone"]
    """What happened to the file."""
    diff: str | None
    """The first lines of the hunks; null if there are none to show."""
    truncated: bool
    """Whether lines of the diff were left out."""


class Noticing(TypedDict, total=False):
    notices: list[Notice]
    """With the option `notices`: what others changed in files that the session has read."""
    late_diagnostics: list[DiagnosticsReport]
    """With the option `diagnostics`: reports on the session's earlier edits that came after their results."""


class Diagnosing(Noticing, total=False):
    diagnostics: DiagnosticsReport
    """With the option `diagnostics`: how the edits changed the files' problems. Absent if no source knows them."""


class NotCells(TypedDict):
    """Why the cells of a notebook are not shown."""

    fault: NotebookFault
    """The kind of fault."""
    reason: str
    """A clause about it."""
    line: int | None
    """The line with the fault; null if it is not known."""


class ChangedCell(TypedDict):
    """A cell that an edit of a notebook changed."""

    kind: CellEditKind
    """What was done."""
    cell_id: str
    """The name of the cell after it; of all cells together empty."""
    index: int
    """Its 0-based index after it; of a deleted one, before it."""
    cell_type: CellType
    """Its type after it."""


class ReadDetails(Noticing, total=False):
    """Details of a read. The keys from `mime_type` to `n_frames` describe an image."""

    start_line: int
    """1-based number of the first line shown."""
    end_line: int
    """1-based number of the last line shown."""
    total_lines: int | None
    """Lines of the file; null if the end was not reached."""
    next_offset: int | None
    """Where the next read continues; null at the end of the file."""
    n_lines_hidden: int
    """How many selected lines were left out."""
    encoding: str
    """The file's encoding."""
    bom: bool
    """Whether the file begins with a byte order mark."""
    newline: Literal["\n", "\r\n", "mixed"] | None
    """The file's line ends; null if there are none."""
    size_bytes: int | None
    """Size of the file in bytes."""
    mtime: float | None
    """Modification time, in seconds since the epoch."""
    source: Literal["disk", "buffer"] | None
    """Whether the text is from the disk or from an open document."""
    document_version: int | None
    """Version of the document in the editor."""
    text: str
    """With `raw`: the unchanged text."""
    mime_type: str
    """Type of the image."""
    width: int
    """Width of the image in the file, in pixels."""
    height: int
    """Height of the image in the file, in pixels."""
    n_frames: int
    """How many images the file contains; only the first is shown."""
    cells: list[CellView]
    """The cells of a notebook on this page."""
    not_cells: NotCells
    """Why the text of a notebook is shown and not its cells."""
    suggestion_texts: list[str]
    """After a refused edit of a file that is `too_large`: the text for the model about the lines to read."""


class RebasedEntry(TypedDict):
    """How many changes by others an edit was applied over."""

    changed_by: str
    """The author of the last change: `external`, `buffer` or a session."""
    n_foreign_hunks: int
    """How many changes."""


class CellsSinceRead(TypedDict, total=False):
    """What others have changed in a notebook since the session's read, to be shown instead of the diff."""

    cells_since_read: list[CellUiExtra]
    """For a notebook: the cells that differ."""
    other_change: OtherChange
    """For a notebook whose cells have the same sources, types and order: what differs."""


class RebasedDetails(RebasedEntry, CellsSinceRead):
    """What others had changed in a file to which an edit was applied all the same."""

    ranges: tuple[LineRange, ...]
    """The changed lines, in the file as the edit found it."""
    diff: str | None
    """Unified diff; null if it would be too long."""


class DecidedByDetails(TypedDict, total=False):
    """Who decided: a person, in the program `client`, or a policy, by its `rule`."""

    kind: Required[Literal["person", "policy"]]
    """Whether a person or a policy decided."""
    client: str
    """The program in which the person decided."""
    rule: str
    """The policy's rule."""


class SuggestionDetails(TypedDict):
    """What to send instead of a step that failed."""

    edit_index: int
    """0-based index of the step."""
    kind: SuggestionKind
    """The most likely place, a longer text that is unique, or why nothing else has to be sent."""
    start_line: int
    """1-based first line in the file."""
    end_line: int
    """1-based last line in the file, included."""
    old_string: str | None
    """The exact current text; null if there is none to send, or it is too long or uncertain."""
    note: str
    """The explanation for the model."""
    cell_id: NotRequired[str]
    """Of an edit of a notebook: the cell that the lines are in. They are numbered as a read by cells shows them."""


class SuggestionsDetails(TypedDict, total=False):
    """What is added to the answer to a failed edit."""

    suggestions: list[SuggestionDetails]
    """What to send instead of the failed steps, best first."""
    failures: tuple[FailedStep, ...]
    """Every failing step."""
    shown: ShownLines
    """The lines that count as read with this answer."""


class FailureDetails(CellsSinceRead, total=False):
    edit_index: int
    """0-based index of the failed step."""
    suggested_place: SuggestedPlace | None
    """Where the text was most likely meant; null if nothing is similar."""
    match_lines: list[int]
    """1-based lines where the text was found."""
    patch_line: int
    """1-based line of the patch with the fault, or with the hunk that failed."""
    changed_by: str
    """The author of the change: `external`, `buffer` or a session."""
    diff_since_read: str | None
    """What changed since the read; null if the content that was read is no longer known."""
    also_changed_by: str
    """Another author who changed the file."""
    relevance: Relevance
    """With `freshness` `relevant`: why others' changes were relevant to the edit."""
    fault: NotebookFault
    """For `notebook_invalid`: the kind of fault."""
    cell_id: str
    """For `no_cell`, `cell_conflict` and `not_read`: the cell as the edit names it."""
    cell_ids: list[str]
    """For `undo_conflict`: the cells of a notebook that are no longer as the edit left them."""
    same_id: list[str]
    """For `no_cell`: the names of the cells that share this id."""
    at_index: str | None
    """For `no_cell`: the id of the cell at the index that the name seems to be."""
    last: str | None
    """For `no_cell`: the name of the last cell."""
    processor: str
    """The processor that failed."""
    validator: str
    """The validator that refused the text."""
    reason: str
    """The reason of the processor or validator, or of an `undo_conflict`."""
    ranges: tuple[LineRange, ...]
    """For an `undo_conflict`: the lines that the undo would have to overwrite."""
    decided_by: DecidedByDetails
    """Who rejected the edit."""
    left: list[str]
    """For a `set_conflict`: files with the new content that could not be restored."""
    kept: list[str]
    """For a `set_conflict`: where the old contents of those files are kept."""


class StepDetails(TypedDict, total=False):
    """The outcome of one step of a multi-edit. Only an applied step has the last three keys."""

    index: int
    """0-based index of the step."""
    status: Literal["ok", "failed", "not_tried"]
    """The step's own outcome. After a failure no step was applied, even if it is `ok`."""
    replacements: int
    """How many places were replaced."""
    match: str
    """How the text was found."""
    match_lines: list[int]
    """1-based lines of the places."""


class CorrectedStep(TypedDict):
    """The strings that the client's model proposed and that were used."""

    edit_index: int
    """0-based index of the step."""
    old_string: str
    """The text that replaced the given `old_string`."""
    new_string: str
    """The text that replaced the given `new_string`."""


class EditDetails(FailureDetails, SuggestionsDetails, Diagnosing, total=False):
    """Details of an edit, a multi-edit or a write. The outcome decides which keys are present."""

    replacements: int
    """How many places were replaced."""
    created: bool
    """Whether the file was created."""
    applied_to: Literal["disk", "buffer"] | None
    """Where the edit was written; null if it was not."""
    match: str | None
    """How the text was found: `exact` only if all of it was."""
    modified_by_user: bool
    """Whether the user changed the proposal."""
    edit_id: str | None
    """The edit's id in the history; null if nothing was written."""
    dry_run: bool
    """Whether it was a dry run, which writes nothing."""
    needs_approval: bool
    """For a dry run: whether a user would be asked."""
    processed_by: list[str]
    """The processors that changed the text."""
    not_formatted: str
    """With `format`: why no language server formatted the changed lines, as a clause."""
    cells: list[ChangedCell]
    """For an edit of a notebook: what each step did."""
    edits: list[StepDetails]
    """For a multi-edit: the outcome of each step."""
    corrected: list[CorrectedStep]
    """Strings that replaced the given ones."""
    commit: CommitReport
    """How the edit was written."""
    rebased: RebasedDetails
    """With `freshness` `relevant`: what others had changed in the file."""
    original_text: str | None
    """With `include_texts`: the whole text before; null over 1 MB."""
    proposed_text: str | None
    """With `include_texts`: the whole text after; null over 1 MB."""
    syntax: SyntaxReport
    """The syntax errors of a file that had none before the edit."""
    suggestion_texts: list[str]
    """The texts for the model, most important first."""


class ChangedFile(TypedDict, total=False):
    """A file of a change set."""

    file_path: Required[str]
    """Path as the session gave it."""
    operation: Required[Operation]
    """What happened to the file."""
    ui_extra: Required[UiExtra]
    """The change, for a user interface."""
    edit_id: Required[str | None]
    """The edit's id in the history; null until it is applied."""
    applied_to: Required[Literal["disk", "buffer"]]
    """Whether the open document or the file on disk was changed."""
    modified_by_user: Required[bool]
    """Whether the change differs from the request."""
    match: str
    """How edits or hunks were found; absent if there are none."""
    new_path: str
    """For a rename: the new path, as the session gave it."""


class SetProblem(TypedDict):
    """Why another change of a set cannot be made."""

    change_index: int
    """0-based index of the change."""
    code: str
    """An error code, as in a result's error."""
    message: str
    """The message for the user."""


class ChangesDetails(FailureDetails, Diagnosing, total=False):
    """Details of a change set or a patch. The outcome decides which keys are present."""

    set_id: str | None
    """The set's id, for `undo`; null if nothing was written."""
    files: list[ChangedFile]
    """The changed files, in the order of the request."""
    dropped: list[str]
    """Paths, as given, of files that the user left out."""
    modified_by_user: bool
    """Whether the changes differ from the request."""
    dry_run: bool
    """Whether it was a dry run, which writes nothing."""
    needs_approval: bool
    """For a dry run: whether a user would be asked."""
    change_index: int
    """0-based index of the change that failed first."""
    problems: list[SetProblem]
    """All other changes that would fail."""
    suggestions: list[SuggestionDetails]
    """What to send instead of the failed steps of the first failed change, best first."""
    failures: tuple[FailedStep, ...]
    """Every failing step of that change."""
    suggestion_texts: list[str]
    """The texts for the model about all failing changes, most important first."""


class UndoneFile(TypedDict):
    """What an undo did to one file."""

    file_path: str
    """Path as the session gave it."""
    undone: list[str]
    """The undone edits; empty if the user changed the proposal."""
    edit_id: str | None
    """The id of the undo; null if nothing was written."""
    outcome: Literal["modified", "removed", "created"]
    """What happened to the file."""
    applied_to: Literal["disk", "buffer"]
    """Whether the open document or the file on disk was changed."""
    ui_extra: UiExtra
    """The change."""


class UndoDetails(FailureDetails, Diagnosing, total=False):
    """Details of an undo."""

    undone: list[str]
    """The undone edits; empty if the user changed the proposal."""
    edit_id: str | None
    """The id of the undo itself, which can also be undone; null for several files, and if nothing was written."""
    applied_to: Literal["disk", "buffer"]
    """Where the file of the newest edit was written."""
    modified_by_user: bool
    """Whether the user changed a proposal."""
    dry_run: bool
    """Whether it was a dry run, which writes nothing."""
    needs_approval: bool
    """For a dry run: whether a user would be asked."""
    files: list[UndoneFile]
    """What happened to each file."""
    file_path: str
    """After a failure: the file that failed. `undone` and `files` are what stays undone."""


class RewoundFile(TypedDict):
    """What a rewind did to one file."""

    file_path: str
    """Canonical path."""
    outcome: Literal["modified", "removed", "created", "unchanged"]
    """What happened to the file."""
    entries: list[str]
    """The entries that are completely undone."""
    applied_to: Literal["disk", "buffer"]
    """Whether the open document or the file on disk was changed."""
    added: int
    """How many lines were added."""
    removed: int
    """How many lines were removed."""
    ui_extra: UiExtra
    """The change."""
    moved_from: NotRequired[str]
    """Of a file that the rewind renames: its other name, which is among the files, too, as removed."""


class RewindDetails(FailureDetails, Diagnosing, total=False):
    """What a rewind did, or would do."""

    rewind_id: str | None
    """The id of the rewind; null if nothing was written."""
    dry_run: bool
    """Whether it was a preview, which writes nothing."""
    plan: str | None
    """The id of the plan that was, or would be, carried out."""
    files: list[RewoundFile]
    """The files that were, or would be, changed."""
    conflicts: tuple[RewindConflict, ...]
    """What is left, and why."""
    n_undone: int
    """How many entries were undone."""
    n_changes: int
    """How many places change, as lists count them: a file that is created, removed or renamed is one."""
    n_files: int
    """In how many files these are."""
    n_left: int
    """How many entries are left, at least in part."""
    n_decided: int
    """With `undecided`: how many entries are left out, at least in part: kept, committed or overwritten."""
    n_decided_files: int
    """In how many files these are."""
    needs_approval: bool
    """For a preview: whether the user would be asked."""
    file_path: str
    """After a failure: the file that could not be written."""
    still_undone: list[str]
    """After a failure: the files that could not be restored."""


class BashDetails(Noticing, total=False):
    """The outcome of a shell command."""

    exit_code: int | None
    """The exit code; 128 + number after a signal. Null if the command did not finish."""
    cwd: str
    """The working directory."""
    duration_s: float
    """How long the command ran, in seconds, without the time for the approval."""
    n_output_bytes: int
    """Size of the whole output in bytes."""
    truncated: bool
    """Whether the middle of the output was left out."""
