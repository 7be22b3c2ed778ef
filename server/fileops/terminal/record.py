"""The commands `log`, `diff`, `blame`, `changes`, `undo`, `redo` and `keep`: who changed what, and undoing it.

They connect to the shared daemon as an editor without documents, used by the person at the terminal. Only the answer is
on stdout. Errors and notes are on stderr.
"""

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any, Literal, TypedDict, cast

import msgspec

from fileops.core.presentation.phrases import format_count
from fileops.platform.page import Line, fits_screen, fold_at, json_text, plain, print_lines, say, width_for_person
from fileops.platform.regular_files import NotReadable, read_regular
from fileops.terminal.connection import (
    DONE,
    FAILED,
    FOLDER_IS_GONE,
    MISUSED,
    UNREACHABLE,
    CommandClient,
    finish,
    reason_of,
)
from fileops.terminal.head_moves import moves_of
from fileops.terminal.lines import visible
from fileops.terminal.log_groups import Group, groups_of, is_undo
from fileops.terminal.record_arguments import (
    LAST,
    MAX_ENTRIES,
    Misused,
    NothingDone,
    Target,
    absolute,
    exists,
    is_folder,
    is_path,
    item_of,
    last_undo,
    moment_of,
    name_last,
    path_of,
    session_of,
    suggest_path,
)
from fileops.terminal.record_lines import (
    INCLUDE_DECIDED,
    author_name,
    blame_lines,
    cell_lines,
    change_lines,
    detail_lines,
    diff_lines,
    entry_line,
    files_of,
    group_lines,
    reverse_cells,
    reverse_diff,
    rewind_lines,
    shorten_path,
    turn_line,
    unshown_lines,
    when,
)
from fileops.terminal.renames import ShownFile, to_shown_files
from fileops_client.author import AuthorKind
from fileops_client.errors import ResponseError
from fileops_client.requests.files import uri_of
from fileops_client.rewind import Rewind
from fileops_client.values import (
    RecordedFolder,
    RecordEntry,
    RewindConflict,
    RewoundFile,
    Unkept,
    UnkeptFile,
)

LEFT = 3  # exit status: done, but conflicts were left
_WHY_OFF = {  # by the reason of the status
    "fault": "a fault ended it; see the daemon's log",
    "hangs": "its disk does not answer",
    "folders": "too many folders are recorded at once",
}
STARTS_WITHIN_S = 5.0  # how long an answer waits for a folder to start
STARTS_EVERY_S = 0.1
REWIND_S = 120.0
LOST_LINES = "l-"  # prefix of ids of lines that a host's own write has removed
MAX_SHOWN_BYTES = 16 << 20  # of a file whose lines are shown
SHOWN_GROUPS = 50  # in the log, if no number is given
MAX_GROUPED = 5000  # entries
SHOWN_WHOLE = "An id is shown as a whole: leave out the other options."
# Targets of which only what is not kept and not committed is undone, unless `--kept` asks for the rest.
_OF_AN_AGENT = ("session_id", "turn_id", "since_turn", "all_since_turn")


class Wanted(TypedDict):
    """The entries to list; see FileOpsClient.log."""

    root: str
    file_path: str | None
    session_id: str | None
    by: AuthorKind | None
    since: float | None


Command = Callable[[CommandClient, argparse.Namespace], Coroutine[Any, Any, int]]


def main(options: argparse.Namespace) -> int:
    """Run a command. Returns the exit status: see R-CLI-1."""
    try:
        return _run(options)
    except Misused as fault:
        return _fail(options, str(fault), MISUSED)
    except NothingDone as fault:
        return _fail(options, str(fault), FAILED)
    except ResponseError as fault:
        return _fail(options, reason_of(fault), FAILED)
    except UNREACHABLE as fault:
        return _fail(options, f"The shared daemon cannot answer: {fault}", FAILED)


def _run(options: argparse.Namespace) -> int:
    """Raises: Misused, NotDone, UNREACHABLE."""
    folder = _folder_of(options)
    began = time.time()
    if getattr(options, "screen", False):
        return _full_screen(options, folder)
    with CommandClient(options.socket, folder) as client:
        return finish(_run_command(client, options, folder, began))


async def _run_command(client: CommandClient, options: argparse.Namespace, folder: str, began: float) -> int:
    """Raises: Misused, NotDone, UNREACHABLE."""
    status = _set_root(client, options, folder)
    _say_since(options, status, began)
    await name_last(client, options)
    return await _COMMANDS[options.command](client, options)


