"""The configuration documents of each host, as data and as the text that is printed.

A document is JSON, TOML, a script, or a line of git's list of ignored files. `fileops-server` is started with the same
options everywhere. In hosts with hooks, a hook refuses the built-in edit tools, and nothing else does: a hook does
nothing where the program is missing, so nobody is left without a tool to edit with.

The documents are the person's own, in their home or ignored by git, or with `for_team` those that a project shares.
"""

import json
import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from fileops import __version__

MAX_INLINE = 100  # columns; a longer list or object gets one line per element
TOOLS = ("Read", "Edit", "MultiEdit", "Write")
SERVE = ("mcp", "--freshness", "relevant", "--notices", "on", "--tools", "+write")
SERVE_COMPANION = (*SERVE[:-1], "+write,+undo")
TIMEOUT_S = 600  # an edit may wait for a person's decision


@dataclass(frozen=True)
class JsonDocument:
    file: str
    content: Mapping[str, Any]
    note: str = ""
    is_project_file: bool = True
    scope: str = ""  # the part of a file that several projects share

    @property
    def text(self) -> str:
        return to_json(self.content) + "\n"

    @property
    def printed(self) -> str:
        return "".join(f"// {line}\n" for line in (self.note, self.file) if line) + self.text


@dataclass(frozen=True)
class TomlDocument:
    file: str
    text: str
    is_project_file: bool = False

    @property
    def content(self) -> Mapping[str, Any]:
        return tomllib.loads(self.text)

    @property
    def printed(self) -> str:
        return f"# {self.file}\n{self.text}"


@dataclass(frozen=True)
class Script:
    """A program that the host runs. It is written as a whole: its contents are the server's, from the first line on."""

    file: str
    text: str
    is_project_file: bool = True

    @property
    def printed(self) -> str:
        return f"// {self.file}\n{self.text}"

    @property
    def marks(self) -> tuple[str, ...]:
        """The first lines of the scripts that this command writes, in any mode and version."""
        return (self.text.partition("\n")[0], *OTHER_MARKS)


@dataclass(frozen=True)
class IgnoredFile:
    """A file of the project that is the person's own. Git's list for this clone, which is not shared, ignores it."""

    pattern: str
    file: str = ".git/info/exclude"
    is_project_file: bool = True

    @property
    def printed(self) -> str:
        return f"# {self.file}\n{self.pattern}\n"


OTHER_MARKS = tuple(f"/* {about}" for about in (
    "Guards and records opencode's own edits through fileops-server, and reports turns and commands to it.",
    "Sends edits through fileops-server, and reports turns and shell commands to it.",
))  # fmt: skip

Document = JsonDocument | TomlDocument | Script | IgnoredFile


def to_json(value: object, indent: str = "", step: str = "  ", newline: str = "\n") -> str:
    """Return JSON text in which short lists and objects are on one line; the root object never is."""
    inline = json.dumps(value, ensure_ascii=False)
    is_short = len(indent) + len(inline) <= MAX_INLINE and (indent != "" or not isinstance(value, Mapping))
    if is_short or not isinstance(value, (Mapping, list)) or not value:
        return inline
    inner = indent + step
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        parts = [
            f"{json.dumps(key, ensure_ascii=False)}: {to_json(member, inner, step, newline)}"
            for key, member in members.items()
        ]
        opening, closing = "{", "}"
    else:
        parts = [to_json(item, inner, step, newline) for item in cast("list[object]", value)]
        opening, closing = "[", "]"
    return opening + newline + inner + f",{newline}{inner}".join(parts) + newline + indent + closing


FOR_TEAMS = ("claude", "copilot", "opencode")  # hosts with settings of a project beside those of a person
Mode = Literal["companion", "tools"]


def other_mode(mode: Mode) -> Mode:
    return "tools" if mode == "companion" else "companion"


WAITS_S = 300  # of a hook before an edit, about which a person may be asked


