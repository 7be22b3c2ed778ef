"""What `mcp config` prints, read as the rules of the format say, by a parser that knows nothing of the printer."""

import json
import re
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
    "claude": ["~/.claude.json", ".claude/settings.local.json", ".git/info/exclude"],
    "claude-plugin": [".claude-plugin/plugin.json", ".mcp.json", "hooks/hooks.json"],
    "codex": ["~/.codex/config.toml", "~/.codex/hooks.json"],
    "copilot": ["~/.copilot/mcp-config.json"],
    "antigravity": [".agents/mcp_config.json"],
    "gemini": ["~/.gemini/settings.json", "~/.gemini/policies/fileops.toml"],
    "opencode": ["~/.config/opencode/opencode.json", "~/.config/opencode/plugins/fileops.js"],
    "vscode": [".vscode/mcp.json"],
    "cursor": [".cursor/mcp.json"],
    "zed": ["~/.config/zed/settings.json"],
}


FILES_OF_TEAM = {
    "claude": [".mcp.json", ".claude/settings.json"],
    "copilot": [".mcp.json"],
    "opencode": ["opencode.json", ".opencode/plugins/fileops.js"],
}
MORE_FILES_OF_COMPANION = {
    "copilot": ["~/.copilot/hooks/fileops.json"],
    "cursor": [".cursor/hooks.json"],
    "antigravity": [".agents/hooks.json"],
}
COMPANION = ("--mode", "companion")


def printed(*arguments: str) -> str:
    """What is printed; without `--mode`, for the mode tools."""
    mode = () if "--mode" in arguments else ("--mode", "tools")
    command = [sys.executable, "-m", "fileops", "mcp", "config", *arguments, *mode]
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
    if name.endswith((".js", "exclude")):
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
    if host in FILES_OF_TEAM:
        assert list(documents(printed(host, "--project"))) == FILES_OF_TEAM[host]


@pytest.mark.parametrize("host", MCP_HOSTS)
def test_files_of_a_host_are_protected(host: str) -> None:
    """An agent that could would rewrite the permissions and hooks that bind it."""
    files = [*FILES[host], *FILES_OF_TEAM.get(host, []), *MORE_FILES_OF_COMPANION.get(host, [])]
    assert [file for file in files if not is_protected(f"/home/u/project/{file}", None)] == []


@pytest.mark.parametrize("host", MCP_HOSTS)
def test_config_of_host_starts_the_server_with_the_options(host: str) -> None:
    every = strings(list(documents(printed(host)).values()))
    start = every.index("fileops-server")
    assert every[start + 1 : start + 2 + len(OPTIONS)] == ["mcp", *OPTIONS]


@pytest.mark.parametrize("host", MCP_HOSTS)
def test_config_of_companion_is_the_default_and_has_the_files_of_its_hooks(host: str) -> None:
    """R-COMP-2"""
    command = [sys.executable, "-m", "fileops", "mcp", "config", host]
    default = subprocess.run(command, capture_output=True, check=True, text=True, timeout=50).stdout
    assert default == printed(host, *COMPANION)
    assert list(documents(default)) == [*FILES[host], *MORE_FILES_OF_COMPANION.get(host, [])]
    if host not in {"vscode", "zed"}:
        every = " ".join(strings(list(documents(default).values())))
        assert "--mode companion" in every or '"--mode", "companion"' in every
    for words in ("alwaysLoad", "required", "code_mode", "mcp__fileops__Edit", "mcp__fileops__Write"):
        assert words not in default


def companion_hook_of(host: str, **more: object) -> dict[str, object]:
    run = f"! command -v fileops-server >/dev/null 2>&1 || fileops-server mcp hook {host} --mode companion"
    return {"type": "command", "command": run, **more}


