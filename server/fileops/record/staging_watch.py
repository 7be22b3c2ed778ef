"""Notes what was staged in git while an agent's command ran.

What a person stages is decided (R-UI-3), but agents run `git add` and `git mv` too. So the index is checked whenever a
command begins or ends, and once a second: what an open command may have staged decides nothing. Belongs to the
recorder's thread.
"""

import os

from fileops.model.record import Staged
from fileops.record import git
from fileops.record.git_process import GitFailed
from fileops.record.store import RecordStore

MAX_STAGED = 10_000  # in one work tree; with more, all of it counts as a person's
_Stamp = tuple[int, int, int]


class StagingWatch:
    """Notes in the record what the indexes of work trees have that HEAD has not."""

    def __init__(self) -> None:
        self._stamps: dict[str, _Stamp | None] = {}  # of each index, when it was last looked at

    def read(self, repository: git.Repository) -> dict[str, bytes | None] | None:
        """Return what is staged if the index was written since the last look; None if not. Waits for the disk."""
        stamp = _stamp_of(repository.index)
        if stamp is None or self._stamps.get(repository.root) == stamp:
            return None
        self._stamps[repository.root] = stamp
        try:
            staged = git.read_staged_blobs(repository)
        except GitFailed:  # such as without a commit
            return None
        return staged if len(staged) <= MAX_STAGED else {}

    def note(
        self, store: RecordStore, repository: git.Repository, staged: dict[str, bytes | None], *, is_by_agent: bool
    ) -> None:
        """Record what is staged. is_by_agent: whose it is if it was not staged before."""
        before = store.staged_files(repository.root)
        now: dict[str, Staged] = {}
        for path, oid in staged.items():
            known = before.get(path)
            now[path] = known if known is not None and known.oid == oid else Staged(oid, is_by_agent)
        if now != before:
            store.set_staged(repository.root, now)


def _stamp_of(index: str) -> _Stamp | None:
    try:
        found = os.stat(index)
    except OSError:  # git makes it with the first file that is staged
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
