"""Requests about one file whose answers have not been sent. Belongs to the event loop.

A request sees what earlier requests of its session did, even if it was sent before their answers. A read counts only
once it was sent (see `concurrency/delivery.py`), so an edit of the same file waits for its answer. Conversely, an edit
that was requested before an answer was sent was made without knowing that answer.

What the session knows of the file follows the requests in the order in which they had the file, not that in which they
are answered. Otherwise an edit whose answer is dropped late would take away what a read after it has shown.
"""

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from functools import partial

from msgspec import Struct

from fileops.concurrency.delivery import Delivery, Effect, do_nothing, present_delivery
from fileops.model.sessions import SessionName

Key = tuple[str, str]  # the full name of a session, and a path as the session gave it


class _Unanswered(Struct, kw_only=True, eq=False):
    """A request. effect: of its answer, once that was sent or dropped."""

    delivery: Delivery
    effect: Effect | None = None


class RequestsInFlight:
    def __init__(self) -> None:
        self._unanswered: dict[Key, deque[_Unanswered]] = {}
        self._editing: Counter[Key] = Counter()

    def when_delivered(
        self, session_id: SessionName, file_path: str, on_sent: Effect, on_dropped: Effect = do_nothing
    ) -> None:
        """As `concurrency.delivery.when_delivered`, but after the effects of earlier requests about the file.

        Until then, `wait_until_answered` waits for the current request. Call it while holding the path's lock.
        """
        key, delivery = (session_id, file_path), present_delivery()
        if delivery is None:
            on_sent()
            return
        request = _Unanswered(delivery=delivery)
        self._unanswered.setdefault(key, deque()).append(request)
        delivery.add(partial(self._settle, key, request, on_sent), partial(self._settle, key, request, on_dropped))

    async def wait_until_answered(self, session_id: SessionName, file_path: str) -> None:
        """Wait for the answers to the session's earlier requests about the file. Call it while holding the path's lock.

        Those requests no longer need the lock, so this ends.
        """
        while unanswered := self._unanswered.get((session_id, file_path)):
            await unanswered[0].delivery.wait_until_settled()

    @contextmanager
    def count_edit(self, session_id: SessionName, file_path: str) -> Generator[None]:
        """Wrap an edit from its arrival to its result."""
        key = session_id, file_path
        self._editing[key] += 1
        try:
            yield
        finally:
            self._editing[key] -= 1
            if not self._editing[key]:
                del self._editing[key]

    def is_editing(
        self, session_id: SessionName, path: str, paths_of: Callable[[SessionName, str], Iterable[str]]
    ) -> bool:
        """Return whether the session is editing the canonical path.

        Args: paths_of: the canonical paths of what a session has read under a name.
        """
        return any(
            editor == session_id and (given == path or path in paths_of(session_id, given))
            for editor, given in self._editing
        )

    def _settle(self, key: Key, request: _Unanswered, effect: Effect) -> None:
        request.effect = effect
        unanswered, due = self._unanswered[key], list[Effect]()
        while unanswered and (first := unanswered[0].effect) is not None:
            unanswered.popleft()
            due.append(first)
        if not unanswered:
            del self._unanswered[key]
        for one in due:
            one()