@pytest.mark.parametrize(
    ("host", "file", "matcher"),
    [
        ("claude", ".claude/settings.local.json", "^(Read|Edit|Write|MultiEdit)$"),
        ("claude-plugin", "hooks/hooks.json", "^(Read|Edit|Write|MultiEdit)$"),
        ("codex", "~/.codex/hooks.json", "^(apply_patch|Edit|Write)$"),
    ],
)
def test_config_of_companion_guards_before_and_records_after(host: str, file: str, matcher: str) -> None:
    """R-COMP-2: before an edit, a person may be asked, so the hook may take long."""
    hooks = documents(printed(host, *COMPANION))[file]["hooks"]
    assert hooks["PreToolUse"][0] == {"matcher": matcher, "hooks": [companion_hook_of(host, timeout=300)]}
    assert {"matcher": matcher, "hooks": [companion_hook_of(host)]} in hooks["PostToolUse"]
    assert hooks["SessionStart"] == [{"hooks": [companion_hook_of(host)]}]
    assert ("PostToolBatch" in hooks) is (host != "codex")


def test_hook_of_antigravity_consents_where_the_program_is_missing() -> None:
    """Antigravity refuses a call without a decision."""
    parsed = documents(printed("antigravity", *COMPANION, "--command", "no-such-program"))
    (entry,) = parsed[".agents/hooks.json"]["hooks"]["PreToolUse"]
    (run,) = entry["hooks"]
    done = subprocess.run(run["command"], shell=True, capture_output=True, text=True, check=True, timeout=50)
    assert json.loads(done.stdout) == {"decision": "allow"}


def hook_of(host: str, command: str = "fileops-server") -> dict[str, str]:
    run = f"! command -v {command} >/dev/null 2>&1 || {command} mcp hook {host}"
    return {"type": "command", "command": run}


def test_config_of_claude_refuses_built_in_edits_by_a_hook_and_loads_tools_at_once() -> None:
    parsed = documents(printed("claude", "--directory", "/p"))
    assert parsed["~/.claude.json"]["projects"]["/p"]["mcpServers"]["fileops"]["alwaysLoad"] is True
    settings = parsed[".claude/settings.local.json"]
    assert settings["permissions"] == {
        "allow": ["mcp__fileops__Read", "mcp__fileops__Edit", "mcp__fileops__MultiEdit", "mcp__fileops__Write"],
    }
    assert settings["hooks"]["PreToolUse"] == [
        {"matcher": "^(Read|Edit|Write|MultiEdit)$", "hooks": [hook_of("claude")]},
        {"matcher": "^(Bash|NotebookEdit)$", "hooks": [hook_of("claude")]},
    ]


# R-NB-40
@pytest.mark.parametrize("host", MCP_HOSTS)
def test_config_with_our_notebooks_offers_the_tools_and_tells_the_hook(host: str) -> None:
    text = printed(host, "--notebooks", "ours")
    assert "+write,+notebook" in text
    assert "+notebook" not in printed(host)
    if host == "claude":
        assert re.search(r"mcp hook claude(?: --mode [a-z]+)? --notebooks ours", text)
        assert '"mcp__fileops__NotebookEdit"' in text


def test_config_of_claude_for_a_team_is_the_same_in_the_files_of_the_project() -> None:
    text, own = printed("claude", "--project"), documents(printed("claude", "--directory", "/p"))
    parsed = documents(text)
    assert parsed[".mcp.json"] == own["~/.claude.json"]["projects"]["/p"]
    assert parsed[".claude/settings.json"] == own[".claude/settings.local.json"]
    assert "trusted" in text


def test_nothing_but_a_hook_denies_a_built_in_tool() -> None:
    """A rule would leave without any tool to edit with whoever does not have the program."""
    for host in MCP_HOSTS:
        for options in ((), ("--project",)) if host in FILES_OF_TEAM else ((),):
            assert not re.search(r"deny|: false", printed(host, *options).partition(".js\n")[0]), host


@pytest.mark.parametrize(
    ("host", "file"),
    [
        ("claude", ".claude/settings.local.json"),
        ("claude-plugin", "hooks/hooks.json"),
        ("codex", "~/.codex/hooks.json"),
    ],
)
def test_config_of_host_has_hooks_for_notices_turns_and_commands(host: str, file: str) -> None:
    hooks = documents(printed(host))[file]["hooks"]
    run = [hook_of(host)]
    matcher = "^Bash$" if host == "codex" else "^(Bash|NotebookEdit)$"
    shell, always = [{"matcher": matcher, "hooks": run}], [{"hooks": run}]
    ours = "plugin_fileops_fileops" if host == "claude-plugin" else "fileops"
    changes = [] if host == "codex" else [{"matcher": f"^mcp__{ours}__(?!Read$)", "hooks": run}]
    failures = {} if host == "codex" else {"PostToolUseFailure": [*shell, *changes], "SessionEnd": always}
    assert hooks.pop("PreToolUse")[1:] == shell
    assert hooks == {
        "PostToolUse": [*shell, *changes],
        "UserPromptSubmit": always,
        "SessionStart": [{"matcher": "clear|compact", "hooks": run}],
        "Stop": always,
        **failures,
    }