def _full_screen(options: argparse.Namespace, folder: str) -> int:
    """Show the changes of the whole project in the full screen. Raises: Misused, NotDone, UNREACHABLE."""
    if options.path is not None or options.diff or options.json:
        raise Misused("--screen shows the whole project: leave out the path and the other options.")
    with CommandClient(options.socket, folder) as client:
        _set_root(client, options, folder)
    from fileops.terminal.command import show_screen  # which commands that print do not need

    return show_screen(options, options.root, "`fileops-server changes` lists the changes, `--diff` shows them.")


def _folder_of(options: argparse.Namespace) -> str:
    """The folder whose record a command is about: that of the path it names, or else the current one.

    Raises: NotDone.
    """
    try:
        folder = os.getcwd()
    except FileNotFoundError:
        raise NothingDone(FOLDER_IS_GONE) from None
    paths = [getattr(options, "path", None), *(getattr(options, "paths", None) or ()), getattr(options, "id", None)]
    given = next((absolute(path) for path in paths if path is not None and exists(path)), folder)
    folder = given if os.path.isdir(given) else os.path.dirname(given)
    home = os.path.realpath(os.path.expanduser("~"))
    if os.path.commonpath((os.path.realpath(folder), home)) == os.path.realpath(folder):
        raise NothingDone(
            f"Nothing is recorded in {visible(folder)}: the home folder and the folders above it never are. "
            "Change to a project folder, or name a file in one."
        )
    return folder


def _say_since(options: argparse.Namespace, status: RecordedFolder, began: float) -> None:
    """Say on stderr if this command begins the recording. To a person who is looking, say since when it has run.

    Args: began: when the command began, in seconds since the epoch.
    """
    if options.json:
        return
    if status.state == "off":
        why = _WHY_OFF.get(status.reason or "", "see the daemon's log")
        say(f"{visible(status.root)} is not recorded at present: {why}. Changes made now will not be known.")
    elif status.since is None or status.since >= began:
        say(f"The recording of {visible(status.root)} begins now: earlier changes are not known.")
    elif sys.stderr.isatty() and options.command in {"log", "diff", "blame", "changes"}:
        say(f"{visible(status.root)} has been recorded since {when(status.since)}.")


def _set_root(client: CommandClient, options: argparse.Namespace, folder: str) -> RecordedFolder:
    """Find the recorded folder that contains this one, once its earlier contents are known. Raises: NotDone.

    Sets `is_starting` if they are still unknown after STARTS_WITHIN_S, so that an empty answer is not final.
    """
    deadline = time.monotonic() + STARTS_WITHIN_S
    while True:
        status = finish(client.record_status(folder))
        is_over = time.monotonic() > deadline
        innermost = max(status, key=lambda recorded: len(recorded.root), default=None)
        if innermost is not None and (innermost.state != "starting" or is_over):
            options.root, options.is_starting = innermost.root, innermost.state == "starting"
            _widen(client, options.root, folder)
            return innermost
        if is_over:
            raise NothingDone(
                f"{visible(folder)} does not seem to be recorded. If recording has just begun, try again. "
                "If the option `record` is off, nothing is recorded (docs/guide/record.md)."
            )
        time.sleep(STARTS_EVERY_S)


def _widen(client: CommandClient, root: str, folder: str) -> None:
    """Make lists and "all" cover the whole project, whichever of its folders the command was run in."""
    if root != folder:
        added = {"uri": uri_of(root), "name": os.path.basename(root)}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [added], "removed": []}})


# --- looking ------------------------------------------------------------------------------------------------------


async def _log(client: CommandClient, options: argparse.Namespace) -> int:
    """Raises: Misused, NotDone, UNREACHABLE."""
    if options.n is not None and options.n < 1:
        raise Misused(f"-n {options.n}: give a number of 1 or more.")
    if options.forget is not None:
        return await _forget(client, options)
    if options.id is not None and not await is_path(client, options, options.id):
        return await _item(client, options)
    session_id, path = await session_of(client, options), await path_of(client, options, options.id)
    if options.turns:
        turns = await client.turns(session_id=session_id, root=options.root, limit=options.n)
        present = await _present(client)
        return _print(
            options,
            {"root": options.root, "turns": turns},
            [turn_line(turn, is_open=turn.session_id in present) for turn in turns],
            _none(options, "No turns are recorded."),
        )
    turn_id = None if options.turn is None else (await item_of(client, options, options.turn)).turn_id
    since = None if options.since is None else moment_of(options.since)
    wanted: Wanted = {
        "root": options.root,
        "file_path": path,
        "session_id": session_id,
        "by": options.by,
        "since": since,
    }
    answer: object = None
    if options.all or options.json:
        log = await client.log(**wanted, turn_id=turn_id, limit=min(options.n, MAX_ENTRIES) if options.n else None)
        answer = {"root": options.root, "entries": log.entries, "more": log.more}
        lines, more = [entry_line(entry, os.getcwd()) for entry in log.entries], log.more
    else:
        lines, more = await _group(client, options, wanted, turn_id)
    if more and not options.json:
        lines.append([("... there are older changes: -n N shows more", "faint")])
    return _print(options, answer, lines, _none(options, "Nothing is recorded."))


