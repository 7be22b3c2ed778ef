"""Finds programs on the PATH, but never in a project's folder."""

import os
from collections.abc import Iterable


def find_program(name: str, *, outside: Iterable[str] = ()) -> str | None:
    """Return the absolute path of a program on the PATH; None if there is none.

    Relative entries of the PATH, such as `.` or an empty one, mean the current folder, which may be any project. They
    are skipped, and so are entries inside one of the folders `outside`. A link is judged by its target. A folder that
    contains the user's home is not a project.
    """
    home = os.path.realpath(os.path.expanduser("~"))
    folders = [real for folder in outside if not _is_inside(real := os.path.realpath(folder), home)]
    for entry in os.get_exec_path():
        candidate = os.path.join(entry, name)
        if not os.path.isabs(entry) or not os.access(candidate, os.X_OK) or not os.path.isfile(candidate):
            continue
        places = (os.path.realpath(entry), os.path.realpath(candidate))
        if not any(_is_inside(folder, place) for folder in folders for place in places):
            return candidate
    return None


def _is_inside(folder: str, path: str) -> bool:
    return os.path.commonpath((folder, path)) == folder