def documents_of(
    host: str,
    command: str = "fileops-server",
    *,
    mode: Mode = "tools",
    folder: str = "/",
    for_team: bool = False,
    read_only_sandbox: bool = False,
    has_our_notebooks: bool = False,
) -> list[Document]:
    """Return the documents that configure `host` to start `command`.

    mode: "companion": the host keeps its own tools, which hooks guard and record; "tools": hooks refuse them. folder:
    of the project, absolute. for_team: those that the project shares; only for hosts in FOR_TEAMS.
    has_our_notebooks: whether the agent reads and edits notebooks by our tools as well.
    """
    documents = _documents_of(host, command, folder, mode, for_team=for_team, read_only_sandbox=read_only_sandbox)
    return [_with_our_notebooks(document) for document in documents] if has_our_notebooks else documents


def _documents_of(
    host: str, command: str, folder: str, mode: Mode, *, for_team: bool, read_only_sandbox: bool
) -> list[Document]:
    match host:
        case "claude":
            return _claude_of_team(command, mode) if for_team else _claude(command, folder, mode)
        case "claude-plugin":
            return _claude_plugin(command, mode)
        case "codex":
            return (
                _codex_companion(command)
                if mode == "companion"
                else _codex(command, read_only_sandbox=read_only_sandbox)
            )
        case "copilot":
            return _copilot(command, mode, for_team=for_team)
        case "gemini":
            return _gemini(command, mode)
        case "opencode":
            return _opencode(command, mode, for_team=for_team)
        case "vscode":
            server = {"type": "stdio", "command": command, "args": [*SERVE, "--root", "${workspaceFolder}"]}
            return [JsonDocument(".vscode/mcp.json", {"servers": {"fileops": server}})]
        case "cursor":
            return _cursor(command, mode)
        case "antigravity":
            return _antigravity(command, mode)
        case "zed":
            servers = {"context_servers": {"fileops": _server(command)}}
            return [JsonDocument("~/.config/zed/settings.json", servers, is_project_file=False)]
        case _:
            raise ValueError(host)


def _with_our_notebooks(document: Document) -> Document:
    """Return the document with the tools for notebooks: in the server's command, the hook's, and the permissions."""
    match document:
        case JsonDocument():
            return replace(document, content=cast("Mapping[str, Any]", _notebooks_in(document.content)))
        case TomlDocument():
            return replace(document, text=cast("str", _notebooks_in(document.text)))
        case _:
            return document


def _notebooks_in(value: object) -> object:
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        return {key: _notebooks_in(member) for key, member in members.items()}
    if isinstance(value, list):
        items = [_notebooks_in(item) for item in cast("list[object]", value)]
        return [*items, *_NOTEBOOK_PERMISSIONS] if f"{_CLAUDES_PREFIX}Read" in items else items
    if isinstance(value, str):
        return _HOOK_COMMAND.sub(r"\g<0> --notebooks ours", value.replace("+write", "+write,+notebook"))
    return value


_CLAUDES_PREFIX = "mcp__fileops__"
_NOTEBOOK_PERMISSIONS = [f"{_CLAUDES_PREFIX}{tool}" for tool in ("NotebookEdit", "NotebookRead")]
_HOOK_COMMAND = re.compile(r"\bmcp hook [a-z-]+(?: --mode [a-z]+)?")


def _server(command: str, **options: object) -> dict[str, object]:
    return {"command": command, "args": [*SERVE], **options}


def _companion_server(command: str, **options: object) -> dict[str, object]:
    return {"command": command, "args": [*SERVE_COMPANION], **options}


def _command_of_hook(command: str, host: str, mode: Mode) -> str:
    program = shlex.quote(command)
    is_missing = f"! command -v {program} >/dev/null 2>&1"  # for a colleague without it, or after it was uninstalled
    # Without --mode it means tools, as in files that the first version has written.
    return f"{is_missing} || {program} mcp hook {host}{' --mode companion' if mode == 'companion' else ''}"


def _run_of_hook(command: str, host: str, mode: Mode, **options: object) -> dict[str, object]:
    return {"type": "command", "command": _command_of_hook(command, host, mode), **options}


