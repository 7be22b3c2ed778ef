"""Finds out which agent host calls `mcp hook`, from what it sends.

Other hosts load Claude Code's settings and run its hooks: Copilot CLI, the Copilot app, VS Code's agent host and
Cursor. They call their tools by the same names, but do not have ours. Only the payload tells them apart: a host that
was started from another's shell inherits its environment. docs/protocol/companion.md has the rules. Standard library
only.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

# How a host writes its events and reads its answers.
Dialect = Literal["claude", "codex", "gemini", "opencode", "copilot", "cursor", "antigravity", "unknown"]

HOSTS: dict[str, Dialect] = {  # the values of `mcp hook HOST`, and what each host writes
    "claude": "claude",
    "claude-plugin": "claude",
    "codex": "codex",
    "gemini": "gemini",
    "opencode": "opencode",
    "copilot": "copilot",
    "cursor": "cursor",
    "antigravity": "antigravity",
}
# The prefix of the session's name. An unknown caller's is that of HOST.
SESSION_PREFIXES: dict[Dialect, str] = {"copilot": "copilot-cli"}
_IDS = ("session_id", "sessionId", "conversation_id", "conversationId")


class Caller(NamedTuple):
    """Who calls a hook. host: as in `mcp hook HOST`. own_id: its id for the session; "" without one."""

    host: str
    dialect: Dialect
    own_id: str

    @property
    def is_own(self) -> bool:
        """Return whether the payload is HOST's own: only then can its model have the tools that HOST was given."""
        return self.dialect == HOSTS[self.host]

    @property
    def shell(self) -> str:
        """The name of the host whose shell tool it has."""
        return HOSTS[self.host] if self.dialect == "unknown" else self.dialect

    @property
    def session_host(self) -> str:
        """The prefix of the session's name."""
        dialect: Dialect = HOSTS[self.host] if self.dialect == "unknown" else self.dialect
        return SESSION_PREFIXES.get(dialect, dialect)


def caller_of(host: str, event: Mapping[str, object]) -> Caller:
    """Return who calls. Args: host: as in `mcp hook HOST`."""
    own_id = next((value for key in _IDS if isinstance(value := event.get(key), str)), "")
    return Caller(host, _dialect_of(host, event), own_id)


def _dialect_of(host: str, event: Mapping[str, object]) -> Dialect:
    """The first rule that matches decides."""
    if isinstance(event.get("cursor_version"), str) or (
        "conversation_id" in event and ("workspace_roots" in event or "generation_id" in event)
    ):
        return "cursor"
    if any(key in event for key in ("toolName", "toolArgs", "sessionId")):
        return "copilot"
    if "toolCall" in event or "conversationId" in event:
        return "antigravity"
    if HOSTS[host] != "claude":
        return HOSTS[host]
    if "timestamp" in event or "tool_result" in event:
        return "copilot"
    if "turn_id" in event and "prompt_id" not in event:
        return "codex"
    if not isinstance(event.get("transcript_path"), str):
        return "unknown"
    return "claude"
