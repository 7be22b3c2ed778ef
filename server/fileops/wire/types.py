"""Wire types: params and results of `fileops/*` requests as docs/PROTOCOL.md defines them.

Key order is the order on the wire. A key with a default may be absent or null. Handlers translate these types to and
from the model with `convert.py` and the modules beside it.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fileops.model.edits import Hunk
from fileops.model.results import TrackedFile

SessionId = str
AtLeastOne = Annotated[int, Meta(ge=1)]
JsonObject = dict[str, object]

# --- params ------------------------------------------------------------------------------------------------------


class Params(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """LSP's two tokens, which every request may have."""

    work_done_token: str | int | None = msgspec.field(default=None, name="workDoneToken")
    partial_result_token: str | int | None = msgspec.field(default=None, name="partialResultToken")


class SessionParams(Params, frozen=True, kw_only=True):
    session_id: SessionId | None = None


class ReadParams(SessionParams, frozen=True, kw_only=True):
    file_path: str
    offset: int | None = None
    limit: AtLeastOne | None = None
    raw: bool | None = None


class WriteParams(SessionParams, frozen=True, kw_only=True):
    file_path: str
    content: str
    dry_run: bool | None = None
    include_texts: bool | None = None


class EditParams(SessionParams, frozen=True, kw_only=True):
    file_path: str
    old_string: str
    new_string: str
    replace_all: bool | None = None
    expected_replacements: AtLeastOne | None = None
    strategy: str | None = None
    dry_run: bool | None = None
    include_texts: bool | None = None


class EditStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    old_string: str
    new_string: str
    replace_all: bool | None = None
    strategy: str | None = None


class MultiEditParams(SessionParams, frozen=True, kw_only=True):
    file_path: str
    edits: Annotated[list[EditStep], Meta(min_length=1, description="At least one edit operation is required")]
    dry_run: bool | None = None
    include_texts: bool | None = None


class ToolsParams(Params, frozen=True, kw_only=True):
    enabled: list[str] | None = None  # names of tools
    other_tools: list[str] | None = None  # names of the client's own tools


class CloseSessionParams(Params, frozen=True, kw_only=True):
    session_id: SessionId


class SetApprovalModeParams(SessionParams, frozen=True, kw_only=True):
    mode: Literal["default", "auto_edit", "yolo"]


class HistoryParams(SessionParams, frozen=True, kw_only=True):
    """Without session_id the history is that of all sessions."""

    file_path: str | None = None
    limit: AtLeastOne | None = None


class UndoParams(SessionParams, frozen=True, kw_only=True):
    edit_id: str | None = None
    file_path: str | None = None
    dry_run: bool | None = None
    approved: bool | None = None  # the client's user asked for it, or has confirmed it


class UndoEditArgument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Argument of the command `fileops.undoEdit`."""

    edit_id: str


class UndoSessionArgument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Argument of the command `fileops.undoSession`."""

    session_id: SessionId
    file_path: str | None = None


# --- initializationOptions -----------------------------------------------------------------------------------------


class LimitOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    max_lines: AtLeastOne | None = None
    max_line_chars: AtLeastOne | None = None
    max_file_kb: AtLeastOne | None = None
    max_chars: AtLeastOne | None = None


class FilesystemOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    prefix: str
    url: str
    options: JsonObject | None = None


class EncodingOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    glob: str
    encoding: str


class TextOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    read_reminder: str | None = None
    read_advice: str | None = None
    notebook_advice: str | None = None


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    freshness: Literal["mtime", "content", "relevant"] | None = None
    confine: Literal["edits", "all", "off"] | None = None
    roots: list[str] | None = None
    approval_mode: Literal["default", "auto_edit", "yolo"] | None = None
    approval_timeout_s: Annotated[float, Meta(gt=0)] | None = None
    fill_empty_files: bool | None = None
    notebooks: Literal["refuse", "text"] | None = None
    images: Literal["attach", "refuse"] | None = None
    correction: bool | None = None
    correction_timeout_s: Annotated[float, Meta(gt=0)] | None = None
    processors: list[str] | None = None
    validators: list[str] | None = None
    notices: Literal["off", "details", "output"] | None = None
    limits: LimitOptions | None = None
    texts: TextOptions | None = None
    approval_fallback: Literal["none", "message"] | None = None
    agents_approval: Literal["default", "auto_edit", "yolo"] | None = None
    review_grace_s: Annotated[float, Meta(ge=0, le=600)] | None = None
    history: Literal["memory", "persistent"] | None = None
    record: Literal["on", "edits", "off"] | None = None
    record_titles: bool | None = None
    code_lens: bool | None = None
    filesystems: list[FilesystemOptions] | None = None
    bash: bool | None = None
    encodings: list[EncodingOptions] | None = None
    unreadable: list[str] | None = None  # globs


# --- results -------------------------------------------------------------------------------------------------------


class ErrorInfo(msgspec.Struct, frozen=True, kw_only=True):
    code: str  # see docs/PROTOCOL.md, "Error codes"
    message: str  # a sentence for the user


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    added: int
    removed: int


class UiExtra(msgspec.Struct, frozen=True, kw_only=True):
    diff: str
    exact: bool
    truncated: bool
    operation: Literal["create", "modify"]
    file_path: str
    hunks: tuple[Hunk, ...]
    stats: Stats
    first_changed_line: int


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    type: Literal["image"] = "image"
    mime_type: str
    data: str  # base64
    width: int  # pixels
    height: int


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    status: Literal["success", "error"]
    output: str
    error: ErrorInfo | None
    ui_extra: UiExtra | None
    details: Mapping[str, object]
    attachments: list[Attachment] | msgspec.UnsetType = msgspec.UNSET  # absent if there are none


class HistoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    edit_id: str
    file_path: str
    session_id: str
    timestamp: float
    operation: Literal["create", "modify", "delete"]
    summary: str
    diff: str
    stats: Stats
    undoable: bool
    undone_by: str | None  # an edit id
    undoes: list[str]  # edit ids
    rebased: JsonObject | msgspec.UnsetType = msgspec.UNSET  # {changed_by, n_foreign_hunks}, absent if it was not


class HistoryResult(msgspec.Struct, frozen=True, kw_only=True):
    edits: list[HistoryEntry]


class ApprovalModeResult(msgspec.Struct, frozen=True, kw_only=True):
    session_id: SessionId
    mode: Literal["default", "auto_edit", "yolo"]


class AskingSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session of another connection. label: for people."""

    session_id: SessionId
    host: str
    label: str


class ConfirmEditParams(msgspec.Struct, frozen=True, kw_only=True):
    """Params of the request that asks the user about an edit. The texts are null over 1 MB."""

    type: Literal["edit"]  # for a client that shows questions of several kinds in one place
    title: str
    description: str
    file_path: str
    session_id: str
    operation: Literal["create", "modify"]
    diff: str
    hunks: tuple[Hunk, ...]
    original_text: str | None
    proposed_text: str | None
    original_label: str
    proposed_label: str
    rebased: JsonObject | msgspec.UnsetType = msgspec.UNSET  # absent unless others changed the file since it was read
    session: AskingSession | msgspec.UnsetType = msgspec.UNSET  # absent for a session of this connection


class ToolDefinition(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    method: str
    label: str
    description: str
    input_schema: JsonObject
    prompt_snippet: str
    prompt_guidelines: list[str]
    icon: str


class ToolsResult(msgspec.Struct, frozen=True, kw_only=True):
    tools: list[ToolDefinition]
    guidelines: list[str]  # of no single tool


class TrackedResult(msgspec.Struct, frozen=True, kw_only=True):
    files: tuple[TrackedFile, ...]
