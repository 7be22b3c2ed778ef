"""Finds out from the files of installed packages whether any of them may have plugins.

`importlib.metadata` gives the same answer, but importing and asking it takes a sixth of a daemon's start-up, and most
hosts have no plugins.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from importlib.machinery import PathFinder

_METADATA = (".dist-info", ".egg-info", "EGG-INFO")


def may_have(groups: Sequence[str], path: Iterable[str], finders: Iterable[object]) -> bool:
    """Return whether a package on `path` may name one of the groups of entry points. If in doubt, True.

    Args: path: like sys.path. finders: like sys.meta_path; one may know packages that are not on the path.
    """
    if any(finder is not PathFinder and hasattr(finder, "find_distributions") for finder in finders):
        return True
    names = [group.encode() for group in groups]
    try:
        return any(any(name in points for name in names) for folder in path for points in _entry_points(folder))
    except OSError:  # an archive, or a folder that cannot be read
        return True


def _entry_points(folder: str) -> Iterable[bytes]:
    """Yield the `entry_points.txt` of each package in a folder of sys.path. Raises: OSError."""
    try:
        entries = os.listdir(folder or os.curdir)
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.endswith(_METADATA):
            try:
                with open(os.path.join(folder, entry, "entry_points.txt"), "rb") as file:
                    yield file.read()
            except (FileNotFoundError, NotADirectoryError):
                continue


def is_any_installed(groups: Sequence[str]) -> bool:
    """Return whether a package of this interpreter may name one of the groups."""
    return may_have(groups, sys.path, sys.meta_path)
