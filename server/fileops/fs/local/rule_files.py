"""Finds rule files on the local disk, and the names of a file with several hard links.

Each request of an agent asks for the rule files above its path, so that takes one system call per folder and nothing
else.
"""

import os
from collections import deque
from collections.abc import Iterator

from fileops.core.roots import folder_of
from fileops.fs.local.nofollow import PATH_ONLY
from fileops.model.files import Stamp
from fileops.platform import descriptors, syscalls

_MAX_FOLDERS = 65_536
MAX_LOOKS = 100_000  # folder entries per search for a file's names: about 0.2 s


class LocalRuleFiles:
    """See ports.RuleFiles. name: of the rule files."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._paths: dict[str, tuple[str, ...]] = {}  # by folder: where its rule files may be
        self._prompt: set[str] = set()  # folders that are, with all above them, on filesystems that answer at once

    def above(self, folder: str, *, waits: bool = True) -> tuple[str, ...] | None:
        if folder not in self._prompt:
            if not waits:
                return None
            self._note(folder)
        paths = self._paths.get(folder) or self._paths_above(folder)
        # A link that leads nowhere is found too: it was meant to be a rule file.
        return tuple([path for path in paths if os.access(path, os.F_OK, follow_symlinks=False)])

    def keeps(self, path: str, since_ns: int) -> bool:
        del path, since_ns
        return False

    def names_of(self, stamp: Stamp, folder: str) -> Iterator[str]:
        n_looks, n_left = 0, stamp.n_links
        pending = deque([folder])
        while pending and n_left and n_looks < MAX_LOOKS:
            try:
                with os.scandir(pending.popleft()) as entries:
                    for entry in entries:
                        n_looks += 1
                        if entry.is_dir(follow_symlinks=False):
                            pending.append(entry.path)
                        elif entry.inode() == stamp.ino and entry.stat(follow_symlinks=False).st_dev == stamp.dev:
                            n_left -= 1
                            yield entry.path
            except OSError:  # a folder that cannot be listed, or is gone
                continue

    def _paths_above(self, folder: str) -> tuple[str, ...]:
        if len(self._paths) >= _MAX_FOLDERS:
            self._paths.clear()
        folders = [folder]
        while folders[-1] != "/" and folders[-1] not in self._paths:
            folders.append(folder_of(folders[-1]))
        paths = tuple[str, ...]()
        for known in reversed(folders):
            # The paths above are those of the folder above, and not copied: a daemon knows thousands of folders.
            paths = self._paths.get(known) or (*paths, f"{known.rstrip('/')}/{self._name}")
            self._paths[known] = paths
        return paths

    def _note(self, folder: str) -> None:
        """Record whether no lookup in the folder and above has to wait for another machine or program."""
        if len(self._prompt) >= _MAX_FOLDERS:
            self._prompt.clear()
        if all(_is_prompt(folder_of(path)) for path in self._paths_above(folder)):
            self._prompt.add(folder)


def _is_prompt(folder: str) -> bool:
    try:
        fd = os.open(folder, PATH_ONLY)
    except OSError:  # it does not exist yet
        return False
    try:
        return syscalls.kind_of_filesystem(fd) != "other"
    finally:
        descriptors.close(fd)
