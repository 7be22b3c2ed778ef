"""What a client's sessions were shown by reads, so that the same read again need not show it. Of the event loop."""

from functools import partial

from fileops.concurrency.delivery import when_delivered
from fileops.model.requests import ReadRequest
from fileops.model.sessions import SessionName

MAX_READS = 1000  # of all sessions; the oldest are shown again
_Key = tuple[str, int | None, int | None]


class RepeatedReads:
    def __init__(self) -> None:
        self._shown: dict[SessionName, dict[_Key, bytes]] = {}

    def is_repeated(self, request: ReadRequest, digest: bytes) -> bool:
        """Return whether the session was shown just this; otherwise it counts as shown once the answer is sent.

        After a short answer, the same read is shown again: the model asks for it.
        """
        if self._shown.get(request.session_id, {}).pop(_key_of(request), None) == digest:
            return True
        when_delivered(partial(self._note, request, digest))
        return False

    def _note(self, request: ReadRequest, digest: bytes) -> None:
        shown = self._shown.setdefault(request.session_id, {})
        shown.pop(_key_of(request), None)
        shown[_key_of(request)] = digest
        while len(shown) > MAX_READS:
            del shown[next(iter(shown))]

    def forget(self, session_id: SessionName) -> None:
        """Forget a session whose model no longer has what it read."""
        self._shown.pop(session_id, None)


def _key_of(request: ReadRequest) -> _Key:
    return request.file_path, request.offset, request.limit
