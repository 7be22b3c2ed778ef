"""The tools as MCP lists them, and the service calls that they make."""

from collections.abc import Awaitable, Callable
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from fileops.api import tools
from fileops.api.tools import ToolAnswer
from fileops.core.presentation.failures import failure_text
from fileops.mcp.protocol import JsonObject
from fileops.model.changes import ChangeKind, ChangeSetResult
from fileops.model.errors import FileOpsError, NotAbsolute
from fileops.model.notebooks import CellType, OutputsMode
from fileops.model.requests import HistoryRequest
from fileops.model.requests import Tool as FailedTool
from fileops.model.results import EditResult, ReadResult, UndoResult
from fileops.model.sessions import SessionName
from fileops.rpc.decode import InvalidParams, decode
from fileops.wire.changes import ApplyChangesParams, ApplyPatchParams, FileChange
from fileops.wire.rewinds import RewindParams
from fileops.wire.tools import NOTEBOOK_TEXTS, tool_definitions
from fileops.wire.types import (
    AtLeastOne,
    CellStep,
    CellSteps,
    EditNotebookParams,
    EditParams,
    EditStep,
    MultiEditParams,
    ReadParams,
    UndoParams,
    WriteParams,
)

if TYPE_CHECKING:
    from fileops.service.fileops import FileOps

MAX_RESULT_CHARS = 200_000  # requested from Claude Code, which puts longer results into a file

_TITLES = {
    "Read": "Read a file", "Edit": "Edit a file", "MultiEdit": "Edit a file in several places",
    "Write": "Write a whole file", "Undo": "Undo your edits",
    "ApplyChanges": "Change several files together",
    "ApplyPatch": "Apply a patch",
    "NotebookEdit": "Edit cells of a notebook",
    "NotebookRead": "Read a notebook",
}  # fmt: skip
_WRITE_DESCRIPTION = """Writes a whole file: creates it, or replaces the text of an existing one.

Usage:
- You must use your `Read` tool to read the whole of an existing file before you write it. This tool will error if you \
did not, or if another program or person changed the file since.
- Prefer the Edit and MultiEdit tools to change an existing file. Use this tool for new files and complete rewrites.
- The line endings and the encoding of an existing file are kept."""
_WRITE_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "file_path": {"type": "string", "description": "The absolute path to the file to write"},
        "content": {"type": "string", "description": "The whole text of the file"},
    },
    "required": ["file_path", "content"],
    "additionalProperties": False,
}
_UNDO_DESCRIPTION = (
    "Undoes your own last edit of a file, or all your edits since the conversation began if no file is given; "
    "later changes by others are kept."
)
_UNDO_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "file_path": {"type": "string", "description": "The absolute path of the file whose last edit is undone"},
        "turn": {
            "type": "boolean",
            "description": "Undo all that you changed since the user's last prompt, by tools and by shell commands",
        },
        "edit_id": {
            "type": "string",
            "description": "The id of lines that one of your edits has removed: bring these lines back beside the edit",
        },
    },
    "additionalProperties": False,
}
_APPLY_CHANGES_DESCRIPTION = (
    "Applies changes to several files at once: all of them, or none. Use it where files belong together (a rename and "
    "its uses). Each file must have been read, as for Edit; `edit` steps follow the rules of MultiEdit."
)
_APPLY_CHANGES_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "changes": {
            "type": "array",
            "description": "The changes, each of another file",
            "items": {
                "type": "object",
                "properties": {
                    "kind": {"type": "string", "enum": ["edit", "create", "delete", "rename"]},
                    "file_path": {"type": "string", "description": "The absolute path to the file"},
                    "edits": {
                        "type": "array",
                        "description": "Of edit, and of rename if its text changes too: as in MultiEdit",
                        "items": {
                            "type": "object",
                            "properties": {
                                "old_string": {"type": "string", "description": "The text to replace"},
                                "new_string": {"type": "string", "description": "The text to replace it with"},
                                "replace_all": {
                                    "type": "boolean", "default": False,
                                    "description": "Replace all occurrences of old_string (default false).",
                                },
                            },
                            "required": ["old_string", "new_string"],
                            "additionalProperties": False,
                        },
                        "minItems": 1,
                    },
                    "cells": {
                        "type": "array",
                        "description": "Of edit of a notebook, in place of edits: each {kind, cell_id, ...} with kind "
                        "edit (old_string, new_string), source (source), insert (cell_type, source, after or before "
                        "a cell_id), delete, move (after or before), type (cell_type) or clear_outputs",
                        "items": {"type": "object"},
                        "minItems": 1,
                    },
                    "content": {"type": "string", "description": "Of create: the whole text of the new file"},
                    "new_path": {"type": "string", "description": "Of rename: the absolute path afterwards"},
                },
                "required": ["kind", "file_path"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["changes"],
    "additionalProperties": False,
}  # fmt: skip
_APPLY_PATCH_DESCRIPTION = """Applies a patch to one or several files: all of it, or nothing.

Each file that it updates, deletes or moves must have been read with `Read`. The patch language:

*** Begin Patch
*** Add File: path/new.py
+every line of a new file begins with +
*** Update File: path/app.py
*** Move to: path/main.py
@@ class App:
@@     def run(self):
 a line that stays begins with a blank
-a line that goes
+a line that comes
*** Delete File: path/old.py
*** End Patch

- Paths are relative to the workspace folder, or absolute. `*** Move to:` is optional.
- Each change is a hunk that begins with @@. Show 3 lines that stay above and below it, exactly as they are in the \
file. The lines that stay and go must be at exactly one place below the hunk before.
- If they are at several places, name the class or function after @@, or nest several @@ lines.
- `*** End of File` as the last line of a hunk says that nothing follows it.
- A unified diff (`git diff`) is accepted too."""
_APPLY_PATCH_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"patch": {"type": "string", "description": "The whole patch"}},
    "required": ["patch"],
    "additionalProperties": False,
}
_FURTHER_TEXTS: dict[str, tuple[str, JsonObject]] = {
    "Write": (_WRITE_DESCRIPTION, _WRITE_SCHEMA),
    "Undo": (_UNDO_DESCRIPTION, _UNDO_SCHEMA),
    "ApplyChanges": (_APPLY_CHANGES_DESCRIPTION, _APPLY_CHANGES_SCHEMA),
    "ApplyPatch": (_APPLY_PATCH_DESCRIPTION, _APPLY_PATCH_SCHEMA),
    **NOTEBOOK_TEXTS,
}


class ReadArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    file_path: str
    offset: int | None = None
    limit: AtLeastOne | None = None


class EditArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    file_path: str
    old_string: str
    new_string: str
    replace_all: bool | None = None


class EditStepArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    old_string: str
    new_string: str
    replace_all: bool | None = None


class MultiEditArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    file_path: str
    edits: Annotated[list[EditStepArguments], Meta(min_length=1, description="At least one edit operation is required")]


class WriteArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    file_path: str
    content: str


class UndoArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    file_path: str | None = None
    turn: bool = False
    edit_id: str | None = None


class FileChangeArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: ChangeKind
    file_path: str
    edits: (
        Annotated[list[EditStepArguments], Meta(min_length=1, description="At least one edit operation is required")]
        | None
    ) = None
    cells: CellSteps | None = None
    content: str | None = None
    new_path: str | None = None


class ApplyChangesArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    changes: list[FileChangeArguments]


class ApplyPatchArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    patch: str


class NotebookEditArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    notebook_path: str
    cell_id: str | None = None
    new_source: str | None = None
    cell_type: CellType | None = None
    edit_mode: Literal["replace", "insert", "delete", "move", "clear_outputs"] = "replace"
    old_string: str | None = None
    target_id: str | None = None
    position: Literal["after", "before"] = "after"

    @property
    def file_path(self) -> str:
        return self.notebook_path


class NotebookReadArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    notebook_path: str
    cell_id: str | None = None
    outputs: OutputsMode = "summary"

    @property
    def file_path(self) -> str:
        return self.notebook_path


Arguments = (
    NotebookEditArguments
    | NotebookReadArguments
    | ReadArguments
    | EditArguments
    | MultiEditArguments
    | WriteArguments
    | UndoArguments
    | ApplyChangesArguments
    | ApplyPatchArguments
)


class ToolCall(Struct, frozen=True, kw_only=True):
    """A call whose arguments are valid. max_output_bytes: of a read, see model.requests.ReadRequest."""

    arguments: Arguments
    session: SessionName
    max_output_bytes: int | None = None


class Tool(Struct, frozen=True, kw_only=True):
    """A tool's parameters and action. method: the request that it makes, under which calls are measured."""

    method: str
    arguments: type[Arguments]
    run: "Callable[[FileOps, ToolCall], Awaitable[ToolAnswer]]"
    is_read: bool = False

    def parse(self, given: object) -> Arguments:
        """Raises: InvalidParams."""
        return decode({} if given is None else given, self.arguments)


async def _read(service: "FileOps", call: ToolCall) -> ToolAnswer:
    arguments, limit = call.arguments, call.max_output_bytes
    assert isinstance(arguments, ReadArguments)
    params = ReadParams(
        file_path=arguments.file_path, offset=arguments.offset, limit=arguments.limit, session_id=call.session
    )
    return tools.try_read(service, params, limit) or await tools.read(service, params, limit)


