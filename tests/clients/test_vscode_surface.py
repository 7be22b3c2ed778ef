"""What the VS Code extension adds to the editor: stable contributions only, and two pairs of verbs.

How many there may be: `tests/docs/test_surface.py`.
"""

import json
import re
from typing import Any

from architecture.imports import ROOT

MANIFEST: dict[str, Any] = json.loads((ROOT / "clients" / "vscode" / "package.json").read_text(encoding="utf-8"))
ADDED: dict[str, Any] = MANIFEST["contributes"]

# Each is documented as a contribution point for everybody. code-server lets extensions use the others too, silently.
STABLE_MENUS = {
    "commandPalette",
    "editor/title",
    "scm/change/title",
    "scm/resourceGroup/context",
    "scm/resourceState/context",
    "scm/title",
}
NEVER_OF_A_WORKSPACE = ("path", "interpreter", "ask")
VERBS = re.compile(r"\b(drop|discard|dismiss|approve|decline|rewind)", re.IGNORECASE)


def test_extension_uses_stable_contributions_only() -> None:
    assert "enabledApiProposals" not in MANIFEST
    assert set(ADDED["menus"]) <= STABLE_MENUS


def test_no_workspace_chooses_the_program_or_is_asked_less() -> None:
    settings = ADDED["configuration"]["properties"]
    assert {settings[f"fileops.{name}"]["scope"] for name in NEVER_OF_A_WORKSPACE} == {"machine"}


def test_each_key_and_menu_runs_a_command_of_the_palette() -> None:
    commands = {command["command"] for command in ADDED["commands"]}
    used = {item["command"] for items in ADDED["menus"].values() for item in items}
    assert used | {binding["command"].removesuffix("ByKey") for binding in ADDED["keybindings"]} <= commands
    assert all(binding["when"] for binding in ADDED["keybindings"])


def test_commands_have_two_pairs_of_verbs_and_no_other() -> None:
    assert [command["title"] for command in ADDED["commands"] if VERBS.search(command["title"])] == []
