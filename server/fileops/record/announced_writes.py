"""Writes that hosts' own tools are about to make, as their hooks have announced them.

A hook cannot hold a lock over its host's write, so the write is recognised by its content. A content that is found is
the session's if it is the announced edit applied to a content that the file had since the announcement. That says who
wrote it, however long the host's own question took, and whether the writer knew the content that it replaced.

Contents of protected files are compared here in memory, and stored nowhere. Thread-safe: hooks announce on the event
loop, the recorder's thread finds the writes.
"""

import threading
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from fileops.core.diff.contents import splices_between
from fileops.core.diff.unified import change_of
from fileops.core.notebook.cell_changes import changes_of_contents
from fileops.core.text import detect_format
from fileops.model.announcements import Announced, Content
from fileops.model.commits import Commit
from fileops.model.edits import Plan
from fileops.model.files import CommitReport, Snapshot, Stamp
from fileops.model.losses import Loss
from fileops.model.record import BySession
from fileops.model.sessions import SessionName
from fileops.model.settings import Limits
from fileops.record.lost_lines import Losses

MAX_S = 3600.0  # a person may take long to answer the host's own question
MAX_WRITES = 1000
MAX_SEEN = 16  # contents of one announcement


class AnnouncedWrite:
    """One announcement, and what has become of it. The lock of AnnouncedWrites guards it."""

    def __init__(self, announced: Announced, at: float) -> None:
        self.announced = announced
        self.at = at
        self.seen: list[Content] = [announced.before.data if announced.before.exists else None]
        self.commit: Commit | None = None
        self.loss: Loss | None = None
        self._results: dict[Content, Sequence[Content]] = {}

    def makes(self, before: Content, after: Content) -> bool:
        """Return whether the edit makes `after` of `before`."""
        if self.announced.is_made is not None:
            return self.announced.is_made(before, after)
        if before not in self._results:
            self._results[before] = self.announced.results_of(before)
        return after in self._results[before]

    def see(self, content: Content) -> None:
        self.seen = [*self.seen, content][-MAX_SEEN:]


class AnnouncedWrites:
    """See the module. keep: called with each write that is found, in the thread that has found it."""

    def __init__(
        self, keep: Callable[[Commit], None], losses: Losses, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._keep, self._losses, self._now = keep, losses, now
        self._lock = threading.Lock()
        self._writes: dict[str, list[AnnouncedWrite]] = {}  # by path, oldest first

    def announce(self, announced: Announced) -> None:
        """Expect a write. One of the same call and file, or without a call's id, replaces the earlier one."""
        with self._lock:
            self._drop_old()
            writes = [write for write in self._writes.get(announced.path, ()) if not _is_same(write, announced)]
            self._writes[announced.path] = [*writes, AnnouncedWrite(announced, self._now())]

    def of_call(self, session_id: SessionName, call_id: str) -> list[AnnouncedWrite]:
        with self._lock:
            return [
                write
                for write in self._all()
                if write.announced.session_id == session_id and write.announced.call_id == call_id
            ]

    def end(self, writes: Iterable[AnnouncedWrite]) -> None:
        with self._lock:
            for write in writes:
                self._drop(write)

    def end_session(self, session_id: SessionName) -> None:
        """End what the session has announced: its turn is over."""
        with self._lock:
            for write in self._all():
                if write.announced.session_id == session_id:
                    self._drop(write)

    @property
    def has_any(self) -> bool:
        return bool(self._writes)

    def is_announced(self, path: str) -> bool:
        return path in self._writes

    def match(
        self,
        path: str,
        before_of: "Callable[[AnnouncedWrite], Content]",
        after: Content,
        stamp: Stamp | None,
        *,
        may_store: bool,
    ) -> Commit | None:
        """Return the commit if an announced write has made this content; else remember it as another's.

        before_of: returns the content before, which the write may have seen. stamp: of the file now; None if there is
        none. may_store: whether lost lines of the file may be stored on the disk.
        """
        with self._lock:
            writes = [write for write in self._writes.get(path, ()) if write.commit is None]
            found = next(filter(None, (_find_replaced(write, before_of(write), after) for write in writes)), None)
            for write in writes:
                if found is None or write is not found.write:
                    write.see(after)
        if found is None:
            return None
        write, was, announced = found.write, found.was, found.write.announced
        known = write.seen[0] if announced.is_whole else found.base
        if was is not None and known is not None and after is not None and was != known:
            # Outside the lock, which the event loop takes, too: lost lines are stored on the disk.
            merged = announced.merged_with(was)
            write.loss = self._losses.note(
                announced.path, base=known, theirs=was, written=after, merged=merged, may_store=may_store
            )
        commit = write.commit = _commit_of(announced, was, after, stamp)
        self._keep(commit)
        return commit

    # --- with the lock -----------------------------------------------------------------------------------------

    def _all(self) -> list[AnnouncedWrite]:
        return [write for writes in self._writes.values() for write in writes]

    def _drop(self, write: AnnouncedWrite) -> None:
        remaining = [other for other in self._writes.pop(write.announced.path, ()) if other is not write]
        if remaining:
            self._writes[write.announced.path] = remaining

    def _drop_old(self) -> None:
        now, writes = self._now(), sorted(self._all(), key=lambda write: write.at)
        for n, write in enumerate(writes):
            if now - write.at >= MAX_S or len(writes) - n >= MAX_WRITES:
                self._drop(write)


class _Replaced(NamedTuple):
    """An announced write that was found. was: the content that it replaced; base: the one to which it was applied."""

    write: AnnouncedWrite
    was: Content
    base: Content


def _find_replaced(write: AnnouncedWrite, was: Content, after: Content) -> _Replaced | None:
    """Return the write if it makes this content of one that the file had since the announcement."""
    bases = dict.fromkeys((was, *reversed(write.seen)))
    return next((_Replaced(write, was, base) for base in bases if write.makes(base, after)), None)


def _is_same(write: AnnouncedWrite, announced: Announced) -> bool:
    known = write.announced
    return (known.session_id, known.call_id) == (announced.session_id, announced.call_id)


def _commit_of(announced: Announced, before: Content, after: Content, stamp: Stamp | None) -> Commit:
    """Return the commit as which the write is recorded."""
    now_ns = time.time_ns()
    was = Snapshot(
        path=announced.path,
        stamp=None if before is None else announced.before.stamp or stamp,
        data=before or b"",
        taken_ns=announced.before.taken_ns,
    )
    found = Snapshot(path=announced.path, stamp=None if after is None else stamp, data=after or b"", taken_ns=now_ns)
    fmt = detect_format(was.data if was.exists else found.data)
    splices = splices_between(was.data, found.data, fmt)
    operation = "create" if before is None else "delete" if after is None else "modify"
    change = change_of(
        was.data, fmt, splices, file_path=announced.given_path, operation=operation, limits=Limits(), with_snippet=False
    )
    plan = Plan(
        snapshot=was,
        format=fmt,
        splices=splices,
        edits=(),
        n_replacements=(),
        matches=(),
        match_lines=(),
        creates=before is None,
        change=change,
        cells=changes_of_contents(announced.path, was.data, found.data),
    )
    return Commit(
        edit_id=uuid.uuid4().hex,
        session_id=announced.session_id,
        by=BySession(session_id=announced.session_id, label=announced.label),
        given_path=announced.given_path,
        plan=plan,
        before=was,
        after=found,
        report=CommitReport(method="in_place", durability="not_synced", reason="written by the host's own tool"),
        time=now_ns / 1e9,
        is_kept=announced.is_kept,
    )
