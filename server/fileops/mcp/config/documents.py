"""The configuration documents of each host, as data and as the text that is printed.

A document is JSON, TOML or a script. `fileops-server` is started with the same options everywhere, and the host's
built-in edit tools are switched off in each host that allows it.
"""

import json
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from fileops import __version__

MAX_INLINE = 100  # columns; a longer list or object gets one line per element
TOOLS = ("Read", "Edit", "MultiEdit", "Write")
SERVE = ("mcp", "--freshness", "relevant", "--notices", "on", "--tools", "+write")
TIMEOUT_S = 600  # an edit may wait for a person's decision


@dataclass(frozen=True)
class JsonDocument:
    file: str
    content: Mapping[str, Any]
    note: str = ""
    is_project_file: bool = True

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
    """A program that the host runs. It is written whole: what is in it is the server's, from its first line on."""

    file: str
    text: str
    is_project_file: bool = True

    @property
    def printed(self) -> str:
        return f"// {self.file}\n{self.text}"

    @property
    def mark(self) -> str:
        """The line by which a script that an earlier version wrote is known."""
        return self.text.partition("\n")[0]


Document = JsonDocument | TomlDocument | Script


def to_json(value: object, indent: str = "", step: str = "  ", newline: str = "\n") -> str:
    """Return JSON text in which short lists and objects are on one line; the root object never is."""
    inline = json.dumps(value, ensure_ascii=False)
    is_short = len(indent) + len(inline) <= MAX_INLINE and (indent != "" or not isinstance(value, Mapping))
    if is_short or not isinstance(value, Mapping | list) or not value:
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


def documents_of(host: str, command: str = "fileops-server", *, read_only_sandbox: bool = False) -> list[Document]:
    """Return the documents that configure `host` to start `command` and to edit through it."""
    match host:
        case "claude":
            return _claude(command)
        case "claude-plugin":
            return _claude_plugin(command)
        case "codex":
            return _codex(command, read_only_sandbox=read_only_sandbox)
        case "gemini":
            return _gemini(command)
        case "opencode":
            return _opencode(command)
        case "vscode":
            server = {"type": "stdio", "command": command, "args": [*SERVE, "--root", "${workspaceFolder}"]}
            return [JsonDocument(".vscode/mcp.json", {"servers": {"fileops": server}})]
        case "cursor":
            return [JsonDocument(".cursor/mcp.json", {"mcpServers": {"fileops": _server(command)}})]
        case "zed":
            servers = {"context_servers": {"fileops": _server(command)}}
            return [JsonDocument("~/.config/zed/settings.json", servers, is_project_file=False)]
        case _:
            raise ValueError(host)


def _server(command: str, **options: object) -> dict[str, object]:
    return {"command": command, "args": [*SERVE], **options}


def _run_of_hook(command: str, host: str) -> dict[str, object]:
    return {"type": "command", "command": f"{shlex.quote(command)} mcp hook {host}"}


def _hook(matcher: str, command: str, host: str) -> dict[str, object]:
    run = _run_of_hook(command, host)
    shell = [{"matcher": "^Bash$", "hooks": [run]}]  # what a command writes is recorded as the agent's
    hooks: dict[str, object] = {
        "PreToolUse": [{"matcher": matcher, "hooks": [run]}, *shell],
        "PostToolUse": shell,  # what others changed goes with its result
        "UserPromptSubmit": [{"hooks": [run]}],
        "SessionStart": [{"matcher": "clear|compact", "hooks": [run]}],  # what was read is out of the model's sight
        "Stop": [{"hooks": [run]}],
    }
    if host == "codex":
        return hooks
    # Claude Code calls PostToolUse after commands that succeeded only.
    return {**hooks, "PostToolUseFailure": shell, "SessionEnd": [{"hooks": [run]}]}


def _claude(command: str) -> list[Document]:
    # `alwaysLoad`: otherwise the model finds the tools only by searching for them.
    server = {"type": "stdio", **_server(command), "alwaysLoad": True}
    settings = {
        "permissions": {
            "allow": [f"mcp__fileops__{tool}" for tool in TOOLS],
            "deny": ["Edit", "Write", "NotebookEdit"],
        },
        "hooks": _hook("^(Read|Edit|Write|MultiEdit)$", command, "claude"),
    }
    note = 'Claude Code applies the "allow" rules of a project only in a folder that you have marked as trusted.'
    return [
        JsonDocument(".mcp.json", {"mcpServers": {"fileops": server}}),
        JsonDocument(".claude/settings.json", settings, note),
    ]


def _claude_plugin(command: str) -> list[Document]:
    plugin = {
        "name": "fileops",
        "version": __version__,
        "description": "Read and edit files through fileops-server",
        "author": {"name": "The fileops-server developers"},  # `claude plugin validate --strict` demands one
        "license": "MIT",
    }
    server = {"type": "stdio", **_server(command), "alwaysLoad": True}
    # A plugin cannot deny tools by a permission, so the hook covers NotebookEdit as well.
    hooks = {"hooks": _hook("^(Read|Edit|Write|MultiEdit|NotebookEdit)$", command, "claude-plugin")}
    return [
        JsonDocument(".claude-plugin/plugin.json", plugin),
        JsonDocument(".mcp.json", {"mcpServers": {"fileops": server}}),
        JsonDocument("hooks/hooks.json", hooks),
    ]