async def _group(
    client: CommandClient, options: argparse.Namespace, wanted: Wanted, turn_id: str | None
) -> tuple[list[Line], bool]:
    """Return the newest groups of the log as lines, and whether there are older ones. Raises: UNREACHABLE."""
    n_groups = options.n or SHOWN_GROUPS
    moves = moves_of(options.root)
    entries: list[RecordEntry] = []
    groups: list[Group] = []
    more = True
    while more and len(groups) <= n_groups and len(entries) < MAX_GROUPED:
        before = entries[-1].entry_id if entries else None
        log = await client.log(**wanted, turn_id=turn_id, before=before, limit=MAX_ENTRIES)
        entries += log.entries
        groups, more = groups_of(entries, moves), log.more
    turns = {turn.turn_id: turn for turn in await client.turns(root=options.root, limit=MAX_ENTRIES)}
    for group in groups[:n_groups] if more else ():
        if group.turn_id is not None:  # it may have begun before the entries asked for
            log = await client.log(**wanted, turn_id=group.turn_id, limit=MAX_ENTRIES)
            group.entries, group.is_cut = list(log.entries), log.more
    folder = os.getcwd()
    lines = [
        line
        for group in groups[:n_groups]
        for line in group_lines(group, turns.get(group.turn_id or ""), folder, fold_at())
    ]
    return lines, more or len(groups) > n_groups


async def _present(client: CommandClient) -> set[str]:
    """The names of the sessions that still have a connection. Raises: UNREACHABLE."""
    answer = await client.request("fileops/sessions")
    return {session["session_id"] for session in answer["sessions"] if session["connected"]}


def _none(options: argparse.Namespace, sentence: str) -> str:
    """What to print instead of an empty answer."""
    return f"{sentence} The recording of this folder is still starting." if options.is_starting else sentence


async def _forget(client: CommandClient, options: argparse.Namespace) -> int:
    """Raises: UNREACHABLE."""
    if options.forget == "all":
        n_entries = await client.forget_record(all=True)
    else:
        n_entries = await client.forget_record(file_path=absolute(options.forget))
        if not n_entries and not exists(options.forget):
            raise NothingDone(f"There is no file or folder {visible(options.forget)}, and nothing was recorded of one.")
    removed = "1 change was" if n_entries == 1 else f"{n_entries} changes were"
    return _print(options, {"n_entries": n_entries}, [plain(f"{removed} removed from the record.")])