def _hook(matcher: str, command: str, host: str, mode: Mode) -> dict[str, object]:
    run = _run_of_hook(command, host, mode)
    # What a command writes is recorded as the agent's, and so is the cell that Claude Code's own tool writes.
    shell = [{"matcher": "^Bash$" if host == "codex" else "^(Bash|NotebookEdit)$", "hooks": [run]}]
    if mode == "companion":
        waits = _run_of_hook(command, host, mode, timeout=WAITS_S)
        before, own = [{"matcher": matcher, "hooks": [waits]}], [{"matcher": matcher, "hooks": [run]}]
        start: list[dict[str, object]] = [{"hooks": [run]}]  # starts the daemon
    else:
        before, own = [{"matcher": matcher, "hooks": [run]}], []
        start = [{"matcher": "clear|compact", "hooks": [run]}]  # the model no longer sees what it read
    hooks: dict[str, object] = {
        "PreToolUse": [*before, *shell],
        "PostToolUse": [*shell, *own],  # others' changes are reported with its result
        "UserPromptSubmit": [{"hooks": [run]}],
        "SessionStart": start,
        "Stop": [{"hooks": [run]}],
    }
    if host == "codex":
        return hooks
    # Claude Code calls PostToolUse only after successful commands. It shows a person how often our tools were called,
    # and what they changed, or why they failed, only as the message of a hook.
    ours = "plugin_fileops_fileops" if host == "claude-plugin" else "fileops"
    changes = {"matcher": f"^mcp__{ours}__(?!Read$)", "hooks": [run]}
    return {
        **hooks,
        "PostToolUse": [*shell, *own, changes],
        "PostToolUseFailure": [*shell, *own, changes],
        **({"PostToolBatch": [{"hooks": [run]}]} if own else {}),  # it has the calls that Claude Code refused itself
        "SessionEnd": [{"hooks": [run]}],
    }


def _claude(command: str, folder: str, mode: Mode) -> list[Document]:
    """Return the server and the settings in which Claude Code keeps a person's own in a project."""
    projects = {folder: {"mcpServers": {"fileops": _claude_server(command, mode)}}}
    return [
        JsonDocument("~/.claude.json", {"projects": projects}, is_project_file=False, scope=folder),
        JsonDocument(".claude/settings.local.json", _claude_settings(command, mode)),
        IgnoredFile("**/.claude/settings.local.json"),
    ]


def _claude_of_team(command: str, mode: Mode) -> list[Document]:
    note = 'Claude Code applies the "allow" rules of a project only in a folder that you have marked as trusted.'
    return [
        JsonDocument(".mcp.json", {"mcpServers": {"fileops": _claude_server(command, mode)}}),
        JsonDocument(".claude/settings.json", _claude_settings(command, mode), note),
    ]


def _claude_server(command: str, mode: Mode) -> dict[str, object]:
    if mode == "companion":  # the model finds our tools by searching, and uses them where its own do not reach
        return {"type": "stdio", **_companion_server(command)}
    # `alwaysLoad`: otherwise the model finds the tools only by searching for them.
    # Its hooks report when the model forgets, so a read of what it still has may be answered in one sentence.
    args = [*SERVE, "--repeated-reads", "short"]
    return {"type": "stdio", "command": command, "args": args, "alwaysLoad": True}


def _claude_settings(command: str, mode: Mode) -> dict[str, object]:
    # In companion, the host asks before our tools edit, as it does before its own.
    allowed = ("Read",) if mode == "companion" else TOOLS
    return {
        "permissions": {"allow": [f"mcp__fileops__{tool}" for tool in allowed]},
        "hooks": _hook("^(Read|Edit|Write|MultiEdit)$", command, "claude", mode),
    }


