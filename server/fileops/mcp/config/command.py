"""The command `mcp config`: prints a host's configuration, merges it into the host's files, or removes it again."""

import argparse
import contextlib
import difflib
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from fileops.core.presentation.phrases import format_count
from fileops.core.roots import is_inside
from fileops.mcp.config import additions, check, jsonc, language_servers, places, settings_file, summary, toml
from fileops.mcp.config.additions import Addition
from fileops.mcp.config.changes import (
    SERVER,
    Add,
    Append,
    Change,
    KeyPath,
    apply,
    changes_to,
    content_of,
    find_replaced,
    reverse_of,
)
from fileops.mcp.config.documents import (
    FOR_TEAMS,
    Document,
    IgnoredFile,
    JsonDocument,
    Mode,
    Script,
    TomlDocument,
    documents_of,
    other_mode,
    to_json,
)
from fileops.mcp.config.settings_file import SettingsFile, UnusableFile
from fileops.mcp.config.text_splices import TextSplice, reverse_in, splices_between
from fileops.platform.page import print_text, say
from fileops.wire.language_servers import file_of_the_user


@dataclass(frozen=True)
class ConfigPlan:
    """One file, and its new text; None: it is removed.

    additions: what is then ours in it. folders: those that are removed if they are empty.
    """

    file: SettingsFile
    text: str | None
    additions: Sequence[Addition] = ()
    folders: Sequence[str] = ()

    @property
    def diff(self) -> str:
        old = self.file.text.splitlines(keepends=True)
        new = [] if self.text is None else self.text.splitlines(keepends=True)
        name = self.file.path
        before = "/dev/null" if self.file.status is None else name
        lines = difflib.unified_diff(old, new, before, "/dev/null" if self.text is None else name)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)

    @property
    def counts(self) -> str:
        lines = self.diff.splitlines()[2:]
        added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
        what = "" if self.file.status is not None else "a new file, "
        return f"{self.file.path}: {what}{format_count(added, 'line')} added, {removed} removed\n"


def main(options: argparse.Namespace) -> int:
    """Return the exit status."""
    if options.project and options.host not in FOR_TEAMS:
        hosts = f"{', '.join(FOR_TEAMS[:-1])} and {FOR_TEAMS[-1]}"
        say(f"fileops-server mcp config: --project is for {hosts}: {options.host} has no such settings.")
        return 2
    folder = os.path.abspath(options.directory)
    if options.read_only_sandbox:
        options.mode = "tools"
    mode: Mode = options.mode
    documents, others = (
        documents_of(
            options.host,
            options.server_command,
            mode=each,
            folder=places.top_of_repository(folder),
            for_team=options.project,
            read_only_sandbox=options.read_only_sandbox,
            has_our_notebooks=options.notebooks == "ours",
        )
        for each in (mode, other_mode(mode))
    )
    if options.check:
        return check.print_state({mode: documents, other_mode(mode): others}, options.host, folder)
    if not options.write and not options.remove:
        sys.stdout.write("\n".join(document.printed for document in documents))
        if sys.stdout.isatty():
            say(f"\nTo merge this into the files that are named above:\n    {_again(options)} --write")
        return 0
    try:
        plans = _write(documents, others, options, folder)
        if plans is None:
            return 1
        status = _offer_language_servers(options, folder) if options.write else 0
    except UnusableFile as error:
        say(f"fileops-server mcp config: {error} Nothing was changed in it.")
        return 1
    if plans:
        next_step = summary.after_removal(options.host) if options.remove else summary.next_step(options.host)
        print_text(f"Next: {next_step}", may_page=False)
    return status