async def _edit(service: "FileOps", call: ToolCall) -> ToolAnswer:
    arguments = call.arguments
    assert isinstance(arguments, EditArguments)
    params = EditParams(
        file_path=arguments.file_path,
        old_string=arguments.old_string,
        new_string=arguments.new_string,
        replace_all=arguments.replace_all,
        session_id=call.session,
    )
    return await tools.edit(service, params)


async def _multi_edit(service: "FileOps", call: ToolCall) -> ToolAnswer:
    arguments = call.arguments
    assert isinstance(arguments, MultiEditArguments)
    steps = [_step_of(step) for step in arguments.edits]
    params = MultiEditParams(file_path=arguments.file_path, edits=steps, session_id=call.session)
    return await tools.multi_edit(service, params)


async def _write(service: "FileOps", call: ToolCall) -> ToolAnswer:
    arguments = call.arguments
    assert isinstance(arguments, WriteArguments)
    params = WriteParams(file_path=arguments.file_path, content=arguments.content, session_id=call.session)
    return await tools.write(service, params)


async def _undo(service: "FileOps", call: ToolCall) -> ToolAnswer:
    arguments, session = call.arguments, call.session
    assert isinstance(arguments, UndoArguments)
    path = arguments.file_path
    if arguments.edit_id is not None:
        return await tools.undo(service, UndoParams(edit_id=arguments.edit_id, session_id=session))
    if arguments.turn:
        return await _undo_turn(service, session, path)
    if path is None:
        return await tools.undo(service, UndoParams(session_id=session))
    if not path.startswith("/"):
        return answer_failure(arguments, NotAbsolute(path=path), session)
    edits = await service.history.edits(HistoryRequest(file_path=path, session_id=session))
    edit_id = next((edit.edit_id for edit in edits if edit.undone_by is None and not edit.undoes), None)
    if edit_id is None:  # the service says so
        return await tools.undo(service, UndoParams(session_id=session, file_path=path))
    return await tools.undo(service, UndoParams(edit_id=edit_id, session_id=session))


async def _undo_turn(service: "FileOps", session: SessionName, file_path: str | None) -> ToolAnswer:
    """Undo everything that the session did since its last prompt, by tools and by commands."""
    turn_id = await service.history.newest_turn(session)
    paths = None if file_path is None else [file_path]
    return await tools.rewind(service, RewindParams(turn_id=turn_id or "", paths=paths, by_session=session))


async def _apply_changes(service: "FileOps", call: ToolCall) -> ToolAnswer:

    arguments = call.arguments
    assert isinstance(arguments, ApplyChangesArguments)
    changes = [
        FileChange(
            kind=change.kind,
            file_path=change.file_path,
            content=change.content,
            new_path=change.new_path,
            edits=None if change.edits is None else [_step_of(step) for step in change.edits],
            cells=change.cells,
        )
        for change in arguments.changes
    ]
    return await tools.apply_changes(service, ApplyChangesParams(changes=changes, session_id=call.session))


async def _apply_patch(service: "FileOps", call: ToolCall) -> ToolAnswer:

    arguments = call.arguments
    assert isinstance(arguments, ApplyPatchArguments)
    return await tools.apply_patch(service, ApplyPatchParams(patch=arguments.patch, session_id=call.session))


async def _notebook_edit(service: "FileOps", call: ToolCall) -> ToolAnswer:
    arguments = call.arguments
    assert isinstance(arguments, NotebookEditArguments)
    params = EditNotebookParams(
        file_path=arguments.notebook_path, cells=[_cell_step(arguments)], session_id=call.session
    )
    return await tools.edit_notebook(service, params)


def _cell_step(given: NotebookEditArguments) -> CellStep:
    """Return the step of a call, whose arguments are those of Claude Code's tool, and more. Raises: InvalidParams."""
    mode, cell_id, source = given.edit_mode, given.cell_id or None, given.new_source
    for key in _NEEDED_FOR[mode]:
        if not getattr(given, key) and not (key == "new_source" and source == ""):
            raise InvalidParams(f'is missing: edit_mode "{mode}" needs it', f".{key}")
    for key, its_mode in _ONLY_FOR.items():
        if getattr(given, key) and mode != its_mode:
            raise InvalidParams(f'does not belong to edit_mode "{mode}"', f".{key}")
    match mode:
        case "insert":
            after, before = (cell_id, None) if given.position == "after" else (None, cell_id)
            return CellStep(kind="insert", cell_type=given.cell_type, source=source, after=after, before=before)
        case "delete":
            return CellStep(kind="delete", cell_id=cell_id)
        case "move":
            after, before = (given.target_id, None) if given.position == "after" else (None, given.target_id)
            return CellStep(kind="move", cell_id=cell_id, after=after, before=before)
        case "clear_outputs":
            return CellStep(kind="clear_outputs", cell_id=cell_id)
        case "replace" if given.old_string:
            if given.cell_type is not None:
                raise InvalidParams("does not belong to a call with old_string", ".cell_type")
            return CellStep(kind="edit", cell_id=cell_id, old_string=given.old_string, new_string=source)
        case "replace":
            return CellStep(kind="source", cell_id=cell_id, source=source, cell_type=given.cell_type)


