"""What the arguments of the commands about the record refer to: ids, names of sessions, files and times.

An argument that refers to nothing is refused with a sentence that says what exists instead.
"""

import argparse
import datetime
import difflib
import os
import time
from collections.abc import Iterable, Sequence
from typing import TypedDict

from fileops.terminal.connection import CommandClient
from fileops.terminal.lines import visible
from fileops.terminal.log_groups import is_undo
from fileops_client.errors import ResponseError
from fileops_client.requests.record import RecordRequests
from fileops_client.values import RecordEntry, RecordItem

MAX_ENTRIES = 1000  # in one answer
_NAMES_SHOWN = 5  # of sessions
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


LAST, LAST_TURN, LAST_FILE = "last", "last-turn", "last-file"  # in place of an id or a path


class Misused(Exception):
    """The arguments are wrong."""


class NothingDone(Exception):
    """Nothing was done, for this reason."""


class Target(TypedDict, total=False):
    """The changes to undo; see FileOpsClient.rewind."""

    entry_id: str
    entry_ids: Sequence[str]
    command_id: str
    turn_id: str
    since_turn: str
    all_since_turn: str
    session_id: str
    rewind_id: str
    change_ids: Sequence[str]
    since: float


class Found:
    """What an id on the command line refers to."""

    def __init__(self, item: RecordItem, given: str) -> None:
        self.item, self._given = item, given

    @property
    def target(self) -> Target:
        item = self.item
        if item.entry is not None:
            return {"entry_id": item.entry.entry_id}
        if item.command is not None:
            return {"command_id": item.command.command_id}
        if item.turn is not None:
            return {"turn_id": item.turn.turn_id}
        return {"rewind_id": item.rewind.rewind_id if item.rewind is not None else ""}

    @property
    def turn_id(self) -> str:
        """Raises: NotDone."""
        if self.item.turn is None:
            raise NothingDone(f"{visible(self._given)} is not a turn. `fileops-server log --turns` lists turns.")
        return self.item.turn.turn_id


async def name_last(client: CommandClient, options: argparse.Namespace) -> None:
    """Replace `last`, `last-turn` and `last-file` in the arguments by the id or path that each stands for.

    `--turn last` is the last turn, `--command last` the last command, and `redo last` is about the last undo. With an
    agent's session, they are those of that agent. A file with such a name is that file. Raises: NotDone, UNREACHABLE.
    """
    if options.command == "redo" and options.id == LAST:
        options.id = None
    for name, words in _WORDS.items():
        given = getattr(options, name, None)
        if given in words and not exists(given):
            setattr(options, name, await _last(client, options, words[given]))
            if name == "id" and getattr(options, "session", None) is not None:
                options.session = None  # the id says whose change it is
    if (paths := getattr(options, "paths", None)) is not None and LAST_FILE in paths and not exists(LAST_FILE):
        file = await _last(client, options, LAST_FILE)
        options.paths = [file if path == LAST_FILE else path for path in paths]


_WORDS = {  # of each argument, and what they stand for
    "id": {LAST: LAST, LAST_TURN: LAST_TURN, LAST_FILE: LAST_FILE},
    "path": {LAST_FILE: LAST_FILE},
    "turn": {LAST: LAST_TURN, LAST_TURN: LAST_TURN},
    "of_command": {LAST: "command"},
    "since": {LAST_TURN: LAST_TURN},
}


async def _last(client: CommandClient, options: argparse.Namespace, what: str) -> str:
    """The newest change by an agent here that is not undone, or its command, turn or file. Raises: NotDone."""
    session_id = None if getattr(options, "session", None) is None else await session_of(client, options)
    before: str | None = None
    while True:
        log = await client.log(root=options.root, session_id=session_id, before=before, limit=MAX_ENTRIES)
        for entry in log.entries:
            if entry.by.kind not in {"session", "command"} or entry.undone_by is not None or is_undo(entry):
                continue
            found = {LAST: entry.entry_id, LAST_TURN: entry.turn_id, LAST_FILE: entry.path}.get(what, entry.command_id)
            if found is not None:
                return found
        if not log.more:
            raise NothingDone("No change by an agent is recorded here that is not undone.")
        before = log.entries[-1].entry_id


async def item_of(client: CommandClient, options: argparse.Namespace, given: str) -> Found:
    """Return what has the id that begins so. Raises: NotDone, UNREACHABLE."""
    try:
        return Found(await client.record_item(given), given)
    except ResponseError as fault:
        if given and "ids begin with" in fault.message:
            raise NothingDone(f"Several ids begin with {visible(given)}. Give more characters.") from None
    name = visible(given)
    if given and exists(given):
        raise NothingDone(f"{name} is a file or folder, not an id. `fileops-server log {name}` lists its changes.")
    if given and given.lower() in {label.lower() for label in (await _sessions(client, options)).values()}:
        raise NothingDone(
            f"{name} is an agent, not an id. `fileops-server log --agent {name}` lists what it changed, and "
            f"`undo --agent {name}` undoes it."
        )
    raise NothingDone(
        f"{name or repr(given)} is not the id of a change, command, turn or undo, nor a file here. "
        f"{await suggest_path(client, options, given)}`fileops-server log` lists changes, and `log --turns` turns."
    )


async def last_undo(client: RecordRequests, root: str, n_at_once: int = MAX_ENTRIES) -> str:
    """The person's newest undo in a folder that has not been taken back and is not itself a redo.

    Args: n_at_once: how many entries to ask for at once. Raises: NotDone, UNREACHABLE.
    """
    before: str | None = None
    while True:
        log = await client.log(root=root, by="person", before=before, limit=n_at_once)
        for entry in log.entries:
            if entry.rewind_id is not None and entry.undone_by is None and not await _is_redo(client, entry):
                return entry.rewind_id
        if not log.more:
            raise NothingDone("There is nothing to redo: you have undone nothing here, or have redone it.")
        before = log.entries[-1].entry_id


