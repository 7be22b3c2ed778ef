"""The command `mcp config`: prints a host's configuration, merges it into the host's files, or removes it again."""

import argparse
import difflib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from fileops.core.roots import is_inside
from fileops.mcp.config import additions, jsonc, language_servers, settings_file, toml
from fileops.mcp.config.changes import Change, Replace, added_by, changed, changes_to, removals_of
from fileops.mcp.config.documents import (
    FOR_TEAMS,
    Document,
    IgnoredFile,
    JsonDocument,
    Script,
    TomlDocument,
    documents_of,
)
from fileops.mcp.config.settings_file import SettingsFile, UnusableFile
from fileops.wire.language_servers import file_of_the_user


@dataclass(frozen=True)
class ConfigPlan:
    """One file, and its new text; None: it is removed. added: what part of it is ours, None for a script."""

    file: SettingsFile
    text: str | None
    added: Mapping[str, Any] | None = None

    @property
    def diff(self) -> str:
        old = self.file.text.splitlines(keepends=True)
        new = [] if self.text is None else self.text.splitlines(keepends=True)
        name = self.file.path
        before = "/dev/null" if self.file.status is None else name
        lines = difflib.unified_diff(old, new, before, "/dev/null" if self.text is None else name)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def main(options: argparse.Namespace) -> int:
    """Return the exit status."""
    if options.project and options.host not in FOR_TEAMS:
        hosts = " and ".join(FOR_TEAMS)
        sys.stderr.write(f"fileops-server mcp config: --project is for {hosts}: {options.host} has no such settings.\n")
        return 2
    folder = os.path.abspath(options.directory)
    documents = documents_of(
        options.host,
        options.server_command,
        folder=_top_of_repository(folder),
        for_team=options.project,
        read_only_sandbox=options.read_only_sandbox,
    )
    if not options.write and not options.remove:
        sys.stdout.write("\n".join(document.printed for document in documents))
        return 0
    try:
        status = _write(documents, options, folder)
        return _offer_language_servers(options, folder) if options.write and status == 0 else status
    except UnusableFile as error:
        sys.stderr.write(f"fileops-server mcp config: {error} Nothing was changed in it.\n")
        return 1


def _write(documents: list[Document], options: argparse.Namespace, folder: str) -> int:
    plans: list[ConfigPlan] = []
    for document in documents:
        path = _path_of(document, folder)
        if path is None:
            continue  # a list of ignored files, outside a repository
        file = settings_file.read(path)
        plan = _removal(document, file) if options.remove else _plan(document, file, may_replace=options.replace)
        if plan is None:
            sys.stdout.write(f"{path}: {'nothing to remove' if options.remove else 'already configured'}\n")
        else:
            plans.append(plan)
    if not plans:
        return 0
    sys.stdout.write("".join(plan.diff for plan in plans))
    if not options.remove:
        sys.stdout.write(_summary(plans, documents, options))
    sys.stdout.flush()
    if not options.yes and not _has_consent():
        return 1
    for plan in plans:
        if options.remove:
            _remove(plan)
        else:
            if plan.added is not None:
                additions.note(plan.file.path, plan.added)
            settings_file.replace(plan.file, plan.text or "")
        sys.stdout.write(f"{plan.file.path}: {'removed' if plan.text is None else 'written'}\n")
    return 0


def _summary(plans: list[ConfigPlan], documents: list[Document], options: argparse.Namespace) -> str:
    """Return what the changes above are for, and what takes them back."""
    has_hooks = any(
        isinstance(document, Script) or (isinstance(document, JsonDocument) and "hooks" in document.content)
        for document in documents
    )
    hooks = "Hooks refuse the host's own tools for that, and report its turns and commands.\n" if has_hooks else ""
    files = f"{len(plans)} file{'s' if len(plans) > 1 else ''}"
    remove = f"fileops-server mcp config {options.host} --remove{' --project' if options.project else ''}"
    return (
        f"\nWith these changes in {files} the host starts fileops-server, to read and edit files with its tools.\n"
        f"{hooks}To take the changes back: {remove}\n"
    )


def _offer_language_servers(options: argparse.Namespace, folder: str) -> int:
    """Let the user name the installed language servers. An existing list is theirs, and stays."""
    path = file_of_the_user()
    project = _top_of_repository(folder)
    if os.path.lexists(path) or is_inside(os.path.realpath(project), os.path.realpath(path)):
        return 0
    found = language_servers.installed(project)
    if not found:
        return 0
    *others, last = (str(setting["name"]) for setting in found)
    names = f"{', '.join(others)} and {last}" if others else last
    is_asked = sys.stdin.isatty() and not options.yes
    if not options.language_servers and not is_asked:
        sys.stdout.write(f"{names} can tell the agent what an edit broke: add --language-servers to use them.\n")
        return 0
    plan = ConfigPlan(settings_file.read(path), language_servers.to_text(found))
    sys.stdout.write(f"{plan.diff}{names} can tell the agent what an edit broke. They may run code of the project.\n")
    sys.stdout.flush()
    if not options.yes and not _has_consent("Use them?"):
        return 1 if options.language_servers else 0
    settings_file.replace(plan.file, plan.text or "")
    sys.stdout.write(f"{path}: written\n")
    return 0


def _remove(plan: ConfigPlan) -> None:
    if plan.text is None:
        settings_file.remove(plan.file)
    else:
        settings_file.replace(plan.file, plan.text)
    additions.forget(plan.file.path)