def _claude_plugin(command: str, mode: Mode) -> list[Document]:
    plugin = {
        "name": "fileops",
        "version": __version__,
        "description": "Read and edit files through fileops-server",
        "author": {"name": "The fileops-server developers"},  # `claude plugin validate --strict` demands one
        "license": "MIT",
    }
    hooks = {"hooks": _hook("^(Read|Edit|Write|MultiEdit)$", command, "claude-plugin", mode)}
    return [
        JsonDocument(".claude-plugin/plugin.json", plugin),
        JsonDocument(".mcp.json", {"mcpServers": {"fileops": _claude_server(command, mode)}}),
        JsonDocument("hooks/hooks.json", hooks),
    ]


# `required`: otherwise the first turn may begin before the server has answered, without its tools. Without the program
# Codex would then not start at all, so a shell answers in its place, without any tool.
CODEX_START = """\
command -v "$0" >/dev/null 2>&1 && exec "$0" "$@"
echo "$0 is not installed" >&2
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id" *: *\\([0-9][0-9]*\\).*/\\1/p')
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},\
"serverInfo":{"name":"fileops","version":"0"}}' ;;
    *) result='{"tools":[]}' ;;
  esac
  [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$result"
done
"""
# `direct_only_tool_namespaces`: otherwise models find the tools only by searching for them.
CODEX = """\
{sandbox}[mcp_servers.fileops]
command = "sh"
args = {args}
default_tools_approval_mode = "approve"
tool_timeout_sec = {timeout}
required = true

[features.code_mode]
enabled = false
direct_only_tool_namespaces = ["mcp__fileops"]
"""


def _codex(command: str, *, read_only_sandbox: bool) -> list[Document]:
    config = CODEX.format(
        sandbox='sandbox_mode = "read-only"\n\n' if read_only_sandbox else "",
        args=json.dumps(["-c", CODEX_START, command, *SERVE]),  # JSON strings are basic strings of TOML
        timeout=TIMEOUT_S,
    )
    documents: list[Document] = [TomlDocument("~/.codex/config.toml", config)]
    if not read_only_sandbox:
        documents.append(_codex_hooks(command, "tools"))
    return documents


def _codex_hooks(command: str, mode: Mode) -> JsonDocument:
    hooks = {"hooks": _hook("^(apply_patch|Edit|Write)$", command, "codex", mode)}
    note = "Codex runs a hook only after you have trusted it: it asks at the next start, or use /hooks."
    return JsonDocument("~/.codex/hooks.json", hooks, note, is_project_file=False)


CODEX_COMPANION = """\
[mcp_servers.fileops]
command = {command}
args = {args}
tool_timeout_sec = {timeout}
"""


def _codex_companion(command: str) -> list[Document]:
    config = CODEX_COMPANION.format(command=json.dumps(command), args=json.dumps([*SERVE_COMPANION]), timeout=TIMEOUT_S)
    return [TomlDocument("~/.codex/config.toml", config), _codex_hooks(command, "companion")]


# Copilot CLI and VS Code's agent host run these hooks. Names in this spelling give both the same payloads.
COPILOT_EVENTS = (
    "PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "SessionStart", "Stop", "SessionEnd",
)  # fmt: skip


def _copilot(command: str, mode: Mode, *, for_team: bool) -> list[Document]:
    serve = SERVE_COMPANION if mode == "companion" else SERVE
    server = {"type": "local", "command": command, "args": [*serve], "tools": ["*"]}
    servers = {"mcpServers": {"fileops": server}}
    run = _command_of_hook(command, "copilot", mode)
    hooks = {
        "version": 1,
        "hooks": {
            event: [{"type": "command", "bash": run, "command": run, "timeoutSec": _wait_of(event)}]
            for event in COPILOT_EVENTS
        },
    }
    files = (".mcp.json", ".github/hooks/fileops.json")
    if not for_team:
        files = ("~/.copilot/mcp-config.json", "~/.copilot/hooks/fileops.json")
    documents: list[Document] = [JsonDocument(files[0], servers, is_project_file=for_team)]
    if mode == "companion":
        documents.append(JsonDocument(files[1], hooks, is_project_file=for_team))
    return documents


