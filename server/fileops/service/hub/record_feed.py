"""New entries of the record for the editors that ask for them: at most twice a second, and not too many at once.

Entries are published in the recorder's thread and sent on the event loop. What cannot be recorded is reported to all
editors that it concerns, whether or not they ask for entries.
"""

import logging
import threading
from collections.abc import Callable, Sequence

from msgspec import Struct

from fileops.model.record import Entry
from fileops.service.hub.sessions import Throttle

log = logging.getLogger(__name__)
MAX_ENTRIES = 100  # per notification; beyond this, only their number
MAX_UNSAID = 20

Send = Callable[[Sequence[Entry], int], None]


class _Editor(Struct, frozen=True):
    """An editor. send: takes entries, or None and their number. concerns: whether a path is open or in a folder."""

    send: Send
    concerns: Callable[[str], bool]


class _Warned(Struct, frozen=True):
    """An editor. warn: shows its user a message. concerns: whether a recorded folder is related to its folders."""

    warn: Callable[[str], None]
    concerns: Callable[[str], bool]


class RecordFeed:
    """Create it on the event loop. `connect` and `disconnect` may be called on any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._editors: dict[str, _Editor] = {}
        self._warned: dict[str, _Warned] = {}
        self._unsaid: list[tuple[str, str | None]] = []  # messages without an editor to show them, with their folders
        self._waiting: dict[str, Entry] = {}  # by id, in the order of their last change
        self._throttle = Throttle(self._send)

    def connect(self, name: str, send: Send, concerns: Callable[[str], bool]) -> None:
        with self._lock:
            self._editors[name] = _Editor(send, concerns)

    def disconnect(self, name: str) -> None:
        with self._lock:
            self._editors.pop(name, None)
            self._warned.pop(name, None)

    def connect_warnings(self, name: str, warn: Callable[[str], None], concerns: Callable[[str], bool]) -> None:
        """Warn an editor from now on, and of everything that no editor has shown yet. Both are called in any thread."""
        editor = _Warned(warn, concerns)
        with self._lock:
            self._warned[name] = editor
            said = [unsaid for unsaid in self._unsaid if _is_for(editor, unsaid[1])]
            self._unsaid = [unsaid for unsaid in self._unsaid if unsaid not in said]
        for sentence, _ in said:
            warn(sentence)

    def warn(self, sentence: str, root: str | None = None) -> None:
        """Warn all editors; with a root, only those related to that folder. Any thread."""
        log.warning("%s", sentence)
        with self._lock:
            editors = [editor for editor in self._warned.values() if _is_for(editor, root)]
            if not editors:
                self._unsaid = [*self._unsaid, (sentence, root)][-MAX_UNSAID:]
        for editor in editors:
            editor.warn(sentence)

    def publish(self, entries: Sequence[Entry]) -> None:
        """Take entries that were added or changed. Called in the recorder's thread."""
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


def _is_for(editor: _Warned, root: str | None) -> bool:
    return root is None or editor.concerns(root)
