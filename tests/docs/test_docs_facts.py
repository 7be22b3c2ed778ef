"""Facts that stand on several pages: each method, code, command, option, exception and module that a page names exists.

The release notes of ended versions and the decisions of `adr/` say what was true then, and are not looked at.
"""

import argparse
import builtins
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import fileops_client
from architecture.imports import ROOT
from fileops.arguments import parser
from fileops.model.errors import FAILURES
from fileops.schema import json_schema

PAGES = [
    path
    for place in ("docs/**/*.md", "README.md", "clients/README.md", "clients/*/README.md")
    for path in sorted(ROOT.glob(place))
    if "adr" not in path.parts
]
CLIENT = sorted((ROOT / "clients" / "python" / "fileops_client" / "requests").glob("*.py"))

METHOD = re.compile(r"`(fileops/[a-z]\w+)(?![\w/.-])")
COMMAND = re.compile(r"^(?:\$ )?fileops-server ([a-z][a-z-]*)\b")
CODE = re.compile(r"^```.*?\n(.*?)^```|`([^`\n]+)`", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"fileops-server[^`\n|;#]*")
MODULE = re.compile(r"`((?:server/fileops|fileops|tests|clients)/[\w./-]+\.(?:py|ts|lua|sh))\b")
NAME = re.compile(r"`\"?([a-z]+(?:_[a-z0-9]+)+)\"?`")
EXCEPTION = re.compile(r"`([A-Z][A-Za-z]*(?:Error|Lost|Missing|Refused|Timeout))`")
WORD = re.compile(r"[A-Za-z_]\w*")
OF_OTHERS = {"from-classes.md", "SEEDS.md", "STYLE.md"}  # pages with names of another program, of orders, of examples
SOURCES = ("server", "clients", "examples", "tools", "tests")
NOT_OURS = {"node_modules", ".vscode-test", "__pycache__", "dist"}
CODES = re.compile(r"^ +Codes: (.+?)(?:\n\n|\n +(?=[A-Z][a-z]+:)|\n +\"\"\")", re.MULTILINE | re.DOTALL)


def texts(paths: list[Path] = PAGES) -> Iterator[tuple[str, str]]:
    for path in paths:
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def code(text: str) -> Iterator[str]:
    """The lines of what is set as code."""
    for block, inline in CODE.findall(text):
        yield from (block or inline).splitlines()


def commands_of(given: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    for action in given._actions:  # argparse has no other way to ask
        if isinstance(action.choices, Mapping):
            return cast("Mapping[str, argparse.ArgumentParser]", action.choices)
    return {}


def options_of(given: argparse.ArgumentParser) -> set[str]:
    options = {text for action in given._actions for text in action.option_strings}
    return options.union(*map(options_of, commands_of(given).values()))


def test_methods_that_a_page_names_exist() -> None:
    known = {message["method"] for message in json_schema.document()["messages"]}
    assert [f"{page}: {name}" for page, text in texts() for name in METHOD.findall(text) if name not in known] == []


def test_commands_that_a_page_names_exist() -> None:
    known = set(commands_of(parser()))
    named = [(page, name) for page, text in texts() for line in code(text) for name in COMMAND.findall(line)]
    assert len(named) > 50
    assert [f"{page}: fileops-server {name}" for page, name in named if name not in known] == []


def test_options_that_a_page_gives_to_a_command_exist() -> None:
    known = options_of(parser())
    complaints = [
        f"{page}: {option} in {line}"
        for page, text in texts()
        for line in OPTION.findall(text)
        for option in re.findall(r"(?<=\s)--[a-z][a-z-]*", line)
        if option not in known
    ]
    assert complaints == []


def names_in_sources() -> set[str]:
    """All words of the sources, and the names of their files."""
    found = set[str]()
    for folder in SOURCES:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in {".py", ".ts", ".lua", ".json", ".toml", ".sh"} and not NOT_OURS & set(path.parts):
                found |= {*WORD.findall(path.read_text(encoding="utf-8", errors="replace")), path.stem}
    return found | {name.removesuffix("_spec") for name in found}


def test_options_keys_and_codes_that_a_page_names_exist() -> None:
    """A setting that was removed or renamed must leave all pages, and so must a key of the wire."""
    known = names_in_sources()
    named = [(page, name) for page, text in texts() if Path(page).name not in OF_OTHERS for name in NAME.findall(text)]
    assert len(named) > 500
    assert [f"{page}: {name}" for page, name in named if name not in known] == []


def test_settings_of_vscode_that_a_page_names_exist() -> None:
    manifest = json.loads((ROOT / "clients" / "vscode" / "package.json").read_text(encoding="utf-8"))["contributes"]
    known = {name for part in as_list(manifest["configuration"]) for name in part["properties"]}
    commands = {command["command"] for command in manifest["commands"]}
    pages = [ROOT / "docs" / "guide", ROOT / "docs" / "tutorial", ROOT / "clients" / "vscode" / "README.md"]
    named = [
        (page, name)
        for page, text in texts([path for path in PAGES if path in pages or path.parent in pages])
        for name in re.findall(r"`(fileops\.[a-z][\w.]*)[`\":]", text)
    ]
    assert len(named) > 10
    other = {"fileops.vsix", "fileops.ports", "fileops.strategies", "fileops.processors", "fileops.validators"}
    assert [f"{page}: {name}" for page, name in named if name not in known | commands | other] == []


def test_defaults_of_neovim_are_those_of_its_help() -> None:
    plugin = ROOT / "clients" / "neovim"
    text = (plugin / "lua/fileops/config.lua").read_text(encoding="utf-8")
    help_text = (plugin / "doc/fileops.txt").read_text(encoding="utf-8")
    in_code = re.search(r"^M\.defaults = \{(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    in_help = re.search(r"^\tvim\.g\.fileops = \{(.*?)^\t\}", help_text, re.MULTILINE | re.DOTALL)
    assert in_code is not None
    assert in_help is not None
    defaults = [sorted(re.findall(r"(\w+) = ([^{\s]+?),?\s", found[1])) for found in (in_code, in_help)]
    assert len(defaults[0]) > 10
    assert defaults[0] == defaults[1]


def as_list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def test_modules_that_a_page_names_exist() -> None:
    complaints = [
        f"{page}: {name}"
        for page, text in texts()
        for name in MODULE.findall(text)
        if not any((base / name).exists() for base in (ROOT, ROOT / "server", ROOT / "clients" / "python"))
    ]
    assert complaints == []


def test_exceptions_that_a_page_for_users_names_exist() -> None:
    known = {*fileops_client.__all__, *dir(builtins)}
    named = [
        (page, name)
        for page, text in texts()
        if not page.startswith("docs/internals/")
        for name in EXCEPTION.findall(text)
    ]
    assert len(named) >= 8
    assert [f"{page}: {name}" for page, name in named if name not in known] == []


def test_codes_in_docstrings_of_the_client_exist() -> None:
    known = {failure.code for failure in FAILURES} | {"invalid_params"}
    methods = {path.stem for path in CLIENT} | {"edit", "read", "apply_changes"}  # "as `edit`"
    paragraphs = [(page, found) for page, text in texts(CLIENT) for found in CODES.findall(text)]
    assert len(paragraphs) >= 8
    complaints = [
        f"{page}: {code}"
        for page, paragraph in paragraphs
        for code in re.findall(r"`([a-z_]+)`", paragraph)
        if code not in known | methods
    ]
    assert complaints == []