# `required`: otherwise the first turn may begin before the server has answered, and then has none of its tools.
# `direct_only_tool_namespaces`: otherwise models find the tools only by searching for them.
CODEX = """\
{sandbox}[mcp_servers.fileops]
command = {command}
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
        command=json.dumps(command),  # a JSON string is a basic string of TOML
        args=json.dumps(SERVE),
        timeout=TIMEOUT_S,
    )
    documents: list[Document] = [TomlDocument("~/.codex/config.toml", config)]
    if not read_only_sandbox:
        hooks = {"hooks": _hook("^(apply_patch|Edit|Write)$", command, "codex")}
        note = "Codex runs a hook only after you have trusted it: it asks at the next start, or use /hooks."
        documents.append(JsonDocument("~/.codex/hooks.json", hooks, note, is_project_file=False))
    return documents


GEMINI_POLICY = """\
[[rule]]
toolName = ["replace", "write_file", "read_file"]
decision = "deny"
priority = 900
denyMessage = "Use the fileops server's tools."

[[rule]]
mcpName = "fileops"
toolName = "*"
decision = "allow"
priority = 900
"""


def _gemini(command: str) -> list[Document]:
    server = {
        "command": command,
        "args": [*SERVE, "--max-read-bytes", "100000"],
        "timeout": TIMEOUT_S * 1000,
    }
    run = _run_of_hook(command, "gemini")
    shell, turn = [{"matcher": "^run_shell_command$", "hooks": [run]}], [{"hooks": [run]}]
    settings = {
        "mcpServers": {"fileops": server},
        "tools": {"truncateToolOutputThreshold": 200000},
        "hooks": {"BeforeTool": shell, "AfterTool": shell, "BeforeAgent": turn, "AfterAgent": turn},
    }
    return [
        JsonDocument("~/.gemini/settings.json", settings, is_project_file=False),
        TomlDocument("~/.gemini/policies/fileops.toml", GEMINI_POLICY),
    ]


# opencode waits for what `tool.execute.before` and `after` return, so both ends of a command are reported in time.
# `opencode run` ends with the last turn and waits for nothing, so the end of a turn is reported before it can.
# What others changed goes with the output of a command; to a prompt nothing can be added.
# opencode makes a session for each subagent, whose prompts are the agent's and begin no turn.
OPENCODE_PLUGIN = """\
/* Reports turns and shell commands to fileops-server. Written by `fileops-server mcp config opencode`. */
import { spawn, spawnSync } from "node:child_process"

const COMMAND = %s
const ARGUMENTS = ["mcp", "hook", "opencode"]
const PATIENCE_MS = 1000

function report(event) {
  return new Promise((resolve) => {
    const hook = spawn(COMMAND, ARGUMENTS, { stdio: ["pipe", "pipe", "ignore"] })
    const chunks = []
    const done = () => {
      clearTimeout(timer)
      resolve(contextIn(Buffer.concat(chunks).toString()))
    }
    const timer = setTimeout(done, PATIENCE_MS)
    hook.stdout.on("data", (chunk) => chunks.push(chunk))
    hook.on("error", done)
    hook.on("close", done)
    hook.stdin.on("error", done)
    hook.stdin.end(JSON.stringify(event))
  })
}

function contextIn(answer) {
  try {
    return JSON.parse(answer).hookSpecificOutput?.additionalContext ?? ""
  } catch {
    return ""  // most hooks answer nothing
  }
}

export const FileopsRecord = async ({ directory }) => {
  const subagents = new Set()
  const describe = (name, session, more) => ({ hook_event_name: name, session_id: session, cwd: directory, ...more })
  const send = (name, session, more) => report(describe(name, session, more))
  const sendShell = async (name, input, args, more) => {
    if (input.tool !== "bash") return ""
    const call = { tool_name: input.tool, tool_input: { command: args?.command }, tool_use_id: input.callID }
    return await send(name, input.sessionID, { ...call, ...more })
  }
  return {
    "tool.execute.before": (input, output) => sendShell("PreToolUse", input, output.args),
    "tool.execute.after": async (input, output) => {
      const context = await sendShell("PostToolUse", input, input.args, { tool_response: output.output })
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


def _opencode(command: str) -> list[Document]:
    server = {"type": "local", "command": [command, *SERVE], "enabled": True}
    switched_off = dict.fromkeys(("read", "edit", "write", "patch"), False)
    return [
        JsonDocument(
            "opencode.json",
            {"mcp": {"fileops": server}, "tools": switched_off, "permission": {"edit": "deny"}},
        ),
        Script(".opencode/plugins/fileops.js", OPENCODE_PLUGIN % json.dumps(command)),
    ]
