"""Remembers where each session's refused edits were, in files that are too large to be read whole.

A read of such a file is answered with the lines to read instead. No decision depends on it. Thread-safe: edits are
noted on the event loop, and reads look them up in worker threads.
"""

import threading

from fileops.core.stamps import same_stamp
from fileops.model.bounded import LruDict
from fileops.model.edits import LineRange
from fileops.model.files import Stamp
from fileops.model.sessions import SessionName
from fileops.model.suggestions import RefusedPlace

MAX_FILES = 100  # per session


class RefusedPlaces:
    """The place of the last refused edit, by session and file."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[SessionName, LruDict[str, RefusedPlace]] = {}

    def note(self, session_id: SessionName, place: RefusedPlace) -> None:
        with self._lock:
            files = self._sessions.get(session_id)
            if files is None:
                files = self._sessions[session_id] = LruDict(MAX_FILES)
            files.put(place.path, place)

    def lines_in(self, session_id: SessionName, path: str, stamp: Stamp) -> LineRange | None:
        """Return the lines to read; None if there are none, or the file has changed since.

        Args: path: canonical. stamp: of the current content.
        """
        with self._lock:
            files = self._sessions.get(session_id)
            place = None if files is None else files.use(path)
        return None if place is None or not same_stamp(place.stamp, stamp) else place.lines

    def drop_session(self, session_id: SessionName) -> None:
        with self._lock:
            self._sessions.pop(session_id, None)
