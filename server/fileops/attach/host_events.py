"""Events of hosts' hooks in one form, that of Claude Code, and the reads and edits that a call of a tool makes.

Only names are translated here; the daemon decides everything about files. Standard library only.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from fileops.attach.callers import Dialect

Event = dict[str, Any]
Call = dict[str, Any]

_NAMES = {  # of events, in Claude Code's spelling
    "preToolUse": "PreToolUse", "postToolUse": "PostToolUse", "postToolUseFailure": "PostToolUseFailure",
    "sessionStart": "SessionStart", "sessionEnd": "SessionEnd", "userPromptSubmitted": "UserPromptSubmit",
    "beforeSubmitPrompt": "UserPromptSubmit", "stop": "Stop", "agentStop": "Stop", "beforeReadFile": "PreToolUse",
}  # fmt: skip
_FIELDS = {
    "tool_name": ("toolName",),
    "tool_input": ("toolArgs",),
    "tool_response": ("tool_result", "toolResult", "tool_output"),
    "tool_use_id": ("toolUseId",),
    "session_id": ("sessionId", "conversation_id", "conversationId"),
    "turn_id": ("generation_id",),
}
READS = frozenset({"Read", "view", "read", "read_file", "view_file"})
WRITES = frozenset({"Write", "create", "write", "write_file", "create_file", "write_to_file"})
EDITS = frozenset({
    "Edit", "MultiEdit", "edit", "multiedit", "replace", "str_replace", "str_replace_editor",
    "replace_string_in_file", "multi_replace_string_in_file", "replace_file_content", "multi_replace_file_content",
})  # fmt: skip
PATCHES = frozenset({"apply_patch", "patch"})
NOTEBOOKS = frozenset({"NotebookEdit"})  # of Claude Code
FILE_TOOLS = READS | WRITES | EDITS | PATCHES | NOTEBOOKS
_PATCH = "*** Begin Patch"
_PATHS = (
    "file_path", "filePath", "path", "absolute_path", "AbsolutePath", "TargetFile", "target_file", "notebook_path",
)  # fmt: skip
_OLD = ("old_string", "oldString", "old_str", "TargetContent")
_NEW = ("new_string", "newString", "new_str", "ReplacementContent")
_CONTENT = ("content", "contents", "file_text", "CodeContent")
_STEPS = ("edits", "replacements", "ReplacementChunks")
_ALL = ("replace_all", "replaceAll", "AllowMultiple", "allow_multiple")
_NUMBERED = r"^(\d+): (.*)$"  # a line of opencode's read; not compiled for other hosts, which wait for each import


def common_form(dialect: "Dialect", event: Mapping[str, Any]) -> Event:
    """Return the event with Claude Code's names of events and fields."""
    common = dict(event)
    for name, others in _FIELDS.items():
        for other in others:
            if name not in common and other in common:
                common[name] = common[other]
    name = event.get("hook_event_name", event.get("hookEventName"))
    if dialect == "antigravity":
        called = _object(event.get("toolCall"))
        name = name or ("PostToolUse" if "error" in event else "PreToolUse")
        common |= {"tool_name": called.get("name"), "tool_input": called.get("args")}
    elif name is None and dialect == "copilot":
        name = _name_of_copilots(event)
    elif name == "beforeReadFile":
        common |= {"tool_name": "Read", "tool_input": {"file_path": event.get("file_path")}}
    common["hook_event_name"] = _NAMES.get(name, name) if isinstance(name, str) else name
    given = common.get("tool_input")
    if isinstance(given, str) and _PATCH not in given:
        with suppress(ValueError, RecursionError):
            common["tool_input"] = json.loads(given)
    common["cwd"] = cwd_of(event)
    return common


def _name_of_copilots(event: Mapping[str, Any]) -> str | None:
    """Return the name of an event of Copilot's own hooks, which do not send it."""
    if "toolName" in event:
        return "PostToolUse" if "toolResult" in event else "PostToolUseFailure" if "error" in event else "PreToolUse"
    for key, name in (("prompt", "UserPromptSubmit"), ("source", "SessionStart"), ("reason", "SessionEnd")):
        if key in event:
            return name
    return "Stop" if "stopReason" in event else None


def cwd_of(event: Mapping[str, Any]) -> str:
    """Return the folder in which the host works: absolute."""
    roots = next((event[key] for key in ("workspace_roots", "workspacePaths") if event.get(key)), None)
    first = cast("list[object]", roots)[0] if isinstance(roots, list) else None
    found = next((path for path in (event.get("cwd"), first) if isinstance(path, str) and path.startswith("/")), "")
    if not found:
        with suppress(OSError):
            found = os.getcwd()
    return found


