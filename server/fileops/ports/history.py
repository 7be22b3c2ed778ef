"""Ports to the history of edits."""

from collections.abc import Iterable
from typing import Protocol

from fileops.model.edits import Plan
from fileops.model.files import Committed
from fileops.model.history import AppliedEdit
from fileops.model.record import RecordedEdit
from fileops.model.sessions import SessionName


class EditJournal(Protocol):
    """Records applied edits, so that they can be shown and undone."""

    def append(
        self,
        *,
        edit_id: str,
        session_id: SessionName,
        given_path: str,
        plan: Plan,
        committed: Committed,
        timestamp: float,
        undoes: tuple[str, ...] = (),
        set_id: str | None = None,
        changes_mode: bool = False,
    ) -> None:
        """Record a commit, in the worker thread that made it. Must not raise.

        Args: timestamp: seconds. undoes: ids of the edits that this one undid. set_id: of its change set.
        changes_mode: whether it was to change permission bits.
        """
        ...


class EditRecorder(Protocol):
    """Is notified of the daemon's commits, so that it does not take them for changes of others. Waits for nothing."""

    def begin_commit(self, path: str) -> None:
        """A file is about to be written. Args: path: canonical."""
        ...

    def end_commit(self, path: str, edit: RecordedEdit | None) -> None:
        """The file was written; None: it was not."""
        ...


class HistoryStore(Protocol):
    """Keeps the history of edits beyond the life of the process."""

    def load(self) -> Iterable[AppliedEdit]:
        """Return the edits of all processes, oldest first. May block for a disk. Must not raise."""
        ...

    def content(self, digest: bytes) -> bytes | None:
        """Return the content after an edit that was loaded, by its digest, if it is kept. Must not raise."""
        ...

    def append(self, edit: AppliedEdit, content: bytes | None) -> None:
        """Append an edit. Must not raise. Args: content: after the edit."""
        ...
