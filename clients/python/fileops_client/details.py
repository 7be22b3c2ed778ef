"""The `details` of a result, as the daemon sends them: JSON objects with these keys."""

from typing import Any, Literal, Required, TypedDict


class Nearest(TypedDict):
    """The place that is closest to a text that was not found. Lines are 1-based, both ends included."""

    start_line: int
    end_line: int
    similarity: float
    diff: str
    differs_in: list[str]


class EditStepDetails(TypedDict, total=False):
    """The outcome of one step of a multi edit. A failed step has only `index` and `status`.

    status: "ok", "failed" or "not_tried"; after a failure nothing was written, even for "ok". match_lines:
    1-based, in the text that the step saw.
    """

    index: int
    status: str
    replacements: int
    match: str
    match_lines: list[int]
    patch_line: int


class CorrectedStep(TypedDict):
    """The strings that `correct_edit` proposed and that were used."""

    edit_index: int
    old_string: str
    new_string: str


class CommitDetails(TypedDict):
    """How the change was committed, as in docs/PROTOCOL.md. `reason` says why not in the usual way."""

    method: str
    durability: str
    reason: str | None


class LineRange(TypedDict):
    """A range of lines: 1-based, both ends included."""

    start_line: int
    end_line: int


class Rebased(TypedDict):
    """What others had changed in a file when an edit was applied to it nevertheless. `diff` is None if too long."""

    changed_by: str
    n_foreign_hunks: int
    ranges: list[LineRange]
    diff: str | None


class RebasedOver(TypedDict):
    """The changes of others over which an applied edit was rebased."""

    changed_by: str
    n_foreign_hunks: int


class Relevance(TypedDict):
    """Why the edit of a changed file was not rebased. `ranges` are the lines that others changed."""

    reason: Literal["no_base", "format", "too_large", "near", "elsewhere", "no_match_now", "no_match_then", "count"]
    ranges: list[LineRange]


class Notice(TypedDict):
    """A change of others in a file that the session has read. `diff` has no header; `truncated`: its first lines."""

    file_path: str
    changed_by: str
    kind: Literal["modified", "unsaved", "edited", "gone"]
    diff: str | None
    truncated: bool


class Suggestion(TypedDict):
    """What to send in place of a step that failed.

    kind: "nearest", "unique", "already_there" or "seen_now". old_string: the exact present text, None where there is
    none to send, or it is too long or not certain. note: sentences for the model.
    """

    edit_index: int
    kind: str
    start_line: int
    end_line: int
    old_string: str | None
    note: str


class FailedStep(TypedDict):
    """Why a step cannot be made. `after` is the failed step without which it could, None if it is its own fault."""

    edit_index: int
    code: str
    message: str
    after: int | None
    match_lines: list[int]
    n_more: int


class ShownLines(TypedDict):
    """Lines that count as read with this answer, numbered as a read shows them."""

    ranges: list[LineRange]
    text: str


class SyntaxFault(TypedDict):
    """A syntax error. Line and column are 1-based."""

    line: int
    column: int
    message: str


class SyntaxReport(TypedDict):
    """The first syntax errors of a file that had none before the edit."""

    language: str
    errors: list[SyntaxFault]


class UndoneFile(TypedDict):
    """An undone file. `ui_extra` is a UiExtra as JSON."""

    file_path: str
    undone: list[str]
    edit_id: str | None
    outcome: Literal["modified", "removed", "created"]
    applied_to: Literal["disk", "buffer"]
    ui_extra: dict[str, Any]


class ChangedFile(TypedDict, total=False):
    """A file of a change set. `ui_extra` is a UiExtra as JSON. new_path: of a rename."""

    file_path: Required[str]
    operation: Required[Literal["create", "modify", "rename", "delete"]]
    ui_extra: Required[dict[str, Any]]
    edit_id: Required[str | None]
    applied_to: Required[Literal["disk", "buffer"]]
    modified_by_user: Required[bool]
    match: str
    new_path: str


class SetProblem(TypedDict):
    """Why one more change of a set cannot be made. change_index: 0-based."""

    change_index: int
    code: str
    message: str


class DecidedBy(TypedDict, total=False):
    """Who decided that an edit is not made: a person, in the program `client`, or a policy, by its `rule`."""

    kind: Required[Literal["person", "policy"]]
    client: str
    rule: str


class CoercedArgument(TypedDict):
    """An argument of a lenient call that was not of the schema's type: its place, as given, and as it was read."""

    path: str
    given: Any
    read_as: Any


class Details(TypedDict, total=False):
    """The structured facts of a result. The request and its outcome determine which of them are set."""

    # of a read
    start_line: int
    end_line: int
    total_lines: int | None
    next_offset: int | None
    n_lines_hidden: int
    encoding: str
    bom: bool
    newline: str | None
    size_bytes: int
    mtime: float
    source: Literal["disk", "buffer"]
    document_version: int | None
    text: str  # with `raw`
    # of a shell command
    exit_code: int | None
    cwd: str
    duration_s: float
    n_output_bytes: int
    truncated: bool
    # of a read of an image
    mime_type: str
    width: int
    height: int
    n_frames: int
    # of an edit
    replacements: int
    created: bool
    applied_to: Literal["disk", "buffer"]
    match: str | None
    edit_index: int
    match_lines: list[int]
    nearest: Nearest | None
    modified_by_user: bool
    edit_id: str | None
    edits: list[EditStepDetails]
    corrected: list[CorrectedStep]
    dry_run: bool
    processed_by: list[str]  # the processors that changed the text
    needs_approval: bool  # of a dry run: whether a user would be asked about the same edit
    commit: CommitDetails
    rebased: Rebased
    coerced: list["CoercedArgument"]
    original_text: str | None  # with `include_texts`, None over 1 MB
    proposed_text: str | None
    # on `modified_externally`
    changed_by: str
    diff_since_read: str | None
    also_changed_by: str
    relevance: Relevance
    # on `consent_unavailable`, and on `rejected` in a review
    decided_by: DecidedBy
    # on `processing_failed`, with `reason`
    processor: str
    # on `validation_failed`
    validator: str
    reason: str  # also on `undo_conflict`: "nothing_to_undo", "unknown_edit", "already_undone" or "later_changes"
    # of a change set; `files` is a list of ChangedFile then
    set_id: str | None
    dropped: list[str]  # paths that the user has left out
    change_index: int  # of the change that failed first
    problems: list["SetProblem"]  # of all others that would have failed
    left: list[str]  # on `set_conflict`: paths that could not be brought back
    kept: list[str]  # where their old contents are
    # of an undo
    undone: list[str]
    files: list[Any]  # of UndoneFile or ChangedFile
    file_path: str
    ranges: list[LineRange]
    # of an edit, unless the option `hints` is "off"
    suggestions: list[Suggestion]
    failures: list[FailedStep]
    shown: ShownLines
    syntax: SyntaxReport
    hints: list[str]  # the texts for the model, unless they are in `output`; also of a read that is too large
    # of any result, with the option `notices`
    notices: list[Notice]
