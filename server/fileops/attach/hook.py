"""The command `mcp hook`: answers a host's hooks, so that agents learn of changes by others, and edit beside them.

It also reports to the shared daemon where turns and shell commands begin and end (`hook_record.py`).

The host starts one process for each tool call and waits for it. This module therefore imports only the standard
library, and waits for its input for a limited time. An input that it does not understand must not stop the host: it
then prints nothing, and the host continues.
"""

import json
import os
import re
import select
import sys
import time
from typing import Any, TypeGuard, cast

from fileops.attach.callers import Caller, caller_of

STDIN, STDOUT = 0, 1
MAX_WAIT_S = 0.9  # the host's user waits, so a hook ends within a second
MAX_NAME_CHARS = 100  # of an event, in a message
MAX_INPUT_BYTES = 64 << 20  # a Write contains the whole file
CHUNK_BYTES = 1 << 16

# The host's own Read shows these files better than text could. Everything else is text and is read by our tool: a file
# that the host itself has read does not count as read for our edit.
NOT_TEXT = (
    ".pdf", ".ipynb",
    ".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".ico", ".tif", ".tiff", ".heic", ".heif", ".avif",
)  # fmt: skip

# The names that a host uses for its own tools and for those of MCP servers.
EDITS = {
    "claude": {"Edit", "Write", "MultiEdit"},
    "claude-plugin": {"Edit", "Write", "MultiEdit"},
    "codex": {"apply_patch", "Edit", "Write"},
    "gemini": {"replace", "write_file"},
    "opencode": {"edit", "write", "patch", "apply_patch", "multiedit"},
}
# Our equivalents, which all configurations of `mcp config` offer; of other tools that edit it is Edit.
EQUIVALENTS = {"Write": "Write", "write_file": "Write", "write": "Write", "multiedit": "MultiEdit"}
READS = {
    "claude": {"Read"},
    "claude-plugin": {"Read"},
    "codex": set[str](),
    "gemini": {"read_file"},
    "opencode": {"read"},
}
PREFIX = {
    "claude": "mcp__fileops__",
    "claude-plugin": "mcp__plugin_fileops_fileops__",
    "codex": "mcp__fileops__",
    "gemini": "mcp_fileops_",
    "opencode": "fileops_",
}
EVENTS = {"PreToolUse", "BeforeTool"}
AFTER_COMMANDS = {"PreToolUse", "BeforeTool", "PostToolUse", "AfterTool", "PostToolUseFailure"}  # and before
AFTERWARDS = {"PostToolUse", "AfterTool", "UserPromptSubmit"}
TURNS = {"SessionStart", "SessionEnd", "SubagentStop", "BeforeAgent", "AfterAgent", "Stop", "PostToolBatch"}
UNHEARD = {("opencode", "UserPromptSubmit")}  # its plugin cannot add anything to a prompt
SHOWS_CHANGES = {"claude", "claude-plugin"}  # these hide what an MCP server's tool answers, but show a hook's message
LAST_LINE = r"[^\n]+ \+\d+ −\d+"  # of the text that says what our tools changed; compiled only after these
FORGETTING = {"clear", "compact"}  # sources of a SessionStart: the model no longer has what it read


class Unusable(Exception):
    """The host's input cannot be answered, or the output cannot be written; the message says why."""


def main(host: str, mode: str = "tools", *, has_our_notebooks: bool = False) -> int:
    """Return the exit status, which is always 0: others stop some hosts. An error is one line on stderr.

    Args: mode: "companion": the host keeps its own tools, which are guarded and recorded; "tools": they are refused.
    has_our_notebooks: whether those for notebooks are refused, too.
    """
    answer: dict[str, Any] | None = None
    try:
        deadline = time.monotonic() + MAX_WAIT_S
        raw = _parse(_read_input(STDIN, deadline))
        caller = caller_of(host, raw)
        try:
            answer = _answer(caller, raw, mode, deadline, has_our_notebooks=has_our_notebooks)
        finally:
            if answer is None:
                answer = _consent(caller, raw)
            if answer is not None:
                _print(json.dumps(answer).encode("ascii") + b"\n")
    except Unusable as error:
        sys.stderr.write(f"fileops-server mcp hook: {error}\n")
    except Exception as error:  # noqa: BLE001 - some hosts refuse the tool if a hook ends with another status
        sys.stderr.write(f"fileops-server mcp hook: {' '.join(f'{type(error).__name__}: {error}'.split())}\n")
    return 0


