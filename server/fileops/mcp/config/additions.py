"""What each `mcp config --write` changed in each settings file, so that `--remove` takes that back and nothing else.

Without this record, a setting, an empty object or a line that the user had before would be taken for ours.
The record is one JSON file in the state folder, in ASCII, since a path need not be UTF-8.
"""

import fcntl
import json
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from fileops.mcp.config import settings_file
from fileops.mcp.config.changes import Add, Append, Change, KeyPath, Replace
from fileops.mcp.config.settings_file import SettingsFile, UnusableFile
from fileops.mcp.config.text_splices import TextSplice


@dataclass(frozen=True)
class Addition:
    """What one `--write` did to a file.

    scope: the part of the file that it is about, if several projects share the file. creates_file: it was missing.
    folders: those that were created for it, the outermost first. splices: of the text, from the new one to the old
    one. changes: of the data; none for a text that is not parsed.
    """

    scope: str = ""
    creates_file: bool = False
    folders: Sequence[str] = ()
    splices: Sequence[TextSplice] = ()
    changes: Sequence[Change] = ()


def of(path: str) -> list[Addition]:
    """Return what was done to a file, the earliest first. Raises: UnusableFile."""
    _, known = _read()
    return _parse(known.get(_key(path), known.get(path, [])))


def note(path: str, additions: Sequence[Addition]) -> None:
    """Record all that was done to a file, in place of what was recorded before. Raises: UnusableFile."""
    with _lock():
        file, known = _read()
        before = dict(known)
        known.pop(path, None)
        known.pop(_key(path), None)
        if additions:
            known[_key(path)] = [_to_json(addition) for addition in additions]
        if known:
            settings_file.replace(file, json.dumps(known, indent=1) + "\n")
        elif before:
            settings_file.remove(file)


def _state_folder() -> str:
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(state, "fileops-server")


def _key(path: str) -> str:
    """Return the path without links in its folder, so that every path of a file finds its additions."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


@contextmanager
def _lock() -> Generator[None]:
    """Keep other runs of this command from changing the record: the lock is on the folder, and ends with a process."""
    folder = _state_folder()
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise UnusableFile(f"{folder} cannot be used: {error.strerror}.") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _read() -> tuple[SettingsFile, dict[str, object]]:
    file = settings_file.read(os.path.join(_state_folder(), "host-settings.json"))
    try:
        known = json.loads(file.text or "{}")
    except ValueError as error:
        raise UnusableFile(f"{file.path} cannot be parsed: {error}.") from None
    if not isinstance(known, dict):
        raise UnusableFile(f"{file.path} is not an object.")
    return file, cast("dict[str, object]", known)


def _to_json(addition: Addition) -> dict[str, object]:
    return {
        "scope": addition.scope,
        "creates": addition.creates_file,
        "folders": list(addition.folders),
        "splices": [[splice.start, splice.new, splice.old] for splice in addition.splices],
        "changes": [_change_to_json(change) for change in addition.changes],
    }


def _change_to_json(change: Change) -> dict[str, object]:
    match change:
        case Add(path=path, value=value):
            return {"add": path, "value": value}
        case Append(path=path, items=items):
            return {"append": path, "items": items}
        case Replace(path=path, value=value, old=old):
            return {"replace": path, "value": value, "old": old}
        case _:
            raise ValueError(change)  # a removal is never an addition


def _parse(value: object) -> list[Addition]:
    if isinstance(value, Mapping):
        return _of_version_1_0(cast("Mapping[str, Any]", value))
    return [
        Addition(
            scope=known["scope"],
            creates_file=known["creates"],
            folders=known["folders"],
            splices=[TextSplice(*splice) for splice in known["splices"]],
            changes=[_change_of(change) for change in known["changes"]],
        )
        for known in cast("list[dict[str, Any]]", value)
    ]


def _change_of(known: Mapping[str, Any]) -> Change:
    if "add" in known:
        return Add(_path(known["add"]), known["value"])
    if "append" in known:
        return Append(_path(known["append"]), known["items"])
    return Replace(_path(known["replace"]), known["value"], known["old"])


def _path(keys: Sequence[str]) -> KeyPath:
    return tuple(keys)


def _of_version_1_0(content: Mapping[str, Any]) -> list[Addition]:
    """Return what 1.0 recorded: what was added, as one document, without what had been there."""
    if list(content) == ["projects"]:
        projects = cast("Mapping[str, object]", content["projects"])
        return [
            Addition(project, creates_file=True, changes=[Add(("projects", project), value)])
            for project, value in projects.items()
        ]
    return [Addition(creates_file=True, changes=[Add((key,), value) for key, value in content.items()])]
