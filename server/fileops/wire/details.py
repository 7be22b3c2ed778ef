"""Shapes of `details` in results, and of the objects in them. The handlers build them as dicts; the schema names them.

Every key may be absent: which are there depends on the request and on its outcome (docs/PROTOCOL.md, R-READ-2, R-EDIT-2
and R-EDIT-3, R-UNDO-2, R-BASH-2).
"""

from typing import Literal, Required, TypedDict

from fileops.model.diagnostics import DiagnosticsReport
from fileops.model.edits import LineRange, Nearest, Operation, Relevance
from fileops.model.files import CommitReport
from fileops.model.rewind import RewindConflict
from fileops.model.suggestions import FailedStep, ShownLines, SuggestionKind, SyntaxReport
from fileops.wire.types import UiExtra


class Notice(TypedDict):
    """What others changed in a file that the session has read."""

    file_path: str
    """As the session gave it."""
    changed_by: str
    """`external`, `buffer` or a session."""
    kind: Literal["modified", "unsaved", "edited", "gone"]
    """What happened to it."""
    diff: str | None
    """The first lines of the hunks. Null where there are none to show."""
    truncated: bool
    """Whether lines of the diff were left out."""


class Noticing(TypedDict, total=False):
    notices: list[Notice]
    """With the option `notices`."""
    late_diagnostics: list[DiagnosticsReport]
    """With the option `diagnostics`: what earlier edits of the session did, known after their results."""


class Diagnosing(Noticing, total=False):
    diagnostics: DiagnosticsReport
    """With the option `diagnostics`: what the edits did to the problems of files. Absent if no source knows them."""


class ReadDetails(Noticing, total=False):
    """Of a read. The keys from `mime_type` to `n_frames` are those of an image."""

    start_line: int
    """1-based, as `end_line`."""
    end_line: int
    """The last line shown."""
    total_lines: int | None
    """Null if the end of the file was not reached."""
    next_offset: int | None
    """Where the next read continues. Null at the end of the file."""
    n_lines_hidden: int
    """Lines of the selection that were left out."""
    encoding: str
    """Of the file."""
    bom: bool
    """Whether the file begins with a byte order mark."""
    newline: Literal["\n", "\r\n", "mixed"] | None
    """Null if there is no line end."""
    size_bytes: int | None
    """Of the file."""
    mtime: float | None
    """Seconds since the epoch."""
    source: Literal["disk", "buffer"] | None
    """Whether the text is that of the disk or of an open document."""
    document_version: int | None
    """Of the document in the editor."""
    text: str
    """With `raw`."""
    mime_type: str
    """Of the file."""
    width: int
    """Pixels of the image in the file."""
    height: int
    """Pixels of the image in the file."""
    n_frames: int
    """Images in the file; only the first is shown."""
    hints: list[str]
    """On `too_large`, after a refused edit of the file: the text for the model about the lines to read."""


class RebasedEntry(TypedDict):
    """Over how many changes of others an edit was applied."""

    changed_by: str
    """The last of them: `external`, `buffer` or a session."""
    n_foreign_hunks: int
    """How many changes."""


class RebasedDetails(RebasedEntry):
    """What others had changed in a file when an edit was applied to it nevertheless."""

    ranges: tuple[LineRange, ...]
    """The lines that they changed, in the file as the edit found it."""
    diff: str | None
    """Unified. Null if it would be too long."""


class DecidedByDetails(TypedDict, total=False):
    """Who decided: a person, in the program `client`, or a policy, by its `rule`."""

    kind: Required[Literal["person", "policy"]]
    """Who decided."""
    client: str
    """The program in which a person did."""
    rule: str
    """Of a policy."""


class SuggestionDetails(TypedDict):
    """What to send in place of a step that failed."""

    edit_index: int
    """0-based."""
    kind: SuggestionKind
    """A place that was most likely meant, a longer text that is unique, or why nothing else has to be sent."""
    start_line: int
    """1-based, in the file."""
    end_line: int
    """Included."""
    old_string: str | None
    """The exact present text. Null where there is none to send, or it is too long or not certain."""
    note: str
    """Sentences for the model."""


