"""The file with each project's switch "ask before each edit", a JSON object. Blocks for the disk."""

import json
import logging
import os
from collections.abc import Mapping

import msgspec

from fileops.model.settings import Ask
from fileops.platform.private_files import NotPrivate, open_private, require_private_folder

log = logging.getLogger(__name__)

MAX_BYTES = 1 << 20
MAX_PROJECTS = 1000  # beyond this, the oldest are dropped


def default_file() -> str:
    """Return `$XDG_STATE_HOME/fileops-server/ask.json`, by default under `~/.local/state`."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "fileops-server", "ask.json")


def read(file: str) -> dict[str, Ask]:
    """Return what was set for each project. A file that is missing, damaged or open to others sets nothing."""
    try:
        with open(open_private(file), encoding="utf-8", errors="surrogateescape") as kept:
            return msgspec.convert(json.loads(kept.read(MAX_BYTES)), dict[str, Ask])
    except FileNotFoundError:
        return {}
    except (OSError, NotPrivate, ValueError, msgspec.ValidationError) as fault:
        log.warning("%s is not used: %s", file, fault)
        return {}


def write(file: str, projects: Mapping[str, Ask]) -> None:
    """Replace the file. Raises: OSError."""
    folder = os.path.dirname(file)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    require_private_folder(folder)
    newest = dict(tuple(projects.items())[-MAX_PROJECTS:])
    temporary = f"{file}.{os.getpid()}"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="utf-8", errors="surrogateescape") as written:
        json.dump(newest, written, ensure_ascii=False, indent=1)
    os.replace(temporary, file)
