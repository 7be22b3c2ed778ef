"""Tells the editors that show changes to keep which files' changes have changed: at most twice a second.

A notification only says that the editor should ask again. Paths are noted on any thread and sent on the event loop. A
keystroke costs one set lookup: the files with such changes are known here, perhaps with a few too many.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from fileops.core.roots import is_inside
from fileops.model.record import Entry, TurnRecord, is_by_agent
from fileops.service.hub.sessions import Throttle

MAX_PATHS = 20  # at a time; beyond this, one notification for all files


class Send(Protocol):
    """Sends a path, or None for all files. is_typed: only the text of an open document has changed."""

    def __call__(self, path: str | None, /, *, is_typed: bool) -> None: ...


class _UnkeptEditor(Struct, frozen=True):
    """An editor. concerns: whether a path is open or in a folder."""

    send: Send
    concerns: Callable[[str], bool]


class UnkeptFeed:
    """Create it on the event loop. on_changed: called on any thread, with files whose changes were recorded or kept."""

    def __init__(self) -> None:
        self.on_changed: Callable[[Collection[str]], None] = lambda _paths: None
        self._lock = threading.Lock()
        self._editors: dict[str, _UnkeptEditor] = {}
        self._paths: set[str] = set()  # files with changes to keep or places that were undone
        self._waiting: dict[str, bool] = {}  # in the order of their changes: whether they were only typed in
        self._is_all = False
        self._has_undone = False
        self._throttle = Throttle(self._send)

    def resume(self, paths: Iterable[str]) -> None:
        """Add the files that had changes to keep when the daemon started."""
        with self._lock:
            self._paths.update(paths)

    def connect(self, name: str, send: Send, concerns: Callable[[str], bool]) -> None:
        with self._lock:
            self._editors[name] = _UnkeptEditor(send, concerns)

    def disconnect(self, name: str) -> None:
        with self._lock:
            self._editors.pop(name, None)

    def note_entries(self, entries: Sequence[Entry]) -> None:
        """Take entries that were added or changed. Called in the recorder's thread."""
        with self._lock:
            changed: list[str] = []
            for entry in entries:
                self._has_undone |= bool(entry.undoes) and not is_by_agent(entry.by)
                names = [path for path in (entry.path, entry.moved_from, entry.moved_to) if path is not None]
                if entry.undoes or not entry.kept or is_by_agent(entry.by) or not self._paths.isdisjoint(names):
                    self._paths.update(names)
                    changed += names
        self.on_changed(changed)
        self._request(changed)

    def note_text(self, path: str) -> None:
        """Note a document's new text. Called after every keystroke."""
        if path in self._paths:
            self._request((path,), is_typed=True)

    def note_kept(self, paths: Iterable[str]) -> None:
        """Note that changes in these files were kept or undone."""
        changed = list(paths)
        self.on_changed(changed)
        self._request(changed)

    def note_index(self, root: str) -> None:
        """Note that something was staged or committed in a work tree. Called in the recorder's thread."""
        with self._lock:
            paths = [path for path in self._paths if is_inside(root, path)]
        self._request(paths)

    def note_turn(self, turn: TurnRecord) -> None:
        """Note that a turn has begun or ended.

        What was undone before a session's next turn is then no longer shown.
        """
        with self._lock:
            if turn.ended is not None or not self._has_undone:
                return
            self._has_undone, self._is_all = False, True
        self._request(())

    def _request(self, paths: Iterable[str], *, is_typed: bool = False) -> None:
        with self._lock:
            for path in paths:
                self._waiting[path] = is_typed and self._waiting.get(path, True)
            if not self._editors:
                self._waiting.clear()
            if not self._waiting and not self._is_all:
                return
        self._throttle.request()

    def _send(self) -> None:
        with self._lock:
            paths, self._waiting = self._waiting, {}
            is_all, self._is_all = self._is_all, False
            editors = list(self._editors.values())
        for editor in editors:
            shown = [path for path in paths if editor.concerns(path)]
            if is_all or len(shown) > MAX_PATHS:
                editor.send(None, is_typed=False)
            else:
                for path in shown:
                    editor.send(path, is_typed=paths[path])
