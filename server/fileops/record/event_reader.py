"""Reads the events of the recorded folders. An event only marks its file as touched; nothing is concluded from it."""

import logging
import os
from collections.abc import Callable

from fileops.model.files import FolderEvent
from fileops.model.internal_errors import WatchError
from fileops.ports import EventStream
from fileops.record.command_windows import CommandWindows
from fileops.record.folder import Edge, FolderRecording, in_steps
from fileops.record.recorded_folders import RecordedFolders
from fileops.record.touched_files import Touch

log = logging.getLogger(__name__)

_INDEX_LOCK = "index.lock"  # git-update-index(1)


class EventReader:
    """See the module. Belongs to the recorder's thread."""

    def __init__(
        self,
        folders: RecordedFolders,
        windows: CommandWindows,
        open_stream: Callable[[], EventStream] | None,
        now: Callable[[], float],
    ) -> None:
        """Args: open_stream: opens the watch of folders; None: nothing is watched."""
        self._folders, self._windows, self._open_stream, self._now = folders, windows, open_stream, now
        self.becoming: set[str] = set()  # folders in which a `.git` has appeared

    @property
    def edge(self) -> Edge:
        return Edge(self._windows.edge, self._now())

    def open(self) -> None:
        """Open the watch of folders, if it is not open. A comparison finds what happened in the meantime."""
        if self._open_stream is None:
            return
        folders = self._folders
        if folders.stream is not None:
            folders.stream.close()
            folders.stream = None
        try:
            folders.stream = self._open_stream()
        except WatchError as error:
            log.warning("changed files are found by comparison only: %s", error.reason)
        for folder in folders:
            folder.stream = folders.stream
            folders.touched.note_loss(folder)
        folders.scan()

    def reopen_if_ended(self) -> None:
        stream = self._folders.stream
        if stream is None or not stream.is_alive():
            self.open()

    def read(self) -> None:
        """Mark changed files as touched. They changed between the previous call at an edge and now."""
        folders = self._folders
        if folders.stream is None:
            return
        edge = self.edge
        batch = folders.stream.read()
        for event in batch.events:
            if event.name == _INDEX_LOCK:
                self._note_lock_of_git(event)
            folder = folders.folder_of(f"{event.folder}/{event.name}")
            if folder is None:
                continue
            if event.name != ".git":
                folders.guard(folder.root, lambda folder=folder, event=event: self._note_event(folder, event))
            elif event.appeared:
                self.becoming.add(event.folder)
        if batch.is_lost:
            log.warning("events of changed files were lost; all files are compared")
            for folder in folders:
                folders.touched.note_loss(folder)
                folder.begin_comparison()
                folders.guard(folder.root, lambda folder=folder: self._look_for_lock_of_git(folder))
        folders.touched.read_edge = edge

    def _note_lock_of_git(self, event: FolderEvent) -> None:
        for folder in self._folders:
            if folder.index_folder == event.folder:
                folder.is_git_writing = event.appeared or (folder.is_git_writing and not event.vanished)

    def _look_for_lock_of_git(self, folder: FolderRecording) -> None:
        """Check whether git holds its lock, because the event of its release may be among those that were lost."""
        if (index_folder := folder.index_folder) is not None:
            lock = os.path.join(index_folder, _INDEX_LOCK)
            folder.is_git_writing = self._folders.disks.ask(folder.root, lambda: os.path.lexists(lock))

    def _note_event(self, folder: FolderRecording, event: FolderEvent) -> None:
        path = f"{event.folder}/{event.name}"
        folders = self._folders
        if not event.is_folder:
            if path in folders.touched or folders.is_recorded(folder, path):
                touch = self._touch(folder, path, is_complete=event.is_complete)
                if event.is_written and touch.n_writes is not None:
                    touch.n_writes += 1
            return
        stream = folders.stream
        if event.vanished:
            if stream is not None:
                folders.disks.ask(folder.root, lambda: stream.remove_below(path))
            for inside in folder.list_known_below(path):
                self._touch(folder, inside, is_complete=True)
        if event.appeared:
            for listed in folders.disks.each(folder.root, in_steps(folder.watch_below(path))):
                for inside in listed:
                    touch = self._touch(folder, inside, is_complete=False)
                    touch.n_writes = None  # it may have been written before the folder was watched

    def _touch(self, folder: FolderRecording, path: str, *, is_complete: bool) -> Touch:
        touch = self._folders.touched.touch(path, is_complete=is_complete)
        touch.is_beside_git = touch.is_beside_git or folder.is_git_writing
        return touch