async def _is_redo(client: RecordRequests, undo: RecordEntry) -> bool:
    """Whether it takes an undo back. A rewind undoes entries of only one kind in each file. Raises: UNREACHABLE."""
    return bool(undo.undoes) and is_undo((await client.entry(undo.undoes[0])).entry)


async def session_of(client: CommandClient, options: argparse.Namespace, since: float | None = None) -> str | None:
    """The session with this id, beginning of an id, or label; None if no session is given. Raises: NotDone.

    since: only look for sessions that have changed something since then.
    """
    given: str | None = options.session
    if given is None:
        return None
    known = await _sessions(client, options)
    recent = known if since is None else await _sessions(client, options, since)
    if given in recent:
        return given
    found = _find_named(given, recent)
    if len(found) > 1:
        raise NothingDone(
            f"{len(found)} sessions are named {visible(given)}: {_list_names(found)}. Give one of the ids."
        )
    if found:
        return next(iter(found))
    if _find_named(given, known):
        raise NothingDone(f"No change by {visible(given)} has been recorded since then.")
    if given and (await client.log(root=options.root, session_id=given, limit=1)).entries:
        return given  # it is older than all the sessions that were listed
    there = f"The sessions are: {_list_names(known)}." if known else "No changes by agents are recorded."
    meant = _suggest(given, known.values())
    raise NothingDone(f"No session in this folder is named {visible(given) or repr(given)}. {meant}{there}")


async def _sessions(client: CommandClient, options: argparse.Namespace, since: float | None = None) -> dict[str, str]:
    """Labels by id of the agents' sessions that have changed something or been asked something."""
    log = await client.log(root=options.root, since=since, limit=MAX_ENTRIES)
    authors = [entry.by for entry in log.entries if entry.by.kind in {"session", "command"}]
    known = {by.session_id: by.label.partition(" · ")[0] for by in authors if by.session_id}
    if since is None:
        known |= {turn.session_id: turn.label for turn in await client.turns(root=options.root, limit=MAX_ENTRIES)}
    return known


def _find_named(given: str, sessions: dict[str, str]) -> dict[str, str]:
    return {
        session_id: label
        for session_id, label in sessions.items()
        if given and (session_id.startswith(given) or label.lower() == given.lower())
    }


def _list_names(sessions: dict[str, str]) -> str:
    names = [f"{visible(label)} ({visible(session_id)})" for session_id, label in sessions.items()]
    n_more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f", and {n_more} more" if n_more > 0 else "")


def exists(path: str) -> bool:
    return os.path.lexists(path)


def is_folder(path: str) -> bool:
    return os.path.isdir(path)


def absolute(path: str) -> str:
    return os.path.abspath(path)


def relative(path: str) -> str:
    return os.path.relpath(path)


async def path_of(client: CommandClient, options: argparse.Namespace, given: str | None) -> str | None:
    """The absolute path of a file or folder that exists or has records; None if none is given.

    Raises: NotDone, UNREACHABLE.
    """
    if given is None:
        return None
    if not await is_path(client, options, given):
        sentence = f"There is no file or folder {visible(given) or repr(given)}, and nothing is recorded of one."
        raise NothingDone(f"{sentence} {await suggest_path(client, options, given)}".rstrip())
    return absolute(given)


async def suggest_path(client: CommandClient, options: argparse.Namespace, given: str) -> str:
    """A question that names the recorded file, or the one in the same folder, that is most like it; "" if none is.

    Raises: UNREACHABLE.
    """
    log = await client.log(root=options.root, limit=MAX_ENTRIES)
    folder = os.path.dirname(given)
    try:
        beside = [os.path.join(folder, name) for name in os.listdir(folder or ".")]
    except OSError:  # there is no such folder either
        beside = []
    return _suggest(given, [*(relative(entry.path) for entry in log.entries), *beside])


def _suggest(given: str, known: Iterable[str]) -> str:
    """A question that names what is most like the given name; "" if nothing is."""
    by_key = {name.lower(): name for name in known}
    near = difflib.get_close_matches(given.lower(), by_key, n=1)
    return f"Did you mean {visible(by_key[near[0]])}? " if near else ""


async def is_path(client: CommandClient, options: argparse.Namespace, given: str) -> bool:
    """Whether it is a file or folder that exists or has records. Raises: UNREACHABLE."""
    if not given or exists(given):
        return bool(given)
    log = await client.log(root=options.root, file_path=absolute(given), limit=1)
    return bool(log.entries)


def moment_of(given: str) -> float:
    """A moment: `12:00` (the last time it was that), `10m`, `2h` or `1d` ago, or seconds since the epoch.

    Raises: Misused.
    """
    if ":" in given:
        return _last_time(given)
    number, unit = (given[:-1], given[-1:]) if given[-1:] in _UNITS else (given, "")
    try:
        amount = float(number)
    except ValueError:
        raise _no_time(given) from None
    return time.time() - amount * _UNITS[unit] if unit else amount


def _last_time(given: str) -> float:
    """When the clock last showed this time: today, or yesterday. Raises: Misused."""
    try:
        moment = datetime.time.fromisoformat(given.rjust(5, "0"))
    except ValueError:
        raise _no_time(given) from None
    now = datetime.datetime.now()  # local time, as people read it
    then = datetime.datetime.combine(now, moment)
    return (then if then <= now else then - datetime.timedelta(days=1)).timestamp()


def _no_time(given: str) -> Misused:
    return Misused(f"--since {visible(given)} is not a time. Write 12:00, 10m, 2h, 1d, or seconds since the epoch.")