async def _item(client: CommandClient, options: argparse.Namespace) -> int:
    """Print what an id on the command line refers to. Raises: Misused, NotDone, UNREACHABLE."""
    if any((options.by, options.session, options.turn, options.since, options.n, options.turns, options.all)):
        raise Misused(SHOWN_WHOLE)
    found = await item_of(client, options, options.id)
    item, folder = found.item, os.getcwd()
    named = {"entry": item.entry, "command": item.command, "turn": item.turn, "rewind": item.rewind}
    answer: dict[str, object] = {name: value for name, value in named.items() if value is not None}
    if item.entry is None:
        answer["entries"] = item.entries
    lines: list[Line] = []
    if item.entry is not None:
        lines += detail_lines(item.entry, folder)
    elif item.turn is not None:
        present = await _present(client)
        lines.append([("turn ", "plain"), *turn_line(item.turn, is_open=item.turn.session_id in present)])
    elif item.command is not None:
        began = when(item.command.began)
        lines.append(
            [
                ("command ", "plain"),
                (item.command.command_id, "id"),
                (f"  {began}  ", "plain"),
                (visible(item.command.label), "name"),
            ]
        )
    elif item.rewind is not None:
        lines.append(
            [
                ("undo ", "plain"),
                (item.rewind.rewind_id, "id"),
                (f"  {when(item.rewind.time)}  ", "plain"),
                (author_name(item.rewind.by), "name"),
            ]
        )
    if item.entry is None:
        arrived = {entry.moved_from for entry in item.entries if entry.edited is not None}
        shown = (entry for entry in item.entries if entry.moved_to is None or entry.path not in arrived)
        lines += (entry_line(entry, folder) for entry in reversed([*shown]))  # in the order of their diffs
    if item.truncated:
        more = f"Only the newest {len(item.entries)} changes are shown; `log` and `diff` with a path show others."
        answer["truncated"] = True
        lines.append([(more, "warning")])
    lines.append(plain(""))
    change = None
    if item.entry is not None and _is_notebook(item.entry.path):
        change = await client.entry(item.entry.entry_id)
    if change is not None and (change.cells or change.other_change is not None):
        answer["cells"], answer["other_change"] = change.cells, change.other_change
        if change.other_change is not None:
            lines.append(plain(f"The cells are the same: {change.other_change}."))
        lines += cell_lines(change.cells, folder, width_for_person())
    else:
        lines += diff_lines(item.diff, folder, width_for_person())
    return _print(options, {**answer, "diff": item.diff}, lines) or (LEFT if item.truncated else 0)


async def _diff(client: CommandClient, options: argparse.Namespace) -> int:
    """Raises: Misused, NotDone, UNREACHABLE."""
    target = await _choose_diff(client, options)
    path = await path_of(client, options, options.path)
    preview = None
    if target is not None:
        paths = None if path is None else [path]
        preview = await client.rewind(**target, paths=paths, dry_run=True, approved=True, timeout_s=REWIND_S)
    if options.id is None and sys.stderr.isatty() and not options.json:
        say("This includes what you have kept or committed. `changes --diff` shows only what you have not.")
    status = _print_diff(options, preview, _none(options, "No differences."), is_cut=options.is_cut)
    if not options.is_cut:
        return status
    say(
        f"fileops-server diff: These are the newest {MAX_ENTRIES} changes, and there are more. "
        "`diff` with a path shows others."
    )
    return status or LEFT


def _print_diff(options: argparse.Namespace, preview: Rewind | None, otherwise: str, *, is_cut: bool = False) -> int:
    """Print what a rewind would undo. Raises: NotDone."""
    files: Sequence[RewoundFile] = ()
    conflicts: Sequence[RewindConflict] = ()
    if preview is not None:
        if preview.error is not None and preview.error.code not in {"unknown_target", "undo_conflict"}:
            raise NothingDone(preview.error.message)
        files, conflicts = preview.files, preview.conflicts
    diff = "".join(reverse_diff(file.ui_extra.diff) for file in files)
    answer = {
        "diff": diff,
        "files": [{"path": file.file_path, "added": file.removed, "removed": file.added} for file in files],
        "conflicts": msgspec.to_builtins(conflicts),
    }
    if is_cut:
        answer["truncated"] = True
    lines: list[Line] = []
    for file in to_shown_files(files):
        reverse = msgspec.structs.replace(file, diff=reverse_diff(file.diff), cells=reverse_cells(file.cells))
        lines += _changes_of(reverse, width_for_person())
    lines += unshown_lines(conflicts, os.getcwd())
    return _print(options, answer, lines, otherwise)


async def _choose_diff(client: CommandClient, options: argparse.Namespace) -> Target | None:
    """Whose changes to show: those of an id, of a session, or of all agents. Raises: Misused, NotDone."""
    options.is_cut = False
    if options.id is not None and options.path is None and await is_path(client, options, options.id):
        options.id, options.path = None, options.id  # `diff PATH`
    if options.id is not None:
        if options.session is not None or options.since is not None:
            raise Misused(SHOWN_WHOLE)
        return (await item_of(client, options, options.id)).target
    session_id = await session_of(client, options)
    if session_id is not None and options.since is None:
        return {"session_id": session_id}
    since = None if options.since is None else moment_of(options.since)
    log = await client.log(
        root=options.root,
        file_path=await path_of(client, options, options.path),
        session_id=session_id,
        since=since,
        limit=MAX_ENTRIES,
    )
    options.is_cut = log.more
    kinds = {"session", "command"}
    ids = [entry.entry_id for entry in log.entries if entry.by.kind in kinds and entry.undone_by is None]
    return {"entry_ids": ids} if ids else None


