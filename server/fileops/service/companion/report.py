"""What a hook reports about its host's own tools, as values, and the edits that a call asks for."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from fileops.core.patch.changes import to_changes
from fileops.core.patch.parser import parse_patch
from fileops.model.changes import CreateFile, DeleteFile, EditFile, RenameFile
from fileops.model.edits import Edit, PatchHunk
from fileops.model.requests import EditRequest
from fileops.model.sessions import SessionName

Event = Literal["start", "before", "after", "failed", "batch", "decision", "owner", "turn", "end"]
Path = Annotated[str, Meta(max_length=4096, pattern=r"\A/[^\0]*\Z")]
MAX_FILES = 64  # of one patch


class ReadCall(Struct, frozen=True, kw_only=True, tag_field="kind", tag="read"):
    """A read of a file."""

    path: Path
    """Absolute path of the file."""
    start: int | None = None
    """Number of the first line that was asked for or shown, from 1."""
    n_lines: int | None = None
    """How many lines."""
    shown: str | None = None
    """Their text, if the host says."""


class OneEdit(Struct, frozen=True, kw_only=True):
    """One replacement of an edit."""

    old: str
    """The text to replace."""
    new: str
    """The text in its place."""
    all: bool = False
    """Whether every occurrence is replaced."""


class EditCall(Struct, frozen=True, kw_only=True, tag_field="kind", tag="edit"):
    """An edit of a file."""

    path: Path
    """Absolute path of the file."""
    edits: Annotated[list[OneEdit], Meta(min_length=1)]
    """The replacements, in their order."""
    original: str | None = None
    """The file's text before, if the host says."""
    result: str | None = None
    """The file's text after, if the host says."""


class WriteCall(Struct, frozen=True, kw_only=True, tag_field="kind", tag="write"):
    """A write of a whole text."""

    path: Path
    """Absolute path of the file."""
    content: str
    """The new text."""
    original: str | None = None
    """The file's text before, if the host says."""
    result: str | None = None
    """The file's text after, if the host says."""


class PatchCall(Struct, frozen=True, kw_only=True, tag_field="kind", tag="patch"):
    """A patch of files."""

    patch: str
    """The patch, as the host's tool takes it."""
    cwd: Path
    """The folder of its relative paths."""


class NotebookCall(Struct, frozen=True, kw_only=True, tag_field="kind", tag="notebook"):
    """A change of one cell of a notebook, as Claude Code's NotebookEdit makes it."""

    path: Path
    """Absolute path of the notebook."""
    cell_id: str = ""
    """The cell; of `insert`, the one before the new cell."""
    source: str = ""
    """The cell's new source."""
    cell_type: Literal["code", "markdown"] | None = None
    """The cell's new type."""
    mode: Literal["replace", "insert", "delete"] = "replace"
    """What is done."""
    original: str | None = None
    """The file's text before, if the host says."""
    result: str | None = None
    """The file's text after, if the host says."""


HostCall = ReadCall | EditCall | WriteCall | PatchCall | NotebookCall


class CalledTool(Struct, frozen=True, kw_only=True):
    """A call of a batch."""

    call: HostCall
    """What was called."""
    call_id: str = ""
    """The host's id of the call."""
    is_refused: bool = False
    """Whether the host has refused it, perhaps before it called any hook."""


class CompanionReport(Struct, frozen=True, kw_only=True):
    """The body of the control request `companion`."""

    event: Event
    """What has happened, or will happen."""
    cwd: str = ""
    """The folder in which the host works."""
    mode: str = ""
    """The host's permission mode."""
    tool_prefix: str | None = None
    """What stands before the names of fileops-server's tools in this host."""
    can_correct: bool = False
    """Whether the host takes other texts of an edit before it looks for them in the file."""
    can_rewrite: bool = False
    """Whether the host takes other texts of an edit or a write than its model gave."""
    call_id: str = ""
    """The host's id of the call."""
    agent_id: Annotated[str, Meta(max_length=4096)] = ""
    """The host's id of a subagent."""
    agent_type: Annotated[str, Meta(max_length=4096)] = ""
    """What the host calls the subagent's kind."""
    calls: list[HostCall] = []
    """Of `before`, `after` and `failed`."""
    batch: list[CalledTool] = []
    """Of `batch`."""
    waiting: str = ""
    """Of `decision`: what the answer to `before` has named."""


class Removal(Struct, frozen=True, kw_only=True):
    """The deletion of a file by a patch; with new_path: its renaming, after these hunks were applied."""

    file_path: str
    new_path: str | None = None
    hunks: tuple[PatchHunk, ...] = ()


class CellWrite(Struct, frozen=True, kw_only=True):
    """A change of a cell of a notebook."""

    file_path: str
    call: NotebookCall


HostEdit = EditRequest | Removal | CellWrite


def edits_of(call: HostCall, session_id: SessionName) -> list[HostEdit]:
    """Return what a call writes, one element for each path. Raises: FileOpsError, if a patch cannot be read."""
    match call:
        case ReadCall():
            return []
        case WriteCall():
            return [EditRequest(file_path=call.path, content=call.content, tool="write", session_id=session_id)]
        case EditCall():
            edits = tuple(Edit(old_string=each.old, new_string=each.new, replace_all=each.all) for each in call.edits)
            tool = "edit" if len(edits) == 1 else "multi_edit"
            return [EditRequest(file_path=call.path, edits=edits, tool=tool, session_id=session_id)]
        case NotebookCall():
            return [CellWrite(file_path=call.path, call=call)]
        case PatchCall():
            return _edits_of_patch(call, session_id)


def _edits_of_patch(call: PatchCall, session_id: SessionName) -> list[HostEdit]:
    found: list[HostEdit] = []
    for change in to_changes(parse_patch(call.patch), call.cwd)[:MAX_FILES]:
        match change:
            case CreateFile():
                found.append(
                    EditRequest(file_path=change.file_path, content=change.content, tool="write", session_id=session_id)
                )
            case DeleteFile():
                found.append(Removal(file_path=change.file_path))
            case RenameFile():
                found.append(Removal(file_path=change.file_path, new_path=change.new_path, hunks=change.hunks))
            case EditFile():
                found.append(
                    EditRequest(
                        file_path=change.file_path, hunks=change.hunks, tool="multi_edit", session_id=session_id
                    )
                )
    return found
