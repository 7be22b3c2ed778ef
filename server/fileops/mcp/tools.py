"""The tools as MCP lists them, and what each call leads to in the service."""

from collections.abc import Awaitable, Callable
from functools import cache
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from fileops.mcp.protocol import JsonObject
from fileops.model.errors import NotAbsolute
from fileops.model.requests import HistoryRequest, ReadRequest, UndoRequest
from fileops.model.results import EditResult
from fileops.rpc.decode import decode
from fileops.wire import convert
from fileops.wire.tools import tool_definitions
from fileops.wire.types import AtLeastOne, EditParams, EditStep, MultiEditParams, ToolResult, WriteParams

if TYPE_CHECKING:
    from fileops.service.fileops import FileOps

MAX_RESULT_CHARS = 200_000  # asked of Claude Code, which else puts a long result into a file

_TITLES = {
    "Read": "Read a file", "Edit": "Edit a file", "MultiEdit": "Edit a file in several places",
    "Write": "Write a whole file", "Undo": "Undo your edits",
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
    },
    "additionalProperties": False,
}
_FURTHER_TEXTS: dict[str, tuple[str, JsonObject]] = {
    "Write": (_WRITE_DESCRIPTION, _WRITE_SCHEMA),
    "Undo": (_UNDO_DESCRIPTION, _UNDO_SCHEMA),
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


Arguments = ReadArguments | EditArguments | MultiEditArguments | WriteArguments | UndoArguments


class ToolCall(Struct, frozen=True, kw_only=True):
    """A call whose arguments fit. max_output_bytes: of a read, see model.requests.ReadRequest."""

    arguments: Arguments
    session_id: str
    max_output_bytes: int | None = None


class Outcome(Struct, frozen=True):
    """What a call led to. shown_path: the canonical path of the file whose present content the result shows."""

    result: ToolResult
    shown_path: str | None = None


class Tool(Struct, frozen=True, kw_only=True):
    """What a tool takes and does. method: the name under which calls are measured."""

    method: str
    arguments: type[Arguments]
    run: "Callable[[FileOps, ToolCall], Awaitable[Outcome]]"
    is_read: bool = False

    def parse(self, given: object) -> Arguments:
        """Raises: InvalidParams."""
        return decode({} if given is None else given, self.arguments)


async def _read(service: "FileOps", call: ToolCall) -> Outcome:
    arguments = call.arguments
    assert isinstance(arguments, ReadArguments)
    request = ReadRequest(
        file_path=arguments.file_path, offset=arguments.offset, limit=arguments.limit, session_id=call.session_id,
        max_output_bytes=call.max_output_bytes,
    )  # fmt: skip
    result = service.read_at_once(request) or await service.read(request)
    return Outcome(convert.read_result(result), result.shown_path)


async def _edit(service: "FileOps", call: ToolCall) -> Outcome:
    arguments = call.arguments
    assert isinstance(arguments, EditArguments)
    params = EditParams(
        file_path=arguments.file_path, old_string=arguments.old_string, new_string=arguments.new_string,
        replace_all=arguments.replace_all, session_id=call.session_id,
    )  # fmt: skip
    return _edited(await service.edit(convert.edit_request(params)), arguments.file_path)


async def _multi_edit(service: "FileOps", call: ToolCall) -> Outcome:
    arguments = call.arguments
    assert isinstance(arguments, MultiEditArguments)
    steps = [
        EditStep(old_string=step.old_string, new_string=step.new_string, replace_all=step.replace_all)
        for step in arguments.edits
    ]
    params = MultiEditParams(file_path=arguments.file_path, edits=steps, session_id=call.session_id)
    return _edited(await service.edit(convert.multi_edit_request(params)), arguments.file_path)


async def _write(service: "FileOps", call: ToolCall) -> Outcome:
    arguments = call.arguments
    assert isinstance(arguments, WriteArguments)
    params = WriteParams(file_path=arguments.file_path, content=arguments.content, session_id=call.session_id)
    return _edited(await service.edit(convert.write_request(params)), arguments.file_path)


async def _undo(service: "FileOps", call: ToolCall) -> Outcome:
    from fileops.wire.history import undo_result

    arguments, session_id = call.arguments, call.session_id
    assert isinstance(arguments, UndoArguments)
    if arguments.turn:
        return Outcome(await _turn_undone(service, session_id, arguments.file_path))
    request = UndoRequest(session_id=session_id, by_session=session_id)
    if (path := arguments.file_path) is not None:
        if not path.startswith("/"):
            return Outcome(convert.failure_result(NotAbsolute(path=path), "edit", path))
        edits = await service.edits.history(HistoryRequest(file_path=path, session_id=session_id))
        edit_id = next((edit.edit_id for edit in edits if edit.undone_by is None and not edit.undoes), None)
        if edit_id is None:  # the service says so
            request = UndoRequest(session_id=session_id, file_path=path, by_session=session_id)
        else:
            request = UndoRequest(edit_id=edit_id, by_session=session_id)
    return Outcome(undo_result(await service.edits.undo(request)))


async def _turn_undone(service: "FileOps", session_id: str, file_path: str | None) -> ToolResult:
    """Undo all that the session did since its last prompt, by tools and by commands."""
    from fileops.model.rewind import RewindRequest, RewindTarget
    from fileops.wire.rewinds import rewind_result

    turn_id = await service.rewinds.newest_turn(session_id)
    request = RewindRequest(
        target=RewindTarget("turn_id", (turn_id or "",)),
        paths=() if file_path is None else (file_path,),
        by_session=session_id,
    )
    return rewind_result(await service.rewinds.rewind(request))


def _edited(result: EditResult, file_path: str) -> Outcome:
    return Outcome(convert.edit_result(result, file_path), result.shown_path)


TOOLS: dict[str, Tool] = {
    "Read": Tool(method="fileops/read", arguments=ReadArguments, run=_read, is_read=True),
    "Edit": Tool(method="fileops/edit", arguments=EditArguments, run=_edit),
    "MultiEdit": Tool(method="fileops/multiEdit", arguments=MultiEditArguments, run=_multi_edit),
}
FURTHER_TOOLS: dict[str, Tool] = {
    "Write": Tool(method="fileops/write", arguments=WriteArguments, run=_write),
    "Undo": Tool(method="fileops/undo", arguments=UndoArguments, run=_undo),
}


@cache
def tool_list(names: tuple[str, ...]) -> list[JsonObject]:
    """What `tools/list` answers, in this order. Hosts drop texts where a tool has an `outputSchema`, so none has."""
    ordered = [_listed(tool.name, tool.description, tool.input_schema) for tool in tool_definitions()]
    further = [_listed(name, *texts) for name, texts in _FURTHER_TEXTS.items()]
    return [tool for tool in (*ordered, *further) if tool["name"] in names]


def _listed(name: str, description: str, input_schema: JsonObject) -> JsonObject:
    is_read = name == "Read"
    annotations: JsonObject = {"readOnlyHint": True} if is_read else {
        "readOnlyHint": False, "destructiveHint": True, "idempotentHint": False,
    }  # fmt: skip
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
