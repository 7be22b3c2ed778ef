"""The newest edits by sessions, for a short time: another program may write an older text over them.

Such as an editor that saves by itself what it read before. Of each file, edits of one session that follow one another
are one run. Only the recorder's thread uses it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from fileops.core.diff.contents import splices_between
from fileops.core.text import detect_format
from fileops.model.commits import Commit
from fileops.model.record import BySession
from fileops.record.lost_lines import lines_of

FRESH_S = 60.0  # in which a program that saves by itself may write a text that it read before an agent's edit
MAX_FILES = 100
MAX_RUN = 20  # edits of one file
MAX_RUN_BYTES = 1 << 20  # of a content; of larger files, only the newest edit is known


class _Fresh(NamedTuple):
    at: float
    commit: Commit


class FreshEdits:
    """See the module. Args: now: a steady clock, in seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._runs: dict[str, list[_Fresh]] = {}

    def note(self, path: str, edit: Commit) -> None:
        """Take note of a change by the daemon, which ends a run unless it continues it."""
        run = self._runs.pop(path, [])
        if not (isinstance(edit.by, BySession) and edit.before.exists and edit.after.exists) or edit.is_undo:
            return
        if run and not _continues(run[-1].commit, edit):
            run = []
        self._runs[path] = [*run[-MAX_RUN + 1 :], _Fresh(self._now(), edit)]
        while len(self._runs) > MAX_FILES:
            del self._runs[next(iter(self._runs))]

    def take_overwritten(self, path: str, before: bytes | None, written: bytes) -> Commit | None:
        """Forget the file's edits, and return those, as one, over which an older text was written; None if none were.

        before: the digest of the content that was replaced.
        """
        now = self._now()
        run = [fresh.commit for fresh in self._runs.pop(path, []) if now - fresh.at <= FRESH_S]
        if not run or before != run[-1].after.digest:
            return None
        edits = (_as_one(run[n:]) for n in range(len(run)))  # the most of them that the text does not have
        return next((edit for edit in edits if is_older_text(edit.before.data, edit.after.data, written)), None)


def _continues(last: Commit, edit: Commit) -> bool:
    is_same = last.session_id == edit.session_id and last.after.digest == edit.before.digest
    return is_same and len(edit.before.data) <= MAX_RUN_BYTES


def _as_one(run: Sequence[Commit]) -> Commit:
    first, last = run[0], run[-1]
    if first is last:
        return last
    splices = splices_between(first.before.data, last.after.data, detect_format(first.before.data))
    return replace(last, before=first.before, plan=replace(last.plan, snapshot=first.before, splices=splices))


def is_older_text(before: bytes, edited: bytes, written: bytes) -> bool:
    """Return whether a text was made of the content before an edit: without what that added, with what it removed."""
    old, new, found = (lines.keys() for lines in lines_of(before, edited, written))
    added, removed = new - old, old - new
    return bool(added) and added.isdisjoint(found) and removed <= found