def _wait_of(event: str) -> int:
    return WAITS_S if event == "PreToolUse" else 10


CURSOR_EVENTS = (
    "preToolUse", "postToolUse", "postToolUseFailure", "beforeSubmitPrompt", "sessionStart", "stop", "sessionEnd",
)  # fmt: skip


def _cursor(command: str, mode: Mode) -> list[Document]:
    if mode == "tools":
        return [JsonDocument(".cursor/mcp.json", {"mcpServers": {"fileops": _server(command)}})]
    run = {"command": _command_of_hook(command, "cursor", mode)}
    events = {event: [{**run, "timeout": WAITS_S} if event == "preToolUse" else run] for event in CURSOR_EVENTS}
    return [
        JsonDocument(".cursor/mcp.json", {"mcpServers": {"fileops": _companion_server(command)}}),
        JsonDocument(".cursor/hooks.json", {"version": 1, "hooks": events}),
    ]


def _antigravity(command: str, mode: Mode) -> list[Document]:
    if mode == "tools":
        return [JsonDocument(".agents/mcp_config.json", {"mcpServers": {"fileops": _server(command)}})]
    program = shlex.quote(command)
    # It refuses a call whose hook decides nothing, even if the program is missing.
    consent = 'echo \'{"decision": "allow"}\''
    hook = f"if command -v {program} >/dev/null 2>&1; then {program} mcp hook antigravity --mode companion"
    run = {"type": "command", "command": f"{hook}; else {consent}; fi", "timeout": WAITS_S}
    entries = [{"matcher": "", "hooks": [run]}]
    hooks = {"hooks": {"PreToolUse": entries, "PostToolUse": entries}}
    return [
        JsonDocument(".agents/mcp_config.json", {"mcpServers": {"fileops": _companion_server(command)}}),
        JsonDocument(".agents/hooks.json", hooks),
    ]


GEMINI_TOOLS = ("replace", "write_file", "read_file")  # its own tools, which ours replace
GEMINI_POLICY = """\
[[rule]]
mcpName = "fileops"
toolName = "*"
decision = "allow"
priority = 900
"""


def _gemini(command: str, mode: Mode) -> list[Document]:
    serve = SERVE_COMPANION if mode == "companion" else SERVE
    server = {
        "command": command,
        "args": [*serve, "--max-read-bytes", "100000"],
        "timeout": TIMEOUT_S * 1000,
    }
    run = _run_of_hook(command, "gemini", mode)
    shell, turn = [{"matcher": "^run_shell_command$", "hooks": [run]}], [{"hooks": [run]}]
    own = f"^({'|'.join(GEMINI_TOOLS)})$"
    if mode == "companion":
        waits = _run_of_hook(command, "gemini", mode, timeout=WAITS_S * 1000)
        before, after = [{"matcher": own, "hooks": [waits]}, *shell], [{"matcher": own, "hooks": [run]}, *shell]
    else:
        before, after = [{"matcher": own, "hooks": [run]}, *shell], shell
    settings = {
        "mcpServers": {"fileops": server},
        "tools": {"truncateToolOutputThreshold": 200000},
        "hooks": {"BeforeTool": before, "AfterTool": after, "BeforeAgent": turn, "AfterAgent": turn},
    }
    return [
        JsonDocument("~/.gemini/settings.json", settings, is_project_file=False),
        TomlDocument("~/.gemini/policies/fileops.toml", GEMINI_POLICY),
    ]


