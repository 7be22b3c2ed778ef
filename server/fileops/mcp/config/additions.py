"""What `mcp config --write` has added to each settings file, so that `--remove` removes that and nothing else.

Without it a setting that the user had before, with the same value, would be taken for ours.
"""

import json
import os
from collections.abc import Mapping
from typing import Any, cast

from fileops.mcp.config import settings_file
from fileops.mcp.config.settings_file import SettingsFile, UnusableFile


def note(path: str, added: Mapping[str, Any]) -> None:
    """Record what is added to a file, beside earlier additions. Raises: UnusableFile."""
    file, known = _read()
    known[path] = _joined(known.get(path, {}), added)
    _write(file, known)


def of(path: str) -> Mapping[str, Any] | None:
    """Return what was added to a file; None if unknown. Raises: UnusableFile."""
    return _read()[1].get(path)


def forget(path: str) -> None:
    """Raises: UnusableFile."""
    file, known = _read()
    if known.pop(path, None) is not None:
        _write(file, known)


def _read() -> tuple[SettingsFile, dict[str, dict[str, Any]]]:
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    file = settings_file.read(os.path.join(state, "fileops-server", "host-settings.json"))
    try:
        known = json.loads(file.text or "{}")
    except ValueError as error:
        raise UnusableFile(f"{file.path} cannot be parsed: {error}.") from None
    if not isinstance(known, dict):
        raise UnusableFile(f"{file.path} is not an object.")
    return file, cast("dict[str, dict[str, Any]]", known)


def _write(file: SettingsFile, known: Mapping[str, object]) -> None:
    if known:
        os.makedirs(os.path.dirname(file.path), mode=0o700, exist_ok=True)
        settings_file.replace(file, json.dumps(known, indent=1) + "\n")  # in ASCII: a path need not be UTF-8
    elif file.status is not None:
        settings_file.remove(file)


def _joined(known: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    joined = dict(known)
    for key, value in added.items():
        there = joined.get(key)
        if isinstance(there, dict) and isinstance(value, dict):
            joined[key] = _joined(cast("dict[str, Any]", there), cast("dict[str, Any]", value))
        elif isinstance(there, list) and isinstance(value, list):
            joined[key] = [*cast("list[object]", there), *cast("list[object]", value)]
        else:
            joined[key] = value
    return joined
