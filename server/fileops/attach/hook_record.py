"""What a host's hook reports for the record: where turns and shell commands of its session begin and end.

Only a title is sent of a prompt, and only a label of a command line (see `command_of`), and whether it names git.
"""

from typing import Any, TypedDict, cast

from fileops.core.presentation.record_texts import command_of, does_name_git, title_of

MAX_ID_CHARS = 200  # of a host's ids; longer ones are cut
MAX_PATH_CHARS = 4096

# The tools with which hosts run shell commands, by their names in the hosts' hooks.
SHELLS = {
    "claude": ("Bash",),
    "claude-plugin": ("Bash",),
    "codex": ("Bash",),
    "gemini": ("run_shell_command",),
    "opencode": ("bash",),
    "copilot": ("bash", "Bash"),  # in events of its own spelling, and of Claude Code's
    "cursor": ("Shell",),
    "antigravity": ("run_command",),
}
_BEGINS_COMMAND = {"PreToolUse", "BeforeTool"}
_ENDS_COMMAND = {"PostToolUse", "PostToolUseFailure", "AfterTool"}
_BEGINS_TURN = {"UserPromptSubmit", "BeforeAgent"}
_ENDS_TURN = {"Stop", "AfterAgent", "SessionEnd"}


class Report(TypedDict, total=False):
    """What is sent to the daemon beside the session. docs/PROTOCOL.md describes it for other clients."""

    what: str  # "begin_command", "end_command", "begin_turn" or "end_turn"
    cwd: str
    tool_use_id: str | None
    program: str  # the command's label
    names_git: bool  # whether the command line does
    background: bool
    turn_id: str | None  # the host's
    title: str | None


def report_of(host: str, event: dict[str, Any]) -> Report | None:
    """Return what the daemon should know about a hook's event; None if it is not about a turn or a shell command."""
    name = event.get("hook_event_name")
    report: Report
    if name in _BEGINS_TURN:
        prompt = event.get("prompt")
        report = {
            "what": "begin_turn",
            "turn_id": _text(event.get("prompt_id")) or _text(event.get("turn_id")),
            "title": title_of(prompt) if isinstance(prompt, str) else None,
        }
    elif name in _ENDS_TURN:
        report = {"what": "end_turn"}
    elif name in _BEGINS_COMMAND | _ENDS_COMMAND and event.get("tool_name") in SHELLS[host]:
        given: object = event.get("tool_input")
        arguments = cast("dict[str, object]", given) if isinstance(given, dict) else {}
        line = arguments.get("command", arguments.get("CommandLine"))
        report = {
            "what": "begin_command" if name in _BEGINS_COMMAND else "end_command",
            "tool_use_id": _text(event.get("tool_use_id")),
            "program": command_of(line) if isinstance(line, str) else "",
            "names_git": isinstance(line, str) and does_name_git(line),
            "background": arguments.get("run_in_background") is True,
        }
    else:
        return None
    cwd = event.get("cwd")
    if isinstance(cwd, str) and cwd.startswith("/") and len(cwd) <= MAX_PATH_CHARS:
        report["cwd"] = cwd
    return report


def _text(value: object) -> str | None:
    if not isinstance(value, str) or not value:
        return None
    return value[:MAX_ID_CHARS].encode("utf-8", "replace").decode()  # JSON can escape half a character