def test_config_of_gemini_has_hooks_for_built_in_tools_turns_and_commands() -> None:
    run = [hook_of("gemini")]
    shell, always = [{"matcher": "^run_shell_command$", "hooks": run}], [{"hooks": run}]
    assert documents(printed("gemini"))["~/.gemini/settings.json"]["hooks"] == {
        "BeforeTool": [{"matcher": "^(replace|write_file|read_file)$", "hooks": run}, *shell],
        "AfterTool": shell, "BeforeAgent": always, "AfterAgent": always,
    }  # fmt: skip


def test_config_of_opencode_has_a_plugin_that_calls_the_hook() -> None:
    plugin = documents(printed("opencode", "--command", '/my "own"/server'))["~/.config/opencode/plugins/fileops.js"]
    assert plugin.startswith("/* ")
    assert 'const COMMAND = "/my \\"own\\"/server"' in plugin
    for event in ("tool.execute.before", "tool.execute.after", "chat.message", "session.idle"):
        assert event in plugin


def test_config_of_codex_has_the_hook() -> None:
    parsed = documents(printed("codex"))
    config = parsed["~/.codex/config.toml"]
    assert "sandbox_mode" not in config
    assert config["mcp_servers"]["fileops"]["default_tools_approval_mode"] == "approve"
    assert config["features"]["code_mode"]["direct_only_tool_namespaces"] == ["mcp__fileops"]
    entry, shell = parsed["~/.codex/hooks.json"]["hooks"]["PreToolUse"]
    assert shell["matcher"] == "^Bash$"
    assert entry["hooks"] == [hook_of("codex")]


def test_codex_starts_where_the_program_is_missing() -> None:
    """It does not without a server that is `required`, so a shell answers, and has no tools."""
    server = documents(printed("codex", "--command", "no-such-program"))["~/.codex/config.toml"]["mcp_servers"][
        "fileops"
    ]
    assert server["required"] is True
    requests = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 12, "method": "tools/list"},
    ]
    done = subprocess.run(
        [server["command"], *server["args"]],
        input="".join(f"{json.dumps(request)}\n" for request in requests),
        capture_output=True,
        check=True,
        text=True,
        timeout=50,
    )
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["id"], first["result"]["protocolVersion"]) == (0, "2025-06-18")
    assert (second["id"], second["result"]["tools"]) == (12, [])
    assert "no-such-program is not installed" in done.stderr


def test_config_of_codex_with_read_only_sandbox_needs_no_hook() -> None:
    parsed = documents(printed("codex", "--read-only-sandbox"))
    assert list(parsed) == ["~/.codex/config.toml"]
    assert parsed["~/.codex/config.toml"]["sandbox_mode"] == "read-only"


def test_config_of_gemini_allows_our_tools_by_a_policy() -> None:
    (allow,) = documents(printed("gemini"))["~/.gemini/policies/fileops.toml"]["rule"]
    assert (allow["mcpName"], allow["toolName"], allow["decision"]) == ("fileops", "*", "allow")


def test_config_with_command_quotes_it_for_each_language() -> None:
    parsed = documents(printed("codex", "--command", '/my "own"/fileops-server'))
    assert '/my "own"/fileops-server' in parsed["~/.codex/config.toml"]["mcp_servers"]["fileops"]["args"]
    entry, _ = parsed["~/.codex/hooks.json"]["hooks"]["PreToolUse"]
    assert entry["hooks"] == [hook_of("codex", """'/my "own"/fileops-server'""")]


def test_plugin_has_the_version_of_the_server() -> None:
    """Claude Code updates an installed plugin only if its version changed."""
    assert documents(printed("claude-plugin"))[".claude-plugin/plugin.json"]["version"] == __version__
