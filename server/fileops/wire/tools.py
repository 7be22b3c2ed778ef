"""Definitions of the tools for a model. Names, descriptions and schemas are exactly those of tool_definitions.json.

Labels, prompt snippets and guidelines depend on which tools are enabled: a prompt never mentions an unavailable tool.
"""

import os
from collections.abc import Collection

import msgspec
from msgspec import Struct

from fileops.wire.types import JsonObject, ToolDefinition


class Guideline(Struct, frozen=True, kw_only=True):
    """A line of the system prompt, used if all tools in `needs` are enabled."""

    text: str
    needs: tuple[str, ...] = ()


class ToolMetadata(Struct, frozen=True, kw_only=True):
    """What a prompt and an editor say about a tool. icon: the name of a pictogram, for the client to map to its own."""

    method: str
    label: str
    icon: str
    prompt_snippet: str
    guidelines: tuple[Guideline, ...]


class _ToolSpec(msgspec.Struct, frozen=True):
    name: str
    description: str
    input_schema: JsonObject


TOOL_METADATA: dict[str, ToolMetadata] = {
    "Read": ToolMetadata(
        method="fileops/read",
        label="read",
        icon="file",
        prompt_snippet="Read file contents",
        guidelines=(
            Guideline(text="Use Read to examine files instead of cat or sed."),
            Guideline(
                text="Read a file before editing it, and again when an edit says it was modified.", needs=("Edit",)
            ),
        ),
    ),
    "Edit": ToolMetadata(
        method="fileops/edit",
        label="edit",
        icon="pencil",
        prompt_snippet="Edit file contents",
        guidelines=(
            Guideline(text="Copy old_string from the file exactly, without the line number prefix."),
            Guideline(
                text="For several changes in one file use MultiEdit rather than several Edits.", needs=("MultiEdit",)
            ),
        ),
    ),
    "MultiEdit": ToolMetadata(
        method="fileops/multiEdit",
        label="multi edit",
        icon="pencil",
        prompt_snippet="Make several exact replacements in one file, all or none",
        guidelines=(Guideline(text="Each edit of a MultiEdit works on the result of the one before it."),),
    ),
}
ALL_TOOLS: tuple[str, ...] = tuple(TOOL_METADATA)


BASH = "Bash"  # optional, not in tool_definitions.json
_BASH_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "The shell command to run"},
        "timeout_s": {"type": "number", "description": "Seconds after which it is killed (default: 120)"},
        "cwd": {"type": "string", "description": "Absolute path of the folder to run it in (default: the workspace)"},
        "description": {"type": "string", "description": "What it is for, in a few words, for the person who is asked"},
    },
    "required": ["command"],
    "additionalProperties": False,
}
_BASH_DESCRIPTION = (
    "Runs a shell command and returns what it prints, stdout and stderr together. Nothing can be typed into it. It is "
    "killed after a timeout, and everything it started ends with it. No state is kept between commands: neither the "
    "working directory nor variables. Of more than 512 KB of output only the beginning and the end are returned."
)
_BASH = ToolMetadata(
    method="fileops/bash",
    label="bash",
    icon="terminal",
    prompt_snippet="Run shell commands",
    guidelines=(
        Guideline(text="Change files with Edit rather than with sed, awk or redirections.", needs=("Edit",)),
        Guideline(text="Each Bash command starts a new shell: put cd and what depends on it into one command."),
    ),
)


