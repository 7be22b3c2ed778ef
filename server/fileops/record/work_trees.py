"""Linked work trees of git that lie in a recorded folder: each is a project of its own, as its checkout is for git.

A list, an undo or a keep of a folder is about the work tree that contains the folder, and not about those inside it.
"""

import os
from collections.abc import Iterable, Sequence

from fileops.core.roots import is_inside
from fileops.platform.regular_files import NotReadable, read_start

_MAX_BYTES = 4096


class WorkTrees:
    """The linked work trees among recorded folders. One that has been removed since still counts, in this process."""

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}

    def inside(self, folder: str, roots: Iterable[str]) -> list[str]:
        """Return the work trees among these recorded folders that lie in a folder, without the folder itself."""
        return [root for root in roots if root != folder and is_inside(folder, root) and self._is_linked(root)]

    def covers(self, folders: Sequence[str], path: str, roots: Sequence[str]) -> bool:
        """Return whether a path is in one of these folders, and in no other work tree inside that folder."""
        return any(
            is_inside(folder, path) and not any(is_inside(inner, path) for inner in self.inside(folder, roots))
            for folder in folders
        )

    def _is_linked(self, root: str) -> bool:
        if not self._known.get(root):
            self._known[root] = is_linked_work_tree(root)
        return self._known[root]


def is_linked_work_tree(folder: str) -> bool:
    """Return whether `git worktree add` made a folder. Blocks for the disk."""
    try:
        named = read_start(os.path.join(folder, ".git"), _MAX_BYTES)
    except (OSError, NotReadable):
        return False
    return named.startswith(b"gitdir:") and os.path.basename(os.path.dirname(named.strip())) == b"worktrees"
