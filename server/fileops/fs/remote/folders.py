"""Makes the missing folders of a new file on another machine, and removes them if the file is not made."""

import errno
import os
from collections.abc import Sequence
from contextlib import ExitStack, suppress

from fileops.fs.remote.backend import MAX_REMOVALS, Backend
from fileops.model.errors import ConnectionFailed
from fileops.model.internal_errors import PathMoved


def make_folders(backend: Backend, folders: Sequence[str], path: str, undo: ExitStack) -> None:
    """Make the missing folders. Args: folders: remote paths, topmost first. undo: removes those that are still empty.

    Raises: PathMoved, if one of them is a link; OSError.
    """
    for folder, entry in zip(folders, backend.stat_many(folders), strict=True):
        if entry is not None and entry.kind == "link":
            raise PathMoved(path=path)
        if entry is not None and entry.kind != "folder":
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if entry is None:
            with suppress(FileExistsError):
                backend.make_folder(folder)
                undo.callback(_try_to_remove, backend, folder)


def _try_to_remove(backend: Backend, folder: str) -> None:
    """Remove a folder that we made. If it is missing, a folder above it was moved and may return."""
    for _ in range(MAX_REMOVALS if backend.has_links else 1):
        try:
            return backend.remove_folder(folder)
        except FileNotFoundError:
            continue
        except (OSError, ConnectionFailed):
            return None
    return None
