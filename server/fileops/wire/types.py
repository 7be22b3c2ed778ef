"""Wire types: params and results of `fileops/*` requests as docs/PROTOCOL.md defines them.

Key order is the order on the wire. A key with a default may be absent or null. Handlers translate these types to and
from the model with `convert.py` and the modules beside it.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fileops.model.edits import Hunk, Operation
from fileops.model.notebooks import CellEditKind, CellPlace, CellType, OutputsMode
from fileops.model.results import TrackedFile
from fileops.model.review import SessionInfo
from fileops.model.settings import Ask, AtLeastOne

SessionId = str
JsonObject = dict[str, object]

# --- params ------------------------------------------------------------------------------------------------------


class Params(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """LSP's two tokens, which every request may contain."""

    work_done_token: str | int | None = msgspec.field(default=None, name="workDoneToken")
    """The token under which the server reports progress."""
    partial_result_token: str | int | None = msgspec.field(default=None, name="partialResultToken")
    """Ignored: results are not sent in parts."""


class SessionParams(Params, frozen=True, kw_only=True):
    """Params of a request by one session, or about one."""

    session_id: SessionId | None = None
    """By default the connection's session `default`; for `fileops/stats`, all sessions."""


class ReadParams(SessionParams, frozen=True, kw_only=True):
    """Reads a file, or a window of its lines."""

    file_path: str
    """Absolute path of the file."""
    offset: int | None = None
    """1-based number of the first line; values below 1 count as 1."""
    limit: AtLeastOne | None = None
    """How many lines; by default as many as the option `limits` allows."""
    raw: bool | None = None
    """Also return the unchanged text, as `details.text`, for programs."""
    cell_id: str | None = None
    """Of a notebook: read only this cell."""
    outputs: OutputsMode | None = None
    """Of a notebook: its outputs summed up (`summary`, the default), whole (`full`, with `cell_id`), or `none`."""


class WriteParams(SessionParams, frozen=True, kw_only=True):
    """Writes a whole file."""

    file_path: str
    """Absolute path of the file."""
    content: str
    """The whole text."""
    dry_run: bool | None = None
    """Check and preview, but write nothing."""
    include_texts: bool | None = None
    """Return the whole text before and after in `details`."""


class CellStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One change of a cell of a notebook, applied to the result of the previous ones."""

    kind: CellEditKind
    """`edit` replaces a text in a source, `source` all of it; the others are about whole cells."""
    cell_id: str | None = None
    """The cell, as a read names it. Of `insert` none; of `clear_outputs` null for all cells."""
    old_string: str | None = None
    """Of `edit`: the text to replace."""
    new_string: str | None = None
    """Of `edit`: the replacement text."""
    replace_all: bool | None = None
    """Of `edit`: replace every occurrence; otherwise the text must occur exactly once."""
    expected_replacements: AtLeastOne | None = None
    """Of `edit`: how often the text must occur. All occurrences are replaced."""
    source: str | None = None
    """Of `source` and `insert`: the whole source."""
    cell_type: CellType | None = None
    """Of `insert` and `type`: the type."""
    after: str | None = None
    """Of `insert` and `move`: the cell after which it goes."""
    before: str | None = None
    """Of `insert` and `move`: the cell before which it goes."""


CellSteps = Annotated[
    list[CellStep], Meta(min_length=1, max_length=100, description="From 1 to 100 changes of cells are required")
]


class EditNotebookParams(SessionParams, frozen=True, kw_only=True):
    """Changes cells of a notebook, all or none."""

    file_path: str
    """Absolute path of the notebook."""
    cells: CellSteps
    """The changes, in order."""
    dry_run: bool | None = None
    """Check and preview, but write nothing."""
    include_texts: bool | None = None
    """Return the whole text before and after in `details`."""


class EditParams(SessionParams, frozen=True, kw_only=True):
    """Replaces a text in a file with another."""

    file_path: str
    """Absolute path of the file."""
    old_string: str
    """The text to replace. If empty, the file is created."""
    new_string: str
    """The replacement text."""
    replace_all: bool | None = None
    """Replace every occurrence; otherwise the text must occur exactly once."""
    expected_replacements: AtLeastOne | None = None
    """How often the text must occur. All occurrences are replaced."""
    strategy: str | None = None
    """How the text is found: `exact`, or one of `strategies` in the capability block."""
    dry_run: bool | None = None
    """Check and preview, but write nothing."""
    include_texts: bool | None = None
    """Return the whole text before and after in `details`."""


class EditStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of several replacements in a file, applied to the result of the previous steps."""

    old_string: str
    """The text to replace."""
    new_string: str
    """The replacement text."""
    replace_all: bool | None = None
    """Replace every occurrence; otherwise the text must occur exactly once."""
    strategy: str | None = None
    """See EditParams."""