class SuggestionsDetails(TypedDict, total=False):
    """What is added to the answer to a failed edit."""

    suggestions: list[SuggestionDetails]
    """What to send in place of the steps that failed, the best first."""
    failures: tuple[FailedStep, ...]
    """Every step that fails."""
    shown: ShownLines
    """What counts as read with this answer."""


class FailureDetails(TypedDict, total=False):
    edit_index: int
    """0-based, of the step that failed."""
    nearest: Nearest | None
    """Where the text was most likely meant. Null if nothing is similar."""
    match_lines: list[int]
    """1-based lines where the text was found."""
    patch_line: int
    """1-based, of the patch: where it, or the hunk that failed, has its fault."""
    changed_by: str
    """`external`, `buffer` or a session."""
    diff_since_read: str | None
    """Null if the content that was read is not known any more."""
    also_changed_by: str
    """Another one that changed the file."""
    relevance: Relevance
    """Of an edit that was refused, with `freshness` `relevant`."""
    processor: str
    """The one that failed."""
    validator: str
    """The one that refused the text."""
    reason: str
    """What it said, or of an `undo_conflict`: why."""
    ranges: tuple[LineRange, ...]
    """Of an `undo_conflict`: what the undo would have to overwrite."""
    decided_by: DecidedByDetails
    """Of a rejection."""
    left: list[str]
    """Of an `set_conflict`: files that have the new content, and could not be restored."""
    kept: list[str]
    """Of an `set_conflict`: where old contents of those files are kept."""


class StepDetails(TypedDict, total=False):
    """The outcome of one step of a multi-edit. Only a step that was applied has the last three keys."""

    index: int
    """0-based."""
    status: Literal["ok", "failed", "not_tried"]
    """After a failure no step was applied, also if it is `ok`."""
    replacements: int
    """Places."""
    match: str
    """How the text was found."""
    match_lines: list[int]
    """1-based."""


class CorrectedStep(TypedDict):
    """The strings that the client's model proposed and that were used."""

    edit_index: int
    """0-based."""
    old_string: str
    """In place of the one given."""
    new_string: str
    """In place of the one given."""


class EditDetails(FailureDetails, SuggestionsDetails, Diagnosing, total=False):
    """Of an edit, a multi-edit or a write. Which keys are there depends on its outcome."""

    replacements: int
    """Places."""
    created: bool
    """Whether the file was created."""
    applied_to: Literal["disk", "buffer"] | None
    """Where it was written. Null if it was not."""
    match: str | None
    """How the text was found: `exact` only if all of it was."""
    modified_by_user: bool
    """Whether the user changed the proposal."""
    edit_id: str | None
    """Null if nothing was written."""
    dry_run: bool
    """Whether nothing was to be written."""
    needs_approval: bool
    """Of a dry run: whether a user would be asked."""
    processed_by: list[str]
    """The processors that changed the text."""
    not_formatted: str
    """With `format`: why no language server formatted the changed lines, a clause."""
    edits: list[StepDetails]
    """Of a multi-edit: the outcome of each step."""
    corrected: list[CorrectedStep]
    """What was matched and written in place of what was given."""
    commit: CommitReport
    """How it was written."""
    rebased: RebasedDetails
    """Of an edit that was applied though others had changed the file, with `freshness` `relevant`."""
    original_text: str | None
    """With `include_texts`. Null over 1 MB."""
    proposed_text: str | None
    """With `include_texts`. Null over 1 MB."""
    syntax: SyntaxReport
    """Of an edit that was applied to a file that parsed before."""
    hints: list[str]
    """The texts for the model, the most important first."""


class ChangedFile(TypedDict, total=False):
    """A file of a change set."""

    file_path: Required[str]
    """As the session gave it."""
    operation: Required[Operation]
    """What happened to the file."""
    ui_extra: Required[UiExtra]
    """For a user interface."""
    edit_id: Required[str | None]
    """Of the entry in the history. Null before it is applied."""
    applied_to: Required[Literal["disk", "buffer"]]
    """An open editor's buffer, or the file on disk."""
    modified_by_user: Required[bool]
    """Whether it is not what was requested."""
    match: str
    """How edits or hunks were found. Absent if there are none."""
    new_path: str
    """Of a rename: the path afterwards, as the session gave it."""


