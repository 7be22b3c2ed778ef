"""Turns the path that a client gives into the canonical path, which is checked and then opened."""

import unicodedata
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from fileops.concurrency.cancellation import CancelToken
from fileops.core.roots import Roots
from fileops.model.errors import AlreadyExists, FileMissing, FileOpsError, IoFailure, NotAbsolute
from fileops.model.internal_errors import PathMoved
from fileops.ports import FileSystem

T = TypeVar("T")

MAX_PATH_TRIES = 10  # beyond this, links are being swapped in on purpose


def canonical_path(fs: FileSystem, given_path: str, roots: Roots | None) -> str:
    """Return the path that is checked and then opened. Raises: NotAbsolute, OutsideRoots, FileMissing."""
    if not given_path.startswith("/"):
        raise NotAbsolute(path=given_path)
    canonical = fs.resolve(given_path)
    if roots is not None:
        roots.require_inside(canonical, given_path)
    return canonical


def with_canonical_path(
    fs: FileSystem, given_path: str, roots: Roots | None, token: CancelToken, work: Callable[[str], T]
) -> T:
    """Return the result of `work` on the canonical path. While it raises PathMoved, repeat with the new path.

    Raises: Cancelled, what `canonical_path` and `work` raise, and FileMissing if the path keeps changing.
    """
    for _ in range(MAX_PATH_TRIES):
        token.check()
        canonical = canonical_path(fs, given_path, roots)
        try:
            return work(canonical)
        except PathMoved:
            continue
    raise FileMissing


def require_new_name(fs: FileSystem, path: str, renamed_from: str | None = None) -> None:
    """Require that a missing file may be created at a canonical path. Raises: AlreadyExists, IoFailure.

    A name that looks like that of an existing file would make a second one that nobody can tell from the first.
    Args: renamed_from: the file that gets this name, which may be that one.
    """
    if path.endswith(("\n", "\r")):
        raise IoFailure(reason="the path ends in a line end", hint="Leave the line end out.")
    if (other := other_form(fs, path)) is not None and other != renamed_from:
        raise AlreadyExists(other_form=other)


def other_form(fs: FileSystem, path: str) -> str | None:
    """Return the path of a file whose name differs from this one in its Unicode form alone; None if there is none."""
    if path.isascii():
        return None
    folder, _, name = path.rpartition("/")
    for form in ("NFC", "NFD"):
        candidate = f"{folder}/{unicodedata.normalize(form, name)}"
        with suppress(FileOpsError):
            if candidate != path and fs.stat(candidate) is not None:
                return candidate
    return None
