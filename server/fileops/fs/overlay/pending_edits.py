"""Edits that editors were asked to make, until they report a text that shows them."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from fileops.fs.overlay.state import OpenDocument, comparable
from fileops.model.documents import DocumentKey


@dataclass(slots=True, kw_only=True)
class PendingEdit:
    """An edit that an editor was asked to make: the text after it, and the first state that shows that text."""

    text: str
    shown_by: OpenDocument | None = None


class PendingEdits:
    """The edits that editors are making now, by document.

    `changed` is notified when a document changes. Its lock guards the edits, and is held when `is_open` is called.
    """

    def __init__(self, changed: threading.Condition, is_open: Callable[[DocumentKey], bool]) -> None:
        self._changed = changed
        self._is_open = is_open
        self._edits: dict[DocumentKey, PendingEdit] = {}

    @contextmanager
    def begin(self, key: DocumentKey, text: str) -> Generator[PendingEdit]:
        """Inside the context, record the first state of the document that shows this comparable text."""
        pending = PendingEdit(text=text)
        with self._changed:
            self._edits[key] = pending
        try:
            yield pending
        finally:
            with self._changed:
                self._edits.pop(key, None)

    def wait_for(self, key: DocumentKey, pending: PendingEdit, timeout_s: float) -> None:
        """Wait until a state shows the text or the document is closed."""
        with self._changed:
            self._changed.wait_for(lambda: pending.shown_by is not None or not self._is_open(key), timeout=timeout_s)

    def note(self, document: OpenDocument) -> bool:
        """Take a new state. Return whether it is the first that shows an edit. The lock is held."""
        pending = self._edits.get(document.key)
        if (
            pending is None
            or pending.shown_by is not None
            or document.doubt is not None
            or comparable(document.text.text) != pending.text
        ):
            return False
        pending.shown_by = document
        return True