# opencode waits for what `tool.execute.before` and `after` return, so both ends of a command are reported in time.
# `opencode run` ends with the last turn and waits for nothing, so the end of a turn is reported before it can. What
# others changed is added to the output of a command; nothing can be added to a prompt. opencode creates a session for
# each subagent, whose prompts are the agent's and begin no turn.
OPENCODE_PLUGIN = """\
%(mark)s
   Written by `fileops-server mcp config opencode`. */
import { spawn, spawnSync } from "node:child_process"

const COMMAND = %(command)s
const ARGUMENTS = ["mcp", "hook", "opencode", "--mode", "%(mode)s"]
const PATIENCE_MS = 3000
const REVIEW_MS = 300_000  // a person may decide
const FILE_TOOLS = ["read", "edit", "write", "patch", "apply_patch", "multiedit"]

function report(event, patience = PATIENCE_MS) {
  return new Promise((resolve) => {
    const hook = spawn(COMMAND, ARGUMENTS, { stdio: ["pipe", "pipe", "ignore"] })
    const chunks = []
    const done = () => {
      clearTimeout(timer)
      resolve(parsed(Buffer.concat(chunks).toString()))
    }
    const timer = setTimeout(done, patience)
    hook.stdout.on("data", (chunk) => chunks.push(chunk))
    hook.on("error", done)
    hook.on("close", done)
    hook.stdin.on("error", done)
    hook.stdin.end(JSON.stringify(event))
  })
}

function parsed(answer) {
  try {
    return JSON.parse(answer)
  } catch {
    return {}  // most hooks answer nothing
  }
}

export const FileopsRecord = async ({ directory }) => {
  if (spawnSync(COMMAND, ["--version"], { stdio: "ignore" }).error) return {}  // it is not installed here
  const subagents = new Set()
  const describe = (name, session, more) => ({ hook_event_name: name, session_id: session, cwd: directory, ...more })
  const send = (name, session, more) => report(describe(name, session, more))
  const sendCall = async (name, input, args, more) => {
    const isFileTool = FILE_TOOLS.includes(input.tool)
    if (input.tool !== "bash" && !isFileTool) return {}
    const call = { tool_name: input.tool, tool_input: isFileTool ? args : { command: args?.command } }
    const event = describe(name, input.sessionID, { ...call, tool_use_id: input.callID, ...more })
    return await report(event, isFileTool && name === "PreToolUse" ? REVIEW_MS : PATIENCE_MS)
  }
  return {
    "tool.execute.before": async (input, output) => {
      const answer = await sendCall("PreToolUse", input, output.args)
      if (answer.decision === "deny") throw new Error(answer.reason)
      if (answer.arguments) Object.assign(output.args, answer.arguments)
    },
    "tool.execute.after": async (input, output) => {
      const answer = await sendCall("PostToolUse", input, input.args, { tool_response: output.output })
      const context = answer.hookSpecificOutput?.additionalContext
      if (answer.output) output.output = answer.output
      if (context) output.output = `${output.output}\\n\\n${context}`
    },
    "chat.message": async (input, output) => {
      if (subagents.has(input.sessionID)) return
      const texts = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      const prompt = texts.map((part) => part.text).join("\\n")
      await send("UserPromptSubmit", input.sessionID, { prompt, turn_id: output.message.id })
    },
    event: async ({ event }) => {
      if (event.type === "session.created" && event.properties.info?.parentID) {
        subagents.add(event.properties.info.id)
      } else if (event.type === "session.idle" && !subagents.has(event.properties.sessionID)) {
        const input = JSON.stringify(describe("Stop", event.properties.sessionID))
        spawnSync(COMMAND, ARGUMENTS, { input, stdio: ["pipe", "ignore", "ignore"], timeout: PATIENCE_MS })
      }
    },
  }
}
"""


def _opencode(command: str, mode: Mode, *, for_team: bool) -> list[Document]:
    serve = SERVE_COMPANION if mode == "companion" else SERVE
    servers = {"mcp": {"fileops": {"type": "local", "command": [command, *serve], "enabled": True}}}
    plugin = OPENCODE_PLUGIN % {"mark": OTHER_MARKS[mode == "tools"], "command": json.dumps(command), "mode": mode}
    if for_team:
        return [JsonDocument("opencode.json", servers), Script(".opencode/plugins/fileops.js", plugin)]
    home = "~/.config/opencode"
    return [
        JsonDocument(f"{home}/opencode.json", servers, is_project_file=False),
        Script(f"{home}/plugins/fileops.js", plugin, is_project_file=False),
    ]
