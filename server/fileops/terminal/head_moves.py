"""The times when git moved HEAD of a work tree and may have written its files, from git's own log of HEAD.

It runs no program. The log may have been written by the author of the repository. So only a regular file is read, only
up to a limit, and its words are only shown.
"""

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from fileops.platform.regular_files import NotReadable, read_regular

MAX_BYTES = 4 << 20  # of the log: about 25,000 moves
MAX_NAME_BYTES = 8192  # of the file that names git's folder
_LINE = re.compile(rb"^[0-9a-f]+ [0-9a-f]+ .*> (\d{1,11}) [+-]\d{4}\t(.*)$")  # git-update-ref(1), "LOGGING UPDATES"
# Git writes the same words for both, and what was stashed may be gone from its own list by now.
_PLAIN = {"reset: moving to HEAD": "stash or reset: the files are those of HEAD again"}


class HeadMove(NamedTuple):
    """time: seconds since the epoch. words: git's own, such as "checkout: moving from main to other"."""

    time: float
    words: str


def moves_of(root: str) -> list[HeadMove]:
    """Returns the moves that may have written files, in log order; [] outside git or without a readable log."""
    try:
        log = read_regular(os.path.join(_git_folder(root), "logs", "HEAD"), MAX_BYTES)
    except (OSError, NotReadable, ValueError):
        return []
    return list(_parse(log))


def _git_folder(root: str) -> str:
    """Raises: OSError, NotReadable."""
    entry = os.path.join(root, ".git")
    if os.path.isdir(entry):
        return entry
    named = read_regular(entry, MAX_NAME_BYTES)  # in a linked work tree: gitrepository-layout(5)
    return os.path.join(root, os.fsdecode(named.removeprefix(b"gitdir: ").rstrip(b"\n")))


def _parse(log: bytes) -> Iterator[HeadMove]:
    for line in log.splitlines():
        found = _LINE.match(line)
        if found is not None and not found[2].startswith(b"commit"):  # a commit writes no file
            words = found[2].decode("utf-8", "replace")
            yield HeadMove(float(found[1]), _PLAIN.get(words, words))
