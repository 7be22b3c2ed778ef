"""What `mcp config --write` says about its changes: their effect, who asks from now on, and what to do next."""

import re

from fileops.mcp.config.documents import Mode

NAMES = {
    "claude": "Claude Code", "claude-plugin": "Claude Code", "codex": "Codex", "copilot": "Copilot CLI",
    "cursor": "Cursor", "opencode": "opencode", "vscode": "VS Code", "zed": "Zed", "antigravity": "Antigravity",
    "gemini": "Gemini CLI",
}  # fmt: skip
WITH_HOOKS = frozenset(NAMES) - {"vscode", "zed"}
OTHERWISE: dict[Mode, str] = {
    "companion": "the stronger promise, in which the model edits with the tools of fileops-server",
    "tools": "the host's own diffs, questions and checkpoints, for its own tools",
}
_REFUSES = frozenset({"claude", "claude-plugin", "codex", "opencode", "gemini"})  # hosts whose own tools hooks refuse
_NEXT = {
    "claude": "restart Claude Code, and trust the folder if it asks; /hooks lists the hooks and /mcp the server.",
    "claude-plugin": "start `claude --plugin-dir DIR`; /hooks lists the hooks and /mcp the server.",
    "codex": "restart Codex, and trust the hooks when it asks (or with /hooks).",
    "copilot": "restart Copilot CLI; /mcp lists the server.",
    "cursor": "restart Cursor; its settings list the hooks and the server.",
    "opencode": "restart opencode.",
    "vscode": "open the command palette and run MCP: List Servers.",
    "zed": "open the settings of Zed's agent panel.",
    "antigravity": "restart Antigravity in this folder.",
    "gemini": "restart Gemini CLI; /mcp lists the server.",
}
_RUNS = re.compile(r"""\["mcp", "hook", "opencode"(, "--mode", "companion")?|mcp hook [a-z-]+( --mode companion)?""")
_OURS = "fileops-server asks before edits of protected files such as .env, and of all files if you switch that on in an"


def effect(host: str, mode: Mode) -> str:
    """Return the end of a sentence that begins with the changes."""
    name = NAMES[host]
    if host not in WITH_HOOKS:
        return f"{name} starts fileops-server, to read and edit files with its tools."
    if mode == "companion":
        return f"{name} keeps its own tools. Hooks guard and record what they read and write, and report its turns."
    if host in _REFUSES:
        return (
            f"{name} starts fileops-server, to read and edit files with its tools. Hooks refuse the host's own tools"
            " for that, and report its turns and commands."
        )
    return f"{name} starts fileops-server, to read and edit files with its tools."


def who_asks(host: str, mode: Mode) -> str:
    """Return who asks from now on before an edit, and how to change it."""
    where = f"{_OURS} attached editor; you answer there, in `fileops-server review`, or in the host."
    if mode == "companion" and host in WITH_HOOKS:
        return f"{NAMES[host]} asks before its own edits as it did before, by its own settings. {where}"
    if host in _REFUSES - {"claude-plugin"}:
        return f"{NAMES[host]} no longer asks before edits, since its settings allow these tools. {where}"
    return f"{NAMES[host]} asks by its own settings. {where}"


def next_step(host: str) -> str:
    return _NEXT[host]


def after_removal(host: str) -> str:
    """Return what to do after `--remove`."""
    return (
        f"restart {NAMES[host]}: until then, sessions that run keep their hooks. The daemon ends 10 minutes after its"
        " last client, or with `fileops-server status --stop`."
    )


def runs_hook_of(text: str, mode: Mode) -> bool:
    """Return whether a settings file runs our hook in this mode."""
    return any(bool(found[1] or found[2]) == (mode == "companion") for found in _RUNS.finditer(text))
