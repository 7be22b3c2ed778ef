"""Notices of what others changed in files that a session has read: once per content, within limits.

They are sent with the session's next result. What does not fit waits for another result. If that result is not sent,
all of them wait for another.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from msgspec import Struct

from fileops.concurrency.delivery import do_nothing, when_delivered
from fileops.core.presentation.notices import notice_of, notice_text
from fileops.model.files import Stamp
from fileops.model.results import ChangeNotice, ForeignChange, Notices
from fileops.model.sessions import SessionName
from fileops.service.in_flight import RequestsInFlight
from fileops.tracking.freshness import Freshness

MAX_FILES = 5  # in one result
MAX_CHARS = 6000  # in one result
MAX_WAITING = 1000  # changed files per session that are examined

_Report = tuple[bytes | None, Stamp | None]  # digest and stamp of the content reported
_Reported = dict[str, _Report]  # by canonical path


class FoundNotices(Struct, frozen=True, kw_only=True):
    """What can be reported with one result. waiting: the canonical paths of all changed files."""

    about: ForeignChange | None
    others: tuple[ForeignChange, ...]
    waiting: frozenset[str]


_NOTHING = FoundNotices(about=None, others=(), waiting=frozenset())


class NoticeBoard:
    """Remembers what was reported to each session. Belongs to the event loop, except `find`.

    moves_base: whether a change that was shown in full counts as read.
    """

    def __init__(self, freshness: Freshness, in_flight: RequestsInFlight, *, moves_base: bool) -> None:
        self._freshness = freshness
        self._in_flight = in_flight
        self._moves_base = moves_base
        self._reported: dict[SessionName, _Reported] = {}

    def find_at_once(self, session_id: SessionName) -> FoundNotices | None:
        """Return what `find` would if it is clear at once that there is nothing to report; else None.

        No worker thread.
        """
        return _NOTHING if self._freshness.is_known_current(session_id) else None

    def find(
        self, session_id: SessionName, about: str | None, may_read: Callable[[str], bool], without: str | None = None
    ) -> FoundNotices:
        """Examine the files. Call it in a worker thread.

        about: a path as the session gave it; a change there is found even if it was reported before. may_read: whether
        the session may now read a canonical path. without: the canonical path of a file to leave out.
        """
        self._freshness.check_all(session_id)
        changes, reported = self._freshness.foreign_changes, self._reported.get(session_id, {})
        waiting = tuple(islice(filter(may_read, changes.paths(session_id)), MAX_WAITING))
        paths_about = () if about is None else self._freshness.paths_of(session_id, about)
        path_about = next((path for path in waiting if path in paths_about), None)

        def list_unreported() -> Iterator[ForeignChange]:
            for path in waiting:
                if path in (path_about, without) or self._is_reported(path, reported):
                    continue
                change = changes.at(session_id, path)
                if change is not None and (path not in reported or reported[path][0] != change.digest):
                    yield change

        return FoundNotices(
            about=None if path_about is None else changes.at(session_id, path_about),
            others=tuple(islice(list_unreported(), MAX_FILES)),
            waiting=frozenset(waiting),
        )

    def _is_reported(self, path: str, reported: _Reported) -> bool:
        """Return whether the stamp proves that this content was reported, so that the file need not be read again."""
        if path not in reported or self._freshness.is_open(path):
            return False
        stamp = reported[path][1]
        return stamp is not None and stamp == self._freshness.foreign_changes.stamp_at(path)

    def report(
        self,
        session_id: SessionName,
        found: FoundNotices,
        *,
        is_whole: bool = False,
        is_brief: bool = False,
        n_used: int = 0,
    ) -> Notices:
        """Return the notices for the next result. is_whole: it contains the whole diff of `about` anyway.

        is_brief: it names only the lines of `about`, which therefore are still unseen. n_used: characters of the result
        besides its own output; the notices get the rest of MAX_CHARS. No other result repeats them. They count once
        this result was sent. If it is not, they wait for another.
        """
        before = self._reported.get(session_id, {})
        reported = {path: before[path] for path in found.waiting if path in before}
        about, others = None, list[ChangeNotice]()
        n_chars = n_used
        if found.about is not None:
            about = notice_of(found.about)
            n_chars += len(notice_text(about))
            has_diff = bool(about.diff) and not about.by_cells
            is_shown = not is_brief and (about.is_whole or (is_whole and has_diff))
            self._note(session_id, found.about, reported, is_whole=is_shown)
        for change in found.others:
            if change.path in before and before[change.path][0] == change.digest:
                continue  # a result or a hook has reported it since it was found
            notice = notice_of(change)
            n_chars += len(notice_text(notice))
            n_files = len(others) + (about is not None)
            if n_files == MAX_FILES or ((n_files or n_used) and n_chars > MAX_CHARS):
                break
            others.append(notice)
            self._note(session_id, change, reported, is_whole=notice.is_whole)
        self._reported[session_id] = reported
        return Notices(about=about, others=tuple(others))

    def forget(self, session_id: SessionName) -> None:
        self._reported.pop(session_id, None)

    def _note(self, session_id: SessionName, change: ForeignChange, reported: _Reported, *, is_whole: bool) -> None:
        report = reported[change.path] = change.digest, change.stamp
        moves_base = is_whole and self._moves_base
        when_delivered(
            partial(self._count, session_id, change) if moves_base else do_nothing,
            partial(self._take_back, session_id, change.path, report),
        )

    def _count(self, session_id: SessionName, change: ForeignChange) -> None:
        """Count a change as read, after it was sent in full.

        An edit of the file that the session requested earlier was made without knowing the change. To that edit it is
        still a change by others; otherwise the edit would overwrite it as if the session had meant to.
        """
        if not self._in_flight.is_editing(session_id, change.path, self._freshness.paths_of):
            self._freshness.foreign_changes.note_shown(session_id, change)

    def _take_back(self, session_id: SessionName, path: str, report: _Report) -> None:
        reported = self._reported.get(session_id, {})
        if reported.get(path) is report:
            del reported[path]
