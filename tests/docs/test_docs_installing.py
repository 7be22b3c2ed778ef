"""Install commands: none that is printed fails today, and none will fail once a release is published."""

import re
import tomllib
from pathlib import Path

import pytest

from architecture.imports import ROOT
from releasing import wording

SOURCES = "/path/to/fileops-server"
PROJECTS = {"fileops-server": ROOT, "fileops-client": ROOT / "clients" / "python"}
MADE = "%s%s"  # by the plugin of Neovim; its own test reads the result


def printed_commands(state: wording.State) -> list[tuple[str, str]]:
    """Each command's file and first requirement."""
    return [
        (path.relative_to(ROOT).as_posix(), found[3])
        for path in wording.texts_in(ROOT)
        for found in wording.COMMAND.finditer(wording.in_state(path.read_text("utf-8"), state))
        if found[3] != MADE
    ]


def project_of(requirement: str, state: wording.State) -> Path | None:
    """The folder of what a command installs; "." is the folder of the sources, which the text around it names."""
    name = requirement.partition("[")[0]
    if name == ".":
        return ROOT
    if state == wording.PUBLISHED:
        return PROJECTS.get(name)
    return ROOT / name.removeprefix(SOURCES).lstrip("/") if name.startswith(SOURCES) else None


def extras_of(project: Path) -> set[str]:
    content = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]
    return set(content.get("optional-dependencies", {}))


@pytest.mark.parametrize("state", [wording.UNPUBLISHED, wording.PUBLISHED])
def test_every_printed_command_installs_what_exists(state: wording.State) -> None:
    commands = printed_commands(state)
    assert len(commands) > 15
    complaints: list[str] = []
    for name, requirement in commands:
        project = project_of(requirement, state)
        if project is None or not (project / "pyproject.toml").is_file():
            complaints.append(f"{name}: {requirement} does not exist while {state}")
        elif unknown := set(re.findall(r"[a-z]+", requirement.partition("[")[2])) - extras_of(project):
            complaints.append(f"{name}: {requirement} has no extra {unknown}")
    assert complaints == []


def test_published_texts_name_no_folder_of_sources() -> None:
    said = re.compile(rf"(?i)not on a package index|not in a marketplace|install .{{0,20}}{SOURCES}")
    complaints = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in wording.texts_in(ROOT)
        for found in said.finditer(wording.in_state(path.read_text("utf-8"), wording.PUBLISHED))
    ]
    assert complaints == []


def test_each_sentence_that_changes_with_the_state_is_in_the_sources() -> None:
    texts = "".join(path.read_text("utf-8") for path in wording.texts_in(ROOT))
    assert [sentence for sentence, _ in wording.SENTENCES if sentence not in texts] == []


@pytest.mark.parametrize("state", [wording.UNPUBLISHED, wording.PUBLISHED])
def test_program_is_installed_by_one_command(state: wording.State) -> None:
    """The guide's; in the folder of the sources "." may stand for it."""
    guide = wording.in_state((ROOT / "docs" / "guide" / "installing.md").read_text("utf-8"), state)
    command = wording.how_to_install(state)
    assert f"`{command}`" in guide
    printed = [
        (path.relative_to(ROOT).as_posix(), found[0] + found[2])
        for path in wording.texts_in(ROOT)
        for found in wording.COMMAND.finditer(wording.in_state(path.read_text("utf-8"), state))
        if found[1].startswith("pipx") and found[3] != MADE
    ]
    assert len(printed) > 5
    folder = command.replace(SOURCES, ".")
    assert [each for each in printed if each[1].replace(" --force", "") not in {command, folder}] == []
