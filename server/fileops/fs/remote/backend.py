"""Port of remote filesystems: what RemoteFileSystem needs to offer one as a FileSystem.

Paths are absolute paths on the remote side. A backend connects when it is first used, and again after it has lost its
connection. It raises OSErrors with an errno, and `ConnectionFailed`.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from fileops.model.files import CommitReport

MAX_REMOVALS = 20  # attempts to remove our file while its folder and a link keep changing places


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteEntry:
    """The object at a path; a link is not followed. `etag` changes with the content, 0 if the remote side has none."""

    kind: Literal["file", "folder", "link", "other"]
    size_bytes: int = 0
    mtime_ns: int = 0
    etag: int = 0
    mode: int = 0
    uid: int = 0
    gid: int = 0


class RemoteReader(Protocol):
    """One open file. `entry` is the opened file's, by its handle if the remote side has handles."""

    entry: RemoteEntry

    def read(self, max_bytes: int) -> bytes: ...

    def seek(self, offset_bytes: int) -> None: ...

    def close(self) -> None: ...


class StagedContent(Protocol):
    """New content that is not yet in place. It is removed at the end of the `with` unless it was published."""

    def publish(self) -> CommitReport:
        """Put the content in place, atomically if possible. Raises: FileExistsError, if a file to be created exists."""
        ...


InPlace = Callable[[str, RemoteEntry], None]
"""Raises PathMoved if a file that is open for writing is not the one at the path, or if a link leads there."""


class Backend(Protocol):
    @property
    def label(self) -> str:
        """The place, for messages, without secrets."""
        ...

    @property
    def was_reached(self) -> bool:
        """Whether there has ever been a connection."""
        ...

    def ssh_command(self) -> list[str] | None:
        """Return the command that runs commands there, None if that is impossible."""
        ...

    @property
    def has_links(self) -> bool:
        """Whether a name can be replaced by a link between a stat and an open."""
        ...

    def stat_many(self, paths: Sequence[str]) -> list[RemoteEntry | None]:
        """Stat all paths, in one round trip if possible. Without links, all but the last may count as folders."""
        ...

    def link_target(self, path: str) -> str: ...

    def open(self, path: str) -> RemoteReader: ...

    def read(self, path: str) -> tuple[bytes, RemoteEntry]:
        """Return the whole content, and what was opened."""
        ...

    def stage(
        self, path: str, data: bytes, like: RemoteEntry | None, require_in_place: InPlace
    ) -> AbstractContextManager[StagedContent]:
        """Upload new content. `like` is the file to replace, None for a new one.

        require_in_place: called before anything is written.
        """
        ...

    def make_folder(self, path: str) -> None:
        """Make one folder. Raises: FileExistsError."""
        ...

    def remove_folder(self, path: str) -> None:
        """Remove an empty folder."""
        ...

    def remove(self, path: str) -> None: ...
