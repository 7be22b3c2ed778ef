"""What the daemon answers and tells, as frozen values made from JSON by `msgspec.convert`.

Keys that a newer daemon adds are ignored, never an error.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypedDict

import msgspec

# --- answers of the tools -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolError:
    """code: one of docs/PROTOCOL.md's "Error codes". message: one sentence for a person."""

    code: str
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
    """A change for a pane. diff: as `patch` takes it, where `exact` and not `truncated`."""

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
    """What came of one step of a multi edit; of a failed one only `index` and `status`.

    status: "ok", "failed" or "not_tried"; after a failure nothing was written, whatever stands here. match_lines:
    1-based, in the text that the step saw.
    """

    index: int
    status: str
    replacements: int
    match: str
    match_lines: list[int]


class CorrectedStep(TypedDict):
    """The words that `correct_edit` proposed and that were used."""

    edit_index: int
    old_string: str
    new_string: str


class Details(TypedDict, total=False):
    """The structured facts of an answer; which of them stand depends on the request and its outcome."""

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
    match: str
    edit_index: int
    match_lines: list[int]
    nearest: Nearest
    modified_by_user: bool
    edit_id: str
    edits: list[EditStepDetails]
    corrected: list[CorrectedStep]
    # on `modified_externally`
    changed_by: str
    diff_since_read: str


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
    """output: exactly the text for the model."""

    status: Literal["success", "error"]
    output: str
    error: ToolError | None = None
    ui_extra: UiExtra | None = None
    details: Details = field(default_factory=Details)
    attachments: tuple[Attachment, ...] = ()

    @property
    def ok(self) -> bool:
        return self.status == "success"

    @property
    def code(self) -> str | None:
        """The error's code, None for a success."""
        return None if self.error is None else self.error.code


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
    """One tool as a model is told of it. method: the request that executes it."""

    name: str
    method: str
    description: str
    input_schema: dict[str, Any]
    label: str = ""
    prompt_snippet: str = ""
    prompt_guidelines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """An applied edit. timestamp: seconds since the epoch. undoes, undone_by: ids of edits."""

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


# --- events -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class BecameStale:
    """source: "external", "buffer" or "session:ID"."""

    METHOD: ClassVar[str] = "fileops/didBecomeStale"
    file_path: str
    session_id: str
    reason: Literal["modified", "deleted", "replaced"]
    source: str
    timestamp: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DidRead:
    METHOD: ClassVar[str] = "fileops/didRead"
    file_path: str
    session_id: str
    timestamp: float
    size: int
    modified: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DidEdit:
    """content_length: characters."""

    METHOD: ClassVar[str] = "fileops/didEdit"
    file_path: str
    session_id: str
    timestamp: float
    content_length: int
    source: str
    edit_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DidConflict:
    METHOD: ClassVar[str] = "fileops/didConflict"
    file_path: str
    session_id: str
    last_read: float
    last_modified: float
    current_modified: float | None
    size_diff: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WatcherHealth:
    METHOD: ClassVar[str] = "fileops/watcherHealth"
    state: Literal["ok", "degraded"]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Notification:
    """Any other notification, as it came."""

    method: str
    params: Any


Event = BecameStale | DidRead | DidEdit | DidConflict | WatcherHealth | Notification

_EVENTS: Mapping[str, type[BecameStale | DidRead | DidEdit | DidConflict | WatcherHealth]] = {
    event.METHOD: event for event in (BecameStale, DidRead, DidEdit, DidConflict, WatcherHealth)
}


def event_of(method: str, params: Any) -> Event:
    """Raises: msgspec.ValidationError."""
    kind = _EVENTS.get(method)
    return Notification(method, params) if kind is None else msgspec.convert(params, kind)


# --- approval -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A change that waits for a decision. The texts are None over 1 MB."""

    title: str
    description: str
    file_path: str
    session_id: str
    operation: Literal["create", "modify"]
    diff: str
    hunks: tuple[Hunk, ...]
    original_text: str | None = None
    proposed_text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandQuestion:
    """A shell command that waits for a decision. description: what the agent says that it is for."""

    command: str
    cwd: str
    session_id: str
    description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """text: what to write instead (`modify`). hunk_ids: accept only these."""

    outcome: Literal["proceed_once", "proceed_always", "cancel", "modify"]
    text: str | None = None
    hunk_ids: tuple[str, ...] | None = None

    def as_json(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"outcome": self.outcome}
        if self.text is not None:
            fields["text"] = self.text
        if self.hunk_ids is not None:
            fields["hunk_ids"] = list(self.hunk_ids)
        return fields


# --- corrections --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Misquote:
    """An edit whose old_string does not stand in the file, and the place that it most likely meant."""

    file_path: str
    session_id: str
    edit_index: int
    old_string: str
    new_string: str
    reason: str
    nearest: Nearest | None = None
