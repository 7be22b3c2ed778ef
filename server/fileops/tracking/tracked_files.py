"""The tracked files by folder, and which folders are watched, in the order of their last use.

Not thread-safe: its owner locks. Touches no file.
"""

from collections.abc import Iterator
from itertools import chain

from fileops.core.roots import folder_of
from fileops.model.files import Stamp

MAX_LISTED = 16  # files of a folder in a list, which takes a quarter of a set's memory


class TrackedFiles:
    """The tracked files. Paths are canonical. A folder is known while it contains a tracked file."""

    def __init__(self) -> None:
        self._stamps: dict[str, Stamp | None] = {}
        self._folders: dict[str, list[str] | set[str]] = {}
        # Each folder is in one of these, least recently used first:
        self._watched: dict[str, None] = {}
        self._unwatched: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._stamps)

    def __contains__(self, path: str) -> bool:
        return path in self._stamps

    # --- files -----------------------------------------------------------------------------------------------

    def put(self, path: str, stamp: Stamp) -> Stamp | None:
        """Compare the file with this stamp from now on; its folder was just used. Return the previous stamp."""
        folder = folder_of(path)
        before = self._stamps.get(path)
        if path not in self._stamps:
            self._add(folder, path)
        self._stamps[path] = stamp
        order = self._watched if folder in self._watched else self._unwatched
        order.pop(folder, None)
        order[folder] = None
        return before

    def set_stamp(self, path: str, stamp: Stamp | None) -> None:
        """Change the stamp of a tracked file. No effect on others."""
        if path in self._stamps:
            self._stamps[path] = stamp

    def remove(self, path: str) -> bool:
        """Return whether the file was tracked."""
        if path not in self._stamps:
            return False
        del self._stamps[path]
        folder = folder_of(path)
        paths = self._folders[folder]
        paths.remove(path)
        if not paths:
            del self._folders[folder]
            self._watched.pop(folder, None)
            self._unwatched.pop(folder, None)
        return True

    def stamp(self, path: str) -> Stamp | None:
        return self._stamps.get(path)

    def stamps_of(self, paths: list[str]) -> list[tuple[str, Stamp | None]]:
        """Return the stamps of the tracked ones among these files."""
        return [(path, self._stamps[path]) for path in paths if path in self._stamps]

    def newest_first(self) -> Iterator[str]:
        """Return all files: first those without a watch, then by the last use of their folders."""
        return chain.from_iterable(map(self._folders.__getitem__, self.folders_newest_first()))

    def _add(self, folder: str, path: str) -> None:
        paths = self._folders.setdefault(folder, [])
        if isinstance(paths, set):
            paths.add(path)
        elif len(paths) < MAX_LISTED:
            paths.append(path)
        else:
            self._folders[folder] = {*paths, path}

    # --- folders ---------------------------------------------------------------------------------------------

    @property
    def n_folders(self) -> int:
        return len(self._folders)

    def folders_newest_first(self) -> Iterator[str]:
        """Return all folders: first those without a watch, then by their last use."""
        return chain(reversed(self._unwatched), reversed(self._watched))

    def files_in(self, folder: str) -> list[str]:
        return list(self._folders.get(folder, ()))

    def has_folder(self, folder: str) -> bool:
        return folder in self._folders

    def is_watched(self, folder: str) -> bool:
        return folder in self._watched

    def set_watched(self, folder: str, *, is_watched: bool) -> None:
        """Move the folder to the end of its new order. No effect if it is unknown, or already there."""
        order, other = (self._watched, self._unwatched) if is_watched else (self._unwatched, self._watched)
        if folder in other:
            del other[folder]
            order[folder] = None

    def least_recently_watched(self) -> str | None:
        """Return the least recently used watched folder."""
        return next(iter(self._watched), None)
