"""The command `mcp config`: prints a host's configuration, or merges it into the host's files."""

import argparse
import difflib
import os
import sys
from dataclasses import dataclass
from typing import Any, cast

from fileops.mcp.config import jsonc, settings_file, toml
from fileops.mcp.config.changes import Change, Replace, changed, changes_to
from fileops.mcp.config.documents import Document, JsonDocument, Script, TomlDocument, documents_of
from fileops.mcp.config.settings_file import SettingsFile, UnusableFile


@dataclass(frozen=True)
class Plan:
    """One file, and the text that it gets."""

    file: SettingsFile
    text: str

    @property
    def diff(self) -> str:
        old = self.file.text.splitlines(keepends=True)
        new = self.text.splitlines(keepends=True)
        name = self.file.path
        before = "/dev/null" if self.file.status is None else name
        lines = difflib.unified_diff(old, new, before, name)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def main(options: argparse.Namespace) -> int:
    """The exit status."""
    documents = documents_of(options.host, options.server_command, read_only_sandbox=options.read_only_sandbox)
    if not options.write:
        sys.stdout.write("\n".join(document.printed for document in documents))
        return 0
    try:
        return _write(documents, options)
    except UnusableFile as error:
        sys.stderr.write(f"fileops-server mcp config: {error} Nothing was changed in it.\n")
        return 1


def _write(documents: list[Document], options: argparse.Namespace) -> int:
    plans: list[Plan] = []
    for document in documents:
        plan = _plan(document, options.directory, may_replace=options.replace)
        if plan is None:
            sys.stdout.write(f"{_path_of(document, options.directory)}: already configured\n")
        else:
            plans.append(plan)
    if not plans:
        return 0
    sys.stdout.write("".join(plan.diff for plan in plans))
    sys.stdout.flush()
    if not options.yes and not _has_consent():
        return 1
    for plan in plans:
        settings_file.replace(plan.file, plan.text)
        sys.stdout.write(f"{plan.file.path}: written\n")
    return 0


def _has_consent() -> bool:
    if not sys.stdin.isatty():
        sys.stderr.write(
            "fileops-server mcp config: stdin is no terminal to ask on. Add --yes to write these changes.\n"
        )
        return False
    sys.stdout.write("Write these changes? [y/N] ")
    sys.stdout.flush()
    if sys.stdin.readline().strip().lower() in {"y", "yes"}:
        return True
    sys.stderr.write("Nothing was written.\n")
    return False


def _path_of(document: Document, directory: str) -> str:
    """Return where a document belongs on this machine."""
    codex_home = os.environ.get("CODEX_HOME")
    if codex_home and document.file.startswith("~/.codex/"):
        return os.path.join(codex_home, document.file.removeprefix("~/.codex/"))
    if document.file.startswith("~/"):
        return os.path.expanduser(document.file)
    return os.path.join(directory, document.file)


def _plan(document: Document, directory: str, *, may_replace: bool) -> Plan | None:
    """Return what is to be written, or None if the file has everything."""
    file = settings_file.read(_path_of(document, directory))
    if not file.text.strip():
        return Plan(file, document.text)
    if isinstance(document, Script):
        return _plan_of_script(document, file, may_replace=may_replace)
    try:
        present = _parsed(document, file.text)
    except ValueError as error:
        raise UnusableFile(f"{file.path} cannot be parsed: {error}.") from None
    changes: list[Change] = list(changes_to(present, document.content))
    conflicts = [".".join(change.path) for change in changes if isinstance(change, Replace)]
    if conflicts and not may_replace:
        names = ", ".join(conflicts)
        raise UnusableFile(f"{file.path} has another value for {names}. Change it by hand, or add --replace.")
    if not changes:
        return None
    apply = jsonc.apply if isinstance(document, JsonDocument) else toml.apply
    text = apply(file.text, changes)
    if _parsed(document, text) != changed(present, changes):
        raise UnusableFile(f"{file.path} has a layout that cannot be merged. Change it by hand.")
    return Plan(file, text)


def _plan_of_script(document: Script, file: SettingsFile, *, may_replace: bool) -> Plan | None:
    if file.text == document.text:
        return None
    if not may_replace and not file.text.startswith(document.mark):
        raise UnusableFile(f"{file.path} is another program. Move it away, or add --replace.")
    return Plan(file, document.text)


def _parsed(document: JsonDocument | TomlDocument, text: str) -> dict[str, Any]:
    if not isinstance(document, JsonDocument):
        return toml.parse(text)
    value = jsonc.parse(text).value
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    return cast("dict[str, Any]", value)
