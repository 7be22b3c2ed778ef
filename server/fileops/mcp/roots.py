"""The folders inside which an agent may edit: where they come from, and which can be none."""

import os
import pwd
from collections.abc import Iterable, Mapping
from contextlib import suppress

from fileops.core.uris import path_of
from fileops.mcp.protocol import RootsResult
from fileops.rpc.decode import InvalidParams, decode


def fixed_roots(given: Iterable[str], environ: Mapping[str, str]) -> list[str] | None:
    """The roots that are known without asking the client: `--root`, else Claude Code's project; None without either."""
    roots = list(given)
    if roots:
        return roots
    project = environ.get("CLAUDE_PROJECT_DIR", "")
    return [project] if project.startswith("/") else None


def roots_of_answer(answer: object) -> list[str] | None:
    """Paths of the answer to `roots/list`; None where it names no folder of this machine."""
    try:
        named = decode(answer, RootsResult).roots
    except InvalidParams:
        return None
    return [path for root in named if (path := path_of(root.uri)) is not None] or None


def is_usable(folder: str, environ: Mapping[str, str]) -> bool:
    """Whether a folder can be a root. `/`, the home folder and the folders above it hold far more than a project."""
    canonical = os.path.realpath(folder)
    return not any(os.path.commonpath([canonical, home]) == canonical for home in _home_folders(environ))


def _home_folders(environ: Mapping[str, str]) -> list[str]:
    homes = ["/"]
    if environ.get("HOME", "").startswith("/"):
        homes.append(os.path.realpath(environ["HOME"]))
    with suppress(KeyError):  # the user database does not know this user
        homes.append(os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir))
    return homes


def working_folder(cwd: str | None) -> list[str]:
    """The folder that the host started its server in. Args: cwd: as the client says; None to ask this process."""
    try:
        return [cwd or os.getcwd()]
    except FileNotFoundError:  # it was removed
        return []