def _answer(
    caller: Caller, raw: dict[str, Any], mode: str, deadline: float, *, has_our_notebooks: bool
) -> dict[str, Any] | None:
    """Return the answer to one event. Raises: Unusable."""
    from fileops.attach import companion, host_events

    _name_of(raw)
    event = host_events.common_form(caller.dialect, raw)
    if isinstance(name := event.get("hook_event_name"), str) and name not in AFTER_COMMANDS | AFTERWARDS | TURNS:
        raise Unusable(f"the event {name[:MAX_NAME_CHARS]} is unknown")
    if event.get("hook_event_name") in EVENTS and not isinstance(event.get("tool_name"), str):
        raise Unusable(f"the event {event['hook_event_name']} has no tool_name")
    refusing = mode == "tools" or (has_our_notebooks and _is_about_notebook(event))
    if refusing and caller.is_own:
        refusal = refusal_of(caller, event, deadline, has_our_notebooks=has_our_notebooks)
        if refusal is not None:
            return refusal
    is_guarded = mode == "companion" or not caller.is_own
    if event.get("tool_name") in host_events.FILE_TOOLS or event.get("hook_event_name") == "PostToolBatch":
        return companion.answer_to(caller, raw, event)
    if is_guarded and event.get("hook_event_name") not in AFTER_COMMANDS:
        companion.answer_to(caller, raw, event)
    record(caller, event, deadline)
    return describe_change(caller.host, event) or report_shared_changes(caller, event, deadline)


def _consent(caller: Caller, raw: dict[str, Any]) -> dict[str, Any] | None:
    """Return the decision without which some hosts refuse a tool."""
    is_asked = caller.dialect == "antigravity" and "toolCall" in raw and "error" not in raw
    return {"decision": "allow"} if is_asked else None


def refusal_of(
    caller: Caller, event: dict[str, Any], deadline: float, *, has_our_notebooks: bool = False
) -> dict[str, Any] | None:
    """Return the answer that refuses a built-in tool in favour of one of ours, or None to let the host continue.

    Other hosts load the same hooks, and a server may not have started: nothing is refused in favour of a tool that the
    caller does not have.
    """
    answer = answer_to(caller.host, event, has_our_notebooks=has_our_notebooks)
    if answer is None:
        return None
    from fileops.attach import hooked_session

    return answer if hooked_session.has_tools(caller, deadline) else None


def answer_to(host: str, event: dict[str, Any], *, has_our_notebooks: bool = False) -> dict[str, Any] | None:
    """Return the answer that would refuse a built-in tool, or None for another event or tool."""
    name = _name_of(event)
    if name not in EVENTS:
        return None
    tool, arguments = event.get("tool_name"), event.get("tool_input")
    if not isinstance(tool, str):
        return None
    if tool in EDITS.get(host, ()):
        return _refusal(host, name, f"Use {PREFIX[host]}{EQUIVALENTS.get(tool, 'Edit')}.")
    if has_our_notebooks and tool == "NotebookEdit":
        return _refusal(host, name, f"Use {PREFIX[host]}NotebookEdit.")
    shown_by_host = tuple(end for end in NOT_TEXT if end != ".ipynb") if has_our_notebooks else NOT_TEXT
    if tool in READS.get(host, ()) and not (_is_object(arguments) and _is_shown_by_host(arguments, shown_by_host)):
        return _refusal(host, name, f"Use {PREFIX[host]}Read.")
    return None


def describe_change(host: str, event: dict[str, Any]) -> dict[str, Any] | None:
    """Return the message that shows the person what one of our tools changed, or why it failed; None if neither.

    The tool's answer has it, if that is full; the host shows the person the answer only on request. A lean answer names
    the lines, and the call has their text.
    """
    tool = event.get("tool_name")
    if host not in SHOWS_CHANGES or not isinstance(tool, str) or not tool.startswith(PREFIX[host]):
        return None
    if _name_of(event) == "PostToolUseFailure" and not event.get("is_interrupt"):
        from fileops.attach import hook_change

        why = hook_change.failure_of(event.get("tool_input"), event.get("error"), event.get("cwd"))
        return None if why is None else {"systemMessage": why}
    if _name_of(event) != "PostToolUse":
        return None
    answer = event.get("tool_response")
    items = cast("list[object]", answer) if isinstance(answer, list) else []
    for item in items[1:]:  # the first is the output for the model
        text = item.get("text") if _is_object(item) else None
        if isinstance(text, str):
            lines = text.split("\n")
            last = enumerate(reversed(lines))
            n_files = next((n for n, line in last if not re.fullmatch(LAST_LINE, line)), len(lines))
            if n_files:
                return {"systemMessage": "\n".join((*lines[-n_files:], *lines[:-n_files]))}
    output = items[0].get("text") if items and _is_object(items[0]) else None
    if isinstance(output, str):
        from fileops.attach import hook_change

        message = hook_change.message_of(event.get("tool_input"), output, event.get("cwd"))
        return None if message is None else {"systemMessage": message}
    return None


