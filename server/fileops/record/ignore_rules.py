"""Decides which new paths of a recorded folder are ignored: by `.gitignore` and the folder's and user's rules.

Files that git lists at the start of a recording need no decision here. Tracked files are never ignored; the caller
checks that. Belongs to the recorder's thread.
"""

import os

from fileops.core.ignore import GitPatterns
from fileops.platform.regular_files import NotReadable, read_start
from fileops.record import git

# Left out where there is no git: installed packages and generated files.
BUILD_FOLDERS = frozenset({"node_modules", ".venv", "venv", "__pycache__", "target", "build", "dist"})
_RULES = ".gitignore"
MAX_RULE_BYTES = 64 << 10  # of one file, in whole lines; long ones have 1,000 lines


class IgnoreRules:
    """The rules of one recorded folder. A rule file is read again when its stamp has changed."""

    def __init__(self, root: str, repository: git.Repository | None) -> None:
        self._root, self._is_git = root, repository is not None
        self._own: tuple[str, ...] = ()
        if repository is not None:
            self._own = (os.path.join(repository.git_folder, "info", "exclude"), repository.excludes_file)
        self._rules: dict[str, tuple[tuple[int, int], GitPatterns | None]] = {}

    def is_ignored(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether a path below the root, or a folder that it is in, is ignored."""
        names = path[len(self._root) + 1 :].split("/")
        for n, name in enumerate(names, start=1):
            is_last = n == len(names)
            if name == ".git" or (not self._is_git and name in BUILD_FOLDERS and (is_folder or not is_last)):
                return True
            if self._is_named(names[:n], is_folder=is_folder or not is_last):
                return True
        return False

    def _is_named(self, names: list[str], *, is_folder: bool) -> bool:
        """Return what the last matching rule says. Rules of deeper folders are later."""
        end = "/" if is_folder else ""
        for n in range(len(names) - 1, -1, -1):
            folder = "/".join((self._root, *names[:n]))
            verdict = self._verdict(os.path.join(folder, _RULES), "/".join(names[n:]) + end)
            if verdict is not None:
                return verdict
        for file in self._own:
            verdict = self._verdict(file, "/".join(names) + end)
            if verdict is not None:
                return verdict
        return False

    def _verdict(self, file: str, relative: str) -> bool | None:
        rules = self._rules_of(file)
        return None if rules is None else rules.verdict(relative)

    def _rules_of(self, file: str) -> GitPatterns | None:
        try:
            status = os.stat(file)
        except OSError:
            self._rules.pop(file, None)
            return None
        stamp = (status.st_mtime_ns, status.st_size)
        known = self._rules.get(file)
        if known is not None and known[0] == stamp:
            return known[1]
        rules = _parse(file)
        self._rules[file] = (stamp, rules)
        return rules


def _parse(file: str) -> GitPatterns | None:
    """Return the rules of a file; None if it cannot be read, or is not a rule file."""
    try:
        data = read_start(file, MAX_RULE_BYTES + 1)
        if len(data) > MAX_RULE_BYTES:
            data = data[:MAX_RULE_BYTES].rpartition(b"\n")[0]
        return GitPatterns(data)
    except (NotReadable, OSError):
        return None
