"""Sessions from their first request to their close. Belongs to the event loop.

No request opens a session: its first use does. `fileops/closeSession` ends it, and the same id may be used again while
requests of the closed one still wait for a user, for the client's model or for the disk. Their later effects must not
reach the session that has the id now.
"""

from weakref import WeakValueDictionary

from fileops.model.sessions import SessionName


class OpenSession:
    """From the first request that holds it to `close`. Requests hold it for as long as they are in work.

    n_resets: how often it was made to forget what it has read.
    """

    __slots__ = ("__weakref__", "is_closed", "n_resets")

    def __init__(self) -> None:
        self.is_closed = False
        self.n_resets = 0


class OpenSessions:
    def __init__(self) -> None:
        self._sessions: WeakValueDictionary[SessionName, OpenSession] = WeakValueDictionary()

    def get(self, session_id: SessionName) -> OpenSession:
        """The session that has this id now."""
        session = self._sessions.get(session_id)
        if session is None:
            session = self._sessions[session_id] = OpenSession()
        return session

    def close(self, session_id: SessionName) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.is_closed = True
