"""The table of what a thing is called in each place: every command and key that it names is there."""

import json
import re
import shlex

from architecture.imports import ROOT
from fileops.arguments import parser

GUIDE = (ROOT / "docs" / "guide" / "editors.md").read_text(encoding="utf-8")
VSCODE = json.loads((ROOT / "clients" / "vscode" / "package.json").read_text(encoding="utf-8"))["contributes"]
NEOVIM = ROOT / "clients" / "neovim"
HELP_TAGS = (NEOVIM / "doc" / "tags").read_text(encoding="utf-8")  # a spec holds them to the table of subcommands
CONFIG = (NEOVIM / "lua" / "fileops" / "config.lua").read_text(encoding="utf-8")
DEFAULTS = CONFIG.partition("\nM.defaults = {\n")[2].partition("\n}\n")[0]
LEVELS = {"change", "file", "turn", "agent", "all"}


def table() -> list[list[str]]:
    """The cells of the rows."""
    section = GUIDE.partition("## The same thing in each place\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"^(?:\|.*\n)+", section, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()[2:]]


COMMANDS = table()


def test_each_row_names_at_least_two_places() -> None:
    assert len(COMMANDS) >= 12
    assert [row for row in COMMANDS if len(row) != 4 or row[1:].count("–") > 1] == []


def test_commands_of_vscode_exist() -> None:
    titles = {f"{each['category']}: {each['title']}" for each in VSCODE["commands"]}
    short = {each["title"] for each in VSCODE["commands"]}
    named = {name for row in COMMANDS for name in re.findall(r"\*([^*]+)\*", row[1])}
    assert named - titles - short == set()


def test_commands_and_keys_of_neovim_exist() -> None:
    for row in COMMANDS:
        for named in re.findall(r"`([^`]+)`", row[2]):
            command, _, rest = named.partition(" ")
            if command in {":Fileops", ":.Fileops"}:  # of the whole file, or of one line
                name, _, level = rest.partition(" ")
                assert f"\n:Fileops-{name}\t" in HELP_TAGS, named
                assert not level or level in LEVELS, named
            else:
                assert re.search(rf"^    \w+ = '{re.escape(named)}',$", DEFAULTS, re.MULTILINE), named


def test_commands_of_the_terminal_are_understood() -> None:
    for row in COMMANDS:
        for named in re.findall(r"`([^`]+)`", row[3]):
            program, *arguments = shlex.split(named)
            assert program == "fileops-server"
            parser().parse_args(arguments)  # ends the process if it does not know them
