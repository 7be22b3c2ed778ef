"""Wire types: params and results of `fileops/*` requests as docs/PROTOCOL.md defines them.

Key order is the order on the wire. A key with a default may be absent or null. Handlers translate these types to and
from the model with `convert.py` and the modules beside it.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fileops.model.edits import Hunk, Operation
from fileops.model.results import TrackedFile
from fileops.model.review import SessionInfo
from fileops.model.settings import Ask, AtLeastOne

SessionId = str
JsonObject = dict[str, object]

# --- params ------------------------------------------------------------------------------------------------------


class Params(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """LSP's two tokens, which every request may have."""

    work_done_token: str | int | None = msgspec.field(default=None, name="workDoneToken")
    """The server reports progress under it."""
    partial_result_token: str | int | None = msgspec.field(default=None, name="partialResultToken")
    """Ignored: no result comes in parts."""


class SessionParams(Params, frozen=True, kw_only=True):
    """Params of a request of one session, or about one."""

    session_id: SessionId | None = None
    """Without it: the session `default` of the connection. Of `fileops/stats`: all sessions."""


class ReadParams(SessionParams, frozen=True, kw_only=True):
    """Reads a file, or a window of its lines."""

    file_path: str
    """Absolute."""
    offset: int | None = None
    """1-based line, the first by default. Below 1 it counts as 1."""
    limit: AtLeastOne | None = None
    """Lines. By default as many as the option `limits` allows."""
    raw: bool | None = None
    """The text as it is in the file, in `details.text`, for programs."""


class WriteParams(SessionParams, frozen=True, kw_only=True):
    """Writes a whole file."""

    file_path: str
    """Absolute."""
    content: str
    """The whole text."""
    dry_run: bool | None = None
    """Check and preview, and write nothing."""
    include_texts: bool | None = None
    """`details` has the whole text before and after."""


class EditParams(SessionParams, frozen=True, kw_only=True):
    """Replaces a text of a file by another one."""

    file_path: str
    """Absolute."""
    old_string: str
    """The text to replace. Empty: create the file."""
    new_string: str
    """The text in its place."""
    replace_all: bool | None = None
    """Replace every occurrence. Without it the text must occur once."""
    expected_replacements: AtLeastOne | None = None
    """How often the text must occur. All of these places are replaced."""
    strategy: str | None = None
    """How the text is found: `exact`, or a name of `strategies` in the capability block."""
    dry_run: bool | None = None
    """Check and preview, and write nothing."""
    include_texts: bool | None = None
    """`details` has the whole text before and after."""


class EditStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One replacement of several in a file. It is made in the text that the steps before it left."""

    old_string: str
    """The text to replace."""
    new_string: str
    """The text in its place."""
    replace_all: bool | None = None
    """Replace every occurrence. Without it the text must occur once."""
    strategy: str | None = None
    """As in EditParams."""


class MultiEditParams(SessionParams, frozen=True, kw_only=True):
    """Makes several replacements in a file: all of them, or none."""

    file_path: str
    """Absolute."""
    edits: Annotated[list[EditStep], Meta(min_length=1, description="At least one edit operation is required")]
    dry_run: bool | None = None
    """Check and preview, and write nothing."""
    include_texts: bool | None = None
    """`details` has the whole text before and after."""


class ToolsParams(Params, frozen=True, kw_only=True):
    """Asks for the definitions of the tools for a model."""

    enabled: list[str] | None = None
    """Names of tools. The guidelines leave out the others, too."""
    other_tools: list[str] | None = None
    """Names of the client's own tools, which `guidelines` may then mention."""


class CloseSessionParams(Params, frozen=True, kw_only=True):
    """Ends a session."""

    session_id: SessionId
    """What it has read and was granted is forgotten."""


class SetApprovalModeParams(SessionParams, frozen=True, kw_only=True):
    """Sets how often the user is asked about a session's edits."""

    mode: Literal["default", "auto_edit", "yolo"]
    """An agent can only demand more questions than it is asked now."""


class HistoryParams(SessionParams, frozen=True, kw_only=True):
    """Asks for the applied edits, the newest first."""

    file_path: str | None = None
    """Absolute. Only edits of this file."""
    limit: AtLeastOne | None = None
    """At most so many edits."""


class UndoParams(SessionParams, frozen=True, kw_only=True):
    """One edit by `edit_id`, or all of a session, the newest first; with `file_path` those of that file."""

    edit_id: str | None = None
    """The edit to undo. A `session_id` beside it names the session that undoes."""
    set_id: str | None = None
    """The change set to undo as a whole. A `session_id` beside it names the session that undoes."""
    file_path: str | None = None
    """Absolute. Goes with `session_id`."""
    dry_run: bool | None = None
    """Check and preview, and write nothing."""
    approved: bool | None = None
    """The user asked for it or has confirmed it: no further question is asked."""


class KeepArgument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Argument of the command `fileops.keep`."""

    change_ids: list[str]
    """The changes to keep, as `fileops/unkept` lists them."""


class UndoArgument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Argument of the command `fileops.undo`: exactly one of the keys."""

    change_ids: list[str] | None = None
    """The changes to undo, as `fileops/unkept` lists them."""
    edit_id: str | None = None
    """The edit to undo."""


# --- results -------------------------------------------------------------------------------------------------------


class ErrorInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Why a tool failed."""

    code: str
    """See docs/PROTOCOL.md, "Error codes"."""
    message: str
    """One sentence for people."""


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """How many lines a change adds and removes."""

    added: int
    """Lines."""
    removed: int
    """Lines."""


class UiExtra(msgspec.Struct, frozen=True, kw_only=True):
    """A change as a client shows it."""

    diff: str
    """Unified. `patch` accepts it if `exact`."""
    exact: bool
    """Whether the diff has every byte of the change."""
    truncated: bool
    """Whether hunks were left out, because there were too many."""
    operation: Operation
    """What happened to the file."""
    file_path: str
    """As the session gave it."""
    hunks: tuple[Hunk, ...]
    """The hunks of the diff."""
    stats: Stats
    """Of the whole change."""
    first_changed_line: int
    """1-based, in the new text."""


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """An image beside the text of a result, for models with vision."""

    type: Literal["image"] = "image"
    """What it is."""
    mime_type: str
    """Of the image as it is sent."""
    data: str
    """Base64."""
    width: int
    """Pixels."""
    height: int
    """Pixels."""


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """What every tool answers, whether it succeeded or failed."""

    status: Literal["success", "error"]
    """Whether it succeeded."""
    output: str
    """Exactly the text for the model."""
    error: ErrorInfo | None
    """Null after success."""
    ui_extra: UiExtra | None
    """The change, for people. Null if there is none."""
    details: Mapping[str, object]
    """Facts for programs. Which keys are there depends on the tool and its outcome."""
    attachments: list[Attachment] | msgspec.UnsetType = msgspec.UNSET
    """Absent if there are none."""


class HistoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An applied edit."""

    edit_id: str
    """Unique in the history."""
    file_path: str
    """As the session gave it."""
    session_id: str
    """Empty if the client's user undid it."""
    timestamp: float
    """Seconds since the epoch."""
    operation: Operation
    """What happened to the file."""
    summary: str
    """A few words for a list."""
    diff: str
    """Unified."""
    stats: Stats
    """Lines."""
    undoable: bool
    """Whether it was not undone before."""
    undone_by: str | None
    """The edit that undid this one."""
    undoes: list[str]
    """The edits that this one undid."""
    set_id: str | msgspec.UnsetType = msgspec.UNSET
    """The change set that it is a part of. Absent without one."""
    rebased: JsonObject | msgspec.UnsetType = msgspec.UNSET
    """Absent if others had not changed the file."""


class HistoryResult(msgspec.Struct, frozen=True, kw_only=True):
    """The applied edits."""

    edits: list[HistoryEntry]
    """The newest first."""


class ApprovalModeResult(msgspec.Struct, frozen=True, kw_only=True):
    """The approval mode of a session."""

    session_id: SessionId
    """The session."""
    mode: Literal["default", "auto_edit", "yolo"]
    """How often the user is asked about edits."""


class AskResult(msgspec.Struct, frozen=True, kw_only=True):
    """How often people are asked about edits of agents in the client's folders, before anything is written."""

    ask: Ask
    """About each edit, about those of protected files, or never. It is not about shell commands."""


class SetAskParams(Params, frozen=True, kw_only=True):
    """Sets the switch for the projects of the client's folders: for all agents, those of now and later ones."""

    ask: Ask
    """As in the result."""


class ConfirmEditParams(msgspec.Struct, frozen=True, kw_only=True):
    """Asks the user about an edit."""

    type: Literal["edit"]  # for a client that shows questions of several kinds in one place
    """For a client that shows questions of several kinds in one place."""
    title: str
    """One line."""
    description: str
    """What the edit does, in a sentence."""
    file_path: str
    """As the session gave it."""
    session_id: str
    """Whose edit it is."""
    operation: Literal["create", "modify"]
    """Whether the file is created."""
    diff: str
    """Unified."""
    hunks: tuple[Hunk, ...]
    """The hunks of the diff."""
    original_text: str | None
    """Null over 1 MB."""
    proposed_text: str | None
    """Null over 1 MB."""
    original_label: str
    """What to call the side of `original_text`."""
    proposed_label: str
    """What to call the side of `proposed_text`."""
    rebased: JsonObject | msgspec.UnsetType = msgspec.UNSET
    """What others changed since the agent read the file, if the edit is applied to their text."""
    session: SessionInfo | msgspec.UnsetType = msgspec.UNSET
    """Whose edit it is, if it is of another client of a shared daemon."""


class ToolDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A tool for a model."""

    name: str
    """As the model calls it."""
    method: str
    """The request that serves it."""
    label: str
    """For people."""
    description: str
    """For the model."""
    input_schema: JsonObject
    """JSON Schema of its arguments."""
    prompt_snippet: str
    """A line for a list of tools in a prompt."""
    prompt_guidelines: list[str]
    """Lines for the system prompt."""
    icon: str
    """`file`, `pencil` or `terminal`."""


class ToolsResult(msgspec.Struct, frozen=True, kw_only=True):
    """The tools for a model."""

    tools: list[ToolDefinition]
    """In the order of the request."""
    guidelines: list[str]
    """Lines for the system prompt that belong to no single tool."""


class TrackedResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a session has read."""

    files: tuple[TrackedFile, ...]
    """In the order of first reading."""
