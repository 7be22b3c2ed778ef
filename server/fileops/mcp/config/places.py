"""Where the documents of a configuration belong on this machine."""

import os

from fileops.mcp.config.documents import Document, IgnoredFile
from fileops.platform.regular_files import NotReadable, read_regular


def path_of(document: Document, folder: str) -> str | None:
    """Return where a document belongs on this machine; None if there is no such place."""
    if isinstance(document, IgnoredFile):
        return _list_of_ignored_files(top_of_repository(folder))
    for variable, home in (("CODEX_HOME", "~/.codex/"), ("CLAUDE_CONFIG_DIR", "~/")):
        value = os.environ.get(variable)
        is_there = document.file.startswith(home) and (variable == "CODEX_HOME" or document.file == "~/.claude.json")
        if value and is_there:
            return os.path.join(value, document.file.removeprefix(home))
    if document.file.startswith("~/"):
        return os.path.expanduser(document.file)
    return os.path.join(folder, document.file)


def top_of_repository(folder: str) -> str:
    """Return the folder of the git repository that contains a folder; the folder itself if none does.

    A folder `.git` without HEAD is passed over, as git does: the sandbox of an agent's command creates such folders.
    """
    above = folder
    while not _is_top(above):
        parent = os.path.dirname(above)
        if parent == above:
            return folder
        above = parent
    return above


def _is_top(folder: str) -> bool:
    git = os.path.join(folder, ".git")
    return os.path.lexists(git if not os.path.isdir(git) else os.path.join(git, "HEAD"))


def _list_of_ignored_files(top: str) -> str | None:
    """Return git's list for this clone only; None without a repository. A work tree has a file that names its own."""
    git = os.path.join(top, ".git")
    try:
        named = _first_line(git)
        git = os.path.join(top, named.removeprefix("gitdir:").strip())
        git = os.path.normpath(os.path.join(git, _first_line(os.path.join(git, "commondir"))))
    except (OSError, NotReadable, ValueError):
        pass  # it is the folder itself, a submodule's, or nothing that git would read either
    return os.path.join(git, "info", "exclude") if os.path.lexists(os.path.join(git, "HEAD")) else None


def _first_line(path: str) -> str:
    """Raises: OSError, NotReadable, ValueError."""
    line = read_regular(path, 4096).decode().strip()
    if "\0" in line:
        raise ValueError("no path has a NUL")
    return line
