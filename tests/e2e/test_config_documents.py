"""What `mcp config` prints, read as the rules of the format say, by a parser that knows nothing of the printer."""

import json
import subprocess
import sys
import tomllib
from typing import Any, cast

import pytest

from fileops import __version__
from fileops.arguments import MCP_HOSTS
from fileops.core.approval import is_protected

OPTIONS = ["--freshness", "relevant", "--notices", "on", "--tools", "+write"]
FILES = {
    "claude": [".mcp.json", ".claude/settings.json"],
    "claude-plugin": [".claude-plugin/plugin.json", ".mcp.json", "hooks/hooks.json"],
    "codex": ["~/.codex/config.toml", "~/.codex/hooks.json"],
    "gemini": ["~/.gemini/settings.json", "~/.gemini/policies/fileops.toml"],
    "opencode": ["opencode.json", ".opencode/plugins/fileops.js"],
    "vscode": [".vscode/mcp.json"],
    "cursor": [".cursor/mcp.json"],
    "zed": ["~/.config/zed/settings.json"],
}


def printed(*arguments: str) -> str:
    command = [sys.executable, "-m", "fileops", "mcp", "config", *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True, timeout=50).stdout


def documents(text: str) -> dict[str, Any]:
    """Parse the output: a comment line names the file of the lines after it; `{` in column 1 begins JSON."""
    bodies: dict[str, str] = {}
    name = ""
    for line in text.splitlines(keepends=True):
        if line.startswith(("// ", "# ")):
            name = line.split(" ", 1)[1].strip()
            bodies[name] = ""
        else:
            bodies[name] += line
    bodies = {name: body for name, body in bodies.items() if body.strip()}
    return {name: parsed(name, body) for name, body in bodies.items()}


def parsed(name: str, body: str) -> Any:
    if name.endswith(".js"):
        return body
    return json.loads(body) if body.startswith("{") else tomllib.loads(body)


def strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return strings(list(cast("dict[str, object]", value).values()))
    if isinstance(value, list):
        return [text for part in cast("list[object]", value) for text in strings(part)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("host", MCP_HOSTS)
def test_config_of_host_names_its_files_and_parses(host: str) -> None:
    assert list(documents(printed(host))) == FILES[host]


@pytest.mark.parametrize("host", MCP_HOSTS)
def test_files_of_a_host_are_protected(host: str) -> None:
    """An agent that could would rewrite the permissions and hooks that bind it."""
    assert [file for file in FILES[host] if not is_protected(f"/home/u/project/{file}", None)] == []


@pytest.mark.parametrize("host", MCP_HOSTS)
def test_config_of_host_starts_the_server_with_the_options(host: str) -> None:
    every = strings(list(documents(printed(host)).values()))
    start = every.index("fileops-server")
    assert every[start + 1 : start + 2 + len(OPTIONS)] == ["mcp", *OPTIONS]


def test_config_of_claude_denies_built_in_edits_and_loads_tools_at_once() -> None:
    text = printed("claude")
    parsed = documents(text)
    assert parsed[".mcp.json"]["mcpServers"]["fileops"]["alwaysLoad"] is True
    settings = parsed[".claude/settings.json"]
    assert settings["permissions"] == {
        "allow": ["mcp__fileops__Read", "mcp__fileops__Edit", "mcp__fileops__MultiEdit", "mcp__fileops__Write"],
        "deny": ["Edit", "Write", "NotebookEdit"],
    }
    assert settings["hooks"]["PreToolUse"] == [
        {
            "matcher": "^(Read|Edit|Write|MultiEdit)$",
            "hooks": [{"type": "command", "command": "fileops-server mcp hook claude"}],
        },
        {"matcher": "^Bash$", "hooks": [{"type": "command", "command": "fileops-server mcp hook claude"}]},
    ]
    assert "trusted" in text


@pytest.mark.parametrize(
    ("host", "file"),
    [("claude", ".claude/settings.json"), ("claude-plugin", "hooks/hooks.json"), ("codex", "~/.codex/hooks.json")],
)
def test_config_of_host_has_hooks_for_notices_turns_and_commands(host: str, file: str) -> None:
    hooks = documents(printed(host))[file]["hooks"]
    run = [{"type": "command", "command": f"fileops-server mcp hook {host}"}]
    shell, always = [{"matcher": "^Bash$", "hooks": run}], [{"hooks": run}]
    failures = {} if host == "codex" else {"PostToolUseFailure": shell, "SessionEnd": always}
    assert hooks.pop("PreToolUse")[1:] == shell
    assert hooks == {
        "PostToolUse": shell,
        "UserPromptSubmit": always,
        "SessionStart": [{"matcher": "clear|compact", "hooks": run}],
        "Stop": always,
        **failures,
    }


def test_config_of_gemini_has_hooks_for_turns_and_commands() -> None:
    run = [{"type": "command", "command": "fileops-server mcp hook gemini"}]
    shell, always = [{"matcher": "^run_shell_command$", "hooks": run}], [{"hooks": run}]
    assert documents(printed("gemini"))["~/.gemini/settings.json"]["hooks"] == {
        "BeforeTool": shell, "AfterTool": shell, "BeforeAgent": always, "AfterAgent": always,
    }  # fmt: skip


def test_config_of_opencode_has_a_plugin_that_calls_the_hook() -> None:
    plugin = documents(printed("opencode", "--command", '/my "own"/server'))[".opencode/plugins/fileops.js"]
    assert plugin.startswith("/* ")
    assert 'const COMMAND = "/my \\"own\\"/server"' in plugin
    for event in ("tool.execute.before", "tool.execute.after", "chat.message", "session.idle"):
        assert event in plugin


def test_config_of_codex_has_the_hook() -> None:
    parsed = documents(printed("codex"))
    config = parsed["~/.codex/config.toml"]
    assert "sandbox_mode" not in config
    assert config["mcp_servers"]["fileops"]["default_tools_approval_mode"] == "approve"
    assert config["mcp_servers"]["fileops"]["required"] is True
    assert config["features"]["code_mode"]["direct_only_tool_namespaces"] == ["mcp__fileops"]
    entry, shell = parsed["~/.codex/hooks.json"]["hooks"]["PreToolUse"]
    assert shell["matcher"] == "^Bash$"
    assert entry["hooks"] == [{"type": "command", "command": "fileops-server mcp hook codex"}]


def test_config_of_codex_with_read_only_sandbox_needs_no_hook() -> None:
    parsed = documents(printed("codex", "--read-only-sandbox"))
    assert list(parsed) == ["~/.codex/config.toml"]
    assert parsed["~/.codex/config.toml"]["sandbox_mode"] == "read-only"


def test_config_of_gemini_denies_built_in_tools_by_a_policy() -> None:
    deny, allow = documents(printed("gemini"))["~/.gemini/policies/fileops.toml"]["rule"]
    assert (deny["toolName"], deny["decision"]) == (["replace", "write_file", "read_file"], "deny")
    assert (allow["mcpName"], allow["toolName"], allow["decision"]) == ("fileops", "*", "allow")


def test_config_of_opencode_denies_built_in_tools() -> None:
    parsed = documents(printed("opencode"))["opencode.json"]
    assert parsed["tools"] == {"read": False, "edit": False, "write": False, "patch": False}
    assert parsed["permission"] == {"edit": "deny"}


def test_config_with_command_quotes_it_for_each_language() -> None:
    parsed = documents(printed("codex", "--command", '/my "own"/fileops-server'))
    assert parsed["~/.codex/config.toml"]["mcp_servers"]["fileops"]["command"] == '/my "own"/fileops-server'
    entry, _ = parsed["~/.codex/hooks.json"]["hooks"]["PreToolUse"]
    assert entry["hooks"][0]["command"] == """'/my "own"/fileops-server' mcp hook codex"""


def test_plugin_has_the_version_of_the_server() -> None:
    """Claude Code updates an installed plugin only if its version changed."""
    assert documents(printed("claude-plugin"))[".claude-plugin/plugin.json"]["version"] == __version__