async def _blame(client: CommandClient, options: argparse.Namespace) -> int:
    """Raises: NotDone, UNREACHABLE."""
    path = absolute(options.path)
    if not exists(path):
        meant = await suggest_path(client, options, options.path)
        raise NothingDone(f"{visible(options.path)}: The file does not exist. {meant}".rstrip())
    if is_folder(path):
        raise NothingDone(f"{visible(options.path)} is a folder. Name one of its files.")
    parts = await client.blame(path, cells=_is_notebook(path))
    reading = await client.read(path, raw=True)  # unsaved text in an editor counts
    await client.close_session(client.own_session_id)  # else editors show it as an agent that read the file
    text = reading.details.get("text")
    if text is None:
        raise NothingDone(reading.error.message if reading.error is not None else "The file cannot be read.")
    texts = _with_letters(path, text).split("\n")
    if any(part.cell_id is not None for part in parts):
        texts = _lines_of_sources(text)
    texts += [""] * (sum(part.n_lines for part in parts) - len(texts))  # the file has changed since
    lines = [
        {**msgspec.to_builtins(part), "text": "\n".join(texts[part.first_line - 1 :][: part.n_lines])} for part in parts
    ]
    shown = blame_lines(parts, [text.removesuffix("\r") for text in texts])
    return _print(options, {"path": path, "lines": lines}, shown)


def _is_notebook(path: str) -> bool:
    return path.lower().endswith(".ipynb")


def _lines_of_sources(text: str) -> list[str]:
    """The lines of all sources of a notebook. None if it has changed meanwhile, and is no notebook any more."""
    try:
        cells: list[dict[str, Any]] = json.loads(text.removeprefix("\ufeff"))["cells"]
        sources = ["".join(cell["source"]) for cell in cells]
    except (ValueError, LookupError, TypeError):
        return []
    return [line for source in sources if source for line in source.split("\n")]


def _with_letters(path: str, text: str) -> str:
    """Show bytes that are not UTF-8 as a diff does, if the file on disk has this text."""
    from fileops.core.text import decode_for_display

    if "\ufffd" not in text:
        return text
    try:
        data = read_regular(path, MAX_SHOWN_BYTES)
    except (OSError, NotReadable):
        return text
    return decode_for_display(data) if data.decode("utf-8", "replace") == text else text


# --- undoing and keeping --------------------------------------------------------------------------------------------


async def _undo(client: CommandClient, options: argparse.Namespace) -> int:
    """Raises: Misused, NotDone, UNREACHABLE."""
    target: Target
    if options.since is not None:
        target = await _since(client, options)
    elif options.turn is not None:
        target = {"turn_id": (await item_of(client, options, options.turn)).turn_id}
    elif options.session is not None:
        target = {"session_id": await session_of(client, options) or ""}
    elif options.of_command is not None:
        found = (await item_of(client, options, options.of_command)).item
        if found.command is None:
            raise NothingDone(f"{visible(options.of_command)} is not a command.")
        target = {"command_id": found.command.command_id}
    elif options.all or (options.id is not None and await is_path(client, options, options.id)):
        return await _undo_unkept(client, options)
    elif options.id is not None and options.id.startswith(LOST_LINES):
        return await _bring_back(client, options)
    elif options.id is not None:
        target = (await item_of(client, options, options.id)).target
    else:
        raise Misused(
            "Name what to undo: an id, as `fileops-server log` prints it, a file or folder, --turn ID, --agent NAME, "
            "--command ID, --since ID, or --all."
        )
    return await _rewind(client, options, target)


async def _bring_back(client: CommandClient, options: argparse.Namespace) -> int:
    """Bring back lines that a host's own write has removed unseen. Raises: Misused, NotDone."""
    can_ask = sys.stdin.isatty() and sys.stdout.isatty()
    if not (options.yes or options.dry_run or can_ask):
        raise Misused("Without a terminal you cannot be asked: give --yes, or --dry-run to see what would be done.")
    preview = await client.undo(edit_id=options.id, dry_run=True, approved=True, timeout_s=REWIND_S)
    if not preview.ok:
        raise NothingDone(visible(preview.output))
    if not (options.yes or options.dry_run) and not _confirm("Bring them back?", [plain(preview.output)], ()):
        raise NothingDone("Nothing was undone.")
    done = preview
    if not options.dry_run:
        done = await client.undo(edit_id=options.id, approved=True, timeout_s=REWIND_S)
        if not done.ok:
            raise NothingDone(visible(done.output))
    print_lines([plain(done.output)])
    return 0


