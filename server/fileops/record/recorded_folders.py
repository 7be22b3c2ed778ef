"""The folders that are recorded at present, and how the recording of one ends.

A fault ends the recording of the folder it came from, which is retried after a while. A disk that does not answer has
the same effect: every call that may wait for a folder's disk runs in a second thread, for which the recorder's thread
waits a few seconds. Such a call may end much later. It returns its result, and the folder is the only state of the
recorder's thread that it changes.
"""

import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from fileops.core.roots import is_inside
from fileops.ports import EventStream
from fileops.record.disk_thread import FolderDisks, FolderHangs
from fileops.record.folder import FolderRecording
from fileops.record.folder_clients import WatchedFolders
from fileops.record.folder_faults import FolderFaults
from fileops.record.touched_files import TouchedFiles

log = logging.getLogger(__name__)
T = TypeVar("T")


class RecordedFolders:
    """See the module. Belongs to the recorder's thread. stream: the watch of all folders, None without one."""

    def __init__(
        self, disks: FolderDisks, faults: FolderFaults, watched: WatchedFolders, now: Callable[[], float]
    ) -> None:
        self.disks, self.faults, self.watched = disks, faults, watched
        self.touched = TouchedFiles(self.folder_of, now)
        self.stream: EventStream | None = None
        self._by_root: dict[str, FolderRecording] = {}

    def __iter__(self) -> Iterator[FolderRecording]:
        return iter(tuple(self._by_root.values()))

    def __contains__(self, root: object) -> bool:
        return root in self._by_root

    def __len__(self) -> int:
        return len(self._by_root)

    def get(self, root: str) -> FolderRecording | None:
        return self._by_root.get(root)

    def folder_of(self, path: str) -> FolderRecording | None:
        """Return the innermost recorded folder that contains a path."""
        inside = [folder for root, folder in self._by_root.items() if is_inside(root, path)]
        return max(inside, key=lambda folder: len(folder.root), default=None)

    def list_around(self, roots: Sequence[str]) -> list[FolderRecording]:
        """Return the folders that contain one of these, or are in one of them."""
        return [
            folder
            for folder in self
            if any(is_inside(folder.root, root) or is_inside(root, folder.root) for root in roots)
        ]

    def is_current(self, folder: FolderRecording) -> bool:
        """Whether a folder is still recorded. Reading events may end its recording."""
        return self._by_root.get(folder.root) is folder

    def is_recorded(self, folder: FolderRecording, path: str) -> bool:
        """Whether changes of a file in the folder are recorded."""
        if path in folder.files:
            return True  # already listed, so the disk need not be asked
        return self.ask_or(folder.root, lambda: folder.is_recorded(path), otherwise=False)

    def ask_or(self, root: str, call: Callable[[], T], *, otherwise: T) -> T:
        """Return the result of a call that may wait for a folder's disk. If it hangs, the folder's recording ends."""
        try:
            return self.disks.ask(root, call)
        except FolderHangs as hang:
            self._end_by_hang(hang)
            return otherwise

    def add(self, folder: FolderRecording) -> None:
        self._by_root[folder.root] = folder

    def scan(self) -> None:
        """Compare all files by their stamps, in steps."""
        for folder in self:
            if not folder.is_comparing:
                folder.begin_comparison()

    # --- the end of a recording --------------------------------------------------------------------------------

    def guard(self, root: str | None, work: Callable[[], object]) -> None:
        """Do some work. A fault ends the recording of its folder only."""
        try:
            work()
        except FolderHangs as hang:
            self._end_by_hang(hang)
        except sqlite3.Error as error:
            log.error("a part of the record was lost: %s", error)
        except Exception:  # the boundary of a folder: other folders continue
            log.exception("a fault in the record of %s", root)
            if root is not None:
                self.end_by_fault(root)

    def end(self, root: str) -> None:
        """End the recording of a folder, and remove its watches."""
        if self.drop(root):
            self.guard(None, lambda: self.unwatch(root))

    def drop(self, root: str) -> bool:
        """End the recording of a folder, but keep its watches. False if it is not recorded."""
        folder = self._by_root.pop(root, None)
        if folder is None:
            return False
        folder.end_steps()
        self.watched.put(root, is_watched=False)
        self.touched.drop_left()
        return True

    def unwatch(self, root: str) -> None:
        """Remove the watches of a folder whose recording has ended. Raises: FolderHangs."""
        stream = self.stream
        if stream is not None:
            self.disks.ask(root, lambda: stream.remove_below(root))
        for folder in self.list_around([root]):  # nested folders share watches
            self.touched.note_loss(folder)
            folder.begin_comparison()

    def end_by_fault(self, root: str) -> None:
        self.faults.add(root)  # first, because whoever waits for its watches is told by the next step
        self.end(root)

    def _end_by_hang(self, hang: FolderHangs) -> None:
        """End the recording of a folder until its disk answers."""
        if not hang.is_known:
            self.faults.add_hang(hang.root)
            self.drop(hang.root)

    def note_answer(self, root: str) -> None:
        """Retry a folder whose disk answers again.

        The call that waited may have added watches. Raises: FolderHangs.
        """
        self.disks.note_answer(root)
        if root not in self:
            self.unwatch(root)
        self.faults.note_answer(root)
