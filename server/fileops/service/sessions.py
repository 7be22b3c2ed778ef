"""Sessions from their first request to their close. Belongs to the event loop.

No request opens a session: its first use does. `fileops/closeSession` ends it. The same id may be used again while
requests of the closed session still wait for a user, the client's model or the disk. Their later effects must not reach
the session that now has the id.
"""

from weakref import WeakValueDictionary

from fileops.model.sessions import SessionName


class OpenSession:
    """A session from the first request that holds it to `close`. Requests hold it while they are in progress.

    n_resets: how often it was reset, so that it forgot what it had read.
    """

    __slots__ = ("__weakref__", "is_closed", "n_resets")

    def __init__(self) -> None:
        self.is_closed = False
        self.n_resets = 0


class OpenSessions:
    def __init__(self) -> None:
        self._sessions: WeakValueDictionary[SessionName, OpenSession] = WeakValueDictionary()

    def get(self, session_id: SessionName) -> OpenSession:
        """Return the session that has this id now."""
        session = self._sessions.get(session_id)
        if session is None:
            session = self._sessions[session_id] = OpenSession()
        return session

    def close(self, session_id: SessionName) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.is_closed = True