class SetProblem(TypedDict):
    """Why one more change of a set cannot be made."""

    change_index: int
    """0-based."""
    code: str
    """As of the error of a result."""
    message: str
    """A sentence for the user."""


class ChangesDetails(FailureDetails, Diagnosing, total=False):
    """Of a change set or a patch. Which keys are there depends on its outcome."""

    set_id: str | None
    """For `undo`. Null if nothing was written."""
    files: list[ChangedFile]
    """In the order of the request."""
    dropped: list[str]
    """Paths, as given, of the files that the user left out."""
    modified_by_user: bool
    """Whether it is not what was requested."""
    dry_run: bool
    """Whether nothing was written, because the request said so."""
    needs_approval: bool
    """Of a dry run: whether a user would be asked."""
    change_index: int
    """0-based, of the change that failed first."""
    problems: list[SetProblem]
    """All further changes that would have failed."""
    suggestions: list[SuggestionDetails]
    """What to send in place of the steps that failed in the change that failed first, the best first."""
    failures: tuple[FailedStep, ...]
    """Every step that fails in that change."""
    hints: list[str]
    """The texts for the model about all changes that would have failed, the most important first."""


class UndoneFile(TypedDict):
    """What an undo did to one file."""

    file_path: str
    """As the session gave it."""
    undone: list[str]
    """The edits that were undone. None if the user changed the proposal."""
    edit_id: str | None
    """Of the undo. Null if nothing was written."""
    outcome: Literal["modified", "removed", "created"]
    """What happened to the file."""
    applied_to: Literal["disk", "buffer"]
    """Where it was written."""
    ui_extra: UiExtra
    """The change."""


class UndoDetails(FailureDetails, Diagnosing, total=False):
    """Of an undo."""

    undone: list[str]
    """The edits that were undone. None if the user changed the proposal."""
    edit_id: str | None
    """Of the undo itself, which can be undone, too. Null for several files, and if nothing was written."""
    applied_to: Literal["disk", "buffer"]
    """Where the newest edit's file was written."""
    modified_by_user: bool
    """Whether the user changed a proposal."""
    dry_run: bool
    """Whether nothing was to be written."""
    needs_approval: bool
    """Of a dry run: whether a user would be asked."""
    files: list[UndoneFile]
    """What happened to each file."""
    file_path: str
    """Of a failure: the file that failed. `undone` and `files` are what remains undone."""


class RewoundFile(TypedDict):
    """What a rewind did to one file."""

    file_path: str
    """Canonical."""
    outcome: Literal["modified", "removed", "created", "unchanged"]
    """What became of the file."""
    entries: list[str]
    """Those that are undone whole."""
    applied_to: Literal["disk", "buffer"]
    """The file, or the document in an editor."""
    added: int
    """Lines."""
    removed: int
    """Lines."""
    ui_extra: UiExtra
    """The change."""


class RewindDetails(FailureDetails, Diagnosing, total=False):
    """What a rewind did, or would do."""

    rewind_id: str | None
    """Null if nothing was written."""
    dry_run: bool
    """Whether it was a preview."""
    plan: str | None
    """Of what was done, or would be."""
    files: list[RewoundFile]
    """Those that were changed, or would be."""
    conflicts: tuple[RewindConflict, ...]
    """What is left."""
    n_undone: int
    """Entries that were undone."""
    n_left: int
    """Entries of which something is left."""
    needs_approval: bool
    """Of a preview: whether the user would be asked."""
    file_path: str
    """Of a failure: the file that could not be written."""
    still_undone: list[str]
    """Of a failure: the files that could not be restored."""


class BashDetails(Noticing, total=False):
    """The outcome of a shell command."""

    exit_code: int | None
    """128 + number after a signal. Null if the command did not run to its end."""
    cwd: str
    """Where it ran."""
    duration_s: float
    """Without the time of the approval."""
    n_output_bytes: int
    """All of its output."""
    truncated: bool
    """Whether the middle of the output was left out."""
