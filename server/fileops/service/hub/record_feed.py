"""What was recorded, on its way to the editors that want to know of it: at most twice a second, and not too much.

Entries are published in the recorder's thread and sent on the event loop.
"""

import threading
from collections.abc import Callable, Sequence

from msgspec import Struct

from fileops.model.record import Entry
from fileops.service.hub.sessions import Throttle

MAX_ENTRIES = 100  # of one notification; of more only their number is sent

Send = Callable[[Sequence[Entry], int], None]


class _Editor(Struct, frozen=True):
    """An editor. send: gets entries, or none and their number. concerns: whether a path is open or in a folder."""

    send: Send
    concerns: Callable[[str], bool]


class RecordFeed:
    """Create it on the event loop. `connect` and `disconnect` may be called on any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._editors: dict[str, _Editor] = {}
        self._waiting: dict[str, Entry] = {}  # by id, in the order of their last change
        self._throttle = Throttle(self._send)

    def connect(self, name: str, send: Send, concerns: Callable[[str], bool]) -> None:
        with self._lock:
            self._editors[name] = _Editor(send, concerns)

    def disconnect(self, name: str) -> None:
        with self._lock:
            self._editors.pop(name, None)

    def publish(self, entries: Sequence[Entry]) -> None:
        """Entries that were added or changed. Called in the recorder's thread."""
        with self._lock:
            if not self._editors:
                return
            for entry in entries:
                self._waiting.pop(entry.entry_id, None)
                self._waiting[entry.entry_id] = entry
        self._throttle.request()

    def _send(self) -> None:
        with self._lock:
            entries, self._waiting = list(self._waiting.values()), {}
            editors = list(self._editors.values())
        for editor in editors:
            shown = [entry for entry in entries if editor.concerns(entry.path)]
            if len(shown) > MAX_ENTRIES:
                editor.send((), len(shown))
            elif shown:
                editor.send(shown, 0)