_NEEDED_FOR: dict[str, tuple[str, ...]] = {
    "replace": ("cell_id", "new_source"), "insert": ("new_source", "cell_type"), "delete": ("cell_id",),
    "move": ("cell_id", "target_id"), "clear_outputs": (),
}  # fmt: skip
# What the other modes would leave out of account, so that they would do more than was meant. Claude Code's own
# arguments are taken with each mode, as there.
_ONLY_FOR = {"old_string": "replace", "target_id": "move"}


async def _notebook_read(service: "FileOps", call: ToolCall) -> ToolAnswer:
    arguments = call.arguments
    assert isinstance(arguments, NotebookReadArguments)
    params = ReadParams(
        file_path=arguments.notebook_path,
        cell_id=arguments.cell_id,
        outputs=arguments.outputs,
        session_id=call.session,
    )
    return await tools.read(service, params, call.max_output_bytes)


def _step_of(step: EditStepArguments) -> EditStep:
    return EditStep(old_string=step.old_string, new_string=step.new_string, replace_all=step.replace_all)


def path_of(arguments: Arguments) -> str | None:
    """Return the file that a call is about, as given; None if it names none or several."""
    return None if isinstance(arguments, ApplyChangesArguments | ApplyPatchArguments) else arguments.file_path


def answer_failure(arguments: Arguments, error: FileOpsError, session: SessionName) -> ToolAnswer:
    """Return the answer to a call that did not reach the service, or did not finish there."""
    path = path_of(arguments) or ""
    output = failure_text(error, _FAILED_TOOLS.get(type(arguments), "edit"), path)
    match arguments:
        case ReadArguments() | NotebookReadArguments():
            return tools.read_answer(session, ReadResult(output=output, error=error))
        case UndoArguments():
            return tools.undo_answer(session, UndoResult(output=output, error=error))
        case ApplyChangesArguments() | ApplyPatchArguments():
            return tools.changes_answer(session, ChangeSetResult(output=output, error=error))
        case _:
            return tools.edit_answer(session, path, EditResult(output=output, error=error))


_FAILED_TOOLS: dict[type, FailedTool] = {
    ReadArguments: "read", NotebookReadArguments: "read", NotebookEditArguments: "edit_notebook",
}  # fmt: skip
TOOLS: dict[str, Tool] = {
    "Read": Tool(method="fileops/read", arguments=ReadArguments, run=_read, is_read=True),
    "Edit": Tool(method="fileops/edit", arguments=EditArguments, run=_edit),
    "MultiEdit": Tool(method="fileops/multiEdit", arguments=MultiEditArguments, run=_multi_edit),
}
FURTHER_TOOLS: dict[str, Tool] = {
    "Write": Tool(method="fileops/write", arguments=WriteArguments, run=_write),
    "Undo": Tool(method="fileops/undo", arguments=UndoArguments, run=_undo),
    "ApplyChanges": Tool(method="fileops/applyChanges", arguments=ApplyChangesArguments, run=_apply_changes),
    "ApplyPatch": Tool(method="fileops/applyPatch", arguments=ApplyPatchArguments, run=_apply_patch),
    "NotebookEdit": Tool(method="fileops/editNotebook", arguments=NotebookEditArguments, run=_notebook_edit),
    "NotebookRead": Tool(method="fileops/read", arguments=NotebookReadArguments, run=_notebook_read, is_read=True),
}


@cache
def tool_list(names: tuple[str, ...]) -> list[JsonObject]:
    """Return the answer to `tools/list`, in this order.

    No tool has an `outputSchema`, because hosts then drop the text.
    """
    ordered = [_describe_tool(tool.name, tool.description, tool.input_schema) for tool in tool_definitions()]
    further = [_describe_tool(name, *texts) for name, texts in _FURTHER_TEXTS.items()]
    return [tool for tool in (*ordered, *further) if tool["name"] in names]


_READS = ("Read", "NotebookRead")


def _describe_tool(name: str, description: str, input_schema: JsonObject) -> JsonObject:
    is_read = name in _READS
    annotations: JsonObject = (
        {"readOnlyHint": True}
        if is_read
        else {
            "readOnlyHint": False,
            "destructiveHint": True,
            "idempotentHint": False,
        }
    )
    meta: JsonObject = {"anthropic/alwaysLoad": True}
    if is_read:
        meta["anthropic/maxResultSizeChars"] = MAX_RESULT_CHARS
    return {
        "name": name,
        "title": _TITLES.get(name, name),
        "description": description,
        "inputSchema": input_schema,
        "annotations": {**annotations, "openWorldHint": False},
        "_meta": meta,
    }
