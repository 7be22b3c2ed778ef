"""Log of what each session has done to which files, so that an agent's context can be rebuilt. Limited in size.

No decision depends on it. It keeps files even after they are deleted and the tracker drops them. Belongs to the event
loop. Paths are as the session gave them.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from fileops.model.bounded import LruDict
from fileops.model.results import SessionFile
from fileops.model.sessions import SessionName

MAX_FILES = 10_000  # per session; the least recently touched is dropped first
MAX_UNANSWERED = 100  # per session; beyond this the client is not reading answers
MAX_REASONS = 20  # per session; undos for other reasons are counted as ""


class ActivityLog:
    def __init__(self) -> None:
        self._sessions: dict[SessionName, LruDict[str, SessionFile]] = {}
        # For each session, the files of applied edits whose answer was not sent.
        self._unanswered: dict[SessionName, list[str]] = {}
        # For each session, how many of its changes a person undid, by the reason given ("" for none).
        self._rewound: dict[SessionName, dict[str, int]] = {}
        # For each session, sentences about its lines that another program has overwritten. Added on any thread.
        self._overwritten: dict[SessionName, list[str]] = {}

    def note_read(self, session_id: SessionName, file_path: str, at: float) -> None:
        known = self._find(session_id, file_path)
        self._put(session_id, replace(known, n_reads=known.n_reads + 1, read_at=at))

    def note_edit(self, session_id: SessionName, file_path: str, at: float) -> None:
        known = self._find(session_id, file_path)
        self._put(session_id, replace(known, n_edits=known.n_edits + 1, edited_at=at))

    def note_conflict(self, session_id: SessionName, file_path: str, at: float) -> None:
        known = self._find(session_id, file_path)
        self._put(session_id, replace(known, n_conflicts=known.n_conflicts + 1, conflicted_at=at))

    def note_unanswered(self, session_id: SessionName, file_path: str) -> None:
        """Record that an edit was applied, but its answer was not sent."""
        files = self._unanswered.setdefault(session_id, [])
        if len(files) < MAX_UNANSWERED:
            files.append(file_path)

    def take_unanswered(self, session_id: SessionName) -> list[str]:
        return self._unanswered.pop(session_id, [])

    def note_rewound(self, session_id: SessionName, n_changes: int, reason: str) -> None:
        """Record that a person undid changes of the session, for this reason ("" for none)."""
        by_reason = self._rewound.setdefault(session_id, {})
        if reason not in by_reason and len(by_reason) >= MAX_REASONS:
            reason = ""
        by_reason[reason] = by_reason.get(reason, 0) + n_changes

    def take_rewound(self, session_id: SessionName) -> dict[str, int]:
        """Return how many of the session's changes a person has undone since the last call, by reason."""
        return self._rewound.pop(session_id, {})

    def note_overwritten(self, session_id: SessionName, text: str) -> None:
        """Record what to tell the session about lines that another program has removed. Runs on any thread."""
        texts = self._overwritten.setdefault(session_id, [])
        if len(texts) < MAX_UNANSWERED:
            texts.append(text)

    def take_overwritten(self, session_id: SessionName) -> list[str]:
        return self._overwritten.pop(session_id, [])

    def files(self, session_id: SessionName) -> tuple[SessionFile, ...]:
        """Return the files, least recently touched first."""
        files = self._sessions.get(session_id)
        return () if files is None else tuple(files.values())

    def forget(self, session_id: SessionName, file_path: str) -> None:
        if (files := self._sessions.get(session_id)) is not None:
            files.drop(file_path)

    def drop_session(self, session_id: SessionName) -> None:
        self._sessions.pop(session_id, None)
        self._unanswered.pop(session_id, None)
        self._rewound.pop(session_id, None)
        self._overwritten.pop(session_id, None)

    def _find(self, session_id: SessionName, file_path: str) -> SessionFile:
        files = self._sessions.get(session_id)
        known = None if files is None else files.get(file_path)
        return make_untouched(file_path) if known is None else known

    def _put(self, session_id: SessionName, file: SessionFile) -> None:
        files = self._sessions.get(session_id)
        if files is None:
            files = self._sessions[session_id] = LruDict(MAX_FILES)
        files.put(file.file_path, file)


def make_untouched(file_path: str) -> SessionFile:
    return SessionFile(
        file_path=file_path,
        state="untracked",
        reason=None,
        n_reads=0,
        n_edits=0,
        n_conflicts=0,
        read_at=None,
        edited_at=None,
        conflicted_at=None,
    )


def merge(one: SessionFile, other: SessionFile) -> SessionFile:
    """Merge the records of two names of one file under the name that was used last."""
    newer = max(one, other, key=last_touched)
    return replace(
        newer,
        n_reads=one.n_reads + other.n_reads,
        n_edits=one.n_edits + other.n_edits,
        n_conflicts=one.n_conflicts + other.n_conflicts,
        read_at=_later(one.read_at, other.read_at),
        edited_at=_later(one.edited_at, other.edited_at),
        conflicted_at=_later(one.conflicted_at, other.conflicted_at),
    )


def by_relevance(files: Iterable[SessionFile]) -> list[SessionFile]:
    """Sort edited files before files that were only read. Within each group, changed files come first, then the latest.

    docs/PROTOCOL.md promises this order.
    """
    return sorted(files, key=lambda file: (file.n_edits > 0, _has_changed(file), last_touched(file)), reverse=True)


def last_touched(file: SessionFile) -> float:
    return max(time or 0.0 for time in (file.read_at, file.edited_at, file.conflicted_at))


def _has_changed(file: SessionFile) -> bool:
    """Return whether what the session knows of the file is now wrong."""
    return file.state == "stale" or (file.conflicted_at or 0.0) > max(file.read_at or 0.0, file.edited_at or 0.0)


def _later(one: float | None, other: float | None) -> float | None:
    return max((time for time in (one, other) if time is not None), default=None)
