"""One look at one file: what stands there now, and what that makes of all that sessions saw of it.

Verdicts come from the disk and from the bytes, never from a flag or an event: those only say when to look.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Literal

from msgspec import Struct

from fileops.core.stamps import is_same_file, is_unmoved
from fileops.core.tracker import FRESH, NEEDS_CONTENT, Seen, Verdict, assess
from fileops.model.digest import Hasher
from fileops.model.errors import FileOpsError, IsDirectory, NotRegularFile, PathMoved
from fileops.model.files import Snapshot, StaleReason, Stamp
from fileops.ports import Clock, FileSystem
from fileops.tracking.content_cache import is_same_text
from fileops.tracking.registry import TrackerRegistry, Verdicts

MAX_SETTLED_BYTES = 4_000_000  # of a file with an unmoved but too young stamp, in a look; an edit compares any size
MAX_RESOLVED_PER_SWEEP = 100  # some 15 us each: half a percent of a core
MAX_LINKS_PER_SWEEP = 2000

Mode = Literal["mtime", "content"]
_NO_FILE = (IsDirectory, NotRegularFile, PathMoved)  # something else stands there now


class _Standing(Struct, frozen=True, kw_only=True):
    """What stands at a path now. stamp None: no file, for that `reason`. digest: where the content was read."""

    stamp: Stamp | None
    taken_ns: int
    reason: StaleReason = "deleted"
    digest: bytes | None = None


class FreshnessChecker:
    """is_open: whether a canonical path is open as a document; then content decides, not time or inode."""

    def __init__(
        self, fs: FileSystem, registry: TrackerRegistry, clock: Clock, *, mode: Mode, is_open: Callable[[str], bool]
    ) -> None:
        self._fs, self._sightings, self._clock = fs, registry, clock
        self._mode: Mode = mode
        self._is_open = is_open
        self._next_link = 0

    # --- a look ----------------------------------------------------------------------------------------------

    def look(self, path: str) -> None:
        """Judge what all sessions saw of this file by what stands there now."""
        before = self._sightings.by_session(path)
        if not self._is_by_content(path, before):
            standing = self._stat(path)
            if standing is None:
                return
            if all(self._verdict(seen, standing) == FRESH for seen in before.values()):
                self._judge(path, before, standing)
                return
        with suppress(FileOpsError, PathMoved), self._fs.hold(path):  # a write not yet noted would look foreign
            self._look_held(path)

    def _look_held(self, path: str) -> None:
        before = self._sightings.by_session(path)
        if self._is_by_content(path, before):
            self._judge_by_content(path, before)
            return
        standing = self._stat(path)
        if standing is not None and any(self._is_worth_reading(seen, standing) for seen in before.values()):
            standing = self._stat_and_digest(path)
        if standing is not None:
            self._judge(path, before, standing)

    def _is_by_content(self, path: str, before: dict[str, Seen]) -> bool:
        return self._is_open(path) or any(seen.source == "buffer" for seen in before.values())

    def _verdict(self, seen: Seen, standing: _Standing) -> Verdict:
        if standing.stamp is None:
            return "stale", standing.reason
        return assess(seen, standing.stamp, freshness=self._mode)

    def _is_worth_reading(self, seen: Seen, standing: _Standing) -> bool:
        return self._verdict(seen, standing) == NEEDS_CONTENT and (
            seen.stamp != standing.stamp or seen.stamp.size_bytes <= MAX_SETTLED_BYTES
        )

    def _judge(self, path: str, before: dict[str, Seen], standing: _Standing) -> None:
        verdicts: Verdicts = {who: (seen, self._fault(seen, standing)) for who, seen in before.items()}
        self._sightings.judge(path, verdicts, standing.stamp, standing.taken_ns)

    def _fault(self, seen: Seen, standing: _Standing) -> StaleReason | None:
        verdict = self._verdict(seen, standing)
        if verdict == NEEDS_CONTENT:
            return None if standing.digest is None or standing.digest == seen.digest else "modified"
        return None if verdict == FRESH else verdict[1]

    def _judge_by_content(self, path: str, before: dict[str, Seen]) -> None:
        try:
            snapshot = self._fs.read(path)
        except (FileOpsError, PathMoved):
            standing = self._stat(path)
            if standing is not None and standing.stamp is None:
                self._judge(path, before, standing)
            return
        verdicts: Verdicts = {
            who: (seen, None if self.is_seen(seen, snapshot) else reason_of(seen, snapshot.stamp))
            for who, seen in before.items()
        }
        source = "buffer" if snapshot.source == "buffer" else "external"
        self._sightings.judge(path, verdicts, snapshot.stamp, snapshot.taken_ns, source)

    # --- a comparison with a whole content --------------------------------------------------------------------

    def is_seen(self, seen: Seen, snapshot: Snapshot) -> bool:
        """Whether the snapshot is what was seen: by its stamp, and to the byte where all of it was seen."""
        if not snapshot.exists:
            return False
        if seen.digest is None and snapshot.source == "buffer":  # a clean document has the stamp of its file
            return snapshot.stamp is not None and is_unmoved(seen.stamp, snapshot.stamp)
        by_content = "buffer" in {seen.source, snapshot.source} or self._is_open(snapshot.path)
        if snapshot.stamp is not None and not by_content:
            verdict = assess(seen, snapshot.stamp, freshness=self._mode)
            if verdict not in {FRESH, NEEDS_CONTENT}:
                return False
        if seen.digest is None or seen.digest == snapshot.digest:
            return True
        if seen.source == snapshot.source:
            return False
        base = self._sightings.content(seen.digest)
        return base is not None and is_same_text(base, snapshot.data)

    def is_outdated(self, seen: Seen, snapshot: Snapshot) -> bool:
        """Whether it is the snapshot that is out of date: what stands there now may well be what was seen."""
        if snapshot.source == "buffer":
            return False
        stamp = self._fs.stat(snapshot.path)
        if stamp is None or stamp == snapshot.stamp:
            return False
        return assess(seen, stamp, freshness=self._mode) in {FRESH, NEEDS_CONTENT}

    # --- links -----------------------------------------------------------------------------------------------

    def check_links(self) -> None:
        """A session that came by a symlink does not have the file any more once the link leads elsewhere.

        Some of them each time, in turn; paths through the same folder cost one look at that folder.
        """
        links = self._sightings.links()
        first = self._next_link if self._next_link < len(links) else 0
        folders: dict[str, str | None] = {}
        n_resolved = 0
        for i, (session_id, path, given_path) in enumerate(links[first : first + MAX_LINKS_PER_SWEEP]):
            if n_resolved >= MAX_RESOLVED_PER_SWEEP:
                self._next_link = first + i
                return
            folder, name = os.path.split(given_path)
            if folder not in folders:
                folders[folder] = self._resolve(folder)
                n_resolved += 1
            if os.path.join(folders[folder] or "", name) == path:
                continue
            n_resolved += 1
            target = self._resolve(given_path)
            if target is not None and target != path:
                standing = self._stat(target)
                is_there = standing is not None and standing.stamp is not None
                reason: StaleReason = "replaced" if is_there else "deleted"
                self._sightings.mark_link_retargeted(session_id, path, given_path, reason)
        self._next_link = first + MAX_LINKS_PER_SWEEP

    # --- the disk --------------------------------------------------------------------------------------------

    def _resolve(self, path: str) -> str | None:
        try:
            return self._fs.resolve(path)
        except FileOpsError:
            return None

    def _stat(self, path: str) -> _Standing | None:
        """None where the system does not let us see."""
        taken_ns = self._clock.time_ns()
        try:
            return _Standing(stamp=self._fs.stat(path), taken_ns=taken_ns)
        except _NO_FILE:
            return _Standing(stamp=None, taken_ns=taken_ns, reason="replaced")
        except FileOpsError:
            return None

    def _stat_and_digest(self, path: str) -> _Standing | None:
        digest = Hasher()
        try:
            with self._fs.open(path) as stream:
                digest.update_from(stream.read)
                return _Standing(stamp=stream.stamp, taken_ns=stream.taken_ns, digest=digest.digest())
        except (FileOpsError, PathMoved):
            standing = self._stat(path)
            return standing if standing is not None and standing.stamp is None else None


def moved_by_stat(fs: FileSystem, files: Iterable[tuple[str, Stamp | None]]) -> list[str]:
    """Those that no longer stand as stamped; for filesystems that know nothing cheaper."""
    moved: list[str] = []
    for path, stamp in files:
        try:
            now = fs.stat(path)
        except _NO_FILE:
            now = None
        except FileOpsError:
            continue
        if now != stamp:
            moved.append(path)
    return moved


def reason_of(seen: Seen, stamp: Stamp | None) -> StaleReason:
    if stamp is None:
        return "deleted"
    return "modified" if is_same_file(seen.stamp, stamp) else "replaced"