def record(caller: Caller, event: dict[str, Any], deadline: float) -> None:
    """Report to the daemon where a turn or a shell command of the session begins or ends."""
    from fileops.attach import hook_record

    if caller.own_id and (report := hook_record.report_of(caller.shell, event)) is not None:
        from fileops.attach import hooked_session

        hooked_session.record(caller.session_host, caller.own_id, report, deadline)


def report_shared_changes(caller: Caller, event: dict[str, Any], deadline: float) -> dict[str, Any] | None:
    """Return the answer with what others changed in files that the session has read; None if there is nothing.

    The daemon is sent what a shell command has shown of files, which then counts as read. What is returned counts as
    reported, so the daemon is not asked if the answer could not be printed. Raises: Unusable.
    """
    name, tool, source = _name_of(event), event.get("tool_name"), event.get("source")
    host, session = caller.session_host, caller.own_id
    if not session or (host, name) in UNHEARD:
        return None
    if name == "SessionStart" and isinstance(source, str) and source in FORGETTING:
        from fileops.attach import hooked_session

        hooked_session.reset(host, session, deadline)
    elif name in AFTERWARDS and not (
        isinstance(tool, str) and caller.host in PREFIX and tool.startswith(PREFIX[caller.host])
    ):  # our own tools report it themselves
        from fileops.attach import hooked_session
        from fileops.attach.hook_views import views_of

        _require_output()
        if texts := hooked_session.notices(host, session, deadline, views_of(event)):
            from fileops.attach.companion import translate_answer

            return translate_answer(caller, event, event, {"contexts": texts})
    return None


def _refusal(host: str, event: str, reason: str) -> dict[str, Any]:
    if host in {"gemini", "opencode"}:
        return {"decision": "deny", "reason": reason}
    decision = {"hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": reason}
    return {"hookSpecificOutput": decision}


def _name_of(event: dict[str, Any]) -> str | None:
    name = event.get("hook_event_name")
    if name is not None and not isinstance(name, str):
        raise Unusable("hook_event_name is not a text")
    return name


def _is_about_notebook(event: dict[str, Any]) -> bool:
    arguments = event.get("tool_input")
    is_one = _is_object(arguments) and _is_shown_by_host(arguments, (".ipynb",))
    return is_one or event.get("tool_name") == "NotebookEdit"


def _is_shown_by_host(arguments: dict[str, Any], endings: tuple[str, ...]) -> bool:
    path = arguments.get("file_path")
    return isinstance(path, str) and path.lower().endswith(endings)


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _parse(data: bytes) -> dict[str, Any]:
    try:
        event: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Unusable(f"stdin is not JSON: {error}") from None
    if not _is_object(event):
        raise Unusable("stdin is not a JSON object")
    return event


def _require_output() -> None:
    """Raises: Unusable, if stdout is closed or has lost its reader."""
    poll = select.poll()
    poll.register(STDOUT, 0)  # errors are always reported
    if any(events & (select.POLLERR | select.POLLHUP | select.POLLNVAL) for _, events in poll.poll(0)):
        raise Unusable("stdout is closed")


def _print(line: bytes) -> None:
    """Write to the descriptor directly, since Python would try again at exit to write what failed."""
    try:
        while line:
            line = line[os.write(STDOUT, line) :]
    except OSError as error:
        raise Unusable(f"stdout cannot be written: {error.strerror}") from None


def _read_input(descriptor: int, deadline: float) -> bytes:
    """Return what the host writes until it closes its end."""
    poll, data = select.poll(), bytearray()
    poll.register(descriptor, select.POLLIN)
    while len(data) <= MAX_INPUT_BYTES:
        remaining_s = deadline - time.monotonic()
        if remaining_s <= 0 or not poll.poll(remaining_s * 1000):
            break
        try:
            chunk = os.read(descriptor, CHUNK_BYTES)
        except OSError as error:
            raise Unusable(f"stdin cannot be read: {error.strerror}") from None
        if not chunk:
            return bytes(data)
        data += chunk
    else:
        raise Unusable(f"stdin holds more than {MAX_INPUT_BYTES} bytes")
    return bytes(data)  # a host that keeps the pipe open may have written everything
