"""What the VS Code extension adds few commands, settings and keys, no view, only stable contributions."""

import json
import re

import pytest

from clients.surface import EXTENSION, contributions, surface

AIMS = {"commands": 24, "settings": 10, "keys": 6, "views": 0}

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


@pytest.mark.parametrize("what", AIMS)
def test_extension_adds_no_more_than_its_aims(what: str) -> None:
    assert surface()[what] <= AIMS[what]


def test_extension_uses_stable_contributions_only() -> None:
    manifest = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    assert "enabledApiProposals" not in manifest
    assert set(contributions()["menus"]) <= STABLE_MENUS


def test_no_workspace_chooses_the_program_or_is_asked_less() -> None:
    settings = contributions()["configuration"]["properties"]
    assert {settings[f"fileops.{name}"]["scope"] for name in NEVER_OF_A_WORKSPACE} == {"machine"}


def test_each_key_and_menu_runs_a_command_of_the_palette() -> None:
    added = contributions()
    commands = {command["command"] for command in added["commands"]}
    used = {item["command"] for items in added["menus"].values() for item in items}
    assert used | {binding["command"] for binding in added["keybindings"]} <= commands
    assert all(binding["when"] for binding in added["keybindings"])


def test_commands_have_two_pairs_of_verbs_and_no_other() -> None:
    assert [command["title"] for command in contributions()["commands"] if VERBS.search(command["title"])] == []
