"""Registry of turns. A turn is the work of a session between two prompts of its user.

A host that names its turns decides where they begin. The turns of other sessions are divided by pauses.
Called on any thread; one lock guards the table.
"""

import threading
import time
import uuid
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fileops.core.roots import is_inside
from fileops.model.record import TurnRecord
from fileops.model.sessions import SessionName

PAUSE_S = 120.0  # between two turns of a session that does not name them


class _Session(Struct):
    """What is known of a session. turn: its newest. is_named: its host has named a turn. used_at: its last entry."""

    turn: TurnRecord
    is_named: bool
    used_at: float
    roots: tuple[str, ...] = ()


class TurnRegistry:
    """See the module. on_change: called with each turn that begins or ends, outside of the lock."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        """Args: now: seconds since the epoch, as in `began` and `ended`."""
        self.on_change: Callable[[TurnRecord], None] = lambda _turn: None
        self._now = now
        self._lock = threading.Lock()
        self._sessions: dict[str, _Session] = {}

    def resume(self, turns: Iterable[TurnRecord]) -> None:
        """Continue with the turns of an earlier daemon, the newest first. Those that it left open have ended."""
        changed: list[TurnRecord] = []
        with self._lock:
            for turn in turns:
                if turn.ended is None:
                    turn = replace(turn, ended=turn.began)  # noqa: PLW2901  # the same turn, now ended
                    changed.append(turn)
                is_named = turn.host_id is not None or turn.title is not None
                self._sessions.setdefault(turn.session_id, _Session(turn, is_named, turn.began))
        self._tell(changed)

    def begin(
        self,
        session_id: SessionName,
        label: str,
        *,
        host_id: str | None = None,
        title: str | None = None,
        roots: Sequence[str] = (),
    ) -> TurnRecord:
        """Begin a turn and end the one before it. Returns the open turn if it has this host id already."""
        with self._lock:
            session = self._sessions.get(session_id)
            is_repeated = session is not None and host_id is not None and session.turn.host_id == host_id
            if session is not None and is_repeated and session.turn.ended is None:
                return session.turn
            changed = self._begin(session_id, label, host_id=host_id, title=title, roots=tuple(roots), is_named=True)
        self._tell(changed)
        return changed[-1]

    def of_entry(self, session_id: SessionName, label: str, roots: Sequence[str] = ()) -> TurnRecord:
        """Return the turn to which a session's entry belongs if it is made now. Begins one if none fits."""
        with self._lock:
            session, now = self._sessions.get(session_id), self._now()
            if session is not None and (session.is_named or now - session.used_at < PAUSE_S):
                session.used_at = now
                return session.turn
            changed = self._begin(session_id, label, roots=tuple(roots))
        self._tell(changed)
        return changed[-1]

    def newest(self, session_id: SessionName) -> TurnRecord | None:
        """Return the newest turn of a session, open or not."""
        with self._lock:
            session = self._sessions.get(session_id)
        return None if session is None else session.turn

    def move(self, unattached_id: SessionName, session_id: SessionName, label: str, roots: Sequence[str]) -> None:
        """Move a turn to another session id of the same session, which was not known when the turn began."""
        with self._lock:
            unattached, known = self._sessions.pop(unattached_id, None), self._sessions.get(session_id)
            if unattached is None:
                return
            changed: list[TurnRecord] = []
            if known is not None and known.turn.ended is None:
                changed.append(replace(known.turn, ended=max(self._now(), known.turn.began)))
            turn = replace(unattached.turn, session_id=session_id, label=label)
            changed.append(turn)
            self._sessions[session_id] = _Session(turn, unattached.is_named, self._now(), tuple(roots))
        self._tell(changed)

    def end(self, session_id: SessionName) -> TurnRecord | None:
        """End the open turn of a session. None if there is none."""
        with self._lock:
            session = self._sessions.get(session_id)
            if session is None or session.turn.ended is not None:
                return None
            session.turn = replace(session.turn, ended=max(self._now(), session.turn.began))
            ended = session.turn
        self.on_change(ended)
        return ended

    def forget(self, session_id: SessionName) -> None:
        """End the turn of a session that has ended, and forget the session."""
        self.end(session_id)
        with self._lock:
            self._sessions.pop(session_id, None)

    def open_during(self, path: str, began: float, ended: float) -> tuple[TurnRecord, ...]:
        """Return the turns of all sessions that were open at some time from `began` to `ended` and may concern `path`.

        A session that works in other folders does not concern it; a session without known folders does.
        """
        with self._lock:
            return tuple(
                session.turn
                for session in self._sessions.values()
                if session.turn.began <= ended
                and (session.turn.ended is None or session.turn.ended >= began)
                and (not session.roots or any(is_inside(root, path) for root in session.roots))
            )

    def _begin(
        self,
        session_id: SessionName,
        label: str,
        *,
        host_id: str | None = None,
        title: str | None = None,
        roots: tuple[str, ...] = (),
        is_named: bool = False,
    ) -> list[TurnRecord]:
        """End the previous turn and begin one. Returns the changed turns, the new one last. The lock is held."""
        now, before = self._now(), self._sessions.get(session_id)
        ended: list[TurnRecord] = []
        if before is not None and before.turn.ended is None:
            # If pauses divide turns, the previous turn ended with its last entry.
            at = now if before.is_named or is_named else before.used_at
            ended.append(replace(before.turn, ended=max(at, before.turn.began)))
        turn = TurnRecord(
            turn_id=f"t-{uuid.uuid4().hex[:12]}",
            session_id=session_id,
            label=label,
            began=now,
            title=title,
            host_id=host_id,
        )
        roots = roots or (before.roots if before is not None else ())
        self._sessions[session_id] = _Session(turn, is_named, now, roots)
        return [*ended, turn]

    def _tell(self, changed: list[TurnRecord]) -> None:
        for turn in changed:
            self.on_change(turn)
