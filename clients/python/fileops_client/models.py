"""What the daemon answers, as frozen values made from JSON by `msgspec.convert`.

Keys that a newer daemon adds are ignored, never an error.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from fileops_client.details import Details, RebasedOver, Suggestion
from fileops_client.formats import ResultFormat, result_for

Operation = Literal["create", "modify", "rename", "delete"]
ErrorCode = Literal[
    "already_exists",
    "apply_refused",
    "approval_timeout",
    "binary",
    "command_failed",
    "command_timeout",
    "connection_lost",
    "consent_unavailable",
    "count_mismatch",
    "disk_full",
    "image_unreadable",
    "invalid_params",
    "invalid_patch",
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
    "not_permitted",
    "not_read",
    "not_recorded",
    "not_regular_file",
    "notebook",
    "outside_roots",
    "permission_denied",
    "plan_changed",
    "processing_failed",
    "rejected",
    "set_conflict",
    "set_unsupported",
    "strategy_failed",
    "too_large",
    "too_many_chars",
    "too_many_files",
    "too_many_reviews",
    "undecided",
    "undo_conflict",
    "unknown_target",
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
    """A line of a hunk: context, removed or added. text: without its line feed."""

    kind: Literal[" ", "-", "+"]
    text: str
    no_newline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """A run of changed lines with their context. Starts are 1-based; `id` names it in an Answer."""

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
    operation: Operation
    file_path: str
    hunks: tuple[Hunk, ...]
    stats: Stats
    first_changed_line: int


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
        """Whether the tool did what it was asked."""
        return self.status == "success"

    @property
    def code(self) -> ErrorCode | None:
        """The error's code, None for a success."""
        return None if self.error is None else self.error.code

    @property
    def suggestions(self) -> "list[Suggestion]":
        """What to send in place of the steps that failed, the best first; empty for a success."""
        return self.details.get("suggestions", [])

    @property
    def text_for_model(self) -> str:
        """`output`, and the hints if they are not in it."""
        return "\n\n".join((self.output, *self.details.get("hints", ())))

    def for_model(self, format: ResultFormat, call_id: str, *, name: str | None = None) -> Any:  # noqa: A002
        """Return the result as a model API takes the answer to its call `call_id`, as JSON types, with the hints.

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
    """An applied edit. timestamp: seconds since the epoch. undoes, undone_by: ids of edits.

    rebased: if it was. set_id: of the change set that it is a part of.
    """

    edit_id: str
    file_path: str
    session_id: str
    timestamp: float
    operation: Operation
    summary: str
    diff: str
    stats: Stats
    undoable: bool
    undone_by: str | None = None
    undoes: tuple[str, ...] = ()
    set_id: str | None = None
    rebased: RebasedOver | None = None