def _has_consent(question: str = "Write these changes?") -> bool:
    if not sys.stdin.isatty():
        sys.stderr.write("fileops-server mcp config: stdin is not a terminal. Add --yes to write these changes.\n")
        return False
    sys.stdout.write(f"{question} [y/N] ")
    sys.stdout.flush()
    if sys.stdin.readline().strip().lower() in {"y", "yes"}:
        return True
    sys.stderr.write("Nothing was written.\n")
    return False


def _path_of(document: Document, folder: str) -> str | None:
    """Return where a document belongs on this machine; None if there is no such place."""
    if isinstance(document, IgnoredFile):
        return _list_of_ignored_files(_top_of_repository(folder))
    for variable, home in (("CODEX_HOME", "~/.codex/"), ("CLAUDE_CONFIG_DIR", "~/")):
        value = os.environ.get(variable)
        is_there = document.file.startswith(home) and (variable == "CODEX_HOME" or document.file == "~/.claude.json")
        if value and is_there:
            return os.path.join(value, document.file.removeprefix(home))
    if document.file.startswith("~/"):
        return os.path.expanduser(document.file)
    return os.path.join(folder, document.file)


def _top_of_repository(folder: str) -> str:
    """Return the folder of the git repository that contains a folder; the folder itself if none does."""
    above = folder
    while not os.path.lexists(os.path.join(above, ".git")):
        parent = os.path.dirname(above)
        if parent == above:
            return folder
        above = parent
    return above


def _list_of_ignored_files(top: str) -> str | None:
    """Return git's list for this clone only; None without a repository. A work tree has a file that names its own."""
    git = os.path.join(top, ".git")
    try:
        with open(git, encoding="utf-8") as file:
            git = os.path.join(top, file.read(4096).removeprefix("gitdir:").strip())
        with open(os.path.join(git, "commondir"), encoding="utf-8") as file:
            git = os.path.normpath(os.path.join(git, file.read(4096).strip()))
    except (OSError, UnicodeDecodeError):
        pass  # it is the folder itself, or a submodule's
    return os.path.join(git, "info", "exclude") if os.path.isdir(git) else None


def _plan(document: Document, file: SettingsFile, *, may_replace: bool) -> ConfigPlan | None:
    """Return what is to be written, or None if the file has everything."""
    if isinstance(document, IgnoredFile):
        lines = file.text.splitlines()
        end = "" if not file.text or file.text.endswith("\n") else "\n"
        return None if document.pattern in lines else ConfigPlan(file, f"{file.text}{end}{document.pattern}\n")
    if isinstance(document, Script):
        return _plan_of_script(document, file, may_replace=may_replace)
    if not file.text.strip():
        return ConfigPlan(file, document.text, document.content)
    present = _present(document, file)
    changes: list[Change] = list(changes_to(present, document.content))
    conflicts = [".".join(change.path) for change in changes if isinstance(change, Replace)]
    if conflicts and not may_replace:
        names = ", ".join(conflicts)
        raise UnusableFile(f"{file.path} has another value for {names}. Change it by hand, or add --replace.")
    if not changes:
        return None
    return ConfigPlan(file, _applied(document, file, present, changes), added_by(changes))


def _removal(document: Document, file: SettingsFile) -> ConfigPlan | None:
    """Return what is left of a file without what was added to it; None if nothing of that is there."""
    if isinstance(document, IgnoredFile):
        lines = file.text.splitlines(keepends=True)
        kept = [line for line in lines if line.rstrip("\r\n") != document.pattern]
        return None if kept == lines else ConfigPlan(file, "".join(kept))
    if isinstance(document, Script):
        return ConfigPlan(file, None) if file.text.startswith(document.mark) else None
    if not file.text.strip():
        return None
    present = _present(document, file)
    changes = list(removals_of(present, additions.of(file.path) or document.content))
    if not changes:
        return None
    text = _applied(document, file, present, changes)
    return ConfigPlan(file, None if text.strip() in {"", "{}"} else text)


def _present(document: JsonDocument | TomlDocument, file: SettingsFile) -> dict[str, Any]:
    try:
        return _parsed(document, file.text)
    except ValueError as error:
        raise UnusableFile(f"{file.path} cannot be parsed: {error}.") from None


def _applied(
    document: JsonDocument | TomlDocument, file: SettingsFile, present: dict[str, Any], changes: list[Change]
) -> str:
    apply = jsonc.apply if isinstance(document, JsonDocument) else toml.apply
    text = apply(file.text, changes)
    if _parsed(document, text) != changed(present, changes):
        raise UnusableFile(f"{file.path} has a layout that cannot be merged. Change it by hand.")
    return text


def _plan_of_script(document: Script, file: SettingsFile, *, may_replace: bool) -> ConfigPlan | None:
    if file.text == document.text:
        return None
    if file.text.strip() and not may_replace and not file.text.startswith(document.mark):
        raise UnusableFile(f"{file.path} is another program. Move it away, or add --replace.")
    return ConfigPlan(file, document.text)


def _parsed(document: JsonDocument | TomlDocument, text: str) -> dict[str, Any]:
    if not isinstance(document, JsonDocument):
        return toml.parse(text)
    value = jsonc.parse(text).value
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    return cast("dict[str, Any]", value)