class MultiEditParams(SessionParams, frozen=True, kw_only=True):
    """Makes several replacements in a file: all of them, or none."""

    file_path: str
    """Absolute path of the file."""
    edits: Annotated[list[EditStep], Meta(min_length=1, description="At least one edit operation is required")]
    dry_run: bool | None = None
    """Check and preview, but write nothing."""
    include_texts: bool | None = None
    """Return the whole text before and after in `details`."""


class ToolsParams(Params, frozen=True, kw_only=True):
    """Asks for the definitions of the tools for a model."""

    enabled: list[str] | None = None
    """Names of tools. The guidelines omit the others as well."""
    other_tools: list[str] | None = None
    """Names of the client's own tools, which `guidelines` may then mention."""


class CloseSessionParams(Params, frozen=True, kw_only=True):
    """Ends a session."""

    session_id: SessionId
    """The session to end. What it has read and was granted is forgotten."""


class SetApprovalModeParams(SessionParams, frozen=True, kw_only=True):
    """Sets how often the user is asked about a session's edits."""

    mode: Literal["default", "auto_edit", "yolo"]
    """The mode. An agent can only ask for more questions than now."""


class HistoryParams(SessionParams, frozen=True, kw_only=True):
    """Asks for the applied edits, newest first."""

    file_path: str | None = None
    """Absolute path: only edits of this file."""
    limit: AtLeastOne | None = None
    """How many edits at most."""


class UndoParams(SessionParams, frozen=True, kw_only=True):
    """Undoes one edit by `edit_id`, or all of a session, newest first; with `file_path` only those of that file."""

    edit_id: str | None = None
    """The edit to undo. `session_id` then names the session that undoes."""
    set_id: str | None = None
    """The change set to undo as a whole. `session_id` then names the session that undoes."""
    file_path: str | None = None
    """Absolute path, together with `session_id`."""
    dry_run: bool | None = None
    """Check and preview, but write nothing."""
    approved: bool | None = None
    """The user requested or confirmed it, so no further question is asked."""


class KeepArgument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Argument of the command `fileops.keep`."""

    change_ids: list[str]
    """The changes to keep, from `fileops/unkept`."""


class UndoArgument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Argument of the command `fileops.undo`: exactly one of the keys."""

    change_ids: list[str] | None = None
    """The changes to undo, from `fileops/unkept`."""
    edit_id: str | None = None
    """The edit to undo."""


# --- results -------------------------------------------------------------------------------------------------------


class ErrorInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Why a tool failed."""

    code: str
    """See docs/PROTOCOL.md, "Error codes"."""
    message: str
    """The message for people, in one sentence."""


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """How many lines a change adds and removes."""

    added: int
    """How many lines were added."""
    removed: int
    """How many lines were removed."""


class CellUiExtra(msgspec.Struct, frozen=True, kw_only=True):
    """How an edit changes one cell of a notebook."""

    kind: CellEditKind
    """What was done."""
    cell_id: str
    """The name of the cell after it; of all cells together empty."""
    index: int
    """Its 0-based index after it; of a deleted one, before it; of all cells together -1."""
    old_index: int | None
    """Of a move: the index before it."""
    cell_type: CellType
    """Its type after it."""
    diff: str
    """Unified diff of its source; empty if that does not change."""
    hunks: tuple[Hunk, ...]
    """The hunks of the diff."""
    stats: Stats
    """Changed lines of the source."""
    outputs_removed: int
    """How many outputs are gone."""
    has_old_outputs: bool
    """Whether it has outputs from before the change of its source."""


class UiExtra(msgspec.Struct, frozen=True, kw_only=True):
    """A change in the form that a client shows."""

    diff: str
    """Unified diff. `patch` accepts it if `exact`."""
    exact: bool
    """Whether the diff contains every byte of the change."""
    truncated: bool
    """Whether some hunks were left out because there were too many."""
    operation: Operation
    """What happened to the file."""
    file_path: str
    """Path as the session gave it."""
    hunks: tuple[Hunk, ...]
    """The hunks of the diff."""
    stats: Stats
    """Counts for the whole change."""
    first_changed_line: int
    """1-based line in the new text."""
    cells: list[CellUiExtra] | msgspec.UnsetType = msgspec.UNSET
    """For an edit of a notebook: its changes by cells, in order."""


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """An image beside the text of a result, for models with vision."""

    type: Literal["image"] = "image"
    """The kind of attachment."""
    mime_type: str
    """Type of the image as it is sent."""
    data: str
    """The image in Base64."""
    width: int
    """Width in pixels."""
    height: int
    """Height in pixels."""


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """Every tool's answer, whether it succeeded or failed."""

    status: Literal["success", "error"]
    """Whether it succeeded."""
    output: str
    """Exactly the text for the model."""
    error: ErrorInfo | None
    """Why it failed; null after success."""
    ui_extra: UiExtra | None
    """The change, for people; null if there is none."""
    details: Mapping[str, object]
    """Facts for programs. The tool and its outcome decide which keys are present."""
    attachments: list[Attachment] | msgspec.UnsetType = msgspec.UNSET
    """Images; absent if there are none."""


class HistoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An applied edit."""

    edit_id: str
    """Unique in the history."""
    file_path: str
    """Path as the session gave it."""
    session_id: str
    """The session; empty if the client's user undid it."""
    timestamp: float
    """When it was applied, in seconds since the epoch."""
    operation: Operation
    """What happened to the file."""
    summary: str
    """A short summary for a list."""
    diff: str
    """Unified diff."""
    stats: Stats
    """How many lines it added and removed."""
    undoable: bool
    """Whether it has not been undone."""
    undone_by: str | None
    """The edit that undid this one."""
    undoes: list[str]
    """The edits that this one undid."""
    set_id: str | msgspec.UnsetType = msgspec.UNSET
    """The change set that contains it; absent without one."""
    rebased: JsonObject | msgspec.UnsetType = msgspec.UNSET
    """What others had changed; absent if nothing."""
    cells: list[CellPlace] | msgspec.UnsetType = msgspec.UNSET
    """For an edit of a notebook by cells: what each step did."""


class HistoryResult(msgspec.Struct, frozen=True, kw_only=True):
    """The applied edits."""

    edits: list[HistoryEntry]
    """Newest first."""


class ApprovalModeResult(msgspec.Struct, frozen=True, kw_only=True):
    """The approval mode of a session."""

    session_id: SessionId
    """The session."""
    mode: Literal["default", "auto_edit", "yolo"]
    """How often the user is asked about edits."""


class AskResult(msgspec.Struct, frozen=True, kw_only=True):
    """How often people are asked about agents' edits in the client's folders, before anything is written."""

    ask: Ask
    """About each edit, about those of protected files, or never. Shell commands are not covered."""


class SetAskParams(Params, frozen=True, kw_only=True):
    """Sets the switch for the projects of the client's folders, for all agents, now and later."""

    ask: Ask
    """See AskResult."""


class ConfirmEditParams(msgspec.Struct, frozen=True, kw_only=True):
    """Asks the user about an edit."""

    type: Literal["edit"]  # for a client that shows questions of several kinds in one place
    """For clients that show several kinds of questions in one place."""
    title: str
    """The title, in one line."""
    description: str
    """What the edit does, in one sentence."""
    file_path: str
    """Path as the session gave it."""
    session_id: str
    """The session whose edit it is."""
    operation: Literal["create", "modify"]
    """Whether the file is created."""
    diff: str
    """Unified diff."""
    hunks: tuple[Hunk, ...]
    """The hunks of the diff."""
    original_text: str | None
    """The whole text before; null over 1 MB."""
    proposed_text: str | None
    """The whole proposed text; null over 1 MB."""
    original_label: str
    """The label for `original_text`."""
    proposed_label: str
    """The label for `proposed_text`."""
    rebased: JsonObject | msgspec.UnsetType = msgspec.UNSET
    """What others have changed since the agent read the file, if the edit is applied to their text."""
    session: SessionInfo | msgspec.UnsetType = msgspec.UNSET
    """The session whose edit it is, if it belongs to another client of a shared daemon."""
    cells: list[CellUiExtra] | msgspec.UnsetType = msgspec.UNSET
    """For an edit of a notebook: its changes by cells, in order."""


class ToolDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A tool for a model."""

    name: str
    """The name by which the model calls it."""
    method: str
    """The request that runs it."""
    label: str
    """The name for people."""
    description: str
    """The description for the model."""
    input_schema: JsonObject
    """JSON Schema of its arguments."""
    prompt_snippet: str
    """One line for a list of tools in a prompt."""
    prompt_guidelines: list[str]
    """Lines for the system prompt."""
    icon: str
    """`file`, `pencil` or `terminal`."""


class ToolsResult(msgspec.Struct, frozen=True, kw_only=True):
    """The tools for a model."""

    tools: list[ToolDefinition]
    """The tools, in the order of the request."""
    guidelines: list[str]
    """Lines for the system prompt that belong to no single tool."""


class TrackedResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a session has read."""

    files: tuple[TrackedFile, ...]
    """In the order of first reading."""