def calls_of(event: Event) -> list[Call]:
    """Return the reads and edits of an event about a tool, in its common form; empty for another tool."""
    tool, given, cwd = event.get("tool_name"), event.get("tool_input"), str(event.get("cwd") or "")
    if not isinstance(tool, str) or tool not in FILE_TOOLS or not cwd.startswith("/"):
        return []
    response, arguments = event.get("tool_response"), _object(given)
    patch = given if isinstance(given, str) else _text(arguments, "patchText", "patch", "input")
    if patch is None and tool in PATCHES:
        patch = _text(arguments, "command")
    if patch is not None and _PATCH in patch:
        return [{"kind": "patch", "patch": patch, "cwd": cwd}]
    return [call for call in _calls(tool, arguments, response, cwd) if "\0" not in call["path"]]


def _calls(tool: str, arguments: Mapping[str, Any], response: object, cwd: str) -> Iterator[Call]:
    path = _text(arguments, *_PATHS)
    here = None if path is None else os.path.normpath(os.path.join(cwd, path))
    if tool in READS:
        if here is not None:
            yield {"kind": "read", "path": here, **_find_shown_lines(arguments, response)}
        return
    if tool in NOTEBOOKS:
        if here is not None:
            yield {"kind": "notebook", "path": here, **_cell(arguments), **_texts(response)}
        return
    content = _text(arguments, *_CONTENT)
    if tool in WRITES and content is not None:
        if here is not None:
            yield {"kind": "write", "path": here, "content": content, **_texts(response)}
        return
    by_path: dict[str, list[dict[str, object]]] = {}
    steps = next((arguments[key] for key in _STEPS if isinstance(arguments.get(key), list)), [arguments])
    for step in map(_object, cast("list[object]", steps)):
        old, new, of = _text(step, *_OLD), _text(step, *_NEW), _text(step, *_PATHS)
        target = here if of is None else os.path.normpath(os.path.join(cwd, of))
        if old is None or new is None or target is None:
            return
        edit: dict[str, object] = {"old": old, "new": new, "all": any(step.get(key) is True for key in _ALL)}
        by_path.setdefault(target, []).append(edit)
    for target, edits in by_path.items():
        yield {"kind": "edit", "path": target, "edits": edits, **_texts(response)}


def _texts(response: object) -> dict[str, str]:
    """Return the texts that the host says it has replaced and written."""
    fields = _object(response)
    shown = _object(fields.get("returnDisplay"))
    found = {
        "original": _text({**shown, **fields}, "originalFile", "originalContent", "original_file"),
        "result": _text({**shown, **fields}, "newContent", "updated_file"),
    }
    return {name: text for name, text in found.items() if text is not None}


def _cell(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return what Claude Code's tool is to make of a cell."""
    names = {"cell_id": "cell_id", "source": "new_source", "cell_type": "cell_type", "mode": "edit_mode"}
    return {name: text for name, key in names.items() if (text := _text(arguments, key)) is not None}


def _find_shown_lines(arguments: Mapping[str, Any], response: object) -> dict[str, Any]:
    """Return which lines a read was asked for, or has shown."""
    fields: dict[str, Any] = {}
    start = _number(arguments, "offset", "start_line", "startLine", "StartLine")
    last, limit = _number(arguments, "end_line", "endLine", "EndLine"), _number(arguments, "limit")
    span = arguments.get("view_range")
    if isinstance(span, list) and all(isinstance(number, int) for number in cast("list[object]", span)):
        start, last = (*cast("list[int]", span), -1, -1)[:2]
    if last is not None:
        limit = last - (start or 1) + 1 if last > 0 else None
    fields |= {name: value for name, value in (("start", start), ("n_lines", limit)) if value is not None}
    given = _object(response)
    file, whole = _object(given.get("file")), given.get("llmContent")
    if isinstance(file.get("content"), str):
        return {
            "shown": file["content"],
            **{
                name: value
                for name, key in (("start", "startLine"), ("n_lines", "numLines"))
                if (value := _number(file, key)) is not None
            },
        }
    if isinstance(whole, str) and not fields:
        return {"shown": whole}
    if (text := _text(given, "text_result_for_llm", "textResultForLlm")) is not None:
        return {**fields, "shown": text}  # of Copilot CLI; of a file that is too large it is a sentence
    if isinstance(response, str) and "<content>" in response:
        return _find_lines_of_opencode(response) or fields
    return fields


def _find_lines_of_opencode(response: str) -> dict[str, Any]:
    body = response.partition("<content>\n")[2].rpartition("\n</content>")[0]
    lines = [found for line in body.split("\n") if (found := re.match(_NUMBERED, line)) is not None]
    if not lines:
        return {}
    return {"start": int(lines[0][1]), "n_lines": len(lines), "shown": "\n".join(line[2] for line in lines)}


def _object(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _text(arguments: Mapping[str, Any], *names: str) -> str | None:
    return next((value for name in names if isinstance(value := arguments.get(name), str)), None)


def _number(arguments: Mapping[str, Any], *names: str) -> int | None:
    found = (arguments.get(name) for name in names)
    return next((value for value in found if isinstance(value, int) and not isinstance(value, bool)), None)