async def _since(client: CommandClient, options: argparse.Namespace) -> Target:
    """What `--since` means with the other options. Raises: Misused, NotDone, UNREACHABLE."""
    if any(value is not None for value in (options.id, options.turn, options.of_command)):
        raise Misused("--since TIME needs --agent NAME; --since ID is given alone, or with --all.")
    if options.session is not None:
        since = moment_of(options.since)
        return {"session_id": await session_of(client, options, since) or "", "since": since}
    if not options.since.startswith("t"):
        raise Misused("Name whose changes to undo: --agent NAME --since TIME. Alone, --since takes the id of a turn.")
    turn_id = (await item_of(client, options, options.since)).turn_id
    return {"all_since_turn": turn_id} if options.all else {"since_turn": turn_id}


async def _undo_unkept(client: CommandClient, options: argparse.Namespace) -> int:
    """Undo what is not kept, in the named files and folders or in the whole project.

    Raises: Misused, NotDone, UNREACHABLE.
    """
    names = [*([] if options.id is None else [options.id]), *options.paths]
    paths = [await path_of(client, options, name) for name in names] or [None]
    lists = [await _unkept_in(client, options, path) for path in paths]
    files = [file for unkept in lists for file in unkept.files]
    ids = _change_ids(files)
    if not ids:
        where = "there" if names else "here"
        raise NothingDone(f"There is nothing to undo: all changes by agents {where} are kept or undone.")
    status = await _rewind(client, options, {"change_ids": ids})
    if status not in {DONE, LEFT} or not any(unkept.truncated for unkept in lists):
        return status
    n_files = len({file.file_path for file in files if file.changes})
    return _fail(options, f"That covered {format_count(n_files, 'file')}, and there are more. Run this again.", LEFT)


async def _redo(client: CommandClient, options: argparse.Namespace) -> int:
    """Raises: Misused, NotDone, UNREACHABLE."""
    if options.id is None:
        return await _rewind(client, options, {"rewind_id": await last_undo(client, options.root)})
    found = await item_of(client, options, options.id)
    if found.item.rewind is None and (found.item.entry is None or not is_undo(found.item.entry)):
        raise NothingDone(f'{visible(options.id)} is not an undo. `fileops-server log` marks undos with "undoes".')
    return await _rewind(client, options, found.target)


async def _rewind(client: CommandClient, options: argparse.Namespace, target: Target) -> int:
    """Show the preview, ask, and rewind. Raises: Misused, NotDone, UNREACHABLE."""
    can_ask = sys.stdin.isatty() and sys.stdout.isatty()
    if not (options.yes or options.dry_run or can_ask):
        raise Misused("Without a terminal you cannot be asked: give --yes, or --dry-run to see what would be done.")
    paths = [await path_of(client, options, path) or "" for path in getattr(options, "paths", [])] or None
    include: list[Literal["unsure"]] | None = ["unsure"] if getattr(options, "include_unsure", False) else None
    undecided = None if getattr(options, "kept", True) or target.keys().isdisjoint(_OF_AN_AGENT) else True
    on_conflict: Literal["fail"] | None = "fail" if getattr(options, "fail_on_conflict", False) else None
    plan = getattr(options, "plan", None)

    async def rewind(plan: str | None, *, dry_run: bool) -> Rewind:
        return await client.rewind(
            **target,
            paths=paths,
            include=include,
            undecided=undecided,
            on_conflict=on_conflict,
            plan=plan,
            dry_run=dry_run,
            approved=True,
            reason=getattr(options, "reason", None),
            timeout_s=REWIND_S,
        )

    if options.yes and not options.dry_run:
        return _print_rewind(options, await rewind(plan, dry_run=False))
    preview = await rewind(plan, dry_run=True)
    if options.dry_run or preview.error is not None:
        return _print_rewind(options, preview)
    question = "Redo this?" if options.command == "redo" else "Undo this?"
    lines = list(rewind_lines(preview, os.getcwd(), _done_by(options), fold_at()))
    if not _confirm(question, lines, list(_diffs(preview))):
        raise NothingDone(f"Nothing was {_done_by(options)}.")
    return _print_rewind(options, await rewind(preview.plan, dry_run=False), lines)


def _done_by(options: argparse.Namespace) -> str:
    return "redone" if options.command == "redo" else "undone"


