"""What a filesystem far away must be able to do, so that RemoteFileSystem can make one of ours of it.

Paths are the far side's own, absolute. A backend connects when it is first used, and again after it lost its
connection; it raises OSErrors with an errno, and `ConnectionFailed`.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from fileops.model.files import CommitReport

MAX_REMOVALS = 20  # of something of ours that is not found, because its folder changes places with a link


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What stands at a path; a link is not followed. token: moves with the content where the far side has such."""

    kind: Literal["file", "folder", "link", "other"]
    size_bytes: int = 0
    mtime_ns: int = 0
    token: int = 0
    mode: int = 0
    uid: int = 0
    gid: int = 0


class Reader(Protocol):
    """One open file. entry: what was opened, by its handle where the far side has handles."""

    entry: Entry

    def read(self, max_bytes: int) -> bytes: ...

    def seek(self, offset_bytes: int) -> None: ...

    def close(self) -> None: ...


class Staged(Protocol):
    """New content on its way, not yet at its place. On leaving, what was not published is taken away."""

    def publish(self) -> CommitReport:
        """Put it in its place, at once where the far side can. Raises FileExistsError where a new file is not new."""
        ...


InPlace = Callable[[str, Entry], None]
"""Given a file that is open for writing: raises PathMoved if it is not the one at that path, or a link leads there."""


class Backend(Protocol):
    @property
    def label(self) -> str:
        """For people: where this is, without any secret."""
        ...

    @property
    def was_reached(self) -> bool:
        """Whether there ever was a connection."""
        ...

    def ssh_command(self) -> list[str] | None:
        """How commands are run there, None where they cannot be."""
        ...

    @property
    def has_links(self) -> bool:
        """Whether a name may come to lead elsewhere between a look and the opening."""
        ...

    def look(self, paths: Sequence[str]) -> list[Entry | None]:
        """All of them, in one go where the far side can do that."""
        ...

    def link_target(self, path: str) -> str: ...

    def open(self, path: str) -> Reader: ...

    def read(self, path: str) -> tuple[bytes, Entry]:
        """The whole content, and what was opened."""
        ...

    def stage(
        self, path: str, data: bytes, like: Entry | None, require_in_place: InPlace
    ) -> AbstractContextManager[Staged]:
        """like: the file to be replaced, None for a new one. require_in_place: called before anything is written."""
        ...

    def make_folder(self, path: str) -> None:
        """One level. Raises FileExistsError."""
        ...

    def remove_folder(self, path: str) -> None:
        """Only an empty one."""
        ...

    def remove(self, path: str) -> None: ...
