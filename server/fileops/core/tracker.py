"""FileTracker: what one session has seen of each file, and whether that still is what stands there.

Pure state and decisions. It never looks at a disk: it is given stamps and digests, and where a stamp is not enough
it says so (`NEEDS_CONTENT`). Keys are canonical paths, so a symlink and its target are one file.
"""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from fileops.core.stamps import is_racy, is_same_file
from fileops.model.files import Source, StaleReason, Stamp


class Seen(Struct, frozen=True, kw_only=True, gc=False):
    """What a session knows of one file.

    given_path: as the session last gave it. taken_ns: wall clock just before `stamp` was taken. digest: of the whole
    content, None where only a part was seen. read_ns: when the session last saw content. stale: None while fresh;
    stale_source: who made it stale: "external", "buffer" or "session:ID".
    """

    given_path: str
    stamp: Stamp
    taken_ns: int
    read_ns: int
    digest: bytes | None = None
    source: Source = "disk"
    version: int | None = None
    stale: StaleReason | None = None
    stale_source: str = "external"


Verdict = Literal["fresh", "needs_content"] | tuple[Literal["stale"], StaleReason]
FRESH: Literal["fresh"] = "fresh"
NEEDS_CONTENT: Literal["needs_content"] = "needs_content"


def assess(seen: Seen, stamp: Stamp, *, freshness: Literal["mtime", "content"] = "mtime") -> Verdict:
    """Whether a file with this stamp still is what was seen, as far as stamps tell.

    `NEEDS_CONTENT` comes only where a digest is known to compare with.
    """
    old, is_whole = seen.stamp, seen.digest is not None
    if old == stamp:
        return NEEDS_CONTENT if is_whole and is_racy(old, seen.taken_ns) else FRESH
    replaced = not is_same_file(old, stamp)
    if old.size_bytes != stamp.size_bytes or old.mtime_ns != stamp.mtime_ns or replaced:
        if freshness == "content" and is_whole and old.size_bytes == stamp.size_bytes:
            return NEEDS_CONTENT
        return ("stale", "replaced" if replaced else "modified")
    if is_whole:
        return NEEDS_CONTENT
    explained = (old.mode, old.uid, old.gid, old.n_links) != (stamp.mode, stamp.uid, stamp.gid, stamp.n_links)
    return FRESH if explained else ("stale", "modified")


class FileTracker:
    """The files of one session. Not thread-safe: its owner locks."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[str, Seen] = {}

    def __len__(self) -> int:
        return len(self._seen)

    def __contains__(self, path: str) -> bool:
        return path in self._seen

    def get(self, path: str) -> Seen | None:
        return self._seen.get(path)

    def seen(self, path: str) -> Seen:
        """Raises: KeyError."""
        return self._seen[path]

    def entries(self) -> Iterator[tuple[str, Seen]]:
        """Canonical path and what was seen, in the order of first reading."""
        return iter(tuple(self._seen.items()))

    def record(self, path: str, seen: Seen) -> None:
        self._seen[path] = seen

    def renew(self, path: str, stamp: Stamp, taken_ns: int) -> None:
        """The content still is what was seen, under this stamp; the file is fresh (again)."""
        seen = self._seen[path]
        if seen.stale is not None or seen.stamp != stamp or is_racy(seen.stamp, seen.taken_ns):
            self._seen[path] = replace(seen, stamp=stamp, taken_ns=taken_ns, stale=None, stale_source="external")

    def mark_stale(self, path: str, reason: StaleReason, source: str) -> bool:
        """True on the way from fresh to stale. An already stale file keeps its first source."""
        seen = self._seen[path]
        if seen.stale is None:
            self._seen[path] = replace(seen, stale=reason, stale_source=source)
            return True
        if seen.stale != reason:
            self._seen[path] = replace(seen, stale=reason)
        return False

    def forget(self, path: str) -> Seen | None:
        """What was known, None where nothing was."""
        return self._seen.pop(path, None)
