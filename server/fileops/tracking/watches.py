"""The watches on folders, and the reasons why a folder has none. Knows no file and no clock."""

from collections.abc import Callable
from typing import Literal

from fileops.model.internal_errors import WatchError
from fileops.ports import DirectoryWatch

OnHint = Callable[[str, str], None]
OnLost = Callable[[str | None], None]
FolderWatchMaker = Callable[[OnHint, OnHint, OnLost], DirectoryWatch]  # on_hint, on_rename, on_lost

# missing: there is no such folder. full: there is room only if another folder is dropped. refused: any other reason.
Added = Literal["watched", "missing", "full", "refused"]


class DirectoryWatches:
    """Belongs to one thread. Opens its watcher with the first folder.

    on_hint, on_rename, on_lost: see ports.DirectoryWatch; called in the watcher's thread.
    """

    def __init__(
        self, open_watch: FolderWatchMaker | None, on_hint: OnHint, on_rename: OnHint, on_lost: OnLost
    ) -> None:
        self._open_watch = open_watch
        self._on_hint = on_hint
        self._on_rename = on_rename
        self._on_lost = on_lost
        self._watch: DirectoryWatch | None = None
        self._watched: set[str] = set()
        self._refused: dict[str, str] = {}  # folder -> why it is only swept
        self._max_folders = 0  # of the open watcher
        self._failure: str | None = None  # of the watcher as a whole

    @property
    def problem(self) -> str:
        """Return why some or all folders are not watched; "" if all are."""
        return next(iter(self._refused.values()), "") if self._failure is None else self._failure

    def has(self, folder: str) -> bool:
        """Return whether the folder had a watch when that was last checked."""
        return folder in self._watched

    def is_in_place(self, folder: str) -> bool:
        """Return whether the folder is watched. Removes a watch that is now on another folder."""
        watch = self._open()
        if folder in self._watched and watch is not None and not watch.is_in_place(folder):
            self.drop(folder)
        return folder in self._watched

    def add(self, folder: str) -> Added:
        """Watch the folder, if there is room. "full" and "refused" become the `problem`."""
        self._refused.pop(folder, None)
        watch = self._open()
        if watch is None:
            return "refused"
        if len(self._watched) >= self._max_folders:
            self._refused[folder] = self._is_full()
            return "full"
        try:
            watch.add(folder)
        except WatchError as refusal:
            if refusal.is_missing:
                return "missing"
            self._refused[folder] = f"a folder cannot be watched: {refusal.reason}"
            return "full" if refusal.is_full else "refused"
        self._watched.add(folder)
        return "watched"

    def drop(self, folder: str) -> None:
        if self._watch is not None:
            self._watch.remove(folder)
        self._watched.discard(folder)
        self._refused.pop(folder, None)

    def displace(self, folder: str, *, by: str) -> None:
        """Drop the watch of a folder that is still tracked, to make room for one that was refused."""
        self.drop(folder)
        self._refused[folder] = self._refused.get(by, self._is_full())

    def is_dead(self) -> bool:
        """Return whether the watcher has died; that is the `problem` until `close` and `allow_retry`."""
        if self._watch is None or self._watch.is_alive():
            return False
        self._failure = "the watcher died"
        return True

    def allow_retry(self) -> None:
        """Allow another attempt to open the watcher, and ask again how many folders may be watched."""
        self._failure = None
        if self._watch is not None:
            self._max_folders = self._watch.max_folders()

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        self._watched.clear()

    def _is_full(self) -> str:
        return f"no more than {self._max_folders} folders are watched: those that were used longest ago are only swept"

    def _open(self) -> DirectoryWatch | None:
        if self._watch is None and self._open_watch is not None and self._failure is None:
            try:
                self._watch = self._open_watch(self._on_hint, self._on_rename, self._on_lost)
            except WatchError as refusal:
                self._failure = f"folders cannot be watched: {refusal.reason}"
            else:
                self._max_folders = self._watch.max_folders()
        return self._watch