def _write(
    documents: list[Document], others: list[Document], options: argparse.Namespace, folder: str
) -> list[ConfigPlan] | None:
    """Return what was carried out; None if the user does not want it."""
    plans: list[ConfigPlan] = []
    files = {document.file for document in documents}
    only_of_other = [document for document in others if document.file not in files]
    for document in (*documents, *only_of_other):
        path = places.path_of(document, folder)
        if path is None:
            continue  # a list of ignored files, outside a repository
        file = settings_file.read(path)
        other = next((each for each in others if each.file == document.file), None)
        is_removed = options.remove or document.file not in files
        plan = (
            _removal(document, file, other)
            if is_removed
            else _plan(document, file, may_replace=options.replace, other=other)
        )
        if plan is None and document.file not in files:
            continue
        if plan is None:
            if not options.remove:
                _note_that_nothing_is_ours(document, path)
            print_text(f"{path}: {'nothing to remove' if options.remove else 'already configured'}", may_page=False)
        else:
            plans.append(plan)
    if not plans:
        return plans
    about = "" if options.remove else _summary(plans, options.mode, options)
    if not _show(plans, about, options):
        return None
    for plan in plans:
        _carry_out(plan)
        print_text(f"{plan.file.path}: {'removed' if plan.text is None else 'written'}", may_page=False)
    for created in sorted({created for plan in plans for created in plan.folders}, key=len, reverse=True):
        with contextlib.suppress(OSError):  # it is in use, or gone
            os.rmdir(created)
    return plans