NOTEBOOK_EDIT = "NotebookEdit"  # optional, not in tool_definitions.json
NOTEBOOK_READ = "NotebookRead"
_NOTEBOOK_EDIT_DESCRIPTION = """Changes one cell of a Jupyter notebook (.ipynb file).

Usage:
- You must use your `Read` tool on the notebook first. It shows the id of each cell.
- `replace` sets the whole source of the cell `cell_id` to `new_source`. With `old_string`, only that text in the cell \
is replaced by `new_source`; it must occur exactly once.
- `insert` adds a cell with `cell_type` and `new_source` after the cell `cell_id`, with `position` "before" before it. \
Only a notebook without cells needs no `cell_id`.
- `delete` removes the cell. `move` puts it after the cell `target_id`, with `position` "before" before it. \
`clear_outputs` removes its outputs, without `cell_id` those of all cells.
- Everything else in the file stays as it is. A cell keeps its outputs until it is run again.
- This tool will error if the cell has changed since you read it; changes of other cells do not matter."""
_NOTEBOOK_EDIT_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "notebook_path": {"type": "string", "description": "The absolute path to the notebook"},
        "cell_id": {"type": "string", "description": "The id of the cell, as Read shows it"},
        "new_source": {"type": "string", "description": "The new source, or with old_string the new text"},
        "cell_type": {
            "type": "string",
            "enum": ["code", "markdown", "raw"],
            "description": "The type of the cell; insert needs it",
        },
        "edit_mode": {
            "type": "string",
            "enum": ["replace", "insert", "delete", "move", "clear_outputs"],
            "description": "What to do (default: replace)",
        },
        "old_string": {"type": "string", "description": "For replace: the text in the cell to replace"},
        "target_id": {"type": "string", "description": "For move: the id of the other cell"},
        "position": {
            "type": "string",
            "enum": ["after", "before"],
            "description": "For insert and move: on which side of the other cell (default: after)",
        },
    },
    "required": ["notebook_path"],
    "additionalProperties": False,
}
_NOTEBOOK_EDIT = ToolMetadata(
    method="fileops/editNotebook",
    label="notebook edit",
    icon="pencil",
    prompt_snippet="Change cells of Jupyter notebooks",
    guidelines=(Guideline(text="Change notebooks (.ipynb) with NotebookEdit, cell by cell."),),
)
_NOTEBOOK_READ_DESCRIPTION = """Reads a Jupyter notebook (.ipynb file), or one of its cells.

Usage:
- `Read` shows a notebook as well. Use this tool for the whole outputs of one cell, with its images: give its \
`cell_id` and `outputs` "full".
- `outputs` "none" shows the sources only. By default, outputs are summed up in a few lines each."""
_NOTEBOOK_READ_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "notebook_path": {"type": "string", "description": "The absolute path to the notebook"},
        "cell_id": {"type": "string", "description": "The id of the only cell to read"},
        "outputs": {
            "type": "string",
            "enum": ["summary", "full", "none"],
            "description": "How much of the outputs to show (default: summary); full needs cell_id",
        },
    },
    "required": ["notebook_path"],
    "additionalProperties": False,
}
_NOTEBOOK_READ = ToolMetadata(
    method="fileops/read",
    label="notebook read",
    icon="file",
    prompt_snippet="Read cells of Jupyter notebooks with their outputs",
    guidelines=(),
)
NOTEBOOK_TEXTS: dict[str, tuple[str, JsonObject]] = {
    NOTEBOOK_EDIT: (_NOTEBOOK_EDIT_DESCRIPTION, _NOTEBOOK_EDIT_SCHEMA),
    NOTEBOOK_READ: (_NOTEBOOK_READ_DESCRIPTION, _NOTEBOOK_READ_SCHEMA),
}
_NOTEBOOK_METADATA = {NOTEBOOK_EDIT: _NOTEBOOK_EDIT, NOTEBOOK_READ: _NOTEBOOK_READ}


DEFAULT_GUIDELINE = "Be concise in your responses"
SEARCH_TOOLS = ("grep", "find", "ls")  # a client's own tools, better than a shell for common tasks


def general_guidelines(enabled: Collection[str], other_tools: Collection[str] = ()) -> list[str]:
    """Return the lines of a system prompt that belong to no single tool.

    other_tools: names of the client's own tools. They are recognised in any case and mentioned as given.
    """
    own = {name.casefold(): name for name in other_tools}
    shell = BASH if BASH in enabled else own.get(BASH.casefold())
    searching = [own[name] for name in SEARCH_TOOLS if name in own]
    preference = [f"Prefer {'/'.join(searching)} tools over {shell}"] if shell and searching else []
    return [*preference, DEFAULT_GUIDELINE]


def tool_definitions(enabled: Collection[str] = ALL_TOOLS) -> list[ToolDefinition]:
    """Return the definitions of the enabled tools, in the order of tool_definitions.json."""
    definitions = [_definition(spec, TOOL_METADATA[spec.name], enabled) for spec in _SPECS if spec.name in enabled]
    if BASH in enabled:
        bash = _ToolSpec(name=BASH, description=_BASH_DESCRIPTION, input_schema=_BASH_SCHEMA)
        definitions.append(_definition(bash, _BASH, enabled))
    for name, (description, schema) in NOTEBOOK_TEXTS.items():
        if name in enabled:
            spec = _ToolSpec(name=name, description=description, input_schema=schema)
            definitions.append(_definition(spec, _NOTEBOOK_METADATA[name], enabled))
    return definitions


def _definition(spec: _ToolSpec, metadata: ToolMetadata, enabled: Collection[str]) -> ToolDefinition:
    return ToolDefinition(
        name=spec.name,
        method=metadata.method,
        label=metadata.label,
        description=spec.description,
        input_schema=spec.input_schema,
        prompt_snippet=metadata.prompt_snippet,
        prompt_guidelines=[line.text for line in metadata.guidelines if all(need in enabled for need in line.needs)],
        icon=metadata.icon,
    )


def _read_specs() -> list[_ToolSpec]:
    with open(os.path.join(os.path.dirname(__file__), "tool_definitions.json"), "rb") as file:
        return msgspec.json.decode(file.read(), type=list[_ToolSpec])


_SPECS = _read_specs()
