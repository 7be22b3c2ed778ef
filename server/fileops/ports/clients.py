"""Ports to a client: its user, its model, its editor, and its notifications."""

from collections.abc import Callable, Sequence
from typing import Protocol

from fileops.model.approval import ApprovalRequest, CorrectedStrings, CorrectionRequest, Decision
from fileops.model.documents import BufferEdit, DocumentChange, NotebookBufferEdit, NotebookChange, ReportedCell
from fileops.model.events import Event
from fileops.model.requests import CommandRequest


class Approver(Protocol):
    @property
    def can_ask(self) -> bool:
        """Whether the client can ask its user."""
        ...

    async def decide(self, question: ApprovalRequest) -> Decision:
        """Ask the user. Cancelling the call withdraws the request."""
        ...


class Corrector(Protocol):
    @property
    def can_ask(self) -> bool:
        """Whether the client proposes corrections."""
        ...

    async def correct(self, request: CorrectionRequest) -> CorrectedStrings | None:
        """Ask for a proposal; None if there is none in time. Cancelling the call withdraws the request."""
        ...


class CommandApprover(Protocol):
    @property
    def can_ask(self) -> bool: ...

    async def decide(self, request: CommandRequest, cwd: str) -> Decision:
        """Return Once, Always (for this command, in this session), Reject or TimedOut. Args: cwd: where it will run."""
        ...


class EventSink(Protocol):
    def publish(self, event: Event) -> None:
        """Publish from any thread. Keeps the order of each thread, raises nothing and never blocks."""
        ...


class DocumentSink(Protocol):
    """Takes what a client says about its open documents: on the event loop, in order."""

    def did_open(self, uri: str, path: str, version: int, text: str) -> None:
        """The document at this absolute path is open with this text, even if it was already open."""
        ...

    def did_open_unknown(self, uri: str, path: str, reason: str) -> None:
        """The document is open with a text that could not be decoded."""
        ...

    def did_change(self, uri: str, version: int, changes: Sequence[DocumentChange]) -> bool:
        """The document's text has changed. Return False if no such document is open."""
        ...

    def did_open_notebook(self, uri: str, path: str, version: int, cells: Sequence[ReportedCell]) -> None:
        """The notebook at this absolute path is open with these cells, which all have a type, a text and a version."""
        ...

    def did_change_notebook(self, uri: str, version: int, changes: Sequence[NotebookChange]) -> bool:
        """The notebook's cells have changed. Return False if no such notebook is open."""
        ...

    def mark_unknown(self, uri: str | None, reason: str) -> None:
        """A message about this document could not be decoded; None: it may have been about any document."""
        ...

    def did_save(self, uri: str) -> None: ...

    def did_close(self, uri: str) -> None: ...

    @property
    def has_unclassified(self) -> bool:
        """Return whether a document was opened or changed since `classify_pending` ran."""
        ...

    def classify_pending(self) -> None:
        """Compare opened and changed documents with their files. Called in a worker thread; may wait for the disk."""
        ...


class Editor(Protocol):
    """The other side of `workspace/applyEdit`."""

    @property
    def checks_version(self) -> bool:
        """Whether the editor refuses an edit that was made for another version than the one it shows."""
        ...

    def apply(
        self,
        edits: Sequence[BufferEdit],
        *,
        is_current: Callable[[], bool],
        on_cancel: Callable[[Callable[[], None]], None],
    ) -> None:
        """Apply edits to several documents through the editor, in one request. Called in a worker thread.

        Args: is_current: returns whether the documents are still those for which the edits were made; called last, on
        the event loop. on_cancel: takes what withdraws the edits. Raises: ApplyRefused; Cancelled (withdrawn and not
        made); DocumentUnknown (withdrawn and perhaps made). The editor may have made some of them all the same, and
        then reports their texts.
        """
        ...

    def apply_to_notebook(
        self,
        edit: NotebookBufferEdit,
        *,
        is_current: Callable[[], bool],
        on_cancel: Callable[[Callable[[], None]], None],
    ) -> None:
        """Replace cells through the editor. As `apply`; the editor compares the version."""
        ...
