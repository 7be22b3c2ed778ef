"""Turns the path that a client gives into the canonical path, which is checked and then opened."""

from collections.abc import Callable
from typing import TypeVar

from fileops.concurrency.cancellation import CancelToken
from fileops.core.roots import Roots
from fileops.model.errors import FileMissing, NotAbsolute
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
