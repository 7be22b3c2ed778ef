"""The temp file whose content a rename puts in place."""

import os
from collections.abc import Callable
from dataclasses import dataclass

from fileops.fs.local.commit_checks import CommitChecks
from fileops.fs.local.directories import require_room_for_temp
from fileops.fs.local.temp_files import new_name, release
from fileops.platform import descriptors, sync
from fileops.platform.locks import try_lock

NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class TempFile:
    """A temp file. It is removed at the end of the `with` unless it was renamed to its place.

    fd: for reading, and locked, which shows that the process that made the file is alive. Another descriptor is used
    for writing and closed before the rename, so that watchers of the folder see only one move.
    """

    name: str
    dir_fd: int
    writing_fd: int
    on_kept: Callable[[], None]
    fd: int = -1
    is_in_place: bool = False

    def __enter__(self) -> "TempFile":
        return self

    def __exit__(self, *exc: object) -> None:
        if not self.is_in_place:
            try:
                os.unlink(self.name, dir_fd=self.dir_fd)
            except OSError:
                self.on_kept()
        self._stop_writing()
        if self.fd >= 0:
            descriptors.close(self.fd)
        release(self.name)

    def fill(self, data: bytes) -> None:
        try:
            self.fd = os.open(self.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.dir_fd)
        except PermissionError:  # because of the umask
            self.fd = os.dup(self.writing_fd)
        try_lock(self.fd)
        sync.write_all(self.writing_fd, data)

    def finish(self) -> bool:
        """Finish writing. Return whether the file was synced."""
        is_synced = sync.sync(self.writing_fd)
        self._stop_writing()
        return is_synced

    def _stop_writing(self) -> None:
        if self.writing_fd >= 0:
            descriptors.close(self.writing_fd)
            self.writing_fd = -1


def make_temp(dir_fd: int, mode: int, checks: CommitChecks) -> TempFile:
    require_room_for_temp(dir_fd)
    checks.prepare()
    name = new_name("tmp")
    try:
        return TempFile(name, dir_fd, os.open(name, NEW_FILE, mode, dir_fd=dir_fd), checks.on_kept)
    except OSError:
        release(name)
        raise
