"""Hosts as a person connects them: by the one command of the guide, in its default mode."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hosts.hosts import (
    CLAUDE_KEY,
    CODEX_TABLES,
    CODEX_TOP,
    Place,
    Start,
    claude_code,
    claude_environment,
    codex_exec,
    program,
)
from hosts.scripted_model import CallOfHost, Patch, Step

PROMPT = "Make the prices clearer"


@dataclass(frozen=True)
class Connected:
    """A host that a person has connected. name: as in lists. read, edit: by its own tools."""

    name: str
    connect: Callable[[Place], Start]
    read: Callable[[Path], Step]
    edit: Callable[[Path, str, str], Step]


def connect_claude(place: Place) -> Start:
    start = claude_at(place)
    connect("claude", place, start.environment)
    return start


def claude_at(place: Place) -> Start:
    """Claude Code as it is configured there, by a person who trusts the project."""
    environment = claude_environment(place)
    del environment["CLAUDE_CONFIG_DIR"]
    path = place.home / ".claude.json"
    known: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    projects: dict[str, dict[str, Any]] = known.setdefault("projects", {})
    projects.setdefault(str(place.project), {})["hasTrustDialogAccepted"] = True
    known |= {"customApiKeyResponses": {"approved": [CLAUDE_KEY]}, "hasCompletedOnboarding": True}
    place.put({"~/.claude.json": json.dumps(known)})
    printing = ["-p", PROMPT, "--output-format", "stream-json", "--verbose"]
    return Start([claude_code(), *printing, "--permission-mode", "acceptEdits"], environment)


def connect_codex(place: Place) -> Start:
    codex = program("codex", "vendor/*/bin/codex")
    place.put(
        {"~/.codex/config.toml": f'{CODEX_TOP}sandbox_mode = "workspace-write"\n{CODEX_TABLES.format(url=place.url)}'}
    )
    start = codex_exec(codex, place, "--dangerously-bypass-hook-trust")  # a person trusts the hooks once
    connect("codex", place, start.environment)
    return Start([*start.arguments[:-1], PROMPT], start.environment)


def connect(host: str, place: Place, environment: dict[str, str]) -> None:
    command = ["fileops-server", "mcp", "config", host, "--write", "--yes"]
    done = subprocess.run(command, env=environment, cwd=place.project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def patch(path: Path, old: str, new: str) -> Step:
    lines = [*(f"-{line}" for line in old.splitlines()), *(f"+{line}" for line in new.splitlines())]
    return Patch(f"*** Begin Patch\n*** Update File: {path}\n@@\n" + "\n".join(lines) + "\n*** End Patch\n")


def edit_of_claude(path: Path, old: str, new: str) -> Step:
    return CallOfHost("Edit", {"file_path": str(path), "old_string": old, "new_string": new})


CLAUDE = Connected(
    "Claude Code", connect_claude, lambda path: CallOfHost("Read", {"file_path": str(path)}), edit_of_claude
)
CODEX = Connected("Codex", connect_codex, lambda path: CallOfHost("exec_command", {"cmd": f"cat {path}"}), patch)