def _confirm(question: str, about: Sequence[Line], diffs: Sequence[Line]) -> bool:
    """Ask the person below what it is about. Differences that do not fit the screen are shown if they want to see them.

    No pager comes before the question, which it would hide.
    """
    is_all_shown = not diffs or fits_screen([*about, *diffs], n_further=1)
    print_lines([*about, *diffs] if is_all_shown else about, may_page=False)
    while True:
        keys = "[y/N] " if is_all_shown else "[y/N, d: show the differences] "
        given = _ask(f"{question} {keys}")
        if given != "d" or is_all_shown:
            return given in {"y", "yes"}
        print_lines(diffs)


def _ask(question: str) -> str:
    """The answer of the person at the terminal, in lower case; "" if they interrupt it or end the input.

    It can be interrupted even if SIGINT was ignored at the start, as a shell does for what it starts in the background.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sys.stdout.write(question)
        sys.stdout.flush()
        return sys.stdin.readline().strip().lower()
    except KeyboardInterrupt:
        sys.stdout.write("\n")
        return ""
    finally:
        signal.signal(signal.SIGINT, before)


def _diffs(rewind: Rewind) -> list[Line]:
    width = width_for_person()
    return [line for file in to_shown_files(rewind.files) for line in _changes_of(file, width)]


def _changes_of(file: ShownFile, width: int | None) -> Iterator[Line]:
    """The changes of a file: of a notebook, by cells."""
    if not file.cells:
        yield from diff_lines(file.diff, os.getcwd(), width)
        return
    yield [(shorten_path(file.path, os.getcwd()), "name")]
    yield from cell_lines(file.cells, os.getcwd(), width)


def _print_rewind(options: argparse.Namespace, rewind: Rewind, previewed: Sequence[Line] = ()) -> int:
    """Args: previewed: what the person has just seen and confirmed. Of a long report they need the first line only."""
    if options.json:
        _print(options, msgspec.to_builtins(rewind))
    elif rewind.error is None:
        lines = list(rewind_lines(rewind, os.getcwd(), _done_by(options), fold_at()))
        if lines[1:] == previewed[1:]:
            del lines[1:]
        if rewind.rewind_id is not None:
            then = "undo" if options.command == "redo" else "redo"
            lines.append([(f"To {then} it: fileops-server {then} {rewind.rewind_id}", "faint")])
        elif rewind.plan is not None:
            lines += _diffs(rewind)
        print_lines(lines)
    else:
        print_lines(rewind_lines(rewind, os.getcwd(), _done_by(options), fold_at()) if rewind.conflicts else ())
        hint = f" {INCLUDE_DECIDED}" if rewind.n_decided and not rewind.conflicts else ""
        _fail(options, f"{rewind.error.message}{hint}", FAILED)
    return FAILED if rewind.error is not None else LEFT if rewind.n_left else DONE


async def _keep(client: CommandClient, options: argparse.Namespace) -> int:
    """Raises: Misused, NotDone, UNREACHABLE."""
    given = [options.path, options.turn, options.session, options.all or None, options.undo]
    if sum(value is not None for value in given) != 1:
        raise Misused("Name a file or folder, --turn ID, --agent NAME, --all, or --undo ID.")
    if options.undo is not None:
        before = await client.unkept(root=options.root)
        undone = await client.undo_keep(None if options.undo == LAST else options.undo)
        n_changes, n_files = _fewer(await client.unkept(root=options.root), before)
        sentence = f"{format_count(n_changes, 'change')} in {format_count(n_files, 'file')} to keep or undo again."
        return _print(options, {"n_entries": undone.n_entries, "n_changes": n_changes}, [plain(sentence)])
    path, session_id = await path_of(client, options, options.path), await session_of(client, options)
    turn_id = None if options.turn is None else (await item_of(client, options, options.turn)).turn_id

    async def list_unkept() -> Unkept:
        if path is not None:
            return await _unkept_in(client, options, path)
        return await client.unkept(root=options.root, session_id=session_id, turn_id=turn_id)

    before = await list_unkept()
    can_ask = sys.stdin.isatty() and sys.stdout.isatty()
    is_asked = options.all and before.n_changes and can_ask and not (options.yes or options.json)
    about = list(change_lines((), before, os.getcwd(), fold_at())) if is_asked else []
    if is_asked and not _confirm("Keep all of this?", about, ()):
        raise NothingDone("Nothing was kept.")
    kept = await client.keep(file_path=path, turn_id=turn_id, session_id=session_id, all=options.all or None)
    n_changes, n_files = _fewer(before, await list_unkept())
    are = "is" if n_changes == 1 else "are"
    sentence = f"{format_count(n_changes, 'change')} in {format_count(n_files, 'file')} {are} kept."
    if not n_changes:
        sentence = "There was nothing to keep: no agent has made new changes here."
    lines = [plain(sentence)]
    if kept.keep_id is not None and n_changes:
        lines.append([(f"To undo this: fileops-server keep --undo {kept.keep_id}", "faint")])
    answer = {"keep_id": kept.keep_id, "n_entries": kept.n_entries, "n_changes": n_changes}
    return _print(options, answer, lines)


def _fewer(before: Unkept, after: Unkept) -> tuple[int, int]:
    """How many changes, in how many files, are only in the first list."""
    if before.truncated:
        return before.n_changes - after.n_changes, before.n_files - after.n_files
    left = {change.change_id for file in after.files for change in file.changes}
    old_names = {file.moved_from for file in before.files if file.changes}  # a rename counts for its new name only
    gone = [
        file.file_path
        for file in before.files
        for change in file.changes
        if change.change_id not in left and not (file.operation == "delete" and file.file_path in old_names)
    ]
    return len(gone), len(set(gone))


async def _changes(client: CommandClient, options: argparse.Namespace) -> int:
    """Raises: NotDone, UNREACHABLE."""
    path = await path_of(client, options, options.path)
    unkept = await _unkept_in(client, options, path)
    waiting = await client.reviews(include_texts=False)
    if path is not None:
        waiting = tuple(review for review in waiting if any(_is_in(path, name) for name in files_of(review)))
    if options.diff:
        return await _unkept_diff(client, options, unkept)
    if not waiting and not unkept.n_changes:
        return _print(options, {"waiting": waiting, "unkept": unkept}, (), _no_changes(options))
    return _print(
        options, {"waiting": waiting, "unkept": unkept}, change_lines(waiting, unkept, os.getcwd(), fold_at())
    )


async def _unkept_diff(client: CommandClient, options: argparse.Namespace, unkept: Unkept) -> int:
    """Print how files differ from what they would be without what is not kept. Raises: NotDone, UNREACHABLE."""
    ids = _change_ids(unkept.files)
    if not ids:
        return _print_diff(options, None, _no_changes(options))
    preview = await client.rewind(change_ids=ids, dry_run=True, approved=True, timeout_s=REWIND_S)
    return _print_diff(options, preview, _no_changes(options))


def _change_ids(files: Iterable[UnkeptFile]) -> list[str]:
    return list(dict.fromkeys(change.change_id for file in files for change in file.changes))


async def _unkept_in(client: CommandClient, options: argparse.Namespace, path: str | None) -> Unkept:
    """The changes not kept in a file or folder, or in the whole project. Raises: UNREACHABLE."""
    if path is None or is_folder(path):
        return await client.unkept(root=path or options.root)
    return await client.unkept(file_path=path)


def _is_in(folder: str, path: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _no_changes(options: argparse.Namespace) -> str:
    if options.is_starting:
        return "The recording of this folder has just begun: try again in a moment."
    return "Nothing waits for you: all changes by agents are kept or undone."


# --- output -----------------------------------------------------------------------------------------------------------


def _print(
    options: argparse.Namespace, answer: object, lines: "Sequence[Line] | object" = (), otherwise: str = ""
) -> int:
    if options.json:
        text = json_text(_as_sent(msgspec.to_builtins(answer)))
        sys.stdout.write(text + "\n")
        return DONE
    shown = list(cast("Sequence[Line]", lines))
    print_lines(shown or ([plain(otherwise)] if otherwise else []))
    return DONE


def _as_sent(value: Any) -> Any:
    """The answer as the daemon sent it: an author has only the keys of its kind."""
    if isinstance(value, list):
        return [_as_sent(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    is_author = {"kind", "label", "candidates"} <= fields.keys()
    return {name: _as_sent(item) for name, item in fields.items() if not is_author or item or name == "session_id"}


def _fail(options: argparse.Namespace, sentence: str, status: int) -> int:
    say(f"fileops-server {options.command}: {sentence}")
    return status


_COMMANDS: dict[str, Command] = {
    "log": _log, "diff": _diff, "blame": _blame, "changes": _changes, "undo": _undo, "redo": _redo, "keep": _keep,
}  # fmt: skip
