"""What the daemon answers, as frozen values made from JSON by `msgspec.convert`.

Keys that a newer daemon adds are ignored, never an error.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from fileops_client.formats import ResultFormat, result_for

ErrorCode = Literal[
    "already_exists",
    "apply_refused",
    "approval_timeout",
    "binary",
    "command_failed",
    "command_timeout",
    "connection_lost",
    "count_mismatch",
    "disk_full",
    "image_unreadable",
    "invalid_params",
    "invalid_pattern",
    "io_error",
    "is_directory",
    "modified_externally",
    "multiple_matches",
    "no_change",
    "no_match",
    "not_absolute",
    "not_encodable",
    "not_found",
    "not_read",
    "not_regular_file",
    "notebook",
    "outside_roots",
    "permission_denied",
    "rejected",
    "strategy_failed",
    "too_large",
    "too_many_chars",
    "undo_conflict",
    "validation_failed",
]

if TYPE_CHECKING:
    _Code = ErrorCode
else:
    _Code = str  # a newer server may have further codes, which must not fail the call


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolError:
    """A failure. `code` is one of docs/PROTOCOL.md's "Error codes"; `message` is one sentence for the user."""

    code: _Code
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HunkLine:
    kind: Literal[" ", "-", "+"]
    text: str
    no_newline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    id: str
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[HunkLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Lines."""

    added: int
    removed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UiExtra:
    """A change for display. If it is `exact` and not `truncated`, `patch` accepts the diff."""

    diff: str
    exact: bool
    truncated: bool
    operation: Literal["create", "modify", "delete"]
    file_path: str
    hunks: tuple[Hunk, ...]
    stats: Stats
    first_changed_line: int


class Nearest(TypedDict):
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


class UndoneFile(TypedDict):
    """An undone file. `ui_extra` is a UiExtra as JSON."""

    file_path: str
    undone: list[str]
    edit_id: str | None
    outcome: Literal["modified", "removed", "created"]
    applied_to: Literal["disk", "buffer"]
    ui_extra: dict[str, Any]


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
    # on `validation_failed`
    validator: str
    reason: str
    # of an undo
    undone: list[str]
    files: list[UndoneFile]
    file_path: str
    ranges: list[LineRange]
    # of any result, with the option `notices`
    notices: list[Notice]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """An image that belongs to an answer, for a model that can see. data: base64. Sides in pixels."""

    type: str
    mime_type: str
    data: str
    width: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a tool. `output` is exactly the text for the model.

    tool_name: of the tool that the model called, None unless it was called by name.
    """

    status: Literal["success", "error"]
    output: str
    error: ToolError | None = None
    ui_extra: UiExtra | None = None
    details: Details = field(default_factory=Details)
    attachments: tuple[Attachment, ...] = ()
    tool_name: str | None = None

    @property
    def ok(self) -> bool:
        return self.status == "success"

    @property
    def code(self) -> ErrorCode | None:
        """The error's code, None for a success."""
        return None if self.error is None else self.error.code

    def for_model(self, format: ResultFormat, call_id: str, *, name: str | None = None) -> Any:  # noqa: A002
        """Return the result as a model API takes the answer to its call `call_id`, as JSON types.

        name: the tool's name, which "gemini" and "pydantic-ai" contain; by default that of the call.
        Images are attached if the format can carry them (all but "openai"). Raises: ValueError.
        """
        return result_for(self, format, call_id, self.tool_name if name is None else name)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedFile:
    """What the session has seen of one file. Times in seconds since the epoch."""

    file_path: str
    state: Literal["fresh", "stale"]
    reason: str | None = None
    read_at: float | None = None
    mtime: float | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """The definition of a tool for a model. `method` is the request that executes it."""

    name: str
    method: str
    description: str
    input_schema: dict[str, Any]
    label: str = ""
    prompt_snippet: str = ""
    prompt_guidelines: tuple[str, ...] = ()
    icon: str = ""  # "file", "pencil" or "terminal"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """An applied edit. timestamp: seconds since the epoch. undoes, undone_by: ids of edits. rebased: if it was."""

    edit_id: str
    file_path: str
    session_id: str
    timestamp: float
    operation: Literal["create", "modify", "delete"]
    summary: str
    diff: str
    stats: Stats
    undoable: bool
    undone_by: str | None = None
    undoes: tuple[str, ...] = ()
    rebased: RebasedOver | None = None