def _show(plans: Sequence[ConfigPlan], about: str, options: argparse.Namespace) -> bool:
    """Show the changes, and what they are for. Return whether the user wants them.

    At a terminal, changes that do not fit the screen are shown on request, so that their summary stays in sight.
    """
    diff, counts = ("".join(each) for each in zip(*((plan.diff, plan.counts) for plan in plans), strict=True))
    size = shutil.get_terminal_size()
    n_rows = sum(1 + len(line) // size.columns for line in (diff + about).splitlines())
    is_person = not options.yes and sys.stdin.isatty() and sys.stdout.isatty()
    is_counted = is_person and n_rows >= size.lines
    if is_counted:
        print_text(counts.removesuffix("\n"), may_page=False)
    else:
        sys.stdout.write(diff)
    if about:
        print_text(about.removesuffix("\n"), may_page=False)
    sys.stdout.flush()
    return options.yes or _has_consent(diff=diff if is_counted else "")


def _carry_out(plan: ConfigPlan) -> None:
    """Write or remove a file. What is recorded of it is never less than what is in it."""
    before = additions.of(plan.file.path)
    if plan.text is None:
        settings_file.remove(plan.file)
    elif len(plan.additions) < len(before):
        settings_file.replace(plan.file, plan.text)
    else:
        additions.note(plan.file.path, plan.additions)
        try:
            settings_file.replace(plan.file, plan.text)
        except UnusableFile:
            additions.note(plan.file.path, before)
            raise
        return
    additions.note(plan.file.path, plan.additions)


def _summary(plans: list[ConfigPlan], mode: Mode, options: argparse.Namespace) -> str:
    """Return what the changes above are for, who asks from now on, and what takes them back."""
    files = f"{len(plans)} file{'s' if len(plans) > 1 else ''}"
    again = _again(options)
    other = other_mode(mode)
    lines = [f"\nWith these changes in {files}, {summary.effect(options.host, mode)}"]
    if any(summary.runs_hook_of(plan.file.text, other) for plan in plans):
        lines.append(f"They replace what was written for --mode {other}.")
    lines.append(f"Who asks: {summary.who_asks(options.host, mode)}")
    if options.host in summary.WITH_HOOKS:
        lines.append(f"For {summary.OTHERWISE[mode]}: {again} --mode {other} --write")
    lines.append(f"To take the changes back: {again} --remove")
    return "\n".join(lines) + "\n"


def _again(options: argparse.Namespace) -> str:
    return f"fileops-server mcp config {options.host}{' --project' if options.project else ''}"


def _offer_language_servers(options: argparse.Namespace, folder: str) -> int:
    """Let the user name the installed language servers. An existing list is theirs, and stays."""
    path = file_of_the_user()
    project = places.top_of_repository(folder)
    if os.path.lexists(path) or is_inside(os.path.realpath(project), os.path.realpath(path)):
        return 0
    found = language_servers.find_installed(project)
    if not found:
        return 0
    *others, last = (str(setting["name"]) for setting in found)
    names = f"{', '.join(others)} and {last}" if others else last
    is_asked = sys.stdin.isatty() and not options.yes
    if not options.language_servers and not is_asked:
        print_text(
            f"{names} can tell the agent what an edit broke: add --language-servers to use them.", may_page=False
        )
        return 0
    plan = ConfigPlan(settings_file.read(path), language_servers.to_text(found))
    sys.stdout.write(plan.diff)
    print_text(f"{names} can tell the agent what an edit broke. They may run code of the project.", may_page=False)
    sys.stdout.flush()
    if not options.yes and not _has_consent("Use them?"):
        return 1 if options.language_servers else 0
    settings_file.replace(plan.file, plan.text or "")
    print_text(f"{path}: written", may_page=False)
    return 0


def _has_consent(question: str = "Write these changes?", diff: str = "") -> bool:
    """Ask the person at the terminal. Args: diff: what they have not seen yet, and may ask for."""
    if not sys.stdin.isatty():
        say("fileops-server mcp config: stdin is not a terminal. Add --yes to write these changes.")
        return False
    while True:
        sys.stdout.write(f"{question} {'[y/N, d: show the differences]' if diff else '[y/N]'} ")
        sys.stdout.flush()
        answer = sys.stdin.readline().strip().lower()
        if answer != "d" or not diff:
            break
        sys.stdout.write(diff)
    if answer in {"y", "yes"}:
        return True
    sys.stderr.write("Nothing was written.\n")
    return False


def _plan(
    document: Document, file: SettingsFile, *, may_replace: bool, other: Document | None = None
) -> ConfigPlan | None:
    """Return what is to be written, or None if the file has everything.

    Args: other: the document of the other mode, which this one replaces.
    """
    made = additions.of(file.path)
    if other is not None and not made:
        made = _presume_of_other_mode(document, other, file)
    if isinstance(document, IgnoredFile):
        if document.pattern in file.text.splitlines():
            return None
        end = "" if not file.text or file.text.endswith("\n") else "\n"
        return _plan_on(file, file.text, f"{file.text}{end}{document.pattern}\n", made, Addition())
    if isinstance(document, Script):
        if file.text == document.text:
            return None
        if file.text.strip() and not may_replace and not file.text.startswith(document.marks):
            raise UnusableFile(f"{file.path} is another program. Move it away, or add --replace.")
        made = made or _presume(document, file)
        base, _ = _take_back(document, file.text, made)
        return _plan_on(file, base, document.text, [], _join(made))
    present = _present(document, file)
    scope = _scope_of(document)
    ours = [addition for addition in made if addition.scope == scope]
    changes = list(changes_to(present, document.content))
    written = [content_of(addition.changes) for addition in ours]
    if not changes and not any(list(changes_to(document.content, content)) for content in written):
        return None
    conflicts = [".".join(path) for path in find_replaced(changes, written)]
    if conflicts and not may_replace:
        names = ", ".join(conflicts)
        raise UnusableFile(f"{file.path} has another value for {names}. Change it by hand, or add --replace.")
    base, kept = _take_back(document, file.text, made)  # what an earlier version wrote is replaced
    fresh = list(changes_to(_parse(document, base), document.content))
    text = document.text if not base.strip() else _apply(document, file.path, base, fresh)
    addition = replace(_join(ours), scope=scope, changes=fresh)
    return None if text == file.text else _plan_on(file, base, text, kept, addition)


def _plan_on(file: SettingsFile, base: str, text: str, kept: Sequence[Addition], addition: Addition) -> ConfigPlan:
    """Return the plan to write a text, and to record what it adds to `base`, which has the `kept` additions."""
    added = replace(
        addition,
        creates_file=addition.creates_file or file.status is None,
        folders=addition.folders or settings_file.missing_folders(file.path),
        splices=splices_between(base, text),
    )
    return ConfigPlan(file, text, [*kept, added])


def _note_that_nothing_is_ours(document: Document, path: str) -> None:
    """Record that nothing in a complete file is ours, unless the record already says what is."""
    made, scope = additions.of(path), _scope_of(document)
    if not isinstance(document, Script) and not any(addition.scope == scope for addition in made):
        additions.note(path, [*made, Addition(scope)])


def _join(made: Sequence[Addition]) -> Addition:
    """Return what was created for any of the additions."""
    folders = [folder for addition in made for folder in addition.folders]
    return Addition(creates_file=any(addition.creates_file for addition in made), folders=folders)


def _removal(document: Document, file: SettingsFile, other: Document | None = None) -> ConfigPlan | None:
    """Return what is left of a file without what was added to it; None if nothing of that is there.

    Args: other: the document of the other mode.
    """
    made = additions.of(file.path)
    scope = _scope_of(document)
    ours = [addition for addition in made if addition.scope == scope]
    if file.status is not None and not ours:
        of_other = [] if other is None else _presume_of_other_mode(document, other, file)
        ours = [*_presume(document, file), *of_other]
        made = [*made, *ours]
    base, kept = _take_back(document, file.text, made)
    created = _join(ours)
    is_removed = created.creates_file and not kept and base.strip() in {"", "{}"}
    if file.status is None or (base == file.text and not is_removed):
        if any(addition.splices for addition in ours):
            additions.note(file.path, kept)  # the user has removed it by hand
        return None
    return ConfigPlan(file, None if is_removed else base, kept, [] if kept else created.folders)


def _presume(document: Document, file: SettingsFile) -> list[Addition]:
    """Return what a file has of ours if nothing was recorded: a colleague wrote it, or an earlier version.

    A line of git's list that nobody recorded may be the user's, and stays.
    """
    if isinstance(document, IgnoredFile):
        return []
    if isinstance(document, Script):
        is_ours = file.text.startswith(document.marks)
        return [Addition(creates_file=True, splices=[TextSplice(0, file.text, "")])] if is_ours else []
    changes: list[Change] = [Add((key,), value) for key, value in document.content.items()]
    return [Addition(_scope_of(document), file.text.strip() == document.text.strip(), changes=changes)]


def _presume_of_other_mode(document: Document, other: Document, file: SettingsFile) -> list[Addition]:
    """Return what a file has of the other mode, if nothing was recorded: a colleague wrote it."""
    if not isinstance(document, JsonDocument) or not isinstance(other, JsonDocument) or not file.text.strip():
        return []
    present = _present(document, file)
    changes: list[Change] = []
    for event, entries in _lists_at(other.content, "hooks").items():
        there = _lists_at(present, "hooks").get(event, [])
        wanted = _lists_at(document.content, "hooks").get(event, [])
        ours = [entry for entry in entries if entry in there and entry not in wanted]
        changes += [Append(("hooks", event), ours)] if ours else []
    servers = [Add(path, value) for path, value in _servers_of(other.content) if _value_at(present, path) == value]
    return [Addition(_scope_of(document), changes=[*changes, *servers])] if changes or servers else []


def _lists_at(content: Mapping[str, Any], key: str) -> dict[str, list[object]]:
    """Return the lists of an object by their keys."""
    found = content.get(key)
    members = cast("Mapping[str, object]", found) if isinstance(found, Mapping) else dict[str, object]()
    return {name: cast("list[object]", value) for name, value in members.items() if isinstance(value, list)}


def _servers_of(content: Mapping[str, Any], path: KeyPath = ()) -> Iterator[tuple[KeyPath, object]]:
    """Yield the places of our server's entry."""
    for key, value in content.items():
        if key == SERVER:
            yield (*path, key), value
        elif isinstance(value, Mapping):
            yield from _servers_of(cast("Mapping[str, Any]", value), (*path, key))


def _value_at(content: object, path: KeyPath) -> object:
    for key in path:
        content = cast("Mapping[str, object]", content).get(key) if isinstance(content, Mapping) else None
    return content


def _scope_of(document: Document) -> str:
    return document.scope if isinstance(document, JsonDocument) else ""


def _take_back(document: Document, text: str, made: Sequence[Addition]) -> tuple[str, list[Addition]]:
    """Return the text without what was added for a document, and the additions of others that are still in it.

    Additions build on one another, so the later ones are taken back as well and made again.
    """
    scope = _scope_of(document)
    first = next((n for n, addition in enumerate(made) if addition.scope == scope), len(made))
    for addition in reversed(made[first:]):
        text = _without(document, text, addition)
    kept = list(made[:first])
    created = _join([addition for addition in made[first:] if addition.scope == scope])
    for addition in made[first:]:
        if addition.scope != scope and not isinstance(document, Script | IgnoredFile):
            changes = list(changes_to(_parse(document, text), content_of(addition.changes)))
            new = _apply(document, document.file, text, changes)
            again = replace(addition, changes=changes, splices=splices_between(text, new))
            kept.append(replace(again, creates_file=again.creates_file or created.creates_file))
            if created.folders:
                kept[-1] = replace(kept[-1], folders=created.folders)
            text, created = new, Addition()
    return text, kept


def _without(document: Document, text: str, addition: Addition) -> str:
    """Return the text as before an addition; if the user has changed it since, without what is left of that."""
    before = reverse_in(text, addition.splices) if addition.splices else None
    if isinstance(document, Script):
        return ("" if text.startswith(document.marks) else text) if before is None else before
    if isinstance(document, IgnoredFile):
        if not addition.splices:
            return text
        lines = text.splitlines(keepends=True)
        kept = [line for line in lines if line.rstrip("\r\n") != document.pattern]
        return "".join(kept) if before is None else before
    if before is not None:
        with contextlib.suppress(ValueError):  # what the user changed needs what was added
            _parse(document, before)
            return before
    changes = list(reverse_of(_parse(document, text), addition.changes))
    return _apply(document, document.file, text, changes)


def _present(document: JsonDocument | TomlDocument, file: SettingsFile) -> dict[str, Any]:
    try:
        return _parse(document, file.text)
    except ValueError as error:
        raise UnusableFile(f"{file.path} cannot be parsed: {error}.") from None


def _apply(document: JsonDocument | TomlDocument, path: str, text: str, changes: list[Change]) -> str:
    """Return the text with the changes, and with nothing else changed in its data. Raises: UnusableFile."""
    wanted = apply(_parse(document, text), changes)
    if isinstance(document, JsonDocument) and jsonc.is_blank(text):
        end = "" if not text.strip() or text.endswith("\n") else "\n"
        return f"{text if text.strip() else ''}{end}{to_json(wanted)}\n" if changes else text
    try:
        new = (jsonc.apply if isinstance(document, JsonDocument) else toml.apply)(text, changes)
        is_right = _canonical(_parse(document, new)) == _canonical(wanted)
    except ValueError:
        is_right, new = False, ""
    if not is_right:
        raise UnusableFile(f"{path} has a layout that cannot be merged. Change it by hand.")
    return new


def _canonical(value: object) -> str:
    """Return a text to compare data by: 1 is not true, and a nan is a nan."""
    return json.dumps(value, sort_keys=True, default=repr)


def _parse(document: JsonDocument | TomlDocument, text: str) -> dict[str, Any]:
    if not isinstance(document, JsonDocument):
        return toml.parse(text)
    value = jsonc.parse(text).value
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    return cast("dict[str, Any]", value)
