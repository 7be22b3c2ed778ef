"""Ports to the history of edits."""

from collections.abc import Iterable
from typing import Protocol

from fileops.model.commits import Commit
from fileops.model.history import AppliedEdit


class EditRecorder(Protocol):
    """Is notified of the daemon's commits, so that it does not take them for others' changes. Waits for nothing."""

    def begin_commit(self, path: str) -> None:
        """A file is about to be written. Args: path: canonical."""
        ...

    def cancel_commit(self, path: str) -> None:
        """It was not written."""
        ...

    def end_commit(self, commit: Commit) -> None:
        """It was written."""
        ...


class HistoryStore(Protocol):
    """Keeps the history of edits beyond the life of the process."""

    def load(self) -> Iterable[AppliedEdit]:
        """Return the edits of all processes, oldest first. May block for a disk. Must not raise."""
        ...

    def content(self, digest: bytes) -> bytes | None:
        """Return the content after a loaded edit, by its digest, if it is kept. Must not raise."""
        ...

    def append(self, edit: AppliedEdit, content: bytes | None) -> None:
        """Append an edit. Must not raise. Args: content: after the edit."""
        ...
