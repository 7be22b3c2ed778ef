"""The port to the record."""

from typing import Protocol

from fileops.model.commits import Commit, IntendedWrite


class EditRecorder(Protocol):
    """Is notified of the daemon's commits, so that it does not take them for others' changes. Waits for nothing."""

    def begin_commit(self, path: str, intended: IntendedWrite | None = None) -> None:
        """A file is about to be written. Args: path: canonical. intended: if a session writes a content to it."""
        ...

    def cancel_commit(self, path: str) -> None:
        """It was not written."""
        ...

    def end_commit(self, commit: Commit) -> None:
        """It was written."""
        ...
