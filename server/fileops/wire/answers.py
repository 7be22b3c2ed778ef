"""Shapes of the client's answers to the daemon's `fileops/*` requests.

They are decoded leniently (lsp/approver.py, lsp/corrector.py): an answer of another shape is a refusal, never an error.
A module for itself, because a running server does not load it: the schema does.
"""

from typing import Literal, NotRequired, TypedDict


class ConfirmEditResult(TypedDict):
    """A user's decision about an edit. `text` goes with "modify"; `hunk_ids` with the approvals."""

    outcome: Literal["proceed_once", "proceed_always", "cancel", "modify"]
    text: NotRequired[str | None]
    hunk_ids: NotRequired[list[str] | None]


class ConfirmedFileResult(TypedDict):
    """A user's decision about a file of a change set: these hunks of it, or this text. Without hunks it is left out."""

    file_path: str
    text: NotRequired[str | None]
    hunk_ids: NotRequired[list[str] | None]


class ConfirmChangesResult(TypedDict):
    """A user's decision about a change set. Files that are not in `files` are decided as proposed."""

    outcome: Literal["proceed_once", "proceed_always", "cancel", "modify"]
    files: NotRequired[list[ConfirmedFileResult] | None]


class ConfirmCommandResult(TypedDict):
    outcome: Literal["proceed_once", "proceed_always", "cancel"]


class Correction(TypedDict):
    """The proposal of the client's model. `old_string` must occur in the file exactly."""

    old_string: str
    new_string: str
